//! The answer of a sweep: the highest load that meets the objectives.

use serde::{Deserialize, Serialize};

use super::plan::Load;
use super::trial::{JudgedObjective, Trial};
use crate::analysis::Status;
use crate::analysis::wording::seconds;

/// The highest load that meets all objectives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HighestLoad {
    /// The largest load that passed below the smallest that failed; absent where none did.
    pub passed: Option<Load>,
    /// The smallest that failed or saturated the server; absent where none did, so that the answer is open above.
    pub failed: Option<Load>,
    /// Where the figure of the tightest objective crosses its bound: requests per second, or users. By monotone regression
    /// over the loads and, where enough runs lie near that crossing, by a line through those (of the log odds of a share,
    /// the logarithm of a magnitude, over the logarithm of the load; quasi-likelihood, the run its unit). Absent where it
    /// lies beyond all that was measured, as where an objective is missed from the lowest load on.
    pub estimate: Option<f64>,
    /// Lower end of its 95 % interval, by Fieller's theorem from that line; absent where runs are too few or loads too far
    /// apart for a line, or runs do not even tell that the figure rises. No bootstrap over whole runs: of an M/M/1 queue whose answer is known its
    /// intervals held the truth in 60 to 88 of 100 experiments, Fieller's in 95 to 98, for a few runs with a long queue
    /// hold most of what is over the bound, and resampling does not know of those that did not happen.
    pub interval_low: Option<f64>,
    /// Its upper end; absent likewise.
    pub interval_high: Option<f64>,
    /// The objective that decides, as typed.
    pub tightest: Option<String>,
    /// Whether no load passed above one that failed.
    pub monotone: bool,
    /// The same for a person.
    pub sentence: String,
}

/// The found load, held for longer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Sustained {
    /// The load.
    pub load: Load,
    /// For how long, seconds of window.
    pub seconds: f64,
    /// Name of the run's folder in the sweep's.
    pub run: String,
    /// Whether every objective was met and the server kept up; no where that is not known.
    pub held: bool,
    /// Why it is not known whether it held: it did not run, or cannot be trusted; absent where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
    /// How it stands to each objective.
    pub judged: Vec<JudgedObjective>,
    /// The same for a person.
    pub sentence: String,
}

/// What ended a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// Every load of the list or ladder was measured.
    AllMeasured,
    /// So many loads one after another saturated the server that higher ones would say nothing new.
    Saturated,
    /// The bracket is as narrow as asked.
    Narrow,
    /// The search has had its most runs.
    TrialsSpent,
    /// Even the lowest load misses the objectives.
    NothingPasses,
    /// Nothing fails, up to so many requests a second that higher rates tell nothing.
    Endless,
    /// No run has a figure for one of the objectives.
    NoFigure,
    /// No run of a load can be trusted, however often it was repeated.
    Untrusted,
    /// The server took no more connections, or answered nothing more: what it can do is not known.
    ServerGone,
    /// The machine that sends cannot be trusted with more: what the server would do there is not known.
    Generator,
    /// A person stopped it.
    Interrupted,
}

impl Sustained {
    /// What the run that held a load, a trial of it, says.
    #[must_use]
    pub fn of(trial: &Trial) -> Self {
        let missed: Vec<_> = trial.judged.iter().filter(|judged| judged.status != Status::Met).collect();
        let held = trial.saturated.is_none() && missed.is_empty();
        let (load, length) = (trial.load, seconds(trial.window_s));
        if let Some(reason) = trial.invalid.first() {
            let unknown = Self::unknown(load, trial.window_s, &trial.run, reason);
            return Self { judged: trial.judged.clone(), ..unknown };
        }
        let sentence = match (&trial.saturated, missed.first()) {
            (Some(reason), _) => format!("{load} did not hold for {length}: {reason}"),
            (None, Some(first)) => {
                format!("{load} did not hold for {length}: {} was {}", first.objective, first.status.word())
            }
            (None, None) => {
                format!("{load} held for {length}: every objective was met, and nothing grew")
            }
        };
        Self {
            load,
            seconds: trial.window_s,
            run: trial.run.clone(),
            held,
            unknown: None,
            judged: trial.judged.clone(),
            sentence,
        }
    }

    /// That `reason` keeps it unknown whether `load` holds for so many seconds in the run called `run`.
    #[must_use]
    pub fn unknown(load: Load, length_s: f64, run: &str, reason: &str) -> Self {
        Self {
            load,
            seconds: length_s,
            run: run.to_owned(),
            held: false,
            unknown: Some(reason.to_owned()),
            judged: Vec::new(),
            sentence: format!("whether {load} holds for {} is not known: {reason}", seconds(length_s)),
        }
    }
}
