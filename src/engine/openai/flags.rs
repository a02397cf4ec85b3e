//! Reads a server's startup flags, without secrets.

use serde_json::{Map, Value};

use crate::engine::secrets::{Secrets, names_a_credential};

/// Most settings kept: the largest known list has about 400.
const MOST: usize = 1_000;
/// Characters kept of a value.
const LONGEST: usize = 200;
/// Values that change while a server runs, and those that describe the machine's owner.
const LEFT_OUT: [&str; 4] = ["internal_states", "vllm_env", "system_env", "default_generation_settings"];

/// Every setting in `answer` by its path, joined by dots: numbers, strings and lists. Unset values, and those
/// whose name suggests a secret, are left out.
pub(super) fn settings(answer: &Value, secrets: &Secrets) -> Map<String, Value> {
    let mut flags = Map::new();
    gather(answer, "", secrets, &mut flags);
    flags
}

fn gather(value: &Value, name: &str, secrets: &Secrets, flags: &mut Map<String, Value>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                if !LEFT_OUT.contains(&key.as_str()) && !names_a_credential(key) {
                    let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                    gather(value, &name, secrets, flags);
                }
            }
        }
        Value::Null => {}
        _ if name.is_empty() || flags.len() >= MOST => {}
        Value::String(text) if text.is_empty() => {}
        Value::Array(items) if items.is_empty() => {}
        Value::String(_) | Value::Array(_) => {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let text: String = secrets.hide(text).chars().take(LONGEST).collect();
            flags.insert(name.to_owned(), text.into());
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
    fn a_key_that_is_echoed_elsewhere_is_hidden() {
        let mut target =
            crate::engine::Target::new("http://x".parse().unwrap(), crate::engine::Dialect::Sglang);
        target.api_key = Some(crate::engine::Secret::new("keykeykey"));
        let flags = settings(&json!({"command": "serve --api-key keykeykey"}), &Secrets::of(&target));
        assert_eq!(flags["command"], "serve --api-key ***");
    }
}
