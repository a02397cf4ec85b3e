//! Finds what keeps logs from being the shards of one run.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::runlog::RunLog;
use crate::record::run::client::Shard;
use crate::record::run::engine::EngineFacts;
use crate::record::run::header::{RunEnding, RunHeader};
use crate::units::{joined, listed};

/// The log of a shard with its name.
#[derive(Clone, Debug)]
pub struct NamedLog {
    /// Path where it was read, for error messages.
    pub name: String,
    /// The log.
    pub log: RunLog,
}

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
const FACTS: [(&str, ReadFact, &str); 18] = [
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
    (
        "the sharing out of requests to servers",
        |of| json!(of.routing),
        "run all shards again with the same --route and --weights",
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
        "the time limits",
        |of| json!(of.limits.but_for_caps().0),
        "run all shards again with the same --timeout, --first-token-timeout and --between-tokens-timeout",
    ),
    (
        "what is capped",
        |of| json!(of.limits.but_for_caps().1),
        "run all shards again with the same --max-concurrency, which is divided over them",
    ),
    (
        "what is declared of the deployment",
        |of| json!(of.deployment),
        "run all shards again with the same --hardware, --gpus, --serving-model, --precision and --label",
    ),
    ("the version of skyline", |of| json!(of.skyline_version), "run all shards again with the same skyline"),
];

/// Everything that keeps `parts` from being the shards of one run, each with its cure.
pub(super) fn problems(parts: &[NamedLog]) -> Vec<String> {
    let (mut problems, mut whole) = (Vec::new(), Vec::new());
    for part in parts {
        match shard_of(part) {
            Ok(shard) => whole.push((part, shard)),
            Err(problem) => problems.push(problem),
        }
    }
    let mut known = BTreeMap::new();
    for (NamedLog { name, log }, shard) in &whole {
        let (first, _) = whole[0];
        let differences: Vec<_> = differences(&first.log.header, &log.header).collect();
        if !differences.is_empty() {
            let cures: BTreeSet<_> = differences.iter().map(|difference| difference.cure).collect();
            problems.push(format!(
                "{} and {name} are not shards of one run: they differ in {}\nhint: {}",
                first.name,
                joined(differences.iter().map(|difference| &difference.what), "; "),
                joined(cures, "\nhint: ")
            ));
        }
        if let Some(twin) = known.insert(*shard, name) {
            problems.push(format!("{twin} and {name} are both shard {shard}; give each shard once"));
        }
    }
    // A shard that is there is not missing, whatever else is wrong with it.
    let there: Option<BTreeSet<Shard>> = parts.iter().map(|part| part.log.header.shard).collect();
    if let Some(there) = there
        && let Some(&Shard { of, .. }) = there.first()
        && there.iter().all(|shard| shard.of == of)
    {
        let missing = (1..=of).map(|number| Shard { number, of }).filter(|shard| !there.contains(shard));
        problems.extend(listed(missing, ", ").map(|missing| {
            format!(
                "shard {missing} is missing; a plan run in {of} shards is merged from all {of}\n\
                 hint: give the runs of all shards; where one is lost, run all of them again, together"
            )
        }));
    }
    if problems.is_empty() && !are_parts_of_one_cap(&whole) {
        problems.push(
            "the caps of the shards on requests in flight are not the parts of one cap\n\
             hint: run all shards again with the same --max-concurrency, which is divided over them"
                .to_owned(),
        );
    }
    problems
}

fn are_parts_of_one_cap(shards: &[(&NamedLog, Shard)]) -> bool {
    let all = shards.iter().map(|(part, _)| &part.log.header.limits);
    shards.iter().all(|(part, shard)| {
        let own = &part.log.header.limits;
        own.clone().with_caps_of(all.clone()).shared(*shard).as_ref() == Ok(own)
    })
}

fn shard_of(part: &NamedLog) -> Result<Shard, String> {
    let NamedLog { name, log } = part;
    let shard = log.header.shard.ok_or_else(|| {
        format!("{name} is not a shard: it ran the whole plan\nhint: a shard is run with --shard 1/2, --shard 2/2, …")
    })?;
    if !log.damage.is_none() {
        let what = log.damage.in_words();
        return Err(format!(
            "{name} is damaged: {what}\nhint: merge a copy that is not, or run all shards again, together"
        ));
    }
    let ended = match log.footer.as_ref().map(|footer| footer.ending) {
        Some(RunEnding::Finished | RunEnding::DrainLimit) => return Ok(shard),
        Some(RunEnding::Interrupted) => "was interrupted",
        Some(RunEnding::Aborted) => "was ended by a circuit breaker",
        None => "was cut off",
    };
    Err(format!("{name} {ended}, so the load was not the planned one\nhint: run all shards again, together"))
}

/// In what two shards differ, and what to do about it.
struct ShardDifference {
    what: String,
    cure: &'static str,
}

/// The differences that keep two shards from being of one run.
fn differences(a: &RunHeader, b: &RunHeader) -> impl Iterator<Item = ShardDifference> {
    FACTS.iter().filter_map(move |&(what, read, cure)| {
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
