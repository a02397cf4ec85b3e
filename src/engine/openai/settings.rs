//! A server's settings by name, of the pages on which it reports how it was started.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::engine::intake::ServerText;
use crate::engine::secrets::{Secrets, names_a_credential};

/// Returns the longest prompt plus answer by a server's settings. It is llama.cpp's context of a slot, or TGI's or
/// SGLang's.
pub(crate) fn longest_context(page: &Value) -> Option<u64> {
    let slot = &page["default_generation_settings"]["n_ctx"];
    [slot, &page["max_total_tokens"], &page["context_length"]].into_iter().find_map(Value::as_u64)
}

/// Most settings kept: the largest known list has about 400.
const MOST_SETTINGS: usize = 1_000;
/// Digits of numbers that are settings even where a header has the same. A degree of parallelism is one, say.
const SHORT_NUMBER: usize = 3;
/// Values that change while a server runs, and those that describe the machine's owner.
const LEFT_OUT: [&str; 4] = ["internal_states", "vllm_env", "system_env", "default_generation_settings"];

/// How a field is kept; `None`: not at all.
type Kept = fn(&str) -> Option<String>;

/// Fields among those left out without which a run cannot be repeated. Each is vLLM's field, and how it is kept.
const MACHINE: [(&str, Kept); 9] = [
    ("vllm_env.VLLM_LOGGING_LEVEL", as_it_is),
    ("vllm_env.VLLM_ATTENTION_BACKEND", as_it_is),
    ("system_env.cuda_runtime_version", as_it_is),
    ("system_env.cuda_compiled_version", as_it_is),
    ("system_env.hip_runtime_version", as_it_is),
    ("system_env.rocm_version", as_it_is),
    ("system_env.nvidia_driver_version", as_it_is),
    ("system_env.nvidia_gpu_models", models_of),
    ("system_env.gpu_topo", interconnect_of),
];

fn as_it_is(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The models of `GPU 0: NVIDIA H100 80GB HBM3`, a line each.
fn models_of(text: &str) -> Option<String> {
    let mut models: Vec<&str> = Vec::new();
    for line in text.lines() {
        let model = line.split_once(": ").map_or(line, |(_, model)| model).trim();
        if !model.is_empty() && !models.contains(&model) {
            models.push(model);
        }
    }
    (!models.is_empty()).then(|| models.join(", "))
}

/// Returns what joins two GPUs by the matrix of `nvidia-smi topo -m`. Its rows and columns begin with those of GPUs.
fn interconnect_of(text: &str) -> Option<String> {
    let is_gpu = |word: &&str| word.strip_prefix("GPU").is_some_and(|number| number.parse::<u32>().is_ok());
    let mut lines = text.lines();
    let gpus = lines.next()?.split_whitespace().filter(is_gpu).count();
    let rows = lines.map(|line| line.split_whitespace().collect::<Vec<_>>());
    let joints: BTreeSet<String> = rows
        .filter(|row| row.first().is_some_and(is_gpu))
        .flat_map(|row| row.into_iter().skip(1).take(gpus).map(str::to_owned).collect::<Vec<_>>())
        .filter(|joint| joint != "X")
        .collect();
    let kind = |joint: &String| if joint.starts_with("NV") { "NVLink" } else { "PCIe" };
    let kinds: BTreeSet<&str> = joints.iter().map(kind).collect();
    let all = |words: Vec<&str>| words.join(", ");
    (!joints.is_empty())
        .then(|| format!("{} ({})", all(kinds.into_iter().collect()), all(joints.iter().map(String::as_str).collect())))
}

/// Every setting in `answer` by its path, joined by dots: numbers, strings and lists. Unset values, and those
/// whose name suggests a secret, are left out.
pub(crate) fn settings(answer: &Value, secrets: &Secrets) -> Map<String, Value> {
    let mut flags = Map::new();
    gather(answer, "", secrets, &mut flags);
    flags
}

fn gather(value: &Value, name: &str, secrets: &Secrets, flags: &mut Map<String, Value>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                for (path, kept) in MACHINE {
                    if let Some((inside, field)) = path.split_once('.')
                        && inside == key
                        && let Some(words) = value[field].as_str().and_then(kept)
                    {
                        flags.insert(path.to_owned(), ServerText::Setting.without(secrets, &words).into());
                    }
                }
                if !LEFT_OUT.contains(&key.as_str()) && !names_a_credential(key) {
                    let key = secrets.hide(key.clone());
                    let name = if name.is_empty() { key } else { format!("{name}.{key}") };
                    let name = ServerText::SettingName.kept(&name);
                    gather(value, &name, secrets, flags);
                }
            }
        }
        Value::Null => {}
        _ if name.is_empty() || flags.len() >= MOST_SETTINGS => {}
        Value::String(text) if text.is_empty() => {}
        Value::Array(items) if items.is_empty() => {}
        Value::String(_) | Value::Array(_) => {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            flags.insert(name.to_owned(), ServerText::Setting.without(secrets, &text).into());
        }
        Value::Number(number) if number.to_string().len() > SHORT_NUMBER => {
            let text = secrets.hide(number.to_string());
            let shown = if text == number.to_string() { value.clone() } else { text.into() };
            flags.insert(name.to_owned(), shown);
        }
        Value::Bool(_) | Value::Number(_) => {
            flags.insert(name.to_owned(), value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::engine::target::{Secret, Target};
    use crate::record::EngineKind;

    #[test]
    fn settings_are_kept_by_name_and_secrets_are_not() {
        let answer = json!({
            "vllm_config": {
                "model_config": {"dtype": "bfloat16", "quantization": null, "hf_token": "hf_hunter2"},
                "parallel_config": {"tensor_parallel_size": 2},
                "cudagraph_sizes": [1, 2, 4],
            },
            "api_key": "hunter2", "admin_api_key": "hunter2", "ssl_keyfile_password": "hunter2",
            "vllm_env": {"VLLM_HOST_IP": "10.0.0.1"},
            "internal_states": [{"last_gen_throughput": 10.0}],
            "served_model_name": "",
            "enable_metrics": true,
        });
        let flags = settings(&answer, &Secrets::default());
        let kept = json!({
            "vllm_config.model_config.dtype": "bfloat16",
            "vllm_config.parallel_config.tensor_parallel_size": 2,
            "vllm_config.cudagraph_sizes": "[1,2,4]",
            "enable_metrics": true,
        });
        assert_eq!(Value::Object(flags), kept);
        assert!(settings(&json!("a text"), &Secrets::default()).is_empty());
    }

    #[test]
    fn the_longest_context_is_where_each_server_has_it() {
        let llamacpp = json!({"default_generation_settings": {"n_ctx": 4096}, "total_slots": 4});
        assert_eq!(longest_context(&llamacpp), Some(4_096));
        assert_eq!(longest_context(&json!({"max_input_tokens": 4095, "max_total_tokens": 8192})), Some(8_192));
        assert_eq!(longest_context(&json!({"context_length": null, "version": "1"})), None);
    }

    #[test]
    fn of_the_machine_what_a_run_cannot_be_repeated_without_is_kept() {
        let answer = json!({
            "vllm_config": {"model_config": {"revision": "0e9e39f2"}},
            "vllm_env": {"VLLM_HOST_IP": "10.0.0.1", "VLLM_ATTENTION_BACKEND": "FLASHINFER",
                         "VLLM_LOGGING_LEVEL": "DEBUG"},
            "system_env": {
                "os": "Ubuntu 22.04.5 LTS (x86_64)",
                "env_vars": "HOME=/root",
                "cuda_runtime_version": "12.9.86",
                "hip_runtime_version": null,
                "nvidia_driver_version": "580.95.05",
                "nvidia_gpu_models": "GPU 0: NVIDIA H100 80GB HBM3\nGPU 1: NVIDIA H100 80GB HBM3",
                "gpu_topo": "\tGPU0\tGPU1\tNIC0\tCPU Affinity\nGPU0\t X \tNV18\tPIX\t0-47\nGPU1\tNV18\t X \tSYS\t0-47\n\
                             NIC0\tPIX\tSYS\t X \n",
            },
        });
        let kept = json!({
            "vllm_config.model_config.revision": "0e9e39f2",
            "vllm_env.VLLM_ATTENTION_BACKEND": "FLASHINFER",
            "vllm_env.VLLM_LOGGING_LEVEL": "DEBUG",
            "system_env.cuda_runtime_version": "12.9.86",
            "system_env.nvidia_driver_version": "580.95.05",
            "system_env.nvidia_gpu_models": "NVIDIA H100 80GB HBM3",
            "system_env.gpu_topo": "NVLink (NV18)",
        });
        assert_eq!(Value::Object(settings(&answer, &Secrets::default())), kept);
        assert_eq!(interconnect_of("\tGPU0\tCPU Affinity\nGPU0\t X \t0-47\n"), None, "one alone");
        let mixed = "\tGPU0\tGPU1\tGPU2\nGPU0\t X \tNV4\tSYS\nGPU1\tNV4\t X \tSYS\nGPU2\tSYS\tSYS\t X \n";
        assert_eq!(interconnect_of(mixed).as_deref(), Some("NVLink, PCIe (NV4, SYS)"));
    }

    #[test]
    fn a_key_that_is_echoed_elsewhere_is_hidden() {
        let mut target = Target::new("http://x".parse().unwrap(), EngineKind::Sglang);
        target.api_key = Some(Secret::new("keykeykey"));
        let flags = settings(&json!({"command": "serve --api-key keykeykey"}), &Secrets::from_target(&target));
        assert_eq!(flags["command"], "serve --api-key ***");
    }
}
