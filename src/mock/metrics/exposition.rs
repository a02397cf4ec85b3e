//! Writes the metrics in Prometheus' text format under vLLM's names (0.32, as recorded from a live server).

use std::fmt::Write as _;

use serde_json::{Map, Value};
use strum::VariantArray as _;

use super::meters::{Finish, Histogram, Meters, PageSeries, TABLE};
use crate::simulator::ServerGauges;

/// The server's gauges and counters so far.
#[derive(Clone, Debug)]
pub(crate) struct Readings {
    pub(crate) gauges: ServerGauges,
    pub(crate) meters: Meters,
}

/// The whole page for a server of this model.
pub(crate) fn exposition(model: &str, readings: &Readings) -> String {
    let (model, values) = (label(model), values(readings));
    let mut histograms = readings.meters.histograms.iter();
    let mut page = String::with_capacity(24 * 1024);
    for series in &TABLE.series {
        let PageSeries { name, kind, help, label, values: labelled, bounds, of_drafts } = series;
        if *of_drafts && readings.gauges.spec_decode_num_drafts == 0 {
            continue;
        }
        let _ = write!(page, "# HELP vllm:{name} {help}\n# TYPE vllm:{name} {kind}\n");
        let value = |name: &str| values.get(name).and_then(Value::as_f64).unwrap_or(0.0);
        if bounds.is_some() {
            if let Some(histogram) = histograms.next() {
                add(&mut page, name, &model, histogram);
            }
        } else if labelled.is_empty() {
            let value = value(name.strip_suffix("_total").unwrap_or(name));
            let _ = writeln!(page, "vllm:{name}{{engine=\"0\",model_name={model}}} {value:?}");
        }
        // Positions that no draft had are not on the page.
        for [key, ours] in labelled.iter().filter(|[_, ours]| !*of_drafts || value(ours) > 0.0) {
            // Labels are sorted by name.
            let mut labels = [format!("{label}=\"{key}\""), format!("model_name={model}")];
            labels.sort_unstable();
            let _ = writeln!(page, "vllm:{name}{{engine=\"0\",{}}} {:?}", labels.join(","), value(ours));
        }
    }
    page
}

/// Returns the values of the page. They are the server's by vLLM's names, and those of the jobs that passed through it.
fn values(Readings { gauges, meters }: &Readings) -> Map<String, Value> {
    let mut values = match serde_json::to_value(gauges) {
        Ok(Value::Object(values)) => values,
        _ => Map::new(),
    };
    let computed = gauges.prompt_tokens.saturating_sub(meters.cached_tokens);
    if let Some(Value::Array(positions)) = values.remove("spec_decode_num_accepted_tokens_per_pos") {
        values.extend((0..).zip(positions).map(|(position, accepted)| (format!("accepted_at_{position}"), accepted)));
    }
    let generated = gauges.generation_tokens.saturating_sub(meters.unsaid_tokens);
    let cached = meters.cached_tokens;
    let more = [("prompt_tokens_cached", cached), ("prompt_tokens_computed", computed), ("one", 1)];
    let more = more.into_iter().chain([("generation_tokens", generated)]);
    let ended = Finish::VARIANTS.iter().map(|&reason| (reason.into(), meters.ended[reason as usize]));
    values.extend(more.chain(ended).map(|(name, value): (&str, u64)| (name.to_owned(), value.into())));
    values
}

fn add(page: &mut String, name: &str, model: &str, histogram: &Histogram) {
    for (bound, count) in histogram.cumulative() {
        let bound = if bound.is_finite() { format!("{bound:?}") } else { "+Inf".to_owned() };
        let labels = format!("engine=\"0\",le=\"{bound}\",model_name={model}");
        let _ = writeln!(page, "vllm:{name}_bucket{{{labels}}} {:?}", count as f64);
    }
    let labels = format!("{{engine=\"0\",model_name={model}}}");
    let _ = writeln!(page, "vllm:{name}_count{labels} {:?}", histogram.count() as f64);
    let _ = writeln!(page, "vllm:{name}_sum{labels} {:?}", histogram.sum);
}

/// A label's value, quoted for the format.
fn label(value: &str) -> String {
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::simulator::BLOCK_SIZE;

    /// Checks that every series here is one of a live vLLM 0.32. Labels are compared one by one; buckets of token
    /// counts go further because they depend on the context length.
    #[test]
    fn names_labels_and_buckets_are_vllms() {
        let series = |text: &str| -> BTreeSet<String> {
            text.lines()
                .filter(|line| line.starts_with("vllm:"))
                .filter_map(|line| line.rsplit_once(' ').map(|(series, _)| series.to_owned()))
                .filter(|series| !series.contains("cache_config_info"))
                .filter(|series| !["\"5000.0\"", "\"10000.0\"", "\"20000.0\""].iter().any(|b| series.contains(b)))
                .collect()
        };
        let readings = Readings { gauges: ServerGauges::default(), meters: Meters::default() };
        let ours = series(&exposition("tiny-llama", &readings));
        let theirs = series(include_str!("../../../tests/data/transcripts/vllm/metrics_after.txt"));
        let unknown: Vec<_> = ours.difference(&theirs).collect();
        assert!(unknown.is_empty(), "{unknown:#?}");
        assert!(ours.len() > 200, "{}", ours.len());
        let page = exposition("tiny-llama", &readings);
        assert!(page.contains(&format!("block_size=\"{BLOCK_SIZE}\"")), "{page}");
    }
}
