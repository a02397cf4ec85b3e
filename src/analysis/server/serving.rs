//! What is known of how a server serves: as a person said, else as the server or an exporter tells itself.

use serde_json::Value;

use crate::analysis::summary::reproduction::{Fact, Teller, ToldFact};
use crate::record::{EngineFacts, RunHeader};

/// Names of the setting that says over how many accelerators tensors are split: vLLM's, `SGLang`'s, and short for both.
const TENSOR_PARALLEL: [&str; 4] = ["tensor_parallel_size", "tensor-parallel-size", "tp_size", "tp"];

/// Names of the setting that says in which format weights are: `dtype` of vLLM and `SGLang`, `model_dtype` of TGI.
const PRECISION: [&str; 2] = ["dtype", "model_dtype"];

/// All of it that somebody told, in the order of [`Fact`].
pub(crate) fn told(header: &RunHeader) -> Vec<ToldFact> {
    let facts = [hardware(header), precision(header), driver(header), version(header), flags(header)];
    facts.into_iter().flatten().collect()
}

/// The accelerators; how many there are is known apart, where a person said them.
fn hardware(header: &RunHeader) -> Option<ToldFact> {
    let person = header.deployment.hardware.as_deref();
    let exporter = header.telemetry.iter().find_map(|page| page.hardware.as_deref());
    first(Fact::Hardware, [(Teller::Person, person), (Teller::Exporter, exporter)])
}

/// The format of weights.
fn precision(header: &RunHeader) -> Option<ToldFact> {
    let person = header.deployment.precision.as_deref();
    // Which one a server was to choose is not known.
    let server = settings(&header.engine, &PRECISION).filter_map(Value::as_str).find(|told| *told != "auto");
    first(Fact::Precision, [(Teller::Person, person), (Teller::Server, server)])
}

/// The version of the accelerators' driver.
fn driver(header: &RunHeader) -> Option<ToldFact> {
    let exporter = header.telemetry.iter().find_map(|page| page.driver.as_deref());
    first(Fact::Driver, [(Teller::Person, label(header, "driver")), (Teller::Exporter, exporter)])
}

/// The version of the server, by its own word first.
fn version(header: &RunHeader) -> Option<ToldFact> {
    let server = header.engine.server_version.as_deref();
    first(Fact::EngineVersion, [(Teller::Server, server), (Teller::Person, label(header, "version"))])
}

/// How it was started.
fn flags(header: &RunHeader) -> Option<ToldFact> {
    let flag = |(name, value): (&String, &Value)| match value {
        Value::String(text) => format!("{name}={text}"),
        value => format!("{name}={value}"),
    };
    let flags: Vec<_> = header.engine.serving_flags.iter().map(flag).collect();
    let server = (!flags.is_empty()).then(|| flags.join(", "));
    first(Fact::ServingFlags, [(Teller::Person, label(header, "flags")), (Teller::Server, server.as_deref())])
}

/// The word that counts: the first that was said.
fn first(fact: Fact, words: [(Teller, Option<&str>); 2]) -> Option<ToldFact> {
    let said = words.into_iter().find_map(|(source, value)| Some((source, value?)));
    said.map(|(source, value)| ToldFact { name: fact, value: value.to_owned(), source })
}

/// Over how many accelerators tensors are split.
pub(crate) fn tensor_parallel(header: &RunHeader) -> Option<u64> {
    let labelled = TENSOR_PARALLEL.iter().find_map(|name| label(header, name)?.parse().ok());
    labelled.or_else(|| settings(&header.engine, &TENSOR_PARALLEL).find_map(Value::as_u64))
}

fn label<'h>(header: &'h RunHeader, name: &str) -> Option<&'h str> {
    header.deployment.labels.get(name).map(String::as_str)
}

/// What the server tells under one of these names, in whatever part of its settings.
fn settings<'e>(engine: &'e EngineFacts, names: &'e [&str]) -> impl Iterator<Item = &'e Value> {
    let wanted = |name: &String| name.rsplit('.').next().is_some_and(|last| names.contains(&last));
    engine.serving_flags.iter().filter(move |(name, _)| wanted(name)).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::analysis::test_runs::{exporter, run};

    /// What is told of `fact`, and by whom.
    fn told_of(header: &RunHeader, fact: Fact) -> Option<(String, Teller)> {
        let told = told(header).into_iter().find(|told| told.name == fact);
        told.map(|told| (told.value, told.source))
    }

    fn by(source: Teller, value: &str) -> (String, Teller) {
        (value.to_owned(), source)
    }

    #[test]
    fn a_person_is_believed_first_and_then_the_server() {
        let mut header = run(1_000, Vec::new()).header;
        header.engine.server_version = None;
        assert_eq!(told(&header), []);
        for (name, value) in [
            ("vllm_config.model_config.dtype", json!("bfloat16")),
            ("vllm_config.parallel_config.tensor_parallel_size", json!(4)),
            ("vllm_config.cache_config.cache_dtype", json!("fp8")),
        ] {
            header.engine.serving_flags.insert(name.to_owned(), value);
        }
        assert_eq!(told_of(&header, Fact::Precision), Some(by(Teller::Server, "bfloat16")));
        assert_eq!(tensor_parallel(&header), Some(4));
        for (name, value) in [("version", "0.32"), ("tp", "2"), ("flags", "--x")] {
            header.deployment.labels.insert(name.to_owned(), value.to_owned());
        }
        header.deployment.precision = Some("fp8".to_owned());
        assert_eq!(told_of(&header, Fact::Precision), Some(by(Teller::Person, "fp8")));
        assert_eq!(tensor_parallel(&header), Some(2));
        assert_eq!(told_of(&header, Fact::EngineVersion), Some(by(Teller::Person, "0.32")));
        assert_eq!(told_of(&header, Fact::ServingFlags), Some(by(Teller::Person, "--x")));
        header.engine.server_version = Some("0.33".to_owned());
        assert_eq!(told_of(&header, Fact::EngineVersion), Some(by(Teller::Server, "0.33")));
    }

    #[test]
    fn a_person_is_believed_before_an_exporter() {
        let mut header = run(1_000, Vec::new()).header;
        header.telemetry.push(exporter());
        assert_eq!(told_of(&header, Fact::Hardware), Some(by(Teller::Exporter, "1 × NVIDIA H100")));
        assert_eq!(told_of(&header, Fact::Driver), Some(by(Teller::Exporter, "580.1")));
        header.deployment.hardware = Some("h200".to_owned());
        assert_eq!(told_of(&header, Fact::Hardware), Some(by(Teller::Person, "h200")));
        assert_eq!(told_of(&header, Fact::Driver), Some(by(Teller::Exporter, "580.1")));
    }

    #[test]
    fn a_format_that_the_server_was_to_choose_is_not_known() {
        let mut header = run(1_000, Vec::new()).header;
        header.engine.serving_flags.insert("dtype".to_owned(), json!("auto"));
        assert_eq!(told_of(&header, Fact::Precision), None);
    }
}
