//! A prediction as a person reads it: the envelope's back, the report, the bottleneck, the baseline.

use super::data::json::indented;
use super::documents::run_text;
use super::grid::{ALWAYS, Grid, NOTHING};
use super::page::{Page, Style, Tone};
use super::render::Extent;
use super::{Beside, engine_fit};
use crate::experiment::{Latency, LayoutComparison, LayoutFigures, Prediction};
use crate::simulator::BandwidthMath;
use crate::units::{count, three_digits};

/// The prediction as text.
#[must_use]
pub fn prediction_text(prediction: &Prediction, style: Style) -> String {
    let mut before = Page::new(style);
    if let Some(fit) = &prediction.engine_fit {
        engine_fit::section(&mut before, fit);
        before.blank();
    }
    if let Some(math) = &prediction.bandwidth_math {
        bandwidth_math(&mut before, math);
        before.blank();
    }
    let mut after = Page::new(style);
    after.heading("Bottleneck, over the window");
    after.entry(Tone::Normal, "  ", &prediction.bottleneck.sentence);
    after.entry(Tone::Normal, "  → ", &prediction.bottleneck.cure);
    if let Some(comparison) = &prediction.baseline {
        baseline(&mut after, comparison);
    }
    let beside =
        Beside { paired_open: prediction.paired_open.as_ref(), diagnosis: Some(&prediction.diagnosis) };
    let report = run_text(&prediction.summary, beside, style, Extent::Full);
    before.finish() + &report + &after.finish()
}

/// The prediction as indented JSON with a line break at its end.
pub fn prediction_json(prediction: &Prediction) -> serde_json::Result<String> {
    indented(prediction)
}

fn bandwidth_math(page: &mut Page, math: &BandwidthMath) {
    let context = count(u64::from(math.context));
    page.line(Tone::Strong, &format!("Bandwidth math, one server, {context} tokens of context"));
    let decode = format!(
        "{} ms per token ({} tokens/s) for one stream alone",
        three_digits(math.single_stream_tpot * 1e3),
        three_digits(math.single_stream_tpot.recip())
    );
    page.entry(Tone::Normal, "  decode     ", &decode);
    page.entry(
        Tone::Normal,
        "  prefill    ",
        &format!("{} tokens/s when steps are full of prompts", three_digits(math.prefill_tokens_per_s)),
    );
    let cache =
        format!("{} tokens: {} sequences", count(math.kv_capacity_tokens), count(math.kv_capacity_sequences));
    page.entry(Tone::Normal, "  KV cache   ", &cache);
    let turn = match math.compute_bound_batch {
        Some(batch) if u64::from(batch) <= math.kv_capacity_sequences => {
            format!("decode turns compute-bound at {} sequences", count(u64::from(batch)))
        }
        Some(batch) => format!(
            "decode would turn compute-bound at {} sequences, more than the KV cache holds",
            count(u64::from(batch))
        ),
        None => "decode stays memory-bound at every batch".to_owned(),
    };
    page.entry(Tone::Normal, "  batch      ", &turn);
}

fn baseline(page: &mut Page, comparison: &LayoutComparison) {
    page.heading("The same hardware, laid out as asked and as the baseline, ms");
    let mut grid = Grid::new(
        &["", "layout", "TTFT p50", "p95", "TPOT p50", "p95", "goodput/s", "SLO %"]
            .map(|title| (title, ALWAYS)),
    );
    for row in &comparison.rows {
        for (group, layout, side) in
            [(row.group.as_str(), "asked", &row.asked), ("", "baseline", &row.baseline)]
        {
            grid.row(cells(group, layout, side));
        }
    }
    page.grid(grid);
    page.entry(Tone::Faint, "  asked:    ", &comparison.asked);
    page.entry(Tone::Faint, "  baseline: ", &comparison.baseline);
    let latencies = |side: &LayoutFigures| [side.ttft_p50, side.ttft_p95, side.tpot_p50, side.tpot_p95];
    let sides = comparison.rows.iter().flat_map(|row| [&row.asked, &row.baseline]);
    if sides.flat_map(latencies).flatten().any(|latency| latency.at_least_ms.is_some()) {
        page.entry(
            Tone::Faint,
            "  > ",
            "some requests were still running: the figure is the least it can be (>) or the most (≤)",
        );
    }
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
