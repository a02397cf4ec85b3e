//! Refuses turns that no session can have.

use std::collections::HashMap;

use crate::clock::Timestamp;
use crate::record::request::outcome::Outcome;
use crate::record::request::record::RequestRecord;
use crate::record::request::turn::Turn;
use crate::record::run::header::RunHeader;
use crate::workload::RequestClass;

/// Checks the turns of a log, record by record.
#[derive(Debug, Default)]
pub(super) struct SessionChecker {
    /// The last turn of each session, and when it ended.
    last: HashMap<u64, (u32, Timestamp)>,
    /// The ends of the requests of each graph. The key is its session and the number of its first request.
    ends: HashMap<(u64, u32), HashMap<u64, Timestamp>>,
}

impl SessionChecker {
    /// Checks that the next record can be the turn it says. Records are ordered by their ends, and a turn begins
    /// after the end of the one before.
    pub(super) fn check(&mut self, record: &RequestRecord) -> Result<(), String> {
        let Some(turn) = record.turn() else { return Ok(()) };
        let refused = |what: String| Err(format!("request {}: {what}", record.index));
        if turn.graph.is_some() {
            return self.check_graph(record, turn).or_else(refused);
        }
        if let Some(&(number, ended)) = self.last.get(&turn.session) {
            if turn.number <= number {
                return refused(format!("turn {} of session {} comes after turn {number}", turn.number, turn.session));
            }
            if record.scheduled < ended {
                return refused(format!(
                    "turn {} of session {} was scheduled at {} s, before the turn before it ended at {} s",
                    turn.number,
                    turn.session,
                    record.scheduled.as_secs_f64(),
                    ended.as_secs_f64()
                ));
            }
        }
        // Memory does not grow with the conversations that are over.
        let is_over = turn.of == Some(turn.number + 1) || record.context_full;
        if is_over || record.outcome != Outcome::Completed {
            self.last.remove(&turn.session);
        } else {
            self.last.insert(turn.session, (turn.number, record.ended));
        }
        Ok(())
    }

    /// Checks that a request of a graph was due when the ends before it say.
    fn check_graph(&mut self, record: &RequestRecord, turn: Turn) -> Result<(), String> {
        let ends = self.ends.entry((turn.session, turn.begun)).or_default();
        let due = record.release.as_ref().and_then(|release| release.moment(|index| ends.get(&index).copied()));
        let due = due.map(|due| turn.in_run(due));
        if let Some(due) = due.filter(|due| *due != record.scheduled) {
            let [said, due] = [record.scheduled, due].map(Timestamp::as_secs_f64);
            return Err(format!("it was scheduled at {said} s, and what it waited for releases it at {due} s"));
        }
        ends.insert(record.index, turn.on_agents_clock(record.ended));
        if turn.of.is_some_and(|of| ends.len() >= of as usize) {
            self.ends.remove(&(turn.session, turn.begun));
        }
        Ok(())
    }
}

/// Checks that the record is a turn of the workload's sessions. It must have the index of its place.
pub(super) fn of_a_session(header: &RunHeader, record: &RequestRecord) -> Result<(), String> {
    let Some(turn) = record.turn() else { return Ok(()) };
    let Turn { session, number, of, begun, history_tokens, graph } = turn;
    let workload = &header.workload;
    let class = workload.classes.get(usize::from(record.class));
    let continues = class.is_some_and(RequestClass::continues);
    let is_graph = class.is_some_and(RequestClass::has_graphs);
    let (asked, users) = (record.input_tokens_asked, workload.arrival.users());
    if users.is_none() && !continues {
        Err("it is a turn of a session, and the workload has no sessions".to_owned())
    } else if session >= 1 << 28 || record.index != Turn::index_of(session, number) {
        Err(format!("its index is not that of turn {number} of session {session}"))
    } else if of.is_some() != continues || of.is_some_and(|of| turn.place() >= of) || graph.is_some() != is_graph {
        Err(format!("turn {number} does not belong to its session"))
    } else if graph.and_then(|graph| graph.carries).is_some_and(|carried| carried >= turn.place()) {
        Err(format!("turn {number} carries on the history of one that is not before it"))
    } else if begun > number || users.is_none() && begun > 0 {
        Err(format!("turn {number} is of a conversation that began with turn {begun}"))
    } else if history_tokens > asked || !is_graph && turn.carried().is_none() && history_tokens > 0 {
        Err(format!("{history_tokens} of its {asked} prompt tokens are history"))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::record::log::runlog::RunLog;
    use crate::workload::{ArrivalPattern, Conversation, Distribution, ThinkTime};

    /// A stored run whose first two records are the first turns of one conversation.
    fn talk() -> RunLog {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/runs/schema-1");
        let mut log = RunLog::read(&folder).unwrap();
        log.header.workload.classes[0].conversation = Some(Conversation {
            turns: Distribution::Constant { value: 3 },
            think_time_s: ThinkTime::default(),
            first_input_tokens: None,
            max_context_tokens: None,
        });
        log.records.sort_by_key(|record| record.ended);
        log.records.truncate(2);
        for (number, record) in (0..).zip(&mut log.records) {
            record.class = 0;
            record.index = Turn::index_of(4, number);
            record.turn =
                Some(Turn { session: 4, number, of: Some(3), history_tokens: number, ..Turn::default() }.into());
        }
        log.records[1].scheduled = log.records[0].ended;
        log
    }

    fn check(log: &RunLog) -> Result<(), String> {
        let mut sessions = SessionChecker::default();
        log.records.iter().try_for_each(|record| {
            of_a_session(&log.header, &record)?;
            sessions.check(&record)
        })
    }

    type Change = fn(&mut RunLog);

    #[test]
    fn turns_that_no_session_had_are_refused() {
        assert_eq!(check(&talk()), Ok(()));
        let cases: [(Change, &str); 10] = [
            (|log| log.records[1].scheduled = Timestamp::ZERO, "before the turn before it ended"),
            (|log| log.records.swap(0, 1), "comes after turn 1"),
            (|log| log.records[1].index += 1, "its index is not that of turn"),
            (|log| log.records[1].turn.as_mut().unwrap().session = 5, "its index is not that of turn"),
            (|log| log.header.workload.classes[0].conversation = None, "the workload has no sessions"),
            (
                |log| {
                    log.header.workload.arrival = ArrivalPattern::of_users(2, ThinkTime::default());
                    log.header.workload.classes[0].conversation = None;
                },
                "turn 0 does not belong to its session",
            ),
            (|log| log.records[1].input_tokens_asked = 0, "1 of its 0 prompt tokens are history"),
            (|log| log.records[0].turn.as_mut().unwrap().history_tokens = 1, "prompt tokens are history"),
            (|log| log.records[1].turn.as_mut().unwrap().begun = 1, "of a conversation that began with turn 1"),
            (|log| log.records[1].turn.as_mut().unwrap().of = Some(1), "turn 1 does not belong to its session"),
        ];
        for (change, said) in cases {
            let mut log = talk();
            change(&mut log);
            let refusal = check(&log).unwrap_err();
            assert!(refusal.contains(said), "{refusal}, not {said}");
        }
    }
}
