//! Advice on what the server reports.

use crate::analysis::client::load::ClientLoad;
use crate::analysis::rules::Said;
use crate::analysis::server::pages::WentBack;
use crate::analysis::server::settings::in_words_of;
use crate::analysis::summary::run::Summary;
use crate::record::{Counter, Gauge};
use crate::units::{counted, percent, three_digits};

/// A key-value cache that is fuller than this has no room for another request's context.
const FULL: f64 = 0.95;
/// More of the client's mean TTFT than this share, and than so many milliseconds, outside of the server is
/// worth a look.
const OUTSIDE_BAR: f64 = 0.1;
const OUTSIDE_BAR_MS: f64 = 5.0;

pub(super) fn page_unread(summary: &Summary) -> Option<Said> {
    let server = summary.server.as_ref()?;
    let never = server.unread().map(|page| page.url.clone());
    let in_part = server.read_in_part().map(|(page, (from, until))| {
        format!("{} (not from {} to {} s)", page.url, three_digits(from), three_digits(until))
    });
    let unread: Vec<_> = never.chain(in_part).collect();
    (!unread.is_empty()).then(|| {
        (
            format!("these pages could not be read, so their figures are missing: {}", unread.join(", ")),
            "check that they can be reached and that the server exports them, or leave them out".into(),
        )
    })
}

pub(super) fn server_restarted(summary: &Summary) -> Option<Said> {
    let pages = &summary.server.as_ref()?.pages;
    let (page, back) = pages.iter().find_map(|page| Some((page, page.went_back?)))?;
    let (what, cure) = match back {
        WentBack::Once => (
            "went back inside the window: the server was restarted, or the address now leads to another one",
            "look in the server's log for the reason",
        ),
        WentBack::AndForth => (
            "went back and forth inside the window: the address leads to several servers, each with its own counters",
            if page.url.starts_with(&summary.run.engine.url) {
                "give the page of each server with --metrics-url, and leave this one out with --no-metrics"
            } else {
                "give the page of each server with --metrics-url, in place of this one"
            },
        ),
    };
    let sentence = format!("a counter of {} {what}; the server's own figures are lost", page.url);
    Some((sentence, cure.into()))
}

/// No suspicion but a fact: whatever the proxy adds is in every latency.
pub(super) fn proxy(summary: &Summary) -> Option<Said> {
    let proxy = summary.run.engine.proxy.as_ref()?;
    let sentence = format!(
        "requests went through the HTTP proxy {proxy}, which the environment names: every latency includes it"
    );
    let cure = "to measure the server alone, add its host to NO_PROXY";
    Some((sentence, cure.into()))
}

pub(super) fn cache_full(summary: &Summary) -> Option<Said> {
    let server = summary.server.as_ref()?;
    let (usage, preemptions) = (server.gauge(Gauge::KvUsage)?, server.rise(Counter::Preemptions)?);
    (usage.max > FULL && preemptions > 0.0).then(|| {
        let sentence = format!(
            "the KV cache was up to {} full and {} preempted, to be computed again later; limit: {}",
            percent(usage.max),
            counted(preemptions.round() as u64, "request"),
            percent(FULL)
        );
        let cure = "give the cache more memory (--gpu-memory-utilization), or let fewer requests in at a time \
            (max_num_seqs)";
        (sentence, in_words_of(&summary.run.engine, cure))
    })
}

pub(super) fn outside_server(summary: &Summary) -> Option<Said> {
    let ttft = summary.server.as_ref()?.accounts?.ttft?;
    // A client that comes late to its own sockets takes its own delay for that of the network.
    let (delivery, client) = (&summary.delivery, summary.client.as_ref());
    let reads_late = client.is_some_and(ClientLoad::reads_late)
        || (delivery.tpot_withheld && delivery.may_be_of_client(client));
    let far = ttft.outside_share > OUTSIDE_BAR && ttft.outside_ms > OUTSIDE_BAR_MS;
    // Attempts in vain, and the waits after them, lie outside of it by nature.
    let once = summary.attempts.as_ref().is_none_or(|found| found.attempts <= found.requests);
    (far && once && ttft.same_requests && !reads_late).then(|| {
        let sentence = format!(
            "{} ms ({}) of the mean TTFT lie outside of what the server counts, {} ms of the {} ms from sending; \
             limit: {} and {OUTSIDE_BAR_MS} ms",
            three_digits(ttft.outside_ms),
            percent(ttft.outside_share),
            three_digits(ttft.server_ms),
            three_digits(ttft.client_ms),
            percent(OUTSIDE_BAR)
        );
        let cure = if delivery.tpot_withheld {
            "let events pass as they come: first tokens that are gathered with later ones are held back outside of \
             that count"
        } else if summary.run.engine.is_on_this_machine() {
            "no network lies between: look at the server's own HTTP front end (it reads, tokenizes and sends outside \
             of that count), and at a router before it"
        } else {
            "run the client on the server's machine: what stays is the server's own HTTP front end (it reads, \
             tokenizes and sends outside of that count), what goes is the network or a proxy"
        };
        (sentence, cure.into())
    })
}
