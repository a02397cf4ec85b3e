//! The law that a workload declares for its arrivals, as a clock of expected arrivals.

use crate::analysis::statistics::ln_gamma_survival;
use crate::random::Stream;
use crate::workload::ArrivalPattern;

/// The most that one gamma gap counts for on the clock: e⁻⁷⁰⁰ is about as unlikely as a float can say.
const LONGEST_GAP: f64 = 700.0;

/// Gamma gaps up to this long, seconds, are not told from one another: a thousand times the resolution of a moment.
const UNRESOLVED_S: f64 = 1e-6;

/// The declared law of arrivals.
///
/// Its clock shows how many arrivals were to be expected by a moment, given all arrivals before it: the integral of
/// the process's conditional intensity, along which every such process is Poisson with rate one, so that the steps
/// from arrival to arrival are independent exponentials with mean 1 (the time-rescaling theorem: Papangelou 1972;
/// Brown et al., *Neural Computation* 14, 2002, 325–346).
#[derive(Clone, Copy, Debug)]
pub(super) struct Law<'a> {
    pattern: &'a ArrivalPattern,
}

/// How the gaps of a process are tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GapLaw {
    /// Exponential on the clock of the declared rate. The mean is estimated: whether it is 1 is the count's own test,
    /// and the rest then says something about shape alone.
    Exponential,
    /// Every parameter as declared: a wrong mean cannot be told from a wrong shape.
    Specified,
    /// No chance in them.
    Metronome,
    /// Those of a trace, which declares no process.
    Replayed,
}

impl<'a> Law<'a> {
    pub(super) fn of(pattern: &'a ArrivalPattern) -> Self {
        Self { pattern }
    }

    pub(super) fn gaps(self) -> GapLaw {
        match self.pattern {
            ArrivalPattern::Constant { .. } => GapLaw::Metronome,
            ArrivalPattern::Trace(_) => GapLaw::Replayed,
            ArrivalPattern::Gamma { .. } => GapLaw::Specified,
            ArrivalPattern::Poisson { .. }
            | ArrivalPattern::Bursts { .. }
            | ArrivalPattern::Stages { .. } => GapLaw::Exponential,
        }
    }

    /// Steps of the clock from arrival to arrival, the first from the run's zero, of arrivals in order, in seconds.
    ///
    /// Most gaps of a very bursty gamma process are shorter than a nanosecond, and moments are whole nanoseconds. Of a
    /// gap up to 1 µs only that is used; where it lies among its like is drawn (a randomised probability-integral
    /// transform: Dunn and Smyth, *Journal of Computational and Graphical Statistics* 5, 1996, 236–244), in the same
    /// way every time.
    pub(super) fn steps(self, seconds: &[f64]) -> Vec<f64> {
        let before = [0.0].into_iter().chain(seconds.iter().copied());
        let gaps = before.zip(seconds.iter().copied());
        if self.gaps() != GapLaw::Specified {
            return gaps.map(|(from, until)| self.step(from, until)).collect();
        }
        let below = -libm::expm1(-self.step(0.0, UNRESOLVED_S));
        let mut places = Stream::named(0, "places of unresolved gaps");
        gaps.map(|(from, until)| {
            let place = places.unit();
            if until - from > UNRESOLVED_S { self.step(from, until) } else { -libm::log1p(-place * below) }
        })
        .collect()
    }

    /// How far the clock goes from an arrival (or the run's zero) at `from` until `until`, in seconds both, when
    /// nothing arrives between them.
    ///
    /// Poisson, at whatever rate: ∫λ. Gamma gaps: the integrated hazard −ln P(gap > until − from).
    pub(super) fn step(self, from: f64, until: f64) -> f64 {
        match self.pattern {
            ArrivalPattern::Gamma { rate_per_s, burstiness } => {
                let gap = burstiness * rate_per_s * (until - from);
                (-ln_gamma_survival(*burstiness, gap)).min(LONGEST_GAP)
            }
            pattern => (pattern.expected_arrivals(until) - pattern.expected_arrivals(from)).max(0.0),
        }
    }

    /// Arrivals expected by `until`, seconds, whatever came before.
    pub(super) fn expected_by(self, until: f64) -> f64 {
        self.pattern.expected_arrivals(until)
    }

    /// Standard deviation of the number of arrivals where `count` are expected: √count for Poisson; for independent
    /// gaps √count times their coefficient of variation (Cox, *Renewal Theory*, 1962), for gamma 1/√burstiness.
    pub(super) fn deviation_of(self, count: f64) -> f64 {
        match self.pattern {
            ArrivalPattern::Gamma { burstiness, .. } => libm::sqrt(count / burstiness),
            _ => libm::sqrt(count),
        }
    }

    /// What people call it.
    pub(super) fn name(self) -> &'static str {
        match self.pattern {
            ArrivalPattern::Poisson { .. } => "poisson process",
            ArrivalPattern::Constant { .. } => "constant rate",
            ArrivalPattern::Gamma { .. } => "gamma process",
            ArrivalPattern::Bursts { .. } => "process of bursts",
            ArrivalPattern::Stages { .. } => "process of stages",
            ArrivalPattern::Trace(_) => "trace",
        }
    }
}
