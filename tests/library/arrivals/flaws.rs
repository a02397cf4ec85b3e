//! Generators as load tools have them, flaw by flaw.

use skyline::clock::Timestamp;
use skyline::random::RandomStream;
use skyline::workload::ArrivalPattern;

use super::support::{Delivery, at, plan};

/// Moments of a clean Poisson plan in seconds.
fn poisson(rate_per_s: f64, seed: u64, until_s: f64) -> Vec<f64> {
    let pattern = ArrivalPattern::Poisson { rate_per_s };
    plan(&pattern, seed, until_s).into_iter().map(Timestamp::as_secs_f64).collect()
}

fn timestamps(seconds: Vec<f64>) -> Vec<Timestamp> {
    seconds.into_iter().map(at).collect()
}

/// vLLM's and evalscope's: `until_s` × rate arrivals, stretched so that the last lands on `until_s`.
pub(crate) fn rescaled(rate_per_s: f64, seed: u64, until_s: f64) -> Vec<Timestamp> {
    let count = (rate_per_s * until_s).round() as usize;
    let mut moments = poisson(rate_per_s, seed, 2.0 * until_s);
    moments.truncate(count);
    let stretch = until_s / moments.last().unwrap();
    timestamps(moments.into_iter().map(|moment| moment * stretch).collect())
}

/// `GuideLLM`'s: ten workers, each with a tenth of the rate and all with the same seed, some 30 µs apart.
pub(crate) fn same_seed_in_ten_workers(rate_per_s: f64, seed: u64, until_s: f64) -> Vec<Timestamp> {
    let worker = poisson(rate_per_s / 10.0, seed, until_s);
    timestamps(worker.iter().flat_map(|moment| (0..10).map(move |w| moment + f64::from(w) * 3e-5)).collect())
}

/// inference-perf's: each second has its count exactly, and its last arrival on its edge.
pub(crate) fn pinned_to_seconds(rate_per_s: f64, seed: u64, until_s: f64) -> Vec<Timestamp> {
    let mut stream = RandomStream::named(seed, "arrivals");
    let mut moments = Vec::new();
    for second in 0..until_s as u32 {
        let mut sum = 0.0;
        let sums: Vec<f64> = (0..rate_per_s as u32)
            .map(|_| {
                sum += stream.exponential();
                sum
            })
            .collect();
        moments.extend(sums.into_iter().map(|passed| f64::from(second) + passed / sum));
    }
    timestamps(moments)
}

/// A metronome.
pub(crate) fn metronome(rate_per_s: f64, _: u64, until_s: f64) -> Vec<Timestamp> {
    plan(&ArrivalPattern::Constant { rate_per_s }, 0, until_s)
}

/// Honest Poisson arrivals, where something else was declared.
pub(crate) fn plain_poisson(rate_per_s: f64, seed: u64, until_s: f64) -> Vec<Timestamp> {
    timestamps(poisson(rate_per_s, seed, until_s))
}

/// Delivered on the ticks of a timer that counts milliseconds.
pub(crate) fn on_millisecond_ticks(plan: &[Timestamp], _: u64) -> Delivery {
    plan.iter().map(|&moment| (moment, at((moment.as_secs_f64() * 1e3).ceil() / 1e3))).collect()
}

/// AIPerf's: the loop is late by 0.2 s once in a hundred requests, and goes on from there as if that had been the plan.
pub(crate) fn reanchored(plan: &[Timestamp], seed: u64) -> Delivery {
    let mut stream = RandomStream::named(seed, "late loop");
    let mut behind = 0.0;
    plan.iter()
        .map(|&moment| {
            behind += if stream.unit() < 0.01 { 0.2 } else { 0.0 };
            (moment, at(moment.as_secs_f64() + behind))
        })
        .collect()
}

/// Sleeps from request to request, each 2.9 ms too long (20 requests/s asked, 18.9 delivered).
pub(crate) fn relative_sleeps(plan: &[Timestamp], _: u64) -> Delivery {
    let too_long = |k: usize| (k + 1) as f64 * 2.9e-3;
    plan.iter().enumerate().map(|(k, &moment)| (moment, at(moment.as_secs_f64() + too_long(k)))).collect()
}

/// inference-benchmarker's: arrivals are dropped while all users are busy: 20 users, each for one second.
pub(crate) fn dropped_when_full(plan: &[Timestamp]) -> Vec<Timestamp> {
    let mut busy: Vec<f64> = Vec::new();
    let mut kept = Vec::new();
    for &moment in plan {
        let now = moment.as_secs_f64();
        busy.retain(|&until| until > now);
        if busy.len() < 20 {
            busy.push(now + 1.0);
            kept.push(moment);
        }
    }
    kept
}
