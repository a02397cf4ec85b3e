//! What a reader has to know of a server to repeat a run: what is reported, and what is missing.

use serde::Serialize;
use serde_json::Value;

use crate::record::{EngineFacts, RunHeader, RunLog};

/// What is known of the server that answered, and what of the description of the run is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reproduction {
    /// What the user, the server or an exporter reported, each fact once, from the first source that has it.
    pub reported: Vec<ReportedFact>,
    /// What none of them reported; empty for the mock and in virtual time, where there is nothing else to know.
    pub missing: Vec<Fact>,
}

/// A fact, with its source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReportedFact {
    /// Which one.
    pub name: Fact,
    /// As reported.
    pub value: String,
    /// Its source.
    pub source: FactSource,
}

/// Where a fact comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FactSource {
    /// The user, by an option or a label.
    User,
    /// The server, under `/version`, `/server_info` and the like.
    Server,
    /// A page of metrics about devices.
    Exporter,
}

impl FactSource {
    /// Its name in a sentence.
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "the user",
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
    /// Request parameters other than length: temperature and the like.
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
    /// Those about the server, in the order of the report.
    const OF_SERVER: [Self; 5] =
        [Self::Hardware, Self::Precision, Self::Driver, Self::EngineVersion, Self::ServingFlags];

    /// Its name in a sentence.
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

    /// The option that states it; `None` where only a newer log has it.
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
    /// What the header of `log` reports, and what is missing.
    pub(crate) fn of(log: &RunLog) -> Self {
        let header = &log.header;
        let engine = &header.engine;
        let reported = reported_facts(header);
        if engine.engine == "mock" || !engine.modelled.is_empty() {
            return Self { reported, missing: Vec::new() };
        }
        let sampling = engine.parameters.is_none().then_some(Fact::SamplingSettings);
        let unreported = |fact: &Fact| reported.iter().all(|reported| reported.name != *fact);
        let missing = sampling.into_iter().chain(Fact::OF_SERVER.into_iter().filter(unreported)).collect();
        Self { reported, missing }
    }

    /// What is reported of `fact`.
    pub(crate) fn value(&self, fact: Fact) -> Option<&str> {
        self.reported.iter().find(|reported| reported.name == fact).map(|reported| reported.value.as_str())
    }
}

/// Names of the setting that says over how many accelerators tensors are split: vLLM's, `SGLang`'s, and short for both.
const TENSOR_PARALLEL: [&str; 4] = ["tensor_parallel_size", "tensor-parallel-size", "tp_size", "tp"];

/// Names of the setting that says in which format weights are: `dtype` of vLLM and `SGLang`, `model_dtype` of TGI.
const PRECISION: [&str; 2] = ["dtype", "model_dtype"];

/// All facts that are reported, in the order of [`Fact`].
fn reported_facts(header: &RunHeader) -> Vec<ReportedFact> {
    let facts = [hardware(header), precision(header), driver(header), version(header), flags(header)];
    facts.into_iter().flatten().collect()
}

/// The accelerators; where the user states them, their number is known apart.
fn hardware(header: &RunHeader) -> Option<ReportedFact> {
    let user = header.deployment.hardware.as_deref();
    let exporter = header.telemetry.iter().find_map(|page| page.hardware.as_deref());
    first(Fact::Hardware, [(FactSource::User, user), (FactSource::Exporter, exporter)])
}

/// The format of weights.
fn precision(header: &RunHeader) -> Option<ReportedFact> {
    let user = header.deployment.precision.as_deref();
    // Which one a server was to choose is not known.
    let server =
        settings(&header.engine, &PRECISION).filter_map(Value::as_str).find(|reported| *reported != "auto");
    first(Fact::Precision, [(FactSource::User, user), (FactSource::Server, server)])
}

/// The version of the accelerators' driver.
fn driver(header: &RunHeader) -> Option<ReportedFact> {
    let exporter = header.telemetry.iter().find_map(|page| page.driver.as_deref());
    first(Fact::Driver, [(FactSource::User, label(header, "driver")), (FactSource::Exporter, exporter)])
}

/// The version of the server, by its own word first.
fn version(header: &RunHeader) -> Option<ReportedFact> {
    let server = header.engine.server_version.as_deref();
    first(Fact::EngineVersion, [(FactSource::Server, server), (FactSource::User, label(header, "version"))])
}

/// How it was started.
fn flags(header: &RunHeader) -> Option<ReportedFact> {
    let flag = |(name, value): (&String, &Value)| match value {
        Value::String(text) => format!("{name}={text}"),
        value => format!("{name}={value}"),
    };
    let flags: Vec<_> = header.engine.serving_flags.iter().map(flag).collect();
    let server = (!flags.is_empty()).then(|| flags.join(", "));
    first(
        Fact::ServingFlags,
        [(FactSource::User, label(header, "flags")), (FactSource::Server, server.as_deref())],
    )
}

/// The first source that has the fact counts.
fn first(fact: Fact, words: [(FactSource, Option<&str>); 2]) -> Option<ReportedFact> {
    let said = words.into_iter().find_map(|(source, value)| Some((source, value?)));
    said.map(|(source, value)| ReportedFact { name: fact, value: value.to_owned(), source })
}

/// Over how many accelerators tensors are split.
pub(crate) fn tensor_parallel(header: &RunHeader) -> Option<u64> {
    let labelled = TENSOR_PARALLEL.iter().find_map(|name| label(header, name)?.parse().ok());
    labelled.or_else(|| settings(&header.engine, &TENSOR_PARALLEL).find_map(Value::as_u64))
}

/// Whether it plans each step while the one before it runs.
pub(crate) fn async_scheduling(header: &RunHeader) -> Option<bool> {
    let own = || settings(&header.engine, &["async_scheduling"]).find_map(Value::as_bool);
    header.deployment.async_scheduling.or_else(own)
}

fn label<'h>(header: &'h RunHeader, name: &str) -> Option<&'h str> {
    header.deployment.labels.get(name).map(String::as_str)
}

/// The server's setting under one of these names, in whatever part of its settings.
fn settings<'e>(engine: &'e EngineFacts, names: &'e [&str]) -> impl Iterator<Item = &'e Value> {
    let wanted = |name: &String| name.rsplit('.').next().is_some_and(|last| names.contains(&last));
    engine.serving_flags.iter().filter(move |(name, _)| wanted(name)).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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

    /// What is reported of `fact`, and its source.
    fn fact_of(header: &RunHeader, fact: Fact) -> Option<(String, FactSource)> {
        let reported = reported_facts(header).into_iter().find(|reported| reported.name == fact);
        reported.map(|reported| (reported.value, reported.source))
    }

    fn by(source: FactSource, value: &str) -> (String, FactSource) {
        (value.to_owned(), source)
    }

    #[test]
    fn a_person_is_believed_first_and_then_the_server() {
        let mut header = run(1_000, Vec::new()).header;
        header.engine.server_version = None;
        assert_eq!(reported_facts(&header), []);
        for (name, value) in [
            ("vllm_config.model_config.dtype", json!("bfloat16")),
            ("vllm_config.parallel_config.tensor_parallel_size", json!(4)),
            ("vllm_config.cache_config.cache_dtype", json!("fp8")),
        ] {
            header.engine.serving_flags.insert(name.to_owned(), value);
        }
        assert_eq!(fact_of(&header, Fact::Precision), Some(by(FactSource::Server, "bfloat16")));
        assert_eq!(tensor_parallel(&header), Some(4));
        for (name, value) in [("version", "0.32"), ("tp", "2"), ("flags", "--x")] {
            header.deployment.labels.insert(name.to_owned(), value.to_owned());
        }
        header.deployment.precision = Some("fp8".to_owned());
        assert_eq!(fact_of(&header, Fact::Precision), Some(by(FactSource::User, "fp8")));
        assert_eq!(tensor_parallel(&header), Some(2));
        assert_eq!(fact_of(&header, Fact::EngineVersion), Some(by(FactSource::User, "0.32")));
        assert_eq!(fact_of(&header, Fact::ServingFlags), Some(by(FactSource::User, "--x")));
        header.engine.server_version = Some("0.33".to_owned());
        assert_eq!(fact_of(&header, Fact::EngineVersion), Some(by(FactSource::Server, "0.33")));
    }

    #[test]
    fn a_person_is_believed_before_an_exporter() {
        let mut header = run(1_000, Vec::new()).header;
        header.telemetry.push(exporter());
        assert_eq!(fact_of(&header, Fact::Hardware), Some(by(FactSource::Exporter, "1 × NVIDIA H100")));
        assert_eq!(fact_of(&header, Fact::Driver), Some(by(FactSource::Exporter, "580.1")));
        header.deployment.hardware = Some("h200".to_owned());
        assert_eq!(fact_of(&header, Fact::Hardware), Some(by(FactSource::User, "h200")));
        assert_eq!(fact_of(&header, Fact::Driver), Some(by(FactSource::Exporter, "580.1")));
    }

    #[test]
    fn a_format_that_the_server_was_to_choose_is_not_known() {
        let mut header = run(1_000, Vec::new()).header;
        header.engine.serving_flags.insert("dtype".to_owned(), json!("auto"));
        assert_eq!(fact_of(&header, Fact::Precision), None);
    }
}
