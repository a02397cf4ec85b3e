//! Test conditions: what must match between compared runs, or is worth reporting.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// A condition that a run's figures depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
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

impl Condition {
    /// All of them, the gravest first.
    pub const ALL: [Self; 22] = [
        Self::Simulated,
        Self::Model,
        Self::Hardware,
        Self::Gpus,
        Self::Precision,
        Self::Workload,
        Self::Rate,
        Self::Window,
        Self::Plan,
        Self::Share,
        Self::Endpoint,
        Self::Streaming,
        Self::Parameters,
        Self::Prompts,
        Self::Cache,
        Self::Limits,
        Self::Seed,
        Self::Engine,
        Self::Server,
        Self::Labels,
        Self::Client,
        Self::Skyline,
    ];

    /// Its name on the command line and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Simulated => "simulated",
            Self::Model => "model",
            Self::Hardware => "hardware",
            Self::Gpus => "gpus",
            Self::Precision => "precision",
            Self::Workload => "workload",
            Self::Rate => "rate",
            Self::Window => "window",
            Self::Plan => "plan",
            Self::Share => "share",
            Self::Endpoint => "endpoint",
            Self::Streaming => "streaming",
            Self::Parameters => "parameters",
            Self::Prompts => "prompts",
            Self::Cache => "cache",
            Self::Limits => "limits",
            Self::Seed => "seed",
            Self::Engine => "engine",
            Self::Server => "server",
            Self::Labels => "labels",
            Self::Client => "client",
            Self::Skyline => "skyline",
        }
    }

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

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|condition| condition.name() == text).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("`{text}` is nothing that runs are checked for; use one of: {names}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_condition_is_read_by_its_name_and_stands_at_its_place() {
        for (place, condition) in Condition::ALL.into_iter().enumerate() {
            assert_eq!(condition.name().parse(), Ok(condition));
            assert_eq!(condition as usize, place);
            assert_eq!(serde_json::to_value(condition).unwrap(), condition.name());
        }
        assert!("colour".parse::<Condition>().unwrap_err().contains("hardware, gpus"));
    }
}
