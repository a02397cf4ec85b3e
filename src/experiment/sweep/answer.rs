//! The answer of a sweep: the highest load that meets the objectives.

use serde::{Deserialize, Serialize};

use super::load::Load;
use super::point::SweepPoint;
use super::trial::{JudgedObjective, Trial};
use crate::analysis::statistics::Estimate;
use crate::analysis::{FigureKey, Metric, Objective, Quantile, Status, Tier};
use crate::units::seconds;

/// The highest load that meets all objectives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HighestLoad {
    /// The largest load that passed below the smallest that failed; absent if none did.
    pub passed: Option<Load>,
    /// The smallest load that failed or saturated the server. Absent if none did, so that the answer is open above.
    pub failed: Option<Load>,
    /// Load at which the figure of the tightest objective crosses its bound. It is requests per second, or users. It is
    /// found by monotone regression over the loads and, where enough runs lie near that crossing, by a line through
    /// those (of the log odds of a share, the logarithm of a magnitude, over the logarithm of the load;
    /// quasi-likelihood with the run as unit). Absent where it lies outside the measured loads, such as where the
    /// lowest load already misses an objective.
    pub estimate: Option<f64>,
    /// Lower end of its 95 % interval, by Fieller's theorem from that line. Absent where runs are too few or loads too
    /// far apart for a line, or the figure does not rise. Not a bootstrap over whole runs: for an M/M/1 queue with a
    /// known answer its intervals covered the truth in 60 to 88 of 100 experiments, Fieller's in 95 to 98. A few runs
    /// with a long queue have most of the requests over the bound, and resampling cannot add the runs that did not
    /// happen.
    pub interval_low: Option<f64>,
    /// Its upper end; absent in the same cases.
    pub interval_high: Option<f64>,
    /// The objective that decides, as typed.
    pub tightest: Option<String>,
    /// Loads that the objectives allow by themselves, in their order. They are left out where there is one objective,
    /// and in older files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<ObjectiveLimit>,
    /// Agents for each GPU. Absent for other loads, and where the number of GPUs is not declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents_per_gpu: Option<f64>,
    /// Agents for each kilowatt of the devices. Absent where these do not report their power.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents_per_kw: Option<f64>,
    /// Whether no load passed above one that failed.
    pub monotone: bool,
    /// The result in a sentence.
    pub sentence: String,
}

/// The highest load that one objective allows, by all runs together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ObjectiveLimit {
    /// The objective as typed.
    pub objective: Objective,
    /// Load at which its figure crosses the bound: requests per second, or users. Absent where no measured load crosses
    /// it.
    pub estimate: Option<f64>,
    /// Lower end of its 95 % interval, as of the answer.
    pub interval_low: Option<f64>,
    /// Its upper end.
    pub interval_high: Option<f64>,
    /// Whether every measured load meets it, where there is no estimate. It then allows more. Else the lowest load
    /// misses it.
    pub allows_more: bool,
}

/// The highest load of a tier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TierAnswer {
    /// Name of the tier.
    pub name: String,
    /// Objectives of the tier, as typed.
    pub objectives: Vec<Objective>,
    /// The highest load that meets them.
    pub answer: HighestLoad,
    /// TTFT's 95th percentile at the highest load that passed, milliseconds. Absent where none did.
    pub ttft_p95_ms: Option<f64>,
    /// Output tokens per second that a user sees at that load. Absent in the same case.
    pub tokens_per_s_per_user: Option<f64>,
}

impl TierAnswer {
    /// The answer of `tier`, with the figures of its load among `points`.
    pub(super) fn new(tier: &Tier, answer: HighestLoad, points: &[SweepPoint], gpus: Option<u32>) -> Self {
        let answer = answer.shared_out(points, gpus);
        let at = points.iter().find(|point| Some(point.load) == answer.passed);
        let mean = |key: &FigureKey| at?.figures.get(key)?.mean;
        Self {
            name: tier.name.clone(),
            objectives: tier.objectives.clone(),
            ttft_p95_ms: mean(&FigureKey::percentile(Quantile::P95, Metric::Ttft)),
            tokens_per_s_per_user: mean(&FigureKey::from_metric(Metric::TokensPerUser)),
            answer,
        }
    }
}

impl HighestLoad {
    /// Returns whether it would be another without the runs of `load`. That is one of its ends, or lies between those
    /// of its interval.
    pub(super) fn rests_on(&self, load: Load) -> bool {
        let interval = self.crossing().and_then(Estimate::interval);
        let is_inside = interval.is_some_and(|(low, high)| (low..=high).contains(&load.amount()));
        [self.passed, self.failed].contains(&Some(load)) || is_inside
    }

    /// Returns the answer with its agents by GPU and by kilowatt. The power is that at the highest load that passed.
    pub(super) fn shared_out(self, points: &[SweepPoint], gpus: Option<u32>) -> Self {
        let Some(passed @ Load::Agents(_)) = self.passed else { return self };
        let agents = self.estimate.unwrap_or(passed.amount());
        let mean = |metric| points.iter().find(|point| point.load == passed)?.figures.metric(metric)?.mean;
        let joules = mean(Metric::EnergyPerMillionOutputTokens);
        let watts = joules.zip(mean(Metric::OutputTokens)).map(|(joules, per_s)| joules * per_s / 1e6);
        let agents_per_kw = watts.filter(|watts| *watts > 0.0).map(|watts| 1e3 * agents / watts);
        Self { agents_per_gpu: gpus.map(|gpus| agents / f64::from(gpus)), agents_per_kw, ..self }
    }

    /// Load at which the tightest objective's figure crosses its bound.
    pub fn crossing(&self) -> Option<Estimate> {
        let (low, high) = (self.interval_low.unwrap_or(f64::NEG_INFINITY), self.interval_high.unwrap_or(f64::INFINITY));
        Some(Estimate { value: self.estimate?, low, high })
    }
}

/// The longer run at the highest load that passed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Sustained {
    /// The load.
    pub load: Load,
    /// Length of the window, seconds.
    pub seconds: f64,
    /// Name of the run's folder in the sweep's.
    pub run: String,
    /// Whether every objective was met and the server kept up; false if unknown.
    pub held: bool,
    /// Reason why it is unknown whether the load lasted. The run did not happen, or is INVALID. It is absent if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
    /// Whether the server kept up, and missed no objective, but the run cannot tell one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undecided: bool,
    /// Judgement of how it meets each objective.
    pub judged: Vec<JudgedObjective>,
    /// The result in a sentence.
    pub sentence: String,
}

/// Cause of a sweep's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// Every load of the list or ladder was measured.
    AllMeasured,
    /// Enough loads in a row saturated the server.
    Saturated,
    /// The interval is as narrow as requested.
    Narrow,
    /// The search used all its runs.
    TrialsSpent,
    /// The search used its time, and the answer has an interval.
    TimeSpent,
    /// Even the lowest load misses the objectives.
    NothingPasses,
    /// No load fails, up to the highest rate worth measuring.
    Endless,
    /// No run has a figure for one of the objectives.
    NoFigure,
    /// No run of a load can be trusted, however often it was repeated.
    Untrusted,
    /// The server refused connections or stopped answering.
    ServerGone,
    /// The measuring machine cannot be trusted with a higher load.
    Generator,
    /// The user stopped it.
    Interrupted,
}

impl Sustained {
    /// The result of `trial`, the run that held the load.
    pub fn from_trial(trial: &Trial) -> Self {
        let of = |status| trial.judged.iter().find(|judged| judged.status == status);
        let (missed, open) = (of(Status::Missed), of(Status::Undecided));
        let (load, length) = (trial.load, seconds(trial.window_s));
        let judged = trial.judged.clone();
        if let Some(reason) = trial.invalid.first() {
            return Self { judged, ..Self::unknown(load, trial.window_s, &trial.run, reason) };
        }
        let not = |why: &str| format!("{load} was not sustained for {length}: {why}");
        let sentence = match (&trial.saturated, missed, open) {
            (Some(reason), ..) => not(reason),
            (None, Some(first), _) => not(&format!("{} was missed", first.objective)),
            (None, None, Some(first)) => format!(
                "nothing grew in {length} at {load}, which cannot tell {}: sustain it for longer",
                first.objective
            ),
            (None, None, None) => {
                format!("{load} was sustained for {length}: every objective was met, and nothing grew")
            }
        };
        let held = trial.saturated.is_none() && missed.or(open).is_none();
        let undecided = trial.saturated.is_none() && missed.is_none() && open.is_some();
        let unknown = Self::unknown(load, trial.window_s, &trial.run, "");
        Self { held, unknown: None, undecided, judged, sentence, ..unknown }
    }

    /// Returns a result that is unknown for `reason`. It is of `load` for so many seconds in the run called `run`.
    pub fn unknown(load: Load, length_s: f64, run: &str, reason: &str) -> Self {
        Self {
            load,
            seconds: length_s,
            run: run.to_owned(),
            held: false,
            unknown: Some(reason.to_owned()),
            undecided: false,
            judged: Vec::new(),
            sentence: format!("unknown whether {load} can be sustained for {}: {reason}", seconds(length_s)),
        }
    }
}

/// Answers with the names of their tiers. Without tiers there is one, as far as there are objectives.
pub(super) fn named<'a>(
    tiers: &'a [TierAnswer],
    answer: Option<&'a HighestLoad>,
) -> Vec<(Option<&'a str>, &'a HighestLoad)> {
    match tiers {
        [] => answer.into_iter().map(|answer| (None, answer)).collect(),
        tiers => tiers.iter().map(|tier| (Some(&*tier.name), &tier.answer)).collect(),
    }
}
