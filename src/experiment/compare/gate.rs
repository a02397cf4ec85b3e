//! Gates of a comparison: how much worse a figure may be, or how much better it must be.

use std::str::FromStr;

use serde::Serialize;

use super::pairs::RequestPairs;
use super::row::{Interval, Pairing, two_means};
use super::side::ComparedSide;
use crate::analysis::wording::{counted, percent};
use crate::analysis::{AcrossRuns, FigureKey, FigureKind, FigureLevel, FigureUnit, Status, VerdictOutcome};
use crate::units::three_digits;

/// A figure and a share of it, such as `p95 ttft 10%`. Of a figure that is itself a share, points of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Margin {
    /// The text as typed.
    pub text: String,
    /// The figure.
    pub figure: FigureKey,
    /// The share, 0.1 for 10 %.
    pub share: f64,
    /// Whether it passes where it is undecided, if the user says so.
    pub undecided_passes: Option<bool>,
}

impl FromStr for Margin {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let grammar = "write FIGURE SHARE, such as `p95 ttft 10%`, `goodput 5%` or `p95 ttft of chat 10%`";
        let (figure, share) = text
            .trim()
            .rsplit_once(char::is_whitespace)
            .ok_or_else(|| format!("`{text}` names no share\nhint: {grammar}"))?;
        let number = share.strip_suffix('%').and_then(|digits| digits.parse::<f64>().ok());
        let share = number
            .filter(|number| number.is_finite() && *number >= 0.0)
            .ok_or_else(|| format!("`{share}` in `{text}` is not a share of at least 0%\nhint: {grammar}"))?;
        let figure = figure.parse::<FigureKey>().map_err(|problem| format!("{problem}\nhint: {grammar}"))?;
        Ok(Self { text: text.trim().to_owned(), figure, share: share / 100.0, undecided_passes: None })
    }
}

/// A gate for a compared side.
#[derive(Clone, Debug, PartialEq)]
pub enum Gate {
    /// The figure must not be worse than the baseline's by more.
    MaxRegression(Margin),
    /// It must be better than the baseline's by at least as much.
    RequiredImprovement(Margin),
}

/// The result of a gate.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct GateJudgement {
    /// The demand in words.
    pub gate: String,
    /// Met, missed or undecided.
    ///
    /// A regression is missed where the figure is worse than the baseline's by more than its margin, and the 95 % interval
    /// of the change has no room for chance alone: all of it is above 0. It is met where all of the interval is within the
    /// margin. An improvement likewise: met where the figure is better by as much and all of the interval is better, missed
    /// where none of it is better by as much.
    pub status: Status,
    /// Whether it passes: met, or undecided where that passes.
    pub passes: bool,
    /// How much worse the figure is: a share of the baseline, of a figure that is a share the difference; below 0 where
    /// it is better.
    pub worse_by: Option<Interval>,
    /// Whether the interval holds the bound, so that other runs may well come out on the other side of it.
    pub close: bool,
    /// The judgement in words.
    pub line: String,
}

/// The least and the most that a figure can be worse, before chance is thought of, and the interval that chance leaves,
/// whose ends are infinite where nothing is known.
struct Worsening {
    least: f64,
    most: f64,
    low: f64,
    high: f64,
    basis: Basis,
}

/// What an interval rests on.
#[derive(Clone, Copy)]
enum Basis {
    /// So many requests of the same plan.
    Requests(u64),
    /// The own intervals of single runs of the same plan, or nothing.
    SamePlan,
    /// So many runs a side.
    Runs(u64),
    /// The same of other single runs, with what to run them with for more.
    SingleRuns(&'static str),
}

/// More times as many requests or runs are not worth suggesting.
const MOST_TIMES: f64 = 100.0;
/// What a result of another tool should be replaced by.
const FOREIGN: &str = "with skyline and the same --seed, or with --repeats 5";
/// Why nothing is judged.
pub(super) const DISTRUSTED: &str = "a side is INVALID, so nothing is judged";
/// A figure on the bound itself meets it, despite rounding.
const EXACT: f64 = 1e-12;

impl Gate {
    /// The figure and its share.
    pub const fn margin(&self) -> &Margin {
        match self {
            Self::MaxRegression(margin) | Self::RequiredImprovement(margin) => margin,
        }
    }

    /// The figure, where it is one of the whole run.
    pub(super) fn whole_run_subject(&self) -> Option<&FigureKey> {
        let measure = &self.margin().figure;
        measure.part.is_none().then_some(measure)
    }

    fn in_words(&self) -> String {
        let Margin { figure, share, .. } = self.margin();
        let share = shown(figure, *share);
        match self {
            Self::MaxRegression(_) => format!("{figure} at most {share} worse"),
            Self::RequiredImprovement(_) => format!("{figure} at least {share} better"),
        }
    }

    pub(super) fn judge(
        &self,
        baseline: &ComparedSide,
        other: &ComparedSide,
        pairing: Pairing,
    ) -> GateJudgement {
        if !(baseline.reasons.is_empty() && other.reasons.is_empty()) {
            return self.unmeasured(DISTRUSTED);
        }
        let Margin { figure, share, .. } = self.margin();
        if figure.metric.info().unit == FigureUnit::Money && baseline.currency() != other.currency() {
            return self.unmeasured("prices are in different currencies");
        }
        let requests = pairing.requests(figure, baseline, other);
        let found =
            worsening(figure, &baseline.figure(figure), &other.figure(figure), pairing, requests.as_ref());
        // Of a server that does not keep up no run is long enough to tell a latency.
        let overloaded = |side: &ComparedSide| side.outcome == VerdictOutcome::Overloaded;
        let fell_behind = overloaded(other) && !overloaded(baseline) && figure.kind() == FigureKind::Latency;
        if fell_behind && found.as_ref().is_ok_and(|found| found.least > *share) {
            return self.overrun("");
        }
        self.judge_worsening("", found)
    }

    /// The same of figures as they are, `place` being where they were measured.
    pub(super) fn judge_figures(
        &self,
        place: &str,
        before: &AcrossRuns,
        after: &AcrossRuns,
        pairing: Pairing,
    ) -> GateJudgement {
        let mut found = worsening(&self.margin().figure, before, after, pairing, None);
        if let Ok(Worsening { basis: Basis::SingleRuns(otherwise), .. }) = &mut found {
            *otherwise = if place.is_empty() { FOREIGN } else { "with --repeats 5" };
        }
        self.judge_worsening(place, found)
    }

    fn judge_worsening(&self, place: &str, found: Result<Worsening, &'static str>) -> GateJudgement {
        let gate = format!("{}{place}", self.in_words());
        let found = match found {
            Ok(found) => found,
            Err(why) => return self.without_change(gate, Status::Undecided, why),
        };
        let (status, bound) = self.status(&found);
        let close = found.low < bound && bound < found.high && found.is_whole();
        let (passes, decided) = self.outcome(status, matches!(self, Self::MaxRegression(_)));
        let cure = if status == Status::Undecided { self.cure(&found) } else { String::new() };
        let details = found.in_words(&self.margin().figure, close);
        let line = format!("{}: {gate} ({details}{cure}){decided}", status.word());
        let worse_by = (found.least == found.most).then_some(Interval {
            value: found.least,
            low: Some(found.low).filter(|end| end.is_finite()),
            high: Some(found.high).filter(|end| end.is_finite()),
        });
        GateJudgement { gate, status, passes, worse_by, close, line }
    }

    /// Whether a gate of this status passes, and what is said of it where that is a choice; `undecided_passes` without one.
    fn outcome(&self, status: Status, undecided_passes: bool) -> (bool, &'static str) {
        match (status, self.margin().undecided_passes, undecided_passes) {
            (Status::Met, ..) => (true, ""),
            (Status::Missed, ..) => (false, ""),
            (_, Some(true), _) => (true, ": passes, by --undecided pass"),
            (_, Some(false), _) => (false, ": fails, by --undecided fail"),
            (_, None, true) => (true, ": passes, unless --undecided fail"),
            (_, None, false) => (false, ": fails, unless --undecided pass"),
        }
    }

    /// What becomes of it where nothing was measured by which it could be judged.
    pub(super) fn unmeasured(&self, why: &str) -> GateJudgement {
        self.without_change(self.in_words(), Status::Undecided, why)
    }

    /// Without anything to judge it by, no gate passes of itself.
    fn without_change(&self, gate: String, status: Status, why: &str) -> GateJudgement {
        let (passes, decided) = self.outcome(status, false);
        let line = format!("{}: {gate} ({why}){decided}", status.word());
        GateJudgement { gate, status, passes, worse_by: None, close: false, line }
    }

    /// The judgement where the baseline's server kept up with the load and this side's did not.
    pub(super) fn overrun(&self, place: &str) -> GateJudgement {
        let gate = format!("{}{place}", self.in_words());
        self.without_change(gate, Status::Missed, "the server did not keep up, while the baseline's did")
    }

    /// What is found, and the bound on the same scale, by the rule of [`GateJudgement::status`].
    fn status(&self, found: &Worsening) -> (Status, f64) {
        let Worsening { least, most, low, high, .. } = *found;
        match self {
            Self::MaxRegression(Margin { share, .. }) => {
                let status = if least > share + EXACT && low > 0.0 {
                    Status::Missed
                } else if most.max(high) <= share + EXACT {
                    Status::Met
                } else {
                    Status::Undecided
                };
                (status, *share)
            }
            Self::RequiredImprovement(Margin { share, .. }) => {
                let status = if -most >= share - EXACT && high < 0.0 {
                    Status::Met
                } else if -least.min(low) < share - EXACT {
                    Status::Missed
                } else {
                    Status::Undecided
                };
                (status, -share)
            }
        }
    }

    /// What would decide it.
    fn cure(&self, found: &Worsening) -> String {
        // An interval shrinks with the root of the number of requests or runs; where nothing changed, with the number
        // itself (the rule of three).
        let (value, bound) = (found.least, self.status(found).1);
        let is_beyond = if bound < 0.0 { value <= bound } else { value > bound };
        let target = if is_beyond { 0.0 } else { bound };
        let end = if value > target { found.low } else { found.high };
        let shorter = (value - end) / (value - target);
        let times = if value == 0.0 { shorter } else { shorter * shorter };
        let of = |n: u64, thing| {
            let needed = Some(times).filter(|times| found.is_whole() && (1.0..MOST_TIMES).contains(times));
            needed.map(|times| counted(two_digits(times * n as f64), thing))
        };
        let (needed, otherwise) = match found.basis {
            Basis::Requests(n) => (of(n, "request"), "longer or with --repeats 5"),
            Basis::SamePlan => (None, "longer or with --repeats 5"),
            Basis::Runs(n) => (of(n, "run"), "with more --repeats"),
            Basis::SingleRuns(otherwise) => (None, otherwise),
        };
        match needed {
            Some(needed) => format!("; about {needed} a side would tell"),
            None => format!("; to tell, run both {otherwise}"),
        }
    }
}

impl Worsening {
    fn is_whole(&self) -> bool {
        self.low.is_finite() && self.high.is_finite()
    }

    fn in_words(&self, subject: &FigureKey, close: bool) -> String {
        let way = |value: f64| {
            let (share, way) = if value < 0.0 { (-value, "better") } else { (value.abs(), "worse") };
            format!("{} {way}", shown(subject, share))
        };
        let was = if self.least == self.most {
            format!("was {}", way(self.least))
        } else if self.most.is_finite() {
            format!("was between {} and {}", way(self.least), way(self.most))
        } else {
            format!("was over {}", way(self.least))
        };
        let holds = if close { ", which includes the bound" } else { "" };
        match (self.low.is_finite(), self.high.is_finite(), self.basis) {
            (true, true, _) => {
                format!("{was}; 95 % interval {} to {}{holds}", way(self.low), way(self.high))
            }
            (true, false, _) => format!("{was}; 95 % interval from {} on", way(self.low)),
            (false, true, _) => format!("{was}; 95 % interval up to {}", way(self.high)),
            (false, false, Basis::Runs(_)) => format!("{was}; the runs differ too much for an interval"),
            (false, false, _) => format!("{was}; no interval"),
        }
    }
}

/// `number`, rounded up to two digits.
fn two_digits(number: f64) -> u64 {
    let unit = libm::pow(10.0, (libm::log10(number).floor() - 1.0).max(0.0));
    ((number / unit).ceil() * unit) as u64
}

fn shown(subject: &FigureKey, share: f64) -> String {
    match subject.kind() {
        FigureKind::Share => format!("{} points", three_digits(share * 100.0)),
        FigureKind::Latency | FigureKind::Rate | FigureKind::Count | FigureKind::Cost => percent(share),
    }
}

/// How much worse a figure became, or why that is unknown; of two runs of one plan by the `requests` of both.
fn worsening(
    subject: &FigureKey,
    before: &AcrossRuns,
    after: &AcrossRuns,
    pairing: Pairing,
    requests: Option<&RequestPairs>,
) -> Result<Worsening, &'static str> {
    let is_share = subject.kind() == FigureKind::Share;
    let turn = |low: f64, high: f64| if subject.less_is_better() { (low, high) } else { (-high, -low) };
    let open = |(low, high): (Option<f64>, Option<f64>)| {
        turn(low.unwrap_or(f64::NEG_INFINITY), high.unwrap_or(f64::INFINITY))
    };
    if pairing.is_of_single_runs() {
        let (least, most) = between(ends(before).ok_or(UNKNOWN)?, ends(after).ok_or(UNKNOWN)?, is_share)?;
        let (least, most) = turn(least, most);
        let own = || of_own_intervals(before.level(), after.level(), is_share);
        let (low, high) = open(requests.map_or_else(own, RequestPairs::ends));
        let basis = match (requests, pairing) {
            (Some(requests), _) => Basis::Requests(requests.len()),
            (None, Pairing::SamePlan) => Basis::SamePlan,
            (None, _) => Basis::SingleRuns("with the same --seed, or with --repeats 5"),
        };
        return Ok(Worsening { least, most, low, high, basis });
    }
    let means = two_means(before, after, pairing).ok_or(UNKNOWN)?;
    let (value, interval) = match (is_share, means.ratio) {
        (true, _) => (means.difference.value, (Some(means.difference.low), Some(means.difference.high))),
        (false, Some(ratio)) => (ratio.value - 1.0, (Some(ratio.low - 1.0), Some(ratio.high - 1.0))),
        // The baseline's runs differ so much that nothing bounds the ratio.
        (false, None) => {
            let (before, after) = before.mean.zip(after.mean).ok_or(UNKNOWN)?;
            let ratio = (before > 0.0).then(|| after / before).ok_or(NO_SHARE)?;
            (ratio - 1.0, (None, None))
        }
    };
    let (value, _) = turn(value, value);
    let (low, high) = open(interval);
    let basis = Basis::Runs(before.values.len() as u64);
    Ok(Worsening { least: value, most: value, low, high, basis })
}

/// The change from one figure to another by the 95 % interval of each: the distances from both logarithms, of shares from
/// the shares themselves, to their ends add up as the sides of a right triangle (the method of variance estimates
/// recovery: Zou and Donner, *Statistics in Medicine* 27, 2008, 1693–1702; of shares that is Newcombe's method 10,
/// *Statistics in Medicine* 17, 1998, 873–890). An end is absent where one that it takes is.
fn of_own_intervals(before: FigureLevel, after: FigureLevel, is_share: bool) -> (Option<f64>, Option<f64>) {
    let apart = |one: Option<f64>, other: Option<f64>| {
        let (one, other) = one.zip(other)?;
        Some(if is_share { one - other } else { libm::log(one / other) })
    };
    let change = |sign: f64, own: Option<f64>, others: Option<f64>| {
        let far = libm::hypot(apart(after.value, own)?, apart(before.value, others)?);
        let end = apart(after.value, before.value)? + sign * far;
        Some(if is_share { end } else { libm::expm1(end) }).filter(|end| end.is_finite())
    };
    (change(-1.0, after.low, before.high), change(1.0, after.high, before.low))
}

/// A run lacks the figure, or knows only the least that it can be.
const UNKNOWN: &str = "not known on both sides";
/// The figure is reported as a share of the baseline's.
const NO_SHARE: &str = "the baseline's may be 0, so there is no relative change";

/// The least and the most that the mean can be; `None` where a run has no figure.
fn ends(across: &AcrossRuns) -> Option<(f64, f64)> {
    Some((across.mean_at_least?, across.mean_at_most.unwrap_or(f64::INFINITY)))
}

/// The least and the most that the change from one figure to the other can be, of each the least and the most.
fn between(before: (f64, f64), after: (f64, f64), is_share: bool) -> Result<(f64, f64), &'static str> {
    if is_share {
        return Ok((after.0 - before.1, after.1 - before.0));
    }
    let ratio = |after: f64, before: f64| if after == before { 1.0 } else { after / before };
    if before.0 <= 0.0 {
        return Err(NO_SHARE);
    }
    Ok((ratio(after.0, before.1) - 1.0, ratio(after.1, before.0) - 1.0))
}
