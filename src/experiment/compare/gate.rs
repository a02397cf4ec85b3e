//! Gates of a comparison: how much worse a figure may be, or how much better it must be.

use std::str::FromStr;

use serde::Serialize;

use super::row::{ChangeStanding, Interval, Pairing, held, two_means};
use super::side::ComparedSide;
use crate::analysis::wording::percent;
use crate::analysis::{AcrossRuns, FigureKey, FigureKind, Status};
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
        Ok(Self { text: text.trim().to_owned(), figure, share: share / 100.0 })
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
    /// Met or missed; undecided counts as missed.
    pub status: Status,
    /// How much worse the figure is: a share of the baseline, of a figure that is a share the difference; below 0 where
    /// it is better.
    pub worse_by: Option<Interval>,
    /// Whether the interval holds the bound, so that other runs may well come out on the other side of it.
    pub close: bool,
    /// The judgement in words.
    pub line: String,
}

impl GateJudgement {
    /// Whether the gate passed.
    pub fn passed(&self) -> bool {
        self.status == Status::Met
    }
}

/// The least and the most that a figure can be worse, before chance is thought of, and what is known of chance.
struct Worsening {
    least: f64,
    most: f64,
    chance: Chance,
}

/// What is known of what chance does to a change.
#[derive(Clone, Copy)]
enum Chance {
    /// It leaves this interval, by several runs a side.
    Within(f64, f64),
    /// One run a side, whose own intervals lie apart.
    Apart,
    /// One run a side, whose own intervals do not, or are not known.
    Unknown,
}

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
        let key = &self.margin().figure;
        self.judge_figures("", &baseline.figure(key), &other.figure(key), pairing)
    }

    /// The same of figures as they are, `place` being where they were measured.
    pub(super) fn judge_figures(
        &self,
        place: &str,
        before: &AcrossRuns,
        after: &AcrossRuns,
        pairing: Pairing,
    ) -> GateJudgement {
        let gate = format!("{}{place}", self.in_words());
        let subject = &self.margin().figure;
        let found = match worsening(subject, before, after, pairing) {
            Ok(found) => found,
            Err(why) => return Self::without_change(gate, Status::Unresolvable, why),
        };
        let (status, bound) = self.status(&found);
        let interval = found.chance.interval();
        let close = interval.is_some_and(|(low, high)| low < bound && bound < high);
        let by_chance = match (self, status, found.chance) {
            (Self::RequiredImprovement(_), Status::Unresolvable, Chance::Unknown) => BY_CHANCE,
            _ => "",
        };
        let line = format!("{}: {gate} ({}{by_chance})", status.word(), found.in_words(subject, close));
        let worse_by = (found.least == found.most).then_some(Interval {
            value: found.least,
            low: interval.map(|(low, _)| low).filter(|end| end.is_finite()),
            high: interval.map(|(_, high)| high).filter(|end| end.is_finite()),
        });
        GateJudgement { gate, status, worse_by, close, line }
    }

    /// What becomes of it where nothing was measured by which it could be judged.
    pub(super) fn unmeasured(&self, why: &str) -> GateJudgement {
        Self::without_change(self.in_words(), Status::Unresolvable, why)
    }

    fn without_change(gate: String, status: Status, why: &str) -> GateJudgement {
        let line = format!("{}: {gate} ({why})", status.word());
        GateJudgement { gate, status, worse_by: None, close: false, line }
    }

    /// The judgement at a load that the baseline sustained and this side did not.
    pub(super) fn overrun(&self, place: &str) -> GateJudgement {
        let gate = format!("{}{place}", self.in_words());
        Self::without_change(gate, Status::Missed, "the server did not keep up, as the baseline's did")
    }

    /// What is found, and the bound on the same scale. The figures decide; but what may be no more than chance is no
    /// improvement.
    fn status(&self, found: &Worsening) -> (Status, f64) {
        // A figure on the bound itself meets it, despite rounding.
        const EXACT: f64 = 1e-12;
        match self {
            Self::MaxRegression(Margin { share, .. }) => {
                let status = match (found.least <= share + EXACT, found.most <= share + EXACT) {
                    (_, true) => Status::Met,
                    (false, _) => Status::Missed,
                    (true, false) => Status::Unresolvable,
                };
                (status, *share)
            }
            Self::RequiredImprovement(Margin { share, .. }) => {
                let chance = match found.chance {
                    Chance::Within(_, high) => high >= 0.0,
                    Chance::Apart => false,
                    Chance::Unknown => true,
                };
                let status = match (-found.most >= share - EXACT, -found.least >= share - EXACT) {
                    (true, _) if !chance => Status::Met,
                    (_, false) => Status::Missed,
                    (true | false, true) => Status::Unresolvable,
                };
                (status, -share)
            }
        }
    }
}

impl Chance {
    const fn interval(self) -> Option<(f64, f64)> {
        match self {
            Self::Within(low, high) => Some((low, high)),
            Self::Apart | Self::Unknown => None,
        }
    }
}

impl Worsening {
    fn in_words(&self, subject: &FigureKey, close: bool) -> String {
        let way = |value: f64| {
            let (share, way) = if value < 0.0 { (-value, "better") } else { (value.abs(), "worse") };
            format!("{} {way}", shown(subject, share))
        };
        let mut words = if self.least == self.most {
            format!("was {}", way(self.least))
        } else if self.most.is_finite() {
            format!("was between {} and {}", way(self.least), way(self.most))
        } else {
            format!("was over {}", way(self.least))
        };
        let interval = self.chance.interval();
        if let Some((low, high)) = interval.filter(|(low, high)| low.is_finite() && high.is_finite()) {
            let holds = if close { ", which includes the bound" } else { "" };
            words = format!("{words}; 95 % interval {} to {}{holds}", way(low), way(high));
        } else if interval.is_some() {
            words.push_str("; the runs differ too much for an interval");
        }
        words
    }
}

fn shown(subject: &FigureKey, share: f64) -> String {
    match subject.kind() {
        FigureKind::Share => format!("{} points", three_digits(share * 100.0)),
        FigureKind::Latency | FigureKind::Rate | FigureKind::Count => percent(share),
    }
}

/// How much worse a figure became, or why that is unknown.
fn worsening(
    subject: &FigureKey,
    before: &AcrossRuns,
    after: &AcrossRuns,
    pairing: Pairing,
) -> Result<Worsening, &'static str> {
    let is_share = subject.kind() == FigureKind::Share;
    let turn = |low: f64, high: f64| if subject.less_is_better() { (low, high) } else { (-high, -low) };
    if pairing == Pairing::OneRunEach {
        let (least, most) = between(ends(before).ok_or(UNKNOWN)?, ends(after).ok_or(UNKNOWN)?, is_share)?;
        let (least, most) = turn(least, most);
        // The intervals of a part's figures are not looked at.
        let apart = subject.part.is_none() && held(before.level(), after.level()) == ChangeStanding::Apart;
        let chance = if apart { Chance::Apart } else { Chance::Unknown };
        return Ok(Worsening { least, most, chance });
    }
    let means = two_means(before, after, pairing).ok_or(UNKNOWN)?;
    let (value, interval) = match (is_share, means.ratio) {
        (true, _) => (means.difference.value, (means.difference.low, means.difference.high)),
        (false, Some(ratio)) => (ratio.value - 1.0, (ratio.low - 1.0, ratio.high - 1.0)),
        // The baseline's runs differ so much that nothing bounds the ratio.
        (false, None) => {
            let (before, after) = before.mean.zip(after.mean).ok_or(UNKNOWN)?;
            let ratio = (before > 0.0).then(|| after / before).ok_or(NO_SHARE)?;
            (ratio - 1.0, (f64::NEG_INFINITY, f64::INFINITY))
        }
    };
    let (value, _) = turn(value, value);
    let (low, high) = turn(interval.0, interval.1);
    Ok(Worsening { least: value, most: value, chance: Chance::Within(low, high) })
}

/// Said of an improvement that may be chance.
const BY_CHANCE: &str = "; one run a side, intervals overlap, may be chance: run both with --repeats 5";
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
