//! Flies a schedule against a simulated server, in virtual time.

use std::collections::HashMap;
use std::time::Duration;

use super::leading::leading;
use crate::clock::Timestamp;
use crate::generator::{Blocks, PlannedRequest, Schedule};
use crate::record::{
    Failure, FailureKind, FinishReason, Outcome, Phase, PlanFacts, RequestRecord, RunEnding, RunFooter,
    TokenSource, Usage,
};
use crate::simulator::{Driver, Effort, End, Gauges, History, Job, JobId, Server, urgency};

/// One run in virtual time.
///
/// Every request leaves at its scheduled moment. The run ends when every request of the warm-up and the window has
/// ended; cool-down requests still in the server then are censored. `drain` after the window's end the run stops
/// waiting, and what is left is censored.
#[derive(Clone, Debug)]
pub struct VirtualRun {
    /// What is flown.
    pub schedule: Schedule,
    /// Its facts.
    pub plan: PlanFacts,
    /// How long after the window's end to wait for answers.
    pub drain: Duration,
}

/// What a run in virtual time leaves behind.
#[derive(Clone, Debug, PartialEq)]
pub struct Flown {
    /// One record a request, in the order in which they ended.
    pub records: Vec<RequestRecord>,
    /// How the run was left.
    pub footer: RunFooter,
    /// What the server did during the window.
    pub effort: Effort,
    /// Of it, what its decode pool did.
    pub decode_effort: Effort,
    /// The server's counters when the run ended.
    pub gauges: Gauges,
    /// Seconds that the window's requests spent in the server's queue before their first step, of those that got a
    /// token.
    pub queued_s: f64,
    /// Seconds from their arrival to their first token.
    pub to_first_token_s: f64,
}

impl VirtualRun {
    /// Flies it against `server`, which must be fresh.
    pub fn fly<S: Server + ?Sized>(&self, server: &mut S) -> Flown {
        let mut driver = Driver::new(server);
        let mut arrivals = self.schedule.requests().peekable();
        let mut log =
            Log { asked: HashMap::new(), records: Vec::new(), queued_s: 0.0, to_first_token_s: 0.0 };
        let mut awaited = self.plan.warmup_requests + self.plan.measured_requests;
        let give_up = self.plan.window_end.after(self.drain);
        let mut clock = Timestamp::ZERO;
        let mut ending = RunEnding::Finished;
        let (mut at_start, mut at_end) = (None, None);
        let effort = |driver: &Driver<'_, S>| [driver.server().effort(), driver.server().decode_effort()];
        while awaited > 0 {
            let next_arrival = arrivals.peek().map(|(request, _)| request.scheduled);
            let Some(next) = [next_arrival, driver.next_event()].into_iter().flatten().min() else { break };
            if next.max(clock) > give_up {
                ending = RunEnding::DrainLimit;
                clock = give_up;
                break;
            }
            clock = clock.max(next);
            if clock >= self.plan.window_start {
                at_start.get_or_insert_with(|| effort(&driver));
            }
            if clock >= self.plan.window_end {
                at_end.get_or_insert_with(|| effort(&driver));
            }
            let mut ended = Vec::new();
            // All that arrive at a moment are in before anything starts at it.
            while let Some((request, blocks)) = arrivals.next_if(|(request, _)| request.scheduled <= clock) {
                log.asked.insert(request.index, request);
                ended.extend(driver.submit(clock, job(&request, &blocks)));
            }
            driver.advance(clock, |history| ended.push(history));
            for history in ended {
                if let Some(phase) = log.keep(history, clock) {
                    awaited -= u64::from(phase != Phase::Cooldown);
                }
            }
        }
        let [all, decode] = at_end.unwrap_or_else(|| effort(&driver));
        let [all_before, decode_before] = at_start.unwrap_or_default();
        let gauges = driver.server().gauges();
        for history in driver.stop() {
            log.keep(history, clock);
        }
        Flown {
            records: log.records,
            footer: RunFooter {
                released_until: self.plan.window_end,
                ended: clock,
                ending,
                present_ns: None,
                sessions: None,
                client: None,
                server: None,
            },
            effort: all - all_before,
            decode_effort: decode - decode_before,
            gauges,
            queued_s: log.queued_s,
            to_first_token_s: log.to_first_token_s,
        }
    }
}

/// A request as the simulator sees it.
fn job(request: &PlannedRequest, blocks: &Blocks) -> Job {
    Job {
        id: JobId(request.index),
        input_tokens: request.input_tokens,
        output_tokens: request.output_tokens,
        priority: urgency(request.priority),
        prefix: leading(request, blocks),
    }
}

/// Turns histories into records.
struct Log {
    /// What was asked by those who are still in the server.
    asked: HashMap<u64, PlannedRequest>,
    records: Vec<RequestRecord>,
    queued_s: f64,
    to_first_token_s: f64,
}

impl Log {
    /// Keeps the record of a request; `now` is when one that has not ended is cut off.
    fn keep(&mut self, history: History, now: Timestamp) -> Option<Phase> {
        let request = self.asked.remove(&history.job.0)?;
        if request.phase == Phase::Measured
            && let (Some(first), Some(seated)) = (history.chunks.first_at(), history.scheduled)
        {
            self.queued_s += seated.since(history.arrived).as_secs_f64();
            self.to_first_token_s += first.since(history.arrived).as_secs_f64();
        }
        self.records.push(record(&request, history, now));
        Some(request.phase)
    }
}

fn record(request: &PlannedRequest, history: History, now: Timestamp) -> RequestRecord {
    let History { arrived, cached_tokens, mut chunks, end, .. } = history;
    chunks.shrink_to_fit();
    let tokens = chunks.tokens();
    let (ended, outcome) = match end {
        End::Finished => (chunks.last_at().unwrap_or(arrived), Outcome::Completed),
        End::Rejected(reject) => {
            (arrived, Outcome::Failed(Failure::new(FailureKind::HttpStatus(400), reject.to_string())))
        }
        End::Unfinished => (now, Outcome::Censored),
    };
    let finished = end == End::Finished;
    let usage = finished.then(|| Usage {
        prompt_tokens: u64::from(request.input_tokens),
        completion_tokens: tokens,
        cached_tokens: Some(u64::from(cached_tokens)),
        reasoning_tokens: None,
    });
    let source = match (finished, chunks.is_empty()) {
        (true, _) => TokenSource::Usage,
        (false, false) => TokenSource::ChunkCounts,
        (false, true) => TokenSource::Chunks,
    };
    RequestRecord {
        sent: Some(arrived),
        chunks_counted: !chunks.is_empty(),
        chunks,
        ended,
        outcome,
        finish_reason: finished.then_some(FinishReason::Length),
        usage,
        output_tokens: tokens,
        output_tokens_source: source,
        ..request.record(arrived)
    }
}
