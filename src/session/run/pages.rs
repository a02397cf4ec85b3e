//! Pages of metrics that are read beside a run.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use super::connect::ServerConnection;
use crate::engine::{MetricsPage, OpenAiEngine};
use crate::record::{EngineFacts, EngineKind, PageKind, Reading};
use crate::runner::Progress;
use crate::session::console::{Printer, Stop};
use crate::session::settings::{LocalGpus, RunSettings};
use crate::telemetry::{FoundPage, LatestReadings, LocalChoice, LocalDevices, NVML, Prometheus};

/// Finds the pages. One that was asked for and cannot be read is named here, once; runs go on without it, and
/// say so. The server's own, which nobody asked for, is then left out.
pub(super) fn find(
    settings: &RunSettings,
    server: &ServerConnection,
    printer: Printer,
) -> Result<Vec<FoundPage>, Stop> {
    let (engines, telemetry) = (server.router.targets(), &settings.telemetry);
    // Which roots are trusted, and which option exports metrics, is the same for all.
    let engine = engines.first();
    let own = engines.iter().filter(|_| telemetry.reads_own_page);
    let mut pages: Vec<MetricsPage> = Vec::new();
    for page in own.flat_map(OpenAiEngine::metrics_pages) {
        // Servers behind one address have one page.
        if !pages.iter().any(|other| other.url() == page.url()) {
            pages.push(page);
        }
    }
    let own_urls: Vec<_> = pages.iter().map(MetricsPage::url).collect();
    for url in &telemetry.urls {
        if !own_urls.contains(&url.to_string()) {
            pages.push(engine.page_elsewhere(url).map_err(Stop::usage)?);
        }
    }
    let mut found = server.runtime.block_on(FoundPage::all(pages));
    found.retain(|page| {
        let (Some(problem), url) = (&page.problem, &page.source.url) else { return true };
        let is_asked_for = !own_urls.contains(url);
        if is_asked_for {
            let cure = "check that the address is that of a metrics page, and that this machine can reach it";
            printer.words(&format!("{url} is not read: {problem}\nhint: {cure}"));
        } else if page.has_no_series() {
            printer.words(&format!("note: {url} is not read: {problem}; --metrics-url names another page"));
        } else if let Some(option) = engine.metrics_option() {
            printer.words(&format!(
                "note: the server exports no metrics ({url}: {problem}): with {option} its own figures are shown too"
            ));
        }
        is_asked_for
    });
    found.extend(sampled(settings, server, &found, printer)?);
    found.extend(local(telemetry.local_gpus, server, &found)?);
    for (url, first) in FoundPage::leave_out_repeated(&mut found) {
        printer.words(&format!("note: {url} is the same page as {first}, and is read once"));
    }
    // A page of devices knows no requests, and what is asked after the run comes too late.
    let is_read = found.iter().any(|page| is_of_engine(page) && page.sampled_every().is_none());
    if let Some(breaker) = settings.requests.breakers().iter().find(|breaker| breaker.is_about_waiting() && !is_read) {
        // One that cannot be read is looked for again before each run.
        let later = found.iter().any(|page| page.problem.is_some());
        let until = if later { ", unless one can be read later" } else { "" };
        printer.words(&format!("note: `{breaker}` cannot end a run: no page of a server's metrics can be read{until}"));
    }
    Ok(found)
}

fn is_of_engine(page: &FoundPage) -> bool {
    page.source.kind.is_some_and(PageKind::is_of_engine)
}

/// Finds the pages of which a Prometheus has samples, if one was named.
fn sampled(
    settings: &RunSettings,
    server: &ServerConnection,
    found: &[FoundPage],
    printer: Printer,
) -> Result<Vec<FoundPage>, Stop> {
    let telemetry = &settings.telemetry;
    let Some(url) = &telemetry.prometheus else { return Ok(Vec::new()) };
    let (engine, own) = (server.router.targets().first(), settings.server.common.dialect.traits().metrics);
    let page = engine.page_elsewhere(url).map_err(Stop::usage)?;
    let reached = Prometheus::reach(&page, own, &engine.facts().model, &telemetry.prometheus_match);
    let prometheus = server.runtime.block_on(reached).map_err(|why| {
        let cure = "hint: give the address below which /api/v1/query is, with user:password@ where it needs a login";
        Stop::impossible(format!("--prometheus: {url}: {why}\n{cure}"))
    })?;
    let sampled = server.runtime.block_on(FoundPage::in_prometheus(prometheus));
    let sampled = sampled.map_err(|why| Stop::usage(format!("--prometheus: {url}: {why}")))?;
    if let Some(page) = found.iter().find(|page| is_of_engine(page))
        && sampled.iter().any(is_of_engine)
    {
        return Err(Stop::usage(format!(
            "--metrics-url: {} is the page of a server, as those of --prometheus are: requests would count twice\n\
             hint: leave one of the two out",
            page.source.url
        )));
    }
    let every = sampled.iter().filter_map(FoundPage::sampled_every).max().unwrap_or_default().as_secs_f64().round();
    let names: Vec<_> = sampled.iter().map(|page| page.source.url.as_str()).collect();
    printer.words(&format!("note: asked after the run, with a sample about every {every} s: {}", names.join(", ")));
    Ok(sampled)
}

/// Returns the GPUs of this machine, if they are to be read. They are where they are named, or where they may serve and
/// no page is about devices.
fn local(gpus: LocalGpus, server: &ServerConnection, found: &[FoundPage]) -> Result<Option<FoundPage>, Stop> {
    let is_about_devices = |page: &FoundPage| page.source.kind.is_none_or(PageKind::is_of_devices);
    // The mock uses none.
    let is_here = |facts: &EngineFacts| facts.is_on_this_machine() && facts.kind() != Some(EngineKind::Mock);
    let may_serve = || server.engines().any(is_here) && !found.iter().any(is_about_devices);
    match gpus {
        LocalGpus::Named => LocalDevices::nvidia(LocalChoice::All)
            .map(|devices| Some(FoundPage::local(devices)))
            .map_err(|why| Stop::usage(format!("--metrics-url {NVML}: {why}\n{ELSEWHERE}"))),
        LocalGpus::IfServing if may_serve() => {
            Ok(LocalDevices::nvidia(LocalChoice::Serving).ok().map(FoundPage::local))
        }
        LocalGpus::IfServing | LocalGpus::Unread => Ok(None),
    }
}

/// The hint where the GPUs of this machine cannot be read.
const ELSEWHERE: &str = "hint: leave it out, or give the page of an exporter on the server's machine, such as \
                         --metrics-url http://host:9400";

/// Why the page of a server is refused that would count for `all` of several.
pub(crate) fn of_one_server(page: &str, all: &str) -> Stop {
    Stop::usage(format!(
        "{page} is the metrics page of a server, and would count for {all}\n\
         hint: each server's own page is read without --metrics-url and --prometheus; only pages of GPUs can be added"
    ))
}

/// Stores each reading, and shows the latest state of the server to whoever watches.
pub(super) fn latest(keep: impl Fn(Reading), progress: Arc<Progress>, every: Duration) -> impl Fn(Reading) {
    let latest = RefCell::new(LatestReadings::every(every));
    move |reading| {
        progress.server_reported(latest.borrow_mut().with(&reading));
        keep(reading);
    }
}
