//! Promises: attainment and goodput, the breakdowns with their fairness, and objectives.

use super::grid::{ALWAYS, Grid, NOTHING, cell, shortened};
use super::latency;
use super::page::{Page, Tone};
use crate::analysis::wording::{counted, percent};
use crate::analysis::{Group, Metric, Quantile, SloTarget, Status, Summary};
use crate::units::{count, three_digits};
use crate::workload::Slo;

pub(crate) fn slo(page: &mut Page, summary: &Summary) {
    let slo = &summary.slo;
    if !slo.declared {
        return;
    }
    page.heading("SLO");
    promises(page, summary);
    let (promised, others) = match slo.scheduled - slo.promised {
        0 => (counted(slo.scheduled, "scheduled request"), String::new()),
        free => (
            counted(slo.promised, "promised request"),
            format!("; {} of {} were promised nothing", count(free), count(slo.scheduled)),
        ),
    };
    let line = match (slo.slo_attainment, slo.met, slo.goodput_per_s) {
        (Some(attainment), Some(met), Some(goodput)) => format!(
            "{} of {promised} met it ({}); goodput {} requests/s{others}",
            percent(attainment),
            count(met),
            three_digits(goodput)
        ),
        _ => format!("{NOTHING}: how many of {promised} met it is unknown, and so is goodput{others}"),
    };
    page.entry(Tone::Normal, "  attainment  ", &line);
    let misses: Vec<_> = [
        (slo.over_ttft, "over TTFT"),
        (slo.over_tpot, "over TPOT"),
        (Some(slo.over_e2e), "over e2e"),
        (Some(slo.of_another_form), "of another form"),
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

/// Every promise, unless the tables of the groups have room to tell: where each group has one.
fn promises(page: &mut Page, summary: &Summary) {
    let groups = || summary.by_class.iter().chain(&summary.by_priority);
    let told = summary.by_class.len().max(summary.by_priority.len()) > 1
        && [&summary.by_class, &summary.by_priority]
            .into_iter()
            .any(|groups| groups.len() > 1 && groups.iter().all(|group| shared(group).is_some()));
    if told {
        return;
    }
    let mut label = "  promised    ";
    let mut all: Vec<&SloTarget> = Vec::new();
    for promise in groups().flat_map(|group| &group.promises) {
        if !all.contains(&promise) {
            all.push(promise);
        }
    }
    for promise in &all {
        let line = if all.len() == 1 {
            bounds(promise.slo)
        } else {
            let tenant = promise.tenant.as_ref().map(|name| format!(", {name}")).unwrap_or_default();
            format!("{}, {}{tenant}: {}", promise.class, promise.priority, bounds(promise.slo))
        };
        page.entry(Tone::Normal, label, &line);
        label = "              ";
    }
}

/// What a group promises, where it promises the same to all of its requests.
fn shared(group: &Group) -> Option<Slo> {
    let first = group.promises.first()?.slo;
    group.promises.iter().all(|promise| promise.slo == first).then_some(first)
}

/// Title of the breakdown that tells how fair the server was.
const BY_TENANT: &str = "By tenant";

pub(crate) fn breakdown(page: &mut Page, summary: &Summary) {
    for (title, groups) in [
        ("By priority", &summary.by_priority),
        ("By class", &summary.by_class),
        (BY_TENANT, &summary.by_tenant),
        ("By model", &summary.by_model),
    ] {
        // One group says what the whole run says.
        if groups.len() > 1 {
            page.heading(&format!("{title}, ms"));
            latencies(page, groups);
            if groups.iter().any(|group| group.slo.declared) {
                attainments(page, groups);
            }
            if title == BY_TENANT {
                fairness(page, summary);
            }
        }
    }
}

/// How evenly the tenants were served.
fn fairness(page: &mut Page, summary: &Summary) {
    let Some(fairness) = &summary.fairness else { return };
    let indices: Vec<_> = [
        ("attainment", fairness.attainment),
        ("service", fairness.service),
        ("promptness", fairness.promptness),
    ]
    .into_iter()
    .filter_map(|(of, index)| Some(format!("{of} {:.3}", index?)))
    .collect();
    if !indices.is_empty() {
        let line = format!(
            "{} (Jain's index over {} tenants: 1 is even, {} one gets all)",
            indices.join(", "),
            count(fairness.tenants),
            three_digits(1.0 / fairness.tenants as f64)
        );
        page.entry(Tone::Normal, "  fairness    ", &line);
    }
}

fn latencies(page: &mut Page, groups: &[Group]) {
    let mut grid = Grid::new(&[
        ("", ALWAYS),
        ("requests", 4),
        ("TTFT p50", ALWAYS),
        ("p95", ALWAYS),
        ("p99", 1),
        ("TPOT p50", ALWAYS),
        ("p95", 2),
        ("e2e p50", ALWAYS),
        ("p95", 3),
    ]);
    for group in groups {
        let cell = |metric, quantile| {
            let row = group.latency.row(metric);
            row.map_or(NOTHING.to_owned(), |row| latency::percentile(row.percentile(quantile)))
        };
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
        ]);
    }
    page.grid(grid);
}

/// What each group was promised and how much of it was kept; nothing for one that was promised nothing.
fn attainments(page: &mut Page, groups: &[Group]) {
    let columns = ["SLO", "promised", "met", "%", "goodput/s"].map(|title| (title, ALWAYS));
    let mut grid = Grid::new(&columns);
    for group in groups {
        let slo = &group.slo;
        let label = match shared(group).filter(|slo| !slo.is_empty()) {
            Some(slo) => format!("{} ({})", shortened(&group.name), bounds(slo)),
            None => group.name.clone(),
        };
        let known = |value: Option<f64>| value.filter(|_| slo.declared).map_or(NOTHING.to_owned(), cell);
        grid.row([
            label,
            count(slo.promised),
            slo.met.filter(|_| slo.declared).map_or(NOTHING.to_owned(), count),
            known(slo.slo_attainment.map(|share| share * 100.0)),
            known(slo.goodput_per_s),
        ]);
    }
    page.blank();
    page.grid(grid);
}

/// Bounds as a person reads them.
pub(crate) fn bounds(slo: Slo) -> String {
    let given: Vec<_> = [("TTFT", slo.ttft_ms), ("TPOT", slo.tpot_ms), ("e2e", slo.e2e_ms)]
        .into_iter()
        .filter_map(|(figure, bound)| Some(format!("{figure} ≤ {} ms", bound?)))
        .collect();
    if given.is_empty() { "nothing".to_owned() } else { given.join(", ") }
}

pub(crate) fn objectives(page: &mut Page, summary: &Summary) {
    judgements(page, summary.objectives.iter().map(|judgement| (judgement.status, judgement.line.as_str())));
}

/// Objectives, each with its status and its line.
pub(crate) fn judgements<'a>(page: &mut Page, judgements: impl Iterator<Item = (Status, &'a str)>) {
    for (i, (status, line)) in judgements.enumerate() {
        if i == 0 {
            page.heading("Objectives");
        }
        let (sign, tone) = match status {
            Status::Met => ("  ✓ ", Tone::Good),
            Status::Missed => ("  ✗ ", Tone::Bad),
            Status::Unresolvable => ("  ? ", Tone::Bad),
        };
        page.entry(tone, sign, line);
    }
}
