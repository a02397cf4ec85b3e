//! The moments at which requests arrive.

use crate::clock::Timestamp;
use crate::random::Stream;
use crate::workload::{ArrivalPattern, Stage};

/// The moments of an arrival pattern, in order, for as long as one asks.
///
/// They are drawn once and never touched again: not stretched so that a count comes out, not moved so that the
/// first leaves at zero. Seconds add up in `f64` and are rounded down to the nanosecond at the very end. The
/// iterator ends only where the pattern's rate falls to zero for ever.
#[derive(Clone, Debug)]
pub struct Arrivals {
    process: Process,
    stream: Stream,
}

#[derive(Clone, Debug)]
enum Process {
    /// The n-th request at n gaps.
    Metronome { rate_per_s: f64, count: u64 },
    /// Independent gamma gaps.
    Gamma { rate_per_s: f64, shape: f64, seconds: f64 },
    /// Poisson, whatever its rate does in time.
    Poisson(RateCurve),
}

impl Arrivals {
    /// The arrivals of `pattern`, with `stream` as their chance.
    #[must_use]
    pub fn new(pattern: &ArrivalPattern, stream: Stream) -> Self {
        let process = match *pattern {
            ArrivalPattern::Poisson { rate_per_s } => {
                Process::Poisson(RateCurve::new(vec![Segment::endless(rate_per_s)]))
            }
            ArrivalPattern::Constant { rate_per_s } => Process::Metronome { rate_per_s, count: 0 },
            ArrivalPattern::Gamma { rate_per_s, burstiness } => {
                Process::Gamma { rate_per_s, shape: burstiness, seconds: 0.0 }
            }
            ArrivalPattern::Bursts { base_rate_per_s, burst_rate_per_s, base_s, burst_s } => {
                Process::Poisson(RateCurve::new(vec![
                    Segment::level(base_s, base_rate_per_s),
                    Segment::level(burst_s, burst_rate_per_s),
                ]))
            }
            ArrivalPattern::Stages { ref stages } => {
                let last = stages.last().map_or(0.0, |stage| stage.to_rate_per_s);
                let segments = stages.iter().map(Segment::from).chain([Segment::endless(last)]).collect();
                Process::Poisson(RateCurve::new(segments))
            }
            // The moments of a trace are read, not drawn.
            ArrivalPattern::Trace(_) => Process::Poisson(RateCurve::new(Vec::new())),
        };
        Self { process, stream }
    }
}

impl Iterator for Arrivals {
    type Item = Timestamp;

    fn next(&mut self) -> Option<Timestamp> {
        let seconds = match &mut self.process {
            Process::Metronome { rate_per_s, count } => {
                *count += 1;
                *count as f64 / *rate_per_s
            }
            Process::Gamma { rate_per_s, shape, seconds } => {
                *seconds += self.stream.gamma(*shape) / (*shape * *rate_per_s);
                *seconds
            }
            Process::Poisson(curve) => curve.advance(self.stream.exponential())?,
        };
        seconds.is_finite().then(|| Timestamp::from_secs_f64(seconds))
    }
}

/// A rate in time, made of straight pieces that repeat from the first when the last has ended.
///
/// A Poisson process of varying rate λ(t) is one of unit rate seen through Λ(t) = ∫λ (Çinlar, *Introduction to
/// Stochastic Processes*, 1975, section 4.7): step by unit exponentials along Λ, and read t off its inverse. On
/// a straight piece Λ is a quadratic, so the inverse is exact.
#[derive(Clone, Debug)]
struct RateCurve {
    segments: Vec<Segment>,
    /// The piece under way.
    current: usize,
    /// When it began, seconds.
    began: f64,
    /// Expected arrivals passed since it began.
    passed: f64,
}

impl RateCurve {
    fn new(segments: Vec<Segment>) -> Self {
        Self { segments, current: 0, began: 0.0, passed: 0.0 }
    }

    /// Goes on by `step` expected arrivals and tells the moment reached, in seconds; `None` if it is never reached.
    fn advance(&mut self, step: f64) -> Option<f64> {
        self.passed += step;
        loop {
            let segment = self.segments.get(self.current)?;
            let mass = segment.mass();
            if self.passed < mass {
                return Some(self.began + segment.inverse(self.passed));
            }
            if segment.seconds.is_infinite() {
                return None;
            }
            self.passed -= mass;
            self.began += segment.seconds;
            self.current += 1;
            if self.current == self.segments.len() {
                self.current = 0;
                self.skip_whole_rounds()?;
            }
        }
    }

    /// Leaves out the rounds in which nothing arrives, so that the rarest arrivals are found at once; `None` if
    /// nothing ever arrives.
    fn skip_whole_rounds(&mut self) -> Option<()> {
        let mass: f64 = self.segments.iter().map(Segment::mass).sum();
        if mass <= 0.0 {
            return None;
        }
        let rounds = (self.passed / mass).floor();
        self.passed = (self.passed - rounds * mass).max(0.0);
        self.began += rounds * self.segments.iter().map(|segment| segment.seconds).sum::<f64>();
        self.began.is_finite().then_some(())
    }
}

/// A stretch of time on which the rate is a straight line.
#[derive(Clone, Copy, Debug)]
struct Segment {
    /// Its length.
    seconds: f64,
    /// Requests per second when it begins.
    from: f64,
    /// Requests per second when it ends.
    to: f64,
}

impl Segment {
    fn level(seconds: f64, rate_per_s: f64) -> Self {
        Self { seconds, from: rate_per_s, to: rate_per_s }
    }

    fn endless(rate_per_s: f64) -> Self {
        Self::level(f64::INFINITY, rate_per_s)
    }

    /// Expected arrivals on the whole stretch.
    fn mass(&self) -> f64 {
        let mean_rate = 0.5 * (self.from + self.to);
        if mean_rate > 0.0 { mean_rate * self.seconds } else { 0.0 }
    }

    /// Seconds from the stretch's beginning after which `passed` arrivals are expected, 0 ≤ `passed` < mass.
    ///
    /// Solves from·τ + slope·τ²/2 = passed in the form that loses no digits when the slope is small.
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

impl From<&Stage> for Segment {
    fn from(stage: &Stage) -> Self {
        Self { seconds: stage.duration_s, from: stage.from_rate_per_s, to: stage.to_rate_per_s }
    }
}

#[cfg(test)]
mod tests;
