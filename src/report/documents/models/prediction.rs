//! A prediction as a document: that of its run, with bandwidth math, the bottleneck and the baseline.

use super::engine_fit;
use crate::experiment::{LayoutComparison, LayoutFigures, Prediction};
use crate::report::document::{Document, Level, Note, Section, Table};
use crate::report::documents;
use crate::report::documents::parts::cells::latency;
use crate::report::run_report::Extras;
use crate::simulator::BandwidthMath;
use crate::units::{count, three_digits};

/// The prediction as a document.
pub fn document(prediction: &Prediction) -> Document {
    let extras = Extras { diagnosis: Some(&prediction.diagnosis) };
    let mut document = documents::run(&prediction.summary, extras, None);
    let bottleneck = Note::info(&prediction.bottleneck.sentence).cure(&prediction.bottleneck.cure);
    document.add([Section::summary("Bottleneck").with_notes([bottleneck])]);
    document.add(prediction.baseline.iter().flat_map(baseline));
    document.add(prediction.bandwidth_math.as_ref().map(bandwidth_math));
    if let Some(fit) = &prediction.engine_fit {
        let grade = engine_fit::grade(fit);
        let mut section = Section::summary("Fitted engine");
        section.text(format!("{}: {}", grade.word, grade.sentence));
        document.add([section]);
        document.add(engine_fit::sections(fit).map(|section| Section { level: Level::Page, ..section }));
    }
    document
}

fn bandwidth_math(math: &BandwidthMath) -> Section {
    let context = count(u64::from(math.context));
    let mut section = Section::page(format!("Bandwidth math, one server, {context} tokens of context"));
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
    let batch = match math.compute_bound_batch.map(u64::from) {
        Some(batch) if batch <= math.kv_capacity_sequences => {
            format!("decode turns compute-bound at {} sequences", count(batch))
        }
        Some(batch) => {
            format!(
                "decode would turn compute-bound at {} sequences, more than the KV cache holds",
                count(batch)
            )
        }
        None => "decode stays memory-bound at every batch".to_owned(),
    };
    section.fact("batch", batch);
    section
}

fn baseline(comparison: &LayoutComparison) -> [Section; 2] {
    let rows = comparison.rows.iter();
    let rows =
        rows.flat_map(|row| [(&*row.group, "requested", &row.requested), ("", "baseline", &row.baseline)]);
    let mut table = Table::of("Requested layout and baseline", rows)
        .column("", |(group, ..)| group.to_owned())
        .column("layout", |(_, layout, _)| layout)
        .column("TTFT p50", |(.., side)| side.ttft_p50.and_then(latency))
        .column("p95", |(.., side)| side.ttft_p95.and_then(latency))
        .column("TPOT p50", |(.., side)| side.tpot_p50.and_then(latency))
        .column("p95", |(.., side)| side.tpot_p95.and_then(latency))
        .column("goodput/s", |(.., side)| side.goodput_per_s.map(three_digits))
        .column("SLO %", |(.., side)| side.slo_attainment.map(|share| three_digits(share * 100.0)))
        .table();
    let latencies = |side: &LayoutFigures| [side.ttft_p50, side.ttft_p95, side.tpot_p50, side.tpot_p95];
    let sides = comparison.rows.iter().flat_map(|row| [&row.requested, &row.baseline]);
    if sides.flat_map(latencies).flatten().any(|latency| latency.at_least_ms.is_some()) {
        table.explain(
            ">",
            "some requests were still running: the figure is a lower (>) or an upper (≤) bound",
        );
    }
    // Of the parts of the requests a screen has none.
    table.detail_rows(|place| place >= 2);
    let heading = "Layouts, ms: the same hardware with the requested layout and the baseline's";
    let mut layouts = Section::continued(Level::Page);
    layouts.fact("requested", comparison.requested.clone());
    layouts.fact("baseline", comparison.baseline.clone());
    [Section::summary(heading).with_table(table), layouts]
}
