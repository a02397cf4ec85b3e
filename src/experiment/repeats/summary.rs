//! The joint summary of repeats, as stored beside them.

use serde::Serialize;

use super::figures;
use super::judgement::AcrossJudgement;
use super::verdict::verdict;
use crate::analysis::{Figure, FigureKey, FigureSet, Metric, Objective, Quantile, Summary, Verdict, VerdictOutcome};
use crate::experiment::diagnosis::Diagnosis;
use crate::experiment::spoiled::{self, spoiled_by};
use crate::record::{EngineFacts, Repeat};

/// The joint summary of several runs of one workload, as stored in `repeats.json`. Unknown figures are `null`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Repeats {
    /// Version of this format: [`Repeats::SCHEMA`].
    pub schema: u32,
    /// Whether the figures can be trusted.
    pub verdict: Verdict,
    /// Name of the workload.
    pub workload: String,
    /// The server, as the first run found it.
    pub engine: EngineFacts,
    /// Planned runs.
    pub planned_runs: u64,
    /// Number of runs whose figures count. They are those that completed, without the spoiled ones where spare runs
    /// replace all of them.
    pub counted_runs: u64,
    /// Spoiled runs, and whether they are replaced, or why no more ran. Absent where neither is so.
    pub spoiled: Option<String>,
    /// Seed of the first run, from which the others' were drawn.
    pub first_seed: u64,
    /// Length of the first run's window, seconds. The others' differ only where a number of requests ends it.
    pub window_s: f64,
    /// Time in which each run sends load, warm-up included and drain not, seconds.
    pub load_s: f64,
    /// The runs, in their order.
    pub runs: Vec<RepeatedRun>,
    /// Figures over the counted runs, under the keys of one run's summary. They are `null` for what no run has.
    #[serde(serialize_with = "figures::by_kind")]
    #[cfg_attr(test, schemars(schema_with = "figures::by_kind_schema"))]
    pub figures: FigureSet,
    /// The objectives, and whether the whole interval meets each.
    pub objectives: Vec<AcrossJudgement>,
    /// The regimes of the server in the counted runs; absent without a diagnosis.
    pub diagnosis: Option<Diagnosis>,
}

/// Run of the repeats.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RepeatedRun {
    /// The number, from 1.
    pub number: u64,
    /// Seed of its schedule.
    pub seed: u64,
    /// SHA-256 of its plan.
    pub plan_hash: String,
    /// Wall-clock time of the run's start.
    pub started_at: jiff::Timestamp,
    /// Outcome of the run by itself.
    pub outcome: VerdictOutcome,
    /// Whether its own figures can be trusted.
    pub valid: bool,
    /// Whether they count here. It is false for a run that was stopped early, and for one that another replaces.
    pub counted: bool,
    /// Whether it was spoiled, and another run replaces it; absent where that is not so.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub replaced: bool,
    /// Requests planned in its window.
    pub planned: u64,
    /// Requests of them that completed.
    pub completed: u64,
    /// Median TTFT, milliseconds, where it is known.
    pub ttft_p50_ms: Option<f64>,
    /// 99th percentile of TTFT, milliseconds, where it is known.
    pub ttft_p99_ms: Option<f64>,
    /// Requests that met their SLO, per second.
    pub goodput_per_s: Option<f64>,
}

/// Runs that are not repeats of one another.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotRepeats {
    /// No run is there.
    #[error("there is no run")]
    Nothing,
    /// A run among them is a single one.
    #[error("the run with seed {seed} is not a repeat: it is a single run")]
    Alone {
        /// Its seed.
        seed: u64,
    },
    /// Two belong to different sets of repeats.
    #[error(
        "{one} with first seed {first_seed} and {other} with first seed {other_seed} are no repeats of one another"
    )]
    Strangers {
        /// Workload of the first run.
        one: String,
        /// Its first seed.
        first_seed: u64,
        /// Workload of the other.
        other: String,
        /// Its first seed.
        other_seed: u64,
    },
    /// A run appears more than once.
    #[error("run {number} is there more than once")]
    Twice {
        /// Its number.
        number: u64,
    },
}

impl Repeats {
    /// The format that this program writes.
    pub const SCHEMA: u32 = 2;

    /// Joins `runs`, in any order, and judges them by `objectives`.
    ///
    /// # Errors
    ///
    /// When they are not repeats of one another.
    pub fn new(runs: &[Summary], objectives: &[Objective]) -> Result<Self, NotRepeats> {
        let mut placed = runs
            .iter()
            .map(|run| run.run.repeat.map(|repeat| (repeat, run)).ok_or(NotRepeats::Alone { seed: run.run.seed }))
            .collect::<Result<Vec<_>, _>>()?;
        placed.sort_by_key(|(repeat, _)| repeat.number);
        check_kin(&placed)?;
        let &(first, first_run) = placed.first().ok_or(NotRepeats::Nothing)?;
        let whole: Vec<_> = placed.iter().copied().filter(|(_, run)| run.window.is_whole()).collect();
        let kept = spoiled::counting(&whole, first.of, |(_, run)| spoiled_by(run).is_some());
        let is_kept = |number| kept.iter().any(|(repeat, _)| repeat.number == number);
        let lost = whole.iter().filter_map(|(repeat, run)| Some((format!("run-{}", repeat.number), spoiled_by(run)?)));
        let counted: Vec<&Summary> = kept.iter().map(|(_, run)| *run).collect();
        let load_s = first_run.window.planned_end_s;
        Ok(Self {
            schema: Self::SCHEMA,
            verdict: verdict(&kept, placed.len() as u64),
            workload: first_run.run.workload.clone(),
            engine: first_run.run.engine.clone(),
            planned_runs: first.of,
            counted_runs: counted.len() as u64,
            spoiled: spoiled::in_words("run", whole.len() as u64, first.of, lost),
            first_seed: first.first_seed,
            window_s: first_run.window.planned_end_s - first_run.window.start_s,
            load_s,
            runs: (placed.iter()).map(|(repeat, run)| RepeatedRun::new(*repeat, run, is_kept(repeat.number))).collect(),
            figures: figures::across(&counted),
            objectives: objectives.iter().map(|objective| AcrossJudgement::new(objective, &counted, load_s)).collect(),
            diagnosis: None,
        })
    }

    /// Adds the diagnoses of `runs`, which are in the same order.
    #[must_use]
    pub fn diagnosed(self, runs: &[Summary], diagnoses: &[Diagnosis]) -> Self {
        let both = runs.iter().zip(diagnoses);
        let mut found: Vec<_> = both
            .filter(|(run, _)| self.counts(run))
            .filter_map(|(run, diagnosis)| Some((run.run.repeat?.number, diagnosis)))
            .collect();
        found.sort_by_key(|(number, _)| *number);
        Self { diagnosis: Some(Diagnosis::of_repeats(&found)), ..self }
    }

    /// Whether the figures of `run`, one of the runs, count.
    pub fn counts(&self, run: &Summary) -> bool {
        let number = run.run.repeat.map(|repeat| repeat.number);
        self.runs.iter().any(|run| run.counted && Some(run.number) == number)
    }
}

/// Refuses runs that do not belong together; they are sorted by number.
fn check_kin(placed: &[(Repeat, &Summary)]) -> Result<(), NotRepeats> {
    for pair in placed.windows(2) {
        let [(one, first), (other, second)] = pair else { continue };
        let kin = one.first_seed == other.first_seed
            && one.of == other.of
            && first.run.workload == second.run.workload
            && first.run.arrival.declares(&second.run.arrival);
        if !kin {
            return Err(NotRepeats::Strangers {
                one: first.run.workload.clone(),
                first_seed: one.first_seed,
                other: second.run.workload.clone(),
                other_seed: other.first_seed,
            });
        }
        if one.number == other.number {
            return Err(NotRepeats::Twice { number: one.number });
        }
    }
    Ok(())
}

impl RepeatedRun {
    fn new(repeat: Repeat, run: &Summary, counted: bool) -> Self {
        let ttft = |quantile| FigureKey::percentile(quantile, Metric::Ttft).read(run).and_then(Figure::exact);
        Self {
            number: repeat.number,
            seed: run.run.seed,
            plan_hash: run.run.plan_hash.clone(),
            started_at: run.run.started_at,
            outcome: run.verdict.outcome,
            valid: run.verdict.valid,
            counted,
            replaced: !counted && run.window.is_whole(),
            planned: run.requests.planned,
            completed: run.requests.completed,
            ttft_p50_ms: ttft(Quantile::P50),
            ttft_p99_ms: ttft(Quantile::P99),
            goodput_per_s: FigureKey::from_metric(Metric::Goodput).read(run).and_then(Figure::exact),
        }
    }
}
