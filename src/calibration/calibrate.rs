//! Measures this machine, load after load.

use std::time::Duration;

use super::load::{CalibrationError, CalibrationLoad, LoadResult, TestBed};
use super::server::Writes;
use crate::analysis::Sample;
use crate::clock::{RunClock, Timestamp};
use crate::record::{Calibration, Delays, TokenChunk};

/// Length of the short calibration before a run.
pub const QUICK: Duration = Duration::from_millis(500);

/// Requests per second with short answers.
const SHORT_PER_S: f64 = 1_000.0;
/// Concurrent paced streams.
const STREAMS: u64 = 50;
/// Gap between the tokens of a paced stream.
const TOKEN_GAP: Duration = Duration::from_millis(5);
/// Requests per second whose answers come at once, and tokens of each.
const WHOLE_PER_S: f64 = 200.0;
const WHOLE_TOKENS: u32 = 2_000;

/// The load under measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CalibrationStage {
    /// Pacer delay and cost of a request: 1,000 a second, each answered at once with one token.
    ShortAnswers,
    /// Stamp error and cost of a token: 50 streams of 200 tokens a second, a packet each.
    PacedStreams,
    /// Cost of a token that comes with many others: 200 answers a second of 2,000 tokens, all at once.
    WholeAnswers,
}

/// Calibrates for about `length` in all; calls `at` at each stage.
pub fn calibrate(
    length: Duration,
    mut at: impl FnMut(CalibrationStage),
) -> Result<Calibration, CalibrationError> {
    let clock = RunClock::starting_in(Duration::ZERO);
    // A machine that is too slow for a load shows it within a fifth more; all three take less than twice the
    // length.
    let mut bed = TestBed::build(length / 5)?;
    at(CalibrationStage::ShortAnswers);
    let short = bed.execute(evenly(SHORT_PER_S, length.mul_f64(0.35), 1))?;
    at(CalibrationStage::PacedStreams);
    let paced = bed.execute(CalibrationLoad {
        requests: STREAMS,
        apart: TOKEN_GAP / STREAMS as u32,
        tokens: (length.mul_f64(0.45).as_secs_f64() / TOKEN_GAP.as_secs_f64()).ceil() as u32,
        gap: TOKEN_GAP,
    })?;
    at(CalibrationStage::WholeAnswers);
    let whole = bed.execute(evenly(WHOLE_PER_S, length.mul_f64(0.2), WHOLE_TOKENS))?;
    let writes = bed.finish()?;

    let request_cpu_ns = cost(short.cpu_ns, short.events()).ok_or(CalibrationError::NothingCame)?;
    // Without the cost of the requests themselves.
    let event = |result: &LoadResult| {
        let requests_ns = request_cpu_ns * result.records.len() as u64;
        cost(result.cpu_ns.saturating_sub(requests_ns), result.events()).ok_or(CalibrationError::NothingCame)
    };
    Ok(Calibration {
        stamp_delay: delays(stamp_delays(&paced, &writes)).ok_or(CalibrationError::NothingCame)?,
        pacer_delay: delays(
            short.records.iter().map(|record| record.dispatched.since(record.scheduled)).collect(),
        )
        .ok_or(CalibrationError::NothingCame)?,
        request_cpu_ns,
        paced_event_cpu_ns: event(&paced)?,
        coalesced_event_cpu_ns: event(&whole)?,
        took_ns: clock.now().as_nanos(),
    })
}

/// Requests at a steady rate over `length`, each answered at once by `tokens` tokens.
fn evenly(per_s: f64, length: Duration, tokens: u32) -> CalibrationLoad {
    let requests = (per_s * length.as_secs_f64()).ceil().max(1.0) as u64;
    CalibrationLoad { requests, apart: Duration::from_secs_f64(1.0 / per_s), tokens, gap: Duration::ZERO }
}

/// Nanoseconds per piece.
fn cost(cpu_ns: u64, pieces: u64) -> Option<u64> {
    cpu_ns.checked_div(pieces)
}

/// For every event that arrived: |client's stamp − time at which the server began to write it|. A kernel
/// stamp on the run's clock may be before the write: that is an error too.
fn stamp_delays(result: &LoadResult, writes: &Writes) -> Vec<Duration> {
    let written = result.records.iter().filter_map(|record| Some((record, writes.get(&record.index)?)));
    written
        .flat_map(|(record, writes)| {
            let apart = |(chunk, write): (TokenChunk, &Timestamp)| {
                Duration::from_nanos(chunk.at.as_nanos().abs_diff(write.as_nanos()))
            };
            record.chunks.iter().zip(writes).map(apart)
        })
        .collect()
}

fn delays(all: Vec<Duration>) -> Option<Delays> {
    let sample = Sample::new(all.into_iter().map(|delay| delay.as_nanos() as f64).collect());
    let quantile = |fraction| sample.quantile(fraction)?.exact().map(|ns| ns.round() as u64);
    Some(Delays { n: sample.len(), p50_ns: quantile(0.5)?, p99_ns: quantile(0.99)?, max_ns: quantile(1.0)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a real machine, which may stall for a whole load: hence several tries and no bounds on the figures.
    /// Tested are that every figure is there and that they are consistent.
    #[test]
    fn this_machine_is_measured() {
        let mut stages = Vec::new();
        let found = (0..5).find_map(|_| {
            stages.clear();
            calibrate(QUICK, |stage| stages.push(stage)).ok()
        });
        let found = found.unwrap();
        assert_eq!(
            stages,
            [CalibrationStage::ShortAnswers, CalibrationStage::PacedStreams, CalibrationStage::WholeAnswers]
        );
        // 175 requests; 45 tokens of each of 50 streams.
        assert!((1..=175).contains(&found.pacer_delay.n), "{found:?}");
        assert!((1..=2_250).contains(&found.stamp_delay.n), "{found:?}");
        for delays in [found.stamp_delay, found.pacer_delay] {
            assert!(delays.p50_ns <= delays.p99_ns && delays.p99_ns <= delays.max_ns, "{found:?}");
        }
        assert!(found.stamp_delay.max_ns > 0 && found.coalesced_event_cpu_ns > 0, "{found:?}");
        assert!(found.paced_event_cpu_ns < found.request_cpu_ns, "{found:?}");
        assert!(found.took_ns >= 100_000_000, "{found:?}");
    }

    #[test]
    fn delays_are_percentiles_of_what_was_seen() {
        let seen = (0..=100).map(Duration::from_micros).collect();
        let expected = Delays { n: 101, p50_ns: 50_000, p99_ns: 99_000, max_ns: 100_000 };
        assert_eq!(delays(seen), Some(expected));
        assert_eq!(delays(Vec::new()), None);
    }
}
