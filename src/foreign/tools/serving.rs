//! What the files of vLLM and SGLang have in common: SGLang's client grew out of vLLM's.

use crate::analysis::Metric;
use crate::foreign::answer::ForeignAnswer;
use crate::foreign::fields::{FieldProblem, ResultFields};
use crate::foreign::figures::{ForeignFigures, ForeignLatency, ReportedFigures};
use crate::foreign::unmatched::UnmatchedFigure;

/// Their statistics, in the order of [`ReportedFigures::read`].
const STATISTICS: [&str; 8] = ["mean", "min", "median", "p90", "p95", "p99", "p99.9", "max"];

/// The lists of a file with one item per request; times in seconds.
pub(crate) struct StoredRequests<'a> {
    pub(crate) errors: Vec<&'a str>,
    pub(crate) ttfts: Vec<f64>,
    pub(crate) gaps: Vec<Vec<f64>>,
    pub(crate) tokens: Vec<u64>,
}

impl<'a> StoredRequests<'a> {
    /// Reads the lists; `None` where the file does not have them.
    pub(crate) fn read(fields: &ResultFields<'a>) -> Result<Option<Self>, FieldProblem> {
        let (Some(errors), Some(ttfts), Some(gaps), Some(tokens)) = (
            errors(fields)?,
            fields.times("ttfts")?,
            fields.lists_of_times("itls")?,
            fields.list("output_lens", "a whole number", crate::foreign::fields::whole)?,
        ) else {
            return Ok(None);
        };
        let stored = Self { errors, ttfts, gaps, tokens };
        [stored.ttfts.len(), stored.gaps.len(), stored.tokens.len()]
            .into_iter()
            .try_for_each(|n| stored.fits(n))?;
        Ok(Some(stored))
    }

    /// Refuses a list of another length.
    pub(crate) fn fits(&self, length: usize) -> Result<(), FieldProblem> {
        if length == self.errors.len() {
            Ok(())
        } else {
            Err(FieldProblem("its lists of requests are not of one length".to_owned()))
        }
    }

    /// The indices of the successful requests, in order of sending.
    pub(crate) fn succeeded(&self) -> impl Iterator<Item = usize> {
        (0..self.errors.len()).filter(|&i| self.errors[i].is_empty())
    }

    /// An answer with these times, seconds, and the gaps and tokens at its index.
    pub(crate) fn answer(&self, i: usize, ttft: f64, end: f64) -> ForeignAnswer {
        let (ttft_ms, e2e_ms) = (Some(ttft * 1e3), Some(end * 1e3));
        let tpot_ms = crate::foreign::answer::tpot_ms(e2e_ms, ttft_ms, Some(self.tokens[i]));
        let gaps_ms = self.gaps[i].iter().map(|gap| gap * 1e3).collect();
        ForeignAnswer { ttft_ms, e2e_ms, tpot_ms, gaps_ms }
    }
}

/// The error of each request, empty where it succeeded.
pub(crate) fn errors<'a>(fields: &ResultFields<'a>) -> Result<Option<Vec<&'a str>>, FieldProblem> {
    fields.list("errors", "a text", serde_json::Value::as_str)
}

/// The figures that the tool computed, with numpy's default percentiles. Both tools write 0 for no samples: such
/// figures are refused.
pub(crate) fn reported(
    fields: &ResultFields<'_>,
    completed: u64,
    names: &[(Metric, &'static str)],
    refused: &mut Vec<UnmatchedFigure>,
) -> Result<Vec<ForeignLatency>, FieldProblem> {
    let mut all = Vec::new();
    for &(metric, theirs) in names {
        // Answers of one token have no TPOT, and the number of chunks is unknown.
        let one_each = matches!(metric, Metric::TtftFromSend | Metric::E2eFromSend);
        let key = |statistic: &str| format!("{statistic}_{theirs}_ms");
        match ReportedFigures::read(fields, STATISTICS, key, 1.0, one_each.then_some(completed))? {
            Some(reported) if !one_each && reported.is_zero() => {
                refused.push(UnmatchedFigure {
                    name: theirs,
                    reason: "no sample: the zeros are what is written for none",
                });
            }
            Some(reported) => {
                all.push(ForeignLatency { metric, theirs, figures: ForeignFigures::Reported(reported) });
            }
            None => {}
        }
    }
    Ok(all)
}
