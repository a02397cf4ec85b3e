//! A piecewise linear rate over time.

use super::states::{StateInterval, StatePath};
use crate::workload::RateStage;

/// A piecewise linear rate; the pieces repeat from the first after the last.
///
/// A Poisson process of varying rate λ(t) is one of unit rate seen through Λ(t) = ∫λ (Çinlar, *Introduction to
/// Stochastic Processes*, 1975, section 4.7): step by unit exponentials along Λ, and read t off its inverse. On a
/// linear piece Λ is a quadratic, so the inverse is exact.
#[derive(Clone, Debug)]
pub(super) struct RateCurve {
    pieces: Pieces,
    /// The current piece, if any.
    current: Option<Segment>,
    /// When it began, seconds.
    began: f64,
    /// Expected arrivals passed since it began.
    passed: f64,
}

/// Where the pieces come from.
#[derive(Clone, Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "there are a few of them in a plan, and a stream of chance is what is large"
)]
enum Pieces {
    /// These pieces, repeated.
    Round { segments: Vec<Segment>, next: usize },
    /// One piece per state on a path.
    Path(StatePath),
}

impl RateCurve {
    pub(super) fn new(segments: Vec<Segment>) -> Self {
        let current = segments.first().copied();
        Self { pieces: Pieces::Round { segments, next: 1 }, current, began: 0.0, passed: 0.0 }
    }

    pub(super) fn along(mut path: StatePath) -> Self {
        let current = path.next().map(Segment::from);
        Self { pieces: Pieces::Path(path), current, began: 0.0, passed: 0.0 }
    }

    /// Advances by `step` expected arrivals and returns the moment reached, in seconds; `None` if it is never
    /// reached.
    pub(super) fn advance(&mut self, step: f64) -> Option<f64> {
        self.passed += step;
        loop {
            let segment = self.current?;
            let mass = segment.mass();
            if self.passed < mass {
                return Some(self.began + segment.inverse(self.passed));
            }
            if segment.seconds.is_infinite() {
                return None;
            }
            self.passed -= mass;
            self.began += segment.seconds;
            self.current = self.next_piece();
        }
    }

    fn next_piece(&mut self) -> Option<Segment> {
        match &mut self.pieces {
            Pieces::Round { segments, next } => {
                if let Some(&segment) = segments.get(*next) {
                    *next += 1;
                    return Some(segment);
                }
                *next = 1;
                let first = segments.first().copied();
                let (mass, seconds) = segments.iter().fold((0.0, 0.0), |(mass, seconds), segment| {
                    (mass + segment.mass(), seconds + segment.seconds)
                });
                self.skip_whole_rounds(mass, seconds)?;
                first
            }
            Pieces::Path(path) => path.next().filter(|_| self.began.is_finite()).map(Segment::from),
        }
    }

    /// Skips whole rounds, each with this mass and length, that contain no arrival, so that rare arrivals are found
    /// at once; `None` if nothing ever arrives.
    fn skip_whole_rounds(&mut self, mass: f64, seconds: f64) -> Option<()> {
        if mass <= 0.0 {
            return None;
        }
        let rounds = (self.passed / mass).floor();
        self.passed = (self.passed - rounds * mass).max(0.0);
        self.began += rounds * seconds;
        self.began.is_finite().then_some(())
    }
}

/// A stretch of time with a linear rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    /// Its length.
    pub(super) seconds: f64,
    /// Requests per second when it begins.
    pub(super) from: f64,
    /// Requests per second when it ends.
    pub(super) to: f64,
}

impl Segment {
    pub(super) fn level(seconds: f64, rate_per_s: f64) -> Self {
        Self { seconds, from: rate_per_s, to: rate_per_s }
    }

    pub(super) fn endless(rate_per_s: f64) -> Self {
        Self::level(f64::INFINITY, rate_per_s)
    }

    /// Expected arrivals of the whole stretch.
    fn mass(&self) -> f64 {
        let mean_rate = 0.5 * (self.from + self.to);
        if mean_rate > 0.0 { mean_rate * self.seconds } else { 0.0 }
    }

    /// Seconds after which `passed` arrivals are expected, 0 ≤ `passed` < mass.
    ///
    /// Solves from·τ + slope·τ²/2 = passed in the form that keeps its digits for small slopes.
    fn inverse(&self, passed: f64) -> f64 {
        if passed <= 0.0 {
            return 0.0;
        }
        let from = self.from;
        let slope = (self.to - from) / self.seconds;
        let rate_there = libm::sqrt((from * from + 2.0 * slope * passed).max(0.0));
        (2.0 * passed / (from + rate_there)).min(self.seconds)
    }
}

impl From<&RateStage> for Segment {
    fn from(stage: &RateStage) -> Self {
        Self { seconds: stage.duration_s, from: stage.from_rate_per_s, to: stage.to_rate_per_s }
    }
}

impl From<StateInterval> for Segment {
    fn from(stay: StateInterval) -> Self {
        Self::level(stay.seconds, stay.rate_per_s)
    }
}
