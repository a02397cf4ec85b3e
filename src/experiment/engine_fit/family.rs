//! The forms that a fitted step time can have, and what each needs to know.

use serde::Serialize;

use super::rows::StepStretch;
use super::solve::{Equation, solve};
use crate::simulator::{Deployment, Efficiency, LinearStep, Roofline, StepTime, StepWork};

/// Turns in which the roofline decides anew which steps are bound by what.
const TURNS: usize = 12;

/// The form of a step time.
#[derive(Clone, Debug, PartialEq)]
pub enum CostModel {
    /// Physics of a known deployment. It is which share of its arithmetic and bandwidth it reaches, and what a step
    /// costs besides.
    Roofline(Box<Deployment>),
    /// A sum of costs without a physical model.
    Linear,
}

/// A cost that was fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CostKind {
    /// Share of the datasheet's arithmetic that prompts reach.
    ComputeEfficiency,
    /// Share of the datasheet's memory bandwidth that steps reach.
    BandwidthEfficiency,
    /// Fixed seconds of every step.
    StepOverhead,
    /// Seconds of every step.
    Step,
    /// Seconds for each sequence in a step.
    Sequence,
    /// Seconds for each prompt token.
    PromptToken,
    /// Seconds for each token of context.
    ContextToken,
    /// Seconds for each pair of a token and one that it attends to.
    AttendedPair,
    /// Seconds between the engine and the client.
    FrontEnd,
}

impl CostKind {
    /// Whether it is a share and no time.
    pub const fn is_share(self) -> bool {
        matches!(self, Self::ComputeEfficiency | Self::BandwidthEfficiency)
    }
}

impl CostModel {
    /// Returns the kinds of the fitted costs, in the order of a step's values. The first two of a roofline are kept as
    /// their reciprocals, in which its time is a sum.
    pub(super) const fn kinds(&self) -> &'static [CostKind] {
        match self {
            Self::Roofline(_) => &[
                CostKind::ComputeEfficiency,
                CostKind::BandwidthEfficiency,
                CostKind::StepOverhead,
                CostKind::FrontEnd,
            ],
            Self::Linear => &[
                CostKind::Step,
                CostKind::Sequence,
                CostKind::PromptToken,
                CostKind::ContextToken,
                CostKind::AttendedPair,
                CostKind::FrontEnd,
            ],
        }
    }

    /// The costs that explain `rows` best.
    pub(super) fn fit(&self, rows: &[StepStretch]) -> Vec<Option<f64>> {
        let unknowns = self.kinds().len();
        let Self::Roofline(deployment) = self else {
            let equations: Vec<_> = rows.iter().map(linear).collect();
            return solve(&equations, unknowns);
        };
        let datasheet = Roofline::by_datasheet((**deployment).clone());
        let usual = Efficiency::default();
        let mut values = vec![Some(usual.compute.recip()), Some(usual.bandwidth.recip()), None, None];
        for _ in 0..TURNS {
            let [compute, bandwidth] = [values[0], values[1]].map(|value| value.unwrap_or(1.0));
            let equations: Vec<_> = rows.iter().map(|row| of_roofline(&datasheet, row, compute, bandwidth)).collect();
            let mut next = solve(&equations, unknowns);
            // What no step is bound by stays as it usually is, for others are decided by it.
            next[0] = next[0].filter(|&value| value > 0.0).or(Some(compute));
            next[1] = next[1].filter(|&value| value > 0.0).or(Some(bandwidth));
            let settled = next == values;
            values = next;
            if settled {
                break;
            }
        }
        values
    }

    /// The step time with these costs.
    pub(super) fn step_time(&self, costs: &[Option<f64>]) -> StepTime {
        let value = |place: usize| costs[place].unwrap_or(0.0);
        match self {
            Self::Roofline(deployment) => StepTime::Roofline(Roofline::new(
                (**deployment).clone(),
                Efficiency {
                    compute: value(0).recip(),
                    bandwidth: value(1).recip(),
                    step_overhead: value(2),
                    ..Efficiency::default()
                },
            )),
            Self::Linear => StepTime::Linear(LinearStep {
                step: value(0),
                sequence: value(1),
                prompt_token: value(2),
                context_token: value(3),
                attended_pair: value(4),
            }),
        }
    }

    /// Returns the cost at `place` as reported, a share or a time in seconds. It is `None` where the runs do not
    /// determine it.
    pub(super) fn reported(&self, costs: &[Option<f64>], place: usize) -> Option<f64> {
        let value = costs[place]?;
        if self.kinds()[place].is_share() { (value > 0.0).then(|| value.recip()) } else { Some(value) }
    }
}

/// Seconds between the engine and the client.
pub(super) fn front_end(costs: &[Option<f64>]) -> f64 {
    costs.last().copied().flatten().unwrap_or(0.0)
}

fn linear(row: &StepStretch) -> Equation {
    let sum = |of: fn(&StepWork) -> f64| row.steps.iter().map(|(number, work)| number * of(work)).sum();
    let factors = vec![
        sum(|_| 1.0),
        sum(|work| f64::from(work.sequences)),
        sum(|work| work.prefill_tokens as f64),
        sum(|work| work.kv_tokens_read as f64),
        sum(|work| work.attended_pairs as f64),
        f64::from(u8::from(row.is_first)),
    ];
    Equation { factors, sum: row.seconds }
}

/// Returns the equation of a row by the roofline of the `datasheet`. The steps are bound by what they are bound by when
/// arithmetic and memory take `compute` and `bandwidth` times as long as the datasheet says.
fn of_roofline(datasheet: &Roofline, row: &StepStretch, compute: f64, bandwidth: f64) -> Equation {
    let mut factors = vec![0.0, 0.0, 0.0, f64::from(u8::from(row.is_first))];
    let mut known = 0.0;
    for (number, work) in &row.steps {
        let parts = datasheet.parts(work);
        if parts.compute * compute > parts.memory * bandwidth {
            factors[0] += number * parts.compute;
        } else {
            factors[1] += number * parts.memory;
        }
        // Links reach the same share of their bandwidth as memory does; their latency is small beside it.
        factors[1] += number * parts.communication;
        factors[2] += number;
        known += number * f64::from(work.sequences) * Efficiency::default().sequence_overhead;
    }
    Equation { factors, sum: row.seconds - known }
}
