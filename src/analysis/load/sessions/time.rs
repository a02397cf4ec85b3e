//! Where the time of sessions goes: the server, tools and pauses, and the client.

use serde::Serialize;

use crate::clock::Timestamp;
use crate::record::RequestRecord;

/// Shares of the time of sessions. It is from the scheduled moment of the first request to the end of the last.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SessionTime {
    /// Time of all of them together, seconds.
    pub total_s: f64,
    /// Share in which at least one of their requests was with the server.
    pub server_share: f64,
    /// Share in which requests were due and none was with the server. They waited for a slot, or were sent late.
    pub client_share: f64,
    /// Share in which no request was due: tools, and pauses of people.
    pub pause_share: f64,
}

/// A stretch of time.
type Stretch = (Timestamp, Timestamp);

/// Times of sessions added up, seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SessionTimes {
    total: f64,
    server: f64,
    due: f64,
}

impl SessionTimes {
    /// Adds a session by its requests.
    pub(super) fn add<'r>(&mut self, requests: impl Iterator<Item = &'r RequestRecord> + Clone) {
        let with_server = requests.clone().filter_map(|record| Some((record.first_sent()?, record.ended)));
        let due: Vec<Stretch> = requests.map(|record| (record.scheduled, record.ended)).collect();
        let ends = due.iter().map(|stretch| stretch.1).max();
        let begin = due.iter().map(|stretch| stretch.0).min();
        self.total += begin.zip(ends).map_or(0.0, |(begin, end)| end.since(begin).as_secs_f64());
        self.server += covered_s(with_server.collect());
        self.due += covered_s(due);
    }

    /// The shares; `None` where no time passed.
    pub(super) fn shares(self) -> Option<SessionTime> {
        let Self { total, server, due } = self;
        (total > 0.0).then(|| SessionTime {
            total_s: total,
            server_share: server / total,
            client_share: (due - server).max(0.0) / total,
            pause_share: (total - due).max(0.0) / total,
        })
    }
}

/// Seconds that are in at least one of the stretches.
fn covered_s(mut stretches: Vec<Stretch>) -> f64 {
    stretches.sort_unstable();
    let (mut seconds, mut until) = (0.0, Timestamp::ZERO);
    for (from, to) in stretches {
        seconds += to.since(from.max(until)).as_secs_f64();
        until = until.max(to);
    }
    seconds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::test_runs::{ms, record};

    #[test]
    fn what_is_at_the_same_time_counts_once() {
        let stretches = [(30, 40), (0, 10), (5, 20), (6, 8), (40, 45)].map(|(from, to)| (ms(from), ms(to)));
        assert!((covered_s(stretches.to_vec()) - 0.035).abs() < 1e-12);
        assert_eq!(covered_s(Vec::new()), 0.0);
    }

    #[test]
    fn time_is_the_servers_or_the_clients_or_a_pause() {
        // Sent 100 ms late and with the server from 100 to 400, then from 600 to 1,000 two at once, one until 900.
        let mut times = SessionTimes::default();
        let requests = [(0, 100, 400), (600, 600, 900), (600, 600, 1_000)]
            .map(|(scheduled, sent, end)| record(0).sent_at(scheduled, scheduled, sent).chunks(&[(end, 1)]).build());
        times.add(requests.iter());
        let SessionTime { total_s, server_share, client_share, pause_share } = times.shares().unwrap();
        assert_eq!(total_s, 1.0);
        for (share, expected) in [(server_share, 0.7), (client_share, 0.1), (pause_share, 0.2)] {
            assert!((share - expected).abs() < 1e-12, "{share} {expected}");
        }
        assert_eq!(SessionTimes::default().shares(), None);
    }
}
