//! A run by its parts: priorities, classes, tenants, models, tags, phases, prompt lengths, servers and addresses.

use super::slo::shared;
use crate::analysis::{Fairness, FigureKey, Metric, Part, PhaseLoad, Quantile, ServerGroup, Summary, TagValues};
use crate::record::PartKind;
use crate::report::document::{ALWAYS, FigureColumn, Section, Table, TableCell, TableOf, shortened};
use crate::report::documents::parts::cells::bounds;
use crate::units::{count, counted, listed, percent, three_digits};

pub(super) fn sections(summary: &Summary) -> Vec<Section> {
    let by_header = summary.run.engine.replica_header.is_some();
    let kinds = [
        ("By priority", PartKind::Priority, None),
        ("By class", PartKind::Class, None),
        ("By tenant", PartKind::Tenant, summary.fairness),
        ("By model", PartKind::Model, None),
        ("By prompt length, tokens", PartKind::PromptLength, None),
        ("By server", PartKind::Server, None),
        (if by_header { "By replica" } else { "By address" }, PartKind::Address, None),
    ];
    let several = kinds.into_iter().filter_map(|(title, kind, fair)| {
        let parts = summary.parts_of(kind);
        // One part says what the whole run says.
        let group = summary.servers.as_ref().filter(|group| group.kind == kind);
        (parts.len() > 1).then(|| match group {
            Some(group) => servers(title, &parts, group),
            None => section(title, &parts, fair),
        })
    });
    let tags = summary.tags.iter().filter_map(|tag| by_tag(summary, tag));
    several.chain(tags).chain([by_phase(summary)]).collect()
}

/// The requests by one tag; nothing where all have the same value.
fn by_tag(summary: &Summary, tag: &TagValues) -> Option<Section> {
    let TagValues { key, shown, more_values, untagged } = tag;
    if shown.len() + more_values.len() < 2 && *untagged == 0 {
        return None;
    }
    let mut parts = summary.parts_of(PartKind::Tag);
    parts.retain(|part| part.name.split_once('=').is_some_and(|(of, _)| of == key));
    let more = listed(more_values, ", ").map(|values| {
        let number = counted(more_values.len() as u64, "more value");
        format!("{number} of `{key}` without a row: {values}")
    });
    let untagged = (*untagged > 0).then(|| format!("{} without `{key}`", counted(*untagged, "request")));
    Some(section(&format!("By {key}"), &parts, None).remark(more).remark(untagged))
}

/// The requests by the phase of the load that they came in.
fn by_phase(summary: &Summary) -> Section {
    let table = Table::over("By phase of the load: latencies, ms", summary.parts_of(PartKind::Phase))
        .column("", phase_name)
        .column(("s", 6), |phase| phase.load.map(|load| load.seconds))
        .column(("requests", 4), |phase| phase.requests)
        .column(("per s", 7), |phase| phase.load?.scheduled_per_s)
        .figures(&LATENCIES, latency)
        .column_where_known(("SLO", 5), |phase| phase.slo.slo_attainment.map(percent))
        .column(("errors", 5), |phase| phase.error_rate.map(percent));
    Section::detail("By phase of the load, ms").table(table)
}

/// `stage 2: 4 to 16/s`.
fn phase_name(phase: &Part) -> String {
    let name = phase.name.replace('_', " ");
    match phase.load {
        Some(PhaseLoad { from_rate_per_s: Some(from), to_rate_per_s: Some(to), .. }) => {
            let from = if from.to_bits() == to.to_bits() { None } else { Some(three_digits(from)) };
            let from = from.map_or_else(String::new, |from| format!("{from} to "));
            format!("{name}: {from}{}/s", three_digits(to))
        }
        _ => name,
    }
}

/// Name of a part below a heading that says its kind.
fn name(part: &Part) -> &str {
    let value = part.name.split_once('=').filter(|_| part.kind == PartKind::Tag);
    value.map_or(&part.name, |(_, value)| value)
}

fn section(title: &str, parts: &[&Part], fair: Option<Fairness>) -> Section {
    let declared = parts.iter().any(|part| part.slo.declared);
    Section::detail(format!("{title}, ms"))
        .table(latencies(title, parts))
        .tables(declared.then(|| attainments(title, parts)))
        .facts("fairness", fair.and_then(fairness))
}

/// Several servers, or addresses of one: what each got, and how it answered.
fn servers(title: &str, parts: &[&Part], group: &ServerGroup) -> Section {
    const LATENCIES: [FigureColumn; 4] = [
        FigureColumn::percentile(Metric::Ttft, Quantile::P50, ALWAYS),
        FigureColumn::percentile(Metric::Ttft, Quantile::P99, ALWAYS),
        FigureColumn::percentile(Metric::Tpot, Quantile::P50, ALWAYS),
        FigureColumn::percentile(Metric::Tpot, Quantile::P99, 1),
    ];
    let rows = parts.iter().copied().zip(&group.each);
    let table = Table::over(format!("{title}: latencies, ms"), rows)
        .column("", |(part, _)| part.name.clone())
        .column(("requests", 4), |(part, _)| part.requests)
        .column(("share", ALWAYS), |(_, server)| server.share.map(percent))
        .column_where_known(("meant", 5), |(_, server)| server.meant.map(percent))
        .figures(&LATENCIES, |(part, _), key| latency(part, key))
        .column(("errors", ALWAYS), |(part, _)| part.error_rate.map(percent))
        .column_where_known(("cache hits", 3), |(_, server)| server.cache_hit_rate.map(percent));
    let number = group.each.len();
    let evenness = group.evenness.map(|index| {
        let (least, meant) = (
            three_digits(1.0 / number as f64),
            if group.each.iter().any(|server| server.meant.is_some()) { "as meant" } else { "even" },
        );
        format!("{index:.3} (Jain's index over {number} of what each got: 1 is {meant}, {least} one gets all)")
    });
    Section::detail(format!("{title}, ms"))
        .table(table)
        .facts("requests shared out by", group.routing.as_ref().map(ToString::to_string))
        .facts("evenness", evenness)
}

/// Says how evenly the tenants were served.
fn fairness(fairness: Fairness) -> Option<String> {
    let indices =
        [("attainment", fairness.attainment), ("service", fairness.service), ("promptness", fairness.promptness)];
    let indices = indices.into_iter().filter_map(|(of, index)| Some(format!("{of} {:.3}", index?)));
    let (tenants, least) = (count(fairness.tenants), three_digits(1.0 / fairness.tenants as f64));
    let meaning = format!("Jain's index over {tenants} tenants: 1 is even, {least} one gets all");
    Some(format!("{} ({meaning})", listed(indices, ", ")?))
}

fn latencies<'a>(title: &str, parts: &[&'a Part]) -> TableOf<&'a Part> {
    Table::over(format!("{title}: latencies, ms"), parts.iter().copied())
        .column("", |part| name(part).to_owned())
        .column(("requests", 4), |part| part.requests)
        .figures(&LATENCIES, latency)
        .column(("errors", 5), |part| part.error_rate.map(percent))
}

/// The latencies that users feel, in tables of parts of a run.
const LATENCIES: [FigureColumn; 7] = [
    FigureColumn::percentile(Metric::Ttft, Quantile::P50, ALWAYS),
    FigureColumn::percentile(Metric::Ttft, Quantile::P95, ALWAYS),
    FigureColumn::percentile(Metric::Ttft, Quantile::P99, 1),
    FigureColumn::percentile(Metric::Tpot, Quantile::P50, ALWAYS),
    FigureColumn::percentile(Metric::Tpot, Quantile::P95, 2),
    FigureColumn::percentile(Metric::E2e, Quantile::P50, ALWAYS),
    FigureColumn::percentile(Metric::E2e, Quantile::P95, 3),
];

/// The cell of a percentile of a part.
fn latency(part: &Part, key: &FigureKey) -> TableCell {
    key.statistic.and_then(|statistic| part.latency.row(key.metric)?.at(statistic)).into()
}

/// Returns the SLO of each part and how many met it. There is nothing for a part that has none.
fn attainments<'a>(title: &str, parts: &[&'a Part]) -> TableOf<&'a Part> {
    let label = |part: &Part| match shared(part).filter(|slo| !slo.is_empty()) {
        Some(slo) => format!("{} ({})", shortened(name(part)), bounds(slo)),
        None => name(part).to_owned(),
    };
    let declared = |part: &Part| part.slo.declared.then_some(part.slo);
    Table::over(format!("{title}: SLO attainment"), parts.iter().copied())
        .column("SLO", label)
        .column("requests", |part| part.slo.with_slo)
        .column("met", |part| declared(part)?.met)
        .column("%", |part| declared(part)?.slo_attainment.map(|share| share * 100.0))
        .column("goodput/s", |part| declared(part)?.goodput_per_s)
}
