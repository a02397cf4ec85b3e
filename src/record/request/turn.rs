//! The part of a run that a request belongs to, and its place in a session.

use std::ops::AddAssign;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;

/// The place of a request in a session. A session is a sequence of requests, each a think time after the end of the one
/// before, or a graph of them.
///
/// A session is a conversation with its own arrival, or a closed-loop user, who continues until the end of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// The session's number: the index of its first request.
    pub session: u64,
    /// Its place in the session, from 0.
    pub number: u32,
    /// Number of turns of its conversation, or of requests of its graph. Absent for a closed-loop request outside both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<u32>,
    /// The `number` of the first turn of its conversation. It is 0, except for the later conversations of a closed-loop
    /// user.
    #[serde(default, skip_serializing_if = "crate::workload::reading::is_usual")]
    pub begun: u32,
    /// Prompt tokens from previous turns, of both sides.
    #[serde(default, skip_serializing_if = "crate::workload::reading::is_usual")]
    pub history_tokens: u32,
    /// Place in the graph of its session. Absent where each turn carries on the one before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph: Option<GraphPlace>,
}

/// The place of a request in the graph of its session. It says whose agent sends it, and whose history it carries on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GraphPlace {
    /// Number of its agent, the main one first.
    #[serde(default, skip_serializing_if = "crate::workload::reading::is_usual")]
    pub agent: u16,
    /// Number of requests whose history it carries on.
    #[serde(default, skip_serializing_if = "crate::workload::reading::is_usual")]
    pub depth: u32,
    /// Place of the request whose prompt and answer its prompt begins with. It is absent where its history is new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carries: Option<u32>,
    /// Place in the recorded session, where the run began that in its middle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<u32>,
    /// Requests of the session that are left out because its answer calls no tool.
    #[serde(default, skip_serializing_if = "crate::workload::reading::is_usual")]
    pub left_out: u32,
    /// Lead of the agents' clock over the run's when the request was due, nanoseconds. Moments that release requests
    /// are on that clock.
    #[serde(default, skip_serializing_if = "crate::workload::reading::is_usual")]
    pub ahead_ns: u64,
}

impl GraphPlace {
    /// Lead of the agents' clock while the request was in flight.
    pub fn ahead(&self) -> Duration {
        Duration::from_nanos(self.ahead_ns)
    }
}

impl Turn {
    /// Converts a moment of the run to the agents' clock. It is one at which the request was in flight.
    pub fn on_agents_clock(&self, moment: Timestamp) -> Timestamp {
        moment.after(self.graph.map_or(Duration::ZERO, |place| place.ahead()))
    }

    /// Converts a moment of the agents' clock to the run.
    pub fn in_run(&self, moment: Timestamp) -> Timestamp {
        Timestamp::from_nanos(moment.as_nanos().saturating_sub(self.graph.map_or(0, |place| place.ahead_ns)))
    }

    /// Bits of an index for the session.
    const SESSION_BITS: u32 = 28;
    /// The last number of a session.
    pub const LAST_SESSION: u64 = (1 << Self::SESSION_BITS) - 1;
    /// Most turns of a session: the rest of the 48 bits of a request id.
    pub const MOST: u32 = 1 << (48 - Self::SESSION_BITS);

    /// The index of turn `number` of a session: `number · 2²⁸ + session`. So the first requests of sessions are
    /// numbered like requests that stand alone.
    pub const fn index_of(session: u64, number: u32) -> u64 {
        (number as u64) << Self::SESSION_BITS | session
    }

    /// The number in its session of the request of this index.
    pub const fn number_of(index: u64) -> u64 {
        index >> Self::SESSION_BITS
    }

    /// Its place in its conversation, from 0.
    pub const fn place(&self) -> u32 {
        self.number.saturating_sub(self.begun)
    }

    /// Index of the first request of its conversation or graph.
    pub fn opener(&self) -> u64 {
        Self::index_of(self.session, self.begun)
    }

    /// Index of the request whose prompt and answer its prompt begins with.
    pub fn carried(&self) -> Option<u64> {
        let place = match self.graph {
            Some(graph) => graph.carries,
            None => self.place().checked_sub(1),
        };
        place.map(|place| Self::index_of(self.session, self.begun + place))
    }

    /// Number of requests whose history it carries on.
    pub const fn depth(&self) -> u32 {
        match self.graph {
            Some(graph) => graph.depth,
            None => self.place(),
        }
    }

    /// Whether it is the first request of its session, whose moment was planned.
    pub const fn is_opener(&self) -> bool {
        self.number == 0
    }
}

/// Counts of a run's sessions, made during the run.
///
/// For every part of the run, records = planned requests + later turns, exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionCounts {
    /// Later turns dispatched before the window.
    pub warmup_turns: u64,
    /// Later turns dispatched in the window.
    pub measured_turns: u64,
    /// Later turns dispatched after it.
    pub cooldown_turns: u64,
    /// Conversations that ended early because a turn failed or was cut off.
    pub broken_off: u64,
    /// Conversations that ended because the next turn would have exceeded the context.
    pub full: u64,
    /// Turns missing from these.
    pub turns_not_reached: u64,
    /// Answers without a word, which the next turn repeats as an empty one.
    #[serde(default, skip_serializing_if = "crate::workload::reading::is_usual")]
    pub empty_answers: u64,
}

impl SessionCounts {
    /// Later turns in a part of the run.
    pub const fn turns(&self, phase: Phase) -> u64 {
        match phase {
            Phase::Warmup => self.warmup_turns,
            Phase::Measured => self.measured_turns,
            Phase::Cooldown => self.cooldown_turns,
        }
    }

    /// Counts a dispatched later turn.
    pub fn released(&mut self, phase: Phase) {
        *match phase {
            Phase::Warmup => &mut self.warmup_turns,
            Phase::Measured => &mut self.measured_turns,
            Phase::Cooldown => &mut self.cooldown_turns,
        } += 1;
    }
}

impl AddAssign for SessionCounts {
    fn add_assign(&mut self, other: Self) {
        let Self { warmup_turns, measured_turns, cooldown_turns, broken_off, .. } = other;
        self.warmup_turns += warmup_turns;
        self.measured_turns += measured_turns;
        self.cooldown_turns += cooldown_turns;
        self.broken_off += broken_off;
        self.full += other.full;
        self.turns_not_reached += other.turns_not_reached;
        self.empty_answers += other.empty_answers;
    }
}

/// The part of a run that a request belongs to, by its scheduled moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Phase {
    /// Before the window: sent, not counted.
    Warmup,
    /// In the window.
    #[default]
    Measured,
    /// After the horizon: keeps the load up while the window's last requests finish; not counted.
    Cooldown,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_unique_and_fit_a_request_id() {
        assert_eq!(Turn::index_of(7, 0), 7);
        assert_eq!(Turn::index_of(7, 1), (1 << 28) + 7);
        assert!(Turn::index_of((1 << 28) - 1, Turn::MOST - 1) < 1 << 48);
    }

    #[test]
    fn counts_of_two_shards_add_up() {
        let of = |times| SessionCounts {
            warmup_turns: times,
            measured_turns: 2 * times,
            cooldown_turns: 3 * times,
            broken_off: 4 * times,
            full: 5 * times,
            turns_not_reached: 6 * times,
            empty_answers: 7 * times,
        };
        let mut sum = of(3);
        sum += of(4);
        assert_eq!(sum, of(7));
    }

    #[test]
    fn a_mark_says_no_more_than_it_must() {
        let turn = Turn { session: 3, number: 2, of: Some(4), history_tokens: 70, ..Turn::default() };
        let json = serde_json::to_string(&turn).unwrap();
        assert_eq!(json, r#"{"session":3,"number":2,"of":4,"history_tokens":70}"#);
        assert_eq!(serde_json::from_str::<Turn>(&json).unwrap(), turn);
        let graph = Some(GraphPlace { depth: 1, carries: Some(0), ..GraphPlace::default() });
        let json = serde_json::to_string(&Turn { graph, ..turn }).unwrap();
        assert_eq!(json, r#"{"session":3,"number":2,"of":4,"history_tokens":70,"graph":{"depth":1,"carries":0}}"#);
        assert_eq!(serde_json::from_str::<Turn>(&json).unwrap().depth(), 1);
    }
}
