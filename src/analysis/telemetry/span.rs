//! Finds the two readings of a page between which its totals are taken.

use crate::record::{Counter, Reading};

/// The readings next to the ends of the window that have all that the page tells, and those in between.
#[derive(Debug)]
pub(super) struct Span<'a> {
    pub(super) first: &'a Reading,
    pub(super) last: &'a Reading,
    between: Vec<&'a Reading>,
}

/// The moment that a reading is about, seconds: halfway between asking and having the answer.
pub(super) fn moment(reading: &Reading) -> f64 {
    f64::midpoint(reading.asked.as_secs_f64(), reading.answered.as_secs_f64())
}

impl<'a> Span<'a> {
    /// Of the readings of one page, in their order; `None` where there are no two.
    pub(super) fn of(readings: &[&'a Reading], window: (f64, f64)) -> Option<Self> {
        // Only where none has histograms, as of pages that know of none, will the others do.
        let telling = readings.iter().any(|reading| !reading.histograms.is_empty());
        let whole = || readings.iter().copied().filter(|reading| !telling || !reading.histograms.is_empty());
        let nearest =
            |end: f64| whole().min_by(|a, b| (moment(a) - end).abs().total_cmp(&(moment(b) - end).abs()));
        let (first, last) = (nearest(window.0)?, nearest(window.1)?);
        let inside = |reading: &&&Reading| first.asked <= reading.asked && reading.asked <= last.asked;
        let between = readings.iter().filter(inside).copied().collect();
        (first.asked < last.asked).then_some(Self { first, last, between })
    }

    /// Whether a total went back from one reading to the next.
    pub(super) fn went_back(&self) -> bool {
        self.between.windows(2).any(|pair| {
            let (before, after) = (&pair[0].counters, &pair[1].counters);
            before.iter().any(|(counter, before)| after.get(counter).is_some_and(|after| after < before))
        })
    }

    /// By how much a total rose.
    pub(super) fn rise(&self, counter: Counter) -> Option<f64> {
        let (before, after) = (self.first.counters.get(&counter)?, self.last.counters.get(&counter)?);
        Some((after - before).max(0.0))
    }

    /// From the beginning of the first of `spans`, which are as good as the same, to the end of the last.
    pub(super) fn common(spans: &[Self]) -> (f64, f64) {
        let begin = spans.iter().map(|span| moment(span.first)).fold(f64::INFINITY, f64::min);
        (begin, spans.iter().map(|span| moment(span.last)).fold(0.0, f64::max))
    }
}
