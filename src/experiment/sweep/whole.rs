//! A whole sweep as it is kept and shown.

use serde::{Deserialize, Serialize};

use super::frontier::frontiers;
use super::highest::{Found, closest};
use super::judge::{Judged, judge};
use super::knee::knee;
use super::loads::Tally;
use super::{
    Frontier, HighestLoad, Knee, LoadClass, PairedLoad, PointFigures, Search, StopReason, Sustained,
    SweepPlan, SweepPoint, Trial,
};
use crate::record::{DeploymentFacts, EngineFacts};
use crate::workload::WorkloadSpec;

/// A sweep; `sweep.json` in its folder is this.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// Version of this format: [`Sweep::SCHEMA`].
    pub schema: u32,
    /// Version of Skyline that made it.
    pub skyline_version: String,
    /// Wall-clock time of the first run's zero.
    pub started_at: jiff::Timestamp,
    /// What was asked.
    pub plan: SweepPlan,
    /// What was flown, but for the load, length and seed of each run.
    #[cfg_attr(test, schemars(with = "serde_json::Map<String, serde_json::Value>"))]
    pub workload: WorkloadSpec,
    /// Who answered, as the first run found it.
    pub engine: EngineFacts,
    /// What serves, as the person said.
    #[serde(default, skip_serializing_if = "DeploymentFacts::is_empty")]
    pub deployment: DeploymentFacts,
    /// The loads, ascending.
    pub points: Vec<SweepPoint>,
    /// Where the curve bends; absent where it does not.
    pub knee: Option<Knee>,
    /// What no other load beats.
    pub frontiers: Vec<Frontier>,
    /// The highest load that meets the objectives; absent where there are none.
    pub answer: Option<HighestLoad>,
    /// That load held for longer; absent where nobody asked.
    pub sustained: Option<Sustained>,
    /// Closed loops beside open runs at the throughput that they reached, by ascending users; left out where none were
    /// flown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paired: Vec<PairedLoad>,
    /// What ended it.
    pub stopped: StopReason,
    /// The same for a person, with its figures.
    pub stopped_sentence: String,
    /// Whether the figures can be trusted, overload apart: runs beyond what a server can do are what a sweep looks for.
    pub valid: bool,
    /// Why not, with the runs concerned.
    pub reasons: Vec<String>,
    /// What a reader should know besides, such as that runs were too short for a percentile.
    pub notes: Vec<String>,
}

impl Sweep {
    /// The format that this program writes.
    pub const SCHEMA: u32 = 1;
    /// The file in a sweep's folder.
    pub const FILE_NAME: &str = "sweep.json";
}

/// Who was measured, and when.
#[derive(Clone, Debug, PartialEq)]
pub struct Swept {
    /// Wall-clock time of the first run's zero.
    pub started_at: jiff::Timestamp,
    /// What was flown, but for the load, length and seed of each run.
    pub workload: WorkloadSpec,
    /// Who answered.
    pub engine: EngineFacts,
    /// What serves, as the person said.
    pub deployment: DeploymentFacts,
}

impl Sweep {
    /// What `search` has found of `swept` when `stopped` ended it.
    #[must_use]
    pub fn of(search: &Search, swept: Swept, stopped: StopReason) -> Self {
        let Swept { started_at, workload, engine, deployment } = swept;
        let Found { loads, answer } = Found::of(search);
        let points: Vec<_> = loads.iter().map(|(tally, class)| point(tally, *class, search)).collect();
        let Judged { valid, reasons, notes } = judge(search, &loads, answer.as_ref());
        Self {
            schema: Self::SCHEMA,
            skyline_version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at,
            plan: search.plan().clone(),
            workload,
            engine,
            deployment,
            knee: knee(&points),
            frontiers: frontiers(&points),
            points,
            answer,
            sustained: None,
            paired: Vec::new(),
            stopped,
            stopped_sentence: stopped.sentence(search),
            valid,
            reasons,
            notes,
        }
    }
}

impl Sweep {
    /// The same, what `search` had found by then, where `stopped` ended it.
    #[must_use]
    pub fn stopped_by(self, search: &Search, stopped: StopReason) -> Self {
        Self { stopped, stopped_sentence: stopped.sentence(search), ..self }
    }
}

fn point(tally: &Tally<'_>, class: LoadClass, search: &Search) -> SweepPoint {
    // Of a load whose runs cannot be trusted, what they say is shown all the same.
    let counts = |trial: &&&Trial| trial.is_valid() || tally.trusted == 0;
    let readings: Vec<_> = tally.trials.iter().filter(counts).map(|trial| &trial.readings).collect();
    let demanded = search.demands().len() > 1;
    SweepPoint {
        load: tally.load,
        class,
        tightest: if demanded { closest(tally, search.demands()) } else { None },
        figures: PointFigures::of(&readings),
        trials: tally.trials.iter().map(|trial| (*trial).clone()).collect(),
    }
}
