//! Compares sweeps with a baseline: their answers, and their figures at loads that both measured.

mod highest;

use serde::Serialize;

use self::highest::compared_in_words;
use super::change::Pairing;
use super::compared::{NotComparable, allowed};
use super::condition::{Condition, Difference, Facts, differences, facts_of};
use super::confounded::Confounders;
use super::gate::{DISTRUSTED, Gate, GateJudgement, OTHER_LENGTHS};
use super::row::{ComparedRow, correct, unjudged};
use crate::analysis::{AcrossRuns, FigureKey, FigureKind, FigureLevel, Metric, Objective, Quantile, selections};
use crate::experiment::sweep::{
    ArrivalUnit, HighestLoad, Load, LoadAxis, LoadClass, Sweep, SweepPoint, TierAnswer, Trial,
};
use crate::record::RunHeader;
use crate::units::listed;
use crate::workload::RequestClass;

/// Stored sweep with the name of its folder and the header of its first run.
#[derive(Clone, Debug)]
pub struct SweepSide {
    /// Its name.
    pub name: String,
    /// Header of its first run.
    pub header: RunHeader,
    /// Its summary.
    pub sweep: Sweep,
}

/// Sweeps compared with the first of them, as `compare --json` prints it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ComparedSweeps {
    /// Version of this format: [`ComparedSweeps::SCHEMA`].
    pub schema: u32,
    /// Answers of the sides, the baseline's first.
    pub answers: Vec<AnswerOfSide>,
    /// Conditions that differ.
    pub differences: Vec<Difference>,
    /// Every other sweep against the baseline.
    pub against: Vec<SweepAgainst>,
}

/// Answer of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AnswerOfSide {
    /// Its name.
    pub side: String,
    /// Wall-clock time of its first run's zero.
    pub started_at: jiff::Timestamp,
    /// The objectives.
    pub objectives: Vec<Objective>,
    /// The highest load that meets them; absent without objectives.
    pub answer: Option<HighestLoad>,
    /// Whether its figures can be trusted.
    pub valid: bool,
    /// Its curve: each load with its p99 TTFT, milliseconds, as far as it is known.
    pub ttft_p99_ms: Vec<(Load, FigureLevel)>,
    /// Curve of output tokens per second. Each load has its figure, as far as it is known.
    pub output_tokens_per_s: Vec<(Load, FigureLevel)>,
    /// Loads with which the server did not keep up. Their latencies depend on the length of the run.
    #[serde(skip)]
    pub saturated: Vec<Load>,
    /// Unit of arrivals that its rates are of.
    #[serde(skip)]
    pub begun: ArrivalUnit,
}

/// One sweep against the baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SweepAgainst {
    /// Its name.
    pub side: String,
    /// Its highest load compared with the baseline's.
    pub sentence: String,
    /// The loads that both measured.
    pub loads: Vec<AtLoad>,
    /// The gates, judged at every load that both measured.
    pub gates: Vec<GateJudgement>,
}

/// One load that both measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AtLoad {
    /// The load.
    pub load: Load,
    /// Pairing of the runs of both.
    pub pairing: Pairing,
    /// The figures.
    pub rows: Vec<ComparedRow>,
    /// Differences that move other figures.
    #[serde(flatten)]
    pub confounded: Confounders,
}

impl ComparedSweeps {
    /// The format that this program writes.
    pub const SCHEMA: u32 = 3;

    /// Compares `sides` with the first of them; `varied` names the conditions that vary on purpose.
    ///
    /// # Errors
    ///
    /// When they cannot be compared.
    pub fn new(sides: &[SweepSide], varied: &[Condition], gates: &[Gate]) -> Result<Self, NotComparable> {
        let (Some(baseline), true) = (sides.first(), sides.len() > 1) else {
            return Err(NotComparable::Alone);
        };
        let facts: Vec<_> = sides.iter().map(SweepSide::facts).collect();
        let reported = allowed(differences(&facts, varied), sides.iter().map(|side| &*side.name))?;
        Ok(Self {
            schema: Self::SCHEMA,
            answers: sides.iter().map(SweepSide::answer).collect(),
            differences: reported,
            against: sides[1..].iter().map(|other| SweepAgainst::new(baseline, other, gates)).collect(),
        })
    }

    /// Looks whether sweeps keep the figure that `gate` is about.
    ///
    /// # Errors
    ///
    /// When they do not: what they keep.
    pub fn check(gate: &Gate) -> Result<(), String> {
        let wanted = gate.whole_run_subject();
        if selections::of_loads().any(|key| Some(&key) == wanted) {
            return Ok(());
        }
        let kept: Vec<_> = selections::of_loads().map(|key| key.to_string()).collect();
        Err(format!(
            "sweeps keep no `{}` of their loads\nhint: they keep {}; another figure is in their runs: compare one of \
             each, such as run-001",
            gate.margin().figure,
            kept.join(", ")
        ))
    }
}

impl SweepSide {
    /// Returns conditions that must match between sweeps. They are those of runs, apart from rate and length, which a
    /// sweep varies.
    fn facts(&self) -> Facts {
        let header = RunHeader { workload: self.sweep.workload.clone(), ..self.header.clone() };
        let mut facts = facts_of(&header);
        facts.retain(|(condition, fact), _| {
            *condition != Condition::Window && !matches!(fact.as_str(), "arrival.rate_per_s" | "arrival.users")
        });
        facts.insert((Condition::Seed, "seed".to_owned()), self.sweep.plan.first_seed.to_string());
        let axis = match self.sweep.plan.axis {
            LoadAxis::List { .. } | LoadAxis::Geometric { .. } | LoadAxis::Automatic { .. } => "rates",
            LoadAxis::Users { .. } => "users",
            LoadAxis::Agents { .. } => "agents",
        };
        facts.insert((Condition::Rate, "load".to_owned()), axis.to_owned());
        for (place, objective) in self.sweep.plan.objectives.iter().enumerate() {
            facts.insert((Condition::Workload, format!("objectives[{place}]")), objective.to_string());
        }
        facts
    }

    fn answer(&self) -> AnswerOfSide {
        let curve = |key: FigureKey| {
            let points = self.sweep.points.iter();
            points.filter_map(|point| Some((point.load, point.figures.get(&key)?.level()))).collect()
        };
        AnswerOfSide {
            side: self.name.clone(),
            started_at: self.sweep.started_at,
            objectives: self.sweep.plan.objectives.clone(),
            answer: self.sweep.answer.clone(),
            valid: self.sweep.valid,
            ttft_p99_ms: curve(FigureKey::percentile(Quantile::P99, Metric::Ttft)),
            output_tokens_per_s: curve(FigureKey::from_metric(Metric::OutputTokens)),
            saturated: self.sweep.points.iter().filter(|point| is_saturated(point)).map(|point| point.load).collect(),
            begun: ArrivalUnit::from_workload(&self.sweep.workload),
        }
    }
}

impl SweepAgainst {
    fn new(baseline: &SweepSide, other: &SweepSide, gates: &[Gate]) -> Self {
        let both: Vec<(&SweepPoint, &SweepPoint)> = baseline
            .sweep
            .points
            .iter()
            .filter_map(|before| Some((before, other.sweep.points.iter().find(|after| after.load == before.load)?)))
            .collect();
        let is_natural =
            [baseline, other].iter().any(|side| side.sweep.workload.classes.iter().any(RequestClass::ends_by_itself));
        let mut loads: Vec<AtLoad> =
            both.iter().map(|(before, after)| AtLoad::new(before, after, is_natural)).collect();
        correct(loads.iter_mut().flat_map(|at| &mut at.rows).map(|row| (row.p, &mut row.p_holm)));
        let distrusted = !(baseline.sweep.valid && other.sweep.valid);
        unjudged(distrusted, loads.iter_mut().flat_map(|at| &mut at.rows));
        for at in &mut loads {
            unjudged(true, at.rows.iter_mut().filter(|row| at.confounded.is_moved(row.figure.metric)));
        }
        // A baseline that does not keep up cannot be compared with.
        let kept_up = || both.iter().filter(|(before, _)| !distrusted && !is_saturated(before));
        // Nothing passes by nothing.
        let unjudged = (kept_up().next().is_none()).then(|| {
            if distrusted {
                return DISTRUSTED.to_owned();
            }
            format!(
                "the baseline kept up with no load that both measured: it has {}, the other {}; run the other with \
                 --rates and the baseline's loads, or --users",
                loads_of(baseline),
                loads_of(other)
            )
        });
        let judged = gates.iter().flat_map(|gate| {
            let at_loads = kept_up().map(|(before, after)| {
                let place = format!(" at {}", before.load);
                if is_saturated(after) {
                    return gate.overrun(&place);
                }
                if confounders(before, after, is_natural).is_moved(gate.margin().figure.metric) {
                    return gate.unmeasured(OTHER_LENGTHS);
                }
                // A figure that sweeps do not keep, or no run has, is not known.
                let none = AcrossRuns::of_figures(&[], f64::INFINITY);
                let [before_figure, after_figure] = [before, after]
                    .map(|point| gate.whole_run_subject().and_then(|key| point.figures.get(key)).unwrap_or(&none));
                gate.judge_figures(&place, before_figure, after_figure, pairing(before, after))
            });
            at_loads.chain(unjudged.iter().map(|why| gate.unmeasured(why)))
        });
        Self {
            side: other.name.clone(),
            sentence: if distrusted { DISTRUSTED.to_owned() } else { answers_compared(&baseline.sweep, &other.sweep) },
            gates: judged.collect(),
            loads,
        }
    }
}

impl AtLoad {
    fn new(before: &SweepPoint, after: &SweepPoint, is_natural: bool) -> Self {
        let pairing = pairing(before, after);
        let saturated = [before, after].iter().any(|point| is_saturated(point));
        // Beyond saturation a latency depends on the length of the run and says nothing about the server.
        let is_compared = |key: &FigureKey| !saturated || key.kind() != FigureKind::Latency;
        let row = |key| ComparedRow::compare(&key, before.figures.get(&key)?, after.figures.get(&key)?, pairing, None);
        let rows = selections::compared_of_loads().filter(is_compared).filter_map(row).collect();
        Self { load: before.load, pairing, rows, confounded: confounders(before, after, is_natural) }
    }
}

/// The highest loads compared. Of tiers they are those that both have with the same objectives.
fn answers_compared(before: &Sweep, after: &Sweep) -> String {
    let of_tier = |tier: &TierAnswer| {
        let other = after.tiers.iter().find(|other| other.name == tier.name && other.objectives == tier.objectives)?;
        Some(format!("{}: {}", tier.name, compared_in_words(Some(&tier.answer), Some(&other.answer))))
    };
    let tiers = listed(before.tiers.iter().filter_map(of_tier), "; ");
    tiers.unwrap_or_else(|| compared_in_words(before.answer.as_ref(), after.answer.as_ref()))
}

/// Differences between the runs of a load that move other figures. `is_natural` says whether answers end by themselves.
fn confounders(before: &SweepPoint, after: &SweepPoint, is_natural: bool) -> Confounders {
    let none = || AcrossRuns::of_figures(&[], f64::INFINITY);
    let figure = |point: &SweepPoint, key: &FigureKey| point.figures.get(key).cloned().unwrap_or_else(none);
    Confounders::new(is_natural, |key| [figure(before, key), figure(after, key)])
}

/// The loads that a sweep measured.
fn loads_of(side: &SweepSide) -> String {
    let loads: Vec<_> = side.sweep.points.iter().map(|point| point.load.to_string()).collect();
    if loads.is_empty() { "none".to_owned() } else { loads.join(", ") }
}

/// Whether the server did not keep up with a load.
fn is_saturated(point: &SweepPoint) -> bool {
    point.class == LoadClass::Saturated
}

/// Returns how the runs of a load belong together. They are those whose figures count, all where none does.
fn pairing(before: &SweepPoint, after: &SweepPoint) -> Pairing {
    let plans = |point: &SweepPoint| -> Vec<String> {
        let trusted = point.trials.iter().any(Trial::is_valid);
        let counted = point.trials.iter().filter(|trial| trial.is_valid() || !trusted);
        counted.map(|trial| trial.plan_hash.clone()).collect()
    };
    let (before, after) = (plans(before), plans(after));
    match (before.len(), after.len()) {
        (0 | 1, _) | (_, 0 | 1) => Pairing::OneRunEach,
        _ if before == after => Pairing::Paired,
        _ => Pairing::Independent,
    }
}

#[cfg(test)]
mod tests;
