//! The two sides, and how they differ.

use serde::Serialize;

use super::design::AbSide;
use super::rounds::{AbRound, NotRounds};
use crate::analysis::Summary;
use crate::record::{DeploymentFacts, EngineFacts};

/// Stands for a fact that no side reports.
const NOT_REPORTED: &str = "not reported";

/// The servers of both sides, as the first round found them.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AbSides {
    /// The server of A.
    pub a: EngineFacts,
    /// The deployment there, as declared by the user.
    pub a_deployment: DeploymentFacts,
    /// The server of B.
    pub b: EngineFacts,
    /// The deployment there.
    pub b_deployment: DeploymentFacts,
    /// How they differ beyond their address, as far as servers report it.
    pub unlike: Vec<Unlike>,
}

/// A fact in which the sides differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Unlike {
    /// The fact.
    pub what: String,
    /// Its value on side A.
    pub a: String,
    /// Its value on side B.
    pub b: String,
}

impl AbSides {
    pub(super) fn of(round: &AbRound<'_>) -> Self {
        Self {
            a: round.a.run.engine.clone(),
            a_deployment: round.a.run.deployment.clone(),
            b: round.b.run.engine.clone(),
            b_deployment: round.b.run.deployment.clone(),
            unlike: unlike(round.a, round.b),
        }
    }
}

/// Checks that each side stayed one server, as far as servers report: one that was updated or given another model
/// between two rounds is another server. A fact that is missing on either occasion proves nothing.
pub(super) fn stayed(rounds: &[AbRound<'_>]) -> Result<(), NotRounds> {
    let Some((first, later)) = rounds.split_first() else { return Ok(()) };
    for round in later {
        for (side, before, now) in [(AbSide::A, first.a, round.a), (AbSide::B, first.b, round.b)] {
            let changes = unlike(before, now).into_iter();
            let mut sure = changes.filter(|change| change.a != NOT_REPORTED && change.b != NOT_REPORTED);
            if let Some(Unlike { what, a: before, b: now }) = sure.next() {
                let (first, round) = (first.number, round.number);
                return Err(NotRounds::ServerChanged { side, what, first, before, round, now });
            }
        }
    }
    Ok(())
}

fn unlike(a: &Summary, b: &Summary) -> Vec<Unlike> {
    let facts = |run: &Summary| {
        let (engine, serves) = (&run.run.engine, &run.run.deployment);
        let text = |text: &Option<String>| text.clone().unwrap_or_else(|| NOT_REPORTED.to_owned());
        let number = |number: Option<u64>| number.map(|number| number.to_string());
        let mut facts = vec![
            ("engine", engine.engine.clone()),
            ("server version", text(&engine.server_version)),
            ("model", engine.model.clone()),
            ("endpoint", engine.endpoint.clone()),
            ("longest context", text(&number(engine.max_model_len))),
            ("hardware", text(&serves.hardware)),
            ("gpus", text(&number(serves.gpus.map(u64::from)))),
            ("serving model", text(&serves.serving_model)),
            ("precision", text(&serves.precision)),
        ];
        if !engine.modelled.is_empty() {
            facts.push(("modelled", serde_json::Value::Object(engine.modelled.clone()).to_string()));
        }
        facts
    };
    let mut unlike: Vec<_> = (facts(a).into_iter().zip(facts(b)))
        .filter(|((_, a), (_, b))| a != b)
        .map(|((what, a), (_, b))| Unlike { what: what.to_owned(), a, b })
        .collect();
    let (a, b) = (&a.run.deployment.labels, &b.run.deployment.labels);
    let names = a.keys().chain(b.keys().filter(|name| !a.contains_key(*name)));
    unlike.extend(names.filter(|name| a.get(*name) != b.get(*name)).map(|name| {
        let of = |labels: &std::collections::BTreeMap<String, String>| {
            labels.get(name).cloned().unwrap_or_else(|| NOT_REPORTED.to_owned())
        };
        Unlike { what: name.clone(), a: of(a), b: of(b) }
    }));
    unlike
}
