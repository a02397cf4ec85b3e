//! Test conditions: what must match between compared runs, fact by fact, and where they differ.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use strum::{Display, EnumString, VariantNames};

use crate::record::RunHeader;
use crate::units::json_value;

/// A condition that a run's figures depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Display, EnumString, VariantNames)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", parse_err_ty = String, parse_err_fn = unknown)]
pub enum Condition {
    /// Whether a server was measured or a model of one computed.
    Simulated,
    /// The models that answered.
    Model,
    /// The accelerator.
    Hardware,
    /// Number of accelerators that served.
    Gpus,
    /// The format of the weights.
    Precision,
    /// The workload: classes, lengths, prompts, SLOs, tenants, checks.
    Workload,
    /// Arrival of requests: the process, its rate, the users of a closed loop.
    Rate,
    /// Length of the load, and the part of it that was measured.
    Window,
    /// The requests drawn, where workload and seed are the same.
    Plan,
    /// The share of the plan that was run.
    Share,
    /// The endpoint.
    Endpoint,
    /// Whether answers were streamed.
    Streaming,
    /// Parameters of every request: sampling, priorities, fields merged into its body.
    Parameters,
    /// Counter of the tokens of prompts.
    Prompts,
    /// The state of the prefix cache before the run.
    Cache,
    /// Limits that the client enforced: its cap and time limits.
    Limits,
    /// The seeds, and so the requests drawn.
    Seed,
    /// The dialect that the server speaks.
    Engine,
    /// Description that the server gives of itself, and the longest context it takes. Of a simulated server its
    /// settings.
    Server,
    /// Other declared facts of the deployment.
    Labels,
    /// The machine that sent, and where its stamps come from.
    Client,
    /// The version of Skyline.
    Skyline,
}

/// The effect of a condition that differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Condition that forbids a comparison of the runs.
    Forbids,
    /// Condition that is reported: often the very thing that is compared.
    Reported,
    /// Condition that varies on purpose.
    Varied,
}

fn unknown(text: &str) -> String {
    format!("`{text}` is not a test condition; use one of: {}", Condition::VARIANTS.join(", "))
}

impl Condition {
    /// The effect where it differs and was not declared to vary.
    pub const fn role(self) -> Role {
        match self {
            Self::Seed | Self::Engine | Self::Server | Self::Labels | Self::Client | Self::Skyline => Role::Reported,
            _ => Role::Forbids,
        }
    }
}

/// Settings of a simulated server that name its hardware and model.
const SIMULATED: [(&str, Condition); 5] = [
    ("serving_model", Condition::Model),
    ("hardware", Condition::Hardware),
    ("tensor_parallel_size", Condition::Gpus),
    ("layout", Condition::Gpus),
    ("precision", Condition::Precision),
];

/// A fact that is not the same on all sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Difference {
    /// Condition that the fact is about.
    pub condition: Condition,
    /// The fact by its dotted name.
    pub fact: String,
    /// Effect of the difference here.
    pub role: Role,
    /// The value on each side, in order; absent where it is not reported.
    pub values: Vec<Option<String>>,
}

/// Facts by condition and name.
pub(super) type Facts = BTreeMap<(Condition, String), String>;

/// All facts of a run.
pub(super) fn facts_of(header: &RunHeader) -> Facts {
    let mut facts = Facts::new();
    let mut tell = |condition, name: &str, value: Value| flatten(&mut facts, condition, name, &value);
    let engine = header.engine();
    let simulated = !engine.modelled.is_empty();
    tell(Condition::Simulated, "simulated", simulated.into());
    tell(Condition::Model, "model", engine.model.clone().into());
    let deployment = &header.deployment;
    tell(Condition::Model, "serving_model", json(&deployment.serving_model));
    tell(Condition::Hardware, "hardware", json(&deployment.hardware));
    tell(Condition::Gpus, "gpus", json(&deployment.gpus));
    tell(Condition::Precision, "precision", json(&deployment.precision));
    tell(Condition::Server, "async_scheduling", json(&deployment.async_scheduling));
    tell(Condition::Labels, "gpu_hour", json(&deployment.gpu_hour));
    tell(Condition::Labels, "kwh_price", json(&deployment.kwh_price));
    tell(Condition::Labels, "gpu_watts", json(&deployment.gpu_watts));
    tell(Condition::Labels, "currency", json(&deployment.currency));
    tell(Condition::Labels, "label", json(&deployment.labels));
    tell(Condition::Labels, "fact", json(&deployment.facts));
    for (setting, value) in &engine.modelled {
        let known = SIMULATED.iter().find(|(name, _)| name == setting);
        let condition = known.map_or(Condition::Server, |(_, condition)| *condition);
        tell(condition, &format!("modelled.{setting}"), value.clone());
    }
    tell_workload(&mut tell, json(&header.workload.without_texts().without_groups()));
    tell(Condition::Share, "shard", json(&header.shard));
    tell(Condition::Endpoint, "endpoint", engine.endpoint.clone().into());
    tell(Condition::Streaming, "streamed", engine.streamed.into());
    let parameters = engine.parameters.as_ref().map(ToString::to_string);
    tell(Condition::Parameters, "parameters", json(&parameters));
    tell(Condition::Parameters, "length_fields", json(&engine.length_fields));
    tell(Condition::Prompts, "prompts", json(&header.prompts.method));
    tell(Condition::Cache, "cache", json(&header.cache));
    tell(Condition::Limits, "limits", json(&header.limits));
    tell(Condition::Engine, "engine", engine.engine.clone().into());
    tell(Condition::Server, "server_version", json(&engine.server_version));
    tell(Condition::Server, "max_model_len", json(&engine.max_model_len));
    tell(Condition::Client, "client", json(&header.host));
    tell(Condition::Client, "stamps", json(&header.stamps));
    tell(Condition::Client, "proxy", json(&engine.proxy));
    tell(Condition::Client, "http2", json(&engine.http2));
    tell(Condition::Skyline, "skyline_version", header.skyline_version.clone().into());
    facts
}

/// Tells the workload's facts without its name and description, which change nothing that is sent.
fn tell_workload(tell: &mut impl FnMut(Condition, &str, Value), workload: Value) {
    let Value::Object(fields) = workload else { return };
    for (key, value) in fields {
        let condition = match key.as_str() {
            "name" | "description" => continue,
            "seed" => Condition::Seed,
            "arrival" => Condition::Rate,
            "clients" => Condition::Limits,
            "horizon_s" | "requests" | "warmup_s" | "drain_s" => Condition::Window,
            _ => Condition::Workload,
        };
        tell(condition, &key, value);
    }
}

fn json(value: &impl Serialize) -> Value {
    // Facts of a header are what a log is written of, and can be written as JSON.
    json_value(value).unwrap_or_default()
}

/// Tells a value's leaves by their dotted names. A rate of one class is a rate all the same.
fn flatten(facts: &mut Facts, condition: Condition, name: &str, value: &Value) {
    let condition = if name.ends_with(".arrival") { Condition::Rate } else { condition };
    match value {
        Value::Null => {}
        Value::Object(fields) => {
            for (key, value) in fields {
                flatten(facts, condition, &format!("{name}.{key}"), value);
            }
        }
        Value::Array(items) => {
            for (place, value) in items.iter().enumerate() {
                flatten(facts, condition, &format!("{name}[{place}]"), value);
            }
        }
        Value::String(text) => _ = facts.insert((condition, name.to_owned()), text.clone()),
        leaf => _ = facts.insert((condition, name.to_owned()), leaf.to_string()),
    }
}

/// Returns the facts in which the sides differ, the gravest first, each with its effect. `varied` names conditions that
/// vary on purpose.
pub(super) fn differences(sides: &[Facts], varied: &[Condition]) -> Vec<Difference> {
    let mut names: Vec<&(Condition, String)> = sides.iter().flat_map(BTreeMap::keys).collect();
    names.sort();
    names.dedup();
    let differing = names.into_iter().filter_map(|name| {
        let values: Vec<Option<String>> = sides.iter().map(|facts| facts.get(name).cloned()).collect();
        let (condition, fact) = name;
        let role = match condition.role() {
            _ if varied.contains(condition) => Role::Varied,
            // A value that one side does not report may be the same.
            Role::Forbids if may_be_unsaid(*condition) && values.iter().any(Option::is_none) => {
                let mut known = values.iter().flatten();
                let first = known.next();
                if known.all(|value| Some(value) == first) { Role::Reported } else { Role::Forbids }
            }
            role => role,
        };
        let same = values.windows(2).all(|pair| pair[0] == pair[1]);
        (!same).then(|| Difference { condition: *condition, fact: fact.clone(), role, values })
    });
    differing.collect()
}

/// Whether users declare the fact, and may omit it, or older logs lack it.
const fn may_be_unsaid(condition: Condition) -> bool {
    use Condition::{Gpus, Hardware, Model, Parameters, Precision};
    matches!(condition, Model | Hardware | Gpus | Precision | Parameters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_condition_is_read_by_its_name_and_stands_at_its_place() {
        for (place, name) in Condition::VARIANTS.iter().enumerate() {
            let condition: Condition = name.parse().unwrap();
            assert_eq!(condition.to_string(), *name);
            assert_eq!(condition as usize, place);
            assert_eq!(serde_json::to_value(condition).unwrap(), *name);
        }
        assert!("colour".parse::<Condition>().unwrap_err().contains("hardware, gpus"));
    }
}
