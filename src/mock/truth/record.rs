//! The truth about one request, and the statistics of all: requests by their end, and the lateness of writes.

use std::fmt;

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::clock::Timestamp;
use crate::units::{count, three_digits};

/// One request: what happened to it and when, in nanoseconds of the mock's clock.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Record {
    /// Number of the request, from 0, in order of arrival.
    pub(crate) request: u64,
    /// Its id in the answer.
    pub(crate) id: String,
    /// Its path.
    pub(crate) path: &'static str,
    /// HTTP status of the answer; `None` when none was sent.
    pub(crate) status: Option<u16>,
    /// Moment when its body had been read.
    pub(crate) read_ns: Timestamp,
    /// Moment when it entered the server's queue.
    pub(crate) queued_ns: Option<Timestamp>,
    /// Moment when its first choice left the queue.
    pub(crate) scheduled_ns: Option<Timestamp>,
    /// Tokens of all its prompts.
    pub(crate) prompt_tokens: u64,
    /// Tokens found in the prefix cache.
    pub(crate) cached_tokens: u64,
    /// Answer tokens that were written.
    pub(crate) answer_tokens: u64,
    /// Writes in order.
    pub(crate) writes: Vec<Write>,
    /// Moment when the last byte was written or the connection was gone.
    pub(crate) ended_ns: Timestamp,
    /// End that it came to; `None` before that.
    pub(crate) end: Option<End>,
    /// Injected faults.
    pub(crate) faults: Vec<String>,
}

/// Tokens written to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Write {
    /// Moment when the tokens were due.
    pub(crate) due_ns: Timestamp,
    /// Moment when the operating system had taken their bytes; `None` when it never did.
    pub(crate) done_ns: Option<Timestamp>,
    pub(crate) tokens: u32,
    /// Choice index.
    pub(crate) choice: usize,
}

/// End that a request came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum End {
    /// The whole answer was written.
    Finished,
    /// Answered with an error.
    Refused,
    /// Broken off by a fault.
    BrokenOff,
    /// Its client went away.
    Disconnected,
}

impl Record {
    pub(crate) fn new(request: u64, id: String, path: &'static str, read: Timestamp, faults: Vec<String>) -> Self {
        Self { request, id, path, read_ns: read, ended_ns: read, faults, ..Self::default() }
    }
}

/// Requests by their end, and the lateness of writes.
///
/// The lateness of a write is the time from when its tokens were due to when the operating system had taken
/// their bytes. Requests with faults are excluded: there the delay may be the purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct MockStatistics {
    /// Requests that have ended.
    pub requests: u64,
    /// Requests answered in full.
    pub finished: u64,
    /// Answered with an error.
    pub refused: u64,
    /// Broken off by a fault.
    pub broken_off: u64,
    /// Left by their clients.
    pub disconnected: u64,
    /// Writes whose lateness is known.
    pub writes: u64,
    /// Median lateness of a write, microseconds; `None` without writes.
    pub write_lateness_p50_us: Option<f64>,
    /// 99th percentile of the same.
    pub write_lateness_p99_us: Option<f64>,
    /// The largest.
    pub write_lateness_max_us: Option<f64>,
}

impl fmt::Display for MockStatistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} requests: {} finished, {} refused, {} broken off by faults, {} left by their clients",
            count(self.requests),
            count(self.finished),
            count(self.refused),
            count(self.broken_off),
            count(self.disconnected)
        )?;
        if let (Some(p50), Some(p99), Some(max)) =
            (self.write_lateness_p50_us, self.write_lateness_p99_us, self.write_lateness_max_us)
        {
            let (p50, p99, max) = (three_digits(p50), three_digits(p99), three_digits(max));
            write!(f, "\n{} writes, late by p50 {p50} µs, p99 {p99} µs, at most {max} µs", count(self.writes))?;
        }
        Ok(())
    }
}

/// Longer latenesses count as this one, an hour, in nanoseconds.
const LONGEST: u64 = 3_600_000_000_000;

/// Counts ended requests.
#[derive(Debug)]
pub(super) struct MockTally {
    ends: MockStatistics,
    /// Nanoseconds, to three digits.
    lateness: Option<Histogram<u64>>,
}

impl Default for MockTally {
    fn default() -> Self {
        // The crate allows this range, so this is always there.
        Self { ends: MockStatistics::default(), lateness: Histogram::new_with_max(LONGEST, 3).ok() }
    }
}

impl MockTally {
    pub(super) fn add(&mut self, record: &Record) {
        self.ends.requests += 1;
        match record.end {
            Some(End::Finished) => self.ends.finished += 1,
            Some(End::Refused) => self.ends.refused += 1,
            Some(End::BrokenOff) => self.ends.broken_off += 1,
            Some(End::Disconnected) | None => self.ends.disconnected += 1,
        }
        if !record.faults.is_empty() {
            return;
        }
        for write in &record.writes {
            if let (Some(lateness), Some(done)) = (&mut self.lateness, write.done_ns) {
                let nanos = done.since(write.due_ns).as_nanos();
                lateness.saturating_record(u64::try_from(nanos).unwrap_or(u64::MAX));
            }
        }
    }

    pub(super) fn statistics(&self) -> MockStatistics {
        let Some(lateness) = self.lateness.as_ref().filter(|lateness| !lateness.is_empty()) else {
            return self.ends;
        };
        let micros = |nanos: u64| Some(nanos as f64 / 1e3);
        MockStatistics {
            writes: lateness.len(),
            write_lateness_p50_us: micros(lateness.value_at_quantile(0.5)),
            write_lateness_p99_us: micros(lateness.value_at_quantile(0.99)),
            write_lateness_max_us: micros(lateness.max()),
            ..self.ends
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lateness_is_counted_of_writes_that_no_fault_delayed() {
        let mut tally = MockTally::default();
        let at = Timestamp::from_nanos;
        for (late, faults) in [(10_000, vec![]), (30_000, vec![]), (9_000_000, vec!["stall".to_owned()])] {
            let mut record = Record::new(0, "x".to_owned(), "/", at(0), faults);
            record.end = Some(End::Finished);
            record.writes.push(Write { due_ns: at(5), done_ns: Some(at(5 + late)), tokens: 1, choice: 0 });
            tally.add(&record);
        }
        let found = tally.statistics();
        assert_eq!((found.requests, found.finished, found.writes), (3, 3, 2));
        assert!((found.write_lateness_max_us.unwrap() - 30.0).abs() < 0.1, "{found:?}");
        assert!(found.to_string().contains("3 requests: 3 finished"), "{found}");
    }
}
