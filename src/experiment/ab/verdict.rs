//! Verdicts on one metric, and on all together.

use serde::Serialize;

/// The verdict on one metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AbVerdict {
    /// Significantly better than A.
    Better,
    /// Significantly worse.
    Worse,
    /// Within the margin: no difference that matters.
    Equivalent,
    /// The rounds do not decide.
    Inconclusive,
}

impl AbVerdict {
    /// The verdict in words.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Equivalent => "equivalent",
            Self::Inconclusive => "inconclusive",
        }
    }
}

/// The verdict on all metrics together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AbOverall {
    /// Better by some metric, worse by none, without more failures.
    Better,
    /// Worse by some metric, better by none.
    Worse,
    /// Better by one metric, worse by another: a trade-off for the user to weigh.
    Mixed,
    /// Equivalent by every metric.
    Equivalent,
    /// The rounds do not decide.
    Inconclusive,
    /// Too few rounds have figures that can be trusted.
    Invalid,
    /// Not all rounds ran: stopping early inflates false positives.
    Unfinished,
}

impl AbOverall {
    /// Combines `verdicts`.
    pub fn of(verdicts: &[AbVerdict]) -> Self {
        let any = |verdict| verdicts.contains(&verdict);
        match (any(AbVerdict::Better), any(AbVerdict::Worse)) {
            (true, true) => Self::Mixed,
            (true, false) => Self::Better,
            (false, true) => Self::Worse,
            (false, false) if !verdicts.is_empty() && !any(AbVerdict::Inconclusive) => Self::Equivalent,
            (false, false) => Self::Inconclusive,
        }
    }

    /// The verdict in words.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Mixed => "mixed",
            Self::Equivalent => "equivalent",
            Self::Inconclusive => "inconclusive",
            Self::Invalid => "invalid",
            Self::Unfinished => "unfinished",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_inconclusive_metric_takes_equivalence_away_and_no_difference() {
        let [better, worse, equivalent, inconclusive] =
            [AbVerdict::Better, AbVerdict::Worse, AbVerdict::Equivalent, AbVerdict::Inconclusive];
        for (verdicts, overall) in [
            (vec![equivalent, equivalent], AbOverall::Equivalent),
            (vec![equivalent, inconclusive], AbOverall::Inconclusive),
            (vec![better, inconclusive], AbOverall::Better),
            (vec![worse, equivalent], AbOverall::Worse),
            (vec![better, worse, equivalent], AbOverall::Mixed),
            (vec![], AbOverall::Inconclusive),
        ] {
            assert_eq!(AbOverall::of(&verdicts), overall, "{verdicts:?}");
        }
    }
}
