//! A fit as a workload.

use serde_json::{Map, Value, json};

use super::arrivals;
use super::report::{ClassFit, FitReport, FittedArrivals};
use crate::analysis::fit::fit_lengths;
use crate::record::Shard;
use crate::units::count;
use crate::workload::{WorkloadSpec, as_name};

/// Digits of a fitted figure: more than any fit is good for.
const DIGITS: usize = 5;

/// A workload, and how well it describes what it was fitted to.
#[derive(Clone, Debug, PartialEq)]
pub struct FittedWorkload {
    /// The workload.
    pub spec: WorkloadSpec,
    /// How well.
    pub report: FitReport,
}

/// Why nothing could be fitted.
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    /// There are too few requests.
    #[error("{path} holds {requests} requests; a fit needs two at least")]
    TooFew {
        /// What was to be fitted to.
        path: String,
        /// Its requests.
        requests: u64,
    },
    /// It is a share of a run.
    #[error(
        "{path} is shard {shard} of a run, and has the arrivals of none; join all {} shards with skyline merge, and fit \
         what they were",
        shard.of
    )]
    Shard {
        /// What was to be fitted to.
        path: String,
        /// Which share.
        shard: Shard,
    },
    /// Its requests came when answers had come.
    #[error(
        "{path} was a closed loop of {users} users, whose requests come when answers have come, so that no process \
         describes them; run its own workload again, or make a trace of it (skyline trace from {path})"
    )]
    ClosedLoop {
        /// What was to be fitted to.
        path: String,
        /// How many users.
        users: u64,
    },
    /// What was fitted is no workload.
    #[error(
        "what was fitted to {path} cannot be run: {cause}; take another slice, or replay the trace itself"
    )]
    Unsound {
        /// What was fitted to.
        path: String,
        /// What a workload may not have.
        cause: String,
    },
}

/// A class with these lengths of its own prompts and of its answers; none where it has no request.
pub(super) fn class_fit(name: &str, own: &[u32], answers: &[u32]) -> Option<ClassFit> {
    Some(ClassFit {
        name: name.to_owned(),
        requests: answers.len() as u64,
        input_tokens: fit_lengths(own)?,
        output_tokens: fit_lengths(answers)?,
        prefixes: None,
    })
}

/// Puts the parts together with arrivals at `moments` (nanoseconds, in order), and holds them to the rules that files
/// are held to.
pub(super) fn assemble(
    mut spec: Map<String, Value>,
    name: &str,
    path: &str,
    moments: &[u64],
    ends_s: f64,
    classes: Vec<(Map<String, Value>, ClassFit)>,
    mut notes: Vec<String>,
) -> Result<FittedWorkload, FitError> {
    let number = moments.len() as u64;
    if number < 2 {
        return Err(FitError::TooFew { path: path.to_owned(), requests: number });
    }
    let FittedArrivals { pattern, gaps } = arrivals::fit(moments, ends_s, &mut notes);
    spec.insert("name".to_owned(), json!(as_name(name)));
    spec.insert("description".to_owned(), json!(format!("Fitted to {} requests of {path}.", count(number))));
    spec.insert("horizon_s".to_owned(), tidy(json!(ends_s)));
    spec.insert("arrival".to_owned(), tidy(json!(pattern)));
    let written = classes.iter().map(|(recipe, fit)| {
        let mut class = recipe.clone();
        class.insert("name".to_owned(), json!(fit.name));
        class.insert("weight".to_owned(), json!(fit.requests));
        let own = tidy(json!(fit.input_tokens.distribution));
        // Of conversations the first turns were fitted, whose lengths may be declared apart from those of later ones.
        match class.get_mut("conversation").and_then(|talk| talk.get_mut("first_input_tokens")) {
            Some(first) => *first = own,
            None => drop(class.insert("input_tokens".to_owned(), own)),
        }
        class.insert("output_tokens".to_owned(), tidy(json!(fit.output_tokens.distribution)));
        if let Some(prefixes) = &fit.prefixes {
            let tokens = &prefixes.tokens.distribution;
            let shared = json!({ "count": prefixes.count, "tokens": tokens, "zipf": prefixes.zipf });
            class.insert("shared_prefix".to_owned(), tidy(shared));
        }
        Value::Object(class)
    });
    spec.insert("classes".to_owned(), written.collect());
    let unsound =
        |cause: serde_json::Error| FitError::Unsound { path: path.to_owned(), cause: cause.to_string() };
    let spec: WorkloadSpec = serde_json::from_value(Value::Object(spec)).map_err(unsound)?;
    let report = FitReport {
        source: path.to_owned(),
        requests: number,
        seconds: ends_s,
        arrivals: FittedArrivals { pattern: spec.arrival.clone(), gaps },
        classes: classes.into_iter().map(|(_, fit)| fit).collect(),
        notes,
    };
    Ok(FittedWorkload { spec, report })
}

/// The same with every broken number cut to so many digits behind its first.
fn tidy(value: Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) => {
                format!("{float:.DIGITS$e}").parse::<f64>().map_or(Value::Number(number), |tidy| json!(tidy))
            }
            None => Value::Number(number),
        },
        Value::Array(values) => values.into_iter().map(tidy).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, tidy(value))).collect(),
        value => value,
    }
}
