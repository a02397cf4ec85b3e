//! The life of a request, from its first attempt to its end.
//!
//! The run loop drives it with the events of answers and an alarm, virtual time with those of a simulated server.

use std::time::Duration;

use super::options::Timeouts;
use crate::clock::Timestamp;
use crate::record::{Attempt, AttemptEnd, AttemptKind, Failure, FailureKind, Outcome};
use crate::units::spoken;
use crate::workload::{ClientBehaviour, Leaving, LeavingPolicy, RetryPolicy};

/// Rules by which clients give up, send again and hedge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientRules<'a> {
    /// Limits on each attempt.
    pub(crate) timeouts: Timeouts,
    /// When a request is sent again, and hedged; `None`: each is sent once.
    pub(crate) retries: Option<&'a RetryPolicy>,
    /// The clients who leave; `None`: all stay.
    pub(crate) leaving: Option<&'a LeavingPolicy>,
}

/// A request from its first attempt to its end. At most two attempts are under way: one, and a hedge beside it.
///
/// `H` identifies an attempt: its answer, or its job in a simulated server.
#[derive(Debug)]
pub(crate) struct RequestLife<'a, H> {
    index: u64,
    rules: ClientRules<'a>,
    /// Attempts that are over. There are none where requests are sent once, for then the record says all.
    over: Vec<Attempt>,
    /// The attempt under way, or what is left of two.
    first: Option<LiveAttempt<H>>,
    hedge: Option<LiveAttempt<H>>,
    /// Moment when the attempt under way began, apart from its hedge.
    begun: Timestamp,
    last_token: Option<Timestamp>,
    /// Moment of the hedge, while that is still to come.
    hedge_at: Option<Timestamp>,
    /// Failed attempts; an attempt and its hedge count as one.
    failed: u32,
    /// Rule by which the client leaves; `None`: it stays.
    leaving: Option<Leaving>,
    /// Moment when it leaves, if that is set by time.
    leaves_at: Option<Timestamp>,
    /// Tokens after which it leaves, if that is set by tokens.
    most_tokens: Option<u32>,
    /// Tokens of the attempt under way.
    tokens: u64,
}

#[derive(Debug)]
struct LiveAttempt<H> {
    handle: H,
    attempt: Attempt,
}

impl<'a> ClientRules<'a> {
    /// Rules of a workload's clients, with no limits but the workload's. `None` where all send each request once, and
    /// stay.
    pub(crate) fn from_policies(retries: Option<&'a RetryPolicy>, leaving: Option<&'a LeavingPolicy>) -> Option<Self> {
        let limit = |of: fn(&ClientBehaviour) -> Option<f64>| {
            let seconds = retries.and_then(|policy| of(policy.behaviour()));
            seconds.map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
        };
        let timeouts = Timeouts {
            first_token: limit(|clients| clients.first_token_timeout_s),
            between_tokens: None,
            total: limit(|clients| clients.timeout_s),
        };
        (retries.is_some() || leaving.is_some()).then_some(Self { timeouts, retries, leaving })
    }
}

impl<H> LiveAttempt<H> {
    fn ended(self, at: Timestamp, end: AttemptEnd) -> Attempt {
        Attempt { ended: at, end, ..self.attempt }
    }
}

/// One of the attempts under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// The attempt itself, or the one that is left of two.
    First,
    /// The hedge beside it.
    Hedge,
}

impl<'a, H> RequestLife<'a, H> {
    /// The request of this index and class, of which nothing is sent yet. So many answer tokens are asked for.
    pub(crate) fn new(index: u64, class: u16, asked: u32, rules: ClientRules<'a>) -> Self {
        let leaving = rules.leaving.and_then(|policy| policy.leaves(index, class));
        Self {
            index,
            leaving,
            // Who reads all of it has nothing to leave.
            most_tokens: leaving.and_then(|leaving| leaving.after_tokens).filter(|tokens| *tokens < asked),
            leaves_at: None,
            tokens: 0,
            rules,
            over: Vec::new(),
            first: None,
            hedge: None,
            begun: Timestamp::ZERO,
            last_token: None,
            hedge_at: None,
            failed: 0,
        }
    }

    /// Begins an attempt; returns which of those under way it is.
    pub(crate) fn begin(&mut self, handle: H, kind: AttemptKind, now: Timestamp) -> Which {
        let (sent, end) = (None, AttemptEnd::Cancelled);
        let attempt = Attempt { kind, begun: now, sent, ended: now, end, discarded_tokens: 0 };
        let begun = Some(LiveAttempt { handle, attempt });
        if kind == AttemptKind::Hedge {
            (self.hedge, self.hedge_at) = (begun, None);
            Which::Hedge
        } else {
            (self.first, self.hedge) = (begun, None);
            (self.begun, self.last_token, self.tokens) = (now, None, 0);
            let leaves_after = self.leaving.and_then(|leaving| leaving.after_s).filter(|_| self.leaves_at.is_none());
            // The longest time that can be given is far below what a moment can hold.
            self.leaves_at = leaves_after.map(|after| now.after(Duration::from_secs_f64(after))).or(self.leaves_at);
            self.hedge_at = self.rules.retries.and_then(RetryPolicy::hedge_after).map(|after| now.after(after));
            Which::First
        }
    }

    /// The handles of the attempts under way, the hedge second.
    pub(crate) fn handles(&mut self) -> [Option<&mut H>; 2] {
        [&mut self.first, &mut self.hedge].map(|live| live.as_mut().map(|live| &mut live.handle))
    }

    /// The handle of one of them.
    pub(crate) fn handle(&mut self, which: Which) -> Option<&mut H> {
        self.live(which).map(|live| &mut live.handle)
    }

    /// The attempt under way that has this handle.
    pub(crate) fn which(&self, handle: &H) -> Option<Which>
    where
        H: PartialEq,
    {
        let has = |live: &Option<LiveAttempt<H>>| live.as_ref().is_some_and(|live| live.handle == *handle);
        let hedge = || has(&self.hedge).then_some(Which::Hedge);
        has(&self.first).then_some(Which::First).or_else(hedge)
    }

    /// Arrival of the last token of the attempt under way.
    pub(crate) const fn last_token(&self) -> Option<Timestamp> {
        self.last_token
    }

    /// An attempt is handed to a socket; returns why it was made.
    pub(crate) fn sent(&mut self, which: Which, at: Timestamp) -> Option<AttemptKind> {
        let attempt = &mut self.live(which)?.attempt;
        attempt.sent.get_or_insert(at);
        Some(attempt.kind)
    }

    /// Notes tokens of an attempt. The first cancel the other attempt, whose handle is returned, and a hedge
    /// still to come.
    pub(crate) fn token(&mut self, which: Which, at: Timestamp, tokens: u32) -> Option<H> {
        self.last_token = Some(at);
        self.tokens += u64::from(tokens);
        self.settle(which, at)
    }

    /// Whether its client is one of those who leave, unless the end comes sooner.
    pub(crate) const fn leaves(&self) -> bool {
        self.leaving.is_some()
    }

    /// Moment when its client leaves, if that is set by time.
    pub(crate) const fn leaves_at(&self) -> Option<Timestamp> {
        self.leaves_at
    }

    /// Whether its client has left by `now`.
    pub(crate) fn has_left(&self, now: Timestamp) -> bool {
        let has_read = |tokens: u32| self.tokens >= u64::from(tokens);
        self.leaves_at.is_some_and(|at| at <= now) || self.most_tokens.is_some_and(has_read)
    }

    /// Keeps one of the attempts under way. Returns the handle of the other, which is cancelled.
    pub(crate) fn settle(&mut self, which: Which, at: Timestamp) -> Option<H> {
        self.hedge_at = None;
        let other = if which == Which::First { Which::Hedge } else { Which::First };
        let LiveAttempt { handle, attempt } = self.without(other)?;
        self.note(Attempt { ended: at, end: AttemptEnd::Cancelled, ..attempt });
        Some(handle)
    }

    /// Takes out one of two attempts, which failed; false where it is the only one.
    pub(crate) fn drop_failed(&mut self, which: Which, at: Timestamp, why: FailureKind) -> bool {
        let failed = self.without(which).map(|failed| failed.ended(at, AttemptEnd::Failed(why)));
        failed.map(|failed| self.note(failed)).is_some()
    }

    /// Ends all attempts under way. Returns the moment of the next one, if one follows.
    /// `retry_after` is how long the server asks to wait, `tokens` what came, which is thrown away where
    /// another attempt follows.
    pub(crate) fn conclude(
        &mut self,
        at: Timestamp,
        end: AttemptEnd,
        retry_after: Option<Duration>,
        tokens: u64,
    ) -> Option<Timestamp> {
        self.settle(Which::First, at);
        let mut ended = self.first.take()?.ended(at, end);
        let mut wait = None;
        if let (AttemptEnd::Failed(why), Some(policy)) = (end, self.rules.retries) {
            self.failed += 1;
            wait = policy.retry_in(self.index, self.failed, why.retry_cause(), retry_after);
        }
        if wait.is_some() {
            ended.discarded_tokens = u32::try_from(tokens).unwrap_or(u32::MAX);
        }
        self.note(ended);
        wait.map(|wait| at.after(wait))
    }

    /// Returns when the attempt under way breaks a limit or has its hedge next. It is `None` where the attempt waits
    /// for nothing but its answer, or where none is under way.
    pub(crate) fn alarm(&self) -> Option<Timestamp> {
        self.first.as_ref()?;
        self.limits().map(|(at, ..)| at).chain(self.hedge_at).chain(self.leaves_at).min()
    }

    /// The failure of the first limit that the attempt under way has broken by `now`.
    pub(crate) fn broken(&self, now: Timestamp) -> Option<Failure> {
        let broken = self.limits().filter(|(at, ..)| *at <= now);
        let (_, kind, limit) = broken.min_by_key(|(at, ..)| *at)?;
        Some(Failure::new(kind, format!("no more than {} allowed", spoken(limit))))
    }

    /// The outcome of a request that is given up by `now`.
    pub(crate) fn given_up(&self, now: Timestamp) -> Option<Outcome> {
        let left = self.has_left(now).then_some(Outcome::Cancelled);
        left.or_else(|| Some(Outcome::Failed(self.broken(now)?.into())))
    }

    /// Whether the request is to be sent a second time by `now`.
    pub(crate) fn hedge_is_due(&self, now: Timestamp) -> bool {
        self.hedge_at.is_some_and(|at| at <= now)
    }

    /// All attempts, in the order in which they began; `None` where requests are sent once.
    pub(crate) fn into_attempts(mut self) -> Option<Vec<Attempt>> {
        self.over.sort_by_key(|attempt| attempt.begun);
        self.rules.retries.map(|_| self.over)
    }

    /// Returns the limits of the attempt under way. Each comes with the moment at which it is broken, the kind of the
    /// failure, and the length.
    fn limits(&self) -> impl Iterator<Item = (Timestamp, FailureKind, Duration)> + use<'a, H> {
        let Timeouts { first_token, between_tokens, total } = self.rules.timeouts;
        let silence = match self.last_token {
            None => (self.begun, first_token, FailureKind::TimeoutFirstToken),
            Some(at) => (at, between_tokens, FailureKind::TimeoutBetweenTokens),
        };
        let limits = [silence, (self.begun, total, FailureKind::TimeoutTotal)];
        limits.into_iter().filter_map(|(since, limit, kind)| limit.map(|limit| (since.after(limit), kind, limit)))
    }

    fn live(&mut self, which: Which) -> Option<&mut LiveAttempt<H>> {
        match which {
            Which::Hedge if self.hedge.is_some() => self.hedge.as_mut(),
            _ => self.first.as_mut(),
        }
    }

    /// Takes one of two attempts out, so that the other is left. It takes nothing where there is but one.
    fn without(&mut self, which: Which) -> Option<LiveAttempt<H>> {
        let hedge = self.hedge.take()?;
        match which {
            Which::First => self.first.replace(hedge),
            Which::Hedge => Some(hedge),
        }
    }

    fn note(&mut self, attempt: Attempt) {
        if self.rules.retries.is_some() {
            self.over.push(attempt);
        }
    }
}

#[cfg(test)]
mod tests;
