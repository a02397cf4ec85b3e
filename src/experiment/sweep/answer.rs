//! The answer of a sweep: the highest load that meets the objectives.

use serde::{Deserialize, Serialize};

use super::{Judged, Load, Trial};
use crate::analysis::Status;
use crate::analysis::wording::seconds;

/// The highest load that meets all objectives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HighestLoad {
    /// The largest load that passed below the smallest that failed; absent where none did.
    pub passed: Option<Load>,
    /// The smallest that failed or saturated the server; absent where none did, so that the answer is open above.
    pub failed: Option<Load>,
    /// Where the figure of the tightest objective crosses its bound, by monotone regression over the loads: requests per
    /// second, or users. Absent where it lies beyond all that was measured.
    pub estimate: Option<f64>,
    /// Lower end of its 95 % interval, by resampling whole runs; absent where runs are too few, or it lies below all that
    /// was measured.
    pub interval_low: Option<f64>,
    /// Its upper end; absent likewise, or where it lies above.
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
#[serde(deny_unknown_fields)]
pub struct Sustained {
    /// The load.
    pub load: Load,
    /// For how long, seconds of window.
    pub seconds: f64,
    /// Name of the run's folder in the sweep's.
    pub run: String,
    /// Whether every objective was met and the server kept up.
    pub held: bool,
    /// How it stands to each objective.
    pub judged: Vec<Judged>,
    /// The same for a person.
    pub sentence: String,
}

/// What ended a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
    /// No run of a load can be trusted, however often it was flown.
    Untrusted,
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
        let held = trial.is_valid() && trial.saturated.is_none() && missed.is_empty();
        let (load, length) = (trial.load, seconds(trial.window_s));
        let sentence = match (trial.invalid.first(), &trial.saturated, missed.first()) {
            (Some(reason), ..) => format!("whether {load} holds for {length} is not known: {reason}"),
            (None, Some(reason), _) => format!("{load} did not hold for {length}: {reason}"),
            (None, None, Some(first)) => {
                format!("{load} did not hold for {length}: {} was {}", first.objective, first.status.word())
            }
            (None, None, None) => {
                format!("{load} held for {length}: every objective was met, and nothing grew")
            }
        };
        Self {
            load,
            seconds: trial.window_s,
            run: trial.run.clone(),
            held,
            judged: trial.judged.clone(),
            sentence,
        }
    }
}
