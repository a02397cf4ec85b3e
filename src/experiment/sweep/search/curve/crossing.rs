//! The load at which a figure crosses its limit, by isotonic regression and by the loads on both sides of a step.

use crate::analysis::statistics::non_decreasing;
use crate::experiment::sweep::load::Load;
use crate::experiment::sweep::search::demand::{DemandReading, DemandScale, SearchDemand, pooled};

/// Whether and where a figure crosses its limit as the load rises.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum LimitCrossing {
    /// Figure that stays within its limit at every measured load.
    Kept,
    /// Figure that exceeds its limit from the lowest load on, there by this factor.
    Missed(f64),
    /// Figure that crosses its limit.
    Crosses(Crossing),
}

/// Load at which a figure crosses its limit: requests per second, or users.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Crossing {
    pub(crate) estimate: f64,
    /// The 95 % interval, or why there is none.
    pub(crate) interval: Result<(f64, f64), Unsure>,
}

impl Crossing {
    /// The crossing in loads like `like`. Of agents it is the largest whole number below it, and its interval reaches
    /// outward to whole numbers.
    pub(crate) fn in_loads(self, like: Load) -> Self {
        let Load::Agents(_) = like else { return self };
        Self { estimate: self.estimate.floor(), interval: self.interval.map(|(low, high)| (low.floor(), high.ceil())) }
    }
}

/// Reason why a crossing has no interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unsure {
    /// Fewer than three loads lie near it.
    FarApart,
    /// Fewer than six runs lie near it.
    FewRuns,
    /// The runs near it do not determine the slope.
    Flat,
}

/// The readings of each load joined, ascending by load.
fn by_load(readings: &[DemandReading]) -> Vec<DemandReading> {
    let mut loads: Vec<f64> = readings.iter().map(|reading| reading.load).collect();
    loads.sort_by(f64::total_cmp);
    loads.dedup();
    let joined = |load: f64| {
        let own: Vec<_> = readings.iter().copied().filter(|reading| reading.load == load).collect();
        let requests = own.iter().map(|reading| reading.requests).sum();
        Some(DemandReading { load, figure: pooled(&own)?, requests, ..DemandReading::default() })
    };
    loads.into_iter().filter_map(joined).collect()
}

/// Returns the crossing of the isotonic fit. It is interpolated between the two loads around it in the logarithms of
/// both.
pub(super) fn isotonic(demand: &SearchDemand, readings: &[DemandReading]) -> LimitCrossing {
    let loads = by_load(readings);
    let fitted = non_decreasing(&loads.iter().map(|load| (load.figure, load.requests)).collect::<Vec<_>>());
    let Some(over) = fitted.iter().position(|figure| !demand.holds(*figure)) else {
        return LimitCrossing::Kept;
    };
    let Some(under) = over.checked_sub(1) else {
        return LimitCrossing::Missed(fitted[over] / demand.limit);
    };
    let seen = |place: usize| match demand.scale {
        // No failure among so many does not prove a share of 0.
        DemandScale::Share => ln(fitted[place].max(0.5 / loads[place].requests)),
        DemandScale::Magnitude => ln(fitted[place].max(f64::MIN_POSITIVE)),
    };
    let (low, high) = (seen(under), seen(over));
    let share = if high > low { ((ln(demand.limit) - low) / (high - low)).clamp(0.0, 1.0) } else { 0.5 };
    let (from, to) = (ln(loads[under].load), ln(loads[over].load));
    let estimate = libm::exp(from + share * (to - from));
    LimitCrossing::Crosses(Crossing { estimate, interval: Err(Unsure::FarApart) })
}

/// Returns the loads on both sides of a step. More than one run lies on each: a single one may be chance.
pub(super) fn sides(demand: &SearchDemand, near: &[DemandReading]) -> Result<(f64, f64), Unsure> {
    let under = near.iter().filter(|reading| demand.holds(reading.figure)).count();
    if under < 2 || near.len() - under < 2 {
        return Err(Unsure::FewRuns);
    }
    let loads = by_load(near);
    let over = loads.iter().position(|load| !demand.holds(load.figure));
    let over = over.filter(|over| *over > 0).ok_or(Unsure::Flat)?;
    Ok((loads[over - 1].load, loads[over].load))
}

pub(super) fn ln(value: f64) -> f64 {
    libm::log(value)
}
