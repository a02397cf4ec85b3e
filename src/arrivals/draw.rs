//! The moments at which requests arrive, of one source or of several merged into one order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::f64::consts::TAU;

use super::curve::{RateCurve, StatePath};
use super::renewal::{FirstGap, Renewal};
use crate::clock::Timestamp;
use crate::random::RandomStream;
use crate::workload::{ArrivalPattern, GapForm, RequestClass, WorkloadSpec};

/// One arrival, ordered by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arrival {
    /// Its moment.
    pub moment: Timestamp,
    /// Index of its client, class or user in patterns of clients, classes or users. It is 0 in others.
    pub source: usize,
}

/// The arrivals of a pattern, in order, without end.
///
/// They are drawn once and never adjusted: not stretched to reach a count, not shifted so that the first leaves at
/// zero. Seconds are summed in `f64` and rounded down to the nanosecond at the end. The iterator ends only where the
/// rate falls to zero for ever, and after the first request of the last user.
#[derive(Clone, Debug)]
pub struct Arrivals {
    process: Process,
}

#[derive(Clone, Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "there are a few of them in a plan, and a stream of chance is what is large"
)]
enum Process {
    /// The n-th request after n gaps.
    Metronome { rate_per_s: f64, count: u64 },
    /// Independent gaps.
    Renewal(Renewal),
    /// Poisson with a piecewise linear rate.
    Poisson(RateCurve, RandomStream),
    /// Poisson with a sinusoidal rate.
    Swinging(Swing, RandomStream),
    /// The first request of each user.
    Users { users: u64, ramp_s: f64, begun: u64 },
    /// A renewal process per client.
    Clients(Superposition<Renewal>),
    /// A process per class.
    Classes(Superposition<Arrivals>),
}

impl Arrivals {
    /// Returns the arrivals of a whole workload under its seed. The stream is `arrivals`, or `arrivals/NAME` where each
    /// class has its own process.
    pub fn from_workload(workload: &WorkloadSpec) -> Self {
        let seed = workload.seed;
        match &workload.arrival {
            ArrivalPattern::ByClass { classes } => {
                let streams = workload.classes.iter().map(|class| Self::stream_of(class, seed));
                Self::superposed(classes, streams)
            }
            pattern => Self::new(pattern, RandomStream::named(seed, "arrivals")),
        }
    }

    /// The stream of a class with its own process.
    pub fn stream_of(class: &RequestClass, seed: u64) -> RandomStream {
        RandomStream::named(seed, &format!("arrivals/{}", class.name))
    }

    /// The arrivals of `pattern` drawn from `stream`. A pattern that needs several random sequences takes branches
    /// from 1 on: the states of a Markov-modulated process the first, each client or class its own.
    pub fn new(pattern: &ArrivalPattern, stream: RandomStream) -> Self {
        let process = match pattern {
            ArrivalPattern::Constant { rate_per_s } => Process::Metronome { rate_per_s: *rate_per_s, count: 0 },
            ArrivalPattern::Markov { states } => {
                Process::Poisson(RateCurve::along(StatePath::new(states, stream.branch(1))), stream)
            }
            ArrivalPattern::Diurnal { rate_per_s, amplitude, period_s, phase_s } => {
                let swing = Swing {
                    rate_per_s: *rate_per_s,
                    amplitude: *amplitude,
                    period_s: *period_s,
                    phase_s: *phase_s,
                    seconds: 0.0,
                };
                Process::Swinging(swing, stream)
            }
            ArrivalPattern::Users { users, ramp_s, .. } => Process::Users { users: *users, ramp_s: *ramp_s, begun: 0 },
            ArrivalPattern::Gamma { .. }
            | ArrivalPattern::Weibull { .. }
            | ArrivalPattern::Clients { .. }
            | ArrivalPattern::Population { .. } => return Self::of_gaps(pattern, stream),
            ArrivalPattern::ByClass { classes } => {
                return Self::superposed(classes, (1..).map(|branch| stream.branch(branch)));
            }
            // That of a trace is empty: its moments are read, not drawn.
            pattern => Process::Poisson(RateCurve::new(pattern.course()), stream),
        };
        Self { process }
    }

    /// A pattern of independent gaps: one sequence of them, or one per client.
    fn of_gaps(pattern: &ArrivalPattern, stream: RandomStream) -> Self {
        let process = if let Some((rate_per_s, form)) = pattern.gaps() {
            Process::Renewal(Renewal::new(rate_per_s, form, FirstGap::WithTheRun, stream))
        } else {
            let clients = pattern.clients().unwrap_or_default().into_iter().zip(1..);
            let clients = clients.map(|((rate_per_s, form), branch)| {
                Renewal::new(rate_per_s, form, FirstGap::LongBefore, stream.branch(branch))
            });
            Process::Clients(Superposition::new(clients.collect()))
        };
        Self { process }
    }

    /// One client's arrivals, already active before: independent gaps of this distribution with mean 1/rate.
    pub fn under_way(rate_per_s: f64, form: GapForm, stream: RandomStream) -> Self {
        Self { process: Process::Renewal(Renewal::new(rate_per_s, form, FirstGap::LongBefore, stream)) }
    }

    fn superposed(classes: &[ArrivalPattern], streams: impl Iterator<Item = RandomStream>) -> Self {
        let sequences = classes.iter().zip(streams).map(|(class, stream)| Self::new(class, stream)).collect();
        Self { process: Process::Classes(Superposition::new(sequences)) }
    }
}

impl Iterator for Arrivals {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        let seconds = match &mut self.process {
            Process::Metronome { rate_per_s, count } => {
                *count += 1;
                *count as f64 / *rate_per_s
            }
            Process::Users { users, ramp_s, begun } => {
                let user = *begun;
                *begun += 1;
                let moment = Timestamp::from_secs_f64(*ramp_s * user as f64 / *users as f64);
                return (user < *users).then_some(Arrival { moment, source: user as usize });
            }
            Process::Renewal(renewal) => return Some(Arrival { moment: renewal.next()?, source: 0 }),
            Process::Poisson(curve, stream) => curve.advance(stream.exponential())?,
            Process::Swinging(swing, stream) => swing.advance(stream)?,
            Process::Clients(clients) => {
                let (moment, source) = clients.next()?;
                return Some(Arrival { moment, source });
            }
            Process::Classes(classes) => {
                let (arrival, source) = classes.next()?;
                return Some(Arrival { moment: arrival.moment, source });
            }
        };
        seconds.is_finite().then(|| Arrival { moment: Timestamp::from_secs_f64(seconds), source: 0 })
    }
}

/// A sinusoidal rate.
#[derive(Clone, Copy, Debug)]
struct Swing {
    rate_per_s: f64,
    amplitude: f64,
    period_s: f64,
    phase_s: f64,
    seconds: f64,
}

impl Swing {
    /// Advances to the next arrival by thinning. Candidates come at the highest rate, each kept with the ratio of the
    /// rate at its moment to the highest (Lewis and Shedler, *Naval Research Logistics Quarterly* 26, 1979, 403–413).
    /// Thinning is exact, and independent of the integral that checks the arrivals.
    fn advance(&mut self, stream: &mut RandomStream) -> Option<f64> {
        let highest = 1.0 + self.amplitude;
        loop {
            self.seconds += stream.exponential() / (self.rate_per_s * highest);
            if !self.seconds.is_finite() {
                return None;
            }
            let turn = ((self.seconds + self.phase_s) / self.period_s).fract();
            if stream.unit() * highest < 1.0 + self.amplitude * libm::sin(TAU * turn) {
                return Some(self.seconds);
            }
        }
    }
}

/// Several ordered sequences merged into one: every item with the index of its sequence. Equal items come in the
/// order of their sequences.
#[derive(Clone, Debug)]
pub struct Superposition<I: Iterator> {
    sequences: Vec<I>,
    /// The next item of every unfinished sequence.
    heads: BinaryHeap<Reverse<(I::Item, usize)>>,
}

impl<I: Iterator<Item: Ord>> Superposition<I> {
    /// Merges these ordered sequences.
    pub fn new(mut sequences: Vec<I>) -> Self {
        let heads = sequences.iter_mut().enumerate();
        let heads = heads.filter_map(|(place, sequence)| Some(Reverse((sequence.next()?, place)))).collect();
        Self { sequences, heads }
    }
}

impl<I: Iterator<Item: Ord>> Iterator for Superposition<I> {
    type Item = (I::Item, usize);

    fn next(&mut self) -> Option<Self::Item> {
        let Reverse((item, place)) = self.heads.pop()?;
        if let Some(after) = self.sequences.get_mut(place).and_then(Iterator::next) {
            self.heads.push(Reverse((after, place)));
        }
        Some((item, place))
    }
}
