//! A figure with the interval that says how sure it is.

use serde::Serialize;

/// The confidence of every interval here.
pub const CONFIDENCE: f64 = 0.95;

/// A figure and its two-sided 95 % interval, in the unit of the figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Estimate {
    /// The figure.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl Estimate {
    /// `value` ± `half_width`.
    pub fn around(value: f64, half_width: f64) -> Self {
        Self { value, low: value - half_width, high: value + half_width }
    }

    /// Half the interval's length.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }
}
