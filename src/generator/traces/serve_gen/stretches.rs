//! The stretches of time in which a client sends at a constant rate.

use crate::generator::traces::requests::BadLine;
use crate::workload::GapForm;

/// Most requests per second of one client.
const MOST_PER_S: f64 = 1_000_000.0;
/// Gap shapes that are drawn; others are replaced by the nearest. At the upper end gaps vary by a thousandth: they
/// are practically equal.
const SHAPES: (f64, f64) = (0.009, 1e6);
const COLUMNS: [&str; 6] = ["t", "rate", "cv", "pattern", "shape", "scale"];

/// A stretch of time, until the next one begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PoolStretch {
    /// Its beginning, seconds.
    pub(super) at_s: u32,
    /// Requests per second and their gap distribution; absent where the client is silent.
    pub(super) sent: Option<(f64, GapForm)>,
    /// Whether its shape was replaced.
    pub(super) is_nearest: bool,
}

impl PoolStretch {
    /// A silent stretch.
    pub(super) const fn silent(at_s: u32) -> Self {
        Self { at_s, sent: None, is_nearest: false }
    }

    /// The silent stretch of a line of which only the beginning is usable.
    pub(super) fn silent_of(line: &str, after_s: Option<u32>) -> Option<Self> {
        let at_s = line.split(',').next()?.trim().parse().ok()?;
        after_s.is_none_or(|after| at_s > after).then(|| Self::silent(at_s))
    }

    /// Reads a line; `after_s` is the beginning of the stretch before.
    pub(super) fn read(line: &str, after_s: Option<u32>) -> Result<Self, BadLine> {
        let columns: Vec<&str> = line.split(',').map(str::trim).collect();
        let column = |place: usize| {
            columns
                .get(place)
                .copied()
                .ok_or_else(|| bad(place, format!("the line has only {} columns", columns.len())))
        };
        let number = |place: usize| {
            let text = column(place)?;
            let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
            number.ok_or_else(|| bad(place, format!("{text:?} is not a number")))
        };
        let text = column(0)?;
        let at_s = text.parse().map_err(|_| bad(0, format!("{text:?} is not a whole number of seconds")))?;
        if after_s.is_some_and(|after| at_s <= after) {
            return Err(bad(0, format!("{at_s} s is not after the line before")));
        }
        let (rate, pattern) = (number(1)?, column(3)?);
        if !(0.0..=MOST_PER_S).contains(&rate) {
            return Err(bad(1, format!("{rate} is not a rate from 0 to {MOST_PER_S}")));
        }
        if pattern.is_empty() || rate == 0.0 {
            return Ok(Self::silent(at_s));
        }
        let shape = number(4)?;
        if shape <= 0.0 {
            return Err(bad(4, format!("{shape} is not a shape above 0")));
        }
        let drawn = shape.clamp(SHAPES.0, SHAPES.1);
        let form = match pattern {
            "Gamma" => GapForm::Gamma(drawn),
            "Weibull" => GapForm::Weibull(drawn),
            other => return Err(bad(3, format!("{other:?} is neither Gamma nor Weibull"))),
        };
        let is_nearest = !(SHAPES.0..=SHAPES.1).contains(&shape);
        Ok(Self { at_s, sent: Some((rate, form)), is_nearest })
    }
}

fn bad(place: usize, cause: String) -> BadLine {
    let name = COLUMNS.get(place).copied().unwrap_or_default();
    BadLine { place: format!("column {} (`{name}`)", place + 1), cause }
}
