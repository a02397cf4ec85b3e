//! Probes metrics pages before a run: which exist, and of what kind.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;

use super::local::LocalDevices;
use super::prometheus::Prometheus;
use super::taken::{hardware_of, kind_of};
use crate::engine::{MetricNames, MetricSample, MetricsPage, PROCESS_START, metric_samples};
use crate::record::{PageKind, TelemetrySource};
use crate::units::cut;

/// A metrics page that was probed.
#[derive(Clone, Debug)]
pub(crate) struct FoundPage {
    pub(super) origin: ReadingOrigin,
    /// Its entry in the run's header.
    pub(crate) source: TelemetrySource,
    /// Reason why it cannot be read, if so.
    pub(crate) problem: Option<String>,
    identity: Option<PageIdentity>,
}

/// Source that readings come from.
#[derive(Clone, Debug)]
pub(super) enum ReadingOrigin {
    /// A page.
    Page(Box<MetricsPage>),
    /// A management library of this machine.
    Library(LocalDevices),
    /// A Prometheus, with the time from one sample of the page to the next. It is asked after the run.
    Prometheus(Arc<Prometheus>, Duration),
}

/// Identity of a page: two looks at it at the same time have the same.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PageIdentity {
    kind: PageKind,
    /// Facts that no other page has. They are when its process and its series began, or which devices it is about.
    own: Vec<String>,
    /// Its totals.
    totals: Vec<String>,
    /// Whether one of them is not 0.
    counts: bool,
}

/// Ending of the name that says when a series began.
const SERIES_START: &str = "_created";
/// Endings of the names of totals.
const TOTALS: [&str; 4] = ["_total", "_count", "_sum", "_bucket"];
/// Labels of a device whose values no other device has.
const DEVICE: [&str; 2] = ["UUID", "serial_number"];

impl PageIdentity {
    /// Identity of a page of this kind.
    pub(super) fn new(kind: PageKind, page: &str) -> Self {
        let names = MetricNames::from_kind(kind);
        let (mut own, mut totals, mut counts) = (Vec::new(), Vec::new(), false);
        for sample in metric_samples(page) {
            let MetricSample { name, value, .. } = sample;
            if !names.device.is_empty() {
                own.extend(DEVICE.iter().find_map(|label| sample.label(label)).map(String::from));
            } else if name == PROCESS_START || name.ends_with(SERIES_START) {
                own.push(format!("{name} {value}"));
            } else if names.own(name).is_some() && TOTALS.iter().any(|end| name.ends_with(end)) {
                totals.push(format!("{name} {value}"));
                counts |= value > 0.0;
            }
        }
        own.sort_unstable();
        own.dedup();
        totals.sort_unstable();
        Self { kind, own, totals, counts }
    }

    /// Whether it is that of the same page. Two servers that were started together may have begun in the same
    /// moment, and two that are new have counted nothing.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self == other && (self.counts || !self.own.is_empty())
    }
}

impl FoundPage {
    /// Probes all pages at the same time.
    pub(crate) async fn all(pages: Vec<MetricsPage>) -> Vec<Self> {
        join_all(pages.into_iter().map(Self::look)).await
    }

    /// Probes again the pages that could not be read. A server or an exporter may have started since.
    pub(crate) async fn again(pages: &[Self]) -> Vec<Self> {
        join_all(pages.iter().map(|found| async {
            match &found.origin {
                ReadingOrigin::Page(page) if found.problem.is_some() => Self::look(MetricsPage::clone(page)).await,
                _ => found.clone(),
            }
        }))
        .await
    }

    /// The devices of this machine. An exporter of the same devices is another page of theirs.
    pub(crate) fn local(devices: LocalDevices) -> Self {
        let mut own = devices.uuids.clone();
        own.sort_unstable();
        let identity = PageIdentity { kind: PageKind::Dcgm, own, totals: Vec::new(), counts: false };
        let source = devices.source.clone();
        Self { origin: ReadingOrigin::Library(devices), source, problem: None, identity: Some(identity) }
    }

    /// The pages of which a Prometheus has samples.
    ///
    /// # Errors
    ///
    /// Why there are none.
    pub(crate) async fn in_prometheus(mut prometheus: Prometheus) -> Result<Vec<Self>, String> {
        let (pages, prometheus) = (prometheus.pages().await?, Arc::new(prometheus));
        let found = join_all(pages.into_iter().map(async |(url, text)| {
            let source = source(url, &text)?;
            let identity = source.kind.map(|kind| PageIdentity::new(kind, &text));
            let every = prometheus.interval(&text).await;
            let origin = ReadingOrigin::Prometheus(Arc::clone(&prometheus), every);
            Some(Self { origin, source, problem: None, identity })
        }));
        let found: Vec<_> = found.await.into_iter().flatten().collect();
        if found.is_empty() { Err(NO_SERIES.to_owned()) } else { Ok(found) }
    }

    /// Returns the time between two samples. It is there where the page is read from a Prometheus, after the run.
    pub(crate) fn sampled_every(&self) -> Option<Duration> {
        match self.origin {
            ReadingOrigin::Prometheus(_, every) => Some(every),
            ReadingOrigin::Page(_) | ReadingOrigin::Library(_) => None,
        }
    }

    /// Leaves out pages that are others of them under another address. It returns the address of each, and of the one
    /// that stays.
    pub(crate) fn leave_out_repeated(pages: &mut Vec<Self>) -> Vec<(String, String)> {
        let mut repeated = Vec::new();
        let mut kept: Vec<Self> = Vec::new();
        for page in pages.drain(..) {
            let same = |one: &&Self| match (&one.identity, &page.identity) {
                (Some(one), Some(other)) => one.is_same(other),
                _ => false,
            };
            match kept.iter().find(same) {
                Some(first) => repeated.push((page.source.url.clone(), first.source.url.clone())),
                None => kept.push(page),
            }
        }
        *pages = kept;
        repeated
    }

    async fn look(page: MetricsPage) -> Self {
        let read = async { page.open()?.read().await };
        let problem = match read.await {
            Ok(text) => match source(page.url(), &text) {
                Some(TelemetrySource { url, kind, hardware, driver }) => {
                    let identity = kind.map(|kind| PageIdentity::new(kind, &text));
                    let [hardware, driver] = [hardware, driver].map(|said| said.map(|said| page.without_secrets(said)));
                    let source = TelemetrySource { url, kind, hardware, driver };
                    return Self { origin: ReadingOrigin::Page(page.into()), source, problem: None, identity };
                }
                None => no_series(&text),
            },
            Err(problem) => problem,
        };
        let source = TelemetrySource { url: page.url(), kind: None, hardware: None, driver: None };
        Self { origin: ReadingOrigin::Page(page.into()), source, problem: Some(problem), identity: None }
    }

    /// Whether it was read, and has none of the series that are read.
    pub(crate) fn has_no_series(&self) -> bool {
        self.problem.as_ref().is_some_and(|problem| problem.starts_with(NO_SERIES))
    }

    pub(super) fn kind(&self) -> Option<PageKind> {
        self.source.kind
    }
}

/// Sentence about a page without a series that is read.
const NO_SERIES: &str = "it has no series of a known server or exporter";
/// Series of such a page that are named.
const NAMED: usize = 3;

/// Sentence about a page without a series that is read, with what it has instead.
fn no_series(page: &str) -> String {
    let mut names: Vec<_> =
        metric_samples(page).filter(|sample| sample.value.is_finite()).map(|sample| sample.name).collect();
    names.dedup();
    if names.is_empty() {
        return format!("{NO_SERIES}, nor any other: it is no metrics page");
    }
    let some: Vec<_> = names.iter().take(NAMED).map(|name| cut((*name).to_owned(), NAME)).collect();
    format!("{NO_SERIES}, but {}", some.join(", "))
}

/// Longest name that is shown.
const NAME: usize = 60;

/// The source at `url` whose page is `text`; `None` where no series is known.
pub(super) fn source(url: String, text: &str) -> Option<TelemetrySource> {
    let kind = kind_of(text)?;
    let (hardware, driver) = hardware_of(text, MetricNames::from_kind(kind));
    Some(TelemetrySource { url, kind: Some(kind), hardware, driver })
}
