//! Compares stored runs with a baseline, or refuses them with the reason.

use std::fmt::Write as _;

use serde::Serialize;

use super::change::{ChangeStanding, Pairing};
use super::condition::{Condition, Difference, Role, differences, facts_of};
use super::confounded::Confounders;
use super::gate::{Gate, GateJudgement};
use super::row::{ComparedRow, RunTrend};
use super::side::{ComparedSide, SideDescription, SideUnit};
use crate::analysis::FigureKey;
use crate::experiment::diagnosis::{Symptom, warm_like_cold};
use crate::experiment::difference::PerGpuTrade;

/// Runs compared with the first of them, as `compare --json` prints it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Compared {
    /// Version of this format: [`Compared::SCHEMA`].
    pub schema: u32,
    /// Whether the sides are runs or repeats.
    pub unit: SideUnit,
    /// The sides, the baseline first.
    pub sides: Vec<SideDescription>,
    /// Conditions that differ.
    pub differences: Vec<Difference>,
    /// Every other side against the baseline.
    pub against: Vec<AgainstBaseline>,
    /// The trend over all sides; absent with fewer than three.
    pub trend: Option<RunTrend>,
}

/// One side against the baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AgainstBaseline {
    /// Its name.
    pub side: String,
    /// Pairing of its runs with the baseline's.
    pub pairing: Pairing,
    /// The figures.
    pub rows: Vec<ComparedRow>,
    /// The gates, judged.
    pub gates: Vec<GateJudgement>,
    /// Symptom where the run with warm prefixes is no faster than the cold one. It is absent otherwise.
    pub warm_like_cold: Option<Symptom>,
    /// Latency that got better while each GPU makes fewer tokens. It is absent where that is not so, or may be chance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_gpu_trade: Option<PerGpuTrade>,
    /// Differences that move other figures.
    #[serde(flatten)]
    pub confounded: Confounders,
}

/// Reason why runs cannot be compared.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NotComparable {
    /// There is only one side.
    #[error("a comparison needs two folders or more\nhint: skyline compare BASELINE OTHER")]
    Alone,
    /// Some are single runs, some repeats.
    #[error(
        "{run} is one run and {repeats} holds repeats\nhint: compare like with like: run both with the same --repeats, \
         or name one run of the second"
    )]
    Mixed {
        /// One that is a run.
        run: String,
        /// One that holds several.
        repeats: String,
    },
    /// Conditions that must match differ.
    #[error("{}", in_words(.names, .differences))]
    Unequal {
        /// Names of the sides, the baseline first.
        names: Vec<String>,
        /// The conditions that differ.
        differences: Vec<Difference>,
    },
}

/// The `differences` between the sides of these names, where none forbids to compare them.
pub(super) fn allowed<'a>(
    differences: Vec<Difference>,
    names: impl Iterator<Item = &'a str>,
) -> Result<Vec<Difference>, NotComparable> {
    let (forbidden, reported): (Vec<_>, Vec<_>) =
        differences.into_iter().partition(|difference| difference.role == Role::Forbids);
    if forbidden.is_empty() {
        return Ok(reported);
    }
    Err(NotComparable::Unequal { names: names.map(str::to_owned).collect(), differences: forbidden })
}

/// Facts of one kind that are shown before the rest is counted.
const SHOWN: usize = 8;

fn in_words(names: &[String], differences: &[Difference]) -> String {
    let mut text = String::from("these runs cannot be compared, because their test conditions differ:");
    let mut conditions: Vec<Condition> = differences.iter().map(|difference| difference.condition).collect();
    conditions.dedup();
    for condition in &conditions {
        let mut of: Vec<_> = differences.iter().filter(|found| found.condition == *condition).collect();
        let more = of.len().saturating_sub(SHOWN);
        of.truncate(SHOWN);
        for difference in of {
            // Nothing can be wrong with writing to a string.
            let _ = write!(text, "\n  {}: {}", difference.fact, difference.values_in_words(names));
        }
        if more > 0 {
            let _ = write!(text, "\n  … and {more} more of {condition}");
        }
    }
    let vary: Vec<_> = conditions.iter().map(|condition| format!("--vary {condition}")).collect();
    let _ = write!(text, "\nhint: run both under the same conditions, or allow the difference: {}", vary.join(" "));
    text
}

impl Difference {
    /// The value on each side, with its name.
    fn values_in_words(&self, names: &[String]) -> String {
        let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "not said".to_owned());
        let values = names.iter().zip(&self.values);
        values.map(|(name, value)| format!("{} ({name})", shown(value))).collect::<Vec<_>>().join(", ")
    }
}

impl Compared {
    /// The format that this program writes.
    pub const SCHEMA: u32 = 3;

    /// Compares `sides` with the first of them; `varied` names the conditions that vary on purpose.
    ///
    /// # Errors
    ///
    /// When they cannot be compared.
    pub fn new(sides: &[ComparedSide], varied: &[Condition], gates: &[Gate]) -> Result<Self, NotComparable> {
        let (Some(baseline), true) = (sides.first(), sides.len() > 1) else {
            return Err(NotComparable::Alone);
        };
        let of_unit = |unit: SideUnit| sides.iter().find(|side| side.unit == unit).map(|side| side.name.clone());
        if let (Some(run), Some(repeats)) = (of_unit(SideUnit::Run), of_unit(SideUnit::Repeats)) {
            return Err(NotComparable::Mixed { run, repeats });
        }
        let reported = allowed(unequal(sides, varied), sides.iter().map(|side| &*side.name))?;
        let against = sides[1..].iter().map(|other| {
            let pairing = Pairing::new(baseline, other);
            let rows = ComparedRow::all(baseline, other, pairing);
            AgainstBaseline {
                side: other.name.clone(),
                pairing,
                per_gpu_trade: PerGpuTrade::from_changes(rows.iter().filter_map(changed)),
                rows,
                gates: gates.iter().map(|gate| gate.judge(baseline, other, pairing)).collect(),
                warm_like_cold: cold_and_warm(baseline, other),
                confounded: other.confounded(baseline),
            }
        });
        Ok(Self {
            schema: Self::SCHEMA,
            unit: baseline.unit,
            sides: sides.iter().map(ComparedSide::describe).collect(),
            against: against.collect(),
            trend: RunTrend::from_sides(sides),
            differences: reported,
        })
    }
}

/// The change of a figure, and whether it is more than chance.
fn changed(row: &ComparedRow) -> Option<(FigureKey, f64, bool)> {
    use ChangeStanding::{Apart, Better, Worse};
    Some((row.figure.clone(), row.change?.value, matches!(row.standing, Better | Worse | Apart)))
}

/// Returns the effect of the prefix cache. It is from the first cold run and the first run with warm prefixes.
fn cold_and_warm(one: &ComparedSide, other: &ComparedSide) -> Option<Symptom> {
    let warmed = |side: &ComparedSide| side.header.cache.is_some_and(|cache| cache.warmed_prefixes > 0);
    let (cold, warm) = match (warmed(one), warmed(other)) {
        (false, true) => (one, other),
        (true, false) => (other, one),
        _ => return None,
    };
    warm_like_cold(cold.runs.first()?, warm.runs.first()?)
}

/// Returns where the sides differ. They differ in their facts, and in the plans drawn where all that draws them is the
/// same.
fn unequal(sides: &[ComparedSide], varied: &[Condition]) -> Vec<Difference> {
    let facts: Vec<_> = sides
        .iter()
        .map(|side| {
            let mut facts = facts_of(&side.header);
            if let Some(repeat) = side.header.repeat {
                facts.insert((Condition::Seed, "seed".to_owned()), repeat.first_seed.to_string());
            }
            facts
        })
        .collect();
    let mut found = differences(&facts, varied);
    let drawn_alike = !found.iter().any(|difference| {
        use Condition::{Rate, Seed, Window, Workload};
        matches!(difference.condition, Workload | Rate | Window | Seed)
    });
    if drawn_alike {
        let plans = sides.iter().map(|side| {
            let plan = (Condition::Plan, "plan".to_owned());
            [(plan, format!("{:.12}", side.header.plan.hash))].into()
        });
        found.extend(differences(&plans.collect::<Vec<_>>(), varied));
    }
    found
}
