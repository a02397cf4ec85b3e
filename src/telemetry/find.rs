//! Probes metrics pages before a run: which exist, and of what kind.

use futures::future::join_all;

use super::taken::{hardware_of, kind_of};
use crate::engine::{MetricNames, MetricsPage};
use crate::record::{PageKind, TelemetrySource};

/// A metrics page that was probed.
#[derive(Clone, Debug)]
pub(crate) struct FoundPage {
    pub(super) page: MetricsPage,
    /// Its entry in the run's header.
    pub(crate) source: TelemetrySource,
    /// Why it cannot be read, if so.
    pub(crate) problem: Option<String>,
}

impl FoundPage {
    /// Probes all pages at the same time.
    pub(crate) async fn all(pages: Vec<MetricsPage>) -> Vec<Self> {
        join_all(pages.into_iter().map(Self::look)).await
    }

    /// Probes again the pages that could not be read: a server or an exporter may have started since.
    pub(crate) async fn again(pages: &[Self]) -> Vec<Self> {
        join_all(pages.iter().map(|found| async {
            if found.problem.is_some() { Self::look(found.page.clone()).await } else { found.clone() }
        }))
        .await
    }

    async fn look(page: MetricsPage) -> Self {
        let read = async { page.open()?.read().await };
        let found = match read.await {
            Ok(text) => source(page.url(), &text)
                .ok_or_else(|| "it has no series of a known server or exporter".to_owned()),
            Err(problem) => Err(problem),
        };
        match found {
            Ok(TelemetrySource { url, kind, hardware, driver }) => {
                let [hardware, driver] =
                    [hardware, driver].map(|said| said.map(|said| page.without_secrets(said)));
                Self { page, source: TelemetrySource { url, kind, hardware, driver }, problem: None }
            }
            Err(problem) => {
                let unread = TelemetrySource { url: page.url(), kind: None, hardware: None, driver: None };
                Self { page, source: unread, problem: Some(problem) }
            }
        }
    }

    pub(super) fn kind(&self) -> Option<PageKind> {
        self.source.kind
    }
}

/// The source at `url` whose page is `text`; `None` where no series is known.
pub(super) fn source(url: String, text: &str) -> Option<TelemetrySource> {
    let kind = kind_of(text)?;
    let (hardware, driver) = hardware_of(text, MetricNames::of(kind));
    Some(TelemetrySource { url, kind: Some(kind), hardware, driver })
}
