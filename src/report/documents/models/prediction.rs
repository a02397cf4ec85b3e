//! A prediction as a document: that of its run, with bandwidth math, the bottleneck and the baseline.

use super::engine_fit;
use crate::experiment::{LayoutComparison, LayoutFigures, Prediction};
use crate::report::document::{Document, Level, Note, Section, Table};
use crate::report::documents;
use crate::report::documents::parts::cells::latency;
use crate::simulator::BandwidthMath;
use crate::units::{count, three_digits};

/// The prediction as a document.
pub fn document(prediction: &Prediction) -> Document {
    let bottleneck = Note::info(&prediction.bottleneck.sentence).cure(&prediction.bottleneck.cure);
    let fitted = prediction.engine_fit.iter().flat_map(|fit| {
        let grade = engine_fit::grade(fit);
        let grade = Section::summary("Fitted engine").text([format!("{}: {}", grade.word, grade.sentence)]);
        [grade].into_iter().chain(engine_fit::sections(fit).map(|section| section.at(Level::Page)))
    });
    documents::run(&prediction.summary, Some(&prediction.diagnosis), None)
        .with([Section::summary("Bottleneck").notes([bottleneck])])
        .with(prediction.baseline.iter().flat_map(baseline))
        .with(prediction.bandwidth_math.as_ref().map(bandwidth_math))
        .with(fitted)
}

fn bandwidth_math(math: &BandwidthMath) -> Section {
    let batch = match math.compute_bound_batch.map(u64::from) {
        Some(batch) if batch <= math.kv_capacity_sequences => {
            format!("decode turns compute-bound at {} sequences", count(batch))
        }
        Some(batch) => {
            format!("decode would turn compute-bound at {} sequences, more than the KV cache holds", count(batch))
        }
        None => "decode stays memory-bound at every batch".to_owned(),
    };
    let context = count(u64::from(math.context));
    let [tpot, alone] = [math.single_stream_tpot * 1e3, math.single_stream_tpot.recip()].map(three_digits);
    let prefill = three_digits(math.prefill_tokens_per_s);
    let [tokens, sequences] = [math.kv_capacity_tokens, math.kv_capacity_sequences].map(count);
    Section::page(format!("Bandwidth math, one server, {context} tokens of context"))
        .fact("decode", format!("{tpot} ms per token ({alone} tokens/s) for one stream alone"))
        .fact("prefill", format!("{prefill} tokens/s when steps are full of prompts"))
        .fact("KV cache", format!("{tokens} tokens: {sequences} sequences"))
        .fact("batch", batch)
}

fn baseline(comparison: &LayoutComparison) -> [Section; 2] {
    let rows = comparison.rows.iter();
    let rows = rows.flat_map(|row| [(&*row.group, "requested", &row.requested), ("", "baseline", &row.baseline)]);
    let latencies = |side: &LayoutFigures| [side.ttft_p50, side.ttft_p95, side.tpot_p50, side.tpot_p95];
    let mut all = rows.clone().flat_map(|(.., side)| latencies(side)).flatten();
    let bounded = all
        .any(|latency| latency.at_least_ms.is_some())
        .then_some((">", "some requests were still running: the figure is a lower (>) or an upper (≤) bound"));
    let table = Table::over("Requested layout and baseline", rows)
        .column("", |(group, ..)| group.to_owned())
        .column("layout", |(_, layout, _)| layout)
        .column("TTFT p50", |(.., side)| side.ttft_p50.and_then(latency))
        .column("p95", |(.., side)| side.ttft_p95.and_then(latency))
        .column("TPOT p50", |(.., side)| side.tpot_p50.and_then(latency))
        .column("p95", |(.., side)| side.tpot_p95.and_then(latency))
        .column("goodput/s", |(.., side)| side.goodput_per_s.map(three_digits))
        .column("SLO %", |(.., side)| side.slo_attainment.map(|share| three_digits(share * 100.0)))
        .explain(bounded)
        // Of the parts of the requests a screen has none.
        .detail_rows(|place, _| place >= 2);
    let heading = "Layouts, ms: the same hardware with the requested layout and the baseline's";
    let layouts = Section::continued(Level::Page)
        .fact("requested", comparison.requested.clone())
        .fact("baseline", comparison.baseline.clone());
    [Section::summary(heading).table(table), layouts]
}
