//! Promises: attainment and goodput, the breakdown by priority and class, and objectives.

use super::grid::Column::{Always, Wide};
use super::grid::Grid;
use super::latency;
use super::page::{NOTHING, Page, Tone};
use crate::analysis::{Attainment, Group, Metric, Promise, Quantile, Status, Summary};
use crate::units::{count, three_digits};
use crate::workload::Slo;

pub(crate) fn slo(page: &mut Page, summary: &Summary) {
    let slo = &summary.slo;
    if !slo.declared {
        return;
    }
    page.heading("SLO");
    for (name, promise) in promised(&summary.by_class) {
        page.entry(Tone::Normal, "  promised    ", &format!("{name}: {}", bounds(&promise.slo)));
    }
    let (Some(attainment), Some(goodput), Some(met)) = (slo.slo_attainment, slo.goodput_per_s, slo.met)
    else {
        page.entry(
            Tone::Normal,
            "  attainment  ",
            "not known: answers that are not streamed have no TTFT and no TPOT",
        );
        return;
    };
    let line = format!(
        "{} % of {} scheduled requests met it ({}); goodput {} requests/s",
        three_digits(attainment * 100.0),
        count(slo.scheduled),
        count(met),
        three_digits(goodput)
    );
    page.entry(Tone::Normal, "  attainment  ", &line);
    let misses: Vec<_> = [
        (slo.over_ttft, "over TTFT"),
        (slo.over_tpot, "over TPOT"),
        (Some(slo.over_e2e), "over e2e"),
        (Some(slo.not_completed), "not completed"),
    ]
    .into_iter()
    .filter_map(|(number, why)| Some((number.filter(|&number| number > 0)?, why)))
    .map(|(number, why)| format!("{} {why}", count(number)))
    .collect();
    if !misses.is_empty() {
        page.entry(Tone::Normal, "  misses      ", &misses.join(", "));
    }
}

/// Every promise with a name: its class and priority, or what tells it from the others.
fn promised(classes: &[Group]) -> impl Iterator<Item = (String, &Promise)> {
    let one_class = classes.len() == 1;
    classes.iter().flat_map(|class| &class.promises).map(move |promise| {
        let name = if one_class {
            promise.priority.to_string()
        } else {
            format!("{}, {}", promise.class, promise.priority)
        };
        (name, promise)
    })
}

fn bounds(slo: &Slo) -> String {
    let bounds: Vec<_> = [("TTFT", slo.ttft_ms), ("TPOT", slo.tpot_ms), ("e2e", slo.e2e_ms)]
        .into_iter()
        .filter_map(|(name, bound)| Some(format!("{name} ≤ {} ms", three_digits(bound?))))
        .collect();
    if bounds.is_empty() { "nothing".to_owned() } else { bounds.join(", ") }
}

pub(crate) fn breakdown(page: &mut Page, summary: &Summary) {
    for (title, groups) in [("By priority", &summary.by_priority), ("By class", &summary.by_class)] {
        // One group says what the whole run says.
        if groups.len() > 1 {
            page.heading(&format!("{title}, ms"));
            group_table(page, groups);
        }
    }
}

fn group_table(page: &mut Page, groups: &[Group]) {
    let columns = [
        Always(""),
        Always("requests"),
        Always("TTFT p50"),
        Always("p95"),
        Wide("p99"),
        Always("TPOT p50"),
        Wide("p95"),
        Always("e2e p50"),
        Wide("p95"),
        Always("SLO %"),
        Wide("goodput/s"),
    ];
    let mut grid = Grid::new(page, columns);
    for group in groups {
        let cell = |metric, quantile| {
            let row = group.latency.row(metric);
            row.map_or(NOTHING.to_owned(), |row| latency::percentile(row.percentile(quantile)))
        };
        let (attainment, goodput) = attainment(&group.slo);
        grid.row([
            group.name.clone(),
            count(group.requests),
            cell(Metric::Ttft, Quantile::P50),
            cell(Metric::Ttft, Quantile::P95),
            cell(Metric::Ttft, Quantile::P99),
            cell(Metric::Tpot, Quantile::P50),
            cell(Metric::Tpot, Quantile::P95),
            cell(Metric::E2e, Quantile::P50),
            cell(Metric::E2e, Quantile::P95),
            attainment,
            goodput,
        ]);
    }
    grid.write(page);
}

/// Attainment in per cent and goodput; nothing for a group that promises nothing.
fn attainment(slo: &Attainment) -> (String, String) {
    let known = |value: Option<f64>| value.filter(|_| slo.declared);
    (
        known(slo.slo_attainment).map_or(NOTHING.to_owned(), |share| three_digits(share * 100.0)),
        known(slo.goodput_per_s).map_or(NOTHING.to_owned(), three_digits),
    )
}

pub(crate) fn objectives(page: &mut Page, summary: &Summary) {
    if summary.objectives.is_empty() {
        return;
    }
    page.heading("Objectives");
    for judgement in &summary.objectives {
        let (sign, tone) = match judgement.status {
            Status::Met => ("  ✓ ", Tone::Good),
            Status::Missed => ("  ✗ ", Tone::Bad),
            Status::Unresolvable => ("  ? ", Tone::Bad),
        };
        page.entry(tone, sign, &judgement.line);
    }
}
