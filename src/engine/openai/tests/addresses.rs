//! A name with several addresses.

use std::net::IpAddr;

use tokio::sync::Semaphore;

use super::*;
use crate::engine::address::{ConnectionOptions, NameLookup};
use crate::engine::transport::HOSTS;

/// Two servers at one port of 127.0.0.1 and 127.0.0.2.
async fn replicas() -> ([Server; 2], u16) {
    let first = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = first.local_addr().unwrap().port();
    let second = TcpListener::bind(("127.0.0.2", port)).await.unwrap();
    ([first, second].map(|listener| serve_at(listener, Semaphore::MAX_PERMITS, vec![good(&["a"])])), port)
}

/// Says that a host has these addresses, 127.0.0.`last`.
pub(super) fn name(host: &str, last: &[u8]) {
    let addresses = last.iter().map(|last| IpAddr::from([127, 0, 0, *last])).collect();
    HOSTS.lock().unwrap().insert(host.to_owned(), addresses);
}

async fn connected(host: &str, port: u16, connections: ConnectionOptions) -> OpenAiEngine {
    let mut target = Target::new(format!("http://{host}:{port}").parse().unwrap(), EngineKind::Vllm);
    target.connections = connections;
    engine(target).await
}

fn asked(servers: &[Server; 2]) -> [usize; 2] {
    servers.each_ref().map(|server| server.seen.lock().unwrap().len())
}

/// The place of a request's address, and whether it opened a connection.
fn way(events: &[AnswerEvent]) -> (u16, bool) {
    match events {
        [AnswerEvent::Connected { address }, AnswerEvent::Sent { opened_connection, .. }, ..] => {
            (address.get(), *opened_connection)
        }
        other => panic!("{other:?}"),
    }
}

/// The places of the addresses that requests go to, one after the other. None of them opens a connection.
pub(super) async fn asked_in_turn(engine: &OpenAiEngine, count: usize) -> Vec<u16> {
    let mut places = Vec::new();
    for _ in 0..count {
        let (events, end) = ask(engine).await;
        let (place, opened) = way(&events);
        assert!(end.result.is_ok() && !opened, "{events:?}");
        places.push(place);
    }
    places
}

#[tokio::test]
async fn requests_take_turns_over_all_addresses_with_kept_connections_too() {
    let (servers, port) = replicas().await;
    // Nothing listens at the third.
    name("turns.test", &[1, 2, 3]);
    let engine = connected("turns.test", port, ConnectionOptions::default()).await;
    // Each has a page of metrics of its own, beside what was asked to get to know it.
    let pages = engine.metrics_pages();
    assert_eq!(pages.len(), 2);
    for (server, page) in servers.iter().zip(&pages) {
        assert_eq!(page.open().unwrap().read().await.as_deref(), Ok("{}"));
        let asked = server.asked.lock().unwrap();
        assert_eq!(asked.iter().filter(|get| get.starts_with("GET /metrics ")).count(), 1, "{}", page.url());
        assert!(asked.iter().all(|get| get.contains("\r\nhost: turns.test:")), "{asked:?}");
    }
    engine.warm_up(4).await;
    let mut ways = Vec::new();
    for _ in 0..12 {
        ways.push(way(&ask(&engine).await.0));
        tokio::time::sleep(Duration::from_millis(60)).await;
    }
    assert_eq!(asked(&servers), [6, 6]);
    assert!(ways.iter().all(|(_, opened)| !opened), "the warm-up opened some to each: {ways:?}");
    assert!(ways.windows(2).all(|two| two[0].0 != two[1].0), "{ways:?}");
    let missing = engine.missing_addresses().unwrap();
    assert!(missing.starts_with("no answer from 1 of 3 addresses of turns.test: ") && missing.contains("127.0.0.3"));
    let mut used = engine.addresses();
    used.sort();
    assert_eq!(used, [1, 2].map(|last| format!("127.0.0.{last}:{port}")));
}

#[tokio::test]
async fn an_address_that_stops_listening_gets_no_more_requests() {
    let ([first, second], port) = replicas().await;
    name("stops.test", &[1, 2]);
    let engine = connected("stops.test", port, ConnectionOptions::default()).await;
    // A port that is bound and not listened at, in place of the second.
    second.stop.abort();
    second.hang_up.notify_waiters();
    tokio::time::sleep(Duration::from_millis(60)).await;
    for turn in 0..6 {
        assert_eq!(ask(&engine).await.1.result, Ok(()), "{turn}");
    }
    assert_eq!(asked(&[first, second]), [6, 0]);
}

#[tokio::test]
async fn so_many_connections_are_kept_to_each_address_and_no_request_waits_for_one() {
    let (servers, port) = replicas().await;
    name("kept.test", &[1, 2]);
    let connections = ConnectionOptions { per_host: Some(2), ..ConnectionOptions::default() };
    let engine = connected("kept.test", port, connections).await;
    engine.warm_up(100).await;
    let together = futures::future::join_all((0..12).map(|_| ask(&engine))).await;
    assert!(together.iter().all(|(_, end)| end.result.is_ok()));
    let ways: Vec<_> = together.iter().map(|(events, _)| way(events)).collect();
    assert_eq!(ways.iter().filter(|(_, opened)| !opened).count(), 4, "{ways:?}");
    assert_eq!(asked(&servers), [6, 6]);
    tokio::time::sleep(Duration::from_millis(100)).await;
    // Beside these the client closes what it knows the server by.
    let closed = servers.each_ref().map(|server| server.closed.lock().unwrap().len());
    assert!(closed.iter().all(|closed| *closed >= 4), "four of six are closed: {closed:?}");
    let kept: Vec<_> = futures::future::join_all((0..4).map(|_| ask(&engine))).await;
    assert!(kept.iter().all(|(events, _)| !way(events).1), "two of each are ready");
}

#[tokio::test]
async fn replicas_that_come_and_go_are_found_by_looking_again() {
    let (servers, port) = replicas().await;
    name("each.test", &[1]);
    let connections = ConnectionOptions { lookup: NameLookup::Each, ..ConnectionOptions::default() };
    let engine = connected("each.test", port, connections).await;
    assert_eq!(way(&ask(&engine).await.0).0, 1);
    for (addresses, busy, idle) in [(&[1, 2][..], 1, None), (&[2], 1, Some(0))] {
        name("each.test", addresses);
        tokio::time::sleep(Duration::from_millis(2_200)).await;
        let before = asked(&servers);
        for _ in 0..4 {
            assert_eq!(ask(&engine).await.1.result, Ok(()));
        }
        let after = asked(&servers);
        assert!(after[busy] > before[busy], "{addresses:?}: {before:?} {after:?}");
        assert!(idle.is_none_or(|gone| after[gone] == before[gone]), "{addresses:?}: {before:?} {after:?}");
    }
}

#[tokio::test]
async fn replicas_behind_one_address_have_the_names_of_a_header() {
    let by = |name: &str| {
        let mut acts = good(&["a"]);
        acts[0] = send(&STREAM.replace("\r\n\r\n", &format!("\r\nx-served-by: {name}\r\n\r\n")));
        acts
    };
    let server = serve(vec![by("pod-b"), by("pod-a"), good(&["a"]), by("pod-b")]).await;
    let mut target = target(&server);
    target.marks.replica_header = Some("x-served-by".parse().unwrap());
    let engine = engine(target).await;
    assert_eq!(engine.missing_header().map(http::HeaderName::as_str), Some("x-served-by"), "nobody answered yet");
    let mut places = Vec::new();
    for _ in 0..4 {
        let (events, end) = ask(&engine).await;
        assert_eq!(end.result, Ok(()));
        places.push(events.iter().find_map(|event| match event {
            AnswerEvent::Connected { address } => Some(address.get()),
            _ => None,
        }));
    }
    assert_eq!(places, [Some(1), Some(2), None, Some(1)]);
    assert_eq!(engine.addresses(), ["pod-b", "pod-a"]);
    assert!(engine.missing_header().is_none());
    assert_eq!(engine.facts().replica_header.as_deref(), Some("x-served-by"));
}
