//! Compares runs of several tools by the figures that have the same meaning in both.

use serde::Serialize;

use super::any_side::{AnySide, AnySideDescription, Unchecked, reported_conditions};
use super::change::Pairing;
use super::compared::{NotComparable, allowed};
use super::condition::{Condition, Difference, differences};
use super::gate::{DISTRUSTED, Gate, GateJudgement};
use super::row::{ComparedRow, unjudged};
use super::side::SideUnit;
use super::why::Explanation;
use crate::analysis::{FigureKey, FigureKind, Metric, selections};

/// Runs of several tools compared with the first of them, as `compare --json` prints it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedForeign {
    /// Version of this format: [`ComparedForeign::SCHEMA`].
    pub schema: u32,
    /// The sides, the baseline first.
    pub sides: Vec<AnySideDescription>,
    /// Conditions that differ.
    pub differences: Vec<Difference>,
    /// Conditions that not all sides report.
    pub unchecked: Vec<Unchecked>,
    /// Every other side against the baseline.
    pub against: Vec<AgainstForeign>,
}

/// One side against the baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgainstForeign {
    /// Its name.
    pub side: String,
    /// The figures that both have.
    pub rows: Vec<ComparedRow>,
    /// Figures that only the baseline has.
    pub only_baseline: Vec<String>,
    /// Figures that only this side has.
    pub only_here: Vec<String>,
    /// The gates, judged.
    pub gates: Vec<GateJudgement>,
    /// Why figures of one name differ; absent where both sides count alike.
    pub why: Option<Explanation>,
}

/// Reason why runs of several tools cannot be compared.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NotComparableForeign {
    /// Repeats that are compared with a single run.
    #[error("{0} holds repeats, and the result of another tool is one run\nhint: name one run of it: {0}/run-1")]
    Repeats(String),
    /// Sides that differ in what must be equal, or one that stands alone.
    #[error(transparent)]
    Conditions(#[from] NotComparable),
    /// Demand for what other tools do not have.
    #[error("`{gate}` cannot be demanded of a result of another tool: {why}")]
    Demand {
        /// Gate that was demanded.
        gate: String,
        /// Reason why it cannot be demanded.
        why: String,
    },
}

impl ComparedForeign {
    /// The format that this program writes.
    pub const SCHEMA: u32 = 4;

    /// Compares `sides` with the first of them; `varied` names the conditions that vary on purpose.
    ///
    /// # Errors
    ///
    /// When they cannot be compared, or a gate names a figure that other tools do not have.
    pub fn new(sides: &[AnySide], varied: &[Condition], gates: &[Gate]) -> Result<Self, NotComparableForeign> {
        gates.iter().try_for_each(has_an_equal)?;
        let (Some((baseline, others)), true) = (sides.split_first(), sides.len() > 1) else {
            return Err(NotComparable::Alone.into());
        };
        let several =
            sides.iter().find(|side| matches!(side, AnySide::Ours(side, _) if side.unit == SideUnit::Repeats));
        if let Some(side) = several {
            return Err(NotComparableForeign::Repeats(side.name().to_owned()));
        }
        let (facts, unchecked) = reported_conditions(sides);
        let reported = allowed(differences(&facts, varied), sides.iter().map(AnySide::name))?;
        Ok(Self {
            schema: Self::SCHEMA,
            sides: sides.iter().map(AnySide::describe).collect(),
            differences: reported,
            unchecked,
            against: others.iter().map(|other| AgainstForeign::new(baseline, other, gates)).collect(),
        })
    }
}

impl AgainstForeign {
    fn new(baseline: &AnySide, other: &AnySide, gates: &[Gate]) -> Self {
        let (mut rows, mut only_baseline, mut only_here) = (Vec::new(), Vec::new(), Vec::new());
        for key in &selections::compared_of_tools().collect::<Vec<_>>() {
            let (before, after) = (baseline.figure(key), other.figure(key));
            match (before.is_known(), after.is_known()) {
                (true, true) => {
                    rows.extend(ComparedRow::compare(key, &before, &after, Pairing::OneRunEach, None));
                }
                (true, false) => only_baseline.push(key.to_string()),
                (false, true) => only_here.push(key.to_string()),
                (false, false) => {}
            }
        }
        let distrusted = [baseline, other].iter().any(|side| side.describe().valid == Some(false));
        unjudged(distrusted, rows.iter_mut());
        let judged = gates.iter().map(|gate| {
            if distrusted {
                return gate.unmeasured(DISTRUSTED);
            }
            let key = &gate.margin().figure;
            gate.judge_figures("", &baseline.figure(key), &other.figure(key), Pairing::OneRunEach)
        });
        let (side, why) = (other.name().to_owned(), Explanation::new(baseline, other));
        Self { side, rows, only_baseline, only_here, gates: judged.collect(), why }
    }
}

/// Refuses a demand on what other tools do not have under our meaning.
fn has_an_equal(gate: &Gate) -> Result<(), NotComparableForeign> {
    let measure = &gate.margin().figure;
    let no = |why: String| Err(NotComparableForeign::Demand { gate: gate.margin().text.clone(), why });
    let from_send = |there| {
        no(format!(
            "{} counts from the scheduled moment, which it does not keep\nhint: demand `{}`",
            measure.metric,
            FigureKey { metric: there, ..measure.clone() }
        ))
    };
    if measure.part.is_some() {
        return no("it reports no classes\nhint: demand the figure of the whole run".to_owned());
    }
    match (measure.kind(), measure.metric) {
        (FigureKind::Latency, metric) if selections::LATENCIES_OF_TOOLS.contains(&metric) => Ok(()),
        (_, Metric::ErrorRate) => Ok(()),
        (_, Metric::Ttft) => from_send(Metric::TtftFromSend),
        (_, Metric::E2e) => from_send(Metric::E2eFromSend),
        (FigureKind::Latency, metric) => no(format!("it has no {metric}")),
        (FigureKind::Rate, _) => {
            no("its rates are totals over the whole run, and ours those of a window\nhint: demand latencies, \
                                such as `p95 ttft_from_send 10%`"
                .to_owned())
        }
        (FigureKind::Share | FigureKind::Count | FigureKind::Cost, _) => no("it does not report it".to_owned()),
    }
}
