//! The silences inside answers: how long, how many, and which are stalls.

use crate::analysis::{GapBar, Metric, Quantile, Summary, TokenGaps};
use crate::report::chart::{Axis, Bar, Palette, Plot, ReferenceLine, Series, SeriesForm};
use crate::report::document::{Chart, Section, Table, cell};
use crate::units::{count, counted};

pub(super) fn section(gaps: Option<&TokenGaps>, summary: &Summary) -> Option<Section> {
    let gaps = gaps?;
    let bars = gaps.bars();
    let all = gaps.count();
    let bar = |bar: &GapBar| Bar {
        from: left(bar),
        to: bar.to_ms,
        height: bar.count as f64,
        words: format!("{} ms: {}, {} %", length(bar), count(bar.count), share(bar, all)),
    };
    let percentiles = summary
        .latency
        .row(Metric::Itl)
        .into_iter()
        .flat_map(|row| [Quantile::P50, Quantile::P99].map(|quantile| row.percentile(quantile)).into_iter());
    let rules = percentiles.filter_map(|shown| {
        let ms = shown.figure.exact()?;
        Some(ReferenceLine::Place(ms, format!("{} {}", shown.quantile, cell(ms))))
    });
    let picture = Plot::new(
        format!("{} by their length", counted(all, "gap between tokens")),
        Axis::logarithmic("gap between tokens, ms", bars.iter().flat_map(|bar| [left(bar), bar.to_ms])),
        Axis::logarithmic("gaps", bars.iter().map(|bar| bar.count as f64).chain([0.5])),
        vec![Series::new("", Palette::First, SeriesForm::Bars(bars.iter().map(bar).collect()))],
    )
    .with_rules(rules);
    let table = Table::over("Gaps between tokens", &bars)
        .column("gap, ms", length)
        .column("gaps", |bar| bar.count)
        .column("%", |bar| share(bar, all));
    let cut_off = match gaps.open() {
        0 => String::new(),
        open => format!("; {} of them cut off, at least so long", count(open)),
    };
    let hint = format!("token-weighted; both axes logarithmic, so that rare silences show{cut_off}");
    let chart = Chart::new("Gaps between tokens", picture).hint(hint).behind(table);
    Some(Section::summary("Between tokens").charts([chart]))
}

/// Returns where a bar begins on an axis that has no 0.
fn left(bar: &GapBar) -> f64 {
    if bar.from_ms > 0.0 { bar.from_ms } else { bar.to_ms * 0.8 }
}

fn length(bar: &GapBar) -> String {
    if bar.from_ms > 0.0 {
        format!("{} to {}", cell(bar.from_ms), cell(bar.to_ms))
    } else {
        format!("under {}", cell(bar.to_ms))
    }
}

fn share(bar: &GapBar, all: u64) -> String {
    cell(bar.count as f64 / all as f64 * 100.0)
}
