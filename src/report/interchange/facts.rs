//! What tells a run from others: the facts that test reports and series are labelled with.

use crate::analysis::Summary;
use crate::record::Fact;

/// The server, its hardware, the plan and this program, as far as they are known. They are under the names that labels
/// have.
pub(super) fn facts(summary: &Summary) -> impl Iterator<Item = (&'static str, String)> {
    let run = &summary.run;
    let reported = |fact| summary.reproduction.value(fact).map(str::to_owned);
    let facts = [
        ("engine", Some(run.engine.engine.clone())),
        ("url", Some(run.engine.url.clone())),
        ("server_version", reported(Fact::EngineVersion)),
        ("hardware", reported(Fact::Hardware)),
        ("gpus", run.deployment.gpus.map(|gpus| gpus.to_string())),
        ("precision", reported(Fact::Precision)),
        ("driver", reported(Fact::Driver)),
        ("seed", Some(run.seed.to_string())),
        ("plan_hash", Some(run.plan_hash.clone())),
        ("skyline_version", Some(run.skyline_version.clone())),
    ];
    facts.into_iter().filter_map(|(name, value)| Some((name, value?)))
}
