//! The record of a tuning, `tune.json`: the best variant, the runner-up and why, what was dropped, how good
//! predictions were.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::decision::TuneDecision;
use super::history::TuneTrial;
use super::outlook::Forecast;
use super::state::{ERROR, NamedAxis, TuneState, TuneStopped};
use crate::experiment::matrix::Unstopped;
use crate::experiment::stored;
use crate::units::{counted, percent};

/// A tuning with its results, as stored in `tune.json`. Loads are requests per second for each accelerator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Tune {
    /// Version of this format: [`Tune::SCHEMA`].
    pub schema: u32,
    /// Version of the program.
    pub skyline_version: String,
    /// Its name.
    pub name: String,
    /// Purpose of the tuning.
    pub description: String,
    /// Objectives that a variant must meet at a load.
    pub objectives: Vec<String>,
    /// Reason why no more runs were started.
    pub stopped: TuneStopped,
    /// The decision; absent where no variant surely met any load.
    pub decision: Option<TuneDecision>,
    /// Largest chance that a variant was dropped that is as good as the others. The others are those that it was
    /// compared with.
    pub error_rate: f64,
    /// Runs that ended.
    pub runs: u64,
    /// Number of starts of a server.
    pub starts: u64,
    /// Time under load, seconds, warm-up included; without it in older files.
    pub load_s: f64,
    /// Score of the predictions; absent without any.
    pub score: Option<ForecastScore>,
    /// Note on what was not predicted, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Flags that the diagnosis named, and how they ended.
    pub named: Vec<NamedAxis>,
    /// All variants, in the order of the file. The first is the one in use today.
    pub variants: Vec<TuneVariant>,
    /// Servers that could not be stopped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unstopped: Vec<Unstopped>,
}

/// Score of predictions that were made before a variant ran.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ForecastScore {
    /// Variants that were predicted and then run.
    pub predicted: u64,
    /// Variants whose predicted interval agrees with what was measured.
    pub inside: u64,
    /// Median relative error of the load. It is of those whose load was measured, and absent where none was.
    pub median_error: Option<f64>,
}

/// A variant of the server, and how it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TuneVariant {
    /// Its name, and that of its folder.
    pub name: String,
    /// Its value on each axis.
    pub values: BTreeMap<String, String>,
    /// The flags of these values.
    pub flags: String,
    /// Accelerators that it takes.
    pub gpus: u32,
    /// Standing of the variant.
    pub standing: TuneStanding,
    /// Reason why the variant could not be run, where that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// Load at which it probably ends to meet the objectives. It is absent where it met none.
    pub per_gpu: Option<f64>,
    /// The lowest load that it missed.
    pub missed_per_gpu: Option<f64>,
    /// Forecast that was made before the variant ran.
    pub forecast: Option<Forecast>,
    /// Its runs.
    pub trials: Vec<TuneTrial>,
}

/// Standing of a variant, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TuneStanding {
    /// The best variant.
    Best,
    /// Variant that the runs cannot tell from the best.
    Tied,
    /// Variant that missed a load that the best met. Its requests are too few to be sure.
    Behind,
    /// Variant that surely does worse than another on the same requests.
    Dropped,
    /// Variant that did not run, or met nothing yet.
    Open,
    /// Variant that could not be run.
    Failed,
}

impl TuneStanding {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Best => "best",
            Self::Tied => "as good, maybe",
            Self::Behind => "worse, not surely",
            Self::Dropped => "dropped",
            Self::Failed => "not run",
            Self::Open => "open",
        }
    }
}

impl Tune {
    /// Returns how many variants had no run begun. Whether one of them is better is not known.
    pub fn never_run(&self) -> usize {
        let never = |of: &&TuneVariant| of.standing == TuneStanding::Open && of.trials.is_empty();
        self.variants.iter().filter(never).count()
    }

    /// The format that this program writes.
    pub const SCHEMA: u32 = 1;
    /// Its file in the folder of a tuning.
    pub const FILE_NAME: &'static str = "tune.json";

    /// Reads what is stored in this folder, if there is such a file.
    ///
    /// # Errors
    ///
    /// What is wrong with the file.
    pub fn read(folder: &Path) -> Option<Result<Self, String>> {
        let path = folder.join(Self::FILE_NAME);
        let text = std::fs::read_to_string(&path).ok()?;
        let wrong = |why: String| format!("cannot read {}: {why}", path.display());
        let newest = Self::SCHEMA;
        let newer = |schema| wrong(format!("it has schema {schema}, and this Skyline reads up to {newest}"));
        Some(stored::parse(&text, newest, newer, |error| wrong(error.to_string())))
    }

    pub(super) fn from_state(state: &TuneState) -> Self {
        let trials = || state.courses.iter().flat_map(|course| &course.trials);
        let decision = TuneDecision::from_state(state);
        let mut variants: Vec<_> = (0..state.candidates.len()).map(|place| variant(state, place)).collect();
        if let (Some(decision), Some(best)) = (&decision, state.best()) {
            variants[best].per_gpu = Some(decision.per_gpu);
        }
        Self {
            schema: Self::SCHEMA,
            skyline_version: env!("CARGO_PKG_VERSION").to_owned(),
            name: state.spec.name.clone(),
            description: state.spec.description.clone(),
            objectives: state.spec.objectives.iter().map(ToString::to_string).collect(),
            stopped: state.ending.unwrap_or(TuneStopped::Interrupted),
            decision,
            error_rate: ERROR,
            runs: state.trials(),
            starts: state.starts,
            load_s: trials().map(|trial| trial.window_s + state.runs.warmup_s).sum(),
            score: score(state),
            note: state.note.clone(),
            named: state.named.clone(),
            variants,
            unstopped: Vec::new(),
        }
    }
}

fn variant(state: &TuneState, place: usize) -> TuneVariant {
    let (of, course) = (&state.candidates[place], &state.courses[place]);
    let best = state.best();
    let standing = match &course.failed {
        _ if best == Some(place) => TuneStanding::Best,
        Some(_) => TuneStanding::Failed,
        None if state.beaten_by(place).is_some() => TuneStanding::Dropped,
        None if state.behind(place).is_some() => TuneStanding::Behind,
        None if best.is_some() && course.has_begun() => TuneStanding::Tied,
        None => TuneStanding::Open,
    };
    let values = state.spec.axes.iter().zip(&of.places);
    TuneVariant {
        name: of.name.clone(),
        values: values.map(|(axis, &at)| (axis.name.clone(), axis.values[at].name.clone())).collect(),
        flags: of.flags.clone(),
        gpus: of.gpus,
        standing,
        failed: course.failed.as_ref().map(|failure| failure.why.clone()),
        per_gpu: course.estimate(),
        missed_per_gpu: course.lowest_missed(),
        forecast: state.forecasts[place],
        trials: course.trials.clone(),
    }
}

impl TuneVariant {
    /// The highest load up to its estimated limit that a run met.
    pub fn met_per_gpu(&self) -> Option<f64> {
        TuneTrial::highest_met(&self.trials, self.per_gpu).map(|trial| trial.per_gpu)
    }
}

/// Compares what was predicted with what was measured.
fn score(state: &TuneState) -> Option<ForecastScore> {
    let (mut predicted, mut inside, mut errors) = (0, 0, Vec::new());
    for (forecast, course) in state.forecasts.iter().zip(&state.courses) {
        let Some(forecast) = forecast.filter(|_| !course.trials.is_empty()) else { continue };
        // A load that is missed may lie far above where a variant ends: of one without a load met nothing
        // else is known.
        let (estimate, missed) = (course.estimate(), course.lowest_missed());
        predicted += 1;
        inside += u64::from(match (estimate, missed) {
            (Some(measured), _) => (forecast.low..=forecast.high).contains(&measured),
            (None, Some(missed)) => forecast.low <= missed,
            (None, None) => true,
        });
        errors.extend(estimate.map(|measured| (forecast.per_gpu / measured - 1.0).abs()));
    }
    errors.sort_unstable_by(f64::total_cmp);
    let median_error = errors.get(errors.len() / 2).copied();
    (predicted > 0).then_some(ForecastScore { predicted, inside, median_error })
}

impl ForecastScore {
    /// The score in words.
    pub fn in_words(&self) -> String {
        let error = self.median_error.map_or(String::new(), |error| {
            format!("; the median error of a load that was measured is {}", percent(error))
        });
        format!("{} of {} agree with what was measured{error}", self.inside, counted(self.predicted, "prediction"))
    }
}
