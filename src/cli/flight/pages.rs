//! Pages of metrics that are read beside a run: found before it, told of where they cannot be read.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use crate::cli::args::{OwnPage, TelemetryArgs};
use crate::cli::session::Session;
use crate::engine::MetricsPage;
use crate::record::{PlanFacts, Reading};
use crate::runner::Progress;
use crate::session::{Printer, Stop};
use crate::telemetry::{FoundPage, LatestReadings, ScrapeTimes};

/// The pages that were asked for. One that cannot be read is told of here, once; runs go on without it, and say so.
pub(super) fn find(
    args: &TelemetryArgs,
    session: &Session,
    printer: Printer,
) -> Result<Vec<FoundPage>, Stop> {
    let engine = &session.engine;
    let own = match args.own_page() {
        OwnPage::Read => engine.metrics_page(),
        OwnPage::Unread => None,
    };
    let own_url = own.as_ref().map(MetricsPage::url);
    let mut pages: Vec<_> = own.into_iter().collect();
    for url in args.urls()? {
        if Some(url.to_string()) != own_url {
            pages.push(engine.page_elsewhere(&url).map_err(Stop::usage)?);
        }
    }
    let found = session.runtime.block_on(FoundPage::all(pages));
    for page in &found {
        if let Some(problem) = &page.problem {
            let url = &page.source.url;
            let cure = if Some(url) == own_url.as_ref() {
                "start SGLang with --enable-metrics, llama.cpp with --metrics, trtllm-serve with return_perf_metrics; \
                 or leave its page out with --no-metrics"
            } else {
                "see that the address is that of a page of metrics, and that it can be reached from here"
            };
            printer.words(&format!("{url} is not read: {problem}\nhint: {cure}"));
        }
    }
    Ok(found)
}

/// Why the page of a server is refused that would count for `all` of several.
pub(in crate::cli) fn of_one_server(page: &str, all: &str) -> Stop {
    Stop::usage(format!(
        "--metrics-url: {page} is the page of a server, and would count for {all}\n\
         hint: each server's own page is read anyway; only pages of GPUs can be added"
    ))
}

/// When they are read in a run of this plan.
pub(super) fn times(args: &TelemetryArgs, plan: &PlanFacts) -> ScrapeTimes {
    ScrapeTimes { every: args.interval(), window_start: plan.window_start, window_end: plan.window_end }
}

/// What becomes of a reading: it is kept, and whoever looks on is told how the server is.
pub(super) fn told(keep: impl Fn(Reading), progress: Arc<Progress>, every: Duration) -> impl Fn(Reading) {
    let latest = RefCell::new(LatestReadings::every(every));
    move |reading| {
        progress.server_told(latest.borrow_mut().with(&reading));
        keep(reading);
    }
}
