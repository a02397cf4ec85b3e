//! Conversations: how many ended, how often, how long they lasted, and where their time went.

mod time;

use std::collections::BTreeMap;

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

/// The conversations of a run. Counts and durations are about those that began in the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Sessions {
    /// Conversations whose first turn was scheduled in the window. `begun = completed + broken_off + censored`.
    pub begun: u64,
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
        let mut sessions = Self { turns_planned: Some(0), ..Self::default() };
        let (mut durations, mut times, mut completed) = (Vec::new(), SessionTimes::default(), 0_u64);
        while let Some(((session, _), conversation)) = all.next() {
            // A user of a closed loop who began another conversation had come to the end of this one.
            let went_on = all.peek().is_some_and(|((next, _), _)| *next == session);
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

/// The moment at which the run stopped waiting.
fn run_end(observed: &Observed<'_>) -> Timestamp {
    let log = observed.log;
    let last = log.records.iter().map(|record| record.ended).max().unwrap_or_default();
    log.footer.as_ref().map_or(last, |footer| footer.ended)
}

#[cfg(test)]
mod tests {
    //! Holds the figures of conversations to runs made by hand.

    use super::*;
    use crate::analysis::figures::{Metric, Quantile};
    use crate::analysis::parts::part::Part;
    use crate::analysis::summarise::summarise;
    use crate::analysis::test_runs::{ms, record, run};
    use crate::record::{Failure, FailureKind, PartKind, RunLog};
    use crate::workload::{Conversation, Distribution, ThinkTime};

    /// Turn `number` of a conversation of `of`.
    fn turn(session: u64, number: u32, of: u32) -> Turn {
        Turn { session, number, of: Some(of), history_tokens: 100 * number, ..Turn::default() }
    }

    /// A request scheduled at `at` whose eleven tokens come from `first` on, 10 ms apart.
    fn answered(turn: Turn, at: u64, first: u64) -> RequestRecord {
        let index = Turn::index_of(turn.session, turn.number);
        let mut record = record(index).sent_at(at, at, at).paced(first, 10, 11).build();
        record.turn = Some(turn.into());
        record.input_tokens_asked = 100 + turn.history_tokens;
        record
    }

    fn with_conversations(records: Vec<RequestRecord>) -> RunLog {
        let mut log = run(10_000, records);
        log.header.workload.classes[0].conversation = Some(Conversation {
            turns: Distribution::Constant { value: 3 },
            think_time_s: ThinkTime::Constant { value: 1.0 },
            first_input_tokens: None,
            max_context_tokens: None,
        });
        log
    }

    /// Three conversations begin in the window. The first has its three turns, the last token of which comes at
    /// 2,500 ms. The second of the other's two turns fails at 1,900 ms, 1,400 after the conversation began. The
    /// third is in its pause when the run ends, at 10,200 ms, 1,200 after it began. A fourth began in the
    /// warm-up, a fifth in the cool-down.
    fn three() -> RunLog {
        let failure = Failure::new(FailureKind::Reset, "gone");
        let mut broken = record(Turn::index_of(2, 1)).sent_at(1_800, 1_800, 1_800).failed(1_900, failure).build();
        broken.turn = Some(turn(2, 1, 2).into());
        let mut before = answered(turn(0, 0, 2), 0, 90);
        before.phase = Phase::Warmup;
        let mut after = answered(turn(4, 0, 3), 10_000, 10_080);
        after.phase = Phase::Cooldown;
        let mut log = with_conversations(vec![
            before,
            answered(turn(0, 1, 2), 1_190, 1_260),
            answered(turn(1, 0, 3), 0, 100),
            answered(turn(1, 1, 3), 1_200, 1_250),
            answered(turn(1, 2, 3), 2_350, 2_400),
            answered(turn(2, 0, 2), 500, 700),
            broken,
            answered(turn(3, 0, 2), 9_000, 9_300),
            after,
        ]);
        log.footer.as_mut().unwrap().ended = ms(10_200);
        log
    }

    #[test]
    fn every_conversation_of_the_window_is_counted_once() {
        let sessions = Sessions::from_observed(&Observed::from_log(&three())).unwrap();
        let Sessions { begun, completed, broken_off, censored, turns_planned, turns_sent, .. } = sessions;
        assert_eq!((begun, completed, broken_off, censored), (3, 1, 1, 1));
        assert_eq!((turns_planned, turns_sent), (Some(3 + 2 + 2), 3 + 2 + 1));
        assert!((sessions.turns_not_reached.unwrap() - 1.0 / 7.0).abs() < 1e-12);
        // That of the warm-up ended in the window too: two in ten seconds, on two GPUs.
        let mut log = three();
        log.header.deployment.gpus = Some(2);
        let sessions = Sessions::from_observed(&Observed::from_log(&log)).unwrap();
        assert_eq!((sessions.completed_per_hour, sessions.completed_per_hour_per_gpu), (Some(720.0), Some(360.0)));
        assert_eq!(sessions.completed_per_hour_per_user, None, "two were cut off");
        // 500, 400 and 400 ms with the server of 2,500, 1,400 and 400.
        let time = sessions.time.unwrap();
        assert!((time.total_s - 4.3).abs() < 1e-9 && time.client_share == 0.0, "{time:?}");
        assert!(
            (time.server_share - 1.3 / 4.3).abs() < 1e-9 && (time.pause_share - 3.0 / 4.3).abs() < 1e-9,
            "{time:?}"
        );
    }

    #[test]
    fn what_was_cut_off_lasted_at_least_so_long() {
        let duration = Sessions::from_observed(&Observed::from_log(&three())).unwrap().duration.unwrap();
        assert_eq!((duration.n, duration.censored), (3, 2));
        // 1,200 and more, 1,400 and more, 2,500: the middle one may be any from 1,400 on.
        assert_eq!(duration.percentile(Quantile::P50).figure, Figure::AtLeast(1_400.0));
        assert_eq!(duration.min, Figure::Between { low: 1_200.0, high: 2_500.0 });
    }

    #[test]
    fn turns_are_told_apart_and_share_nothing_with_warm_up_and_cool_down() {
        let summary = summarise(&three(), &[]);
        let by_turn = summary.parts_of(PartKind::Turn);
        let places: Vec<_> = by_turn.iter().map(|turn| (turn.name.as_str(), turn.requests)).collect();
        assert_eq!(places, [("1", 3), ("2", 3), ("3", 1)]);
        let p50 = |turn: &&Part| turn.latency.row(Metric::Ttft).unwrap().percentile(Quantile::P50).figure.exact();
        // 100, 200, 300; then 50 and 70, for the one that failed has none; then 50.
        assert_eq!(by_turn.iter().map(p50).collect::<Vec<_>>(), [Some(200.0), Some(60.0), Some(50.0)]);
        // The failed one was asked for without its history.
        let prompts: Vec<_> = by_turn.iter().map(|turn| turn.mean_prompt_tokens.unwrap()).collect();
        assert_eq!(prompts, [100.0, 500.0 / 3.0, 300.0]);
        assert_eq!(by_turn[0].mean_cached_tokens, None);
    }

    #[test]
    fn later_turns_are_put_together_and_cached_tokens_averaged_where_told() {
        let record_of =
            |number: u32, cached| {
                let mut record = answered(turn(1, number, 20), u64::from(number) * 500, u64::from(number) * 500 + 100);
                record.usage = record.usage.or(Some(crate::record::Usage::default())).map(|usage| {
                    crate::record::Usage { prompt_tokens: 2_120 + u64::from(number), cached_tokens: cached, ..usage }
                });
                record
            };
        let log = with_conversations(vec![
            record_of(3, None),
            record_of(4, Some(64)),
            record_of(8, Some(32)),
            record_of(9, None),
            record_of(19, Some(16)),
        ]);
        let summary = summarise(&log, &[]);
        let by_turn = summary.parts_of(PartKind::Turn);
        let found: Vec<_> =
            by_turn.iter().map(|turn| (turn.name.as_str(), turn.requests, turn.mean_cached_tokens)).collect();
        assert_eq!(found, [("4", 1, None), ("5–9", 2, Some(48.0)), ("10–19", 1, None), ("20–49", 1, Some(16.0))]);
        assert_eq!(by_turn[1].mean_prompt_tokens, Some(2_126.0));
        // 400 and 800 tokens were said before, the last of which is computed anew; in blocks of 16.
        assert_eq!(by_turn[1].planned_cached_tokens, Some(f64::midpoint(384.0, 784.0)));
        let mut unknown = log.clone();
        unknown.header.engines[0].cache_block_tokens = None;
        let planned = summarise(&unknown, &[]).parts_of(PartKind::Turn)[1].planned_cached_tokens;
        assert_eq!(planned, Some(f64::midpoint(399.0, 799.0)));
    }

    #[test]
    fn a_conversation_without_room_has_ended() {
        let mut log = three();
        let full = log.records.iter_mut().find(|record| record.turn() == Some(turn(3, 0, 2))).unwrap();
        full.context_full = true;
        let sessions = Sessions::from_observed(&Observed::from_log(&log)).unwrap();
        assert_eq!((sessions.completed, sessions.censored, sessions.turns_sent), (2, 0, 6));
        // From 9,000 to 9,400 ms.
        assert_eq!(sessions.duration.unwrap().min, Figure::Exact(400.0));
        // Where none is cut off, a user is known to complete one in (2,500 + 400) / 2 ms.
        log.records.retain(|record| record.turn().is_none_or(|turn| turn.session != 2));
        let sessions = Sessions::from_observed(&Observed::from_log(&log)).unwrap();
        assert_eq!(sessions.completed_per_hour_per_user, Some(3_600.0 / 1.45));
    }

    #[test]
    fn a_user_who_goes_on_has_ended_the_conversation_before() {
        // One user: a conversation of two turns, then another, which is on when the run ends.
        let of_user = |number, begun| Turn { of: None, begun, ..turn(0, number, 0) };
        let log = with_conversations(vec![
            answered(of_user(0, 0), 0, 100),
            answered(of_user(1, 0), 1_200, 1_300),
            answered(of_user(2, 2), 2_400, 2_500),
        ]);
        let sessions = Sessions::from_observed(&Observed::from_log(&log)).unwrap();
        assert_eq!((sessions.begun, sessions.completed, sessions.censored), (2, 1, 1));
        assert_eq!((sessions.turns_sent, sessions.turns_planned, sessions.turns_not_reached), (3, None, None));
        let summary = summarise(&log, &[]);
        let turns = summary.parts_of(PartKind::Turn);
        assert_eq!(turns.iter().map(|turn| turn.requests).collect::<Vec<_>>(), [2, 1]);
        assert_eq!(sessions.duration.unwrap().max, Figure::AtLeast(1_400.0));
    }

    #[test]
    fn requests_that_stand_by_themselves_are_no_conversations() {
        let single = record(0).sent_at(0, 0, 0).paced(100, 10, 2).build();
        assert_eq!(Sessions::from_observed(&Observed::from_log(&run(1_000, vec![single.clone()]))), None);
        assert_eq!(Sessions::from_observed(&Observed::from_log(&with_conversations(vec![single]))), None);
    }

    /// Sums over sessions in no order of their own differ in the last digit.
    #[test]
    fn the_memory_of_sessions_is_the_same_to_the_last_bit() {
        let answers = (0..200).map(|k| answered(turn(k, 0, 1), 50 * k, 50 * k + 7 + k * k * 7_919 % 97));
        let log = with_conversations(answers.collect());
        let times = || summarise(&log, &[]).latency.row(Metric::Tpot).and_then(|row| row.correlation_times);
        let first = times();
        assert!(first.is_some() && (0..9).all(|_| times() == first), "{first:?}");
    }
}
