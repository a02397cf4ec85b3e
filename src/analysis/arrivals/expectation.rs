//! The clock of expected arrivals.

use super::hazard::Gaps;
use crate::arrivals::{LatentStates, StatePath};
use crate::random::RandomStream;
use crate::workload::ArrivalPattern;

/// Gaps up to this long, seconds, count as equal: a thousand times the resolution of a moment.
const UNRESOLVED_S: f64 = 1e-6;

/// A sequence of arrivals on the clock of its process.
///
/// The clock shows how many arrivals were to be expected by a moment, given all arrivals before it: the integral of
/// the process's conditional intensity, along which every such process is Poisson with rate one, so that the steps
/// from arrival to arrival are independent exponentials with mean 1 (the time-rescaling theorem: Papangelou 1972;
/// Brown et al., *Neural Computation* 14, 2002, 325–346).
///
/// Each client has a clock of its own, and what one showed at the end of the stretch is where the next begins: a
/// Poisson process that goes on from where another was stopped is still one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Expectation {
    /// Steps of the clock from arrival to arrival, the first from the run's zero.
    pub(super) steps: Vec<f64>,
    /// What the clock shows at the end of the stretch.
    pub(super) whole: f64,
    /// Arrivals expected by the moment of the last one, whatever came before it.
    pub(super) by_last: f64,
}

impl Expectation {
    /// Of arrivals in order, each in seconds and with its place in the plan, over a stretch of `span_s` seconds.
    pub(super) fn of(
        pattern: &ArrivalPattern,
        hidden: &LatentStates,
        span_s: f64,
        arrivals: &[(f64, usize)],
    ) -> Self {
        let seconds = || arrivals.iter().map(|arrival| arrival.0);
        let mut clock = Clock::new();
        match (hidden, pattern.gaps(), pattern.clients()) {
            (_, Some((rate_per_s, form)), _) => {
                clock.renewal(seconds(), span_s, Gaps { rate_per_s, form }, Gaps::hazard);
            }
            (LatentStates::Clients(client_of), _, Some(clients)) => {
                let mut by_client = vec![Vec::new(); clients.len()];
                for (seconds, place) in arrivals {
                    let client = client_of.get(*place).and_then(|&client| by_client.get_mut(client));
                    if let Some(client) = client {
                        client.push(*seconds);
                    }
                }
                for ((rate_per_s, form), seconds) in clients.into_iter().zip(by_client) {
                    clock.renewal(seconds, span_s, Gaps { rate_per_s, form }, Gaps::hazard_of_rest);
                }
            }
            (LatentStates::States(path), ..) => clock.along(path.clone(), seconds(), span_s),
            _ => clock.at_rate(pattern, seconds(), span_s),
        }
        Self {
            whole: clock.steps.iter().sum::<f64>() + clock.since,
            by_last: pattern.expected_arrivals(arrivals.last().map_or(0.0, |last| last.0)),
            steps: clock.steps,
        }
    }
}

/// The clock as it runs.
#[derive(Clone, Debug)]
struct Clock {
    steps: Vec<f64>,
    /// How far it has gone since the last arrival.
    since: f64,
    places: RandomStream,
}

impl Clock {
    fn new() -> Self {
        let places = RandomStream::named(0, "places of unresolved gaps");
        Self { steps: Vec::new(), since: 0.0, places }
    }

    fn arrival(&mut self) {
        self.steps.push(std::mem::take(&mut self.since));
    }

    /// Goes through a Poisson process: ∫λ.
    fn at_rate(&mut self, pattern: &ArrivalPattern, seconds: impl Iterator<Item = f64>, span_s: f64) {
        let mut before = 0.0;
        for now in seconds {
            self.since += (pattern.expected_arrivals(now) - pattern.expected_arrivals(before)).max(0.0);
            self.arrival();
            before = now;
        }
        self.since += (pattern.expected_arrivals(span_s) - pattern.expected_arrivals(before)).max(0.0);
    }

    /// Goes through a Poisson process along a path of states, given that path.
    fn along(&mut self, mut path: StatePath, seconds: impl Iterator<Item = f64>, span_s: f64) {
        let (mut before, mut end, mut rate_per_s) = (0.0, 0.0, 0.0);
        let mut pass = |clock: &mut Self, now: f64| {
            while now > end {
                clock.since += rate_per_s * (end - before);
                before = end;
                let Some(stay) = path.next() else { return };
                end += stay.duration_s;
                rate_per_s = stay.from_rate_per_s;
            }
            clock.since += rate_per_s * (now - before);
            before = now;
        };
        for now in seconds {
            pass(self, now);
            self.arrival();
        }
        pass(self, span_s);
    }

    /// Goes through independent gaps: their integrated hazard, and over the first `first`.
    ///
    /// Most gaps of a very bursty process are shorter than a nanosecond, and moments are whole nanoseconds. Of a gap
    /// up to 1 µs only that is used; where it lies among its like is drawn (a randomised probability-integral
    /// transform: Dunn and Smyth, *Journal of Computational and Graphical Statistics* 5, 1996, 236–244), in the same
    /// way every time.
    fn renewal(
        &mut self,
        seconds: impl IntoIterator<Item = f64>,
        span_s: f64,
        gaps: Gaps,
        first: fn(Gaps, f64) -> f64,
    ) {
        let (mut before, mut hazard) = (0.0, first);
        for now in seconds {
            let (gap, place) = (now - before, self.places.unit());
            self.since += if gap > UNRESOLVED_S {
                hazard(gaps, gap)
            } else {
                let below = -libm::expm1(-hazard(gaps, UNRESOLVED_S));
                -libm::log1p(-place * below)
            };
            self.arrival();
            (before, hazard) = (now, Gaps::hazard);
        }
        self.since += hazard(gaps, span_s - before);
    }
}
