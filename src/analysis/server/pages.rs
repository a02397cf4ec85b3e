//! What became of the pages that were asked for.

use serde::Serialize;

use super::track::Span;
use crate::record::{Counter, PageKind, Reading, TelemetrySource};

/// Factor on the usual time between readings from which on there is a gap. A page was not read for longer than that.
const GAP: f64 = 3.0;
/// Readings that are so much of the window apart are those at its ends.
const WHOLE: f64 = 0.95;
/// Readings within which totals are back after a fall. Totals that are above where they fell from so soon are those of
/// another server again.
const SOON: usize = 5;

/// A page of metrics.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PageSummary {
    /// Address of the page.
    pub url: String,
    /// Kind of the page: whose names its series have. Absent where it could not be read.
    pub kind: Option<PageKind>,
    /// The devices that it reports, such as `2 × NVIDIA H100 80GB HBM3`. Absent if it reports none.
    pub hardware: Option<String>,
    /// The version of their driver; absent if it does not report it.
    pub driver: Option<String>,
    /// How often it was read in the whole run.
    pub readings: u64,
    /// Longest stretch of the window without a reading, seconds since the run began. It is longer than three times the
    /// usual from one reading to the next. Absent where there is none, and where the page was never read.
    pub gap_s: Option<(f64, f64)>,
    /// Fall of its totals inside the window. Absent where they only grew, as totals do.
    pub went_back: Option<WentBack>,
    /// Share of the prompt tokens looked up that a cache gave back. It is between the two readings next to the ends of
    /// the window. Left out where the page does not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_hit_rate: Option<f64>,
}

/// How totals went back, which a server's never do while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WentBack {
    /// Totals that went back once. The server was started anew, or the address leads to another one since.
    Once,
    /// Totals that went back and forth, or back again and again. The address leads to several servers, each with totals
    /// of its own.
    AndForth,
}

impl PageSummary {
    pub(super) fn new(page: &TelemetrySource, readings: &[&Reading], window: (f64, f64)) -> Self {
        let TelemetrySource { url, kind, hardware, driver } = page.clone();
        let engine = kind.is_some_and(PageKind::is_of_engine);
        let span = Span::new(readings, window).filter(|_| engine);
        Self {
            url,
            kind,
            hardware,
            driver,
            readings: readings.len() as u64,
            gap_s: gap(readings, window),
            went_back: span.as_ref().and_then(went_back),
            cache_hit_rate: span.as_ref().and_then(hit_rate),
        }
    }

    /// Whether it is that of the server with this address, or URL.
    pub(in crate::analysis) fn is_of(&self, server: &str) -> bool {
        let bare = |url: &str| url.split_once("://").map_or(url, |(_, rest)| rest).to_owned();
        bare(&self.url).strip_prefix(&bare(server)).is_some_and(|path| path.starts_with('/'))
    }
}

/// The longest stretch of the window without a reading, if it is a gap.
fn gap(readings: &[&Reading], (from, until): (f64, f64)) -> Option<(f64, f64)> {
    let moments: Vec<f64> = readings.iter().map(|reading| reading.moment_s()).collect();
    let (first, last) = (*moments.first()?, *moments.last()?);
    let usual = (last - first) / (moments.len() - 1).max(1) as f64;
    // A page that is read more seldom than the window is long is read at its ends alone.
    let all_of_it = |&(a, b): &(f64, f64)| b.min(until) - a.max(from) >= WHOLE * (until - from);
    let between = moments.windows(2).map(|pair| (pair[0], pair[1])).filter(|pair| !all_of_it(pair));
    let within = between.chain([(from, first), (last, until)]).map(|(a, b)| (a.max(from), b.min(until)));
    let long = within.filter(|(a, b)| b - a > GAP * usual);
    long.max_by(|a, b| (a.1 - a.0).total_cmp(&(b.1 - b.0)))
}

fn hit_rate(span: &Span<'_>) -> Option<f64> {
    let (hits, queries) = span.rise(Counter::CacheHits).zip(span.rise(Counter::CacheQueries))?;
    (0.0 <= hits && hits <= queries && queries > 0.0).then(|| hits / queries)
}

fn went_back(span: &Span<'_>) -> Option<WentBack> {
    let falls: Vec<usize> = (1..span.between.len()).filter(|&now| !span.fallen(now).is_empty()).collect();
    let [once] = falls[..] else { return (!falls.is_empty()).then_some(WentBack::AndForth) };
    let mut soon = span.between.iter().skip(once + 1).take(SOON);
    let fallen = span.fallen(once);
    // A total that was small is soon there again after a new start; those of another server are all there in
    // one reading.
    let again = soon.any(|reading| {
        let is_back =
            |(counter, before): &(Counter, f64)| reading.counters.get(counter).is_some_and(|now| now >= before);
        fallen.iter().all(is_back)
    });
    Some(if again { WentBack::AndForth } else { WentBack::Once })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;

    fn readings(reported: &[(u64, f64)]) -> Vec<Reading> {
        let reading = |&(second, tokens): &(u64, f64)| Reading {
            source: 0,
            asked: Timestamp::from_nanos(second * 1_000_000_000),
            answered: Timestamp::from_nanos(second * 1_000_000_000),
            counters: [(Counter::GenerationTokens, tokens)].into(),
            ..Reading::default()
        };
        reported.iter().map(reading).collect()
    }

    fn gap_of(seconds: &[u64]) -> Option<(f64, f64)> {
        let readings = readings(&seconds.iter().map(|&second| (second, 0.0)).collect::<Vec<_>>());
        gap(&readings.iter().collect::<Vec<_>>(), (2.0, 14.0))
    }

    #[test]
    fn a_page_that_stops_answering_leaves_a_gap() {
        assert_eq!(gap_of(&[0, 1, 2, 3, 4, 5, 6, 7]), Some((7.0, 14.0)));
        assert_eq!(gap_of(&[0, 1, 2, 3, 9, 10, 11, 12, 13, 14]), Some((3.0, 9.0)));
        assert_eq!(gap_of(&[8, 9, 10, 11, 12, 13, 14]), Some((2.0, 8.0)));
        assert_eq!(gap_of(&[0]), Some((2.0, 14.0)));
        // Three intervals are no gap yet, nor is what lies before or after the window.
        assert_eq!(gap_of(&[2, 3, 6, 7, 8, 9, 10, 11, 12, 13, 14]), None);
        assert_eq!(gap_of(&[2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 40]), None);
        assert_eq!(gap_of(&[0, 5, 10, 15]), None);
        assert_eq!(gap_of(&[0, 2, 14, 16]), None, "at the ends of the window alone");
        assert_eq!(gap_of(&[]), None);
        assert_eq!(gap_of(&[2, 2, 12, 14]), None, "a run of few readings");
    }

    #[test]
    fn a_small_total_is_soon_there_again_after_a_new_start() {
        let reported = [(90_000.0, 2.0), (90_500.0, 2.0), (10.0, 0.0), (90.0, 1.0), (170.0, 2.0), (250.0, 3.0)];
        let mut readings = readings(&(0..).zip(reported.map(|(tokens, _)| tokens)).collect::<Vec<_>>());
        for (reading, (_, preemptions)) in readings.iter_mut().zip(reported) {
            reading.counters.insert(Counter::Preemptions, preemptions);
        }
        let all: Vec<_> = readings.iter().collect();
        assert_eq!(went_back(&Span::new(&all, (0.0, 5.0)).unwrap()), Some(WentBack::Once));
    }

    #[test]
    fn a_new_start_is_told_from_several_servers() {
        let back = |tokens: &[f64]| {
            let reported: Vec<_> = (0..).zip(tokens).map(|(second, &tokens)| (second, tokens)).collect();
            let readings = readings(&reported);
            let all: Vec<_> = readings.iter().collect();
            went_back(&Span::new(&all, (0.0, tokens.len() as f64 - 1.0)).unwrap())
        };
        assert_eq!(back(&[10.0, 20.0, 20.0, 30.0]), None);
        assert_eq!(back(&[900.0, 950.0, 5.0, 60.0, 120.0, 180.0]), Some(WentBack::Once));
        assert_eq!(back(&[900.0, 5_000.0, 950.0, 5_050.0, 1_000.0]), Some(WentBack::AndForth));
        assert_eq!(back(&[900.0, 5_000.0, 950.0, 5_050.0]), Some(WentBack::AndForth), "fell once, came back");
        assert_eq!(back(&[900.0, 5.0, 60.0, 3.0]), Some(WentBack::AndForth));
    }
}
