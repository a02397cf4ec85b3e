//! The clock of a process's own expected arrivals, and the hazard of its gaps.

use crate::analysis::statistics::ln_gamma_survival;
use crate::arrivals::{LatentStates, StatePath};
use crate::random::RandomStream;
use crate::workload::{ArrivalPattern, GapForm};

/// Longest gap that counts as equal to others, seconds. It is a thousand times the resolution of a moment.
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
pub(super) struct ExpectedArrivals {
    /// Steps of the clock from arrival to arrival, the first from the run's zero.
    pub(super) steps: Vec<f64>,
    /// Reading of the clock at the end of the stretch.
    pub(super) whole: f64,
    /// Arrivals expected by the moment of the last one, whatever came before it.
    pub(super) by_last: f64,
}

impl ExpectedArrivals {
    /// Puts arrivals on the clock of their process, over a stretch of `span_s` seconds. They come in order, each in
    /// seconds and with its place in the plan.
    pub(super) fn new(pattern: &ArrivalPattern, hidden: &LatentStates, span_s: f64, arrivals: &[(f64, usize)]) -> Self {
        let seconds = || arrivals.iter().map(|arrival| arrival.0);
        let mut clock = Clock::new();
        match (hidden, pattern.gaps(), pattern.clients()) {
            (_, Some((rate_per_s, form)), _) => {
                clock.renewal(seconds(), span_s, DeclaredGaps { rate_per_s, form }, DeclaredGaps::hazard);
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
                    clock.renewal(seconds, span_s, DeclaredGaps { rate_per_s, form }, DeclaredGaps::hazard_of_rest);
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
        gaps: DeclaredGaps,
        first: fn(DeclaredGaps, f64) -> f64,
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
            (before, hazard) = (now, DeclaredGaps::hazard);
        }
        self.since += hazard(gaps, span_s - before);
    }
}

/// Largest hazard that one gap counts for. A chance of e⁻⁷⁰⁰ is about as unlikely as a float can say.
const MOST: f64 = 700.0;

/// Independent gaps of one form with mean 1/rate.
#[derive(Clone, Copy, Debug)]
struct DeclaredGaps {
    rate_per_s: f64,
    form: GapForm,
}

impl DeclaredGaps {
    /// Integrates the hazard over a gap that has lasted for so many seconds. The integral is −ln P(gap > seconds).
    fn hazard(self, seconds: f64) -> f64 {
        let due = match self.form {
            GapForm::Gamma(shape) => -ln_gamma_survival(shape, shape * self.rate_per_s * seconds),
            GapForm::Weibull(shape) => self.weibull_power(shape, seconds),
        };
        due.clamp(0.0, MOST)
    }

    /// Integrates the hazard over the rest of a gap under way when the run began. The integral is −ln of rate ·
    /// ∫ P(gap > u) du from `seconds` on (Cox, *Renewal Theory*, 1962, section 5.4).
    ///
    /// Gamma with shape k at z = k·rate·seconds: Q(k + 1, z) − z/k · Q(k, z). Weibull: Q(1/shape,
    /// (seconds/scale)^shape).
    fn hazard_of_rest(self, seconds: f64) -> f64 {
        let due = match self.form {
            GapForm::Gamma(shape) => {
                let z = shape * self.rate_per_s * seconds;
                let (above, at) = (ln_gamma_survival(shape + 1.0, z), ln_gamma_survival(shape, z));
                -libm::log((libm::exp(above) - z / shape * libm::exp(at)).max(0.0))
            }
            GapForm::Weibull(shape) => -ln_gamma_survival(1.0 / shape, self.weibull_power(shape, seconds)),
        };
        due.clamp(0.0, MOST)
    }

    /// (seconds/scale)^shape, the scale being 1 ÷ (rate · Γ(1 + 1/shape)).
    fn weibull_power(self, shape: f64, seconds: f64) -> f64 {
        libm::pow(self.rate_per_s * libm::tgamma(1.0 + 1.0 / shape) * seconds, shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hazards of gaps with mean 1, by scipy 1.17.1. A row has the shape and seconds. Then it has, for gamma and then
    /// Weibull gaps, the hazard of a whole gap and of the rest of one. They are `-d.logsf(x)` and
    /// `-log(quad(d.sf, x, inf))` with `d = gamma(k, scale=1/k)`, `weibull_min(k, scale=1/gamma_function(1 + 1/k))`.
    const BY_SCIPY: [(f64, f64, [f64; 4]); 7] = [
        (
            0.25,
            0.01,
            [0.283_124_163_032_368_54, 0.008_059_361_304_658_164, 0.699_927_102_316_116_7, 0.005_767_991_336_300_593],
        ),
        (
            0.25,
            3.0,
            [2.301_950_427_281_925, 1.255_783_725_345_984_7, 2.912_950_630_243_940_5, 0.405_375_724_014_693_63],
        ),
        (0.5, 0.5, [0.735_011_129_837_084_6, 0.386_925_998_477_289_37, 1.0, 0.306_852_819_440_054_66]),
        (0.5, 3.0, [2.485_732_790_986_079_4, 1.953_114_655_334_832_4, 2.449_489_742_783_178, 1.211_263_423_320_845_5]),
        (1.0, 0.5, [0.5, 0.5, 0.5, 0.5]),
        (
            4.0,
            0.5,
            [0.154_173_309_501_669_24, 0.656_265_253_298_905_5, 0.042_185_611_831_948_51, 0.684_842_550_606_119_4],
        ),
        (4.0, 3.0, [6.078_421_580_356_184, 7.229_315_375_534_335, 54.672_552_934_205_02, 58.974_985_676_709_51]),
    ];

    #[test]
    fn integrated_hazards_are_scipys() {
        for (shape, seconds, expected) in BY_SCIPY {
            let [gamma, weibull] = [GapForm::Gamma(shape), GapForm::Weibull(shape)]
                .map(|form| DeclaredGaps { rate_per_s: 2.0, form })
                .map(|gaps| [gaps.hazard(seconds / 2.0), gaps.hazard_of_rest(seconds / 2.0)]);
            let found = [gamma[0], gamma[1], weibull[0], weibull[1]];
            let near = |(found, expected): (&f64, f64)| (found - expected).abs() < 1e-7 * expected.max(1.0);
            assert!(found.iter().zip(expected).all(near), "{shape} at {seconds}: {found:?}, not {expected:?}");
        }
        let gaps = DeclaredGaps { rate_per_s: 1.0, form: GapForm::Gamma(4.0) };
        assert_eq!((gaps.hazard(0.0), gaps.hazard_of_rest(0.0), gaps.hazard(1e6)), (0.0, 0.0, MOST));
    }
}
