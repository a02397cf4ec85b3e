//! Latencies, bounds, p-values and servers as several documents show them.

use crate::analysis::FigureKind;
use crate::experiment::Latency;
use crate::experiment::matrix::in_currency;
use crate::record::{DeploymentFacts, EngineFacts};
use crate::report::document::cell;
use crate::units::{counted, listed, three_digits};
use crate::workload::Slo;

/// Meaning of the mark of an indicative percentile over several runs.
pub(crate) const INDICATIVE: &str = "indicative: in a run, fewer than ten independent samples lie above it";

/// Returns a figure's name with the unit of its column or row. Examples are `p95 ttft, ms` and `goodput, /s`.
pub(crate) fn with_unit(name: &str, kind: FigureKind) -> String {
    match kind {
        FigureKind::Latency => format!("{name}, ms"),
        FigureKind::Rate => format!("{}, /s", name.strip_suffix("_per_s").unwrap_or(name)),
        FigureKind::Share => format!("{name}, %"),
        FigureKind::Count | FigureKind::Cost => name.to_owned(),
    }
}

/// `TTFT ≤ 200 ms, TPOT ≤ 50 ms`.
pub(crate) fn bounds(slo: Slo) -> String {
    let given = [("TTFT", slo.ttft_ms), ("TPOT", slo.tpot_ms), ("e2e", slo.e2e_ms)];
    let given = given.into_iter().filter_map(|(figure, bound)| Some(format!("{figure} ≤ {} ms", bound?)));
    listed(given, ", ").unwrap_or_else(|| "nothing".to_owned())
}

/// Says which engine serves which model where, and on what. An example is
/// `vllm 0.11 at http://…, llama on 2 × H200, tp 2`.
pub(crate) fn served_by(facts: &EngineFacts, deployment: &DeploymentFacts) -> String {
    let labels = deployment.labels.iter().map(|(name, value)| format!(", {name} {value}"));
    let labels: String = labels.collect();
    format!("{}, {}{}{labels}", server(facts), facts.model, on(deployment))
}

/// Names the hardware that serves, as the user gave it. It stands behind a name, as in ` on 2 × h200`.
pub(crate) fn on(facts: &DeploymentFacts) -> String {
    match (facts.gpus, &facts.hardware) {
        (_, None) => String::new(),
        (None | Some(1), Some(hardware)) => format!(" on {hardware}"),
        (Some(gpus), Some(hardware)) => format!(" on {gpus} × {hardware}"),
    }
}

/// The engine with its version: `vllm 0.11`.
pub(crate) fn engine(facts: &EngineFacts) -> String {
    versioned(&facts.engine, facts.server_version.as_deref())
}

/// A program with its version, where that is known.
pub(crate) fn versioned(name: &str, version: Option<&str>) -> String {
    version.map_or(name.to_owned(), |version| format!("{name} {version}"))
}

/// Names the engine with its address: `vllm 0.11 at http://…`. Of a model it says that it is one.
pub(crate) fn server(facts: &EngineFacts) -> String {
    if facts.modelled.is_empty() {
        format!("{} at {}", engine(facts), facts.url)
    } else {
        format!("{}, in virtual time", facts.engine)
    }
}

/// Describes what serves, as the user gave it: `4 × h100, llama-3.1-70b in fp8, commit=4f2a91c`.
pub(crate) fn deployment(facts: &DeploymentFacts) -> Option<String> {
    let DeploymentFacts { hardware, gpus, serving_model, precision, async_scheduling, labels, facts: stated, .. } =
        facts;
    let hardware = match (gpus, hardware) {
        (Some(gpus), Some(hardware)) => Some(format!("{gpus} × {hardware}")),
        (Some(gpus), None) => Some(counted(u64::from(*gpus), "GPU")),
        (None, hardware) => hardware.clone(),
    };
    let model = match (serving_model, precision) {
        (Some(model), Some(precision)) => Some(format!("{model} in {precision}")),
        (None, Some(precision)) => Some(format!("weights in {precision}")),
        (model, None) => model.clone(),
    };
    let scheduling = (*async_scheduling == Some(false)).then(|| "scheduled synchronously".to_owned());
    let labels = labels.iter().map(|(name, value)| format!("{name}={value}"));
    let stated = stated.iter().map(|(fact, value)| format!("{} {value}", fact.name()));
    let own = hardware.into_iter().chain(model).chain(scheduling).chain(stated).chain(prices(facts));
    listed(own.chain(labels), ", ")
}

/// The prices, and the power that is claimed: `2.50 EUR for a GPU hour`.
pub(crate) fn prices(facts: &DeploymentFacts) -> impl Iterator<Item = String> {
    let price = |price: Option<f64>, of: &str| {
        price.map(|price| format!("{} for a {of}", in_currency(price, facts.currency.as_deref())))
    };
    let watts = facts.gpu_watts.map(|watts| format!("{} W a GPU claimed", three_digits(watts)));
    [price(facts.gpu_hour, "GPU hour"), price(facts.kwh_price, "kWh"), watts].into_iter().flatten()
}

/// A latency, or the bound that is known of it.
pub(crate) fn latency(latency: Latency) -> Option<String> {
    match latency {
        Latency { value_ms: Some(ms), .. } => Some(cell(ms)),
        Latency { at_most_ms: Some(ms), .. } => Some(format!("≤ {}", cell(ms))),
        Latency { at_least_ms, .. } => Some(format!("> {}", cell(at_least_ms?))),
    }
}

/// `0.012`; of a smaller one only that it is small.
pub(crate) fn p_value(p: f64) -> String {
    if p < 0.001 { "<0.001".to_owned() } else { format!("{p:.3}") }
}

/// Names grouped by the text that they share, in order of their first.
pub(crate) fn grouped<N, T: PartialEq>(all: impl IntoIterator<Item = (N, T)>) -> Vec<(T, Vec<N>)> {
    let mut groups: Vec<(T, Vec<N>)> = Vec::new();
    for (name, text) in all {
        match groups.iter_mut().find(|(known, _)| *known == text) {
            Some((_, names)) => names.push(name),
            None => groups.push((text, vec![name])),
        }
    }
    groups
}
