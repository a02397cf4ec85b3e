//! A fit as a workload, and how well it describes its source.

use serde::Serialize;
use serde_json::{Value, json};

use crate::analysis::fit::{FittedGapLaw, GapFit, LengthFit, RatePhase, fit_gaps, fit_lengths, rate_course};
use crate::record::Shard;
use crate::units::{count, from_json_value};
use crate::workload::{ArrivalPattern, RateStage, WorkloadSpec, as_name};

/// Digits of a fitted figure: more than any fit is good for.
const DIGITS: usize = 5;

/// A workload, and how well it describes what it was fitted to.
#[derive(Clone, Debug, PartialEq)]
pub struct FittedWorkload {
    /// The workload.
    pub spec: WorkloadSpec,
    /// Report on how well it does.
    pub report: FitReport,
}

/// Reason why nothing could be fitted.
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    /// Source with too few requests.
    #[error("{path} holds {requests} requests; a fit needs two at least")]
    TooFew {
        /// Path of what was to be fitted to.
        path: String,
        /// Its requests.
        requests: u64,
    },
    /// Source that is a share of a run.
    #[error(
        "{path} is shard {shard} of a run, and its arrivals alone cannot be fitted; join all {} shards with skyline \
         merge, and fit the merged run",
        shard.of
    )]
    Shard {
        /// Path of what was to be fitted to.
        path: String,
        /// Share that it is.
        shard: Shard,
    },
    /// Source whose requests came when answers had come.
    #[error(
        "{path} was a closed loop of {users} users, who send when answers arrive, so no arrival process describes \
         them; run its own workload again, or make a trace of it (skyline trace from {path})"
    )]
    ClosedLoop {
        /// Path of what was to be fitted to.
        path: String,
        /// Number of users.
        users: u64,
    },
    /// Fit that is no workload.
    #[error("what was fitted to {path} cannot be run: {cause}; take another slice, or replay the trace itself")]
    Unsound {
        /// Path of what was fitted to.
        path: String,
        /// Property that a workload may not have.
        cause: String,
    },
}

/// Returns a class with these lengths of its prompts and of its answers. It is `None` where the class has no request.
pub(super) fn class_fit(name: &str, prompts: &[u32], answers: &[u32]) -> Option<ClassFit> {
    Some(ClassFit {
        name: name.to_owned(),
        requests: answers.len() as u64,
        input_tokens: fit_lengths(prompts)?,
        output_tokens: fit_lengths(answers)?,
    })
}

/// Puts the parts together with arrivals at `moments` (nanoseconds, in order). It holds them to the rules that files
/// are held to.
pub(super) fn assemble(
    name: &str,
    path: &str,
    moments: &[u64],
    ends_s: f64,
    classes: Vec<ClassFit>,
    mut notes: Vec<String>,
) -> Result<FittedWorkload, FitError> {
    let number = moments.len() as u64;
    if number < 2 {
        return Err(FitError::TooFew { path: path.to_owned(), requests: number });
    }
    let FittedArrivals { pattern, gaps } = fit_arrivals(moments, ends_s, &mut notes);
    let class = |fit: &ClassFit| {
        json!({
            "name": fit.name,
            "weight": fit.requests,
            "input_tokens": fit.input_tokens.distribution,
            "output_tokens": fit.output_tokens.distribution,
        })
    };
    let spec = json!({
        "name": as_name(name),
        "description": format!("Fitted to {} requests of {path}.", count(number)),
        "horizon_s": ends_s,
        "arrival": pattern,
        "classes": classes.iter().map(class).collect::<Vec<_>>(),
    });
    let unsound = |cause: serde_json::Error| FitError::Unsound { path: path.to_owned(), cause: cause.to_string() };
    let spec: WorkloadSpec = from_json_value(&tidy(spec)).map_err(unsound)?;
    let report = FitReport {
        source: path.to_owned(),
        requests: number,
        seconds: ends_s,
        arrivals: FittedArrivals { pattern: spec.arrival.clone(), gaps },
        classes,
        notes,
    };
    Ok(FittedWorkload { spec, report })
}

/// Returns the value with every broken number cut to so many digits behind its first.
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

/// Report on how well a workload describes its source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FitReport {
    /// The source: a run or a trace.
    pub source: String,
    /// Requests of that.
    pub requests: u64,
    /// Time of the requests, seconds.
    pub seconds: f64,
    /// Arrivals of the requests.
    pub arrivals: FittedArrivals,
    /// Class by class.
    pub classes: Vec<ClassFit>,
    /// Notes: what the workload cannot express, and what was left out.
    pub notes: Vec<String>,
}

/// Process, with how well it describes when requests came.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FittedArrivals {
    /// The process.
    pub pattern: ArrivalPattern,
    /// Gaps of the arrivals. Where the rate changes, each is a share of the mean gap at its time.
    pub gaps: GapFit,
}

/// Class, with how well it is described.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassFit {
    /// Its name.
    pub name: String,
    /// Its requests.
    pub requests: u64,
    /// Tokens of prompts.
    pub input_tokens: LengthFit,
    /// Tokens of answers.
    pub output_tokens: LengthFit,
}

/// Gamma shapes that a workload may have.
const BURSTINESS: (f64, f64) = (0.01, 1_000.0);
/// Range of the CV of gaps that are nearly Poisson. Gaps that vary more or less than this, where the rate changes too,
/// are reported: stages are Poisson.
const NEARLY_POISSON: (f64, f64) = (0.9, 1.1);

/// Fits the arrivals at `moments` (nanoseconds, in order). They are of a time of `ends_s` seconds. It notes what a
/// workload cannot express.
fn fit_arrivals(moments: &[u64], ends_s: f64, notes: &mut Vec<String>) -> FittedArrivals {
    let seconds: Vec<f64> = moments.iter().map(|moment| *moment as f64 / 1e9).collect();
    let course = rate_course(&seconds, ends_s);
    let step = moments.iter().copied().reduce(common_measure).unwrap_or(1).max(1) as f64 / 1e9;
    let level = course.len() == 1;
    let rate = moments.len() as f64 / ends_s;
    let gaps: Vec<f64> = seconds
        .windows(2)
        .map(|pair| (pair[1] - pair[0]) * if level { 1.0 } else { rate_at(&course, pair[1]) / rate })
        .collect();
    let gaps = fit_gaps(&gaps, step);
    if let Some(coarse) = gaps.coarse {
        notes.push(format!(
            "the clock steps by {step} s, {coarse:.2} of the mean gap, which is too coarse to tell how gaps vary; they \
             are taken for exponential"
        ));
    }
    let pattern = if level { level_pattern(&gaps, rate, notes) } else { stages(&course) };
    if let Some(cv) = gaps.cv.filter(|cv| !level && !(NEARLY_POISSON.0..NEARLY_POISSON.1).contains(cv)) {
        notes.push(format!(
            "the rate changes, so it is fitted by Poisson stages, whose gaps have a CV of 1; those observed have \
             {cv:.2} about their rate: replay the trace itself where bursts within a stage matter"
        ));
    }
    FittedArrivals { pattern, gaps }
}

fn level_pattern(gaps: &GapFit, rate_per_s: f64, notes: &mut Vec<String>) -> ArrivalPattern {
    match gaps.law {
        FittedGapLaw::Constant => ArrivalPattern::Constant { rate_per_s },
        FittedGapLaw::Exponential => ArrivalPattern::Poisson { rate_per_s },
        FittedGapLaw::Gamma { shape } => {
            let (low, high) = BURSTINESS;
            if !(low..=high).contains(&shape) {
                notes.push(format!("gaps have the shape {shape:.3}, and a workload's lie from {low} to {high}"));
            }
            ArrivalPattern::Gamma { rate_per_s, burstiness: shape.clamp(low, high) }
        }
    }
}

fn stages(course: &[RatePhase]) -> ArrivalPattern {
    let stage = |stretch: &RatePhase| {
        let rate = stretch.arrivals as f64 / stretch.seconds;
        RateStage { duration_s: stretch.seconds, from_rate_per_s: rate, to_rate_per_s: rate }
    };
    ArrivalPattern::Stages { stages: course.iter().map(stage).collect() }
}

fn rate_at(course: &[RatePhase], moment: f64) -> f64 {
    let mut ends = 0.0;
    let stretch = course.iter().find(|stretch| {
        ends += stretch.seconds;
        moment < ends
    });
    stretch.or(course.last()).map_or(0.0, |stretch| stretch.arrivals as f64 / stretch.seconds)
}

/// The greatest number that divides both (Euclid).
fn common_measure(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { common_measure(other, one % other) }
}
