//! A prediction as a document: that of its run, with bandwidth math, the bottleneck and the baseline.

use super::engine_fit;
use crate::experiment::{Latency, LayoutComparison, LayoutFigures, Prediction};
use crate::report::document::{Document, NOTHING, Note, NoteKind, Section, Table};
use crate::report::documents;
use crate::report::run_report::Extras;
use crate::simulator::BandwidthMath;
use crate::units::{count, three_digits};

/// The prediction as a document.
pub fn document(prediction: &Prediction) -> Document {
    let extras =
        Extras { paired_open: prediction.paired_open.as_ref(), diagnosis: Some(&prediction.diagnosis) };
    let mut document = documents::run(&prediction.summary, extras, None);
    let mut bottleneck = Section::summary("Bottleneck, over the window");
    let sentence = prediction.bottleneck.sentence.clone();
    bottleneck.note(Note::new(NoteKind::Info, sentence).cure(prediction.bottleneck.cure.clone()));
    document.add([bottleneck]);
    document.add(prediction.baseline.as_ref().map(baseline));
    document.add(prediction.bandwidth_math.as_ref().map(bandwidth_math));
    if let Some(fit) = &prediction.engine_fit {
        let grade = engine_fit::grade(fit);
        let mut section = Section::summary("Fitted engine");
        section.text(format!("{}: {}", grade.word, grade.sentence));
        document.add([section]);
        document.add(engine_fit::sections(fit));
    }
    document
}

fn bandwidth_math(math: &BandwidthMath) -> Section {
    let context = count(u64::from(math.context));
    let mut section = Section::summary(format!("Bandwidth math, one server, {context} tokens of context"));
    section.fact(
        "decode",
        format!(
            "{} ms per token ({} tokens/s) for one stream alone",
            three_digits(math.single_stream_tpot * 1e3),
            three_digits(math.single_stream_tpot.recip())
        ),
    );
    section.fact(
        "prefill",
        format!("{} tokens/s when steps are full of prompts", three_digits(math.prefill_tokens_per_s)),
    );
    section.fact(
        "KV cache",
        format!("{} tokens: {} sequences", count(math.kv_capacity_tokens), count(math.kv_capacity_sequences)),
    );
    let batch = match math.compute_bound_batch {
        Some(batch) if u64::from(batch) <= math.kv_capacity_sequences => {
            format!("decode turns compute-bound at {} sequences", count(u64::from(batch)))
        }
        Some(batch) => format!(
            "decode would turn compute-bound at {} sequences, more than the KV cache holds",
            count(u64::from(batch))
        ),
        None => "decode stays memory-bound at every batch".to_owned(),
    };
    section.fact("batch", batch);
    section
}

fn baseline(comparison: &LayoutComparison) -> Section {
    let mut section = Section::summary("The same hardware with the requested layout and the baseline's, ms");
    let titles = ["", "layout", "TTFT p50", "p95", "TPOT p50", "p95", "goodput/s", "SLO %"];
    let mut table = Table::new("Requested layout and baseline", titles);
    for row in &comparison.rows {
        table.row(cells(&row.group, "requested", &row.requested));
        table.row(cells("", "baseline", &row.baseline));
    }
    let latencies = |side: &LayoutFigures| [side.ttft_p50, side.ttft_p95, side.tpot_p50, side.tpot_p95];
    let sides = comparison.rows.iter().flat_map(|row| [&row.requested, &row.baseline]);
    if sides.flat_map(latencies).flatten().any(|latency| latency.at_least_ms.is_some()) {
        table.explain(
            ">",
            "some requests were still running: the figure is a lower (>) or an upper (≤) bound",
        );
    }
    section.table(table);
    section.fact("requested", comparison.requested.clone());
    section.fact("baseline", comparison.baseline.clone());
    section
}

fn cells(group: &str, layout: &str, side: &LayoutFigures) -> [String; 8] {
    let figure = |value: Option<f64>| value.map_or(NOTHING.to_owned(), three_digits);
    let latency = |latency: Option<Latency>| match latency {
        Some(Latency { value_ms: Some(ms), .. }) => three_digits(ms),
        Some(Latency { at_most_ms: Some(ms), .. }) => format!("≤ {}", three_digits(ms)),
        Some(Latency { at_least_ms: Some(ms), .. }) => format!("> {}", three_digits(ms)),
        _ => NOTHING.to_owned(),
    };
    [
        group.to_owned(),
        layout.to_owned(),
        latency(side.ttft_p50),
        latency(side.ttft_p95),
        latency(side.tpot_p50),
        latency(side.tpot_p95),
        figure(side.goodput_per_s),
        figure(side.slo_attainment.map(|share| share * 100.0)),
    ]
}
