//! Independent gaps, one after the other.

use crate::clock::Timestamp;
use crate::random::RandomStream;
use crate::workload::GapForm;

/// Beginning of the first gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FirstGap {
    /// Gap that begins with the run, as if a request had arrived at its zero.
    WithTheRun,
    /// Gap that begins long before: the first arrival ends a gap in progress. So the expected arrivals are rate × time
    /// from the first second, and many clients do not start together.
    LongBefore,
}

/// The moments of a renewal process.
#[derive(Clone, Debug)]
pub(super) struct Renewal {
    rate_per_s: f64,
    form: GapForm,
    /// Beginning of the next gap.
    beginning: FirstGap,
    seconds: f64,
    stream: RandomStream,
}

impl Renewal {
    pub(super) fn new(rate_per_s: f64, form: GapForm, beginning: FirstGap, stream: RandomStream) -> Self {
        Self { rate_per_s, form, beginning, seconds: 0.0, stream }
    }

    /// Draws a gap.
    ///
    /// Weibull by the inverse of its distribution function, scale·E^(1/shape) with E exponential.
    fn gap(&mut self) -> f64 {
        match self.form {
            GapForm::Gamma(shape) => self.stream.gamma(shape) / (shape * self.rate_per_s),
            GapForm::Weibull(shape) => {
                weibull_scale(shape, self.rate_per_s) * libm::pow(self.stream.exponential(), 1.0 / shape)
            }
        }
    }

    /// Draws the rest of a gap in progress at a moment independent of the process. It is a uniform share of a gap drawn
    /// in proportion to its length (Cox, *Renewal Theory*, 1962, section 5.4). For gamma such a gap has the shape plus
    /// one; for Weibull (gap/scale)^shape is gamma with shape 1 + 1/shape.
    fn rest_of_gap(&mut self) -> f64 {
        let gap = match self.form {
            GapForm::Gamma(shape) => self.stream.gamma(shape + 1.0) / (shape * self.rate_per_s),
            GapForm::Weibull(shape) => {
                let power = self.stream.gamma(1.0 + 1.0 / shape);
                weibull_scale(shape, self.rate_per_s) * libm::pow(power, 1.0 / shape)
            }
        };
        gap * self.stream.open_unit()
    }
}

impl Iterator for Renewal {
    type Item = Timestamp;

    fn next(&mut self) -> Option<Timestamp> {
        self.seconds += match self.beginning {
            FirstGap::WithTheRun => self.gap(),
            FirstGap::LongBefore => self.rest_of_gap(),
        };
        self.beginning = FirstGap::WithTheRun;
        self.seconds.is_finite().then(|| Timestamp::from_secs_f64(self.seconds))
    }
}

/// The Weibull scale for which gaps have the mean 1/rate.
fn weibull_scale(shape: f64, rate_per_s: f64) -> f64 {
    1.0 / (rate_per_s * libm::tgamma(1.0 + 1.0 / shape))
}
