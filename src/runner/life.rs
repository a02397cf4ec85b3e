//! The life of a request, from its first attempt to its end.
//!
//! The run loop drives it with the events of answers and an alarm, virtual time with those of a simulated server.

use std::time::Duration;

use super::options::Timeouts;
use crate::clock::Timestamp;
use crate::record::{Attempt, AttemptEnd, AttemptKind, Failure, FailureKind};
use crate::units::spoken;
use crate::workload::{ClientBehaviour, RetryPolicy};

/// Rules by which clients give up, send again and hedge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientRules<'a> {
    /// Limits on each attempt.
    pub(crate) timeouts: Timeouts,
    /// When a request is sent again, and hedged; `None`: each is sent once.
    pub(crate) retries: Option<&'a RetryPolicy>,
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
}

#[derive(Debug)]
struct LiveAttempt<H> {
    handle: H,
    attempt: Attempt,
}

impl<'a> ClientRules<'a> {
    /// Rules of a workload's clients, with no limits but the workload's.
    pub(crate) fn from_policy(policy: &'a RetryPolicy) -> Self {
        let ClientBehaviour { timeout_s, first_token_timeout_s, .. } = policy.behaviour();
        let limit = |seconds: &Option<f64>| {
            seconds.map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
        };
        let timeouts =
            Timeouts { first_token: limit(first_token_timeout_s), between_tokens: None, total: limit(timeout_s) };
        Self { timeouts, retries: Some(policy) }
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
    /// The request of this index, of which nothing is sent yet.
    pub(crate) fn new(index: u64, rules: ClientRules<'a>) -> Self {
        Self {
            index,
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
            (self.begun, self.last_token) = (now, None);
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

    /// Notes a token of an attempt. The first cancels the other attempt, whose handle is returned, and a hedge
    /// still to come.
    pub(crate) fn token(&mut self, which: Which, at: Timestamp) -> Option<H> {
        self.last_token = Some(at);
        self.settle(which, at)
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
        self.limits().map(|(at, ..)| at).chain(self.hedge_at).min()
    }

    /// The failure of the first limit that the attempt under way has broken by `now`.
    pub(crate) fn broken(&self, now: Timestamp) -> Option<Failure> {
        let broken = self.limits().filter(|(at, ..)| *at <= now);
        let (_, kind, limit) = broken.min_by_key(|(at, ..)| *at)?;
        Some(Failure::new(kind, format!("no more than {} allowed", spoken(limit))))
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
mod tests {
    //! The decisions of clients at each moment, in exact time.

    use super::*;
    use crate::workload::{Jitter, RetryCause};

    const SECOND: u64 = 1_000_000_000;

    fn at(second: u64) -> Timestamp {
        Timestamp::from_nanos(second * SECOND)
    }

    /// Returns the policy of patient clients. They wait 10 s for the first token and 60 s in all, hedge after 5 s, and
    /// try twice again after 1 s.
    fn policy() -> RetryPolicy {
        let behaviour = ClientBehaviour {
            timeout_s: Some(60.0),
            first_token_timeout_s: Some(10.0),
            retries: 2,
            retry_on: vec![RetryCause::Timeout, RetryCause::Reset],
            backoff_s: 1.0,
            backoff_factor: 1.0,
            jitter: Jitter::None,
            hedge_after_s: Some(5.0),
            ..ClientBehaviour::default()
        };
        RetryPolicy::new(behaviour, 1)
    }

    /// Facts of each attempt. They are its kind, when it began and ended, how, and the tokens thrown away.
    type Seen = (AttemptKind, u64, u64, AttemptEnd, u32);

    fn attempts(life: RequestLife<'_, char>) -> Vec<Seen> {
        let seen = |attempt: Attempt| {
            let Attempt { kind, begun, ended, end, discarded_tokens, .. } = attempt;
            (kind, begun.as_nanos() / SECOND, ended.as_nanos() / SECOND, end, discarded_tokens)
        };
        life.into_attempts().unwrap().into_iter().map(seen).collect()
    }

    #[test]
    fn the_first_of_two_to_give_a_token_is_kept() {
        for (winner, loser, which) in [('h', 'f', Which::Hedge), ('f', 'h', Which::First)] {
            let policy = policy();
            let rules = ClientRules::from_policy(&policy);
            let mut life = RequestLife::new(0, rules);
            life.begin('f', AttemptKind::First, at(0));
            assert_eq!(life.alarm(), Some(at(5)));
            assert!(life.hedge_is_due(at(5)) && !life.hedge_is_due(at(4)));
            life.begin('h', AttemptKind::Hedge, at(5));
            assert_eq!(life.alarm(), Some(at(10)), "the limit is that of the first attempt");
            assert_eq!(life.which(&'h'), Some(Which::Hedge));
            assert_eq!(life.token(which, at(8)), Some(loser));
            assert_eq!((life.which(&winner), life.which(&loser)), (Some(Which::First), None));
            // The limit to the first token is met; the one in all stays.
            assert_eq!(life.alarm(), Some(at(60)));
            assert_eq!(life.token(Which::First, at(9)), None);
            assert_eq!(life.conclude(at(12), AttemptEnd::Answered, None, 2), None);
            let kept = |handle| {
                if handle == winner { (12, AttemptEnd::Answered) } else { (8, AttemptEnd::Cancelled) }
            };
            let (first, hedge) = (kept('f'), kept('h'));
            let all = [(AttemptKind::First, 0, first.0, first.1, 0), (AttemptKind::Hedge, 5, hedge.0, hedge.1, 0)];
            assert_eq!(attempts(life), all);
        }
    }

    #[test]
    fn one_of_two_that_fails_leaves_the_other_and_both_end_at_the_limit() {
        let policy = policy();
        let rules = ClientRules::from_policy(&policy);
        for failing in [Which::First, Which::Hedge] {
            let mut life = RequestLife::new(0, rules);
            life.begin('f', AttemptKind::First, at(0));
            assert!(!life.drop_failed(Which::First, at(1), FailureKind::Reset), "there is no other");
            life.begin('h', AttemptKind::Hedge, at(5));
            assert!(life.drop_failed(failing, at(6), FailureKind::Reset));
            assert!(life.broken(at(9)).is_none());
            let failure = life.broken(at(10)).unwrap();
            assert_eq!(failure.reason, FailureKind::TimeoutFirstToken);
            assert_eq!(failure.message, "no more than 10 s allowed");
            let end = AttemptEnd::Failed(failure.reason);
            assert_eq!(life.conclude(at(10), end, None, 0), Some(at(11)), "one try has failed");
            assert_eq!(life.alarm(), None, "it waits");
            life.begin('r', AttemptKind::Retry, at(11));
            assert_eq!(life.alarm(), Some(at(16)), "each attempt has limits of its own");
        }
    }

    #[test]
    fn a_request_is_sent_again_as_often_as_its_policy_says_and_tokens_count_as_lost_only_then() {
        let policy = policy();
        let rules = ClientRules::from_policy(&policy);
        let mut life = RequestLife::new(0, rules);
        let reset = AttemptEnd::Failed(FailureKind::Reset);
        let mut again = Vec::new();
        for (second, kind) in [(0, AttemptKind::First), (3, AttemptKind::Retry), (6, AttemptKind::Retry)] {
            life.begin('a', kind, at(second));
            life.token(Which::First, at(second + 1));
            again.push(life.conclude(at(second + 2), reset, None, 7));
        }
        assert_eq!(again, [Some(at(3)), Some(at(6)), None]);
        let all = [
            (AttemptKind::First, 0, 2, reset, 7),
            (AttemptKind::Retry, 3, 5, reset, 7),
            (AttemptKind::Retry, 6, 8, reset, 0),
        ];
        assert_eq!(attempts(life), all);
    }

    #[test]
    fn silence_between_tokens_has_a_limit_of_its_own_and_requests_sent_once_keep_no_attempts() {
        let timeouts = Timeouts { between_tokens: Some(Duration::from_secs(2)), ..Timeouts::default() };
        let rules = ClientRules { timeouts, retries: None };
        let mut life = RequestLife::new(0, rules);
        life.begin('a', AttemptKind::First, at(0));
        assert_eq!(life.alarm(), None);
        life.token(Which::First, at(100));
        life.token(Which::First, at(101));
        assert_eq!(life.alarm(), Some(at(103)));
        assert_eq!(life.broken(at(103)).unwrap().reason, FailureKind::TimeoutBetweenTokens);
        let timeout = AttemptEnd::Failed(FailureKind::TimeoutBetweenTokens);
        assert_eq!(life.conclude(at(103), timeout, None, 2), None);
        assert_eq!(life.into_attempts(), None);
    }

    #[test]
    fn the_end_of_a_run_cancels_both_attempts_and_a_server_may_ask_for_a_longer_wait() {
        let policy = policy();
        let rules = ClientRules::from_policy(&policy);
        let mut life = RequestLife::new(0, rules);
        life.begin('f', AttemptKind::First, at(0));
        let reset = AttemptEnd::Failed(FailureKind::Reset);
        assert_eq!(life.conclude(at(1), reset, Some(Duration::from_secs(4)), 0), Some(at(5)));
        life.begin('r', AttemptKind::Retry, at(5));
        life.begin('h', AttemptKind::Hedge, at(10));
        assert_eq!(life.conclude(at(12), AttemptEnd::Cancelled, None, 0), None);
        let all = [
            (AttemptKind::First, 0, 1, reset, 0),
            (AttemptKind::Retry, 5, 12, AttemptEnd::Cancelled, 0),
            (AttemptKind::Hedge, 10, 12, AttemptEnd::Cancelled, 0),
        ];
        assert_eq!(attempts(life), all);
    }
}
