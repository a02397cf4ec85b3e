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
use crate::record::Phase;
use crate::report::data::write_line;
use crate::report::run_report::{Out, RunReport};

/// Writes the file: what was asked, totals and statistics, then one list a detail with an entry for each request of the
/// window, in the order of the plan.
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
    for detail in DETAILS {
        head.remove(detail);
    }
    Ok(write_line(out, &File { head, outputs })?)
}

/// The keys of the lists; no label of a person takes their place.
const DETAILS: [&str; 9] = [
    "input_lens",
    "output_lens",
    "ttfts",
    "itls",
    "latencies",
    "start_times",
    "queue_times",
    "generated_texts",
    "errors",
];

struct File<'a> {
    head: Map<String, Value>,
    outputs: Vec<RequestOutput<'a>>,
}

impl Serialize for File<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let [input_lens, output_lens, ttfts, itls, latencies, start_times, queue_times, texts, errors] =
            DETAILS;
        let outputs = &self.outputs;
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in &self.head {
            map.serialize_entry(key, value)?;
        }
        map.serialize_entry(input_lens, &list(outputs, RequestOutput::prompt_len))?;
        map.serialize_entry(output_lens, &list(outputs, RequestOutput::output_len))?;
        map.serialize_entry(ttfts, &list(outputs, |output| output.ttft_s().unwrap_or(0.0)))?;
        map.serialize_entry(
            itls,
            &list(outputs, |output| output.gaps().map(|gap| gap.as_secs_f64()).collect::<Vec<_>>()),
        )?;
        map.serialize_entry(latencies, &list(outputs, RequestOutput::latency_s))?;
        map.serialize_entry(start_times, &list(outputs, |output| output.start().as_secs_f64()))?;
        map.serialize_entry(queue_times, &list(outputs, RequestOutput::queue_s))?;
        map.serialize_entry(texts, &list(outputs, |_| ""))?;
        map.serialize_entry(errors, &list(outputs, RequestOutput::error))?;
        map.end()
    }
}

/// A list with an entry for each request, made while it is written: a long run has many chunks.
struct List<'l, 'a, F>(&'l [RequestOutput<'a>], F);

fn list<'l, 'a, T, F: Fn(RequestOutput<'a>) -> T>(
    outputs: &'l [RequestOutput<'a>],
    entry: F,
) -> List<'l, 'a, F> {
    List(outputs, entry)
}

impl<'a, T: Serialize, F: Fn(RequestOutput<'a>) -> T> Serialize for List<'_, 'a, F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|output| (self.1)(*output)))
    }
}

#[cfg(test)]
mod tests;
