//! Honest plans and deliveries pass, whatever the process.

use skyline::analysis::ArrivalSequence;
use skyline::clock::Timestamp;
use skyline::random::Stream;
use skyline::workload::{ArrivalPattern, Stage};

use crate::support::{at, failed, invalid, plan};

/// One of each process, about 600 arrivals in 30 s.
fn processes() -> [(&'static str, ArrivalPattern); 7] {
    let stage =
        |duration_s, from_rate_per_s, to_rate_per_s| Stage { duration_s, from_rate_per_s, to_rate_per_s };
    [
        ("poisson", ArrivalPattern::Poisson { rate_per_s: 20.0 }),
        ("constant", ArrivalPattern::Constant { rate_per_s: 20.0 }),
        ("gamma 0.05", ArrivalPattern::Gamma { rate_per_s: 20.0, burstiness: 0.05 }),
        ("gamma 0.5", ArrivalPattern::Gamma { rate_per_s: 20.0, burstiness: 0.5 }),
        ("gamma 4", ArrivalPattern::Gamma { rate_per_s: 20.0, burstiness: 4.0 }),
        (
            "bursts",
            ArrivalPattern::Bursts {
                base_rate_per_s: 5.0,
                burst_rate_per_s: 80.0,
                base_s: 4.0,
                burst_s: 1.0,
            },
        ),
        ("stages", ArrivalPattern::Stages { stages: vec![stage(15.0, 0.0, 40.0), stage(15.0, 20.0, 20.0)] }),
    ]
}

/// Of 1,000 seeds of each process, at most 2 % are accused by the tests for arrivals of which nothing else is known,
/// and none is refused as a plan (expected: 0.1 of 1,000).
#[test]
fn honest_plans_pass() {
    for (name, pattern) in processes() {
        let (mut alone, mut as_plans) = (0, 0);
        for seed in 0..1_000 {
            let sequence = ArrivalSequence::of(&pattern, at(30.0), &plan(&pattern, seed, 30.0));
            alone += u32::from(failed(&sequence.delivered_checks(&pattern, None)));
            as_plans += u32::from(failed(&sequence.planned_checks(&pattern)));
        }
        assert!(alone <= 20, "{name}: {alone} of 1,000 honest plans accused");
        assert!(as_plans <= 1, "{name}: {as_plans} of 1,000 honest plans refused");
    }
}

/// Delivered with the jitter of a good pacer (up to 0.1 ms, and a standstill of 20 ms that it catches up with), at
/// most 1 of 300 seeds is accused: what the seed did is not held against the delivery.
#[test]
fn honest_deliveries_are_valid() {
    for (name, pattern) in processes() {
        let accused = (0..300)
            .filter(|&seed| {
                let mut jitter = Stream::named(seed, "jitter");
                let standstill = 30.0 * jitter.unit();
                let late = |moment: Timestamp, chance: f64| {
                    let moment = moment.as_secs_f64();
                    let stood = (standstill..standstill + 0.02).contains(&moment);
                    at(if stood { standstill + 0.02 } else { moment + 1e-4 * chance })
                };
                let moments = plan(&pattern, seed, 30.0);
                let delivery =
                    moments.into_iter().map(|moment| (moment, late(moment, jitter.unit()))).collect();
                invalid(&pattern, 30.0, &delivery)
            })
            .count();
        assert!(accused <= 1, "{name}: {accused} of 300 honest deliveries accused");
    }
}

/// Trifles do not invalidate: 200,000 requests at 10,000/s, each released at least 5 µs after the one before. The gaps
/// are not exponential any more, and A² of the very moments would see it.
#[test]
fn a_release_takes_its_time_at_high_rates() {
    let pattern = ArrivalPattern::Poisson { rate_per_s: 10_000.0 };
    let mut free = 0.0_f64;
    let delivery: Vec<_> = plan(&pattern, 1, 20.0)
        .into_iter()
        .map(|moment| {
            let released = free.max(moment.as_secs_f64());
            free = released + 5e-6;
            (moment, at(released))
        })
        .collect();
    let moments: Vec<_> = delivery.iter().map(|moment| moment.1).collect();
    let fit = ArrivalSequence::of(&pattern, at(20.0), &moments).fit.unwrap();
    assert!(fit.anderson_darling > 1.959 && fit.largest_cdf_deviation > 0.01, "{fit:?}");
    assert!(!invalid(&pattern, 20.0, &delivery));
}
