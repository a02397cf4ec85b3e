//! A round: the runs of both sides, whether they count, and how the sides differ.

use serde::Serialize;

use super::design::{AbDesign, AbSide};
use crate::analysis::{AcrossRuns, FigureKey, Metric, Summary, VerdictOutcome};
use crate::experiment::compare::Confounders;
use crate::experiment::spoiled::{InvalidRuns, distrust, slowed, spoiled_by};
use crate::experiment::sweep::Trial;
use crate::record::{DeploymentFacts, EngineFacts};
use crate::units::percent;

/// The two runs of one round.
#[derive(Clone, Copy, Debug)]
pub struct AbRound<'a> {
    /// The number, from 1.
    pub number: u64,
    /// Summary of A's run.
    pub a: &'a Summary,
    /// Summary of B's run.
    pub b: &'a Summary,
}

/// A completed round.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CompletedRound {
    /// The number, from 1.
    pub number: u64,
    /// Sides in the order in which they ran.
    pub order: [AbSide; 2],
    /// Seed of the plan that both executed.
    pub seed: u64,
    /// SHA-256 of it.
    pub plan_hash: String,
    /// A's run.
    pub a: CompletedSide,
    /// B's run.
    pub b: CompletedSide,
    /// Whether its figures count.
    pub counted: bool,
    /// Reasons why its figures do not count, a sentence each; empty where they count.
    pub left_out: Vec<String>,
}

/// The run of one side in a round.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CompletedSide {
    /// Wall-clock time of the run's start.
    pub started_at: jiff::Timestamp,
    /// Outcome of the run.
    pub outcome: VerdictOutcome,
    /// Whether its own figures can be trusted.
    pub valid: bool,
    /// Requests planned in its window.
    pub planned: u64,
    /// Requests that completed.
    pub completed: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Reason why the server counts as overloaded; absent where it kept up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overloaded: Option<String>,
}

/// Runs that do not form rounds of one experiment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotRounds {
    /// No round has both runs.
    #[error("no round has run on both sides")]
    Nothing,
    /// The two runs of a round executed different plans.
    #[error("the two runs of round {round} did not execute the same plan")]
    OtherPlans {
        /// Its number.
        round: u64,
    },
    /// A side changed its server.
    #[error(
        "side {side} was another server in round {round}: its {what} was {before} in round {first}, and was {now} \
         then\nhint: serve what was served before, move the folder round-{round} away, and --resume; or begin again"
    )]
    ServerChanged {
        /// The side.
        side: AbSide,
        /// The fact that changed.
        what: String,
        /// Number of the first round.
        first: u64,
        /// Its value then.
        before: String,
        /// Number of the first round with another value.
        round: u64,
        /// Its value in that round.
        now: String,
    },
}

/// Returns why a run is not to be compared with another, a sentence each.
fn against(run: &Summary) -> impl Iterator<Item = &str> {
    distrust(run).chain(slowed(run))
}

impl<'a> AbRound<'a> {
    fn sides(&self) -> impl Iterator<Item = (AbSide, &'a Summary)> + use<'a> {
        [(AbSide::A, self.a), (AbSide::B, self.b)].into_iter()
    }

    /// Whether its figures count. What spoils the measurement excludes it. What the server does, that its
    /// queue grows or that it fails requests, excludes nothing: that is what is compared.
    pub(super) fn counts(&self, invalid: InvalidRuns) -> bool {
        let counts =
            |run: &Summary| run.window.is_whole() && (invalid == InvalidRuns::Counted || against(run).next().is_none());
        self.sides().all(|(_, run)| counts(run))
    }

    /// Returns why it is spoiled; `None` where it is not.
    pub(super) fn spoiled_by(&self) -> Option<String> {
        self.sides().find_map(|(side, run)| Some(format!("{side}: {}", spoiled_by(run)?)))
    }

    /// Its runs under `design`, and whether they count.
    pub(super) fn completed(&self, design: &AbDesign, invalid: InvalidRuns) -> CompletedRound {
        let counted = self.counts(invalid);
        let sides = self.sides().filter(|_| !counted);
        let why = sides.flat_map(|(side, run)| against(run).map(move |sentence| format!("{side}: {sentence}")));
        CompletedRound {
            number: self.number,
            order: design.order_of(self.number),
            seed: self.a.run.seed,
            plan_hash: self.a.run.plan_hash.clone(),
            a: CompletedSide::from_run(self.a),
            b: CompletedSide::from_run(self.b),
            counted,
            left_out: why.collect(),
        }
    }
}

impl CompletedSide {
    fn from_run(run: &Summary) -> Self {
        Self {
            started_at: run.run.started_at,
            outcome: run.verdict.outcome,
            valid: run.verdict.valid,
            planned: run.requests.planned,
            completed: run.requests.completed,
            failed: run.requests.failed,
            overloaded: Trial::overload(run),
        }
    }

    /// Whether the server did not keep up.
    pub(super) const fn is_overloaded(&self) -> bool {
        self.overloaded.is_some()
    }
}

/// Returns one side's failure rate over all rounds.
pub(super) fn failed_share<'a>(sides: impl Iterator<Item = &'a CompletedSide>) -> Option<f64> {
    let (failed, planned) =
        sides.fold((0, 0), |(failed, planned), side| (failed + side.failed, planned + side.planned));
    (planned > 0).then(|| failed as f64 / planned as f64)
}

/// A note that B failed more requests.
pub(super) fn fails_more(a: f64, b: f64) -> String {
    format!("B failed {} of its requests and A {}: its latencies leave failed requests out", percent(b), percent(a))
}

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
    /// Differences between them beyond their address, as far as servers report it.
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
    pub(super) fn from_round(round: &AbRound<'_>) -> Self {
        Self {
            a: round.a.run.engine.clone(),
            a_deployment: round.a.run.deployment.clone(),
            b: round.b.run.engine.clone(),
            b_deployment: round.b.run.deployment.clone(),
            unlike: unlike(round.a, round.b),
        }
    }
}

/// Checks that each side stayed one server, as far as servers report. One that was updated or given another model
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
    facts(a).iter().zip(&facts(b)).flat_map(|(a, b)| unlike_in(a, b)).collect()
}

/// Returns what is known of the server of a run. These are its own facts, what is modelled, and the labels of its user.
fn facts(run: &Summary) -> [Vec<(String, String)>; 3] {
    let (engine, serves) = (&run.run.engine, &run.run.deployment);
    let text = |text: &Option<String>| text.clone().unwrap_or_else(|| NOT_REPORTED.to_owned());
    let number = |number: Option<u64>| text(&number.map(|number| number.to_string()));
    let own = [
        ("engine", engine.engine.clone()),
        ("server version", text(&engine.server_version)),
        ("model", engine.model.clone()),
        ("endpoint", engine.endpoint.clone()),
        ("longest context", number(engine.max_model_len)),
        ("hardware", text(&serves.hardware)),
        ("gpus", number(serves.gpus.map(u64::from))),
        ("serving model", text(&serves.serving_model)),
        ("precision", text(&serves.precision)),
    ];
    // What is modelled has its seed, and what was named already.
    let named = ["model_seed", "hardware", "serving_model", "precision"];
    let modelled = engine.modelled.iter().filter(|(name, _)| !named.contains(&name.as_str()));
    [
        own.map(|(name, value)| (name.to_owned(), value)).into(),
        modelled.map(|(name, value)| (name.clone(), value.to_string().replace('"', ""))).collect(),
        serves.labels.clone().into_iter().collect(),
    ]
}

/// Returns what differs between two tables.
fn unlike_in(a: &[(String, String)], b: &[(String, String)]) -> Vec<Unlike> {
    let value = |table: &[(String, String)], name: &String| {
        table
            .iter()
            .find(|(known, _)| known == name)
            .map_or_else(|| NOT_REPORTED.to_owned(), |(_, value)| value.clone())
    };
    let further = b.iter().filter(|(name, _)| a.iter().all(|(known, _)| known != name));
    let both =
        a.iter().chain(further).map(|(name, _)| Unlike { what: name.clone(), a: value(a, name), b: value(b, name) });
    both.filter(|unlike| unlike.a != unlike.b).collect()
}

/// Differences between the sides over all `rounds` that move other figures.
pub(super) fn confounders(rounds: &[AbRound<'_>]) -> Confounders {
    // An answer with a form ends where that is complete.
    let has_form = |run: &Summary| FigureKey::from_metric(Metric::ValidAnswers).read(run).is_some();
    let ends_by_itself = |run: &&Summary| run.tokens.natural.is_some() || has_form(run);
    let is_natural = rounds.iter().any(|round| [round.a, round.b].iter().any(ends_by_itself));
    let (of_a, of_b): (Vec<_>, Vec<_>) = rounds.iter().map(|round| (round.a, round.b)).unzip();
    Confounders::new(is_natural, |key| [&of_a, &of_b].map(|runs| AcrossRuns::new(key, runs)))
}
