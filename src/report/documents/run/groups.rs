//! A run by priority, class, tenant, model and tag, and how evenly tenants were served.

use super::slo::shared;
use crate::analysis::{Fairness, LatencyTable, Metric, Part, Quantile, Summary, TagValues};
use crate::record::PartKind;
use crate::report::document::{ALWAYS, Section, Table, TableOf, shortened};
use crate::report::documents::parts::cells::bounds;
use crate::units::{count, counted, percent, three_digits};

pub(super) fn sections(summary: &Summary) -> Vec<Section> {
    let kinds = [
        ("By priority", PartKind::Priority, None),
        ("By class", PartKind::Class, None),
        ("By tenant", PartKind::Tenant, summary.fairness),
        ("By model", PartKind::Model, None),
    ];
    let several = kinds.into_iter().filter_map(|(title, kind, fair)| {
        let parts = summary.parts_of(kind);
        // One part says what the whole run says.
        (parts.len() > 1).then(|| section(title, &parts, fair))
    });
    several.chain(summary.tags.iter().filter_map(|tag| by_tag(summary, tag))).collect()
}

/// The requests by one tag; nothing where all have the same value.
fn by_tag(summary: &Summary, tag: &TagValues) -> Option<Section> {
    let TagValues { key, shown, more_values, untagged } = tag;
    if shown.len() + more_values.len() < 2 && *untagged == 0 {
        return None;
    }
    let mut parts = summary.parts_of(PartKind::Tag);
    parts.retain(|part| part.name.split_once('=').is_some_and(|(of, _)| of == key));
    let mut section = section(&format!("By {key}"), &parts, None);
    if !more_values.is_empty() {
        let number = counted(more_values.len() as u64, "more value");
        section.remark(format!("{number} of `{key}` without a row: {}", more_values.join(", ")));
    }
    if *untagged > 0 {
        section.remark(format!("{} without `{key}`", counted(*untagged, "request")));
    }
    Some(section)
}

/// Name of a part below a heading that says its kind.
fn name(part: &Part) -> &str {
    let value = part.name.split_once('=').filter(|_| part.kind == PartKind::Tag);
    value.map_or(&part.name, |(_, value)| value)
}

fn section(title: &str, parts: &[&Part], fair: Option<Fairness>) -> Section {
    let mut section = Section::detail(format!("{title}, ms"));
    section.table(latencies(title, parts));
    if parts.iter().any(|part| part.slo.declared) {
        section.table(attainments(title, parts));
    }
    section.facts("fairness", fair.and_then(fairness));
    section
}

/// How evenly the tenants were served.
fn fairness(fairness: Fairness) -> Option<String> {
    let indices: Vec<_> = [
        ("attainment", fairness.attainment),
        ("service", fairness.service),
        ("promptness", fairness.promptness),
    ]
    .into_iter()
    .filter_map(|(of, index)| Some(format!("{of} {:.3}", index?)))
    .collect();
    let (tenants, least) = (count(fairness.tenants), three_digits(1.0 / fairness.tenants as f64));
    let meaning = format!("Jain's index over {tenants} tenants: 1 is even, {least} one gets all");
    (!indices.is_empty()).then(|| format!("{} ({meaning})", indices.join(", ")))
}

fn latencies(title: &str, parts: &[&Part]) -> Table {
    let table = Table::of(format!("{title}: latencies, ms"), parts.iter().copied())
        .column("", name)
        .column(("requests", 4), |part| part.requests);
    with_latencies(table, |part| &part.latency)
        .column(("errors", 5), |part| part.error_rate.map(percent))
        .table()
}

/// Adds the latencies that users feel to a table of parts of a run.
pub(super) fn with_latencies<'a, R: Copy>(
    table: TableOf<R>,
    of: impl Fn(R) -> &'a LatencyTable,
) -> TableOf<R> {
    let columns = [
        ("TTFT p50", ALWAYS, Metric::Ttft, Quantile::P50),
        ("p95", ALWAYS, Metric::Ttft, Quantile::P95),
        ("p99", 1, Metric::Ttft, Quantile::P99),
        ("TPOT p50", ALWAYS, Metric::Tpot, Quantile::P50),
        ("p95", 2, Metric::Tpot, Quantile::P95),
        ("e2e p50", ALWAYS, Metric::E2e, Quantile::P50),
        ("p95", 3, Metric::E2e, Quantile::P95),
    ];
    columns.into_iter().fold(table, |table, (title, worth, metric, quantile)| {
        table.column((title, worth), |row| of(row).percentile(metric, quantile))
    })
}

/// The SLO of each part and how many met it; nothing for a part that has none.
fn attainments(title: &str, parts: &[&Part]) -> Table {
    let label = |part: &Part| match shared(part).filter(|slo| !slo.is_empty()) {
        Some(slo) => format!("{} ({})", shortened(name(part)), bounds(slo)),
        None => name(part).to_owned(),
    };
    let declared = |part: &Part| part.slo.declared.then_some(part.slo);
    Table::of(format!("{title}: SLO attainment"), parts.iter().copied())
        .column("SLO", label)
        .column("requests", |part| part.slo.with_slo)
        .column("met", |part| declared(part)?.met)
        .column("%", |part| declared(part)?.slo_attainment.map(|share| share * 100.0))
        .column("goodput/s", |part| declared(part)?.goodput_per_s)
        .table()
}
