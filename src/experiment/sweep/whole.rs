//! A whole sweep as it is stored and read.

use std::path::Path;
use std::time::Duration;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::accuracy::{AccuracyOverLoad, of_runs};
use super::answer::{HighestLoad, StopReason, Sustained, TierAnswer, named};
use super::highest::{FoundLoads, closest};
use super::plan::{SweepPlan, either_way};
use super::point::{LoadClass, SweepPoint};
use super::search::{LoadTally, MOST_REQUESTS, Search, SearchDemand};
use super::shape::{Frontier, Knee, frontiers, knee};
use super::step_time::{StepTimeLine, step_time};
use super::trial::{JudgedObjective, Trial};
use crate::analysis::{FigureSet, SampleWarning};
use crate::experiment::stored;
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
    /// The load at which it answers otherwise than at the lowest. Left out where the difference may be chance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<AccuracyOverLoad>,
    /// The server's step time by its batch; left out where the loads show none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_time: Option<StepTimeLine>,
    /// The highest load that meets the objectives, those of all tiers; absent without objectives.
    pub answer: Option<HighestLoad>,
    /// The highest load of each tier, in their order; empty without tiers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<TierAnswer>,
    /// The longer run at that load; absent if not requested.
    pub sustained: Option<Sustained>,
    /// Open runs beside closed loops, as older versions stored them; passed over.
    #[serde(default, skip_serializing)]
    #[cfg_attr(test, schemars(skip))]
    pub paired: IgnoredAny,
    /// Cause of the sweep's end.
    pub stopped: StopReason,
    /// The reason in a sentence.
    pub stopped_sentence: String,
    /// Whether the figures can be trusted, overload apart: a sweep overloads the server on purpose.
    pub valid: bool,
    /// Reasons why not, with the runs concerned.
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

/// Workload, server and deployment that a sweep measures, and when it began.
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
        let FoundLoads { loads, answer } = FoundLoads::new(search, search.demands());
        let of_tiers: Vec<_> = match search.plan().tiers.as_slice() {
            [] => Vec::new(),
            _ => search.tiers().iter().map(|tier| FoundLoads::new(search, &tier.demands)).collect(),
        };
        let classes = |place: usize| of_tiers.iter().map(|found| found.loads[place].1).collect();
        let with_tiers = |(place, (tally, class)): (usize, &(LoadTally<'_>, LoadClass))| SweepPoint {
            tiers: classes(place),
            ..point(tally, *class, search)
        };
        let points: Vec<_> = loads.iter().enumerate().map(with_tiers).collect();
        let answer = answer.map(|answer| answer.shared_out(&points, deployment.gpus));
        let tiers = search.plan().tiers.iter().zip(of_tiers).filter_map(|(tier, found)| {
            found.answer.map(|answer| TierAnswer::new(tier, answer, &points, deployment.gpus))
        });
        let tiers: Vec<_> = tiers.collect();
        let (valid, [reasons, notes]) = judge(search, &loads, &named(&tiers, answer.as_ref()));
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
            accuracy: AccuracyOverLoad::new(&points),
            step_time: step_time(&points),
            points,
            answer,
            tiers,
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
    let trials: Vec<_> = tally.trials.iter().map(|trial| (*trial).clone()).collect();
    SweepPoint {
        load: tally.load,
        class,
        accuracy: of_runs(&trials),
        tiers: Vec::new(),
        tightest: if demanded { closest(tally, search.demands()) } else { None },
        figures: FigureSet::joined(&figures),
        trials,
    }
}

impl Sweep {
    /// Answers with the names of their tiers. Without tiers there is one, as far as there are objectives.
    pub fn answers(&self) -> Vec<(Option<&str>, &HighestLoad)> {
        named(&self.tiers, self.answer.as_ref())
    }

    /// The figures at the highest load that passed.
    pub fn figures_at(&self, answer: &HighestLoad) -> Option<&FigureSet> {
        self.points.iter().find(|point| Some(point.load) == answer.passed).map(|point| &point.figures)
    }

    /// Reads the sweep in this folder or file.
    ///
    /// # Errors
    ///
    /// When there is none, or this program cannot read it.
    pub fn read(path: &Path) -> Result<Self, String> {
        let path = if path.is_dir() { path.join(Self::FILE_NAME) } else { path.to_path_buf() };
        let (shown, newest) = (path.display(), Self::SCHEMA);
        let text = std::fs::read_to_string(&path).map_err(|error| {
            format!("cannot read {shown}: {error}\nhint: name the folder of a sweep, or its {}", Self::FILE_NAME)
        })?;
        let newer = |schema| {
            format!(
                "{shown} has schema {schema}, and this Skyline reads up to {newest}\nhint: read it with a newer one"
            )
        };
        let sweep: Self = stored::parse(&text, newest, newer, |error| format!("{shown} holds no sweep: {error}"))?;
        Ok(Self { schema: newest, ..sweep })
    }

    /// Whether a sweep is stored in this folder, or is this file.
    pub fn is_stored_in(path: &Path) -> bool {
        path.join(Self::FILE_NAME).is_file() || (path.is_file() && path.ends_with(Self::FILE_NAME))
    }
}

/// Judges whether the figures of a sweep can be trusted, with reasons and notes. The reasons say why not. A sweep is
/// INVALID if most of its runs are, or an answer rests on such. Single INVALID runs are left out and noted. The answers
/// come with the names of their tiers.
pub(super) fn judge(
    search: &Search,
    loads: &[(LoadTally<'_>, LoadClass)],
    answers: &[(Option<&str>, &HighestLoad)],
) -> (bool, [Vec<String>; 2]) {
    let (trials, precision) = (search.trials(), search.plan().precision);
    let invalid = || trials.iter().filter(|trial| !trial.is_valid());
    let because = |trial: &Trial, reason: &String| format!("{} ({}): {reason}", trial.run, trial.load);
    let reasons = invalid().flat_map(|trial| trial.invalid.iter().map(move |reason| because(trial, reason)));
    let nothing = trials.is_empty().then(|| "no run finished".to_owned());
    let named = |is: &dyn Fn(&LoadTally<'_>, LoadClass) -> bool| {
        let such = loads.iter().filter(|(tally, class)| is(tally, *class));
        let such: Vec<_> = such.map(|(tally, _)| tally.load.to_string()).collect();
        (!such.is_empty()).then(|| format!("no run of {} can be trusted", such.join(", ")))
    };
    let is_forced = |tally: &LoadTally<'_>| tally.rests_on_invalid();
    let rests_on_invalid =
        |answer: &HighestLoad| loads.iter().any(|(tally, _)| is_forced(tally) && answer.rests_on(tally.load));
    let is_few = |judged: &JudgedObjective| judged.mark == Some(SampleWarning::TooFewSamples);
    let few = trials.iter().filter(|trial| trial.judged.iter().any(is_few)).count();
    let wide = answers.iter().filter_map(|(tier, answer)| {
        let (low, high) = answer.crossing()?.interval()?;
        let wide = high / low - 1.0;
        let of = tier.map_or(String::new(), |name| format!(" of {name}"));
        (wide > precision && search.plan().within_s.is_none()).then(|| {
            let [wide, wanted] = [wide, precision].map(either_way);
            format!("the interval{of} is {wide} and {wanted} was requested; more or longer runs narrow it")
        })
    });
    let notes = [
        named(&|_, class| class == LoadClass::Unknown),
        named(&|tally, _| is_forced(tally)).map(|note| format!("{note}: those INVALID runs count, because of --force")),
        (few > 0).then(|| {
            format!(
                "{few} of {} had too few requests for the requested percentile: the share over the bound still counts, \
                 with a wider interval; use longer runs",
                counted(trials.len() as u64, "run")
            )
        }),
    ];
    let notes = notes.into_iter().flatten().chain(wide);
    let valid = !answers.iter().any(|(_, answer)| rests_on_invalid(answer))
        && !trials.is_empty()
        && 2 * invalid().count() < trials.len() + usize::from(invalid().next().is_none());
    (valid, [reasons.chain(nothing).collect(), notes.collect()])
}

impl StopReason {
    /// The reason in words, with the figures of the search.
    pub(super) fn sentence(self, search: &Search) -> String {
        let plan = search.plan();
        let runs = counted(search.trials().len() as u64, "run");
        match self {
            Self::AllMeasured => format!("every load was measured, in {runs}"),
            Self::Saturated => format!("{} in a row saturated the server", counted(plan.saturated_in_a_row, "load")),
            Self::Narrow => format!("reached the requested {} after {runs}", either_way(plan.precision)),
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
                let highest =
                    search.tallies(search.demands()).last().map_or(String::new(), |tally| tally.load.to_string());
                format!(
                    "nothing failed up to {highest}, after {runs}, and a run under the next load would have over {} \
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
            Self::ServerGone => format!("the server is gone after {runs}: its capacity is not known"),
            Self::Generator => format!("this machine cannot be trusted with a higher load, after {runs}"),
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
            (Sweep::is_stored_in(folder.path()), Sweep::read(folder.path()).unwrap_err())
        };
        let (kept, nothing) = refusal(None);
        assert!(!kept && nothing.contains("hint: name the folder of a sweep"), "{nothing}");
        let (kept, newer) = refusal(Some("{\"schema\": 9, \"what\": 1}"));
        assert!(kept && newer.contains("has schema 9, and this Skyline reads up to 2"), "{newer}");
        let (_, other) = refusal(Some("{\"schema\": 1}"));
        assert!(other.contains("holds no sweep: missing field"), "{other}");
    }
}
