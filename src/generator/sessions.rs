//! What follows a finished request: the next turn of its conversation, or its user's next request.

mod graphs;
mod lane_clock;
mod middle;
mod open;
mod sketch;
mod turns;

pub use turns::SessionTurns;

use std::sync::Arc;
use std::time::Duration;

use super::request::PlannedRequest;
use crate::clock::Timestamp;
use crate::generator::datasets::rows::RowDraws;
use crate::generator::datasets::sources::Datasets;
use crate::generator::draws::class_draws::{ClassDraws, WorkloadDraws};
use crate::generator::draws::pauses::think_time;
use crate::random::RandomStream;
use crate::record::{Phase, PlanFacts, Release, SessionCounts, Turn};
use crate::workload::{ArrivalPattern, MOST_TURNS, RequestClass, ThinkTime, WorkloadSpec};

/// Draws the later turns of sessions.
///
/// Everything about a later turn but its moment and the previous answers is a function of the seed, its session and
/// its number in it. It is drawn from branch [`Turn::index_of`] of the streams of first requests, and of
/// `think_times/NAME`; the number of turns of a conversation from branch `index of its first request` of
/// `turns/NAME`. So no session moves another, and a user's k-th request is the same however long the others took. A
/// user whose conversation ends early skips the numbers of its missing turns.
#[derive(Clone, Debug)]
pub struct SessionPlanner {
    workload: Arc<WorkloadSpec>,
    draws: WorkloadDraws,
    rows: Vec<Option<RowDraws>>,
    users: Option<Users>,
    /// The measured window, which decides a turn's phase.
    window: (Timestamp, Timestamp),
    /// Longest time for which load may go on after it.
    load_after: Duration,
    /// Requests that the users of a closed loop may still send. It is there where the run has so many.
    left: Option<u64>,
    /// The latest moment of those that are counted.
    latest: Timestamp,
}

/// The users of a closed loop.
#[derive(Clone, Debug)]
struct Users {
    count: u64,
    pauses: ThinkTime,
    stream: RandomStream,
}

/// End of a turn, as far as what follows depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TurnEnd {
    /// The end of its answer.
    pub at: Timestamp,
    /// Tokens of the answer that the next turn repeats; absent without a complete answer.
    pub answered: Option<u32>,
}

/// A request whose moment is not known yet, and what releases it.
type Follower = (PlannedRequest, Release);

/// Reason why a conversation ended early, and how many turns are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConversationBreak {
    /// A turn failed or was cut off.
    Unanswered(u32),
    /// The next turn would have exceeded the context.
    Full(u32),
}

impl ConversationBreak {
    /// Adds it to the counts of all sessions.
    pub(super) fn count(self, counts: &mut SessionCounts) {
        let (counter, turns) = match self {
            Self::Unanswered(turns) => (&mut counts.broken_off, turns),
            Self::Full(turns) => (&mut counts.full, turns),
        };
        *counter += 1;
        counts.turns_not_reached += u64::from(turns);
    }
}

impl SessionPlanner {
    /// The sessions of `workload`, with a window that contains all of their turns.
    pub(super) fn new(workload: Arc<WorkloadSpec>, datasets: &Datasets) -> Self {
        let users = match &workload.arrival {
            ArrivalPattern::Users { users, think_time_s, .. } => Some(Users {
                count: *users,
                pauses: *think_time_s,
                stream: RandomStream::named(workload.seed, "think_times"),
            }),
            _ => None,
        };
        Self {
            draws: WorkloadDraws::new(&workload),
            rows: datasets.rows(&workload).into_iter().map(|rows| rows.map(RowDraws::in_order)).collect(),
            users,
            window: (Timestamp::ZERO, Timestamp::from_nanos(u64::MAX)),
            load_after: Duration::from_secs_f64(workload.load_after_s()),
            left: None,
            latest: Timestamp::ZERO,
            workload,
        }
    }

    /// Returns the planner with the window of this plan. Where so many conversations begin, all of their turns are in
    /// it.
    pub(super) fn within(self, plan: &PlanFacts) -> Self {
        let requests = self.workload.requests;
        let planned = plan.warmup_requests + plan.measured_requests;
        let of_users = requests.filter(|_| self.users.is_some());
        Self {
            window: (plan.window_start, if requests.is_some() { self.window.1 } else { plan.window_end }),
            left: of_users.map(|requests| requests.saturating_sub(planned)),
            latest: self.last_start(),
            ..self
        }
    }

    /// Counts a request that follows an answer, and returns it if it is sent. Where a closed loop has so many
    /// requests and all are known, it is one of the cool-down, if there is one: it keeps up the load.
    pub(super) fn counted(&mut self, mut next: PlannedRequest) -> Option<PlannedRequest> {
        match &mut self.left {
            None => {}
            Some(0) => next.phase = Phase::Cooldown,
            Some(left) => {
                *left -= 1;
                self.latest = self.latest.max(next.scheduled);
            }
        }
        let end = if self.left.is_some() { self.latest } else { self.window.1 };
        (next.phase != Phase::Cooldown || next.scheduled < end.after(self.load_after)).then_some(next)
    }

    /// The end of the window of a closed loop that has so many requests. It is just after the last of them, once all
    /// are known.
    pub(super) fn counted_end(&self) -> Option<Timestamp> {
        (self.left == Some(0)).then(|| Timestamp::from_nanos(self.latest.as_nanos() + 1))
    }

    /// Returns when the last of the users begins.
    fn last_start(&self) -> Timestamp {
        match self.workload.arrival {
            ArrivalPattern::Users { users, ramp_s, .. } => {
                Timestamp::from_secs_f64(ramp_s * users.saturating_sub(1) as f64 / users as f64)
            }
            _ => Timestamp::ZERO,
        }
    }

    /// Whether a workload has sessions.
    pub(super) fn are_in(workload: &WorkloadSpec) -> bool {
        workload.arrival.users().is_some() || workload.classes.iter().any(RequestClass::continues)
    }

    /// Whether later turns may repeat what `request` and its answer say.
    pub fn has_next_turn(&self, request: &PlannedRequest) -> bool {
        let Some(turn) = request.turn else { return false };
        if let Some(graph) = self.graph_of(request) {
            return graph.is_carried(turn.place());
        }
        turn.place() + 1 < self.turns_of(request.class, &turn)
    }

    /// The request that follows `last`, and why its conversation ended early, if it did. `last` ended like this, and
    /// the next is `scheduled` a think time after that end.
    pub(super) fn after(
        &self,
        last: &PlannedRequest,
        end: TurnEnd,
    ) -> (Option<PlannedRequest>, Option<ConversationBreak>) {
        let (next, broken) = self.follower(last, end.answered);
        let at = |release: Release| release.moment(|_| Some(end.at)).unwrap_or(end.at);
        (next.map(|(next, release)| self.at(next, at(release))), broken)
    }

    /// Returns the request that follows `last`, with what releases it. It also says why the conversation ended early,
    /// if it did. `answered` are the tokens of the answer that the next turn repeats; absent without a complete answer.
    fn follower(&self, last: &PlannedRequest, answered: Option<u32>) -> (Option<Follower>, Option<ConversationBreak>) {
        let Some(turn) = last.turn else { return (None, None) };
        if turn.graph.is_some() {
            return (self.next_opener(last, answered.is_some()), None);
        }
        let left = self.turns_of(last.class, &turn).saturating_sub(turn.place() + 1);
        let (later_turn, broken) = match answered {
            _ if left == 0 => (None, None),
            None => (None, Some(ConversationBreak::Unanswered(left))),
            Some(answered) => match self.next_turn(last, &turn, answered) {
                Some(next) => (Some(next), None),
                None => (None, Some(ConversationBreak::Full(left))),
            },
        };
        (later_turn.or_else(|| self.next_opener(last, answered.is_some())), broken)
    }

    /// Returns what the user of `last` begins next, with what releases it. It is `None` in an open loop.
    fn next_opener(&self, last: &PlannedRequest, is_answered: bool) -> Option<Follower> {
        let (users, turn) = (self.users.as_ref()?, last.turn?);
        // If the skipped numbers run out, the next one; a graph needs numbers for all of its requests.
        let next = turn.number.checked_add(1).filter(|_| turn.graph.is_none());
        let most = if turn.graph.is_some() { MOST_TURNS } else { 0 };
        let numbers = [turn.begun.checked_add(self.turns_of(last.class, &turn)), next];
        let number = numbers.into_iter().flatten().find(|number| *number < Turn::MOST - most)?;
        let next = self.opener_after(turn.session, number, last.row.map(|row| (usize::from(last.class), row)))?;
        let pause = think_time(users.pauses, &mut users.stream.branch(next.index));
        let shortest = if is_answered { 0.0 } else { ArrivalPattern::AFTER_FAILURE_S };
        Some((next, Release::after(last.index, pause.max(Duration::from_secs_f64(shortest)))))
    }

    /// Returns what follows `last` if it is answered, except its moment and its history. For a later turn of a
    /// conversation only the index and the new tokens are right, whatever the answer.
    pub fn if_answered(&self, last: &PlannedRequest) -> Option<PlannedRequest> {
        self.after(last, TurnEnd { at: last.scheduled, answered: Some(0) }).0
    }

    /// Returns the request that opens a user's conversation at `number`, or the user's first. It is `None` where a
    /// dataset gives no lengths.
    pub(super) fn opener_of(&self, user: u64, number: u32) -> Option<PlannedRequest> {
        self.opener_after(user, number, None)
    }

    /// Returns the request that opens a user's session at `number`. The one before was of the `last` class and row.
    fn opener_after(&self, user: u64, number: u32, last: Option<(usize, u64)>) -> Option<PlannedRequest> {
        let index = Turn::index_of(user, number);
        let (class, model) = self.draws.of_index(index);
        let draws = self.draws.classes.get(class)?;
        let users = self.users.as_ref().map_or(1, |users| users.count);
        // The rows in order, dealt to the users in turn. A session takes up more than one number.
        let place = u64::from(number) * users + user;
        let row = self.rows.get(class)?.as_ref().map(|rows| {
            match last.filter(|(of, _)| *of == class && rows.are_sessions()) {
                Some((_, last)) => rows.after(last, users),
                None => rows.at(place),
            }
        });
        let opener = draws.of_index(index).opening(&self.workload, class, row, model)?;
        let turn = Some(draws.first_turn(user, number, row));
        Some(self.resumed(PlannedRequest { index, turn, ..opener }))
    }

    /// The next turn of a conversation; `None` where it would exceed the context.
    fn next_turn(&self, last: &PlannedRequest, turn: &Turn, answered: u32) -> Option<Follower> {
        let number = turn.number.checked_add(1).filter(|number| *number < Turn::MOST)?;
        let index = Turn::index_of(turn.session, number);
        let draws = self.draws.classes.get(usize::from(last.class))?;
        let turns = draws.turns()?;
        let (own_tokens, output_tokens) = draws.of_index(index).later_turn()?;
        let history_tokens = last.input_tokens.checked_add(answered)?;
        let input_tokens = history_tokens.checked_add(own_tokens)?;
        let whole = input_tokens.checked_add(output_tokens)?;
        if turns.most_tokens.is_some_and(|most| whole > most) {
            return None;
        }
        let next = PlannedRequest {
            index,
            input_tokens,
            output_tokens,
            turn: Some(Turn { number, history_tokens, ..*turn }),
            ..*last
        };
        Some((next, Release::after(last.index, turns.pause(index))))
    }

    fn turns_of(&self, class: u16, turn: &Turn) -> u32 {
        turn.of.unwrap_or_else(|| {
            let turns = self.draws.classes.get(usize::from(class)).and_then(ClassDraws::turns);
            turns.map_or(1, |turns| turns.count(Turn::index_of(turn.session, turn.begun)))
        })
    }

    /// The request at its moment, in the part of the run that this lies in.
    pub(super) fn at(&self, request: PlannedRequest, scheduled: Timestamp) -> PlannedRequest {
        let (start, end) = self.window;
        let phase = if scheduled < start {
            Phase::Warmup
        } else if scheduled < end && request.phase != Phase::Cooldown {
            Phase::Measured
        } else {
            Phase::Cooldown
        };
        PlannedRequest { phase, scheduled, ..request }
    }
}

#[cfg(test)]
mod tests;
