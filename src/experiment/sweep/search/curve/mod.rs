//! Where a figure that rises with the load crosses its limit, and how sure that is.

pub(crate) mod crossing;

use self::crossing::{Crossing, LimitCrossing, Unsure, isotonic, ln, sides};
use super::demand::{DemandReading, DemandScale, SearchDemand, pooled};
use crate::analysis::statistics::{CONFIDENCE, student_t_quantile};

/// Loads further than this factor from the crossing are another part of the curve.
pub(crate) const BAND: f64 = 1.35;
/// Fewer runs within the band, or fewer loads, give no variance.
const FEWEST_RUNS: usize = 6;
const FEWEST_LOADS: usize = 3;
/// Steepest line that can be distinguished from a step. The odds of being over the bound grow by e⁴ over 1 % more load.
const STEEPEST: f64 = 400.0;
/// Share of the difference of a run's own rate that counts as more load. The own rate differs from that of its load by
/// chance, and explains a part of the run's figure. The queue in front of the window, and the order of arrivals,
/// explain the rest.
const OWN_RATE: f64 = 0.5;
/// Share of requests over the bound below which they come from a few long queues. The rate of the whole run does not
/// explain those.
const MANY_LATE: f64 = 0.03;
/// Factor on the widths of intervals of shares. So few queues show less of their variance than there is. In searches on
/// M/M/1, M/M/8 and a server of 16 slots the intervals hold the truth in 92 to 98 of 100 then.
const WIDER: f64 = 1.15;
const WIDER_OF_FEW_LATE: f64 = 1.2;
/// Part of the share at low loads that is late at any load. The service alone is too long for it: the log odds of the
/// others rise in a line, those of all bend upwards. Between 1/2 and 3/4 the line through the closed forms of M/M/c (1
/// to 16 places, 5 and 10 % late, bounds of 3 to 10 service times) crosses nearest to where they do; without it up to
/// 3.7 % too early.
const LATE_AT_ANY_LOAD: f64 = 0.5;
/// Fewest requests at low loads that tell that share. Without them it stays in, and intervals of shares of waits are so
/// many times as wide.
const FEWEST_LOW: f64 = 200.0;
const WIDER_OF_MANY_LATE: f64 = 1.35;
/// Slope of a share's log odds over the logarithm of the load. It is that where 5 to 10 % are late: of M/M/c queues of
/// 8 to 32 places and bounds of one service time 9 to 37, with fewer places less. Eight runs tell it so badly that
/// their interval would have no end; this much is known without them, as of a normal distribution, and few runs
/// outweigh it.
const USUAL_SLOPE: f64 = 12.0;
const SLOPE_DEVIATION: f64 = 4.0;
/// Quantile of the normal distribution for a probability of 95 % between both sides.
const Z: f64 = 1.959_964;
/// Largest factor from an interval's lower end to its upper one that says something. An interval whose upper end is
/// more than this factor over its lower one says nothing.
const WIDEST: f64 = 4.0;
/// Iterations of the fit; it converges in twenty, or never.
const TURNS: usize = 60;
/// A slope that still changes by this share has not converged.
const SETTLED: f64 = 1e-3;

/// The result of a fit.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fit {
    /// A line.
    Line(Line),
    /// The figure jumps between two loads: the crossing may be anywhere between them.
    Step,
    /// There is too little.
    Nothing,
}

/// Straight line through the figures of runs against the logarithm of the load. It is through the log odds of a share,
/// through the logarithm of a magnitude.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Line {
    /// Its value at `middle`.
    level: f64,
    slope: f64,
    /// Weighted mean of the loads' logarithms.
    middle: f64,
    /// Variance of `level`.
    level_variance: f64,
    /// Variance of `slope`.
    slope_variance: f64,
    freedom: f64,
    /// Whether more is known of the slope than what the runs show. Its error is then not that of few of them.
    knows_slope: bool,
}

/// Variation of the figures of a demand from run to run.
#[derive(Clone, Copy, Debug, PartialEq)]
struct RunVariation {
    /// The part of [`DemandReading::excess`] that counts as load.
    own_rate: f64,
    /// Factor on the widths of intervals.
    wider: f64,
    /// Slope as known before, by its mean and its standard deviation.
    slope: Option<(f64, f64)>,
    /// The share that is over the bound at any load.
    floor: f64,
}

impl RunVariation {
    /// The variation of `demand`'s figures; `low` are the readings at loads far below the crossing.
    fn new(demand: &SearchDemand, low: &[DemandReading]) -> Self {
        let plain = Self { own_rate: OWN_RATE, wider: 1.0, slope: None, floor: 0.0 };
        match demand.scale {
            DemandScale::Share if demand.limit >= MANY_LATE => {
                let slope = demand.is_of_waits().then_some((USUAL_SLOPE, SLOPE_DEVIATION));
                let enough = low.iter().map(|reading| reading.requests).sum::<f64>() >= FEWEST_LOW;
                let late = pooled(low).filter(|_| enough).map(|late| LATE_AT_ANY_LOAD * late.min(demand.limit));
                let wider = if late.is_none() && slope.is_some() { WIDER_OF_MANY_LATE } else { WIDER };
                Self { wider, slope, floor: late.unwrap_or(0.0), ..plain }
            }
            DemandScale::Share => Self { own_rate: 0.0, wider: WIDER_OF_FEW_LATE, ..plain },
            DemandScale::Magnitude => plain,
        }
    }

    /// Returns the mean and the weight of the slope as known before. The weight is as of a sum of squares whose
    /// variance is `dispersion`.
    fn known_slope(self, dispersion: f64) -> (f64, f64) {
        self.slope.map_or((0.0, 0.0), |(mean, deviation)| (mean, dispersion / (deviation * deviation)))
    }

    /// The logarithm of the load that a run had.
    fn ln_load(self, reading: &DemandReading) -> f64 {
        ln(reading.load) + self.own_rate * reading.excess
    }
}

/// Returns where `demand` crosses its limit, by the readings of runs.
///
/// First by isotonic regression, which only assumes that the curve rises. Then, where enough runs lie near that, by a
/// line: quasi-likelihood (`McCullagh` and Nelder, *Generalized Linear Models*, 2nd edition, chapter 9), with the run
/// as the unit and the dispersion from runs at the same load; its interval is that of inverse prediction (Fieller,
/// *Some problems in interval estimation*, JRSS B 16, 1954). In 100 experiments of 20 and 30 runs of 1,000 and 4,000
/// requests of an M/M/1 queue around the rate that just meets `p99 e2e`, that interval covered the truth in 92 to 100,
/// a bootstrap over runs in 60 to 88: a few runs with a long queue have most of the requests over the bound, and
/// resampling cannot add the runs that did not happen.
pub(super) fn course(demand: &SearchDemand, readings: &[DemandReading]) -> LimitCrossing {
    match isotonic(demand, readings) {
        LimitCrossing::Crosses(start) => LimitCrossing::Crosses(crossing(demand, readings, start.estimate)),
        crossing => crossing,
    }
}

/// The crossing by a line through the runs near `start`, the isotonic crossing.
fn crossing(demand: &SearchDemand, readings: &[DemandReading], start: f64) -> Crossing {
    let is_near =
        |r: &DemandReading| (start / BAND..=start * BAND).contains(&r.load) || (r.load - start).abs() <= r.near;
    let (near, far): (Vec<_>, Vec<_>) = readings.iter().copied().partition(is_near);
    let low: Vec<_> = far.into_iter().filter(|r| r.load < start).collect();
    let rough = |why| Crossing { estimate: start, interval: Err(why) };
    let mut loads: Vec<f64> = near.iter().map(|reading| reading.load).collect();
    loads.sort_by(f64::total_cmp);
    loads.dedup();
    let (Some(&least), Some(&most)) = (loads.first(), loads.last()) else { return rough(Unsure::FarApart) };
    if loads.len() < FEWEST_LOADS {
        return rough(Unsure::FarApart);
    }
    if near.len() < FEWEST_RUNS {
        return rough(Unsure::FewRuns);
    }
    if demand.limit <= 0.0 {
        return rough(Unsure::Flat);
    }
    let varies = RunVariation::new(demand, &low);
    let fit = match demand.scale {
        DemandScale::Share => of_shares(&near, varies),
        DemandScale::Magnitude => of_magnitudes(&near, varies),
    };
    let target = match demand.scale {
        DemandScale::Share => ln_odds((demand.limit - varies.floor) / (1.0 - varies.floor)),
        DemandScale::Magnitude => ln(demand.limit),
    };
    let line = match fit {
        Fit::Line(line) if line.slope > 0.0 => line,
        Fit::Step => return Crossing { estimate: start, interval: sides(demand, &near) },
        Fit::Line(_) | Fit::Nothing => return rough(Unsure::Flat),
    };
    let estimate = libm::exp(line.middle + (target - line.level) / line.slope);
    if !(least / BAND..=most * BAND).contains(&estimate) {
        return rough(Unsure::Flat);
    }
    Crossing { estimate, interval: line.interval(target, varies.wider).ok_or(Unsure::Flat) }
}

impl Line {
    /// Returns the loads at which the line may have `target`, by Fieller's theorem. The quantiles of Student's t are
    /// `wider` times as large. It is `None` where the slope may be 0, so that they have no end, or nearly.
    fn interval(&self, target: f64, wider: f64) -> Option<(f64, f64)> {
        let t = wider * student_t_quantile(f64::midpoint(1.0, CONFIDENCE), self.freedom);
        let (slope, away) = (self.slope, target - self.level);
        let g = self.slope_variance * if self.knows_slope { wider * wider * Z * Z } else { t * t };
        let lead = slope * slope - g;
        if lead <= 0.0 {
            return None;
        }
        let root = libm::sqrt(g * away * away + lead * t * t * self.level_variance);
        let end = |root: f64| libm::exp(self.middle + (slope * away + root) / lead);
        let (low, high) = (end(-root), end(root));
        (high <= WIDEST * low).then_some((low, high))
    }

    /// Returns the weighted least-squares line through `points`. Each is x, y and weight. The line's variances are for
    /// a dispersion of 1. `known` is what is known of the slope without them: its mean, and a weight like that of the
    /// sum of squares of x.
    fn through(points: &[(f64, f64, f64)], known: (f64, f64)) -> Option<Self> {
        let sum = |of: &dyn Fn(&(f64, f64, f64)) -> f64| points.iter().map(of).sum::<f64>();
        let weight = sum(&|point| point.2);
        let middle = sum(&|(x, _, w)| x * w) / weight;
        let level = sum(&|(_, y, w)| y * w) / weight;
        let squares = sum(&|(x, _, w)| w * (x - middle) * (x - middle));
        let products = sum(&|(x, y, w)| w * (x - middle) * (y - level));
        let (usual, certainty) = known;
        let slope = (products + certainty * usual) / (squares + certainty);
        let freedom = points.len() as f64 - 2.0;
        let line = Self {
            level,
            slope,
            middle,
            level_variance: 1.0 / weight,
            slope_variance: 1.0 / (squares + certainty),
            freedom,
            knows_slope: certainty > 0.0,
        };
        (squares > 0.0 && slope.is_finite() && level.is_finite()).then_some(line)
    }

    fn at(&self, ln_load: f64) -> f64 {
        self.level + self.slope * (ln_load - self.middle)
    }

    /// The line with its variances scaled by this dispersion.
    fn dispersed(self, by: f64) -> Self {
        Self { level_variance: self.level_variance * by, slope_variance: self.slope_variance * by, ..self }
    }
}

/// Returns the quasi-binomial fit of shares. The variance of a share m of n requests is φ·m(1 − m)/n, φ at least that
/// of independent requests. The line is that of the log odds of (m − floor)/(1 − floor).
fn of_shares(near: &[DemandReading], varies: RunVariation) -> Fit {
    let requests: f64 = near.iter().map(|reading| reading.requests).sum();
    let mean = pooled(near).unwrap_or(0.5).clamp(0.5 / requests, 1.0 - 0.5 / requests);
    let middle = near.iter().map(|reading| varies.ln_load(reading)).sum::<f64>() / near.len() as f64;
    let mut line = Line { level: ln_odds(mean), slope: 5.0, middle, ..Line::default() };
    let floor = varies.floor;
    let above = |line: &Line, reading: &DemandReading| {
        1.0 / (1.0 + libm::exp(-line.at(varies.ln_load(reading)).clamp(-25.0, 25.0)))
    };
    let mut dispersion = 1.0;
    let mut change = f64::INFINITY;
    for _ in 0..TURNS {
        let points: Vec<_> = near
            .iter()
            .map(|reading| {
                let (x, above) = (varies.ln_load(reading), above(&line, reading));
                let m = floor + (1.0 - floor) * above;
                let rise = (1.0 - floor) * above * (1.0 - above);
                let weight = reading.requests * rise * rise / (m * (1.0 - m));
                (x, ln_odds(above) + (reading.figure - m) / rise, weight)
            })
            .collect();
        let Some(next) = Line::through(&points, varies.known_slope(dispersion)) else { return Fit::Nothing };
        // Damped by half, so that shares of 0 on one side and 1 on the other do not oscillate.
        let before = line.at(next.middle);
        let slope = f64::midpoint(line.slope, next.slope);
        change = (slope - line.slope).abs() / slope.abs().max(1.0);
        line = Line { level: f64::midpoint(before, next.level), slope, ..next };
        let pearson: f64 = near
            .iter()
            .map(|reading| {
                let m = floor + (1.0 - floor) * above(&line, reading);
                reading.requests * (reading.figure - m).powi(2) / (m * (1.0 - m))
            })
            .sum();
        dispersion = (pearson / line.freedom).max(1.0);
    }
    if change > SETTLED || line.slope >= STEEPEST {
        return if line.slope > 0.0 { Fit::Step } else { Fit::Nothing };
    }
    Fit::Line(line.dispersed(dispersion))
}

/// Log-normal: the logarithms of the figures have one variance, whatever the load.
fn of_magnitudes(near: &[DemandReading], varies: RunVariation) -> Fit {
    let known = near.iter().filter(|reading| reading.figure > 0.0);
    let points: Vec<_> = known.map(|reading| (varies.ln_load(reading), ln(reading.figure), 1.0)).collect();
    let Some(line) = Line::through(&points, varies.known_slope(1.0)).filter(|line| line.freedom > 0.0) else {
        return Fit::Nothing;
    };
    let squares: f64 = points.iter().map(|(x, y, _)| (y - line.at(*x)).powi(2)).sum();
    Fit::Line(line.dispersed(squares / line.freedom))
}

fn ln_odds(share: f64) -> f64 {
    ln(share / (1.0 - share).max(f64::MIN_POSITIVE))
}

#[cfg(test)]
mod tests;
