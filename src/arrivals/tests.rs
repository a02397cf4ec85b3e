//! Holds arrivals to the laws of their processes.

use super::curve::RateCurve;
use super::draw::{Arrival, Arrivals, Superposition};
use super::latent::LatentStates;
use crate::clock::Timestamp;
use crate::random::RandomStream;
use crate::workload::{ArrivalPattern, Client, GapFamily, RateSpread, RateStage, RateState, Spike};

fn arrivals(pattern: &ArrivalPattern, seed: u64) -> impl Iterator<Item = Timestamp> + use<> {
    Arrivals::new(pattern, RandomStream::named(seed, "arrivals")).map(|arrival| arrival.moment)
}

/// Arrivals in `from..to` seconds.
fn count(pattern: &ArrivalPattern, seed: u64, from: f64, to: f64) -> f64 {
    let inside = |t: f64| (from..to).contains(&t);
    let moments = arrivals(pattern, seed).map(Timestamp::as_secs_f64).take_while(|&t| t < to);
    moments.filter(|&t| inside(t)).count() as f64
}

fn mean_and_variance(sample: &[f64]) -> (f64, f64) {
    let mean = sample.iter().sum::<f64>() / sample.len() as f64;
    let squares: f64 = sample.iter().map(|x| (x - mean).powi(2)).sum();
    (mean, squares / (sample.len() - 1) as f64)
}

/// √n times the largest distance of `sample` from the exponential distribution with mean 1.
fn distance_from_exponential(mut sample: Vec<f64>) -> f64 {
    sample.sort_by(f64::total_cmp);
    let n = sample.len() as f64;
    let gap = |(i, x): (usize, &f64)| {
        let p = 1.0 - (-x).exp();
        (p - i as f64 / n).max((i + 1) as f64 / n - p)
    };
    sample.iter().enumerate().map(gap).fold(0.0, f64::max) * n.sqrt()
}

#[test]
fn poisson_gaps_are_exponential_over_many_seeds() {
    // At the 5 % bar (1.358), 400 honest plans fail about 20 times; outside 7..=36 has chance below 0.3 %.
    let poisson = ArrivalPattern::Poisson { rate_per_s: 40.0 };
    let failed = (0..400)
        .filter(|&seed| {
            let moments: Vec<f64> = arrivals(&poisson, seed).take(500).map(Timestamp::as_secs_f64).collect();
            let first = moments[0] * 40.0;
            let gaps = moments.windows(2).map(|pair| (pair[1] - pair[0]) * 40.0).chain([first]).collect();
            distance_from_exponential(gaps) > 1.358
        })
        .count();
    assert!((7..=36).contains(&failed), "{failed} of 400 fail at the 5 % bar");
}

#[test]
fn counts_vary_from_seed_to_seed_as_poisson_counts_do() {
    // A plan that was rescaled to hit its count would show no variance at all.
    let poisson = ArrivalPattern::Poisson { rate_per_s: 20.0 };
    let counts: Vec<f64> = (0..1_000).map(|seed| count(&poisson, seed, 0.0, 10.0)).collect();
    let (mean, variance) = mean_and_variance(&counts);
    assert!((mean - 200.0).abs() < 4.0 * (200.0_f64 / 1_000.0).sqrt(), "mean {mean}");
    assert!((variance / mean - 1.0).abs() < 4.0 * (2.0_f64 / 999.0).sqrt(), "dispersion {}", variance / mean);
}

#[test]
fn a_metronome_is_exact() {
    let every_third = ArrivalPattern::Constant { rate_per_s: 3.0 };
    let nanos: Vec<u64> = arrivals(&every_third, 0).take(3).map(Timestamp::as_nanos).collect();
    assert_eq!(nanos, [333_333_333, 666_666_666, 1_000_000_000]);
    assert_eq!(arrivals(&every_third, 0).nth(2_999_999).map(Timestamp::as_nanos), Some(1_000_000_000_000_000));
}

#[test]
fn gamma_gaps_have_the_asked_mean_and_variation() {
    for burstiness in [0.25, 1.0, 4.0] {
        let pattern = ArrivalPattern::Gamma { rate_per_s: 10.0, burstiness };
        let moments: Vec<f64> = arrivals(&pattern, 9).take(100_001).map(|moment| moment.as_secs_f64() * 10.0).collect();
        let gaps: Vec<f64> = moments.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let (mean, variance) = mean_and_variance(&gaps);
        let error = 4.0 / (burstiness * 1e5_f64).sqrt();
        assert!((mean - 1.0).abs() < error, "mean {mean} at burstiness {burstiness}");
        // The fourth moment of gamma gaps gives the variance a relative standard error of √((2 + 6/k)/n).
        let error = 4.0 * ((2.0 + 6.0 / burstiness) / 1e5).sqrt();
        assert!((variance * burstiness - 1.0).abs() < error, "variance {variance} at {burstiness}");
    }
}

#[test]
fn bursts_have_each_rate_in_its_place() {
    let bursts = ArrivalPattern::Bursts { base_rate_per_s: 2.0, burst_rate_per_s: 50.0, base_s: 3.0, burst_s: 1.0 };
    // The second period: base in 4..7, burst in 7..8; means 6 and 50.
    for (from, to, expected) in [(4.0, 7.0, 6.0), (7.0, 8.0, 50.0)] {
        let counts: Vec<f64> = (0..500).map(|seed| count(&bursts, seed, from, to)).collect();
        let (mean, variance) = mean_and_variance(&counts);
        assert!((mean - expected).abs() < 4.0 * (expected / 500.0).sqrt(), "mean {mean} of {expected}");
        assert!((variance / mean - 1.0).abs() < 4.0 * (2.0_f64 / 499.0).sqrt(), "variance {variance}");
    }
}

#[test]
fn rescaled_moments_of_a_ramp_are_a_unit_poisson_process() {
    // Λ(t) of 0 → 20 per second over 100 s is t²/10: seen through it, the gaps must be unit exponentials.
    let ramp = vec![RateStage { duration_s: 100.0, from_rate_per_s: 0.0, to_rate_per_s: 20.0 }];
    let pattern = ArrivalPattern::Stages { stages: ramp };
    let integrated: Vec<f64> =
        arrivals(&pattern, 3).map(Timestamp::as_secs_f64).take_while(|&t| t < 100.0).map(|t| t * t / 10.0).collect();
    let gaps = integrated.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(distance_from_exponential(gaps) < 1.628, "over the 1 % bar");
}

#[test]
fn the_inverse_of_the_integrated_rate_is_exact() {
    let stage = |duration_s, from_rate_per_s, to_rate_per_s| RateStage { duration_s, from_rate_per_s, to_rate_per_s };
    // Up from 0 to 10 in 10 s (mass 50), a pause of 5 s, down from 8 to 0 in 4 s (mass 16), then 2 for ever.
    let stages = vec![stage(10.0, 0.0, 10.0), stage(5.0, 0.0, 0.0), stage(4.0, 8.0, 0.0), RateStage::endless(2.0)];
    let mut curve = RateCurve::new(stages);
    // Λ = 8 at t = 4; 50 at the end of the first, and of the pause; 62 is 12 into the descent, half its time; 66 at
    // its end; 70 four expected arrivals, so 2 s, later.
    assert_eq!(curve.advance(8.0), Some(4.0));
    assert_eq!(curve.advance(42.0), Some(15.0));
    assert_eq!(curve.advance(12.0), Some(17.0));
    assert_eq!(curve.advance(8.0), Some(21.0));
}

#[test]
fn an_endless_pause_ends_the_arrivals() {
    let fade = vec![RateStage { duration_s: 10.0, from_rate_per_s: 5.0, to_rate_per_s: 0.0 }];
    let moments: Vec<Timestamp> = arrivals(&ArrivalPattern::Stages { stages: fade }, 1).collect();
    assert!(!moments.is_empty() && moments.iter().all(|moment| moment.as_secs_f64() < 10.0));
    let never = ArrivalPattern::Bursts { base_rate_per_s: 0.0, burst_rate_per_s: 0.0, base_s: 1.0, burst_s: 1.0 };
    assert_eq!(arrivals(&never, 1).next(), None);
}

#[test]
fn rare_bursts_are_found_at_once() {
    let rare = ArrivalPattern::Bursts { base_rate_per_s: 0.0, burst_rate_per_s: 1e-9, base_s: 1e-3, burst_s: 1e-3 };
    let mean = (0..400).map(|seed| arrivals(&rare, seed).next().unwrap().as_secs_f64()).sum::<f64>() / 400.0;
    assert!((mean / 2e9 - 1.0).abs() < 0.2, "first arrival after {mean} s on average");
}

/// Holds 400 plans of 400 arrivals to the 5 % bar. An honest one fails about 20 times, and outside 7..=36 has chance
/// below 0.3 %.
fn holds_over_seeds(pattern: &ArrivalPattern, uniform: impl Fn(f64) -> f64) {
    let failed = |seed: &u64| {
        let moments: Vec<f64> = arrivals(pattern, *seed).take(400).map(Timestamp::as_secs_f64).collect();
        let before = [0.0].into_iter().chain(moments.iter().copied());
        let gaps = before.zip(&moments).map(|(before, moment)| -libm::log1p(-uniform(moment - before)));
        distance_from_exponential(gaps.collect()) > 1.358
    };
    let failed = (0..400).filter(failed).count();
    assert!((7..=36).contains(&failed), "{failed} of 400 fail at the 5 % bar");
}

#[test]
fn weibull_gaps_are_weibull_over_many_seeds() {
    // By the distribution function with the scale 1 / (rate Γ(1 + 1/shape)); Γ(3) = 2 and Γ(1.5) = √π/2.
    for (shape, gamma) in [(0.5, 2.0), (2.0, std::f64::consts::PI.sqrt() / 2.0)] {
        let pattern = ArrivalPattern::Weibull { rate_per_s: 5.0, shape };
        holds_over_seeds(&pattern, |gap: f64| -(-(5.0 * gamma * gap).powf(shape)).exp_m1());
    }
}

#[test]
fn a_diurnal_rate_brings_its_share_to_every_part_of_the_period() {
    // The mean and, for Poisson, the variance of a count is the area under the rate: 10 (1 + 0.8 sin 2π(t + 7)/60) from
    // 5 to 30 s, by scipy's quad 413.544 − 83.165.
    let diurnal = ArrivalPattern::Diurnal { rate_per_s: 10.0, amplitude: 0.8, period_s: 60.0, phase_s: 7.0 };
    let counts: Vec<f64> = (0..500).map(|seed| count(&diurnal, seed, 5.0, 30.0)).collect();
    let (mean, variance) = mean_and_variance(&counts);
    assert!((mean - 330.379).abs() < 4.0 * (330.379_f64 / 500.0).sqrt(), "mean {mean}");
    assert!((variance / mean - 1.0).abs() < 4.0 * (2.0_f64 / 499.0).sqrt(), "variance {variance}");
}

#[test]
fn modulated_counts_are_as_dispersed_as_theory_says() {
    // Two states left at rates a and b, at requests/s u and v, from the long run on: with w = a + b the index of
    // dispersion of counts in t is 1 + 2 (u − v)² a b / (w² (u b + v a)) · (1 − (1 − e^(−wt)) / (wt)) (Heffes and
    // Lucantoni, IEEE JSAC 4:6, 1986). Here a = 1/3, b = 1, u = 2, v = 20, t = 10, so u b + v a = 26/3.
    let state = |rate_per_s, mean_s| RateState { rate_per_s, mean_s };
    let markov = ArrivalPattern::Markov { states: vec![state(2.0, 3.0), state(20.0, 1.0)] };
    let (w, t) = (4.0_f64 / 3.0, 10.0);
    let mean_rate = 6.5;
    assert_eq!(markov.mean_rate_per_s(), mean_rate);
    let index = 1.0 + 2.0 * 18.0 * 18.0 / 3.0 / (w * w * 26.0 / 3.0) * (1.0 - (1.0 - (-w * t).exp()) / (w * t));
    // From the run's zero, since the first state is drawn from the long run.
    let counts: Vec<f64> = (0..4_000).map(|seed| count(&markov, seed, 0.0, t)).collect();
    let (mean, variance) = mean_and_variance(&counts);
    let error = (index * mean_rate * t / 4_000.0).sqrt();
    assert!((mean - mean_rate * t).abs() < 4.0 * error, "mean {mean} of {}", mean_rate * t);
    assert!((variance / mean / index - 1.0).abs() < 0.12, "dispersion {} of {index}", variance / mean);
}

#[test]
fn clients_are_under_way_when_the_run_begins() {
    // Expected arrivals are rate × time from the first second, although gaps in bursts (CV 3) that all began with the
    // run would bring (CV² − 1)/2 = 4 requests more of each client at once.
    for gaps in [GapFamily::Gamma, GapFamily::Weibull] {
        let pattern =
            ArrivalPattern::Population { rate_per_s: 20.0, clients: 100, rates: RateSpread::Equal, cv: 3.0, gaps };
        let counts: Vec<f64> = (0..400).map(|seed| count(&pattern, seed, 0.0, 5.0)).collect();
        let (mean, variance) = mean_and_variance(&counts);
        assert!((mean - 100.0).abs() < 4.0 * (variance / 400.0).sqrt(), "{gaps:?}: mean {mean}");
    }
}

#[test]
fn each_client_sends_at_its_own_rate_with_its_own_gaps() {
    let client = |rate_per_s, cv| Client { rate_per_s, cv, gaps: GapFamily::Gamma };
    let pattern = ArrivalPattern::Clients { clients: vec![client(3.0, 0.5), client(12.0, 2.0)] };
    let all: Vec<Arrival> = Arrivals::new(&pattern, RandomStream::named(1, "arrivals")).take(60_000).collect();
    assert!(all.is_sorted(), "in order of time");
    for (source, rate, cv) in [(0, 3.0, 0.5), (1, 12.0, 2.0)] {
        let own = all.iter().filter(|arrival| arrival.source == source);
        let own: Vec<f64> = own.map(|arrival| arrival.moment.as_secs_f64()).collect();
        let gaps: Vec<f64> = own.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let (mean, variance) = mean_and_variance(&gaps);
        assert!((mean * rate - 1.0).abs() < 4.0 * cv / (gaps.len() as f64).sqrt(), "mean gap {mean}");
        assert!((variance.sqrt() / mean / cv - 1.0).abs() < 0.05, "CV {}", variance.sqrt() / mean);
    }
    let hidden = LatentStates::new(&pattern, RandomStream::named(1, "arrivals"), 60_000);
    let sources: Vec<usize> = all.iter().map(|arrival| arrival.source).collect();
    assert!(matches!(hidden, LatentStates::Clients(clients) if clients == sources), "the judge draws the same");
}

#[test]
fn superposed_sequences_come_in_order_and_ties_by_place() {
    let merged: Vec<_> =
        Superposition::new(vec![vec![1, 5, 5].into_iter(), vec![].into_iter(), vec![0, 5].into_iter()]).collect();
    assert_eq!(merged, [(0, 2), (1, 0), (5, 0), (5, 0), (5, 2)]);
}

#[test]
fn new_processes_are_pinned_forever() {
    // A change of any of these moments breaks every plan ever drawn. The nanosecond of arrival 100 with seed 42.
    let state = |rate_per_s, mean_s| RateState { rate_per_s, mean_s };
    let population = |gaps, rates| ArrivalPattern::Population { rate_per_s: 20.0, clients: 30, rates, cv: 2.0, gaps };
    let spike = Spike { at_s: 1.0, rate_per_s: 60.0, rise_s: 2.0, hold_s: 1.0, fall_s: 3.0 };
    for (pattern, nanos) in [
        (ArrivalPattern::Weibull { rate_per_s: 20.0, shape: 0.5 }, 4_938_509_161),
        (ArrivalPattern::Markov { states: vec![state(5.0, 4.0), state(80.0, 1.0)] }, 3_134_154_894),
        (ArrivalPattern::Diurnal { rate_per_s: 20.0, amplitude: 0.9, period_s: 10.0, phase_s: 2.0 }, 3_424_646_846),
        (ArrivalPattern::Spikes { base_rate_per_s: 12.0, spikes: vec![spike] }, 3_239_185_642),
        (population(GapFamily::Gamma, RateSpread::Zipf { exponent: 1.0 }), 3_906_869_892),
        (population(GapFamily::Weibull, RateSpread::LogNormal { sigma: 1.5 }), 3_598_173_711),
    ] {
        let found = arrivals(&pattern, 42).nth(99).map(Timestamp::as_nanos);
        assert_eq!(found, Some(nanos), "{pattern:?}");
    }
}
