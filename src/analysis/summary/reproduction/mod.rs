//! What a reader has to know of a server to repeat a run: what is reported, and what is missing.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::analysis::server::devices::BUSY;
use crate::record::{
    DeploymentFacts, EngineFacts, EngineKind, Fact, Gauge, PageKind, PromptMethod, Reading, RunHeader, RunLog,
    TelemetrySource,
};

/// Facts of the server that answered, and those missing in the run's description.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reproduction {
    /// Facts that the user, the server or an exporter reported. Each is there once, from the first source that has it.
    pub reported: Vec<ReportedFact>,
    /// Facts that none of them reported. Empty for the mock and in virtual time, where there is nothing else to know.
    pub missing: Vec<Fact>,
}

/// A fact, with its source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReportedFact {
    /// Name of the fact.
    pub name: Fact,
    /// Value as reported.
    pub value: String,
    /// Source of the fact.
    pub source: FactSource,
}

/// Where a fact comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FactSource {
    /// The user, by an option, a fact or a label.
    User,
    /// The server, under `/version`, `/server_info` and the like.
    Server,
    /// A page of metrics about devices.
    Exporter,
    /// NVIDIA's management library on this machine.
    Nvml,
    /// The client, by what it sees of the way to the server.
    Client,
}

impl FactSource {
    /// Returns the name of the source in a sentence.
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "the user",
            Self::Server => "the server",
            Self::Exporter => "an exporter",
            Self::Nvml => "NVML",
            Self::Client => "this client",
        }
    }
}

impl Reproduction {
    /// Collects what the header of `log` reports, and what is missing.
    pub(crate) fn from_log(log: &RunLog) -> Self {
        Self::of_server(&Sources { readings: &log.telemetry.readings, ..Sources::from_header(&log.header) })
    }

    /// Collects what the server alone reports, before a run, and what is missing.
    pub(crate) fn of_engine(engine: &EngineFacts) -> Self {
        let nothing = DeploymentFacts::default();
        Self::of_server(&Sources { engine, deployment: &nothing, telemetry: &[], readings: &[], prompts: None })
    }

    fn of_server(sources: &Sources<'_>) -> Self {
        let engine = sources.engine;
        let reported: Vec<_> = Fact::ALL.iter().filter_map(|fact| sources.reported(*fact)).collect();
        if engine.kind() == Some(EngineKind::Mock) || !engine.modelled.is_empty() {
            return Self { reported, missing: Vec::new() };
        }
        let is_missing = |fact: &Fact| match fact {
            Fact::SamplingSettings => engine.parameters.is_none(),
            fact => reported.iter().all(|reported| reported.name != *fact),
        };
        let missing = Fact::ALL.iter().copied().filter(is_missing).collect();
        Self { reported, missing }
    }

    /// Returns the reported value of `fact`.
    pub(crate) fn value(&self, fact: Fact) -> Option<&str> {
        self.reported.iter().find(|reported| reported.name == fact).map(|reported| reported.value.as_str())
    }
}

/// The settings under which servers report a fact. They are the ends of their dotted paths, of which the first that is
/// there counts. vLLM's `/server_info` has them in `vllm_config` and `system_env`, `SGLang`'s `/server_info` and
/// `/model_info` and TGI's `/info` at the top.
const SETTINGS: [(Fact, &[&str]); 13] = [
    (Fact::Hardware, &["system_env.nvidia_gpu_models", "nvidia_env.name"]),
    (Fact::Precision, &["model_config.quantization", "quantization", "quantize", "dtype", "model_dtype"]),
    (Fact::KvCacheDtype, &["cache_config.cache_dtype", "kv_cache_dtype"]),
    (Fact::ModelRevision, &["model_config.revision", "revision", "model_sha", "weight_version"]),
    (Fact::Tokenizer, &["model_config.tokenizer", "tokenizer_path"]),
    (Fact::TensorParallel, &["tensor_parallel_size", "tensor-parallel-size", "tp_size", "tp"]),
    (Fact::PipelineParallel, &["pipeline_parallel_size", "pp_size", "pp"]),
    (Fact::DataParallel, &["data_parallel_size", "dp_size", "dp"]),
    (Fact::AttentionBackend, &["attention_config.backend", "vllm_env.VLLM_ATTENTION_BACKEND", "attention_backend"]),
    (Fact::SchedulingPolicy, &["scheduler_config.policy", "schedule_policy"]),
    (
        Fact::Cuda,
        &["system_env.cuda_runtime_version", "system_env.cuda_compiled_version", "system_env.hip_runtime_version"],
    ),
    (Fact::Driver, &["system_env.nvidia_driver_version", "nvidia_env.driver_version"]),
    (Fact::Interconnect, &["system_env.gpu_topo"]),
];

/// Labels under which a user may state a fact. They are older than `--fact`.
const LABELS: [(Fact, &[&str]); 7] = [
    (Fact::ModelRevision, &["revision"]),
    (Fact::TensorParallel, &["tensor_parallel_size", "tensor-parallel-size", "tp_size", "tp"]),
    (Fact::PipelineParallel, &["pipeline_parallel_size", "pp_size", "pp"]),
    (Fact::DataParallel, &["data_parallel_size", "dp_size", "dp"]),
    (Fact::Driver, &["driver"]),
    (Fact::EngineVersion, &["version"]),
    (Fact::ServingFlags, &["flags"]),
];

/// Values that say that the server chooses, or that nothing was found.
const VAGUE: [&str; 6] = ["auto", "default", "N/A", "none", "None", "Could not collect"];

/// Sources that may know a fact.
struct Sources<'h> {
    engine: &'h EngineFacts,
    deployment: &'h DeploymentFacts,
    telemetry: &'h [TelemetrySource],
    readings: &'h [Reading],
    prompts: Option<&'h PromptMethod>,
}

impl<'h> Sources<'h> {
    fn from_header(header: &'h RunHeader) -> Self {
        Self {
            engine: header.engine(),
            deployment: &header.deployment,
            telemetry: &header.telemetry,
            readings: &[],
            prompts: Some(&header.prompts.method),
        }
    }

    /// Returns the fact by the first source that has it. A server knows its own version best, and of all else the user
    /// is believed first.
    fn reported(&self, fact: Fact) -> Option<ReportedFact> {
        let user = || Some((FactSource::User, self.by_user(fact)?));
        let server = || Some((FactSource::Server, self.by_server(fact)?));
        let by_others = || self.by_devices(fact).or_else(|| Some((FactSource::Client, self.by_client(fact)?)));
        let first = match fact {
            Fact::EngineVersion => server().or_else(user),
            _ => user().or_else(server),
        };
        let (source, value) = first.or_else(by_others)?;
        Some(ReportedFact { name: fact, value, source })
    }

    /// Returns a fact by an option, a fact, or a label.
    fn by_user(&self, fact: Fact) -> Option<String> {
        let said = self.deployment;
        let option = match fact {
            Fact::Hardware => said.hardware.clone(),
            Fact::Gpus => said.gpus.map(|gpus| gpus.to_string()),
            Fact::Precision => said.precision.clone(),
            _ => None,
        };
        let label = || names(&LABELS, fact).iter().find_map(|name| said.labels.get(*name).cloned());
        option.or_else(|| said.facts.get(&fact).cloned()).or_else(label)
    }

    fn by_server(&self, fact: Fact) -> Option<String> {
        match fact {
            Fact::EngineVersion => self.engine.server_version.clone(),
            Fact::ServingFlags => self.flags(),
            _ => {
                // What the cache is in where that is not said is what the weights are in.
                let says = |text: &String| fact == Fact::KvCacheDtype || !VAGUE.contains(&text.as_str());
                settings(self.engine, names(&SETTINGS, fact)).filter_map(in_words).find(says)
            }
        }
    }

    /// How it was started.
    fn flags(&self) -> Option<String> {
        let flag = |(name, value): (&String, &Value)| match value {
            Value::String(text) => format!("{name}={text}"),
            value => format!("{name}={value}"),
        };
        let flags: Vec<_> = self.engine.serving_flags.iter().map(flag).collect();
        (!flags.is_empty()).then(|| flags.join(", "))
    }

    /// Returns a fact of the accelerators. Where the user states them, their number is known apart.
    fn by_devices(&self, fact: Fact) -> Option<(FactSource, String)> {
        self.telemetry.iter().enumerate().find_map(|(place, page)| {
            let source = match page.kind {
                Some(PageKind::Nvml) => FactSource::Nvml,
                _ => FactSource::Exporter,
            };
            let value = match fact {
                Fact::Hardware => page.hardware.as_ref().map(|all| format!("{all}{}", self.idle(place))),
                Fact::Driver => page.driver.clone(),
                _ => None,
            };
            Some((source, value?))
        })
    }

    /// Says how many devices of a page were busy, where some never were. They belong to the host, not to the server.
    fn idle(&self, page: usize) -> String {
        let mut most: BTreeMap<&str, f64> = BTreeMap::new();
        for reading in self.readings.iter().filter(|reading| usize::from(reading.source) == page) {
            for (device, values) in &reading.devices {
                if let Some(busy) = values.gauges.get(&Gauge::Utilisation) {
                    // Parts of a device (MIG) are named after it.
                    let whole = device.split(' ').next().unwrap_or(device);
                    let most = most.entry(whole).or_default();
                    *most = most.max(*busy);
                }
            }
        }
        let busy = most.values().filter(|busy| **busy >= BUSY).count();
        if busy == most.len() { String::new() } else { format!(" (GPUs of the host; {busy} busy)") }
    }

    fn by_client(&self, fact: Fact) -> Option<String> {
        match (fact, self.prompts) {
            (Fact::Tokenizer, Some(PromptMethod::Tokenizer { source })) => Some(source.clone()),
            (Fact::Network, _) => {
                self.engine.is_on_this_machine().then(|| "none: loopback address (a tunnel would not show)".to_owned())
            }
            _ => None,
        }
    }
}

/// The names that `table` has of `fact`.
fn names(table: &[(Fact, &'static [&'static str])], fact: Fact) -> &'static [&'static str] {
    table.iter().find(|(of, _)| *of == fact).map_or(&[], |(_, names)| names)
}

/// Returns over how many accelerators tensors are split.
pub(crate) fn tensor_parallel(header: &RunHeader) -> Option<u64> {
    Sources::from_header(header).reported(Fact::TensorParallel)?.value.parse().ok()
}

/// Whether it plans each step while the one before it runs.
pub(crate) fn async_scheduling(header: &RunHeader) -> Option<bool> {
    let own = || settings(header.engine(), &["async_scheduling"]).find_map(Value::as_bool);
    header.deployment.async_scheduling.or_else(own)
}

/// A setting that is a fact: a name or a number.
fn in_words(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The server's settings under these names, those of the first name first. A draft model has settings of its
/// own, which are not those of the model.
fn settings<'e>(engine: &'e EngineFacts, names: &'e [&str]) -> impl Iterator<Item = &'e Value> {
    let ends_with = |path: &str, name: &str| {
        path.strip_suffix(name).is_some_and(|before| before.is_empty() || before.ends_with('.'))
    };
    names.iter().flat_map(move |name| {
        let wanted = move |path: &str| ends_with(path, name) && !path.contains("speculative");
        engine.serving_flags.iter().filter(move |(path, _)| wanted(path)).map(|(_, value)| value)
    })
}

#[cfg(test)]
mod tests;
