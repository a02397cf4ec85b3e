//! Finds the difference between two shards that should be of one run.

use serde::Serialize;

use crate::record::run::header::RunHeader;

/// The usual cure: shards of one command differ only in their numbers.
const AGAIN: &str = "run all shards again with the same command but for the number of the shard";
/// Longest values quoted, characters.
const QUOTED: usize = 80;

/// The first difference that keeps two shards from being of one run: plan, rules or server.
///
/// The salt may differ unless prompts share prefixes: it makes no prompt warmer. So may calibrations, objectives,
/// hosts and stamp sources: merging keeps the worst of them, or all.
pub(crate) fn difference(a: &RunHeader, b: &RunHeader) -> Option<ShardDifference> {
    plans(a, b).or_else(|| servers(a, b)).or_else(|| rules(a, b))
}

/// In what two shards differ, and what to do about it.
pub(crate) struct ShardDifference {
    pub(crate) what: String,
    pub(crate) cure: &'static str,
}

fn plans(a: &RunHeader, b: &RunHeader) -> Option<ShardDifference> {
    let plan = |header: &RunHeader| header.plan.hash.chars().take(12).collect::<String>();
    let window = |header: &RunHeader| (header.plan.window_start, header.plan.window_end);
    let cure = "run all shards again, of the same workload with the same seed, rate and length";
    differ("the plan", &plan(a), &plan(b), cure)
        .or_else(|| differ("the window", &window(a), &window(b), cure))
        .or_else(|| differ("the workload", &a.workload, &b.workload, cure))
        .or_else(|| {
            // With other texts the shards shared no prefixes with one another.
            a.workload.classes.iter().find(|class| class.shared_prefix.is_some())?;
            let cure = "run all shards again with the same --salt";
            differ("the salt of prompts that share prefixes", &a.prompts.salt, &b.prompts.salt, cure)
        })
        .or_else(|| {
            let of = |header: &RunHeader| header.shard.map(|shard| shard.of);
            differ("the number of shards", &of(a), &of(b), "give the shards of one plan, all of them")
        })
}

fn servers(a: &RunHeader, b: &RunHeader) -> Option<ShardDifference> {
    let (a, b) = (&a.engine, &b.engine);
    differ("the model", &a.model, &b.model, "run all shards again with the same --model")
        .or_else(|| differ("the engine", &a.engine, &b.engine, "run all shards again with the same --engine"))
        .or_else(|| {
            let cure =
                "run all shards again with the same --url, one that every generator reaches the server by";
            differ("the server's address", &a.url, &b.url, cure)
        })
        .or_else(|| differ("the server's version", &a.server_version, &b.server_version, AGAIN))
        .or_else(|| differ("the endpoint", &a.endpoint, &b.endpoint, AGAIN))
        .or_else(|| differ("whether answers are streamed", &a.streamed, &b.streamed, AGAIN))
        .or_else(|| {
            // Older logs do not store them.
            let (one, other) = a.parameters.as_ref().zip(b.parameters.as_ref())?;
            let cure = "run all shards again with the same --temperature, --top-p, --top-k, --sampling-seed, \
                        --send-priority and --extra-body";
            differ("the parameters of requests", &one.to_string(), &other.to_string(), cure)
        })
}

fn rules(a: &RunHeader, b: &RunHeader) -> Option<ShardDifference> {
    let (one, other) = (&a.prompts.method, &b.prompts.method);
    let cure = "run all shards again with the same --tokenizer, or all without one";
    differ("what counted the tokens of prompts", one, other, cure)
        .or_else(|| {
            let cure = "run all shards again with the same time limits and the same --max-concurrency, which each \
                        generator holds for itself";
            differ("the limits", &a.limits, &b.limits, cure)
        })
        .or_else(|| {
            let cure = "run all shards again with the same --hardware, --gpus, --serving-model, --precision and --label";
            differ("what is declared of the deployment", &a.deployment, &b.deployment, cure)
        })
        .or_else(|| {
            let (one, other) = (&a.skyline_version, &b.skyline_version);
            differ("the version of skyline", one, other, "run all shards again with the same skyline")
        })
}

fn differ<T: PartialEq + Serialize>(
    what: &str,
    one: &T,
    other: &T,
    cure: &'static str,
) -> Option<ShardDifference> {
    if one == other {
        return None;
    }
    let values = [one, other].map(|value| serde_json::to_string(value).unwrap_or_default());
    let what = match values {
        [one, other] if one.len().max(other.len()) <= QUOTED => format!("{what}: {one} and {other}"),
        _ => what.to_owned(),
    };
    Some(ShardDifference { what, cure })
}
