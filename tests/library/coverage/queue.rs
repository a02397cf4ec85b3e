//! Five repeats of M/M/1, whose quantiles have a closed form.

use skyline::analysis::{AcrossRuns, Sample};
use skyline::clock::Timestamp;
use skyline::experiment::seed_of_run;
use skyline::random::RandomStream;
use skyline::simulator::{Delay, FixedQueue, Job, JobId};

use crate::simulator::drive::simulate;

use super::covered::Covered;

const REPEATS: u64 = 5;

/// How long a run is, in requests.
#[derive(Clone, Copy)]
struct Length {
    warm_up: u64,
    window: u64,
}

/// Times in the system, in service times, of one run of M/M/1 at `load` that begins empty.
fn run(load: f64, length: Length, seed: u64) -> Sample {
    let mut server = FixedQueue::new(1, Delay::Exponential(1.0), Delay::Constant(0.0), seed);
    let mut gaps = RandomStream::named(seed, "coverage arrivals");
    let mut at = 0.0;
    let arrivals = (0..length.warm_up + length.window).map(|id| {
        at += gaps.exponential() / load;
        (Timestamp::from_secs_f64(at), Job::new(JobId(id), 1, 1))
    });
    let mut times = Vec::new();
    simulate(&mut server, arrivals, |history| {
        if history.job.0 >= length.warm_up {
            times.push(history.chunks.first_at().unwrap().since(history.arrived).as_secs_f64());
        }
    });
    Sample::new(times)
}

/// How often the interval of five repeats covers the true median and the true p99.
///
/// The time in the system of M/M/1 is exponential with rate µ − λ (Kleinrock, *Queueing Systems* I, section 5.12):
/// quantile q = −ln(1 − q)/(µ − λ), here with µ = 1.
fn coverage(load: f64, length: Length, experiments: u64) -> [f64; 2] {
    let quantiles = [0.5, 0.99];
    let mut covered = ["p50", "p99"].into_iter().zip(quantiles).map(|(what, q)| {
        let truth = -libm::log1p(-q) / (1.0 - load);
        Covered::new(what, truth)
    });
    let mut covered = [covered.next().unwrap(), covered.next().unwrap()];
    for experiment in 0..experiments {
        let runs: Vec<_> = (1..=REPEATS).map(|number| run(load, length, seed_of_run(experiment, number))).collect();
        for (q, covered) in quantiles.into_iter().zip(&mut covered) {
            let figures: Vec<_> = runs.iter().map(|run| run.quantile(q)).collect();
            let across = AcrossRuns::of_figures(&figures, f64::INFINITY);
            covered.add(across.mean.unwrap(), across.interval().unwrap());
        }
    }
    covered.map(|covered| covered.share())
}

const AT_HALF_LOAD: Length = Length { warm_up: 100, window: 4_000 };
const AT_80_PERCENT: Length = Length { warm_up: 1_000, window: 32_000 };

/// Of 40 intervals that each cover with 95 %, fewer than 34 do with a chance of 0.3 %.
#[test]
fn five_repeats_cover_the_quantiles_of_a_half_loaded_queue() {
    for share in coverage(0.5, AT_HALF_LOAD, 40) {
        assert!(share >= 0.85, "{share}");
    }
}

#[test]
#[ignore = "4 million requests unoptimised take a minute; `tests/interop/long_tests.sh` runs it; by hand: `cargo test --release --test library coverage:: -- --ignored`"]
fn two_hundred_experiments_at_half_load_cover_in_nine_of_ten() {
    for share in coverage(0.5, AT_HALF_LOAD, 200) {
        assert!(share >= 0.9, "{share}");
    }
}

#[test]
#[ignore = "33 million requests unoptimised take minutes; `tests/interop/long_tests.sh` runs it; by hand: `cargo test --release --test library coverage:: -- --ignored`"]
fn two_hundred_experiments_at_80_percent_load_cover_in_nine_of_ten() {
    for share in coverage(0.8, AT_80_PERCENT, 200) {
        assert!(share >= 0.9, "{share}");
    }
}
