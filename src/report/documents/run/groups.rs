//! A run by priority, class, tenant, model and tag, and how evenly tenants were served.

use super::slo::shared;
use crate::analysis::{Fairness, Group, LatencyTable, Metric, Quantile, Summary, TagGroups};
use crate::report::document::{ALWAYS, Section, Table, TableOf, shortened};
use crate::report::documents::parts::cells::bounds;
use crate::units::{count, counted, percent, three_digits};

pub(super) fn sections(summary: &Summary) -> Vec<Section> {
    let kinds = [
        ("By priority", &summary.by_priority, None),
        ("By class", &summary.by_class, None),
        ("By tenant", &summary.by_tenant, summary.fairness),
        ("By model", &summary.by_model, None),
    ];
    // One group says what the whole run says.
    let several = kinds.into_iter().filter(|(_, groups, _)| groups.len() > 1);
    let sections = several.map(|(title, groups, fair)| section(title, groups, fair));
    sections.chain(summary.by_tag.iter().filter_map(by_tag)).collect()
}

/// The requests by one tag; nothing where all have the same value.
fn by_tag(by: &TagGroups) -> Option<Section> {
    let values = by.groups.len() + by.more_values.len();
    if values < 2 && by.untagged == 0 {
        return None;
    }
    let mut section = section(&format!("By {}", by.key), &by.groups, None);
    if !by.more_values.is_empty() {
        let number = counted(by.more_values.len() as u64, "more value");
        section.remark(format!("{number} of `{}` without a row: {}", by.key, by.more_values.join(", ")));
    }
    if by.untagged > 0 {
        section.remark(format!("{} without `{}`", counted(by.untagged, "request"), by.key));
    }
    Some(section)
}

fn section(title: &str, groups: &[Group], fair: Option<Fairness>) -> Section {
    let mut section = Section::detail(format!("{title}, ms"));
    section.table(latencies(title, groups));
    if groups.iter().any(|group| group.slo.declared) {
        section.table(attainments(title, groups));
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

fn latencies(title: &str, groups: &[Group]) -> Table {
    let table = Table::of(format!("{title}: latencies, ms"), groups)
        .column("", |group| group.name.as_str())
        .column(("requests", 4), |group| group.requests);
    with_latencies(table, |group| &group.latency)
        .column(("errors", 5), |group| group.error_rate.map(percent))
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

/// The SLO of each group and how many met it; nothing for a group that has none.
fn attainments(title: &str, groups: &[Group]) -> Table {
    let label = |group: &Group| match shared(group).filter(|slo| !slo.is_empty()) {
        Some(slo) => format!("{} ({})", shortened(&group.name), bounds(slo)),
        None => group.name.clone(),
    };
    let declared = |group: &'_ Group| group.slo.declared.then_some(group.slo);
    Table::of(format!("{title}: SLO attainment"), groups)
        .column("SLO", label)
        .column("requests", |group| group.slo.with_slo)
        .column("met", |group| declared(group)?.met)
        .column("%", |group| declared(group)?.slo_attainment.map(|share| share * 100.0))
        .column("goodput/s", |group| declared(group)?.goodput_per_s)
        .table()
}
