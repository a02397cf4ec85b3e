//! Trends of figures over several runs, in the order in which they ran.

use serde::Serialize;

use super::row::{SIGNIFICANT, SUBJECTS};
use super::side::ComparedSide;
use crate::analysis::statistics::{holm, mean, slope, slope_p};
use crate::analysis::{FigureKey, FigureLevel};

/// Fewer make no trend.
const FEWEST: usize = 3;

/// Figures over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunTrend {
    /// The sides by their places in the comparison, the earliest first.
    pub order: Vec<usize>,
    /// When each was begun.
    pub started_at: Vec<jiff::Timestamp>,
    /// The figures.
    pub lines: Vec<TrendLine>,
}

/// One figure over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TrendLine {
    /// The figure.
    pub figure: FigureKey,
    /// Its values in the order of time.
    pub levels: Vec<FigureLevel>,
    /// How much it changes from one side to the next, as a share of its mean: least squares over all sides.
    pub change_per_step: Option<f64>,
    /// Lower end of its 95 % interval; absent where the spread about the line is unknown.
    pub change_low: Option<f64>,
    /// Upper end.
    pub change_high: Option<f64>,
    /// Two-sided p-value that it does not change; absent where the interval is.
    pub p: Option<f64>,
    /// The same after Holm's correction for all figures of this trend.
    pub p_holm: Option<f64>,
    /// Whether the figure drifts by more than chance: the corrected p-value is at most 0.05.
    pub drifts: bool,
}

impl RunTrend {
    /// The trend of the sides; `None` with fewer than three.
    pub(super) fn of(sides: &[ComparedSide]) -> Option<Self> {
        if sides.len() < FEWEST {
            return None;
        }
        let mut order: Vec<usize> = (0..sides.len()).collect();
        order.sort_by_key(|&place| sides[place].header.started_at);
        let lines = SUBJECTS.iter().filter_map(|subject| {
            let levels: Vec<_> = order.iter().map(|&place| sides[place].figure(subject).level()).collect();
            TrendLine::of(subject, levels)
        });
        let mut lines: Vec<TrendLine> = lines.collect();
        let tested: Vec<&mut TrendLine> = lines.iter_mut().filter(|line| line.p.is_some()).collect();
        let p_values: Vec<f64> = tested.iter().filter_map(|line| line.p).collect();
        for (line, corrected) in tested.into_iter().zip(holm(&p_values)) {
            line.p_holm = Some(corrected);
            line.drifts = corrected <= SIGNIFICANT;
        }
        Some(Self {
            lines,
            started_at: order.iter().map(|&place| sides[place].header.started_at).collect(),
            order,
        })
    }
}

impl TrendLine {
    fn of(subject: &FigureKey, levels: Vec<FigureLevel>) -> Option<Self> {
        let known: Vec<(f64, f64)> =
            levels.iter().enumerate().filter_map(|(step, level)| Some((step as f64, level.value?))).collect();
        let values: Vec<f64> = known.iter().map(|(_, value)| *value).collect();
        let middle = mean(&values)?;
        let drift = slope(&known).filter(|_| middle > 0.0);
        let p = slope_p(&known).filter(|_| drift.is_some());
        let sure = drift.filter(|_| p.is_some());
        Some(Self {
            figure: subject.clone(),
            levels,
            change_per_step: drift.map(|drift| drift.value / middle),
            change_low: sure.map(|drift| drift.low / middle),
            change_high: sure.map(|drift| drift.high / middle),
            p,
            p_holm: None,
            drifts: false,
        })
    }
}
