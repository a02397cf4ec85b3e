//! A piecewise linear rate over time, and the path through the states of a Markov-modulated rate.

use crate::random::{RandomStream, WeightedChoice};
use crate::workload::{RateStage, RateState};

/// A piecewise linear rate; the pieces repeat from the first after the last.
///
/// A Poisson process of varying rate λ(t) is one of unit rate seen through Λ(t) = ∫λ (Çinlar, *Introduction to
/// Stochastic Processes*, 1975, section 4.7): step by unit exponentials along Λ, and read t off its inverse. On a
/// linear piece Λ is a quadratic, so the inverse is exact.
#[derive(Clone, Debug)]
pub(super) struct RateCurve {
    pieces: Pieces,
    /// The current piece, if any.
    current: Option<RateStage>,
    /// Moment when it began, seconds.
    began: f64,
    /// Expected arrivals passed since it began.
    passed: f64,
}

/// Source that the pieces come from.
#[derive(Clone, Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "there are a few of them in a plan, and a stream of chance is what is large"
)]
enum Pieces {
    /// Pieces that are repeated.
    Round { stages: Vec<RateStage>, next: usize },
    /// One piece per state on a path.
    Path(StatePath),
}

impl RateCurve {
    pub(super) fn new(stages: Vec<RateStage>) -> Self {
        let current = stages.first().copied();
        Self { pieces: Pieces::Round { stages, next: 1 }, current, began: 0.0, passed: 0.0 }
    }

    pub(super) fn along(mut path: StatePath) -> Self {
        let current = path.next();
        Self { pieces: Pieces::Path(path), current, began: 0.0, passed: 0.0 }
    }

    /// Advances by `step` expected arrivals and returns the moment reached, in seconds. It is `None` if it is never
    /// reached.
    pub(super) fn advance(&mut self, step: f64) -> Option<f64> {
        self.passed += step;
        loop {
            let stage = self.current?;
            let mass = mass(&stage);
            if self.passed < mass {
                return Some(self.began + inverse(&stage, self.passed));
            }
            if stage.duration_s.is_infinite() {
                return None;
            }
            self.passed -= mass;
            self.began += stage.duration_s;
            self.current = self.next_piece();
        }
    }

    fn next_piece(&mut self) -> Option<RateStage> {
        match &mut self.pieces {
            Pieces::Round { stages, next } => {
                if let Some(&stage) = stages.get(*next) {
                    *next += 1;
                    return Some(stage);
                }
                *next = 1;
                let first = stages.first().copied();
                let round = stages.iter().fold((0.0, 0.0), |(arrivals, seconds), stage| {
                    (arrivals + mass(stage), seconds + stage.duration_s)
                });
                self.skip_whole_rounds(round.0, round.1)?;
                first
            }
            Pieces::Path(path) => path.next().filter(|_| self.began.is_finite()),
        }
    }

    /// Skips whole rounds, each with this mass and length, that contain no arrival. So rare arrivals are found at once;
    /// it is `None` if nothing ever arrives.
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

/// Expected arrivals of a whole stage.
fn mass(stage: &RateStage) -> f64 {
    let mean_rate = 0.5 * (stage.from_rate_per_s + stage.to_rate_per_s);
    if mean_rate > 0.0 { mean_rate * stage.duration_s } else { 0.0 }
}

/// Seconds of a stage after which `passed` arrivals are expected, 0 ≤ `passed` < mass.
///
/// Solves from·τ + slope·τ²/2 = passed in the form that keeps its digits for small slopes.
fn inverse(stage: &RateStage, passed: f64) -> f64 {
    if passed <= 0.0 {
        return 0.0;
    }
    let from = stage.from_rate_per_s;
    let slope = (stage.to_rate_per_s - from) / stage.duration_s;
    let rate_there = libm::sqrt((from * from + 2.0 * slope * passed).max(0.0));
    (2.0 * passed / (from + rate_there)).min(stage.duration_s)
}

/// Endless path through the states from the start of the run. Every stay in a state is a stage.
#[derive(Clone, Debug)]
pub struct StatePath {
    states: Vec<RateState>,
    current: usize,
    stream: RandomStream,
}

impl StatePath {
    /// The path under `stream`. The initial state is drawn by the long-run share of time in each state.
    pub fn new(states: &[RateState], mut stream: RandomStream) -> Self {
        let current = WeightedChoice::new(states.iter().map(|state| state.mean_s)).draw(&mut stream);
        Self { states: states.to_vec(), current, stream }
    }
}

impl Iterator for StatePath {
    type Item = RateStage;

    fn next(&mut self) -> Option<RateStage> {
        let state = self.states.get(self.current)?;
        self.current = (self.current + 1) % self.states.len();
        Some(RateStage::level(state.mean_s * self.stream.exponential(), state.rate_per_s))
    }
}
