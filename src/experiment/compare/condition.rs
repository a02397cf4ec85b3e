//! Test conditions: what must match between compared runs, or is worth reporting.

use serde::Serialize;
use strum::{Display, EnumString, VariantNames};

/// A condition that a run's figures depend on.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Display, EnumString, VariantNames,
)]
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
    /// How many of them served.
    Gpus,
    /// The format of the weights.
    Precision,
    /// The workload: classes, lengths, prompts, SLOs, tenants, checks.
    Workload,
    /// When requests came: the process, its rate, the users of a closed loop.
    Rate,
    /// How long load was sent, and which part of it was measured.
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
    /// What counted the tokens of prompts.
    Prompts,
    /// The state of the prefix cache before the run.
    Cache,
    /// What the client enforced: its cap and time limits.
    Limits,
    /// The seeds, and so the requests drawn.
    Seed,
    /// The dialect that the server speaks.
    Engine,
    /// What the server calls itself, and the longest context it takes; of a simulated one, its settings.
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
    /// The runs cannot be compared.
    Forbids,
    /// It is reported: often the very thing that is compared.
    Reported,
    /// It varies on purpose.
    Varied,
}

fn unknown(text: &str) -> String {
    format!("`{text}` is nothing that runs are checked for; use one of: {}", Condition::VARIANTS.join(", "))
}

impl Condition {
    /// The effect where it differs and was not declared to vary.
    pub const fn role(self) -> Role {
        match self {
            Self::Seed | Self::Engine | Self::Server | Self::Labels | Self::Client | Self::Skyline => {
                Role::Reported
            }
            _ => Role::Forbids,
        }
    }
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
