//! Finds the two readings of a page between which its totals are taken.

use crate::analysis::server::histogram;
use crate::record::{Counter, Reading, ServerTime, TimeHistogram};

/// The readings next to the ends of the window that have all that the page tells, and those in between.
#[derive(Debug)]
pub(super) struct Span<'a> {
    pub(super) first: &'a Reading,
    pub(super) last: &'a Reading,
    /// From the first to the last, both among them.
    pub(super) between: Vec<&'a Reading>,
}

impl<'a> Span<'a> {
    /// Of the readings of one page, in their order; `None` where there are no two.
    pub(super) fn of(readings: &[&'a Reading], window: (f64, f64)) -> Option<Self> {
        // Only where none has histograms, as of pages that know of none, will the others do.
        let telling = readings.iter().any(|reading| !reading.histograms.is_empty());
        let whole = |reading: &Reading| !telling || !reading.histograms.is_empty();
        let nearest = |end: f64, those: &dyn Fn(usize) -> bool| {
            let among = readings.iter().enumerate().filter(|(place, _)| those(*place));
            let away = |reading: &Reading| (reading.moment_s() - end).abs();
            among.min_by(|a, b| away(a.1).total_cmp(&away(b.1))).map(|(_, reading)| *reading)
        };
        // The first reading of all and the first of the window are whole too: where none before has histograms, there were
        // none yet.
        let begun = readings.iter().position(|reading| reading.asked.as_secs_f64() >= window.0);
        let before_all = |place: usize| {
            let is_whole = place == 0 || Some(place) == begun;
            is_whole && readings[..=place].iter().all(|reading| reading.histograms.is_empty())
        };
        let first = nearest(window.0, &|place| whole(readings[place]) || before_all(place))?;
        let last = nearest(window.1, &|place| whole(readings[place]))?;
        let inside = |reading: &&&Reading| first.asked <= reading.asked && reading.asked <= last.asked;
        let between = readings.iter().filter(inside).copied().collect();
        (first.asked < last.asked).then_some(Self { first, last, between })
    }

    /// The totals that are lower in the reading at `now` than in that before it, with what they were before.
    pub(super) fn fallen(&self, now: usize) -> Vec<(Counter, f64)> {
        let after = &self.between[now].counters;
        let before = self.between[now - 1].counters.iter();
        let fell = before.filter(|(counter, before)| after.get(counter).is_some_and(|after| after < before));
        fell.map(|(counter, before)| (*counter, *before)).collect()
    }

    /// By how much a total rose. One that the first reading does not have was 0 then: Prometheus' clients show a series with
    /// labels only once it has counted something.
    pub(super) fn rise(&self, counter: Counter) -> Option<f64> {
        let after = self.last.counters.get(&counter)?;
        let reported = !self.first.counters.is_empty() || !self.first.gauges.is_empty();
        let before = self.first.counters.get(&counter).copied().or(reported.then_some(0.0))?;
        Some((after - before).max(0.0))
    }

    /// The times that came in it; of a histogram that the first reading does not have, all of them, as above.
    pub(super) fn times(&self, time: ServerTime) -> Option<TimeHistogram> {
        let after = self.last.histograms.get(&time)?;
        match self.first.histograms.get(&time) {
            Some(before) => histogram::difference(before, after),
            None => Some(after.clone()),
        }
    }

    /// From the beginning of the first of `spans`, which are as good as the same, to the end of the last.
    pub(super) fn common(spans: &[Self]) -> (f64, f64) {
        let begin = spans.iter().map(|span| span.first.moment_s()).fold(f64::INFINITY, f64::min);
        (begin, spans.iter().map(|span| span.last.moment_s()).fold(0.0, f64::max))
    }
}
