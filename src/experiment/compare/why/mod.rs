//! Why two tools' figures of one name differ: one definition after another is changed, and each figure counted again.

mod recount;
#[cfg(test)]
mod tests;

use serde::Serialize;

use self::recount::Recount;
use super::any_side::AnySide;
use crate::analysis::{Figure, FigureKey, LoadForm, selections};
use crate::foreign::{Aspect, Definition, Definitions, SKYLINE};

/// Why the figures of two tools differ, as far as their files say it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// Side whose requests are counted again. Where neither file has its requests, the baseline.
    pub from: String,
    /// Side whose definitions it is counted by in the end.
    pub to: String,
    /// Whether the requests of `from` are known.
    pub is_counted_again: bool,
    /// Definitions in which both differ, in the order in which they are changed.
    pub steps: Vec<DefinitionStep>,
    /// Figures that both have under one name.
    pub figures: Vec<ExplainedFigure>,
}

/// A definition that is changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DefinitionStep {
    /// Its subject.
    pub aspect: Aspect,
    /// Definition of the side that is counted again.
    pub from: Definition,
    /// Definition of the other.
    pub to: Definition,
    /// Figures that depend on it.
    pub figures: Vec<RecountedFigure>,
    /// Why the files do not allow it; absent where they do.
    pub missing: Option<&'static str>,
    /// Why its figures are ranges; absent where they are not.
    pub range: Option<&'static str>,
}

/// A figure before and after a definition was changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecountedFigure {
    /// The figure.
    pub figure: FigureKey,
    /// Its value by the definitions before.
    pub before: FigureRange,
    /// Its value by the changed definition.
    pub after: FigureRange,
}

/// A figure that both tools have under one name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExplainedFigure {
    /// The figure.
    pub figure: FigureKey,
    /// Value that the side reports which is counted again.
    pub first: FigureRange,
    /// Value by the definitions of the other, as far as the files allow.
    pub counted: FigureRange,
    /// Value that the other reports.
    pub reported: FigureRange,
    /// Rest that definitions do not explain, `reported` − `counted`. Absent where one of them has no upper end.
    pub unexplained: Option<FigureRange>,
}

/// A value, or the ends between which it lies: milliseconds, or per second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FigureRange {
    /// The least that it can be.
    pub low: f64,
    /// The most that it can be; absent where nothing bounds it.
    pub high: Option<f64>,
}

impl From<Figure> for FigureRange {
    fn from(figure: Figure) -> Self {
        Self { low: figure.at_least(), high: figure.at_most() }
    }
}

impl FigureRange {
    /// Rest of a range when another is taken from it.
    fn minus(self, other: Self) -> Option<Self> {
        Some(Self { low: self.low - other.high?, high: Some(self.high? - other.low) })
    }
}

impl AnySide {
    fn definitions(&self) -> Definitions {
        match self {
            Self::Ours(side, _) => {
                let mut own = Definitions::from_tool(SKYLINE);
                // A closed loop has no schedule that a latency could count from.
                if LoadForm::from_workload(&side.header.workload) == LoadForm::Closed {
                    own.set(Aspect::Origin, Definition::FromSend);
                    own.set(Aspect::Slot, Definition::SlotLeftOut);
                }
                own
            }
            Self::Foreign(_, run) => run.definitions(),
        }
    }

    /// The figure that it reports under a name which several tools have.
    fn under_one_name(&self, key: &FigureKey) -> Option<Figure> {
        match self {
            Self::Ours(side, _) => side.figure(key).mean_figure(),
            Self::Foreign(_, run) => run.under_one_name(key),
        }
    }
}

impl Explanation {
    /// Explains what two sides report. `None` where both count alike.
    ///
    /// Whose requests are better known is counted again: a run of Skyline, else the baseline.
    pub(super) fn new(baseline: &AnySide, other: &AnySide) -> Option<Self> {
        let (own, theirs) = (Recount::new(baseline), Recount::new(other));
        let (from, to, recount) = match (own, theirs) {
            (None, Some(theirs)) => (other, baseline, Some(theirs)),
            (Some(_), Some(theirs)) if !other.is_foreign() => (other, baseline, Some(theirs)),
            (own, _) => (baseline, other, own),
        };
        let mut by = from.definitions();
        let differing = by.differing(&to.definitions());
        let figure = |figure: FigureKey| {
            let (first, reported) = (from.under_one_name(&figure)?.into(), to.under_one_name(&figure)?.into());
            Some(ExplainedFigure { figure, first, counted: first, reported, unexplained: None })
        };
        let mut figures: Vec<_> = selections::under_one_name().filter_map(figure).collect();
        let mut steps = Vec::new();
        for (aspect, before, after) in differing {
            let possible = recount.as_ref().filter(|recount| recount.is_stored(after));
            let mut step = DefinitionStep {
                aspect,
                from: before,
                to: after,
                figures: Vec::new(),
                missing: possible.is_none().then(|| aspect.missing()),
                range: None,
            };
            if let Some(recount) = possible {
                by.set(aspect, after);
                let moved = figures.iter_mut().filter(|explained| aspect.moves(explained.figure.metric));
                let moved: Vec<&mut ExplainedFigure> = moved.collect();
                let found = recount.figures(&by, moved.iter().map(|explained| &explained.figure));
                for (explained, found) in moved.into_iter().zip(found).filter_map(|(old, new)| Some((old, new?))) {
                    let (figure, before, after) = (explained.figure.clone(), explained.counted, found.into());
                    explained.counted = after;
                    step.figures.push(RecountedFigure { figure, before, after });
                }
                let is_range = |of: &RecountedFigure| of.after.high.is_some_and(|high| high > of.after.low);
                step.range = after.range().filter(|_| step.figures.iter().any(is_range));
            }
            steps.push(step);
        }
        for figure in &mut figures {
            figure.unexplained = figure.reported.minus(figure.counted);
        }
        let (from, to) = (from.name().to_owned(), to.name().to_owned());
        (!steps.is_empty()).then_some(Self { from, to, is_counted_again: recount.is_some(), steps, figures })
    }
}
