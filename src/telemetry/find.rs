//! Looks before a run which pages of metrics there are, and of what kind.

use futures::future::join_all;

use super::names::Names;
use super::taken::{hardware_of, kind_of};
use crate::engine::MetricsPage;
use crate::record::{PageKind, TelemetrySource};

/// A page that was looked for.
#[derive(Clone, Debug)]
pub struct FoundPage {
    pub(super) page: MetricsPage,
    /// What the run's header says of it.
    pub source: TelemetrySource,
    /// Why it will not be read, where it cannot be.
    pub problem: Option<String>,
}

impl FoundPage {
    /// Reads each page once, all at the same time.
    pub async fn all(pages: Vec<MetricsPage>) -> Vec<Self> {
        join_all(pages.into_iter().map(Self::look)).await
    }

    /// The same pages, with those looked for again that could not be read: a server or an exporter may have come up since.
    pub async fn again(pages: &[Self]) -> Vec<Self> {
        join_all(pages.iter().map(|found| async {
            if found.problem.is_some() { Self::look(found.page.clone()).await } else { found.clone() }
        }))
        .await
    }

    async fn look(page: MetricsPage) -> Self {
        let read = async { page.open()?.read().await };
        let told = match read.await {
            Ok(text) => source(page.url(), &text)
                .ok_or_else(|| "it has no series of a server or an exporter that is known here".to_owned()),
            Err(problem) => Err(problem),
        };
        match told {
            Ok(source) => Self { page, source, problem: None },
            Err(problem) => {
                let unread = TelemetrySource { url: page.url(), kind: None, hardware: None, driver: None };
                Self { page, source: unread, problem: Some(problem) }
            }
        }
    }

    /// Its kind; `None` where it will not be read.
    pub(super) fn kind(&self) -> Option<PageKind> {
        self.source.kind
    }
}

/// What there is to say of the page at `url` that says `text`.
pub(super) fn source(url: String, text: &str) -> Option<TelemetrySource> {
    let kind = kind_of(text)?;
    let (hardware, driver) = hardware_of(text, Names::of(kind));
    Some(TelemetrySource { url, kind: Some(kind), hardware, driver })
}
