//! Reads a table that was kept: what was asked, and what the logs of its runs do not tell.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::cell::CellRuns;
use super::decision::Stopped;
use super::file::{Experiments, Slot};
use super::result::Unstopped;
use crate::experiment::driver::{FailedBy, Failure};
use crate::workload::SpecError;
use crate::workload::reading::parse_json;

/// What is read is called so where it has a mistake.
const ORIGIN: &str = "the table that was kept";
/// What a file has in rows and variants themselves, and what was kept has inside them.
const INSIDE: [(&str, &str); 2] = [("rows", "settings"), ("variants", "server")];

impl Experiments {
    /// The table that was serialised as `kept`.
    ///
    /// # Errors
    ///
    /// What of it this program does not understand.
    pub fn from_kept(kept: &Value) -> Result<Self, SpecError> {
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

/// How a table ended, as `matrix.json` tells.
#[derive(Clone, Debug, Deserialize)]
pub struct Ended {
    /// Version of the file's format.
    pub schema: u32,
    cells: Vec<EndedCell>,
    /// Why no more was flown.
    pub stopped: Stopped,
    /// Servers that could not be ended after their rows.
    #[serde(default)]
    pub unstopped: Vec<Unstopped>,
}

/// What kept a row from being flown.
#[derive(Clone, Debug, Deserialize)]
struct EndedCell {
    row: String,
    variant: String,
    failed: Option<String>,
    #[serde(default)]
    failed_by: Option<FailedBy>,
}

impl Ended {
    /// Adds to `runs`, those of the row in `slot` that are there, why there are no more; `None` where it was not come to.
    #[must_use]
    pub fn completed(&self, experiments: &Experiments, slot: Slot, runs: CellRuns) -> Option<CellRuns> {
        let (row, variant) = (&experiments.rows[slot.row].name, &experiments.variants[slot.variant].name);
        let ended = self.cells.iter().find(|cell| cell.row == *row && cell.variant == *variant);
        let failed = ended.and_then(|cell| {
            let by = cell.failed_by.unwrap_or(FailedBy::Server);
            Some(Failure { why: cell.failed.clone()?, by })
        });
        (failed.is_some() || !runs.runs.is_empty()).then_some(CellRuns { failed, ..runs })
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
            assert_eq!(Experiments::from_kept(&kept).unwrap(), asked);
        }
        assert!(Experiments::from_kept(&serde_json::json!({"name": "t"})).is_err());
    }
}
