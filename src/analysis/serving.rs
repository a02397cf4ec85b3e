//! What is known of how a server serves: as a person said, else as the server or an exporter tells itself.

use serde_json::Value;

use crate::record::{EngineFacts, RunHeader};

/// Names of the setting that says over how many accelerators tensors are split: vLLM's, `SGLang`'s, and short for both.
const TENSOR_PARALLEL: [&str; 4] = ["tensor_parallel_size", "tensor-parallel-size", "tp_size", "tp"];

/// Names of the setting that says in which format weights are: `dtype` of vLLM and `SGLang`, `model_dtype` of TGI.
const PRECISION: [&str; 2] = ["dtype", "model_dtype"];

/// The format of weights.
pub(crate) fn precision(header: &RunHeader) -> Option<&str> {
    let chosen =
        || settings(&header.engine, &PRECISION).filter_map(Value::as_str).find(|told| *told != "auto");
    header.deployment.precision.as_deref().or_else(chosen)
}

/// The accelerators; how many there are is known apart.
pub(crate) fn hardware(header: &RunHeader) -> Option<&str> {
    let seen = || header.telemetry.iter().find_map(|page| page.hardware.as_deref());
    header.deployment.hardware.as_deref().or_else(seen)
}

/// The version of the accelerators' driver.
pub(crate) fn driver(header: &RunHeader) -> Option<&str> {
    label(header, "driver").or_else(|| header.telemetry.iter().find_map(|page| page.driver.as_deref()))
}

/// The version of the server, by its own word first.
pub(crate) fn version(header: &RunHeader) -> Option<&str> {
    header.engine.server_version.as_deref().or_else(|| label(header, "version"))
}

/// How it was started.
pub(crate) fn flags(header: &RunHeader) -> Option<String> {
    let flag = |(name, value): (&String, &Value)| match value {
        Value::String(text) => format!("{name}={text}"),
        value => format!("{name}={value}"),
    };
    let told = &header.engine.serving_flags;
    let told = || (!told.is_empty()).then(|| told.iter().map(flag).collect::<Vec<_>>().join(", "));
    label(header, "flags").map(str::to_owned).or_else(told)
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
    use crate::analysis::test_runs::run;

    #[test]
    fn a_person_is_believed_first_and_then_the_server() {
        let mut header = run(1_000, Vec::new()).header;
        header.engine.server_version = None;
        assert_eq!((precision(&header), version(&header), flags(&header)), (None, None, None));
        for (name, value) in [
            ("vllm_config.model_config.dtype", json!("bfloat16")),
            ("vllm_config.parallel_config.tensor_parallel_size", json!(4)),
            ("vllm_config.cache_config.cache_dtype", json!("fp8")),
        ] {
            header.engine.serving_flags.insert(name.to_owned(), value);
        }
        assert_eq!((precision(&header), tensor_parallel(&header)), (Some("bfloat16"), Some(4)));
        for (name, value) in [("version", "0.32"), ("tp", "2"), ("flags", "--x")] {
            header.deployment.labels.insert(name.to_owned(), value.to_owned());
        }
        header.deployment.precision = Some("fp8".to_owned());
        assert_eq!((precision(&header), tensor_parallel(&header)), (Some("fp8"), Some(2)));
        assert_eq!((version(&header), flags(&header).as_deref()), (Some("0.32"), Some("--x")));
        header.engine.server_version = Some("0.33".to_owned());
        assert_eq!(version(&header), Some("0.33"));
    }

    #[test]
    fn a_format_that_the_server_was_to_choose_is_not_known() {
        let mut header = run(1_000, Vec::new()).header;
        header.engine.serving_flags.insert("dtype".to_owned(), json!("auto"));
        assert_eq!(precision(&header), None);
    }
}
