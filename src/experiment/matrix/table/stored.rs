//! Reads the table of a stored experiment again.

use serde_json::{Map, Value};

use super::file::Experiments;
use crate::workload::SpecError;
use crate::workload::reading::parse_json;

/// Name of what is read, where it has a mistake.
const ORIGIN: &str = "the table that was kept";
/// Fields that a file has in rows and variants themselves. A stored table has them in an inner object.
const INSIDE: [(&str, &str); 2] = [("rows", "settings"), ("variants", "server")];

impl Experiments {
    /// The table that was stored as `kept`.
    ///
    /// # Errors
    ///
    /// What of it this program does not understand.
    pub fn from_stored(kept: &Value) -> Result<Self, SpecError> {
        let mut file = kept.clone();
        for (list, inside) in INSIDE {
            let items = file.get_mut(list).and_then(Value::as_array_mut);
            for item in items.into_iter().flatten().filter_map(Value::as_object_mut) {
                take_out(item, inside);
            }
        }
        Self::from_node(parse_json(&file.to_string()), ORIGIN)
    }
}

fn take_out(item: &mut Map<String, Value>, inside: &str) {
    if let Some(Value::Object(fields)) = item.remove(inside) {
        item.extend(fields);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_asked_is_read_again_as_it_was() {
        let servers = r#"
            name = "t"
            description = "what it is for"
            [server]
            url = "http://127.0.0.1:9"
            gpu_hour = 2.5
            [[variants]]
            name = "small"
            flags = "--max-num-seqs 8"
            [[variants]]
            name = "large"
            gpus = 2
            [defaults]
            input_tokens = 64
            output_tokens = 16
            prefix_tokens = 32
            prefix_reuse = "warm"
            arrival = "constant"
            [[rows]]
            name = "A"
            rate_per_s = 2.5
            repeats = 3
            [[rows]]
            name = "B"
            question = "Is it slower?"
            hypothesis = "No."
            expect = ["p50 ttft within 10% of A", "p95 ttft < 1s"]
            variants = ["small"]
            rate_per_s = 5
            [accept]
            objectives = ["mlperf:llama-3.1-8b", "error_rate < 1%"]
            rows = ["A"]
            stop_when = "first_accepted"
        "#;
        for asked in [
            Experiments::from_toml(servers, "t.toml").unwrap(),
            Experiments::from_toml(Experiments::example(), "example").unwrap(),
        ] {
            let kept = serde_json::to_value(&asked).unwrap();
            assert_eq!(Experiments::from_stored(&kept).unwrap(), asked);
        }
        assert!(Experiments::from_stored(&serde_json::json!({"name": "t"})).is_err());
    }
}
