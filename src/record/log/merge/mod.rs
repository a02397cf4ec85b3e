//! Joins the logs of shards into the log of the one run that they were.
//!
//! Every moment in a log counts from its own run's zero. The merged run's zero is that of the shard that began
//! first; what the others saw is put later by as much as they began later, by their wall clocks. Shards that were
//! given the same moment to start at have the same zero, and are together as exact as their machines' clocks agree.
//! No latency depends on that: each was taken on one machine's monotonic clock.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::num::NonZeroU16;
use std::time::Duration;

use super::records::Records;
use super::runlog::RunLog;
use super::shard_difference::{NamedLog, problems};
use crate::record::request::record::RequestRecord;
use crate::record::request::turn::SessionCounts;
use crate::record::run::client::{ClientFacts, Delays, HostStall, StreamReads};
use crate::record::run::clock::skew;
use crate::record::run::header::{PlanFacts, RunEnding, RunFooter, RunHeader};
use crate::record::telemetry::{Reading, Telemetry, TelemetrySource};
use crate::units::spoken;

/// Farthest apart that the shards of one run may start. It is a share of the window: for that part of it only some of
/// them made load. Synchronised clocks agree far better.
const APART: f64 = 0.01;
/// Upper bound of that, however long the window is.
const FARTHEST: Duration = Duration::from_secs(1);

/// Returns how far apart the shards of a plan may start.
pub(crate) fn farthest_apart(plan: &PlanFacts) -> Duration {
    plan.window_end.since(plan.window_start).mul_f64(APART).min(FARTHEST)
}

/// The run that the shards form.
#[derive(Clone, Debug, PartialEq)]
pub struct MergedRun {
    /// Its log; records in order of their ends.
    pub log: RunLog,
    /// How far apart the shards started, by their wall clocks.
    pub apart: Duration,
}

/// Joins the shards of one plan into one run.
///
/// # Errors
///
/// Why they cannot be joined, and what helps.
pub fn merge(parts: Vec<NamedLog>) -> Result<MergedRun, String> {
    let Some(first) = parts.first() else { return Err("no runs are given to merge".to_owned()) };
    let problems = problems(&parts);
    if !problems.is_empty() {
        return Err(problems.join("\nerror: "));
    }
    let start = parts.iter().map(|part| part.log.header.started_at).min().unwrap_or_default();
    let late = |part: &NamedLog| part.log.header.started_at.duration_since(start).try_into().unwrap_or_default();
    let lates: Vec<Duration> = parts.iter().map(late).collect();
    let apart = lates.iter().copied().max().unwrap_or_default();
    let limit = farthest_apart(&first.log.header.plan);
    if apart > limit
        && let Some(last) = lates.iter().position(|late| *late == apart)
    {
        let name = &parts[last].name;
        return Err(format!(
            "{name} began {} after the first of the shards, so they did not load the server together (the limit is \
             {}: {} % of the window, {} at most)\nhint: run them again with the same --start-at",
            spoken(apart),
            spoken(limit),
            100.0 * APART,
            spoken(FARTHEST)
        ));
    }
    let shards = parts.iter().filter_map(|part| part.log.header.shard);
    let delays: BTreeMap<u64, u64> =
        shards.zip(&lates).map(|(shard, late)| (shard.number, late.as_nanos() as u64)).collect();
    let logs = parts.into_iter().zip(&lates).map(|(part, by)| later(part.log, *by)).collect();
    let mut log = join(logs, &lates);
    log.header.shard_delays_ns = delays.into_values().collect();
    Ok(MergedRun { log, apart })
}

/// Returns the log on a clock whose zero is `by` earlier, but for its records.
fn later(mut log: RunLog, by: Duration) -> RunLog {
    if by.is_zero() {
        return log;
    }
    for reading in &mut log.telemetry.readings {
        reading.asked = reading.asked.after(by);
        reading.answered = reading.answered.after(by);
    }
    for moment in log.checks.iter_mut().filter_map(|check| check.released.as_mut()) {
        *moment = moment.after(by);
    }
    if let Some(footer) = &mut log.footer {
        footer.ended = footer.ended.after(by);
        for stall in footer.client.iter_mut().flat_map(|client| &mut client.host_stalls) {
            stall.from = stall.from.after(by);
        }
    }
    log
}

fn join(logs: Vec<RunLog>, lates: &[Duration]) -> RunLog {
    let header = header(&logs);
    let footers = logs.iter().filter_map(|log| log.footer.as_ref());
    let clients = logs.iter().map(|log| log.footer.as_ref()?.client.clone().map(|client| of_shard(log, client)));
    let clients = clients.collect::<Option<Vec<_>>>();
    let cut = footers.clone().any(|footer| footer.ending == RunEnding::DrainLimit);
    let footer = RunFooter {
        released_until: header.plan.window_end,
        ended: footers.clone().map(|footer| footer.ended).max().unwrap_or_default(),
        ending: if cut { RunEnding::DrainLimit } else { RunEnding::Finished },
        breaker: None,
        present_ns: footers.clone().map(|footer| footer.present_ns).sum(),
        sessions: sessions(footers.clone()),
        client: clients.map(|clients| client(&clients)),
        // Each would have counted the requests of all shards.
        server: None,
        addresses: addresses(footers.clone()),
        profile: footers.clone().find_map(|footer| footer.profile.clone()),
    };
    // Each shard has its own order of addresses.
    let footers: Vec<_> = logs.iter().map(|log| log.footer.clone().unwrap_or_default()).collect();
    let joined = |part: usize, record: &mut RequestRecord| {
        let own = footers[part].address_of(record);
        let all = footer.addresses.get(usize::from(record.target));
        let place = own.zip(all).and_then(|(own, all)| all.iter().position(|address| address == own));
        record.address = place.and_then(|place| NonZeroU16::new(place as u16 + 1));
    };
    let (mut records, mut checks) = (Vec::new(), Vec::new());
    let telemetry = telemetry(&header, &logs);
    for (log, late) in logs.into_iter().zip(lates) {
        records.push((log.records, *late));
        checks.extend(log.checks);
    }
    let records = Records::join(records, joined);
    checks.sort_by_key(|check| check.released);
    RunLog { records, checks, telemetry, footer: Some(footer), ..RunLog::begun(header) }
}

/// The addresses of each server that any shard sent requests to.
fn addresses<'a>(footers: impl Iterator<Item = &'a RunFooter>) -> Vec<Vec<String>> {
    let mut all: Vec<Vec<String>> = Vec::new();
    for (server, address) in footers.flat_map(|footer| footer.addresses.iter().enumerate()).flat_map(each_of) {
        all.resize_with(all.len().max(server + 1), Vec::new);
        if !all[server].contains(address) {
            all[server].push(address.clone());
        }
    }
    all
}

fn each_of((server, addresses): (usize, &Vec<String>)) -> impl Iterator<Item = (usize, &String)> {
    addresses.iter().map(move |address| (server, address))
}

/// Returns every metrics page, as the first shard that read it saw it. They are numbered as in the merged header.
/// Samples of a generator's own process stay with its shard.
fn telemetry(joined: &RunHeader, logs: &[RunLog]) -> Telemetry {
    let of_page = |(place, page): (usize, &TelemetrySource)| {
        let seen_in = |log: &RunLog| {
            let known = |source: &TelemetrySource| source.url == page.url && source.kind == page.kind;
            log.header.telemetry.iter().position(known)
        };
        let (log, own) = logs.iter().find_map(|log| Some((log, seen_in(log)?)))?;
        let of_it = log.telemetry.readings.iter().filter(move |reading| usize::from(reading.source) == own);
        Some(of_it.map(move |reading| Reading { source: place as u16, ..reading.clone() }))
    };
    let mut readings: Vec<Reading> = joined.telemetry.iter().enumerate().filter_map(of_page).flatten().collect();
    readings.sort_by_key(|reading| reading.answered);
    Telemetry { readings, client: Vec::new() }
}

/// Returns the header of the shard that started first, with joined facts. These are the sums of counts and concurrency
/// caps, every objective, and the worst stamps and calibration.
fn header(logs: &[RunLog]) -> RunHeader {
    let headers = logs.iter().map(|log| &log.header);
    let mut joined = headers
        .clone()
        .min_by_key(|header| header.started_at)
        .cloned()
        .unwrap_or_else(|| unreachable!("no shards are refused before"));
    // Shards of an older schema are written again with the newest keys.
    joined.schema = RunHeader::SCHEMA;
    joined.shard = None;
    joined.plan.warmup_requests = headers.clone().map(|header| header.plan.warmup_requests).sum();
    let warming = headers.clone().filter_map(|header| header.warming_requests).sum();
    joined.warming_requests = Some(warming).filter(|requests| *requests > 0);
    joined.plan.measured_requests = headers.clone().map(|header| header.plan.measured_requests).sum();
    joined.clock_offsets.clear();
    let skew = skew(&headers.clone().map(|header| &*header.clock_offsets));
    joined.shard_skew_ns = skew.filter(|_| logs.len() > 1).map(|skew| skew.as_nanos() as u64);
    joined.limits = joined.limits.with_caps_of(headers.clone().map(|header| &header.limits));
    joined.calibration = headers
        .clone()
        .filter_map(|header| header.calibration)
        .max_by_key(|calibration| calibration.stamp_delay.p99_ns);
    // Its finding is about all latencies, even where it was before one generator alone.
    for (place, engine) in joined.engines.iter_mut().enumerate() {
        engine.proxy = headers.clone().find_map(|header| header.engines.get(place)?.proxy.clone());
    }
    joined.telemetry.clear();
    for page in headers.clone().flat_map(|header| &header.telemetry) {
        // Another shard may have been able to read the page.
        match joined.telemetry.iter_mut().find(|known| known.url == page.url) {
            Some(known) if known.kind.is_none() => *known = page.clone(),
            Some(_) => {}
            None => joined.telemetry.push(page.clone()),
        }
    }
    for objective in headers.clone().flat_map(|header| &header.objectives) {
        if !joined.objectives.contains(objective) {
            joined.objectives.push(objective.clone());
        }
    }
    joined.stamps = headers.map(|header| header.stamps).min().unwrap_or_default();
    joined
}

/// Totals over all sessions, each of which is in one shard.
fn sessions<'a>(footers: impl Iterator<Item = &'a RunFooter>) -> Option<SessionCounts> {
    footers.filter_map(|footer| footer.sessions).reduce(|mut all, of_shard| {
        all += of_shard;
        all
    })
}

/// The client facts of one shard, its host stalls marked as its own.
fn of_shard(log: &RunLog, mut client: ClientFacts) -> ClientFacts {
    for stall in &mut client.host_stalls {
        stall.shard = log.header.shard;
    }
    client
}

/// Returns the client facts of all generators. CPU time, memory and stalls are of all; delays and loop time of the
/// worst.
fn client(all: &[ClientFacts]) -> ClientFacts {
    let worst = |delays: fn(&ClientFacts) -> Option<Delays>| all.iter().filter_map(delays).reduce(Delays::joined);
    let mut host_stalls: Vec<HostStall> = all.iter().flat_map(|client| client.host_stalls.clone()).collect();
    host_stalls.sort_by_key(|stall| (stall.from, stall.shard));
    ClientFacts {
        cpu_ns: all.iter().map(|client| client.cpu_ns).sum(),
        readers: None,
        loop_cpu_ns: all.iter().map(|client| client.loop_cpu_ns).max().unwrap_or_default(),
        loop_delay: worst(|client| client.loop_delay),
        read_delay: worst(|client| client.read_delay),
        stream_reads: all.iter().filter_map(|client| client.stream_reads).reduce(StreamReads::joined),
        host_stalls,
        slept_ns: all.iter().filter_map(|client| client.slept_ns).max(),
        peak_memory_bytes: all.iter().map(|client| client.peak_memory_bytes).sum(),
        priority_lost: all.iter().any(|client| client.priority_lost),
    }
}
