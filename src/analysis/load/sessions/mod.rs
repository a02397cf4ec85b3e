//! Conversations: how many ended, how often, how long they lasted, and where their time went.

mod time;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

pub use self::time::SessionTime;
use self::time::SessionTimes;

use crate::analysis::figures::Figure;
use crate::analysis::latency::row::LatencyRow;
use crate::analysis::latency::table::of_requests;
use crate::analysis::requests::{Observed, answered};
use crate::clock::Timestamp;
use crate::record::{Outcome, Phase, RequestRecord, Turn};

/// Seconds in an hour.
const HOUR_S: f64 = 3_600.0;

/// The conversations of a run. Counts and durations are about those that began in the window, and all figures about
/// whole ones: none is about the rest of one that began in its middle.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Sessions {
    /// Conversations whose first turn was scheduled in the window. `begun = completed + broken_off + censored`.
    pub begun: u64,
    /// Sessions that began in their middle, which no other figure is about. Left out where there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_middle: Option<u64>,
    /// Agents, or users, that had no request in the window. Left out where all had one, and in an open loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_agents: Option<u64>,
    /// Time that the clock of the agents jumped over while nothing was in flight, seconds. Left out where it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped_idle_s: Option<f64>,
    /// Sessions that came to their end, or had no more room in the context.
    pub completed: u64,
    /// A turn failed, and those after it were not sent.
    pub broken_off: u64,
    /// Sessions that were still going on when the run ended.
    pub censored: u64,
    /// Turns that were sent.
    pub turns_sent: u64,
    /// Turns that they were to have. Absent in a closed loop, whose records do not have them.
    pub turns_planned: Option<u64>,
    /// Planned turns that were not needed, because the answer before them called no tool. Left out where there were
    /// none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns_not_needed: Option<u64>,
    /// Share of the planned turns that were needed and never sent. The conversation broke off, had no more room in the
    /// context, or the run ended. Absent if none were planned, or the number is unknown.
    pub turns_not_reached: Option<f64>,
    /// Answers without a word, which the next turn repeated as an empty one. They hold only reasoning or nothing. Left
    /// out where there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub empty_answers: Option<u64>,
    /// Time from the first turn's scheduled moment to the end of the conversation, milliseconds. It ends with the last
    /// token of the last turn. A conversation that broke off or was still going on is known only to last longer. Absent
    /// where none began.
    pub duration: Option<LatencyRow>,
    /// Sessions completed per hour of the time in which answers count, whenever they began. Absent for an empty window.
    pub completed_per_hour: Option<f64>,
    /// Sessions completed per hour and GPU. Absent where the number of GPUs is not declared, or the client is one of
    /// several generators.
    pub completed_per_hour_per_gpu: Option<f64>,
    /// Sessions that one user completes in an hour: 3,600 s ÷ mean duration. Absent where one was cut off, since the
    /// mean is then unknown.
    pub completed_per_hour_per_user: Option<f64>,
    /// Where their time went. Absent where none began.
    pub time: Option<SessionTime>,
}

impl Sessions {
    /// `None` where no record is of a conversation.
    pub(crate) fn from_observed(observed: &Observed<'_>) -> Option<Self> {
        let mut conversations: BTreeMap<(u64, u32), Conversation> = BTreeMap::new();
        for (place, record) in observed.log.records.iter().enumerate() {
            let Some(turn) = in_conversation(observed, &record) else { continue };
            let first = (record.phase, record.scheduled);
            let failed = matches!(record.outcome, Outcome::Failed(_) | Outcome::Cancelled);
            let begun = Conversation { opening: turn, first, last: (record.ended, place), ..Conversation::default() };
            let own = conversations.entry((turn.session, turn.begun)).or_insert(begun);
            own.places.push(place);
            own.has_failure |= failed;
            own.left_out += turn.graph.map_or(0, |place| u64::from(place.left_out));
            own.is_full |= record.context_full;
            if turn.number < own.opening.number {
                (own.opening, own.first) = (turn, first);
            }
            own.last = own.last.max((record.ended, place));
        }
        let run_ended = run_end(observed);
        let mut all = conversations.into_iter().peekable();
        all.peek()?;
        let idle_agents = idle_agents(observed);
        let skipped_idle_s = skipped_idle_s(observed);
        let mut sessions = Self { turns_planned: Some(0), idle_agents, skipped_idle_s, ..Self::default() };
        let (mut durations, mut times, mut completed) = (Vec::new(), SessionTimes::default(), 0_u64);
        while let Some(((session, _), conversation)) = all.next() {
            // A user of a closed loop who began another conversation had come to the end of this one.
            let went_on = all.peek().is_some_and(|((next, _), _)| *next == session);
            if conversation.opening.graph.is_some_and(|place| place.recorded.is_some()) {
                *sessions.from_middle.get_or_insert_default() += 1;
                continue;
            }
            let last = observed.log.records.at(conversation.last.1);
            let whole = conversation.is_whole(&last, went_on);
            completed += u64::from(whole && answered(&last).is_some_and(|at| observed.counts_answer(at)));
            let duration = sessions.count(&conversation, &last, whole, run_ended);
            if duration.is_some() {
                let records: Vec<_> = conversation.places.iter().map(|place| observed.log.records.at(*place)).collect();
                times.add(records.iter().map(|record| &**record));
            }
            durations.extend(duration);
        }
        sessions.turns_not_reached = sessions.turns_planned.filter(|planned| *planned > 0).map(|planned| {
            let settled = sessions.turns_sent + sessions.turns_not_needed.unwrap_or(0);
            planned.saturating_sub(settled) as f64 / planned as f64
        });
        let counts = observed.log.footer.as_ref().and_then(|footer| footer.sessions);
        sessions.empty_answers = counts.map(|counts| counts.empty_answers).filter(|&empty| empty > 0);
        sessions.duration = of_requests(durations.into_iter(), &[]);
        let deployment = &observed.log.header.deployment;
        let gpus = deployment.gpus.filter(|gpus| *gpus > 0 && observed.log.header.shard.is_none());
        let mean_ms = sessions.duration.as_ref().and_then(|row| row.mean_ms).filter(|ms| *ms > 0.0);
        sessions.completed_per_hour = observed.answers_per_second(completed as f64 * HOUR_S);
        sessions.completed_per_hour_per_gpu =
            sessions.completed_per_hour.zip(gpus).map(|(rate, gpus)| rate / f64::from(gpus));
        sessions.completed_per_hour_per_user = mean_ms.map(|ms| HOUR_S * 1e3 / ms);
        sessions.time = times.shares();
        Some(sessions)
    }

    /// Counts a conversation and says how long it lasted. `None` for one that did not begin in the window.
    fn count(&mut self, own: &Conversation, last: &RequestRecord, whole: bool, run_ended: Timestamp) -> Option<Figure> {
        let Conversation { opening, first, .. } = *own;
        if first.0 != Phase::Measured || opening.place() != 0 {
            return None;
        }
        self.begun += 1;
        self.turns_planned = self.turns_planned.zip(opening.of).map(|(all, of)| all + u64::from(of));
        self.turns_sent += own.places.len() as u64;
        let left_out = self.turns_not_needed.unwrap_or(0) + own.left_out;
        self.turns_not_needed = Some(left_out).filter(|turns| *turns > 0);
        let since = |moment: Timestamp| moment.since(first.1).as_secs_f64() * 1e3;
        Some(match &last.outcome {
            _ if own.is_broken(last) => {
                self.broken_off += 1;
                Figure::AtLeast(since(last.ended))
            }
            Outcome::Completed if whole => {
                self.completed += 1;
                let last_token = last.chunks.last_at().or(last.whole_answer);
                Figure::Exact(since(last_token.unwrap_or(last.ended)))
            }
            _ => {
                self.censored += 1;
                Figure::AtLeast(since(run_ended.max(last.ended)))
            }
        })
    }
}

/// The turns of a conversation, as its figures need them.
#[derive(Default)]
struct Conversation {
    /// Places of the records of its turns.
    places: Vec<usize>,
    /// The first turn, its part of the run, and its scheduled moment.
    opening: Turn,
    first: (Phase, Timestamp),
    /// The end of the turn that ended last, and the place of its record.
    last: (Timestamp, usize),
    /// Turns left out because an answer called no tool.
    left_out: u64,
    /// Whether a turn failed, and whether there was no room for one.
    has_failure: bool,
    is_full: bool,
}

impl Conversation {
    /// Turns that were sent or not needed.
    fn settled(&self) -> u64 {
        self.places.len() as u64 + self.left_out
    }

    /// Whether a failure broke it off: others were not sent, or it was the last. A graph may do
    /// without one that failed.
    fn is_broken(&self, last: &RequestRecord) -> bool {
        let is_last = matches!(last.outcome, Outcome::Failed(_) | Outcome::Cancelled);
        self.has_failure && (is_last || self.opening.of.is_some_and(|of| self.settled() < u64::from(of)))
    }

    /// Whether no turn was left when its last one was complete. A user who `went_on` had come to its end.
    fn is_whole(&self, last: &RequestRecord, went_on: bool) -> bool {
        let ended = went_on || self.is_full || self.opening.of.is_some_and(|of| self.settled() >= u64::from(of));
        ended && !self.is_broken(last) && last.outcome == Outcome::Completed
    }
}

/// The place of a request in its conversation, where its class has any.
pub(in crate::analysis) fn in_conversation(observed: &Observed<'_>, record: &RequestRecord) -> Option<Turn> {
    let class = observed.log.header.workload.classes.get(usize::from(record.class))?;
    record.turn().filter(|_| class.continues())
}

/// Agents of the whole load that had no request in the window. `None` where all had one, or nobody knows.
fn idle_agents(observed: &Observed<'_>) -> Option<u64> {
    let log = observed.log;
    let agents = log.header.workload.arrival.users().filter(|_| log.header.shard.is_none())?;
    let measured = log.records.iter().filter(|record| record.phase == Phase::Measured);
    let working: BTreeSet<u64> = measured.filter_map(|record| Some(record.turn()?.session)).collect();
    Some(agents.saturating_sub(working.len() as u64)).filter(|idle| *idle > 0)
}

/// Seconds by which the clock of the agents was ahead at last.
fn skipped_idle_s(observed: &Observed<'_>) -> Option<f64> {
    let ahead = observed.log.records.iter().filter_map(|record| Some(record.turn()?.graph?.ahead()));
    ahead.max().filter(|ahead| !ahead.is_zero()).map(|ahead| ahead.as_secs_f64())
}

/// The moment at which the run stopped waiting.
fn run_end(observed: &Observed<'_>) -> Timestamp {
    let log = observed.log;
    let last = log.records.iter().map(|record| record.ended).max().unwrap_or_default();
    log.footer.as_ref().map_or(last, |footer| footer.ended)
}

#[cfg(test)]
mod tests;
