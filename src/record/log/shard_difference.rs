//! Finds the difference between two shards that should be of one run.

use serde_json::{Value, json};

use crate::record::run::engine::EngineFacts;
use crate::record::run::header::RunHeader;

/// The usual cure: shards of one command differ only in their numbers.
const AGAIN: &str = "run all shards again with the same command but for the number of the shard";
const SAME_PLAN: &str = "run all shards again, of the same workload with the same seed, rate and length";
/// Longest values quoted, characters.
const QUOTED: usize = 80;

/// Older logs do not store them: compared only where both are there.
const PARAMETERS: &str = "the parameters of requests";

/// Reads a fact as JSON.
type ReadFact = fn(&RunHeader) -> Value;

/// Facts that the shards of one run have in common. They are plan, server and rules, each with the cure where it
/// differs.
///
/// The salt may differ unless prompts share prefixes: it makes no prompt warmer. So may calibrations, objectives,
/// hosts and stamp sources: merging keeps the worst of them, or all.
const FACTS: [(&str, ReadFact, &str); 16] = [
    ("the plan", |of| of.plan.hash.chars().take(12).collect::<String>().into(), SAME_PLAN),
    ("the window", |of| json!((of.plan.window_start, of.plan.window_end)), SAME_PLAN),
    ("the workload", |of| json!(of.workload.without_texts()), SAME_PLAN),
    ("the salt of prompts that share prefixes", salt, "run all shards again with the same --salt"),
    ("the number of shards", |of| json!(of.shard.map(|shard| shard.of)), "give the shards of one plan, all of them"),
    ("the model", |of| of_each(of, |engine| json!(engine.model)), "run all shards again with the same --model"),
    ("the engine", |of| of_each(of, |engine| json!(engine.engine)), "run all shards again with the same --engine"),
    (
        "the server's address",
        |of| of_each(of, |engine| json!(engine.url)),
        "run all shards again with the same --url, one that every generator reaches the server by",
    ),
    ("the server's version", |of| of_each(of, |engine| json!(engine.server_version)), AGAIN),
    ("the endpoint", |of| of_each(of, |engine| json!(engine.endpoint)), AGAIN),
    ("whether answers are streamed", |of| of_each(of, |engine| json!(engine.streamed)), AGAIN),
    (
        PARAMETERS,
        |of| of_each(of, |engine| json!(engine.parameters.as_ref().map(ToString::to_string))),
        "run all shards again with the same --temperature, --top-p, --top-k, --sampling-seed, --send-priority, \
         --session-header and --extra-body",
    ),
    (
        "what counted the tokens of prompts",
        |of| json!(of.prompts.method),
        "run all shards again with the same --tokenizer, or all without one",
    ),
    (
        "the limits",
        |of| json!(of.limits),
        "run all shards again with the same time limits and the same --max-concurrency, which each generator holds for \
         itself",
    ),
    (
        "what is declared of the deployment",
        |of| json!(of.deployment),
        "run all shards again with the same --hardware, --gpus, --serving-model, --precision and --label",
    ),
    ("the version of skyline", |of| json!(of.skyline_version), "run all shards again with the same skyline"),
];

/// In what two shards differ, and what to do about it.
pub(crate) struct ShardDifference {
    pub(crate) what: String,
    pub(crate) cure: &'static str,
}

/// The first difference that keeps two shards from being of one run.
pub(crate) fn difference(a: &RunHeader, b: &RunHeader) -> Option<ShardDifference> {
    FACTS.iter().find_map(|&(what, read, cure)| {
        let values = [read(a), read(b)];
        if values[0] == values[1] || what == PARAMETERS && values.contains(&Value::Null) {
            return None;
        }
        let [one, other] = values.map(|value| value.to_string());
        let short = one.len().max(other.len()) <= QUOTED;
        let what = if short { format!("{what}: {one} and {other}") } else { what.to_owned() };
        Some(ShardDifference { what, cure })
    })
}

/// Returns a fact of the server; of several, the list.
fn of_each(of: &RunHeader, fact: fn(&EngineFacts) -> Value) -> Value {
    match of.engines.as_slice() {
        [only] => fact(only),
        several => several.iter().map(fact).collect(),
    }
}

/// Returns the salt, where prompts share prefixes. With other texts the shards shared none with one another.
fn salt(of: &RunHeader) -> Value {
    let shared = of.workload.classes.iter().any(|class| class.shared_prefix.is_some());
    shared.then_some(of.prompts.salt).into()
}
