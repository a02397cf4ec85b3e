//! Shares of several servers, or of the addresses of one name, in the requests.

use serde::Serialize;

use super::fairness::index;
use super::part::{Part, server_of};
use super::slower::{SlowerBy, slower};
use crate::analysis::requests::{Measured, Observed};
use crate::analysis::server::reported::ServerSide;
use crate::record::{Outcome, PartKind, RequestRecord, Routing};

/// Several servers, or the addresses of one, and what each got and did.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ServerGroup {
    /// Whether they are `server` or `address`.
    pub kind: PartKind,
    /// Route and weights of the requests. Left out where no one of this side shared them out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub routing: Option<Routing>,
    /// Jain's fairness index of what each got. That is its requests ÷ the share that was meant for it. 1 is as
    /// meant, 1 ÷ their number is one that got all. Absent without a request.
    pub evenness: Option<f64>,
    /// Servers or addresses, in their order.
    pub each: Vec<ServerShare>,
}

/// The share of one of several servers, and how it compares with the others.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ServerShare {
    /// Address of the server; of several ranks behind one, with their number.
    pub name: String,
    /// Requests of the server as a share of all, between 0 and 1.
    pub share: Option<f64>,
    /// The share that was meant for it; absent where nothing says it.
    pub meant: Option<f64>,
    /// Share of prompt tokens that its cache gave back. It is by the usage of answers, else by the page of its metrics.
    /// Absent where neither reports it.
    pub cache_hit_rate: Option<f64>,
    /// Message of its first failure; left out where none of its requests failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Latencies that are longer than the others' by more than chance. The surest comes first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slower: Vec<SlowerBy>,
}

impl ServerGroup {
    /// The servers of a run, else the addresses of one. Absent where there is one.
    pub(crate) fn new(observed: &Observed<'_>, parts: &[Part], reported: Option<&ServerSide>) -> Option<Self> {
        let of = |kind| parts.iter().filter(move |part: &&Part| part.kind == kind);
        let kind = [PartKind::Server, PartKind::Address].into_iter().find(|kind| of(*kind).count() > 1)?;
        let (header, count) = (&observed.log.header, of(kind).count());
        let routing = header.routing.clone().filter(|_| kind == PartKind::Server);
        let all: u64 = of(kind).map(|part| part.requests).sum();
        let share = |part: &Part| (all > 0).then(|| part.requests as f64 / all as f64);
        // In a closed loop a server decides by its speed how many requests it gets.
        let is_open = header.workload.arrival.users().is_none();
        let meant = |place| routing.as_ref().filter(|_| is_open).and_then(|routing| routing.share_of(place, count));
        let got = of(kind).enumerate().map(|(place, part)| Some(share(part)? / meant(place).unwrap_or(1.0)));
        let evenness = index(got);
        let names: Vec<_> = of(kind).map(|part| part.name.as_str()).collect();
        let mut slower = slower(observed, count, |record| place_of(observed, kind, &names, record)).into_iter();
        let each = of(kind).enumerate().map(|(place, part)| ServerShare {
            name: part.name.clone(),
            share: share(part),
            meant: meant(place),
            cache_hit_rate: hit_rate(observed, kind, &names, place).or_else(|| {
                let mut pages = reported?.pages.iter();
                pages.find(|page| page.is_of(&part.name))?.cache_hit_rate
            }),
            failure: failure(observed, |record| place_of(observed, kind, &names, record) == Some(place)),
            slower: slower.next().unwrap_or_default(),
        });
        Some(Self { kind, evenness, each: each.collect(), routing })
    }
}

/// Returns the place of a request's server among those of these names.
fn place_of(observed: &Observed<'_>, kind: PartKind, names: &[&str], record: &RequestRecord) -> Option<usize> {
    if kind == PartKind::Server {
        return server_of(record);
    }
    let address = observed.log.footer.as_ref()?.address_of(record)?;
    names.iter().position(|name| *name == address)
}

/// Message of the first failure among the requests that are wanted.
fn failure(observed: &Observed<'_>, is_wanted: impl Fn(&RequestRecord) -> bool) -> Option<String> {
    observed.requests.iter().find_map(|request| match &request.record().outcome {
        Outcome::Failed(failure) if is_wanted(&request.record()) => Some(failure.message.clone()),
        _ => None,
    })
}

/// Share of prompt tokens that the cache of a server gave back. An answer without the field had none of them from it,
/// where other answers of the run have the field.
fn hit_rate(observed: &Observed<'_>, kind: PartKind, names: &[&str], place: usize) -> Option<f64> {
    let (mut cached, mut all, mut is_reported) = (0, 0, false);
    for record in observed.requests.iter().map(Measured::record) {
        is_reported |= record.usage.is_some_and(|usage| usage.cached().is_some());
        let Some(usage) = record.usage.filter(|_| place_of(observed, kind, names, &record) == Some(place)) else {
            continue;
        };
        cached += usage.cached().unwrap_or_default();
        all += usage.prompt().unwrap_or_default();
    }
    (is_reported && all > 0).then(|| cached as f64 / all as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::judgements::FindingKind;
    use crate::analysis::summarise::summarise;
    use crate::analysis::summary::run::Summary;
    use crate::analysis::test_runs::{record, run};
    use crate::random::RandomStream;
    use crate::record::{EngineFacts, Failure, FailureKind, Route, RunLog};

    /// Makes a run of two servers that take turns, 20 requests a second. The second takes `extra` ms longer.
    fn two(extra: u64, fails: impl Fn(u64) -> bool) -> RunLog {
        let mut stream = RandomStream::named(1, "two");
        let records = (0..400).map(|i| {
            let (at, target) = (i * 50, (i % 2) as u16);
            let wait = 100 + stream.below(20) + extra * u64::from(target);
            let begun = record(i).sent_at(at, at, at);
            let ended = if fails(i) {
                begun.failed(at + 1, Failure::new(FailureKind::Connect, "refused"))
            } else {
                begun.paced(at + wait, 10, 5).usage(100, 5)
            };
            let mut record = ended.build();
            record.target = target;
            record
        });
        let mut log = run(20_000, records.collect());
        let engine = log.header.engines[0].clone();
        log.header.engines =
            ["http://a:1", "http://b:2"].map(|url| EngineFacts { url: url.to_owned(), ..engine.clone() }).to_vec();
        log.header.routing = Some(Routing::default());
        log
    }

    fn advice(summary: &Summary, kind: FindingKind) -> Option<&str> {
        summary.findings.iter().find(|finding| finding.kind == kind).map(|finding| finding.sentence.as_str())
    }

    #[test]
    fn the_slow_server_is_named_by_its_address() {
        let summary = summarise(&two(30, |_| false), &[]);
        let group = summary.servers.as_ref().unwrap();
        assert_eq!((group.kind, group.evenness), (PartKind::Server, Some(1.0)));
        let [a, b] = &group.each[..] else { panic!("{group:?}") };
        assert_eq!((a.share, a.meant, a.slower.len()), (Some(0.5), Some(0.5), 0));
        let ttft = &b.slower[0];
        assert_eq!(ttft.metric, crate::analysis::figures::Metric::Ttft);
        assert!(ttft.by_ms.low < 30.0 && 30.0 < ttft.by_ms.high && ttft.by_ms.low > 25.0, "{ttft:?}");
        let said = advice(&summary, FindingKind::SlowServer).unwrap();
        assert!(said.starts_with("http://b:2 is slower than the other") && !said.contains("http://a:1"), "{said}");
        assert_eq!(advice(&summary, FindingKind::DeadServer), None);
        let equal = summarise(&two(0, |_| false), &[]);
        assert_eq!(advice(&equal, FindingKind::SlowServer), None);
    }

    #[test]
    fn requests_of_another_kind_make_no_server_slow() {
        let mut log = two(0, |_| false);
        // Long prompts take longer, and the second server has more of them.
        let is_long = |record: &&mut RequestRecord| record.index.is_multiple_of(8) || record.target == 1;
        for record in log.records.iter_mut().filter(is_long) {
            let at = record.index * 50;
            let slow = crate::analysis::test_runs::record(0).sent_at(at, at, at).paced(at + 400, 10, 5).build();
            (record.input_tokens_asked, record.usage) = (20_000, None);
            (record.chunks, record.ended) = (slow.chunks, slow.ended);
        }
        let summary = summarise(&log, &[]);
        assert_eq!(advice(&summary, FindingKind::SlowServer), None, "{:?}", summary.servers);
    }

    #[test]
    fn what_never_left_is_of_no_server() {
        let mut log = two(0, |_| false);
        // Under a cap 200 more waited for a slot until the run ended.
        for i in 400..600 {
            let mut waits = record(i).sent_at(i * 50, i * 50, i * 50).censored(40_000).build();
            waits.sent = None;
            log.records.push(waits);
        }
        log.header.plan.measured_requests += 200;
        let summary = summarise(&log, &[]);
        let group = summary.servers.as_ref().unwrap();
        assert_eq!(group.each.iter().map(|of| of.share).collect::<Vec<_>>(), [Some(0.5); 2]);
        assert_eq!(group.evenness, Some(1.0));
        assert_eq!(summary.parts_of(PartKind::Server).iter().map(|part| part.requests).sum::<u64>(), 400);
    }

    #[test]
    fn a_dead_server_is_named() {
        let summary = summarise(&two(0, |i| i % 2 == 0), &[]);
        let said = advice(&summary, FindingKind::DeadServer).unwrap();
        assert!(
            said.starts_with("http://a:1 completed none of its 200 requests") && said.contains("refused"),
            "{said}"
        );
        assert!(!said.contains("http://b:2"), "{said}");
        assert_eq!(advice(&summarise(&two(0, |_| true), &[]), FindingKind::DeadServer), None, "all of them are");
        assert_eq!(advice(&summarise(&two(0, |i| i == 0), &[]), FindingKind::DeadServer), None);
    }

    #[test]
    fn what_each_got_is_held_to_its_weight() {
        let mut log = two(0, |_| false);
        log.header.routing = Some(Routing { route: Route::RoundRobin, weights: vec![3, 1] });
        let group = summarise(&log, &[]).servers.unwrap();
        assert_eq!(group.each.iter().map(|of| of.meant).collect::<Vec<_>>(), [Some(0.75), Some(0.25)]);
        // x = (2/3, 2): (8/3)² ÷ (2 × 40/9).
        assert!((group.evenness.unwrap() - 0.8).abs() < 1e-12);
        log.header.engines[1].url = "http://a:1".to_owned();
        log.header.routing = Some(Routing { route: Route::Least, weights: Vec::new() });
        let group = summarise(&log, &[]).servers.unwrap();
        assert_eq!(
            group.each.iter().map(|of| of.name.as_str()).collect::<Vec<_>>(),
            ["http://a:1 (1)", "http://a:1 (2)"]
        );
        assert_eq!((group.each[0].meant, group.evenness), (None, Some(1.0)));
        log.header.engines.truncate(1);
        log.records.iter_mut().for_each(|record| record.target = 0);
        assert_eq!(summarise(&log, &[]).servers, None);
    }
}
