//! How many requests an arrival pattern brings, and the same pattern with more or fewer of them.

use super::{ArrivalPattern, TraceFindings};

impl ArrivalPattern {
    /// Mean rate, requests per second: of bursts over one period, of stages over all of them, of a trace over its
    /// slice (0 before the file was read).
    #[must_use]
    pub fn mean_rate_per_s(&self) -> f64 {
        match self {
            Self::Poisson { rate_per_s } | Self::Constant { rate_per_s } | Self::Gamma { rate_per_s, .. } => {
                *rate_per_s
            }
            Self::Bursts { base_s, burst_s, .. } => {
                let period = base_s + burst_s;
                self.expected_arrivals(period) / period
            }
            Self::Stages { stages } => {
                let all: f64 = stages.iter().map(|stage| stage.duration_s).sum();
                self.expected_arrivals(all) / all
            }
            Self::Trace(trace) => trace.found.as_ref().map_or(0.0, TraceFindings::mean_rate_per_s),
        }
    }

    /// The highest rate that the pattern reaches, requests per second.
    #[must_use]
    pub fn peak_rate_per_s(&self) -> f64 {
        match self {
            Self::Poisson { rate_per_s } | Self::Constant { rate_per_s } | Self::Gamma { rate_per_s, .. } => {
                *rate_per_s
            }
            Self::Bursts { base_rate_per_s, burst_rate_per_s, .. } => base_rate_per_s.max(*burst_rate_per_s),
            Self::Stages { stages } => {
                let peak = |stage: &super::Stage| stage.from_rate_per_s.max(stage.to_rate_per_s);
                stages.iter().map(peak).fold(0.0, f64::max)
            }
            Self::Trace(trace) => trace.found.as_ref().map_or(0.0, |found| found.peak_per_s as f64),
        }
    }

    /// Requests expected in the first `until_s` seconds: the integral of the rate.
    #[must_use]
    pub fn expected_arrivals(&self, until_s: f64) -> f64 {
        match self {
            Self::Poisson { rate_per_s } | Self::Constant { rate_per_s } | Self::Gamma { rate_per_s, .. } => {
                rate_per_s * until_s
            }
            Self::Bursts { base_rate_per_s, burst_rate_per_s, base_s, burst_s } => {
                let periods = (until_s / (base_s + burst_s)).floor();
                let rest = until_s - periods * (base_s + burst_s);
                base_rate_per_s * (periods * base_s + rest.min(*base_s))
                    + burst_rate_per_s * (periods * burst_s + (rest - base_s).max(0.0))
            }
            Self::Stages { stages } => {
                let mut left = until_s;
                let mut arrivals = 0.0;
                for stage in stages {
                    let spent = left.min(stage.duration_s);
                    let slope = (stage.to_rate_per_s - stage.from_rate_per_s) / stage.duration_s;
                    arrivals += spent * (stage.from_rate_per_s + slope * spent / 2.0);
                    left -= spent;
                }
                arrivals + left * stages.last().map_or(0.0, |last| last.to_rate_per_s)
            }
            Self::Trace(trace) => trace.found.as_ref().map_or(0.0, |found| found.arrivals_by(until_s)),
        }
    }

    /// The same pattern with every rate multiplied, so that the mean rate becomes `rate_per_s`; a trace stays as it is.
    #[must_use]
    pub fn with_mean_rate(mut self, rate_per_s: f64) -> Self {
        let factor = rate_per_s / self.mean_rate_per_s();
        match &mut self {
            // Given as it is: a product would lose the last bit.
            Self::Poisson { rate_per_s: rate }
            | Self::Constant { rate_per_s: rate }
            | Self::Gamma { rate_per_s: rate, .. } => *rate = rate_per_s,
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
            // A trace has its own ways of being made denser, each with its own meaning.
            Self::Trace(_) => {}
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::super::Stage;
    use super::*;

    fn bursts() -> ArrivalPattern {
        ArrivalPattern::Bursts { base_rate_per_s: 2.0, burst_rate_per_s: 20.0, base_s: 8.0, burst_s: 2.0 }
    }

    fn stages() -> ArrivalPattern {
        let stage =
            |duration_s, from_rate_per_s, to_rate_per_s| Stage { duration_s, from_rate_per_s, to_rate_per_s };
        ArrivalPattern::Stages {
            stages: vec![stage(10.0, 0.0, 10.0), stage(30.0, 10.0, 10.0), stage(5.0, 30.0, 10.0)],
        }
    }

    #[test]
    fn expectations_are_the_area_under_the_rate() {
        // By hand: 8 s at 2/s and 2 s at 20/s a period.
        for (until, arrivals) in
            [(0.0, 0.0), (4.0, 8.0), (8.0, 16.0), (9.0, 36.0), (10.0, 56.0), (25.0, 122.0)]
        {
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
