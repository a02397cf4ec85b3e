//! Says in one word whether a machine is fit to measure.

use serde::Serialize;

use crate::analysis::{DELAY_FLOOR_MS, LEAST_MS};
use crate::record::Calibration;
use crate::units::{count, three_digits};

/// Whether runs on a machine can be trusted, by what its calibration found.
///
/// Up to the first of its bounds lateness has no effect that a verdict counts; beyond the second hardly any run is
/// spared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Fitness {
    /// Stamps and requests off by at most a millisecond, 99 times in a hundred.
    Ready,
    /// Off by more, and so are short times and the tails of long ones.
    Noisy,
    /// Off by so much that runs are INVALID.
    NotFit,
}

impl Fitness {
    /// Fitness of the machine that was calibrated.
    pub(crate) fn new(found: &Calibration) -> Self {
        match worst_ms(found) {
            ..=LEAST_MS => Self::Ready,
            ..=DELAY_FLOOR_MS => Self::Noisy,
            _ => Self::NotFit,
        }
    }

    /// Word for people: READY, NOISY, NOT FIT.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Ready => "READY",
            Self::Noisy => "NOISY",
            Self::NotFit => "NOT FIT",
        }
    }

    /// Sentence about it. Only a machine that is ready is trusted with a rate.
    pub(crate) fn sentence(self, found: &Calibration, trusted_requests_per_s: f64) -> String {
        let (stamps, requests) = (p99(found.stamp_delay.p99_ns), p99(found.pacer_delay.p99_ns));
        let limit = match self {
            Self::Ready => {
                let rate = rounded_down(trusted_requests_per_s);
                return format!("stamps within {stamps} ms at p99; trusted up to {rate} requests/s");
            }
            Self::Noisy => LEAST_MS,
            Self::NotFit => DELAY_FLOOR_MS,
        };
        let so = match self {
            Self::NotFit => "expect INVALID runs",
            Self::Ready | Self::Noisy => "latencies are uncertain by that much",
        };
        format!("stamps within {stamps} ms and requests within {requests} ms at p99, the limit is {limit} ms; {so}")
    }

    /// Cure of it; empty where nothing is to be done.
    pub(crate) fn cure(self) -> &'static str {
        match self {
            Self::Ready => "",
            Self::Noisy | Self::NotFit => "free up CPU on this machine, or measure from another",
        }
    }
}

/// Calibration of two that found less delay.
pub(crate) fn fitter(one: Calibration, other: Calibration) -> Calibration {
    if worst_ms(&other) < worst_ms(&one) { other } else { one }
}

/// The later of stamps and requests, at p99.
fn worst_ms(found: &Calibration) -> f64 {
    found.stamp_delay.p99_ns.max(found.pacer_delay.p99_ns) as f64 / 1e6
}

/// Milliseconds, none finer than a hundredth.
fn p99(ns: u64) -> String {
    let ms = ns as f64 / 1e6;
    if ms < 1.0 { format!("{:.2}", ms.max(0.01)) } else { three_digits(ms) }
}

/// Two digits, none finer than a tenth.
fn rounded_down(rate: f64) -> String {
    let digit = 10f64.powf(rate.max(1.0).log10().floor() - 1.0);
    let rounded = (rate / digit).floor() * digit;
    if rate < 10.0 { format!("{rounded:.1}") } else { count(rounded as u64) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Delays;

    fn found(stamps_us: u64, requests_us: u64) -> Calibration {
        let delays = |us: u64| Delays { n: 1_000, p50_ns: 1_000, p99_ns: us * 1_000, max_ns: us * 2_000 };
        Calibration {
            took_ns: 500_000_000,
            age_s: None,
            stamp_delay: delays(stamps_us),
            pacer_delay: delays(requests_us),
            request_cpu_ns: 75_000,
            paced_event_cpu_ns: 8_000,
            coalesced_event_cpu_ns: 700,
        }
    }

    #[test]
    fn the_later_of_both_decides() {
        for (stamps_us, requests_us, fitness) in [
            (80, 40, Fitness::Ready),
            (1_000, 1_000, Fitness::Ready),
            (1_001, 40, Fitness::Noisy),
            (80, 20_000, Fitness::Noisy),
            (80, 20_001, Fitness::NotFit),
            (381_000, 40, Fitness::NotFit),
        ] {
            assert_eq!(Fitness::new(&found(stamps_us, requests_us)), fitness, "{stamps_us} {requests_us}");
        }
    }

    #[test]
    fn only_a_machine_that_is_ready_is_trusted_with_a_rate() {
        let sentence = |stamps_us| {
            let found = found(stamps_us, 40);
            Fitness::new(&found).sentence(&found, 6_666.7)
        };
        assert_eq!(sentence(83), "stamps within 0.08 ms at p99; trusted up to 6,600 requests/s");
        assert_eq!(
            sentence(3_210),
            "stamps within 3.21 ms and requests within 0.04 ms at p99, the limit is 1 ms; latencies are uncertain by \
             that much"
        );
        let not_fit = sentence(381_000);
        assert!(not_fit.contains("381 ms") && not_fit.contains("INVALID"), "{not_fit}");
        assert!(!not_fit.contains("trusted"), "{not_fit}");
    }

    #[test]
    fn rates_are_rounded_down() {
        let rounded = [0.47, 9.99, 57.8, 123.0, 6_699.0].map(rounded_down);
        assert_eq!(rounded, ["0.4", "9.9", "57", "120", "6,600"]);
    }
}
