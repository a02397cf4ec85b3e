//! Prefixes that requests of a class share, such as a few system prompts.

use serde::Serialize;

use crate::workload::lengths::distribution::Distribution;
use crate::workload::lengths::weights::SKEW;
use crate::workload::reading::allowed::Allowed;
use crate::workload::reading::value::SpecValue;

/// Most prefixes of a class.
const MOST: f64 = 100_000.0;

/// Texts of which each request of a class begins with one; its own text of `input_tokens` follows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SharedPrefixes {
    /// How many there are.
    pub count: u32,
    /// Tokens of each prefix, drawn once per prefix; a number in a file means a constant.
    pub tokens: Distribution,
    /// Their popularity (Zipf): the k-th is chosen with a probability proportional to k^−`zipf`. 0, the default,
    /// makes all equal.
    pub zipf: f64,
    /// Share of the prefixes, the most popular first, that are sent once before the run, so that a prefix cache holds
    /// them. 0 by default: all are new to the server, since other runs have other texts.
    pub warm: f64,
}

impl SharedPrefixes {
    pub(crate) fn read(value: SpecValue<'_>) -> Option<Self> {
        const COUNT: Allowed = Allowed::from(1.0, MOST);
        const SHARE: Allowed = Allowed::from(0.0, 1.0);
        value.table("shared prefixes", |fields| {
            let count = fields.required("count", |value| value.whole(COUNT));
            let tokens = fields.required("tokens", Distribution::read_or_constant);
            let zipf = fields.optional("zipf", 0.0, |value| value.number(SKEW));
            let warm = fields.optional("warm", 0.0, |value| value.number(SHARE));
            Some(Self { count: u32::try_from(count?).ok()?, tokens: tokens?, zipf: zipf?, warm: warm? })
        })
    }

    /// Number of prefixes, the most popular first, that are sent once before the run.
    pub fn warmed(&self) -> u32 {
        (self.warm * f64::from(self.count)).round() as u32
    }
}
