//! Refuses turns that no session can have had.

use std::collections::HashMap;

use crate::clock::Timestamp;
use crate::record::{RequestRecord, RunHeader, Turn};

/// The sessions of a log, as far as it has been read.
#[derive(Debug, Default)]
pub(in crate::record) struct SessionsSoFar {
    /// The last turn of each, and when it ended.
    last: HashMap<u64, (u32, Timestamp)>,
}

impl SessionsSoFar {
    /// Why the next record of a log cannot be the turn that it is said to be; `Ok` if it can. Records stand in the order
    /// in which requests ended, and a turn begins when the one before it has.
    pub(in crate::record) fn check(&mut self, record: &RequestRecord) -> Result<(), String> {
        let Some(turn) = record.turn else { return Ok(()) };
        let refused = |what: String| Err(format!("request {}: {what}", record.index));
        if let Some(&(number, ended)) = self.last.get(&turn.session) {
            if turn.number <= number {
                return refused(format!(
                    "turn {} of session {} comes after turn {number}",
                    turn.number, turn.session
                ));
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
        self.last.insert(turn.session, (turn.number, record.ended));
        Ok(())
    }
}

/// That a record is a turn of the workload's sessions, and under the index that its place has.
pub(super) fn of_a_session(header: &RunHeader, record: &RequestRecord) -> Result<(), String> {
    let Some(turn) = record.turn else { return Ok(()) };
    let Turn { session, number, of, begun, history_tokens } = turn;
    let workload = &header.workload;
    let class = workload.classes.get(usize::from(record.class));
    let conversation = class.and_then(|class| class.conversation.as_ref());
    let (asked, users) = (record.input_tokens_asked, workload.arrival.users());
    if users.is_none() && conversation.is_none() {
        Err("it is a turn of a session, and the workload has none such".to_owned())
    } else if session >= 1 << 28 || record.index != Turn::index_of(session, number) {
        Err(format!("it is said to be turn {number} of session {session}, whose index is another"))
    } else if of.is_some() == users.is_some() || of.is_some_and(|of| number >= of) {
        Err(format!("turn {number} is none of its session"))
    } else if begun > number || users.is_none() && begun > 0 {
        Err(format!("turn {number} is of a conversation that began with turn {begun}"))
    } else if history_tokens > asked || turn.place() == 0 && history_tokens > 0 {
        Err(format!("{history_tokens} of its {asked} prompt tokens were said before"))
    } else {
        Ok(())
    }
}
