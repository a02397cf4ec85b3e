//! Reads metrics pages at intervals during a run, on its own thread.

use std::thread::JoinHandle;
use std::time::Duration;

use futures::future::join_all;
use tokio::time::sleep_until;
use tokio_util::sync::CancellationToken;

use super::find::{FoundPage, ReadingOrigin};
use super::local::LocalDevices;
use super::taken::{Depth, taken};
use crate::clock::{RunClock, Timestamp, start_thread};
use crate::engine::{MetricNames, MetricsClient};
use crate::record::Reading;

/// Moments at which pages are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScrapeTimes {
    /// The interval.
    pub(crate) every: Duration,
    /// Start of the window: pages are read then too, with their histograms.
    pub(crate) window_start: Timestamp,
    /// End of the window: likewise.
    pub(crate) window_end: Timestamp,
}

/// Reads metrics pages; dropping it ends that.
#[derive(Debug)]
pub(crate) struct Scraper {
    stop: CancellationToken,
    /// Problems before the first reading.
    problems: Vec<String>,
    thread: Option<JoinHandle<Vec<String>>>,
}

impl Scraper {
    /// Reads the pages at once and then at every multiple of the interval. It keeps time by `clock`, and gives each
    /// reading to `keep`. It neither waits for other threads nor delays them.
    pub(crate) fn start(
        pages: &[FoundPage],
        times: ScrapeTimes,
        clock: RunClock,
        keep: impl Fn(Reading) + Send + 'static,
    ) -> Self {
        let stop = CancellationToken::new();
        let mut readers = Vec::new();
        let mut problems = Vec::new();
        for (source, found) in (0..).zip(pages) {
            let Some(kind) = found.kind() else { continue };
            let url = found.source.url.clone();
            let opened = match &found.origin {
                ReadingOrigin::Page(page) => {
                    page.open().map(|page| Opened::Page(page.into(), MetricNames::from_kind(kind)))
                }
                ReadingOrigin::Library(devices) => Ok(Opened::Library(devices.clone())),
                ReadingOrigin::Prometheus(..) => continue,
            };
            match opened {
                Ok(opened) => readers.push(Reader { source, url, opened, clock, times }),
                Err(problem) => problems.push(format!("{url} is not read: {problem}")),
            }
        }
        let (none, stopped) = (readers.is_empty(), stop.clone());
        let reading = move || read_all(readers, &stopped, &keep);
        let thread = (!none).then(|| start_thread("metrics", reading)).transpose().unwrap_or_else(|error| {
            problems.push(format!("no metrics page is read: {error}"));
            None
        });
        Self { stop, problems, thread }
    }

    /// Reads each page a last time and returns the problems. They are one sentence for each page that could not always
    /// be read.
    pub(crate) fn finish(mut self) -> Vec<String> {
        self.stop.cancel();
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(later)) => self.problems.extend(later),
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => {}
        }
        std::mem::take(&mut self.problems)
    }
}

impl Drop for Scraper {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

fn read_all(readers: Vec<Reader>, stop: &CancellationToken, keep: &impl Fn(Reading)) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime {
        Ok(runtime) => {
            let reading = join_all(readers.into_iter().map(|reader| reader.read_on(stop, keep)));
            runtime.block_on(reading).into_iter().flatten().collect()
        }
        Err(error) => vec![format!("no metrics page is read: {error}")],
    }
}

/// Source that a reader reads.
enum Opened {
    Page(Box<MetricsClient>, &'static MetricNames),
    Library(LocalDevices),
}

/// Reads one page.
struct Reader {
    source: u16,
    url: String,
    opened: Opened,
    clock: RunClock,
    times: ScrapeTimes,
}

impl Reader {
    /// Reads until `stop`. The sentence says how often the page could not be read, and why.
    async fn read_on(self, stop: &CancellationToken, keep: &impl Fn(Reading)) -> Option<String> {
        let mut moments = Moments::new(self.times);
        let (mut tries, mut failures, mut why) = (0_u64, 0_u64, String::new());
        let mut depth = Depth::Whole;
        loop {
            let over = stop.is_cancelled();
            tries += 1;
            let mut missed = None;
            match self.read(depth).await {
                Ok(reading) => keep(reading),
                Err(problem) => {
                    (failures, why) = (failures + 1, problem);
                    missed = Some(depth);
                }
            }
            if over {
                break;
            }
            let (next, its_depth) = moments.after(self.clock.now());
            depth = tokio::select! {
                () = stop.cancelled() => Depth::Whole,
                // After a failed full reading the next one is full too.
                () = sleep_until(self.clock.instant(next)) => {
                    missed.filter(|missed| *missed == Depth::Whole).unwrap_or(its_depth)
                }
            };
        }
        (failures > 0).then(|| format!("{} could not be read {failures} of {tries} times; last error: {why}", self.url))
    }

    async fn read(&self, depth: Depth) -> Result<Reading, String> {
        let asked = self.clock.now();
        let (reading, answered) = match &self.opened {
            Opened::Page(client, table) => {
                let page = client.read().await?;
                let answered = self.clock.now();
                let mut reading = taken(&page, table, depth);
                let named = |(name, device)| (client.page().without_secrets(name), device);
                reading.devices = reading.devices.into_iter().map(named).collect();
                (reading, answered)
            }
            Opened::Library(devices) => (devices.read()?, self.clock.now()),
        };
        Ok(Reading { source: self.source, asked, answered, ..reading })
    }
}

/// Times at which a page is read. They are multiples of an interval, and the ends of the window.
#[derive(Debug)]
struct Moments {
    every: Duration,
    /// Ends of the window still to come, the next one last.
    ends: Vec<Timestamp>,
}

impl Moments {
    fn new(times: ScrapeTimes) -> Self {
        let ends = [times.window_end, times.window_start].into_iter().filter(|end| *end > Timestamp::ZERO);
        Self { every: times.every, ends: ends.collect() }
    }

    /// The next time after `now`, right after a reading. An end of the window that a slow page missed comes
    /// at once.
    fn after(&mut self, now: Timestamp) -> (Timestamp, Depth) {
        let every = self.every.as_nanos().max(1) as u64;
        let tick = Timestamp::from_nanos((now.as_nanos() / every + 1).saturating_mul(every));
        match self.ends.pop_if(|end| *end <= tick) {
            Some(end) => (end, Depth::Whole),
            None => (tick, Depth::Brief),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_the_window_are_among_the_moments() {
        use Depth::{Brief, Whole};

        let at = |millis: u64| Timestamp::from_nanos(millis * 1_000_000);
        let times = ScrapeTimes { every: Duration::from_secs(1), window_start: at(2_000), window_end: at(4_500) };
        let mut moments = Moments::new(times);
        let mut now = Timestamp::ZERO;
        let mut found = Vec::new();
        for _ in 0..7 {
            let (next, depth) = moments.after(now);
            found.push((next.as_nanos() / 1_000_000, depth));
            now = next.after(Duration::from_millis(3));
        }
        assert_eq!(
            found,
            [
                (1_000, Brief),
                (2_000, Whole),
                (3_000, Brief),
                (4_000, Brief),
                (4_500, Whole),
                (5_000, Brief),
                (6_000, Brief)
            ]
        );
        // A page that took from 1 to 8 s has missed both: each is read at once.
        let mut moments = Moments::new(times);
        let late: Vec<_> = [8_000, 8_001, 8_002].map(|now| moments.after(at(now)).0).to_vec();
        assert_eq!(late, [at(2_000), at(4_500), at(9_000)]);
        // Without a warm-up the first reading is that of the window's start.
        let mut moments = Moments::new(ScrapeTimes { window_start: Timestamp::ZERO, ..times });
        assert_eq!(moments.after(Timestamp::ZERO), (at(1_000), Brief));
    }
}
