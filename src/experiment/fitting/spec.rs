//! A fit as a workload.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{ArrivalFit, ClassFit, FitReport, arrivals, prefixes};
use crate::analysis::fit::fit_lengths;
use crate::analysis::wording::percent;
use crate::generator::{Traced, TracedRequest};
use crate::record::RunLog;
use crate::units::count;
use crate::workload::{Trace, TraceFindings, WorkloadSpec, as_name};

/// Digits of a fitted figure: more than any fit is good for.
const DIGITS: usize = 5;
/// Most tenants and models that are taken over by name.
const MOST_NAMES: usize = 1_000;

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
    /// What was fitted is no workload.
    #[error(
        "what was fitted to {path} cannot be flown: {cause}; take another slice, or replay the trace itself"
    )]
    Unsound {
        /// What was fitted to.
        path: String,
        /// What a workload may not have.
        cause: String,
    },
}

/// Fits a stored run, called as `path`: its arrivals and, class by class, the lengths that it asked for, warm-up included.
/// What the run's workload declares beside them stays: prompts, prefixes, images, priorities, SLOs, tenants and models.
pub fn fit_run(log: &RunLog, path: &str) -> Result<FittedWorkload, FitError> {
    let (plan, workload) = (&log.header.plan, &log.header.workload);
    let mut traced = Traced::of_run(log);
    let end = i64::try_from(plan.window_end.as_nanos()).unwrap_or(i64::MAX);
    traced.requests.retain(|request| request.at_ns < end);
    let mut notes = Vec::new();
    let mut spec = serde_json::to_value(workload).unwrap_or_default();
    let declared = spec["classes"].take();
    let declared: Vec<Value> = declared.as_array().cloned().unwrap_or_default();
    let recipe = |name: &str, notes: &mut Vec<String>| {
        let recipe = declared.iter().find(|class| class["name"] == name);
        let mut recipe = recipe.and_then(Value::as_object).cloned().unwrap_or_default();
        if recipe.get("prompt").is_some_and(|prompt| prompt["kind"] == "dataset") {
            recipe.remove("prompt");
            notes.push(format!(
                "prompts of `{name}` were a dataset's; those of the fit are everyday questions"
            ));
        }
        recipe
    };
    // Every block of a run's trace is a shared prefix, which its workload declares.
    let block_tokens = traced.block_tokens.unwrap_or(0);
    let own = |request: &TracedRequest| {
        let prefix = block_tokens.saturating_mul(request.blocks.len() as u32);
        request.input_tokens.saturating_sub(prefix).max(1)
    };
    let gathered = by_class(&traced.requests, "requests");
    let mut spec = spec.as_object().cloned().unwrap_or_default();
    keep_senders(&mut spec, &gathered, &mut notes);
    let classes = gathered.iter().filter_map(|(name, requests)| {
        let own: Vec<u32> = requests.iter().map(|request| own(request)).collect();
        let fit = class_fit(name, requests, &own)?;
        Some((recipe(name, &mut notes), fit))
    });
    let classes: Vec<_> = classes.collect();
    for field in ["seed", "requests", "trace", "arrival"] {
        spec.remove(field);
    }
    spec.insert("warmup_s".to_owned(), json!(workload.warmup_s));
    let name = format!("{}_fitted", workload.name);
    assemble(spec, &name, path, &traced.requests, plan.window_end.as_secs_f64(), classes, notes)
}

/// Fits the slice of a trace, read as `traced`: a class for each of its kinds, with its priorities, tenants, models and
/// the prefixes that its blocks tell.
pub fn fit_trace(trace: &Trace, found: &TraceFindings, traced: &Traced) -> Result<FittedWorkload, FitError> {
    let mut notes = Vec::new();
    let mut spec = Map::new();
    let senders = named(traced.requests.iter().map(|request| request.tenant.as_deref()));
    if !senders.is_empty() {
        let tenant = |(name, weight): (String, u64)| json!({ "name": as_name(&name), "weight": weight });
        spec.insert("tenants".to_owned(), senders.into_iter().map(tenant).collect());
    }
    let models = named(traced.requests.iter().map(|request| request.model.as_deref()));
    if !models.is_empty() {
        let (names, weights): (Vec<_>, Vec<_>) = models.into_iter().unzip();
        spec.insert("models".to_owned(), json!({ "names": names, "weights": weights }));
    }
    // Too many kinds are not told apart, as when a trace is replayed.
    let one = found.kinds.is_empty();
    let gathered = if one {
        vec![("requests".to_owned(), traced.requests.iter().collect())]
    } else {
        by_class(&traced.requests, "requests")
    };
    let mut classes = Vec::new();
    let mut repeated = 0.0;
    for (name, requests) in &gathered {
        let whole = || requests.iter().map(|request| request.input_tokens).collect::<Vec<_>>();
        let shared = traced.block_tokens.and_then(|tokens| prefixes::fit(requests, tokens));
        let (prefixes, own) = shared.unzip();
        let Some(fit) = class_fit(name, requests, &own.unwrap_or_else(whole)) else { continue };
        let all: f64 = requests.iter().map(|request| f64::from(request.input_tokens)).sum();
        repeated += prefixes.as_ref().map_or(0.0, |prefixes| prefixes.repeated * all);
        classes.push((priorities(requests), ClassFit { prefixes, ..fit }));
    }
    if let Some(reusable) = found.reusable_share {
        let all: f64 = traced.requests.iter().map(|request| f64::from(request.input_tokens)).sum();
        notes.push(format!(
            "{} of the prompt tokens are in leading blocks that came before; prefixes that requests share from their \
             beginning hold {}, and the fit gives up the rest: turns that go on from one another. Replay the trace \
             itself where the prefix cache matters",
            percent(reusable),
            percent(repeated / all)
        ));
    }
    let stem =
        std::path::Path::new(&trace.path).file_stem().and_then(|stem| stem.to_str()).unwrap_or("trace");
    let name = format!("{}_fitted", as_name(stem).chars().take(50).collect::<String>());
    assemble(spec, &name, &trace.path, &traced.requests, found.ends_s, classes, notes)
}

type Gathered<'t> = Vec<(String, Vec<&'t TracedRequest>)>;

/// The requests of each class in the order of their names; `other` is the class of those without a kind.
fn by_class<'t>(requests: &'t [TracedRequest], other: &str) -> Gathered<'t> {
    let mut classes: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for request in requests {
        let name = request.kind.as_deref().map_or_else(|| other.to_owned(), as_name);
        classes.entry(name).or_default().push(request);
    }
    classes.into_iter().collect()
}

/// How often each name was told; nothing where not all requests have one, or there are too many.
fn named<'t>(names: impl Iterator<Item = Option<&'t str>>) -> BTreeMap<String, u64> {
    let mut times = BTreeMap::new();
    for name in names {
        let Some(name) = name else { return BTreeMap::new() };
        *times.entry(name.to_owned()).or_insert(0) += 1;
    }
    if times.len() > MOST_NAMES { BTreeMap::new() } else { times }
}

/// The priorities of a class as the trace tells them.
fn priorities(requests: &[&TracedRequest]) -> Map<String, Value> {
    let told = requests.iter().map(|request| request.priority.map(|priority| priority.to_string()));
    let told: Vec<Option<String>> = told.collect();
    let told = named(told.iter().map(Option::as_deref));
    let share = |(priority, weight): (String, u64)| json!({ "priority": priority, "weight": weight });
    let shares: Vec<Value> = told.into_iter().map(share).collect();
    if shares.is_empty() { Map::new() } else { Map::from_iter([("priorities".to_owned(), json!(shares))]) }
}

/// Leaves out the classes that sent nothing, and tenants that send none but them.
fn keep_senders(spec: &mut Map<String, Value>, gathered: &Gathered<'_>, notes: &mut Vec<String>) {
    let Some(tenants) = spec.get_mut("tenants").and_then(Value::as_array_mut) else { return };
    tenants.retain_mut(|tenant| {
        let Some(classes) = tenant.get_mut("classes").and_then(Value::as_array_mut) else { return true };
        classes.retain(|class| gathered.iter().any(|(name, _)| class == name));
        let sends = !classes.is_empty();
        if !sends {
            notes.push(format!("tenant {} sent nothing and is left out", tenant["name"]));
        }
        sends
    });
}

fn class_fit(name: &str, requests: &[&TracedRequest], own: &[u32]) -> Option<ClassFit> {
    let answers: Vec<u32> = requests.iter().map(|request| request.output_tokens).collect();
    Some(ClassFit {
        name: name.to_owned(),
        requests: requests.len() as u64,
        input_tokens: fit_lengths(own)?,
        output_tokens: fit_lengths(&answers)?,
        prefixes: None,
    })
}

/// Puts the parts together, and holds them to the rules that files are held to.
fn assemble(
    mut spec: Map<String, Value>,
    name: &str,
    path: &str,
    requests: &[TracedRequest],
    ends_s: f64,
    classes: Vec<(Map<String, Value>, ClassFit)>,
    mut notes: Vec<String>,
) -> Result<FittedWorkload, FitError> {
    let number = requests.len() as u64;
    if number < 2 {
        return Err(FitError::TooFew { path: path.to_owned(), requests: number });
    }
    let moments: Vec<u64> =
        requests.iter().map(|request| u64::try_from(request.at_ns).unwrap_or(0)).collect();
    let ArrivalFit { pattern, gaps } = arrivals::fit(&moments, ends_s, &mut notes);
    spec.insert("name".to_owned(), json!(as_name(name)));
    spec.insert("description".to_owned(), json!(format!("Fitted to {} requests of {path}.", count(number))));
    spec.insert("horizon_s".to_owned(), tidy(json!(ends_s)));
    spec.insert("arrival".to_owned(), tidy(json!(pattern)));
    let written = classes.iter().map(|(recipe, fit)| {
        let mut class = recipe.clone();
        class.insert("name".to_owned(), json!(fit.name));
        class.insert("weight".to_owned(), json!(fit.requests));
        class.insert("input_tokens".to_owned(), tidy(json!(fit.input_tokens.distribution)));
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
        arrivals: ArrivalFit { pattern: spec.arrival.clone(), gaps },
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
