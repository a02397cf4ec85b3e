//! Advice on how the load was flown.

use super::{Finding, FindingKind, finding, percent, seconds};
use crate::analysis::{Metric, Quantile, Summary};
use crate::record::RunEnding;
use crate::units::{count, three_digits};

/// Requests that had to connect first, as a share.
const CONNECTION_BAR: f64 = 0.01;
/// Waiting for a slot for longer than this is waiting.
const QUEUE_BAR_MS: f64 = 1.0;

pub(super) fn ending(summary: &Summary) -> Option<Finding> {
    match summary.window.ending {
        Some(RunEnding::Interrupted) => Some(finding(
            FindingKind::Interrupted,
            format!(
                "the run was interrupted: {} requests were still running or had not left",
                count(summary.requests.censored + summary.requests.never_due)
            ),
            "let the run finish before its figures are used",
        )),
        None => Some(finding(
            FindingKind::CutOff,
            "the log has no last line: the run was cut off (a crash, a full disk), and what was in flight then \
             is missing"
                .to_owned(),
            "run again; what had finished is kept and shown",
        )),
        Some(RunEnding::Finished | RunEnding::DrainLimit) => None,
    }
}

pub(super) fn drain_limit(summary: &Summary) -> Option<Finding> {
    let cut = summary.requests.censored;
    if summary.window.ending != Some(RunEnding::DrainLimit) || cut == 0 {
        return None;
    }
    let sentence = format!(
        "the drain limit ended {} of {} requests; they are counted as misses, and their latency is known only to exceed it",
        count(cut),
        count(summary.requests.planned)
    );
    Some(finding(
        FindingKind::DrainLimit,
        sentence,
        "raise --drain, or lower the rate: the server could not keep up",
    ))
}

pub(super) fn cap_bound(summary: &Summary) -> Option<Finding> {
    let cap = summary.run.limits.max_concurrency?;
    let wait = summary.latency.row(Metric::QueueWait)?;
    if wait.max.at_least() <= QUEUE_BAR_MS {
        return None;
    }
    let sentence = format!(
        "the cap of {} requests in flight held requests back for up to {} (p50 {} ms); the bar is {} ms, and \
         the wait is part of every latency counted from the scheduled moment",
        count(cap),
        seconds(wait.max.at_least() / 1e3),
        three_digits(wait.percentile(Quantile::P50).figure.at_least()),
        three_digits(QUEUE_BAR_MS),
    );
    Some(finding(FindingKind::CapBound, sentence, "raise --max-concurrency or leave it out"))
}

pub(super) fn schedule_lag(summary: &Summary) -> Option<Finding> {
    let lag = summary.latency.row(Metric::ScheduleLag)?.percentile(Quantile::P99).figure.at_least();
    let latency = summary.latency.row(Metric::Ttft).or_else(|| summary.latency.row(Metric::E2e))?;
    let bar = (latency.percentile(Quantile::P50).figure.at_least() / 100.0).max(1.0);
    if lag <= bar {
        return None;
    }
    let sentence = format!(
        "requests left late: p99 schedule lag is {} ms; the bar is {} ms (1 ms, or 1 % of the median latency)",
        three_digits(lag),
        three_digits(bar)
    );
    Some(finding(
        FindingKind::ScheduleLag,
        sentence,
        "give this machine less other work, or fly the load from several machines",
    ))
}

pub(super) fn short_window(summary: &Summary) -> Option<Finding> {
    let slowest = summary.latency.row(Metric::E2e)?.max.at_least() / 1e3;
    let window = summary.window.length_s();
    if slowest <= window {
        return None;
    }
    let sentence = format!(
        "the slowest request took {}, longer than the window of {}",
        seconds(slowest),
        seconds(window)
    );
    Some(finding(
        FindingKind::ShortWindow,
        sentence,
        "run for several times as long as the slowest request takes",
    ))
}

pub(super) fn few_samples(summary: &Summary) -> Option<Finding> {
    let have = summary.latency.row(Metric::Ttft).or_else(|| summary.latency.row(Metric::E2e))?.n;
    let need = Quantile::P99.floor();
    if have >= need {
        return None;
    }
    let rate = summary.rates.offered_requests_per_s.filter(|&rate| rate > 0.0);
    let longer = rate.map_or(String::new(), |rate| {
        format!(", or about {} at this rate", seconds((need as f64 / rate).ceil()))
    });
    let sentence = format!("p99 rests on {} requests; it needs {}{longer}", count(have), count(need));
    Some(finding(
        FindingKind::FewSamples,
        sentence,
        "run longer or at a higher rate, or rely on p50 and p90 only",
    ))
}

pub(super) fn unmeasurable_slo(summary: &Summary) -> Option<Finding> {
    if summary.run.engine.streamed || summary.slo.over_ttft + summary.slo.over_tpot == 0 {
        return None;
    }
    Some(finding(
        FindingKind::UnmeasurableSlo,
        "the workload bounds TTFT or TPOT, which answers that are not streamed do not have; such requests count \
         as misses"
            .to_owned(),
        "stream the answers, or bound e2e only",
    ))
}

pub(super) fn no_slo(summary: &Summary) -> Option<Finding> {
    if summary.slo.declared || summary.slo.scheduled == 0 {
        return None;
    }
    Some(finding(
        FindingKind::NoSlo,
        "the workload declares no SLO: attainment and goodput count every completed request".to_owned(),
        "give its classes bounds, such as slo = { ttft_ms = 500 }",
    ))
}

pub(super) fn cold_connections(summary: &Summary) -> Option<Finding> {
    let opened = summary.requests.opened_connection;
    let share = opened as f64 / summary.requests.flown().max(1) as f64;
    if share <= CONNECTION_BAR {
        return None;
    }
    let sentence = format!(
        "{} requests ({}) had to open their own connection, which counts in their latency; the bar is {}",
        count(opened),
        percent(share),
        percent(CONNECTION_BAR)
    );
    Some(finding(FindingKind::ColdConnections, sentence, "check that the server keeps connections alive"))
}
