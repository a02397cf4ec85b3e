//! A run by priority, class, tenant and model, and how evenly tenants were served.

use super::slo::shared;
use crate::analysis::wording::percent;
use crate::analysis::{Group, Metric, Quantile, Summary};
use crate::report::document::{NOTHING, Section, Table, TableCell, TableColumn, shortened};
use crate::report::documents::parts::cells::bounds;
use crate::units::{count, three_digits};

pub(super) fn sections(summary: &Summary) -> Vec<Section> {
    let kinds = [
        ("By priority", &summary.by_priority),
        ("By class", &summary.by_class),
        ("By tenant", &summary.by_tenant),
        ("By model", &summary.by_model),
    ];
    // One group says what the whole run says.
    let several = kinds.into_iter().filter(|(_, groups)| groups.len() > 1);
    several.map(|(title, groups)| section(title, groups, summary)).collect()
}

fn section(title: &str, groups: &[Group], summary: &Summary) -> Section {
    let mut section = Section::detail(format!("{title}, ms"));
    section.table(latencies(title, groups));
    if groups.iter().any(|group| group.slo.declared) {
        section.table(attainments(title, groups));
    }
    if std::ptr::eq(groups, summary.by_tenant.as_slice()) {
        fairness(&mut section, summary);
    }
    section
}

/// How evenly the tenants were served.
fn fairness(section: &mut Section, summary: &Summary) {
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
        section.fact("fairness", line);
    }
}

fn latencies(title: &str, groups: &[Group]) -> Table {
    let column = |title: &str, worth: u8| TableColumn::new(title).worth(worth);
    let columns = [
        "".into(),
        column("requests", 4),
        "TTFT p50".into(),
        "p95".into(),
        column("p99", 1),
        "TPOT p50".into(),
        column("p95", 2),
        "e2e p50".into(),
        column("p95", 3),
        column("errors", 5),
    ];
    let mut table = Table::new(format!("{title}: latencies, ms"), columns);
    for group in groups {
        let shown = |metric, quantile| {
            let row = group.latency.row(metric);
            row.map_or(NOTHING.into(), |row| TableCell::percentile(row.percentile(quantile)))
        };
        table.row([
            group.name.as_str().into(),
            TableCell::count(group.requests),
            shown(Metric::Ttft, Quantile::P50),
            shown(Metric::Ttft, Quantile::P95),
            shown(Metric::Ttft, Quantile::P99),
            shown(Metric::Tpot, Quantile::P50),
            shown(Metric::Tpot, Quantile::P95),
            shown(Metric::E2e, Quantile::P50),
            shown(Metric::E2e, Quantile::P95),
            group.error_rate.map_or(NOTHING.into(), |share| percent(share).into()),
        ]);
    }
    table
}

/// The SLO of each group and how many met it; nothing for a group that has none.
fn attainments(title: &str, groups: &[Group]) -> Table {
    let mut table =
        Table::new(format!("{title}: SLO attainment"), ["SLO", "requests", "met", "%", "goodput/s"]);
    for group in groups {
        let slo = &group.slo;
        let label = match shared(group).filter(|slo| !slo.is_empty()) {
            Some(slo) => format!("{} ({})", shortened(&group.name), bounds(slo)),
            None => group.name.clone(),
        };
        let known = |value: Option<f64>| TableCell::known(value.filter(|_| slo.declared));
        table.row([
            label.into(),
            TableCell::count(slo.with_slo),
            slo.met.filter(|_| slo.declared).map_or(NOTHING.into(), TableCell::count),
            known(slo.slo_attainment.map(|share| share * 100.0)),
            known(slo.goodput_per_s),
        ]);
    }
    table
}
