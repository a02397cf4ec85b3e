//! Makes readings of the samples that a Prometheus took of pages during a run.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::find::{FoundPage, ReadingOrigin};
use super::prometheus::{Prometheus, SampledSeries};
use super::scrape::ScrapeTimes;
use super::taken::{Depth, taken_of};
use crate::clock::{RunClock, Timestamp};
use crate::engine::{MetricNames, MetricSample, metric_samples};
use crate::record::Reading;
use crate::units::counted;

/// Longest stretch of samples that one question is about, seconds.
const STRETCH: f64 = 60.0;
/// Stretch from which one is not halved for a shorter answer, seconds.
const SHORTEST: f64 = 1.0;
/// Words about an answer that is too long, by this client or by the server.
const TOO_LONG: [&str; 3] = ["it is longer than", "too many samples", "exceeded the maximum"];
/// Time from the moment of a sample until it can be asked for.
const LATE: Duration = Duration::from_secs(1);
/// Resolution of Prometheus' time, seconds.
const RESOLUTION: f64 = 1e-3;
/// Samples of a window below which its figures say little.
const FEW: u64 = 5;

/// Reads the samples that a Prometheus has of a run into `keep`.
///
/// Raw samples are asked for, by an instant query about a range, and not a range query: its grid of steps repeats the
/// last sample until the next, so that rises come late and values count that nobody read. `hurry` ends the wait for the
/// last sample, and `left` all waiting. Returns the problems.
pub(crate) async fn read_samples(
    pages: &[FoundPage],
    times: ScrapeTimes,
    clock: RunClock,
    (hurry, left): (impl Future<Output = ()>, impl Future<Output = ()>),
    keep: impl Fn(Reading),
) -> Vec<String> {
    let mut tracks = BTreeMap::new();
    let mut in_it = None;
    for (source, page) in (0..).zip(pages) {
        let (ReadingOrigin::Prometheus(prometheus, every), Some(kind)) = (&page.origin, page.kind()) else { continue };
        let track = Track { source, names: MetricNames::from_kind(kind), before: None, last: None, in_window: 0 };
        tracks.insert(page.source.url.as_str(), (track, *every));
        in_it = Some(prometheus);
    }
    let Some(prometheus) = in_it else { return Vec::new() };
    let wait = tracks.values().map(|(_, every)| *every).max().unwrap_or_default() + LATE;
    let mut run = SampledRun { tracks, known: &prometheus.known, unknown: BTreeSet::new(), times };
    let asked = async {
        tokio::select! {
            () = hurry => {}
            () = tokio::time::sleep(wait) => {}
        }
        let begun = clock.now();
        let time = prometheus.now().await?;
        // Samples are placed by Prometheus' clock against the run's, which may be off by half the time of this answer.
        let (begun, ended) = (begun.as_secs_f64(), clock.now().as_secs_f64());
        let now = f64::midpoint(begun, ended);
        let clocks = Clocks { now, zero: time - now, unsure: (ended - begun) / 2.0 + RESOLUTION };
        run.ask(prometheus, clocks, &keep).await
    };
    let asked: Result<(), String> = tokio::select! {
        asked = asked => asked,
        () = left => Err("they were not awaited".to_owned()),
    };
    run.tracks.values_mut().for_each(|(track, _)| track.follow(None, times, &keep));
    match asked {
        Ok(()) => run.problems().collect(),
        Err(why) => vec![format!("{} has not given all samples of the run: {why}", prometheus.url())],
    }
}

/// The clock of a Prometheus against that of the run.
#[derive(Clone, Copy)]
struct Clocks {
    /// The moment at which it was asked, seconds since the run's zero.
    now: f64,
    /// Prometheus' time at the run's zero, seconds.
    zero: f64,
    /// Seconds by which it may be off.
    unsure: f64,
}

/// Readings of a run's pages, as they are made.
struct SampledRun<'a> {
    /// The pages by their addresses, each with the time between two of its samples.
    tracks: BTreeMap<&'a str, (Track, Duration)>,
    /// Pages that were there before the runs, those too that do not count.
    known: &'a BTreeSet<String>,
    /// Pages that were not.
    unknown: BTreeSet<String>,
    times: ScrapeTimes,
}

/// Readings of one page. The last is held back until it is known what follows.
struct Track {
    source: u16,
    names: &'static MetricNames,
    before: Option<Timestamp>,
    last: Option<Reading>,
    in_window: u64,
}

impl SampledRun<'_> {
    /// Asks for the samples of the run until now.
    async fn ask(&mut self, prometheus: &Prometheus, clocks: Clocks, keep: &impl Fn(Reading)) -> Result<(), String> {
        let is_too_long = |why: &str| TOO_LONG.iter().any(|words| why.contains(words));
        let (mut from, mut stretch) = (0.0, STRETCH);
        while from < clocks.now {
            let end = clocks.now.min(from + stretch);
            match prometheus.samples(clocks.zero + from, clocks.zero + end).await {
                Ok(series) => {
                    self.take(&series, clocks, keep);
                    from = end;
                }
                Err(why) if end - from > SHORTEST && is_too_long(&why) => stretch = (end - from) / 2.0,
                Err(why) => return Err(why),
            }
        }
        Ok(())
    }

    /// Makes a reading of all samples that a page has at a moment.
    fn take(&mut self, series: &BTreeMap<String, SampledSeries>, clocks: Clocks, keep: &impl Fn(Reading)) {
        let Clocks { zero, unsure, .. } = clocks;
        let lines: Vec<_> = series.keys().map(|line| format!("{line} 0")).collect();
        let mut moments: BTreeMap<(&str, u64), Vec<MetricSample<'_>>> = BTreeMap::new();
        for (line, series) in lines.iter().zip(series.values()) {
            let Some(mut sample) = metric_samples(line).next() else { continue };
            for (at, value) in &series.samples {
                sample.value = *value;
                // Samples have milliseconds.
                moments.entry((&series.page, (at * 1e3).round() as u64)).or_default().push(sample);
            }
        }
        for ((page, at), samples) in moments {
            let Some((track, _)) = self.tracks.get_mut(page) else {
                self.unknown.extend((!self.known.contains(page)).then(|| page.to_owned()));
                continue;
            };
            let at = at as f64 / 1e3 - zero;
            let [asked, answered] = [at - unsure, at + unsure].map(Timestamp::from_secs_f64);
            let taken = taken_of(samples, track.names, Depth::Whole);
            track.follow(Some(Reading { source: track.source, asked, answered, ..taken }), self.times, keep);
        }
    }

    /// Problems of the pages. They have few samples in the window, or were not there before the run.
    fn problems(self) -> impl Iterator<Item = String> {
        let unknown = self.unknown.into_iter();
        let unknown = unknown.map(|page| format!("{page} counts nowhere: it was not there before the runs"));
        let few = self.tracks.into_iter().filter(|(_, (track, _))| track.in_window < FEW);
        let few = few.map(|(page, (track, every))| {
            let (found, every) = (counted(track.in_window, "sample"), every.as_secs_f64().round());
            format!(
                "{page} has {found} in the window, one about every {every} s, and its figures say little\n\
                 hint: measure for longer, or lower Prometheus' scrape_interval"
            )
        });
        few.chain(unknown)
    }
}

impl Track {
    /// Keeps the last reading, which `next` follows. It has its histograms, which are large, where it is the first or
    /// the last of all, or next to an end of the window.
    fn follow(&mut self, next: Option<Reading>, times: ScrapeTimes, keep: &impl Fn(Reading)) {
        let Some(mut reading) = std::mem::replace(&mut self.last, next) else { return };
        let ScrapeTimes { window_start, window_end, .. } = times;
        self.in_window += u64::from(window_start <= reading.answered && reading.asked <= window_end);
        let before = self.before.replace(reading.answered);
        if let (Some(before), Some(next)) = (before, &self.last)
            && ![window_start, window_end].iter().any(|end| before < *end && *end < next.asked)
        {
            reading.histograms.clear();
        }
        keep(reading);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::record::{Counter, Gauge, PageKind, ServerTime};
    use crate::telemetry::taken::taken;

    const PAGE: &str = "\
vllm:num_requests_running{engine=\"0\", pod=\"POD\"} 3\nvllm:num_requests_running{engine=\"1\", pod=\"POD\"} 4\n\
vllm:generation_tokens_total{pod=\"POD\"} 70\nvllm:e2e_request_latency_seconds_bucket{le=\"1.0\", pod=\"POD\"} 1\n\
vllm:e2e_request_latency_seconds_count{pod=\"POD\"} 2\nvllm:e2e_request_latency_seconds_sum{pod=\"POD\"} 2.5\n";

    /// Samples of this page. The moments are seconds of a clock whose 1,000 is the run's zero.
    fn sampled(pod: &str, seconds: &[f64]) -> BTreeMap<String, SampledSeries> {
        let lines = PAGE.replace("POD", pod);
        let series = lines.lines().filter_map(|line| line.rsplit_once(' ')).map(|(line, value)| {
            let samples = seconds.iter().map(|second| (1_000.0 + second, value.parse().unwrap())).collect();
            (
                line.to_owned(),
                SampledSeries { page: pod.to_owned(), scraper: String::new(), line: line.to_owned(), samples },
            )
        });
        series.collect()
    }

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_nanos(seconds * 1_000_000_000)
    }

    static NONE: BTreeSet<String> = BTreeSet::new();

    fn run<'a>(pods: &[&'a str]) -> SampledRun<'a> {
        let names = MetricNames::from_kind(PageKind::Vllm);
        let track = |source| Track { source, names, before: None, last: None, in_window: 0 };
        let tracks = (0..).zip(pods).map(|(source, pod)| (*pod, (track(source), Duration::from_secs(1)))).collect();
        let times = ScrapeTimes { every: Duration::from_secs(1), window_start: at(3), window_end: at(8) };
        SampledRun { tracks, known: &NONE, unknown: BTreeSet::new(), times }
    }

    const CLOCKS: Clocks = Clocks { now: 0.0, zero: 1_000.0, unsure: 0.25 };

    #[test]
    fn a_reading_is_what_the_page_would_have_been_read_as() {
        let kept = RefCell::new(Vec::new());
        let keep = |reading| kept.borrow_mut().push(reading);
        let mut run = run(&["a", "b"]);
        let times = run.times;
        let mut both = sampled("a", &[0.125, 1.125]);
        both.extend(sampled("b", &[0.125]));
        run.take(&both, CLOCKS, &keep);
        run.tracks.values_mut().for_each(|(track, _)| track.follow(None, times, &keep));
        let page = taken(PAGE, MetricNames::from_kind(PageKind::Vllm), Depth::Whole);
        assert_eq!((page.gauges[&Gauge::Running], page.counters[&Counter::GenerationTokens]), (7.0, 70.0));
        assert_eq!(page.histograms[&ServerTime::E2e].buckets, [(1.0, 1.0)]);
        let moment = |seconds| Timestamp::from_secs_f64(seconds);
        let of = |source, asked, answered| Reading { source, asked, answered, ..page.clone() };
        let (first, second) = ((moment(0.0), moment(0.375)), (moment(0.875), moment(1.375)));
        let expected = [of(0, first.0, first.1), of(0, second.0, second.1), of(1, first.0, first.1)];
        assert_eq!(kept.into_inner(), expected, "the pages do not mix, and a moment is as unsure as the clocks are");
    }

    #[test]
    fn histograms_are_kept_next_to_the_ends_of_the_window() {
        let kept = RefCell::new(Vec::new());
        let keep = |reading: Reading| kept.borrow_mut().push((reading.moment_s(), !reading.histograms.is_empty()));
        let mut run = run(&["a"]);
        let times = run.times;
        // In two stretches: what is held back in the first is judged by what the second begins with.
        run.take(&sampled("a", &[0.5, 1.5, 2.5]), CLOCKS, &keep);
        run.take(&sampled("a", &[3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, 10.5]), CLOCKS, &keep);
        run.tracks.values_mut().for_each(|(track, _)| track.follow(None, times, &keep));
        let whole =
            |wanted| kept.borrow().iter().filter(|(_, is)| *is == wanted).map(|(at, _)| *at).collect::<Vec<_>>();
        assert_eq!(whole(true), [0.5, 2.5, 3.5, 7.5, 8.5, 10.5]);
        assert_eq!(whole(false), [1.5, 4.5, 5.5, 6.5, 9.5]);
        assert_eq!(run.problems().next(), None);
    }

    #[test]
    fn few_samples_and_pages_that_came_later_are_problems() {
        let known = BTreeSet::from(["router".to_owned()]);
        let mut run = SampledRun { known: &known, ..run(&["a"]) };
        run.take(&sampled("a", &[0.5, 4.5, 9.5]), CLOCKS, &|_| {});
        run.take(&sampled("z", &[4.5]), CLOCKS, &|_| {});
        run.take(&sampled("router", &[4.5]), CLOCKS, &|_| {});
        let times = run.times;
        run.tracks.values_mut().for_each(|(track, _)| track.follow(None, times, &|_| {}));
        let problems: Vec<_> = run.problems().collect();
        assert!(problems[0].starts_with("a has 1 sample in the window, one about every 1 s"), "{problems:?}");
        assert_eq!(problems[1..], ["z counts nowhere: it was not there before the runs"]);
    }
}
