//! A whole sweep as it is kept and shown.

use serde::{Deserialize, Serialize};

use super::{
    Frontier, HighestLoad, Knee, Load, LoadClass, PointFigures, Search, StopReason, Sustained, SweepPlan,
    SweepPoint,
};
use crate::record::{DeploymentFacts, EngineFacts};
use crate::workload::WorkloadSpec;

/// A sweep; `sweep.json` in its folder is this.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
        let mut loads: Vec<Load> = Vec::new();
        for trial in search.trials() {
            if !loads.contains(&trial.load) {
                loads.push(trial.load);
            }
        }
        loads.sort_by(|a, b| a.amount().total_cmp(&b.amount()));
        let points = loads.into_iter().map(|load| point(search, load)).collect();
        Self {
            schema: Self::SCHEMA,
            skyline_version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at,
            plan: search.plan().clone(),
            workload,
            engine,
            deployment,
            points,
            knee: None,
            frontiers: Vec::new(),
            answer: None,
            sustained: None,
            stopped,
            stopped_sentence: String::new(),
            valid: true,
            reasons: Vec::new(),
            notes: Vec::new(),
        }
    }
}

fn point(search: &Search, load: Load) -> SweepPoint {
    let trials: Vec<_> = search.trials().iter().filter(|trial| trial.load == load).cloned().collect();
    let figures = PointFigures::of(&trials.iter().map(|trial| &trial.readings).collect::<Vec<_>>());
    SweepPoint { load, class: LoadClass::Measured, tightest: None, trials, figures }
}
