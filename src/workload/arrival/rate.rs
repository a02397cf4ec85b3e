//! How many requests an arrival pattern brings, and the same pattern at another rate.

use std::f64::consts::TAU;

use super::clients::{GapFamily, GapForm};
use super::pattern::ArrivalPattern;
use super::stages::{RateStage, Spike};
use crate::workload::trace::findings::TraceFindings;

/// How a rate develops over a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RateProfile {
    /// The rate is constant.
    Level,
    /// The rate repeats after a period of this many seconds.
    Periodic(f64),
    /// The rate changes without a period.
    Changing,
}

impl ArrivalPattern {
    /// Returns the mean rate, requests per second. It is that of bursts and of a diurnal rate over one period, of
    /// stages over all of them, of states in the long run, of a trace over its slice (0 before the file is read), of
    /// classes their sum. The mean of spikes is the base rate, to which they return. 0 for closed-loop users, whose
    /// rate the server decides. The expectation within a window may differ: see [`Self::expected_between`].
    pub fn mean_rate_per_s(&self) -> f64 {
        match self {
            Self::Poisson { rate_per_s }
            | Self::Constant { rate_per_s }
            | Self::Gamma { rate_per_s, .. }
            | Self::Weibull { rate_per_s, .. }
            | Self::Diurnal { rate_per_s, .. }
            | Self::Population { rate_per_s, .. } => *rate_per_s,
            Self::Bursts { base_s, burst_s, .. } => {
                let period = base_s + burst_s;
                self.expected_arrivals(period) / period
            }
            Self::Stages { stages } => {
                let all: f64 = stages.iter().map(|stage| stage.duration_s).sum();
                self.expected_arrivals(all) / all
            }
            Self::Markov { states } => {
                let all: f64 = states.iter().map(|state| state.mean_s).sum();
                states.iter().map(|state| state.rate_per_s * state.mean_s).sum::<f64>() / all
            }
            Self::Spikes { base_rate_per_s, .. } => *base_rate_per_s,
            Self::Clients { clients } => clients.iter().map(|client| client.rate_per_s).sum(),
            Self::ByClass { classes } => classes.iter().map(Self::mean_rate_per_s).sum(),
            Self::Trace(trace) => trace.found.as_ref().map_or(0.0, TraceFindings::mean_rate_per_s),
            Self::Users { .. } => 0.0,
        }
    }

    /// Returns the course of stages that the rate of a Poisson process follows. It begins with the first again after
    /// the last, unless that never ends. Empty for processes of other kinds.
    pub fn course(&self) -> Vec<RateStage> {
        match self {
            Self::Poisson { rate_per_s } => vec![RateStage::endless(*rate_per_s)],
            Self::Bursts { base_rate_per_s, burst_rate_per_s, base_s, burst_s } => {
                vec![RateStage::level(*base_s, *base_rate_per_s), RateStage::level(*burst_s, *burst_rate_per_s)]
            }
            Self::Stages { stages } => {
                let last = stages.last().map_or(0.0, |stage| stage.to_rate_per_s);
                stages.iter().copied().chain([RateStage::endless(last)]).collect()
            }
            Self::Spikes { base_rate_per_s, spikes } => Spike::stages(*base_rate_per_s, spikes),
            _ => Vec::new(),
        }
    }

    /// Highest rate of the pattern, requests per second; of classes the sum of theirs. 0 for closed-loop users.
    pub fn peak_rate_per_s(&self) -> f64 {
        let course = self.course();
        match self {
            Self::Markov { states } => states.iter().map(|state| state.rate_per_s).fold(0.0, f64::max),
            Self::Diurnal { rate_per_s, amplitude, .. } => rate_per_s * (1.0 + amplitude),
            Self::ByClass { classes } => classes.iter().map(Self::peak_rate_per_s).sum(),
            Self::Trace(trace) => trace.found.as_ref().map_or(0.0, |found| found.peak_per_s as f64),
            _ if course.is_empty() => self.mean_rate_per_s(),
            _ => {
                let highest = |stage: &RateStage| stage.from_rate_per_s.max(stage.to_rate_per_s);
                course.iter().map(highest).fold(0.0, f64::max)
            }
        }
    }

    /// Expected requests in the first `until_s` seconds: the integral of the rate. For closed-loop users only their
    /// first requests.
    pub fn expected_arrivals(&self, until_s: f64) -> f64 {
        match self {
            Self::Bursts { base_rate_per_s, burst_rate_per_s, base_s, burst_s } => {
                let periods = (until_s / (base_s + burst_s)).floor();
                let rest = until_s - periods * (base_s + burst_s);
                base_rate_per_s * (periods * base_s + rest.min(*base_s))
                    + burst_rate_per_s * (periods * burst_s + (rest - base_s).max(0.0))
            }
            Self::Diurnal { rate_per_s, amplitude, period_s, phase_s } => {
                let cosine = |t: f64| libm::cos(TAU * ((t + phase_s) / period_s).fract());
                rate_per_s * (until_s + amplitude * period_s / TAU * (cosine(0.0) - cosine(until_s)))
            }
            Self::ByClass { classes } => classes.iter().map(|class| class.expected_arrivals(until_s)).sum(),
            Self::Trace(trace) => trace.found.as_ref().map_or(0.0, |found| found.arrivals_by(until_s)),
            Self::Users { users, ramp_s, .. } if until_s < *ramp_s => *users as f64 * until_s / ramp_s,
            Self::Users { users, .. } => *users as f64,
            Self::Stages { .. } | Self::Spikes { .. } => expected_of_stages(&self.course(), until_s),
            _ => self.mean_rate_per_s() * until_s,
        }
    }

    /// Expected requests between two moments, seconds of the run.
    pub fn expected_between(&self, from_s: f64, until_s: f64) -> f64 {
        self.expected_arrivals(until_s) - self.expected_arrivals(from_s)
    }

    /// Returns how the rate develops over a run. For several classes it is what all of them have in common.
    pub fn rate_profile(&self) -> RateProfile {
        match self {
            Self::Diurnal { period_s, .. } => RateProfile::Periodic(*period_s),
            Self::Markov { .. } | Self::Trace(_) => RateProfile::Changing,
            Self::ByClass { classes } => {
                let profiles = classes.iter().map(Self::rate_profile);
                profiles.fold(RateProfile::Level, |all, profile| match (all, profile) {
                    (RateProfile::Level, profile) => profile,
                    (all, profile) if profile == RateProfile::Level || profile == all => all,
                    _ => RateProfile::Changing,
                })
            }
            _ => match self.course().as_slice() {
                [] | [_] => RateProfile::Level,
                [.., last] if last.duration_s.is_infinite() => RateProfile::Changing,
                round => RateProfile::Periodic(round.iter().map(|stage| stage.duration_s).sum()),
            },
        }
    }

    /// Returns the rate and gap distribution of independent, identical gaps. The rate is requests per second; `None`
    /// for other processes.
    pub fn gaps(&self) -> Option<(f64, GapForm)> {
        match *self {
            Self::Gamma { rate_per_s, burstiness } => Some((rate_per_s, GapForm::Gamma(burstiness))),
            Self::Weibull { rate_per_s, shape } => Some((rate_per_s, GapForm::Weibull(shape))),
            _ => None,
        }
    }

    /// Returns the clients of a process of clients. Each has its rate and its gap distribution; `None` for other
    /// processes.
    pub fn clients(&self) -> Option<Vec<(f64, GapForm)>> {
        match self {
            Self::Clients { clients } => {
                Some(clients.iter().map(|client| (client.rate_per_s, client.form())).collect())
            }
            Self::Population { rate_per_s, clients, rates, cv, gaps } => {
                let form = GapFamily::with_cv(*gaps, *cv);
                Some(rates.rates(*rate_per_s, *clients).into_iter().map(|rate| (rate, form)).collect())
            }
            _ => None,
        }
    }

    /// Returns the pattern with every rate multiplied by one factor. The mean rate becomes `rate_per_s`. A trace and
    /// closed-loop users stay unchanged.
    #[must_use]
    pub fn with_mean_rate(mut self, rate_per_s: f64) -> Self {
        let factor = rate_per_s / self.mean_rate_per_s();
        match &mut self {
            // Assigned, not multiplied: a product would lose the last bit.
            Self::Poisson { rate_per_s: rate }
            | Self::Constant { rate_per_s: rate }
            | Self::Gamma { rate_per_s: rate, .. }
            | Self::Weibull { rate_per_s: rate, .. }
            | Self::Diurnal { rate_per_s: rate, .. }
            | Self::Population { rate_per_s: rate, .. } => *rate = rate_per_s,
            Self::Bursts { base_rate_per_s, burst_rate_per_s, .. } => {
                *base_rate_per_s *= factor;
                *burst_rate_per_s *= factor;
            }
            Self::Stages { stages } => {
                for stage in stages {
                    stage.from_rate_per_s *= factor;
                    stage.to_rate_per_s *= factor;
                }
            }
            Self::Markov { states } => {
                for state in states {
                    state.rate_per_s *= factor;
                }
            }
            Self::Spikes { base_rate_per_s, spikes } => {
                *base_rate_per_s = rate_per_s;
                for spike in spikes {
                    spike.rate_per_s *= factor;
                }
            }
            Self::Clients { clients } => {
                for client in clients {
                    client.rate_per_s *= factor;
                }
            }
            Self::ByClass { classes } => {
                for class in classes {
                    let rate = class.mean_rate_per_s() * factor;
                    *class = class.clone().with_mean_rate(rate);
                }
            }
            // Traces have their own scales; users have no rate to multiply.
            Self::Trace(_) | Self::Users { .. } => {}
        }
        self
    }
}

/// Expected arrivals of stages of which the last never ends.
fn expected_of_stages(stages: &[RateStage], until_s: f64) -> f64 {
    let mut left = until_s;
    let mut arrivals = 0.0;
    for stage in stages {
        let spent = left.min(stage.duration_s);
        let slope = (stage.to_rate_per_s - stage.from_rate_per_s) / stage.duration_s;
        arrivals += spent * (stage.from_rate_per_s + slope * spent / 2.0);
        left -= spent;
    }
    arrivals
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::arrival::clients::{Client, RateSpread};
    use crate::workload::arrival::stages::RateState;

    fn bursts() -> ArrivalPattern {
        ArrivalPattern::Bursts { base_rate_per_s: 2.0, burst_rate_per_s: 20.0, base_s: 8.0, burst_s: 2.0 }
    }

    fn stages() -> ArrivalPattern {
        let stage =
            |duration_s, from_rate_per_s, to_rate_per_s| RateStage { duration_s, from_rate_per_s, to_rate_per_s };
        ArrivalPattern::Stages { stages: vec![stage(10.0, 0.0, 10.0), stage(30.0, 10.0, 10.0), stage(5.0, 30.0, 10.0)] }
    }

    #[test]
    fn expectations_are_the_area_under_the_rate() {
        // By hand: 8 s at 2/s and 2 s at 20/s a period.
        for (until, arrivals) in [(0.0, 0.0), (4.0, 8.0), (8.0, 16.0), (9.0, 36.0), (10.0, 56.0), (25.0, 122.0)] {
            assert_eq!(bursts().expected_arrivals(until), arrivals, "bursts until {until}");
        }
        assert_eq!((bursts().mean_rate_per_s(), bursts().peak_rate_per_s()), (5.6, 20.0));
        // By hand: a ramp's area is a triangle's or a trapezium's; after 45 s the rate stays at 10/s.
        for (until, arrivals) in
            [(5.0, 12.5), (10.0, 50.0), (40.0, 350.0), (42.5, 350.0 + 62.5), (45.0, 450.0), (55.0, 550.0)]
        {
            assert_eq!(stages().expected_arrivals(until), arrivals, "stages until {until}");
        }
        assert_eq!((stages().mean_rate_per_s(), stages().peak_rate_per_s()), (10.0, 30.0));
    }

    #[test]
    fn a_diurnal_rate_has_its_integral_and_its_mean() {
        let diurnal = ArrivalPattern::Diurnal { rate_per_s: 10.0, amplitude: 0.8, period_s: 60.0, phase_s: 7.0 };
        // scipy 1.17.1: quad(lambda t: 10 * (1 + .8 * sin(2 * pi * (t + 7) / 60)), 0, T).
        for (until, arrivals) in [
            (5.0, 83.164_923_321_784_57),
            (30.0, 413.544_165_511_575_5),
            (60.0, 600.0),
            (100.0, 1_040.888_799_562_072_6),
        ] {
            let found = diurnal.expected_arrivals(until);
            assert!((found / arrivals - 1.0).abs() < 1e-12, "until {until}: {found}, not {arrivals}");
        }
        assert_eq!((diurnal.mean_rate_per_s(), diurnal.peak_rate_per_s()), (10.0, 18.0));
    }

    #[test]
    fn spikes_stand_on_their_base() {
        let spike = |at_s, rise_s, fall_s| Spike { at_s, rate_per_s: 50.0, rise_s, hold_s: 2.0, fall_s };
        let spikes = vec![spike(10.0, 4.0, 5.0), spike(30.0, 0.0, 0.0)];
        let pattern = ArrivalPattern::Spikes { base_rate_per_s: 10.0, spikes };
        // By hand: 10/s all along, and 40/s more: half of it for 4 s, all for 2 s, half for 5 s; then all for 2 s.
        for (until, arrivals) in
            [(10.0, 100.0), (14.0, 220.0), (16.0, 320.0), (21.0, 470.0), (30.0, 560.0), (31.0, 610.0), (42.0, 760.0)]
        {
            assert_eq!(pattern.expected_arrivals(until), arrivals, "until {until}");
        }
        assert_eq!((pattern.mean_rate_per_s(), pattern.peak_rate_per_s()), (10.0, 50.0));
        let doubled = pattern.with_mean_rate(20.0);
        assert_eq!((doubled.mean_rate_per_s(), doubled.peak_rate_per_s()), (20.0, 100.0));
    }

    #[test]
    fn superposed_rates_add_up() {
        let state = |rate_per_s, mean_s| RateState { rate_per_s, mean_s };
        let markov = ArrivalPattern::Markov { states: vec![state(2.0, 30.0), state(20.0, 10.0)] };
        assert_eq!((markov.mean_rate_per_s(), markov.peak_rate_per_s()), (6.5, 20.0));
        assert_eq!(markov.expected_arrivals(8.0), 52.0);
        let client = |rate_per_s| Client { rate_per_s, cv: 2.0, gaps: GapFamily::Weibull };
        let clients = ArrivalPattern::Clients { clients: vec![client(1.0), client(2.5)] };
        let population = ArrivalPattern::Population {
            rate_per_s: 4.0,
            clients: 20,
            rates: RateSpread::LogNormal { sigma: 1.0 },
            cv: 3.0,
            gaps: GapFamily::Gamma,
        };
        let shared: f64 = population.clients().unwrap().iter().map(|client| client.0).sum();
        assert!((shared - 4.0).abs() < 1e-12);
        assert_eq!(clients.rate_profile(), RateProfile::Level);
        let both = ArrivalPattern::ByClass { classes: vec![markov, clients, population] };
        assert_eq!(
            (both.mean_rate_per_s(), both.peak_rate_per_s(), both.rate_profile()),
            (14.0, 27.5, RateProfile::Changing)
        );
        let ArrivalPattern::ByClass { classes } = both.with_mean_rate(7.0) else { panic!("classes stay classes") };
        let means: Vec<f64> = classes.iter().map(ArrivalPattern::mean_rate_per_s).collect();
        assert_eq!(means, [3.25, 1.75, 2.0]);
    }

    #[test]
    fn classes_of_one_period_have_it_together() {
        let course = |classes: &[ArrivalPattern]| ArrivalPattern::ByClass { classes: classes.to_vec() }.rate_profile();
        let poisson = ArrivalPattern::Poisson { rate_per_s: 1.0 };
        assert_eq!(course(&[poisson.clone(), poisson.clone()]), RateProfile::Level);
        assert_eq!(course(&[poisson.clone(), bursts(), poisson, bursts()]), RateProfile::Periodic(10.0));
        assert_eq!(course(&[bursts(), stages()]), RateProfile::Changing);
    }

    #[test]
    fn scaling_keeps_the_shape_and_sets_the_mean() {
        let ArrivalPattern::Bursts { base_rate_per_s, burst_rate_per_s, base_s, burst_s } =
            bursts().with_mean_rate(11.2)
        else {
            panic!("bursts stay bursts")
        };
        assert_eq!((base_rate_per_s, burst_rate_per_s, base_s, burst_s), (4.0, 40.0, 8.0, 2.0));
        assert_eq!(stages().with_mean_rate(2.5).mean_rate_per_s(), 2.5);
        let gamma = ArrivalPattern::Gamma { rate_per_s: 3.0, burstiness: 0.5 };
        assert_eq!(gamma.with_mean_rate(0.1), ArrivalPattern::Gamma { rate_per_s: 0.1, burstiness: 0.5 });
    }
}
