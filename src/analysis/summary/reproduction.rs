//! What a reader has to know of a server to repeat a run: what somebody told, and what nobody did.

use serde::Serialize;

use crate::analysis::server::serving;
use crate::record::RunLog;

/// What is known of the server that answered, and what of the description of the run is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reproduction {
    /// What a person, the server or an exporter told, each fact once: the word that counts.
    pub told: Vec<ToldFact>,
    /// What none of them told; empty for the mock and in virtual time, where there is nothing else to know.
    pub missing: Vec<Fact>,
}

/// A fact that somebody told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ToldFact {
    /// Which one.
    pub name: Fact,
    /// As it was told.
    pub value: String,
    /// Who told it.
    pub source: Teller,
}

/// Who told a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Teller {
    /// Who flew the run, by an option or a label.
    Person,
    /// The server, under `/version`, `/server_info` and the like.
    Server,
    /// A page of metrics about devices.
    Exporter,
}

impl Teller {
    /// Its name in a sentence.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Person => "a person",
            Self::Server => "the server",
            Self::Exporter => "an exporter",
        }
    }
}

/// Something about a server that its figures cannot be understood without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// What was asked for beside length: temperature and the like.
    SamplingSettings,
    /// The accelerator.
    Hardware,
    /// The format of weights.
    Precision,
    /// The version of the accelerator's driver.
    Driver,
    /// The version of the server.
    EngineVersion,
    /// How the server was started.
    ServingFlags,
}

impl Fact {
    /// Those about the server, in the order in which they are told.
    const OF_SERVER: [Self; 5] =
        [Self::Hardware, Self::Precision, Self::Driver, Self::EngineVersion, Self::ServingFlags];

    /// Its name in a sentence.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SamplingSettings => "sampling settings",
            Self::Hardware => "hardware",
            Self::Precision => "precision",
            Self::Driver => "driver",
            Self::EngineVersion => "engine version",
            Self::ServingFlags => "serving flags",
        }
    }

    /// The option by which a person says it; `None` where only a newer log has it.
    #[must_use]
    pub const fn option(self) -> Option<&'static str> {
        match self {
            Self::SamplingSettings => None,
            Self::Hardware => Some("--hardware"),
            Self::Precision => Some("--precision"),
            Self::Driver => Some("--label driver=…"),
            Self::EngineVersion => Some("--label version=…"),
            Self::ServingFlags => Some("--label flags=…"),
        }
    }
}

impl Reproduction {
    /// What is told and what is missing in the header of `log`.
    pub(crate) fn of(log: &RunLog) -> Self {
        let header = &log.header;
        let engine = &header.engine;
        let told = serving::told(header);
        if engine.engine == "mock" || !engine.modelled.is_empty() {
            return Self { told, missing: Vec::new() };
        }
        let sampling = engine.parameters.is_none().then_some(Fact::SamplingSettings);
        let untold = |fact: &Fact| told.iter().all(|told| told.name != *fact);
        let missing = sampling.into_iter().chain(Fact::OF_SERVER.into_iter().filter(untold)).collect();
        Self { told, missing }
    }

    /// What was told of `fact`.
    pub(crate) fn value(&self, fact: Fact) -> Option<&str> {
        self.told.iter().find(|told| told.name == fact).map(|told| told.value.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::test_runs::{exporter, run};

    #[test]
    fn what_nobody_told_is_missing() {
        let mut log = run(1_000, Vec::new());
        let all = [Fact::SamplingSettings, Fact::Hardware, Fact::Precision, Fact::Driver];
        assert_eq!(Reproduction::of(&log).missing, [&all[..], &[Fact::ServingFlags]].concat());
        log.header.engine.serving_flags.insert("vllm_config.model_config.dtype".into(), "bfloat16".into());
        log.header.telemetry.push(exporter());
        assert_eq!(Reproduction::of(&log).missing, [Fact::SamplingSettings]);
        assert_eq!(Reproduction::of(&log).value(Fact::Hardware), Some("1 × NVIDIA H100"));
        log.header.engine.engine = "mock".to_owned();
        assert!(Reproduction::of(&log).missing.is_empty());
    }
}
