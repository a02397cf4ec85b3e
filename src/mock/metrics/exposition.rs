//! Writes the metrics in Prometheus' text format under vLLM's names (0.32, as recorded from a live server).

use std::fmt::Write as _;

use strum::VariantArray as _;

use super::meters::{Finish, HISTOGRAMS, Histogram};
use crate::mock::engine_thread::Readings;
use crate::simulator::BLOCK_SIZE;

/// The whole page for a server of this model.
pub(crate) fn exposition(model: &str, readings: &Readings) -> String {
    let mut page = Page { model: label(model), text: String::with_capacity(24 * 1024) };
    let (gauges, meters) = (&readings.gauges, &readings.meters);
    let waiting = gauges.num_requests_waiting as f64;
    let computed = gauges.prompt_tokens.saturating_sub(meters.cached_tokens);
    let block_size = BLOCK_SIZE.to_string();
    let ended: Vec<_> = Finish::VARIANTS
        .iter()
        .map(|&reason| (reason.into(), meters.ended[reason as usize] as f64))
        .collect();
    page.gauge(
        "num_requests_running",
        "Number of requests in model execution batches.",
        gauges.num_requests_running as f64,
    );
    page.gauge("num_requests_waiting", "Number of requests waiting to be processed.", waiting);
    page.each(
        ("gauge", "num_requests_waiting_by_reason", "Number of waiting requests by reason."),
        "reason",
        &[("capacity", waiting), ("deferred", 0.0)],
    );
    let usage = gauges.kv_cache_usage_perc;
    page.gauge("kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.", usage);
    for (name, help, value) in [
        (
            "prefix_cache_queries_total",
            "Prefix cache queries, in terms of number of queried tokens.",
            gauges.prefix_cache_queries,
        ),
        (
            "prefix_cache_hits_total",
            "Prefix cache hits, in terms of number of cached tokens.",
            gauges.prefix_cache_hits,
        ),
        ("num_preemptions_total", "Cumulative number of preemption from the engine.", gauges.num_preemptions),
        ("prompt_tokens_total", "Number of prefill tokens processed.", gauges.prompt_tokens),
        (
            "prompt_tokens_cached_total",
            "Number of cached prompt tokens (local + external).",
            meters.cached_tokens,
        ),
        ("generation_tokens_total", "Number of generation tokens processed.", gauges.generation_tokens),
    ] {
        page.one(("counter", name, help), value as f64);
    }
    page.each(
        ("counter", "prompt_tokens_by_source_total", "Number of prompt tokens by source."),
        "source",
        &[("local_compute", computed as f64), ("local_cache_hit", meters.cached_tokens as f64)],
    );
    page.each(
        ("counter", "request_success_total", "Count of successfully processed requests."),
        "finished_reason",
        &ended,
    );
    for ((name, help, _), histogram) in HISTOGRAMS.iter().zip(&meters.histograms) {
        page.histogram(("histogram", name, help), histogram);
    }
    page.each(
        ("gauge", "cache_config_info", "Information of the LLMEngine CacheConfig"),
        "block_size",
        &[(&block_size, 1.0)],
    );
    page.text
}

/// Type, name and help of a series.
type Series<'a> = (&'a str, &'a str, &'a str);

struct Page {
    model: String,
    text: String,
}

impl Page {
    fn head(&mut self, (kind, name, help): Series<'_>) {
        let _ = write!(self.text, "# HELP vllm:{name} {help}\n# TYPE vllm:{name} {kind}\n");
    }

    fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.one(("gauge", name, help), value);
    }

    fn one(&mut self, series: Series<'_>, value: f64) {
        self.head(series);
        let _ = writeln!(self.text, "vllm:{}{{engine=\"0\",model_name={}}} {value:?}", series.1, self.model);
    }

    fn each(&mut self, series: Series<'_>, label: &str, values: &[(&str, f64)]) {
        self.head(series);
        for (key, value) in values {
            // Labels are sorted by name.
            let mut labels = [format!("{label}=\"{key}\""), format!("model_name={}", self.model)];
            labels.sort_unstable();
            let _ = writeln!(self.text, "vllm:{}{{engine=\"0\",{}}} {value:?}", series.1, labels.join(","));
        }
    }

    fn histogram(&mut self, series: Series<'_>, histogram: &Histogram) {
        self.head(series);
        let name = series.1;
        for (bound, count) in histogram.cumulative() {
            let bound = if bound.is_finite() { format!("{bound:?}") } else { "+Inf".to_owned() };
            let _ = writeln!(
                self.text,
                "vllm:{name}_bucket{{engine=\"0\",le=\"{bound}\",model_name={}}} {:?}",
                self.model, count as f64
            );
        }
        let labels = format!("{{engine=\"0\",model_name={}}}", self.model);
        let _ = writeln!(self.text, "vllm:{name}_count{labels} {:?}", histogram.count() as f64);
        let _ = writeln!(self.text, "vllm:{name}_sum{labels} {:?}", histogram.sum);
    }
}

/// A label's value, quoted for the format.
fn label(value: &str) -> String {
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::mock::metrics::meters::Meters;
    use crate::simulator::ServerGauges;

    /// Every series here is one of a live vLLM 0.32, label by label; buckets of token counts go further
    /// because they depend on the context length.
    #[test]
    fn names_labels_and_buckets_are_vllms() {
        let series = |text: &str| -> BTreeSet<String> {
            text.lines()
                .filter(|line| line.starts_with("vllm:"))
                .filter_map(|line| line.rsplit_once(' ').map(|(series, _)| series.to_owned()))
                .filter(|series| !series.contains("cache_config_info"))
                .filter(|series| {
                    !["\"5000.0\"", "\"10000.0\"", "\"20000.0\""].iter().any(|b| series.contains(b))
                })
                .collect()
        };
        let readings = Readings { gauges: ServerGauges::default(), meters: Meters::default() };
        let ours = series(&exposition("tiny-llama", &readings));
        let theirs = series(include_str!("../../../tests/data/transcripts/vllm/metrics_after.txt"));
        let unknown: Vec<_> = ours.difference(&theirs).collect();
        assert!(unknown.is_empty(), "{unknown:#?}");
        assert!(ours.len() > 200, "{}", ours.len());
    }
}
