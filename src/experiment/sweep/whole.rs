//! A whole sweep as it is stored and read.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::answer::{HighestLoad, StopReason, Sustained};
use super::highest::{FoundLoads, closest};
use super::plan::{SweepPlan, either_way};
use super::search::{LoadTally, MOST_REQUESTS, Search, SearchDemand};
use super::shape::{Frontier, Knee, frontiers, knee};
use super::trial::{LoadClass, SweepPoint, Trial};
use crate::analysis::{FigureSet, SampleWarning};
use crate::record::{DeploymentFacts, EngineFacts};
use crate::units::{count, counted, spoken};
use crate::workload::WorkloadSpec;

/// A sweep, as stored in `sweep.json`.
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
    /// The plan.
    pub plan: SweepPlan,
    /// The workload, apart from the load, length and seed of each run.
    #[cfg_attr(test, schemars(with = "serde_json::Map<String, serde_json::Value>"))]
    pub workload: WorkloadSpec,
    /// The server, as the first run found it.
    pub engine: EngineFacts,
    /// The deployment, as declared by the user.
    #[serde(default, skip_serializing_if = "DeploymentFacts::is_empty")]
    pub deployment: DeploymentFacts,
    /// The loads, ascending.
    pub points: Vec<SweepPoint>,
    /// The knee of the curve; absent where there is none.
    pub knee: Option<Knee>,
    /// Pareto frontiers.
    pub frontiers: Vec<Frontier>,
    /// The highest load that meets the objectives; absent without objectives.
    pub answer: Option<HighestLoad>,
    /// The longer run at that load; absent if not requested.
    pub sustained: Option<Sustained>,
    /// Open runs beside closed loops, as older versions stored them; passed over.
    #[serde(default, skip_serializing)]
    #[cfg_attr(test, schemars(skip))]
    pub paired: IgnoredAny,
    /// What ended it.
    pub stopped: StopReason,
    /// The reason in a sentence.
    pub stopped_sentence: String,
    /// Whether the figures can be trusted, overload apart: a sweep overloads the server on purpose.
    pub valid: bool,
    /// Why not, with the runs concerned.
    pub reasons: Vec<String>,
    /// Notes, such as that runs are too short for a percentile.
    pub notes: Vec<String>,
}

impl Sweep {
    /// The format that this program writes.
    pub const SCHEMA: u32 = 2;
    /// The file in a sweep's folder.
    pub const FILE_NAME: &str = "sweep.json";
}

/// What a sweep measures, and when.
#[derive(Clone, Debug, PartialEq)]
pub struct Swept {
    /// Wall-clock time of the first run's zero.
    pub started_at: jiff::Timestamp,
    /// The workload, apart from the load, length and seed of each run.
    pub workload: WorkloadSpec,
    /// The server.
    pub engine: EngineFacts,
    /// The deployment, as declared by the user.
    pub deployment: DeploymentFacts,
}

impl Sweep {
    /// The sweep of `swept` that `search` made until `stopped` ended it.
    pub fn new(search: &Search, swept: Swept, stopped: StopReason) -> Self {
        let Swept { started_at, workload, engine, deployment } = swept;
        let FoundLoads { loads, answer } = FoundLoads::from_search(search);
        let points: Vec<_> = loads.iter().map(|(tally, class)| point(tally, *class, search)).collect();
        let (valid, [reasons, notes]) = judge(search, &loads, answer.as_ref());
        Self {
            schema: Self::SCHEMA,
            skyline_version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at,
            plan: search.plan().clone(),
            workload: workload.without_texts(),
            engine,
            deployment,
            knee: knee(&points),
            frontiers: frontiers(&points),
            points,
            answer,
            sustained: None,
            paired: IgnoredAny,
            stopped,
            stopped_sentence: stopped.sentence(search),
            valid,
            reasons,
            notes,
        }
    }
}

fn point(tally: &LoadTally<'_>, class: LoadClass, search: &Search) -> SweepPoint {
    // The runs of a load of which none counts are shown all the same.
    let counts = |trial: &&&Trial| !trial.left_out || tally.counted == 0;
    let figures: Vec<_> = tally.trials.iter().filter(counts).map(|trial| &trial.figures).collect();
    let demanded = search.demands().len() > 1;
    SweepPoint {
        load: tally.load,
        class,
        tightest: if demanded { closest(tally, search.demands()) } else { None },
        figures: FigureSet::joined(&figures),
        trials: tally.trials.iter().map(|trial| (*trial).clone()).collect(),
    }
}

/// A sweep that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableSweep {
    /// The file is missing or unreadable.
    #[error("cannot read {}: {error}\nhint: name the folder of a sweep, or its sweep.json", path.display())]
    NoFile {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// A later Skyline wrote it.
    #[error("{} has schema {schema}, and this Skyline reads up to {}\nhint: read it with a newer one", path.display(), Sweep::SCHEMA)]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version of the format.
        schema: u32,
    },
    /// The file holds no sweep.
    #[error("{} holds no sweep: {error}", path.display())]
    NoSweep {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: serde_json::Error,
    },
}

#[derive(Deserialize)]
struct Versioned {
    schema: u32,
}

impl Sweep {
    /// Reads the sweep in this folder or file.
    ///
    /// # Errors
    ///
    /// When there is none, or this program cannot read it.
    pub fn read(path: &Path) -> Result<Self, UnreadableSweep> {
        let path = if path.is_dir() { path.join(Self::FILE_NAME) } else { path.to_path_buf() };
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => return Err(UnreadableSweep::NoFile { path, error }),
        };
        match serde_json::from_str::<Versioned>(&text) {
            Ok(Versioned { schema }) if schema > Self::SCHEMA => Err(UnreadableSweep::Newer { path, schema }),
            Ok(_) => serde_json::from_str(&text)
                .map(|sweep| Self { schema: Self::SCHEMA, ..sweep })
                .map_err(|error| UnreadableSweep::NoSweep { path, error }),
            Err(error) => Err(UnreadableSweep::NoSweep { path, error }),
        }
    }

    /// Whether a sweep is stored in this folder, or is this file.
    pub fn is_stored_in(path: &Path) -> bool {
        path.join(Self::FILE_NAME).is_file() || (path.is_file() && path.ends_with(Self::FILE_NAME))
    }
}

/// Whether the figures of a sweep can be trusted, with the reasons why not and notes: a sweep is INVALID if
/// most of its runs are, or its answer rests on such. Single INVALID runs are left out and noted.
pub(super) fn judge(
    search: &Search,
    loads: &[(LoadTally<'_>, LoadClass)],
    answer: Option<&HighestLoad>,
) -> (bool, [Vec<String>; 2]) {
    let trials = search.trials();
    let invalid: Vec<_> = trials.iter().filter(|trial| !trial.is_valid()).collect();
    let mut reasons: Vec<String> = invalid
        .iter()
        .flat_map(|trial| {
            trial.invalid.iter().map(move |reason| format!("{} ({}): {reason}", trial.run, trial.load))
        })
        .collect();
    let lost: Vec<String> = loads
        .iter()
        .filter(|(_, class)| *class == LoadClass::Unknown)
        .map(|(tally, _)| tally.load.to_string())
        .collect();
    let mut notes = Vec::new();
    if trials.is_empty() {
        reasons.push("no run finished".to_owned());
    }
    if !lost.is_empty() {
        notes.push(format!("no run of {} can be trusted", lost.join(", ")));
    }
    let forced: Vec<_> =
        loads.iter().filter(|(tally, _)| tally.rests_on_invalid()).map(|(tally, _)| tally.load).collect();
    if !forced.is_empty() {
        let loads: Vec<_> = forced.iter().map(ToString::to_string).collect();
        notes.push(format!(
            "no run of {} can be trusted: those INVALID runs count, because of --force",
            loads.join(", ")
        ));
    }
    let rests_on_invalid = answer.is_some_and(|answer| forced.iter().any(|load| answer.rests_on(*load)));
    let few = trials
        .iter()
        .filter(|trial| trial.judged.iter().any(|judged| judged.mark == Some(SampleWarning::TooFewSamples)));
    let few = few.count() as u64;
    if few > 0 {
        notes.push(format!(
            "{} of {} had too few requests for the requested percentile: the share over the bound still counts, with a \
             wider interval; use longer runs",
            few,
            counted(trials.len() as u64, "run")
        ));
    }
    if let Some((low, high)) = answer.and_then(|answer| answer.interval_low.zip(answer.interval_high)) {
        let wide = high / low - 1.0;
        if wide > search.plan().precision && search.plan().within_s.is_none() {
            notes.push(format!(
                "the interval is {} and {} was requested; more or longer runs narrow it",
                either_way(wide),
                either_way(search.plan().precision)
            ));
        }
    }
    let valid = !rests_on_invalid
        && !trials.is_empty()
        && 2 * invalid.len() < trials.len().max(1) + usize::from(invalid.is_empty());
    (valid, [reasons, notes])
}

impl StopReason {
    /// The reason in words, with the figures of the search.
    pub(super) fn sentence(self, search: &Search) -> String {
        let plan = search.plan();
        let runs = counted(search.trials().len() as u64, "run");
        match self {
            Self::AllMeasured => format!("every load was measured, in {runs}"),
            Self::Saturated => {
                format!("{} in a row saturated the server", counted(plan.saturated_in_a_row, "load"))
            }
            Self::Narrow => {
                format!("reached the requested {} after {runs}", either_way(plan.precision))
            }
            Self::TrialsSpent => format!("the search had its {runs}"),
            Self::TimeSpent => match search.interval() {
                Ok(_) => format!(
                    "the search had its time, in {runs}: --bracket goes on until the answer is as certain as that says"
                ),
                Err(why) => {
                    let least = spoken(Duration::from_secs_f64(search.least_s().max(1.5 * search.spent_s())));
                    format!("the search had its time, in {runs}, and {why}: give it --within {least} or more")
                }
            },
            Self::NothingPasses => format!("even the lowest load fails, after {runs}"),
            Self::Endless => {
                let highest = search.tallies().last().map_or(String::new(), |tally| tally.load.to_string());
                format!(
                    "nothing failed up to {highest}, after {runs}, and a run at the next rate would have over {} \
                     requests: the objectives do not limit this server",
                    count(MOST_REQUESTS as u64)
                )
            }
            Self::NoFigure => {
                let text = search.without_figure().map_or("an objective", SearchDemand::text);
                format!(
                    "no run has a figure for `{text}`, after {runs}: use one that it has, or begin at a higher rate"
                )
            }
            Self::ServerGone => {
                format!("the server is gone after {runs}: its capacity is not known")
            }
            Self::Generator => {
                format!("this machine cannot be trusted with a higher load, after {runs}")
            }
            Self::Untrusted => {
                let last = search.trials().last();
                let load = last.map_or("the load".to_owned(), |trial| trial.load.to_string());
                format!("no run at {load} can be trusted, after {runs}")
            }
            Self::Interrupted => format!("it was interrupted after {runs}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_sweep_is_refused_with_its_reason() {
        let folder = tempfile::tempdir().unwrap();
        let refusal = |text: Option<&str>| {
            let file = folder.path().join(Sweep::FILE_NAME);
            if let Some(text) = text {
                std::fs::write(&file, text).unwrap();
            }
            (Sweep::is_stored_in(folder.path()), Sweep::read(folder.path()).unwrap_err().to_string())
        };
        let (kept, nothing) = refusal(None);
        assert!(!kept && nothing.contains("hint: name the folder of a sweep"), "{nothing}");
        let (kept, newer) = refusal(Some("{\"schema\": 9, \"what\": 1}"));
        assert!(kept && newer.contains("has schema 9, and this Skyline reads up to 2"), "{newer}");
        let (_, other) = refusal(Some("{\"schema\": 1}"));
        assert!(other.contains("holds no sweep: missing field"), "{other}");
    }
}
