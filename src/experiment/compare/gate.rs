//! Gates of a comparison: how much worse a figure may be, or how much better it must be.

use std::str::FromStr;

use serde::Serialize;

use super::change::{Change, ChangeBasis, Pairing};
use super::side::ComparedSide;
use crate::analysis::statistics::Estimate;
use crate::analysis::{AcrossRuns, FigureKey, FigureKind, Status, Unit, VerdictOutcome};
use crate::experiment::difference::DifferenceScale;
use crate::units::counted;

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
    /// The figure must be better than the baseline's by at least as much.
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
    /// A regression is missed where the figure is worse than the baseline's by more than its margin, and the
    /// 95 % interval of the change has no room for chance alone: all of it is above 0. It is met where all of
    /// the interval is within the margin. An improvement likewise: met where the figure is better by as much
    /// and all of the interval is better, missed where none of it is better by as much.
    pub status: Status,
    /// Whether it passes: met, or undecided where that passes.
    pub passes: bool,
    /// Amount by which the figure is worse. It is a share of the baseline, of a figure that is a share the difference.
    /// It is below 0 where the figure is better.
    pub worse_by: Option<Estimate>,
    /// Whether the interval holds the bound. Other runs may then well come out on the other side of it.
    pub close: bool,
    /// The judgement in words.
    pub line: String,
}

/// More times as many requests or runs are not worth suggesting.
const MOST_TIMES: f64 = 100.0;
/// Advice on what should replace a result of another tool.
const FOREIGN: &str = "with skyline and the same --seed, or with --repeats 5";
/// Reason why nothing is judged.
pub(super) const DISTRUSTED: &str = "a side is INVALID, so nothing is judged";
/// Reason why what follows from lengths is not judged.
pub(super) const OTHER_LENGTHS: &str = "answers end by themselves, and not at the same lengths on both sides";
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

    pub(super) fn judge(&self, baseline: &ComparedSide, other: &ComparedSide, pairing: Pairing) -> GateJudgement {
        if !(baseline.reasons.is_empty() && other.reasons.is_empty()) {
            return self.unmeasured(DISTRUSTED);
        }
        let Margin { figure, share, .. } = self.margin();
        if figure.metric.info().unit == Unit::MONEY && baseline.currency() != other.currency() {
            return self.unmeasured("prices are in different currencies");
        }
        if other.confounded(baseline).is_moved(figure.metric) {
            return self.unmeasured(OTHER_LENGTHS);
        }
        let requests = pairing.requests(figure, baseline, other);
        let (before, after) = (baseline.figure(figure), other.figure(figure));
        let found =
            Change::between(figure, &before, &after, pairing, requests.as_ref()).map(|found| found.worsening(figure));
        // Of a server that does not keep up no run is long enough to tell a latency.
        let overloaded = |side: &ComparedSide| side.outcome == VerdictOutcome::Overloaded;
        let fell_behind = overloaded(other) && !overloaded(baseline) && figure.kind() == FigureKind::Latency;
        if fell_behind && found.as_ref().is_ok_and(|found| found.least > *share) {
            return self.overrun("");
        }
        self.judge_worsening("", found)
    }

    /// Judges figures as they are, `place` being where they were measured.
    pub(super) fn judge_figures(
        &self,
        place: &str,
        before: &AcrossRuns,
        after: &AcrossRuns,
        pairing: Pairing,
    ) -> GateJudgement {
        let figure = &self.margin().figure;
        let mut found = Change::between(figure, before, after, pairing, None).map(|found| found.worsening(figure));
        if let Ok(Change { basis: ChangeBasis::SingleRuns(otherwise), .. }) = &mut found {
            *otherwise = if place.is_empty() { FOREIGN } else { "with --repeats 5" };
        }
        self.judge_worsening(place, found)
    }

    fn judge_worsening(&self, place: &str, found: Result<Change, &'static str>) -> GateJudgement {
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
        let worse_by = found.estimate();
        GateJudgement { gate, status, passes, worse_by, close, line }
    }

    /// Returns whether a gate of this status passes, and what is said of that. Something is said where that is a
    /// choice. `undecided_passes` decides where no choice was made.
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

    /// Returns the judgement where nothing was measured by which the gate could be judged.
    pub(super) fn unmeasured(&self, why: &str) -> GateJudgement {
        self.without_change(self.in_words(), Status::Undecided, why)
    }

    /// Returns the judgement without a change to judge by: no gate passes of itself then.
    fn without_change(&self, gate: String, status: Status, why: &str) -> GateJudgement {
        let (passes, decided) = self.outcome(status, false);
        let line = format!("{}: {gate} ({why}){decided}", status.word());
        GateJudgement { gate, status, passes, worse_by: None, close: false, line }
    }

    /// Returns the judgement where only this side's server did not keep up with the load. The baseline's did.
    pub(super) fn overrun(&self, place: &str) -> GateJudgement {
        let gate = format!("{}{place}", self.in_words());
        self.without_change(gate, Status::Missed, "the server did not keep up, while the baseline's did")
    }

    /// Returns the status of the change found, and the bound on the same scale. The rule is that of
    /// [`GateJudgement::status`].
    fn status(&self, found: &Change) -> (Status, f64) {
        let Change { least, most, low, high, .. } = *found;
        match self {
            Self::MaxRegression(Margin { share, .. }) => {
                let most_worse = share + EXACT;
                let may_be = least <= most_worse || low <= 0.0;
                (Status::of_both(most.max(high) <= most_worse, may_be), *share)
            }
            Self::RequiredImprovement(Margin { share, .. }) => {
                let least_better = share - EXACT;
                let is_surely = -most >= least_better && high < 0.0;
                (Status::of_both(is_surely, -least.min(low) >= least_better), -share)
            }
        }
    }

    /// Says what would decide the gate.
    fn cure(&self, found: &Change) -> String {
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
            ChangeBasis::Requests(n) => (of(n, "request"), "longer or with --repeats 5"),
            ChangeBasis::SamePlan => (None, "longer or with --repeats 5"),
            ChangeBasis::Runs(n) => (of(n, "run"), "with more --repeats"),
            ChangeBasis::SingleRuns(otherwise) => (None, otherwise),
        };
        match needed {
            Some(needed) => format!("; about {needed} a side would tell"),
            None => format!("; to tell, run both {otherwise}"),
        }
    }
}

impl Change {
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
            (false, false, ChangeBasis::Runs(_)) => {
                format!("{was}; the runs are too few or differ too much for an interval")
            }
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
    DifferenceScale::from_kind(subject.kind()).in_words(subject.kind(), share)
}
