//! Advice on what the server reports, and on the connections to it.

use super::devices;
use super::row::{FindingRow, GONE, GREW, when};
use super::servers;
use crate::analysis::client::load::ClientLoad;
use crate::analysis::judgements::{FindingKind as Kind, Rule};
use crate::analysis::rules::Suppressor::{Advice, Reason, Smoke};
use crate::analysis::rules::{RuleFact, Suppressor, facts};
use crate::analysis::server::pages::WentBack;
use crate::analysis::server::settings::{in_words_of, keep_alive};
use crate::analysis::server::slowdown::{SLOWED, longest_slowdown};
use crate::analysis::summary::run::Summary;
use crate::record::{Counter, EngineKind, Gauge};
use crate::units::three_digits;

/// A key-value cache that is fuller than this has no room for another request's context.
const FULL: f64 = 0.95;
/// Largest share of the client's mean TTFT that may pass outside of the server. More than it, and than `OUTSIDE_BAR_MS`
/// milliseconds, is worth a look.
const OUTSIDE_BAR: f64 = 0.1;
const OUTSIDE_BAR_MS: f64 = 5.0;
/// Requests in the server beyond those that clients wait for, on average. Readings of a busy server lie beside the
/// moments of its requests.
const HELD_BAR: f64 = 1.0;
/// Share of those that clients wait for which is no more than that either.
const HELD_SHARE: f64 = 0.1;
/// Requests that had to connect first, as a share.
const CONNECTION_BAR: f64 = 0.01;
/// Engine to which this client opens a connection for each request by itself. Idle ones hold threads of this server.
const CLOSED_BY_CLIENT: EngineKind = EngineKind::Llamacpp;
/// Lateness of the client, which takes its own delay for that of the network.
const LATE: [Suppressor; 4] = [Reason(Rule::ScheduleLag), Reason(Rule::ClientStarved), Reason(Rule::HostStalls), Smoke];

pub(super) const RULES: &[FindingRow] = &[
    when(Kind::DeadServer, "server", &[], servers::dead).says("{}").cure(
        "look in its log, and whether it runs at all; the failures count, so the figures are those of a service that \
         sends requests to it",
    ),
    when(Kind::Profiled, "server", &[], |run| {
        let profile = run.profile.as_ref()?;
        let (from_s, to_s) = (profile.from.as_secs_f64(), profile.to.as_secs_f64());
        (from_s < run.window.end_s && to_s > run.window.start_s).then(|| facts![to_s, run.window.start_s])
    })
    .says(
        "the server was busy with its profile until {s}, and the window began at {s}: figures have the profiler's cost \
         in them",
    )
    .cure("take a longer --warmup, or a profile without a moment, which comes after the window"),
    when(Kind::SlowServer, "server", &[GONE, Smoke], servers::slow).says("{}; limit: {%}, and more than chance").cure(
        "compare what it runs on, its settings and its log with those of the others; then measure it by itself: \
         skyline ab --a URL --b URL",
    ),
    when(Kind::ColdConnections, "first-run", &[GREW, GONE, Smoke], |run| {
        let mut facts = over_bar(run, run.requests.reconnected)?;
        facts.extend(facts![keep_alive(&run.run.engine)]);
        Some(facts)
    })
    .says(
        "{request} ({%}) had to open a connection first, because the server closes them after answers; that counts in \
         the latency; limit: {%}",
    ),
    when(Kind::ColdConnections, "first-run", &[GREW, GONE, Smoke, Advice(Kind::ColdConnections)], |run| {
        let is_known = run.run.engine.kind() == Some(CLOSED_BY_CLIENT) || run.run.limits.connections_per_host.is_some();
        over_bar(run, run.requests.opened_connection).filter(|_| !is_known)
    })
    .says(
        "{request} ({%}) had to open a connection first, because none was ready: many came at once, or the last ones \
         were idle for over 4 s; that counts in the latency; limit: {%}",
    )
    .cure("nothing is wrong with the server; a longer warm-up at this load leaves more connections open"),
    when(Kind::ColdConnections, "server", &[GREW, GONE, Smoke, Advice(Kind::ColdConnections)], |run| {
        run.run.limits.connections_per_host.and_then(|_| over_bar(run, run.requests.opened_connection))
    })
    .says(
        "{request} ({%}) had to open a connection first, because those kept to each address were busy; that counts in \
         the latency; limit: {%}",
    )
    .cure("nothing is wrong with the server; raise --connections-per-host, or leave it out"),
    when(Kind::HeldForNobody, "workloads", &[], |run| {
        let held = run.leaving.filter(|found| found.left > 0)?.held_requests?;
        (held > HELD_BAR.max(HELD_SHARE * run.in_flight?.mean)).then(|| facts![held, HELD_BAR])
    })
    .says(
        "the server held {} more requests than clients waited for, on average (limit: {}): it goes on for nobody when \
         a client leaves, or others use it too",
    )
    .cure("let the server or the gateway before it stop a request when its client disconnects"),
    when(Kind::Throttled, "server", &[], |run| {
        let (words, cure) = longest_slowdown(run.server.as_ref()?)?;
        Some(facts![words, SLOWED, cure])
    })
    .says("{}; limit: {%} of the window"),
    when(Kind::BusyBefore, "server", &[], devices::busy_before)
        .says("device {} was busy {%} of the time before the first request was sent; limit: {%}")
        .cure(
            "stop what else uses the device (nvidia-smi shows its processes); an exporter that is slow to collect may \
             also report what was before (dcgm-exporter -c 1000 collects every second)",
        ),
    when(Kind::ServerRestarted, "server", &[], server_restarted)
        .says("a counter of {} {}; the server's own figures are lost"),
    when(Kind::CacheFull, "server", &[], |run| {
        let server = run.server.as_ref()?;
        let (usage, preemptions) = (server.gauge(Gauge::KvUsage)?.max, server.rise(Counter::Preemptions)?);
        let cure = "give the cache more memory (--gpu-memory-utilization), or let fewer requests in at a time \
            (max_num_seqs)";
        let cure = in_words_of(&run.run.engine, cure);
        (usage > FULL && preemptions > 0.0).then(|| facts![usage, preemptions.round(), FULL, cure])
    })
    .says("the KV cache was up to {%} full and {request} preempted, to be computed again later; limit: {%}"),
    // Milder: the limit is part of how the device is set up.
    when(Kind::PowerCapped, "server", &[], devices::power_capped)
        .says("device {} was held at its power limit in {%} of the window{}{}")
        .cure("keep the power limit the same where runs are compared; a higher one (nvidia-smi -pl) may be faster"),
    // Then either the energy or the money is not of what served.
    when(Kind::OtherDevices, "server", &[], |run| {
        let devices = run.server.as_ref()?.energy?.devices;
        let deployment = &run.run.deployment;
        let gpus = deployment.gpus.map(u64::from).filter(|gpus| *gpus != devices)?;
        let so = match deployment.gpu_watts {
            Some(_) => "what an answer or a token takes is by --watts",
            None => "what an answer or a token takes is not known",
        };
        Some(facts![devices, gpus.to_string(), so])
    })
    .says("the energy is of {device}, and --gpus is {}: {}")
    .cure("give --metrics-url for all devices that serve, and for no others, or correct --gpus"),
    when(Kind::VerboseLogging, "server", &[], devices::verbose_logging)
        .says("the server logs each request or more ({}): writing that takes time of its own")
        .cure("measure it with the logging that production has"),
    // No suspicion but a fact: whatever the proxy adds is in every latency.
    when(Kind::Proxy, "first-run", &[], |run| Some(facts![run.run.engine.proxy.as_deref()?]))
        .says("requests went through the HTTP proxy {}, which the environment names: every latency includes it")
        .cure("to measure the server alone, add its host to NO_PROXY"),
    when(Kind::OutsideServer, "server", &LATE, outside_server).says(
        "{} ms ({%}) of the mean TTFT lie outside of what the server counts, {} ms of the {} ms from sending; limit: \
         {%} and 5 ms",
    ),
    when(Kind::PageUnread, "server", &[GONE], |run| {
        let server = run.server.as_ref()?;
        let never = server.unread().map(|page| page.url.clone());
        let in_part = server.read_in_part().map(|(page, (from, until))| {
            format!("{} (not from {} to {} s)", page.url, three_digits(from), three_digits(until))
        });
        let unread: Vec<_> = never.chain(in_part).collect();
        (!unread.is_empty()).then(|| facts![unread.join(", ")])
    })
    .says("these pages could not be read, so their figures are missing: {}")
    .cure("check that they can be reached and that the server exports them, or leave them out"),
];

/// Number of requests with their share and its limit, where it is over that.
fn over_bar(run: &Summary, number: u64) -> Option<Vec<RuleFact>> {
    let share = number as f64 / run.requests.executed().max(1) as f64;
    (share > CONNECTION_BAR).then(|| facts![number, share, CONNECTION_BAR])
}

fn server_restarted(run: &Summary) -> Option<Vec<RuleFact>> {
    let pages = &run.server.as_ref()?.pages;
    let (page, back) = pages.iter().find_map(|page| Some((page, page.went_back?)))?;
    let (what, cure) = match back {
        WentBack::Once => (
            "went back inside the window: the server was restarted, or the address now leads to another one",
            "look in the server's log for the reason",
        ),
        WentBack::AndForth => (
            "went back and forth inside the window: the address leads to several servers, each with its own counters",
            if page.url.starts_with(&run.run.engine.url) {
                "give the page of each server with --metrics-url, and leave this one out with --no-metrics"
            } else {
                "give the page of each server with --metrics-url, in place of this one"
            },
        ),
    };
    Some(facts![page.url.as_str(), what, cure])
}

fn outside_server(run: &Summary) -> Option<Vec<RuleFact>> {
    let ttft = run.server.as_ref()?.accounts?.ttft?;
    // A client that comes late to its own sockets takes its own delay for that of the network.
    let (delivery, client) = (&run.delivery, run.client.as_ref());
    let reads_late =
        client.is_some_and(ClientLoad::reads_late) || (delivery.tpot_withheld && delivery.may_be_of_client(client));
    let far = ttft.outside_share > OUTSIDE_BAR && ttft.outside_ms > OUTSIDE_BAR_MS;
    // Attempts in vain, and the waits after them, lie outside of it by nature.
    let once = run.attempts.as_ref().is_none_or(|found| found.attempts <= found.requests);
    let cure = if delivery.tpot_withheld {
        "let events pass as they come: first tokens that are gathered with later ones are held back outside of that \
         count"
    } else if run.run.engine.is_on_this_machine() {
        "no network lies between: look at the server's own HTTP front end (it reads, tokenizes and sends outside of \
         that count), and at a router before it"
    } else {
        "run the client on the server's machine: what stays is the server's own HTTP front end (it reads, tokenizes \
         and sends outside of that count), what goes is the network or a proxy"
    };
    (far && once && ttft.same_requests && !reads_late)
        .then(|| facts![ttft.outside_ms, ttft.outside_share, ttft.server_ms, ttft.client_ms, OUTSIDE_BAR, cure])
}
