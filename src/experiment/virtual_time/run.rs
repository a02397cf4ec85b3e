//! Runs a schedule against a simulated server, in virtual time.

use std::time::Duration;

use super::clients::VirtualClients;
use super::log::leading;
use super::prefixes::SessionPrefixes;
use crate::analysis::answers_end;
use crate::clock::Timestamp;
use crate::generator::{Blocks, ConcurrencyCaps, DueQueue, PlannedRequest, Schedule, SessionPlanner, SessionTurns};
use crate::record::{FinishReason, Outcome, Phase, PlanFacts, RequestRecord, RunEnding, RunFooter, SessionCounts};
use crate::runner::ClientRules;
use crate::simulator::{PrefixHashes, ServerGauges, SimulatedServer, WorkTotals};

/// One run in virtual time.
///
/// Every request leaves at its scheduled moment, or waits then for a slot under the cap; a later turn of a
/// session a think time after the end of the one before. The run ends when every request of the warm-up and
/// the window has ended, later turns among them; cool-down requests still in the server then are censored.
/// `drain` after the window's end the run stops waiting, and what is left is censored.
#[derive(Clone, Debug)]
pub struct VirtualRun {
    /// The schedule.
    pub schedule: Schedule,
    /// The facts of the plan.
    pub plan: PlanFacts,
    /// Time after the window's end for which to wait for answers.
    pub drain: Duration,
    /// Most requests in flight; the others wait, which counts in their latency.
    pub caps: ConcurrencyCaps,
}

/// The result of a run in virtual time.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedRun {
    /// One record a request, in the order in which they ended.
    pub records: Vec<RequestRecord>,
    /// The end of the run.
    pub footer: RunFooter,
    /// First moment after the time in which answers count.
    pub answers_end: Timestamp,
    /// Work of the server during the window. Where answers count for longer, it goes on until the last of them.
    pub effort: WorkTotals,
    /// The part of the decode pool.
    pub decode_effort: WorkTotals,
    /// The server's counters when the run ended.
    pub gauges: ServerGauges,
    /// Seconds that the window's requests spent in the server's queue. They are those before their first step, of the
    /// requests that got a token.
    pub queued_s: f64,
    /// Seconds from their arrival to their first token.
    pub to_first_token_s: f64,
}

impl VirtualRun {
    /// Runs it against `server`, which must be fresh.
    pub fn execute<S: SimulatedServer + ?Sized>(&self, server: &mut S) -> SimulatedRun {
        let (retries, leaving) = (self.schedule.retry_policy(), self.schedule.leaving_policy());
        let rules = ClientRules::from_policies(retries.as_ref(), leaving.as_ref());
        let mut clients = VirtualClients::new(server, self.caps.clone(), rules);
        let mut arrivals = self.schedule.requests().peekable();
        let mut turns = LaterTurns::new(self.schedule.sessions(&self.plan));
        let mut records = Vec::new();
        let mut awaited = self.plan.warmup_requests + self.plan.measured_requests;
        let mut window_end = self.plan.window_end;
        let mut clock = Timestamp::ZERO;
        let mut ending = RunEnding::Finished;
        let (mut at_start, mut at_end) = (None, None);
        let effort = |server: &S| [server.effort(), server.decode_effort()];
        while awaited > 0 {
            let next_arrival = arrivals.peek().map(|(request, _)| request.scheduled);
            let due = [next_arrival, turns.next_due(), clients.next_due()];
            let Some(next) = due.into_iter().flatten().min() else { break };
            let give_up = window_end.after(self.drain);
            if next.max(clock) > give_up {
                ending = RunEnding::DrainLimit;
                clock = give_up;
                break;
            }
            clock = clock.max(next);
            if clock >= self.plan.window_start {
                at_start.get_or_insert_with(|| effort(clients.server()));
            }
            window_end = turns.window_end().unwrap_or(window_end);
            if clock >= window_end {
                at_end.get_or_insert_with(|| effort(clients.server()));
            }
            let mut ended = Vec::new();
            // All requests of a moment arrive before anything starts at it.
            while let Some((request, blocks)) = arrivals
                .next_if(|(request, _)| request.scheduled <= clock)
                .or_else(|| turns.next_by(clock).map(|request| (request, Blocks::default())))
            {
                awaited += turns.released(&request);
                let prefix = turns.prefix_of(&request, leading(&request, &blocks));
                clients.dispatch(clock, request, prefix, &mut ended);
            }
            clients.advance(clock, &mut ended);
            for (request, mut record) in ended {
                awaited -= u64::from(request.phase != Phase::Cooldown);
                awaited += turns.follow(&request, &mut record);
                records.push(record);
            }
        }
        let window_end = turns.window_end().unwrap_or(window_end);
        let (at_last, gauges) = (effort(clients.server()), clients.server().gauges());
        let (waits, left) = clients.stop(clock);
        records.extend(left);
        let window = (self.plan.window_start, window_end);
        let answers_end = answers_end(|| records.iter(), window, self.schedule.is_counted());
        let [all, decode] = at_end.filter(|_| answers_end == window_end).unwrap_or(at_last);
        let [all_before, decode_before] = at_start.unwrap_or_default();
        SimulatedRun {
            records,
            footer: RunFooter {
                released_until: window_end,
                ended: clock,
                ending,
                sessions: turns.counts(),
                ..RunFooter::default()
            },
            answers_end,
            effort: all - all_before,
            decode_effort: decode - decode_before,
            gauges,
            queued_s: waits.queued_s,
            to_first_token_s: waits.to_first_token_s,
        }
    }
}

/// The turns that are known and not yet sent.
#[derive(Debug)]
struct LaterTurns {
    /// The sessions, which say what follows each request; absent where there are none.
    sessions: Option<SessionTurns>,
    due: DueQueue<PlannedRequest>,
    prefixes: SessionPrefixes,
}

impl LaterTurns {
    pub(super) fn new(sessions: Option<SessionPlanner>) -> Self {
        let never = Timestamp::from_nanos(u64::MAX);
        let sessions = sessions.map(|planner| SessionTurns::new(planner, never));
        Self { sessions, due: DueQueue::default(), prefixes: SessionPrefixes::default() }
    }

    /// Returns when the next one leaves.
    pub(super) fn next_due(&self) -> Option<Timestamp> {
        self.due.moment()
    }

    /// The next one, if it leaves by `now`.
    pub(super) fn next_by(&mut self, now: Timestamp) -> Option<PlannedRequest> {
        self.next_due().filter(|at| *at <= now)?;
        self.due.pop().map(|(_, request)| request)
    }

    /// Notes a request that leaves. It returns how many that leave without waiting for another are awaited.
    fn released(&mut self, request: &PlannedRequest) -> u64 {
        let Some(sessions) = &mut self.sessions else { return 0 };
        sessions.released(request);
        self.take_released()
    }

    /// Schedules what has been released. It returns how many of them are awaited.
    fn take_released(&mut self) -> u64 {
        let mut awaited = 0;
        while let Some(next) = self.sessions.as_mut().and_then(SessionTurns::next_released) {
            awaited += u64::from(next.phase != Phase::Cooldown);
            self.due.push(next.scheduled, next.index, next);
        }
        awaited
    }

    /// Schedules what a request that has ended releases. It returns how many of them are awaited.
    pub(super) fn follow(&mut self, last: &PlannedRequest, record: &mut RequestRecord) -> u64 {
        let Some(sessions) = &mut self.sessions else { return 0 };
        // No model decides here: all planned calls of tools are made.
        if record.outcome == Outcome::Completed && sessions.asks_for_tools(last) {
            record.finish_reason = Some(FinishReason::ToolCalls);
        }
        sessions.ended(last, record);
        if let Some(turn) = last.turn.filter(|turn| turn.graph.is_some() && !sessions.is_open(turn.session)) {
            self.prefixes.forget(turn);
        }
        self.take_released() + self.catch_up(record.ended)
    }

    /// Lets requests come sooner where nothing is in flight from `now` on. It returns how many more are awaited.
    fn catch_up(&mut self, now: Timestamp) -> u64 {
        let Some(sessions) = &mut self.sessions else { return 0 };
        let (moved, next, awaited) = sessions.catch_up(now);
        if !moved.is_empty() {
            // All that were handed out come sooner.
            self.due = DueQueue::default();
        }
        let later = next.iter().filter(|next| next.phase != Phase::Cooldown).count() as u64;
        moved.into_iter().chain(next).for_each(|request| self.due.push(request.scheduled, request.index, request));
        awaited + later
    }

    /// The prefix of a request that begins like `begins`. Where it is of a session, its turns share more.
    fn prefix_of(&mut self, request: &PlannedRequest, begins: PrefixHashes) -> PrefixHashes {
        let Some((sessions, turn)) = self.sessions.as_ref().zip(request.turn) else { return begins };
        let goes_on = sessions.has_next_turn(request);
        let contents = sessions.planner.contents(request).map(|blocks| leading(request, &blocks));
        let like = sessions.begins_like(request).filter(|_| contents.is_none());
        let is_known = contents.is_some();
        let begins = contents.unwrap_or(begins);
        if is_known && !goes_on {
            return begins;
        }
        let is_kept = goes_on || sessions.is_begun_like(request);
        let tokens = request.input_tokens.saturating_add(request.output_tokens);
        let begins = like.and_then(|(index, shared)| self.prefixes.first(index, shared)).unwrap_or(begins);
        if is_kept || like.is_some() || turn.carried().is_some() {
            self.prefixes.add(turn, begins, tokens, is_kept)
        } else {
            begins
        }
    }

    /// End of the window, where the answers decided it and it is known.
    pub(super) fn window_end(&self) -> Option<Timestamp> {
        self.sessions.as_ref()?.window_end()
    }

    /// Counts of the sessions; absent where there are none.
    pub(super) fn counts(&self) -> Option<SessionCounts> {
        self.sessions.as_ref().map(|sessions| sessions.counts)
    }
}
