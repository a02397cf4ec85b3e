//! What the server and its devices reported over the window, beside what the client measured.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::Serialize;
use strum::VariantArray;

use super::devices::{DeviceSummary, EnergyUse};
use super::histogram::{BothAccounts, TimeSummary};
use super::pages::PageSummary;
use super::track::{GaugeSummary, Span, Track};
use super::{devices, histogram};
use crate::analysis::load::rates::Rates;
use crate::analysis::requests::Observed;
use crate::clock::Timestamp;
use crate::record::{Counter, Gauge, PageKind, Reading, ServerTime};

/// Figures that pages of metrics reported over the window.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ServerSide {
    /// The pages, in the order of the command line.
    pub pages: Vec<PageSummary>,
    /// Values of the server over the window, its engines added up.
    pub gauges: BTreeMap<Gauge, GaugeSummary>,
    /// The stretch between the two readings next to the ends of the window. It is in seconds since the run began.
    /// Counters and times are about it. Absent where there are no two, or where each page was read at moments of its
    /// own.
    pub span_s: Option<(f64, f64)>,
    /// Whether a counter of some page went back in it. The server was started anew, or its address leads to several
    /// servers, so that there are no counters and no times.
    pub restarted: bool,
    /// Rises of the server's totals.
    pub counters: BTreeMap<Counter, f64>,
    /// Rises of the accepted draft tokens by their position in the draft. Left out where the server does not tell.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accepted_at: Vec<f64>,
    /// The server's own times of requests.
    pub times: BTreeMap<ServerTime, TimeSummary>,
    /// Counts and times by both accounts, the server's and the client's. Absent where the client is one of several
    /// generators and saw only a share, where the server reported no totals, or where its pages were read at other
    /// moments each.
    pub accounts: Option<BothAccounts>,
    /// The devices, where a page reports them.
    pub devices: Vec<DeviceSummary>,
    /// Energy that the devices used for the work. Absent where no page reports power or energy.
    pub energy: Option<EnergyUse>,
}

impl ServerSide {
    /// Collects what the log tells of the server. `None` where no page was asked for, or there is no window.
    pub(crate) fn new(observed: &Observed<'_>, rates: &Rates) -> Option<Self> {
        let log = observed.log;
        if log.header.telemetry.is_empty() || observed.answers_end <= observed.start {
            return None;
        }
        let of_page = |place: usize| -> Vec<&Reading> {
            log.telemetry.readings.iter().filter(|reading| usize::from(reading.source) == place).collect()
        };
        let pages: Vec<_> = log.header.telemetry.iter().enumerate().collect();
        let engines: Vec<Vec<&Reading>> = pages
            .iter()
            .filter(|(_, page)| page.kind.is_some_and(PageKind::is_of_engine))
            .map(|(place, _)| of_page(*place))
            .filter(|readings| !readings.is_empty())
            .collect();
        let window = (observed.start.as_secs_f64(), observed.answers_end.as_secs_f64());
        let spans: Vec<_> = engines.iter().filter_map(|readings| Span::new(readings, window)).collect();
        // Of several replicas, all must have reported: totals of some are not those of the server.
        let spans = if spans.len() == engines.len() { spans } else { Vec::new() };
        let summaries: Vec<_> =
            pages.iter().map(|(place, page)| PageSummary::new(page, &of_page(*place), window)).collect();
        let restarted = summaries.iter().any(|page| page.went_back.is_some());
        let whole = if restarted { &[] } else { spans.as_slice() };
        let kind_of = |span: &Span<'_>| log.header.telemetry.get(usize::from(span.last.source))?.kind;
        let (counters, times) = (rises(whole, kind_of), times(whole));
        let alone = log.header.shard.is_none();
        let common = Span::common(&spans, window);
        let accounts = common.filter(|_| alone && !whole.is_empty());
        let accounts = accounts.map(|span| BothAccounts::new(log, &counters, &times, span));
        // Golden prompts, prefixes that are warmed and a warm-up keep the devices busy before the first request.
        let warmed = log.header.cache.is_some_and(|cache| cache.warmed_prefixes > 0)
            || log.header.warming_requests.is_some()
            || !log.checks.is_empty();
        let sent = log.records.iter().filter_map(|record| record.sent).min().map(Timestamp::as_secs_f64);
        let sent = sent.filter(|_| !warmed);
        let devices: Vec<_> = pages
            .iter()
            .filter(|(_, page)| page.kind.is_some_and(PageKind::is_of_devices))
            .flat_map(|(place, page)| {
                // Of a machine's devices that nobody named, those that served.
                let all = page.kind != Some(PageKind::Nvml);
                let devices = devices::of(page, &of_page(*place), window, sent).into_iter();
                devices.filter(move |device| all || device.was_busy())
            })
            .collect();
        // What a page that was never read tells of may be further devices, unless it is the server's own.
        let own = |page: &PageSummary| log.header.engines.iter().any(|engine| page.url.starts_with(&engine.url));
        let reported = summaries.iter().all(|page| page.readings > 0 || own(page));
        let energy = || EnergyUse::new(&devices, log.header.deployment.gpus, alone.then_some(rates), window);
        Some(Self {
            gauges: gauges(&engines, window),
            span_s: common,
            restarted,
            energy: reported.then(energy).flatten(),
            devices,
            counters,
            accepted_at: accepted_at(whole),
            times,
            accounts,
            pages: summaries,
        })
    }

    /// Share of the prompt tokens that its prefix cache found when it looked them up.
    pub(crate) fn prefix_hits(&self) -> Option<f64> {
        let (hits, queries) = self.rise(Counter::CacheHits).zip(self.rise(Counter::CacheQueries))?;
        (queries > 0.0).then(|| hits / queries)
    }

    /// A value of the server over the window.
    pub fn gauge(&self, gauge: Gauge) -> Option<GaugeSummary> {
        self.gauges.get(&gauge).copied()
    }

    /// Returns by how much a total of the server rose.
    pub fn rise(&self, counter: Counter) -> Option<f64> {
        self.counters.get(&counter).copied()
    }

    /// Pages that could not be read in a part of the window.
    pub fn read_in_part(&self) -> impl Iterator<Item = (&PageSummary, (f64, f64))> {
        self.pages.iter().filter_map(|page| Some((page, page.gap_s?)))
    }

    /// Pages that were asked for and never read.
    pub fn unread(&self) -> impl Iterator<Item = &PageSummary> {
        self.pages.iter().filter(|page| page.readings == 0)
    }
}

const GAUGES: [Gauge; 5] =
    [Gauge::Running, Gauge::Waiting, Gauge::KvUsage, Gauge::CacheHitRate, Gauge::GenerationTokensPerS];

fn gauges(engines: &[Vec<&Reading>], window: (f64, f64)) -> BTreeMap<Gauge, GaugeSummary> {
    let summary = |gauge: Gauge| {
        let track = |readings: &Vec<&Reading>| {
            Track::from_points(
                readings.iter().filter_map(|reading| Some((reading.moment_s(), *reading.gauges.get(&gauge)?))),
            )
        };
        let tracks: Vec<_> = engines.iter().filter_map(track).collect();
        Some((gauge, Track::together(&tracks, gauge)?.over(window)?))
    };
    GAUGES.into_iter().filter_map(summary).collect()
}

/// Adds up the rises of each counter over all pages. A page that does not have a total which another of its kind has
/// counted nothing of it yet.
fn rises(spans: &[Span<'_>], kind_of: impl Fn(&Span<'_>) -> Option<PageKind>) -> BTreeMap<Counter, f64> {
    let rise = |counter: Counter| {
        let telling = |span: &&Span<'_>| span.last.counters.contains_key(&counter);
        let kinds: Vec<_> = spans.iter().filter(telling).map(&kind_of).collect();
        let none_yet = |span: &Span<'_>| (!telling(&span) && kinds.contains(&kind_of(span))).then_some(0.0);
        let rises = spans.iter().map(|span| span.rise(counter).or_else(|| none_yet(span)));
        let rises = rises.collect::<Option<Vec<_>>>()?;
        (!rises.is_empty()).then(|| (counter, rises.into_iter().sum()))
    };
    // Energy is of devices.
    let of_servers = Counter::VARIANTS.iter().copied().filter(|counter| *counter != Counter::EnergyJ);
    of_servers.filter_map(rise).collect()
}

/// Adds up the rises of the accepted draft tokens by their position.
fn accepted_at(spans: &[Span<'_>]) -> Vec<f64> {
    let positions = spans.iter().map(|span| span.last.accepted_at.len()).max().unwrap_or(0);
    let at = |reading: &Reading, position: usize| reading.accepted_at.get(position).copied().unwrap_or(0.0);
    let rise = |position| spans.iter().map(|span| at(span.last, position) - at(span.first, position)).sum::<f64>();
    (0..positions).map(|position| rise(position).max(0.0)).collect()
}

fn times(spans: &[Span<'_>]) -> BTreeMap<ServerTime, TimeSummary> {
    let summary = |time: ServerTime| {
        let all = spans.iter().map(|span| span.times(time)).collect::<Option<Vec<_>>>()?;
        Some((time, TimeSummary::from_histogram(&histogram::sum(all)?)?))
    };
    ServerTime::VARIANTS.iter().copied().filter_map(summary).collect()
}
