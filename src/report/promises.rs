//! Promises: attainment and goodput, the breakdown by priority and class, and objectives.

use super::grid::Grid;
use super::latency;
use super::page::{Page, Tone};
use crate::analysis::{Attainment, Group, Metric, Quantile, Status, Summary};
use crate::units::{count, three_digits};

const NOTHING: &str = "–";

pub(crate) fn slo(page: &mut Page, summary: &Summary) {
    let slo = &summary.slo;
    let (Some(attainment), Some(goodput), true) = (slo.slo_attainment, slo.goodput_per_s, slo.declared)
    else {
        return;
    };
    page.heading("SLO");
    let line = format!(
        "{} % of {} scheduled requests met it ({}); goodput {} requests/s",
        three_digits(attainment * 100.0),
        count(slo.scheduled),
        count(slo.met),
        three_digits(goodput)
    );
    page.entry(Tone::Normal, "  attainment  ", &line);
    let misses: Vec<_> = [
        (slo.over_ttft, "over TTFT"),
        (slo.over_tpot, "over TPOT"),
        (slo.over_e2e, "over e2e"),
        (slo.not_completed, "not completed"),
    ]
    .into_iter()
    .filter(|(number, _)| *number > 0)
    .map(|(number, why)| format!("{} {why}", count(number)))
    .collect();
    if !misses.is_empty() {
        page.entry(Tone::Normal, "  misses      ", &misses.join(", "));
    }
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
    let mut grid = Grid::new([
        "",
        "requests",
        "TTFT p50",
        "p95",
        "p99",
        "TPOT p50",
        "p95",
        "e2e p50",
        "p95",
        "SLO %",
        "goodput/s",
    ]);
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
    latency::write(page, &grid);
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
