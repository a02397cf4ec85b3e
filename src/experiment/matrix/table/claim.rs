//! Claims: what a hypothesis says about the figures, in a form that can be tested.

use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::analysis::{Comparison, FigureKey, Objective};
use crate::workload::reading::SpecValue;

/// A claim about a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The text as typed.
    pub text: String,
    /// Its meaning.
    pub kind: ClaimKind,
}

/// The meaning of a claim.
#[derive(Clone, Debug, PartialEq)]
pub enum ClaimKind {
    /// A bound on a figure.
    Bound(Objective),
    /// Bounds on the ratio to another row's figure. They are such as below half of it, or about equal to it.
    Ratio {
        /// The figure.
        subject: FigureKey,
        /// All of them hold.
        bounds: Vec<(Comparison, f64)>,
        /// The other row.
        other: Reference,
    },
}

/// Another row, or the same row under another variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The row; absent: the same.
    pub row: Option<String>,
    /// The variant; absent: the same.
    pub variant: Option<String>,
}

/// A text that is not a claim.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is {text:?}, which claims nothing that can be tested: {problem}\n    {}", ClaimError::GRAMMAR)]
pub struct ClaimError {
    text: String,
    problem: String,
}

impl ClaimError {
    /// Grammar of a claim, by examples.
    const GRAMMAR: &'static str = "a claim is an objective, such as `p95 ttft < 500ms`, or names another row:\n    \
        `p50 ttft > 1.5 x A`, `p50 ttft < A`, `p50 tpot within 10% of A`,\n    \
        `p95 ttft < 0.8 x A@fast` (row A under the variant `fast`), `p95 ttft < 0.8 x @base` (this row under `base`)";
}

impl FromStr for Claim {
    type Err = ClaimError;

    fn from_str(text: &str) -> Result<Self, ClaimError> {
        let text = text.trim();
        let kind = parse(text).map_err(|problem| ClaimError { text: text.to_owned(), problem })?;
        Ok(Self { text: text.to_owned(), kind })
    }
}

fn parse(text: &str) -> Result<ClaimKind, String> {
    if let Some((figure, rest)) = text.split_once(" within ") {
        let (share, other) = rest.split_once('%').ok_or_else(|| format!("`within {rest}` has no percentage"))?;
        let other = other
            .trim_start()
            .strip_prefix("of ")
            .ok_or_else(|| format!("`within {rest}` names no row; write it like `within 10% of A`"))?;
        let share = positive(share)
            .filter(|percent| *percent < 100.0)
            .ok_or_else(|| format!("`{share}%` is not a percentage between 0 and 100"))?;
        let (subject, other) = (FigureKey::parse(figure.trim())?, Reference::parse(other)?);
        let share = share / 100.0;
        let bounds = vec![(Comparison::AtLeast, 1.0 - share), (Comparison::AtMost, 1.0 + share)];
        return Ok(ClaimKind::Ratio { subject, bounds, other });
    }
    let (figure, comparison, bound) = Comparison::split(text).ok_or("it has neither a comparison nor `within`")?;
    let Some((factor, other)) = multiple(bound)? else {
        let objective =
            text.parse::<Objective>().map_err(|error| format!("`{text}` is not an objective: {}", error.problem))?;
        return Ok(ClaimKind::Bound(objective));
    };
    let bounds = vec![(comparison, factor)];
    Ok(ClaimKind::Ratio { subject: FigureKey::parse(figure)?, bounds, other })
}

/// `1.5 x A`, `150% of A` or `A`; `None` for a bound.
fn multiple(text: &str) -> Result<Option<(f64, Reference)>, String> {
    let factor = |digits: &str| positive(digits).ok_or_else(|| format!("`{}` is not a factor above 0", digits.trim()));
    if let Some((percent, other)) = text.split_once("% of ") {
        return Ok(Some((factor(percent)? / 100.0, Reference::parse(other)?)));
    }
    if let Some((digits, other)) = text.split_once(" x ").or_else(|| text.split_once('×')) {
        return Ok(Some((factor(digits)?, Reference::parse(other)?)));
    }
    if text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '@') {
        return Ok(Some((1.0, Reference::parse(text)?)));
    }
    Ok(None)
}

fn positive(digits: &str) -> Option<f64> {
    digits.trim().parse::<f64>().ok().filter(|value| value.is_finite() && *value > 0.0)
}

impl Reference {
    fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let name = |name: &str| {
            let safe = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
            if safe {
                Ok((!name.is_empty()).then(|| name.to_owned()))
            } else {
                Err(format!("`{text}` is not the name of a row"))
            }
        };
        let (row, variant) = match text.split_once('@') {
            Some((row, variant)) => (name(row)?, name(variant)?),
            None => (name(text)?, None),
        };
        if row.is_none() && variant.is_none() {
            return Err("it names no row".to_owned());
        }
        Ok(Self { row, variant })
    }
}

impl Claim {
    /// Reads one.
    pub(super) fn read(place: SpecValue<'_>) -> Option<Self> {
        let text = place.text()?;
        text.parse().map_err(|error: ClaimError| place.complain(&error.to_string())).ok()
    }

    /// The other row that it names.
    pub fn other(&self) -> Option<&Reference> {
        match &self.kind {
            ClaimKind::Bound(_) => None,
            ClaimKind::Ratio { other, .. } => Some(other),
        }
    }
}

impl Serialize for Claim {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}
