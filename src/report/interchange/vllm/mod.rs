//! A run as the result file of `vllm bench serve --save-result --save-detailed`, key by key as vLLM 0.32 writes it.

mod figures;
mod output;
mod setting;

use std::io;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use self::figures::figures;
use self::output::RequestOutput;
use self::setting::setting;
use crate::record::{Phase, WorkKind};
use crate::report::data::write_line;
use crate::report::run_report::{Out, RunReport};

/// Writes vLLM's result file. It has what was asked, totals and statistics, then one list a detail with an entry for
/// each request of the window, in the order of the plan.
///
/// Every key has vLLM's meaning (`vllm/benchmarks/serve.py`, `benchmark` and `calculate_metrics`): times are
/// seconds, the statistics milliseconds; latencies count from sending, over the requests that succeeded;
/// rates are those of the report: of a run of so many requests totals over the time from the window's first
/// moment to the last end, else what came in the window; the standard deviation divides by n.
/// `generated_texts` are empty, for answers are not kept. Where no request succeeded a figure is null, and
/// not 0 as there.
pub(crate) fn vllm_json(report: RunReport<'_>, out: Out<'_>) -> io::Result<()> {
    let measured = report.log.records.iter().filter(|record| record.phase == Phase::Measured);
    // All of them are in memory at once, for most keys are lists over them.
    let records: Vec<_> = measured.collect();
    let mut outputs: Vec<_> = records.iter().map(|record| RequestOutput { record }).collect();
    outputs.sort_unstable_by_key(|output| output.record.index);
    let mut head = setting(report, outputs.len());
    head.extend(figures(report, &outputs));
    for (detail, _) in DETAILS {
        head.remove(detail);
    }
    Ok(write_line(out, &File { head, outputs })?)
}

/// The lists, by their keys, and what they hold of a request. No label of a person takes their place.
const DETAILS: [(&str, fn(RequestOutput<'_>) -> Value); 9] = [
    ("input_lens", |output| output.prompt_len().into()),
    ("output_lens", |output| output.output_len().into()),
    ("ttfts", |output| output.ttft_s().unwrap_or(0.0).into()),
    ("itls", |output| output.gaps().map(|gap| gap.as_secs_f64()).collect()),
    ("latencies", |output| output.latency_s().into()),
    ("start_times", |output| output.start().as_secs_f64().into()),
    ("queue_times", |output| output.queue_s().into()),
    ("generated_texts", |_| "".into()),
    ("errors", |output| output.error().into()),
];

/// Lists of answers that have tokens.
const OF_TOKENS: [&str; 3] = ["output_lens", "ttfts", "itls"];

struct File<'a> {
    head: Map<String, Value>,
    outputs: Vec<RequestOutput<'a>>,
}

impl Serialize for File<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in &self.head {
            map.serialize_entry(key, value)?;
        }
        let has_tokens = self.outputs.iter().all(|output| output.record.work != WorkKind::Items);
        let details = DETAILS.into_iter().filter(|(key, _)| has_tokens || !OF_TOKENS.contains(key));
        for (key, entry) in details {
            map.serialize_entry(key, &List(&self.outputs, entry))?;
        }
        map.end()
    }
}

/// A list with an entry for each request. It is made while it is written, for a long run has many chunks.
struct List<'l>(&'l [RequestOutput<'l>], fn(RequestOutput<'_>) -> Value);

impl Serialize for List<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|output| (self.1)(*output)))
    }
}

#[cfg(test)]
mod tests;
