//! Totals and statistics of a run, as vLLM computes them.

use serde_json::{Map, Value, json};

use super::output::RequestOutput;
use crate::analysis::{Figure, Quantile, Rates, Sample};
use crate::clock::Timestamp;
use crate::record::Outcome;
use crate::report::run_report::RunReport;

/// The keys that vLLM writes of a run's figures, without the lists.
pub(super) fn figures(report: RunReport<'_>, outputs: &[RequestOutput<'_>]) -> Map<String, Value> {
    let good: Vec<RequestOutput<'_>> = outputs.iter().copied().filter(|output| output.success()).collect();
    let (summary, duration) = (report.summary, report.summary.window.counted_s());
    let left = outputs.iter().filter(|output| output.record.outcome == Outcome::Cancelled).count();
    let (completed, failed) = (good.len() as u64, (outputs.len() - good.len() - left) as u64);
    let total_input: u64 = good.iter().map(|output| output.prompt_len()).sum();
    let total_output: u64 = good.iter().map(|output| output.output_len()).sum();
    let Rates { completed_requests_per_s, input_tokens_per_s, output_tokens_per_s, .. } = summary.rates;
    let all = output_tokens_per_s.zip(input_tokens_per_s).map(|(output, input)| output + input);
    let peaks = Peaks::from_good(&good);

    let mut map = Map::new();
    let mut set = |key: &str, value: Value| _ = map.insert(key.to_owned(), value);
    set("duration", json!(duration));
    set("completed", json!(completed));
    set("failed", json!(failed));
    set("total_input_tokens", json!(total_input));
    let has_tokens = report.log.header.workload.has_answer_tokens();
    if has_tokens {
        set("total_output_tokens", json!(total_output));
    }
    set("request_throughput", json!(completed_requests_per_s));
    set("request_goodput", json!(summary.slo.goodput_per_s.filter(|_| summary.slo.declared)));
    if has_tokens {
        set("output_throughput", json!(output_tokens_per_s));
    }
    // As vLLM, which counts the tokens of prompts alone where answers have none.
    set("total_token_throughput", json!(if has_tokens { all } else { input_tokens_per_s }));
    if has_tokens {
        set("max_output_tokens_per_s", json!(peaks.map(|peaks| peaks.chunks as f64)));
    }
    set("max_concurrent_requests", json!(peaks.map(|peaks| peaks.present)));
    // Seconds of sound per second: no request carries any.
    set("rtfx", json!(0.0));
    let ms = |seconds: f64| Figure::Exact(seconds * 1e3);
    let asked = &report.log.header.percentiles;
    let mut put = |name: &str, sample: Sample| statistics(&mut map, name, &sample, asked);
    // Those whose clients were to leave have no latencies.
    let good: Vec<RequestOutput<'_>> = good.into_iter().filter(|output| !output.record.leaves).collect();
    if has_tokens {
        put("ttft", good.iter().filter_map(|output| output.ttft_s()).map(ms).collect());
        put("tpot", good.iter().filter_map(|output| output.tpot_s()).map(ms).collect());
        put("itl", Sample::of_lengths(good.iter().flat_map(|output| output.gaps())));
    }
    put("e2el", good.iter().map(|output| ms(output.latency_s())).collect());
    if report.summary.run.limits.is_capped() {
        put("client_queue_time", good.iter().map(|output| ms(output.queue_s())).collect());
        if report.summary.run.arrival.users().is_none() {
            let whole = |output: &RequestOutput<'_>| ms(output.latency_s() + output.queue_s());
            put("e2el_including_client_queue", good.iter().map(whole).collect());
        }
    }
    map
}

/// Mean, median, standard deviation (over n, as numpy's `std`) and percentiles of a latency, milliseconds.
fn statistics(map: &mut Map<String, Value>, name: &str, sample: &Sample, asked: &[f64]) {
    let quantile = |fraction| json!(sample.quantile(fraction).and_then(Figure::exact));
    let n = sample.len() as f64;
    let std = match sample.std() {
        Some(std) => Some(std * ((n - 1.0) / n).sqrt()),
        None => sample.mean().map(|_| 0.0),
    };
    map.insert(format!("mean_{name}_ms"), json!(sample.mean()));
    map.insert(format!("median_{name}_ms"), quantile(0.5));
    map.insert(format!("std_{name}_ms"), json!(std));
    let asked = asked.iter().copied().map(Quantile::from_percent);
    for percentile in Quantile::ALL.into_iter().chain(asked) {
        map.insert(format!("{percentile}_{name}_ms"), quantile(percentile.fraction()));
    }
}

/// The most of two things in any one second. The seconds are counted from the first sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Peaks {
    /// Chunks that came: vLLM takes each for a token.
    chunks: u64,
    /// Requests that were present at any moment of it.
    present: u64,
}

impl Peaks {
    /// `None` where nothing succeeded.
    fn from_good(good: &[RequestOutput<'_>]) -> Option<Self> {
        let end = |output: &RequestOutput<'_>| output.record.chunks.last_at().or(output.record.whole_answer);
        let zero = good.iter().map(|output| output.start()).min()?;
        let last = good.iter().filter_map(end).max()?;
        let second = |moment: Timestamp| moment.since(zero).as_secs() as usize;
        let mut chunks = vec![0_u64; second(last) + 1];
        // How many begin in a second, and how many were gone before it.
        let (mut begun, mut gone) = (chunks.clone(), vec![0_u64; second(last) + 2]);
        for output in good {
            for chunk in output.record.chunks.iter() {
                chunks[second(chunk.at)] += 1;
            }
            if let Some(end) = end(output) {
                begun[second(output.start())] += 1;
                gone[second(end) + 1] += 1;
            }
        }
        let mut present = 0;
        let most_present = begun.iter().zip(&gone).map(|(begun, gone)| {
            present = present + begun - gone;
            present
        });
        Some(Self { present: most_present.max()?, chunks: chunks.into_iter().max()? })
    }
}
