//! What the files of vLLM and SGLang have in common: SGLang's client grew out of vLLM's.

use crate::analysis::{LengthRange, Metric};
use crate::foreign::fields::{ResultFields, whole};
use crate::foreign::figures::{ForeignAnswer, ForeignFigures, ForeignLatency, ReportedFigures, tpot_ms};
use crate::foreign::run::ForeignRun;

/// Tokens of the prompts and of the answers of the requests that succeeded, where the file lists them.
pub(crate) fn lengths(fields: &ResultFields<'_>) -> [Option<LengthRange>; 2] {
    let errors = errors(fields).unwrap_or_default();
    ["input_lens", "output_lens"].map(|key| {
        let all = fields.any(key)?.as_array().filter(|all| all.len() == errors.len())?;
        let succeeded = all.iter().zip(&errors).filter(|(_, error)| error.is_empty());
        LengthRange::from_lengths(succeeded.filter_map(|(tokens, _)| whole(tokens)))
    })
}

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
    pub(crate) fn read(fields: &ResultFields<'a>) -> Option<Self> {
        let (errors, ttfts) = (errors(fields), fields.times("ttfts"));
        let (gaps, tokens) =
            (fields.lists_of_times("itls"), fields.list("output_lens", "a whole number", whole));
        let stored = Self { errors: errors?, ttfts: ttfts?, gaps: gaps?, tokens: tokens? };
        let lengths = [stored.ttfts.len(), stored.gaps.len(), stored.tokens.len()];
        lengths.iter().all(|&length| stored.fits(fields, length)).then_some(stored)
    }

    /// Whether a list has one item per request; otherwise it is a problem.
    pub(crate) fn fits(&self, fields: &ResultFields<'_>, length: usize) -> bool {
        let fits = length == self.errors.len();
        if !fits {
            fields.complain("its lists of requests are not of one length".to_owned());
        }
        fits
    }

    /// The indices of the successful requests, in order of sending.
    pub(crate) fn succeeded(&self) -> impl Iterator<Item = usize> {
        (0..self.errors.len()).filter(|&i| self.errors[i].is_empty())
    }

    /// An answer with these times, seconds, and the gaps and tokens at its index.
    pub(crate) fn answer(&self, i: usize, ttft: f64, end: f64) -> ForeignAnswer {
        let (ttft_ms, e2e_ms) = (Some(ttft * 1e3), Some(end * 1e3));
        let tpot_ms = tpot_ms(e2e_ms, ttft_ms, Some(self.tokens[i]));
        let gaps_ms = self.gaps[i].iter().map(|gap| gap * 1e3).collect();
        ForeignAnswer { ttft_ms, e2e_ms, tpot_ms, gaps_ms }
    }
}

/// The error of each request, empty where it succeeded.
pub(crate) fn errors<'a>(fields: &ResultFields<'a>) -> Option<Vec<&'a str>> {
    fields.list("errors", "a text", serde_json::Value::as_str)
}

/// Adds the figures that the tool computed, with numpy's default percentiles. Both tools write 0 for no samples: such
/// figures are refused.
pub(crate) fn reported(fields: &ResultFields<'_>, names: &[(Metric, &'static str)], run: &mut ForeignRun) {
    for &(metric, theirs) in names {
        // Answers of one token have no TPOT, and the number of chunks is unknown.
        let one_each = matches!(metric, Metric::TtftFromSend | Metric::E2eFromSend);
        let key = |statistic: &str| format!("{statistic}_{theirs}_ms");
        match ReportedFigures::read(fields, STATISTICS, key, 1.0, one_each.then_some(run.requests.completed))
        {
            Some(reported) if !one_each && reported.is_zero() => {
                run.refuse(theirs, "no sample: the zeros are what is written for none");
            }
            Some(reported) => {
                let figures = ForeignFigures::Reported(reported);
                run.latency.push(ForeignLatency { metric, theirs, figures });
            }
            None => {}
        }
    }
}
