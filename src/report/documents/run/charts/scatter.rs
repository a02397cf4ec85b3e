//! Every request, or as many as there is room for, by when it was scheduled and how long it waited.

use super::bounds::Bounds;
use super::clock::{Clock, moment};
use crate::analysis::{Dot, Metric, RequestState, Scatter, Summary};
use crate::record::RunLog;
use crate::report::chart::{Axis, Palette, Plot, Point, ReferenceLine, Series, SeriesForm};
use crate::report::document::{Chart, Section, Table, cell};
use crate::units::{count, counted, joined};

/// Requests of the table behind the picture.
const SLOWEST: usize = 20;

pub(super) fn section(log: &RunLog, summary: &Summary, clock: &Clock) -> Option<Section> {
    let scatter = Some(Scatter::from_log(log)).filter(|scatter| !scatter.dots.is_empty())?;
    let name = name(&scatter);
    let classes = Classes::new(log, &scatter);
    let bounds = Bounds::new(summary, scatter.metric);
    let heights = scatter.dots.iter().map(|dot| dot.fate.ms()).chain(bounds.places());
    let hint = joined(hint(&scatter).into_iter().chain(bounds.hint()), "; ");
    let series = classes.names(&scatter).into_iter().map(|(palette, class)| {
        let dots = scatter.dots.iter().filter(|dot| classes.palette_of(dot) == palette);
        Series::new(class, palette, SeriesForm::Dots(dots.map(|dot| point(dot, name, &classes, clock)).collect()))
    });
    let mut series: Vec<Series> = series.collect();
    Series::raise(&mut series, None);
    let picture = Plot::new(
        format!("{name} of {} requests by when they were scheduled", count(scatter.dots.len() as u64)),
        clock.axis("scheduled"),
        Axis::fitting(&format!("{name}, ms"), heights.collect::<Vec<_>>()),
        series,
    )
    .wide()
    .with_rules(bounds.drawn.into_iter().map(|(bound, label)| ReferenceLine::Height(bound, label)))
    .with_zones(clock.shades());
    let chart = Chart::new("", picture).hint(hint).behind(slowest(&scatter, name, &classes));
    Some(Section::summary(format!("{name} of each request")).charts([chart]))
}

fn name(scatter: &Scatter) -> &'static str {
    if scatter.metric == Metric::Ttft { "TTFT" } else { "e2e" }
}

fn hint(scatter: &Scatter) -> Vec<String> {
    let (shown, of) = (scatter.dots.len(), scatter.of);
    let which = || {
        let [shown, of] = [shown, of].map(|number| count(number as u64));
        format!("{shown} of {of} requests: some evenly, the slowest, and those that did not complete")
    };
    let cut_off = scatter.dots.iter().any(|dot| matches!(dot.fate, RequestState::AtLeast(_)));
    let failed = scatter.dots.iter().any(|dot| dot.failed.is_some());
    let hints = [
        (shown < of).then(which),
        cut_off.then(|| "hollow, at the top: cut off, so that only a least is known".to_owned()),
        failed.then(|| format!("red: failed; a cross stands at its {}, or where it failed", name(scatter))),
        Some("grey: outside the window".to_owned()),
    ];
    hints.into_iter().flatten().collect()
}

/// Classes by their colours: the most frequent have one of their own.
struct Classes {
    names: Vec<String>,
    palettes: Vec<Palette>,
}

impl Classes {
    fn new(log: &RunLog, scatter: &Scatter) -> Self {
        let names: Vec<String> = log.header.workload.classes.iter().map(|class| class.name.clone()).collect();
        let mut frequent: Vec<(usize, usize)> = (0..names.len())
            .map(|place| (scatter.dots.iter().filter(|dot| usize::from(dot.class) == place).count(), place))
            .collect();
        frequent.sort_by_key(|(number, place)| (std::cmp::Reverse(*number), *place));
        let mut palettes = vec![Palette::Faint; names.len()];
        for ((_, place), palette) in frequent.into_iter().zip(Palette::SERIES) {
            palettes[place] = palette;
        }
        Self { names, palettes }
    }

    fn palette(&self, class: u16) -> Palette {
        self.palettes.get(usize::from(class)).copied().unwrap_or(Palette::Faint)
    }

    fn palette_of(&self, dot: &Dot) -> Palette {
        if dot.failed.is_some() { Palette::Failure } else { self.palette(dot.class) }
    }

    fn name(&self, class: u16) -> &str {
        self.names.get(usize::from(class)).map_or("", String::as_str)
    }

    fn names(&self, scatter: &Scatter) -> Vec<(Palette, String)> {
        let own = self.names.iter().zip(&self.palettes).filter(|(_, palette)| **palette != Palette::Faint);
        let mut names: Vec<_> = own.map(|(name, palette)| (*palette, name.clone())).collect();
        match self.palettes.iter().filter(|palette| **palette == Palette::Faint).count() {
            0 => {}
            others => names.push((Palette::Faint, format!("{others} other classes"))),
        }
        if scatter.dots.iter().any(|dot| dot.failed.is_some()) {
            names.push((Palette::Failure, "failed".to_owned()));
        }
        names
    }
}

fn point(dot: &Dot, name: &str, classes: &Classes, clock: &Clock) -> Point {
    Point {
        x: clock.at(dot.scheduled_s),
        y: dot.fate.ms(),
        at_least: matches!(dot.fate, RequestState::AtLeast(_)),
        words: format!(
            "#{} {}, {} s: {}\n{}, ended after {} ms",
            dot.index,
            classes.name(dot.class),
            moment(dot.scheduled_s, 3),
            fate(dot, name),
            counted(dot.tokens, "token"),
            cell(dot.ended_ms)
        ),
        ..Point::default()
    }
}

fn fate(dot: &Dot, name: &str) -> String {
    let known = match dot.fate {
        RequestState::Waited(ms) => format!("{name} {} ms", cell(ms)),
        RequestState::AtLeast(ms) => format!("{name} > {} ms", cell(ms)),
        RequestState::Failed(ms) => format!("failed after {} ms", cell(ms)),
    };
    match (dot.failed, dot.fate) {
        (None, _) => known,
        (Some(why), RequestState::Failed(_)) => format!("{known}: {why}"),
        (Some(why), RequestState::Waited(_) | RequestState::AtLeast(_)) => {
            format!("{known}, then failed: {why}")
        }
    }
}

/// The slowest requests of the picture.
fn slowest(scatter: &Scatter, name: &str, classes: &Classes) -> Table {
    let mut dots: Vec<&Dot> = scatter.dots.iter().collect();
    dots.sort_by(|a, b| b.fate.ms().total_cmp(&a.fate.ms()));
    Table::over("The slowest requests", dots.into_iter().take(SLOWEST))
        .column("request", |dot| format!("#{}", dot.index))
        .column("class", |dot| classes.name(dot.class))
        .column("scheduled, s", |dot| moment(dot.scheduled_s, 3))
        .column(name, |dot| fate(dot, "").trim().to_owned())
        .into()
}
