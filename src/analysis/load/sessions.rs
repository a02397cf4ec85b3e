//! Conversations: how many ended, and how long they lasted.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::analysis::figures::percentile::Figure;
use crate::analysis::latency::row::LatencyRow;
use crate::analysis::latency::table::of_requests;
use crate::analysis::requests::observed::Observed;
use crate::clock::Timestamp;
use crate::record::{Outcome, Phase, RequestRecord, Turn};

/// The conversations of a run. Counts and durations are about those that began in the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Sessions {
    /// Conversations whose first turn was scheduled in the window: `begun = completed + broken_off + censored`.
    pub begun: u64,
    /// Sessions that came to their end, or had no more room in the context.
    pub completed: u64,
    /// A turn failed, and those after it were not sent.
    pub broken_off: u64,
    /// Sessions that were still going on when the run ended.
    pub censored: u64,
    /// Turns that were sent.
    pub turns_sent: u64,
    /// Turns that they were to have; absent in a closed loop, whose records do not have them.
    pub turns_planned: Option<u64>,
    /// Share of the planned turns that were never sent, because the conversation broke off, had no more room in the
    /// context, or the run ended; absent if none were planned, or the number is unknown.
    pub turns_not_reached: Option<f64>,
    /// Answers without a word, only reasoning or nothing, which the next turn repeated as an empty one; left
    /// out where there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub empty_answers: Option<u64>,
    /// Time from the first turn's scheduled moment to the last token of the last turn, milliseconds; one that broke off
    /// or was still going on is known only to last longer. Absent where none began.
    pub duration: Option<LatencyRow>,
}

impl Sessions {
    /// `None` where no record is of a conversation.
    pub(crate) fn from_observed(observed: &Observed<'_>) -> Option<Self> {
        let mut conversations: BTreeMap<(u64, u32), Conversation> = BTreeMap::new();
        for (place, record) in observed.log.records.iter().enumerate() {
            let Some(turn) = in_conversation(observed, &record) else { continue };
            let first = (record.phase, record.scheduled);
            let begun = Conversation { sent: 0, opening: turn, first, last: (turn.number, place) };
            let own = conversations.entry((turn.session, turn.begun)).or_insert(begun);
            own.sent += 1;
            if turn.number < own.opening.number {
                (own.opening, own.first) = (turn, first);
            }
            if turn.number > own.last.0 {
                own.last = (turn.number, place);
            }
        }
        let run_ended = run_end(observed);
        let mut all = conversations.into_iter().peekable();
        all.peek()?;
        let mut sessions = Self { turns_planned: Some(0), ..Self::default() };
        let mut durations = Vec::new();
        while let Some(((session, _), conversation)) = all.next() {
            // A user of a closed loop who began another conversation had come to the end of this one.
            let went_on = all.peek().is_some_and(|((next, _), _)| *next == session);
            let last = observed.log.records.at(conversation.last.1);
            durations.extend(sessions.count(&conversation, &last, went_on, run_ended));
        }
        sessions.turns_not_reached = sessions
            .turns_planned
            .filter(|planned| *planned > 0)
            .map(|planned| planned.saturating_sub(sessions.turns_sent) as f64 / planned as f64);
        let counts = observed.log.footer.as_ref().and_then(|footer| footer.sessions);
        sessions.empty_answers = counts.map(|counts| counts.empty_answers).filter(|&empty| empty > 0);
        sessions.duration = of_requests(durations.into_iter(), &[]);
        Some(sessions)
    }

    /// Counts a conversation and says how long it lasted; `None` for one that did not begin in the window.
    fn count(
        &mut self,
        own: &Conversation,
        last: &RequestRecord,
        went_on: bool,
        run_ended: Timestamp,
    ) -> Option<Figure> {
        let Conversation { sent, opening, first, .. } = *own;
        if first.0 != Phase::Measured || opening.place() != 0 {
            return None;
        }
        let whole = went_on || last.context_full || opening.of.is_some_and(|of| sent >= u64::from(of));
        self.begun += 1;
        self.turns_planned = self.turns_planned.zip(opening.of).map(|(all, of)| all + u64::from(of));
        self.turns_sent += sent;
        let since = |moment: Timestamp| moment.since(first.1).as_secs_f64() * 1e3;
        Some(match &last.outcome {
            Outcome::Failed(_) | Outcome::Cancelled => {
                self.broken_off += 1;
                Figure::AtLeast(since(last.ended))
            }
            Outcome::Completed if whole => {
                self.completed += 1;
                let last_token = last.chunks.last_at().or(last.whole_answer);
                Figure::Exact(since(last_token.unwrap_or(last.ended)))
            }
            Outcome::Completed | Outcome::Censored => {
                self.censored += 1;
                Figure::AtLeast(since(run_ended.max(last.ended)))
            }
        })
    }
}

/// The turns of a conversation, as its figures need them.
struct Conversation {
    sent: u64,
    /// The first turn, its part of the run, and its scheduled moment.
    opening: Turn,
    first: (Phase, Timestamp),
    /// Number of the last turn that was sent, and the place of its record.
    last: (u32, usize),
}

/// The place of a request in its conversation, where its class has any.
pub(in crate::analysis) fn in_conversation(observed: &Observed<'_>, record: &RequestRecord) -> Option<Turn> {
    let class = observed.log.header.workload.classes.get(usize::from(record.class))?;
    class.conversation.as_ref()?;
    record.turn()
}

/// The moment at which the run stopped waiting.
fn run_end(observed: &Observed<'_>) -> Timestamp {
    let log = observed.log;
    let last = log.records.iter().map(|record| record.ended).max().unwrap_or_default();
    log.footer.as_ref().map_or(last, |footer| footer.ended)
}

#[cfg(test)]
mod tests;
