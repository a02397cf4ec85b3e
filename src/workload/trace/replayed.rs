//! Workloads made from a trace, alone or with the classes of another workload.

use serde_json::{Map, Value, json};

use super::source::{Trace, TraceSurvey};
use crate::units::json_value;
use crate::workload::reading::mistakes::SpecError;
use crate::workload::spec::WorkloadSpec;

/// Fields that a trace replaces, or that depend on them.
const TIMES: [&str; 4] = ["arrival", "horizon_s", "requests", "warmup_s"];
/// Fields of a class that a trace replaces.
const LENGTHS: [&str; 3] = ["input_tokens", "output_tokens", "shared_prefix"];

impl WorkloadSpec {
    /// Returns the requests of a trace, with one class per kind and without SLOs. They are named after the trace's
    /// file.
    pub fn of_trace(trace: &Trace, seed: u64, survey: TraceSurvey<'_>) -> Result<Self, SpecError> {
        let spec = json!({ "name": name_of(&trace.path), "seed": seed });
        replay(spec.as_object().cloned().unwrap_or_default(), trace, survey)
    }

    /// Returns this workload's classes with the times and lengths of a trace. They are for the whole slice, with the
    /// default warm-up.
    pub fn replaying(&self, trace: &Trace, seed: u64, survey: TraceSurvey<'_>) -> Result<Self, SpecError> {
        let spec = json_value(&Self { seed, ..self.clone() }).unwrap_or_default();
        let mut spec = spec.as_object().cloned().unwrap_or_default();
        spec.retain(|field, _| !TIMES.contains(&field.as_str()));
        for class in spec.get_mut("classes").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(class) = class.as_object_mut() {
                class.retain(|field, _| !LENGTHS.contains(&field.as_str()));
            }
        }
        replay(spec, trace, survey)
    }
}

fn replay(mut spec: Map<String, Value>, trace: &Trace, survey: TraceSurvey<'_>) -> Result<WorkloadSpec, SpecError> {
    let unread = Trace { found: None, ..trace.clone() };
    spec.insert("trace".to_owned(), json_value(&unread).unwrap_or_default());
    WorkloadSpec::from_value(Value::Object(spec), &trace.path, survey)
}

/// A file's name without its extension, in the letters allowed for names.
fn name_of(path: &str) -> String {
    let stem = std::path::Path::new(path).file_stem().and_then(|stem| stem.to_str()).unwrap_or("trace");
    as_name(stem)
}

/// Turns a text into a name. Other letters become `_`, and at most 64 are kept.
pub fn as_name(text: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let name: String = text.trim().chars().take(64).map(letter).collect();
    if name.is_empty() { "_".to_owned() } else { name }
}
