//! Which connection a stream goes to.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use h2::Reason;

use super::super::addresses::{asked_in_turn, name};
use super::super::*;
use super::server::*;
use crate::engine::address::NameLookup;

#[tokio::test]
async fn requests_share_connections_as_far_as_they_may() {
    // The client's limit, then the server's.
    for (streams, most, connections) in [(100, 4, 3), (4, 100, 3), (100, 100, 1)] {
        let server = serve2(streams, vec![[vec![Step::Pause], good2(&["a"])].concat()]).await;
        let engine = engine2(&server, most).await;
        engine.warm_up(12).await;
        let together = futures::future::join_all((0..12).map(|_| ask(&engine))).await;
        assert!(together.iter().all(|(_, end)| end.result.is_ok()), "{together:?}");
        let mut used = used(&server);
        used.sort_unstable();
        used.dedup();
        assert_eq!(used.len(), connections, "{streams} and {most}");
        let opened = |(events, _): &(Vec<AnswerEvent>, AnswerEnd)| {
            matches!(events[0], AnswerEvent::Sent { opened_connection: true, .. })
        };
        assert!(streams < 100 || !together.iter().any(opened), "they were opened ahead");
    }
}

#[tokio::test]
async fn as_many_connections_as_are_wished_share_the_requests_evenly() {
    let server = serve2(100, vec![[vec![Step::Pause], good2(&["a"])].concat()]).await;
    let mut target = target2(&server.url, 100);
    target.connections.per_host = Some(3);
    let engine = engine(target).await;
    engine.warm_up(1).await;
    let together = futures::future::join_all((0..12).map(|_| ask(&engine))).await;
    assert!(together.iter().all(|(_, end)| end.result.is_ok()));
    let mut used = used(&server);
    used.sort_unstable();
    assert_eq!(used.chunk_by(|a, b| a == b).map(<[usize]>::len).collect::<Vec<_>>(), [4, 4, 4]);
}

#[tokio::test]
async fn a_request_that_the_server_did_not_look_at_is_sent_again_once() {
    let refused = vec![Step::Reset(Reason::REFUSED_STREAM)];
    let server = serve2(100, vec![refused.clone(), good2(&["a"]), refused.clone(), refused]).await;
    let engine = engine2(&server, 100).await;
    let (events, end) = ask(&engine).await;
    assert_eq!(end.result, Ok(()));
    let said = |event| events.contains(event);
    assert!(!said(&AnswerEvent::Reconnects) && !said(&AnswerEvent::Resent), "no connection was lost: {events:?}");
    for _ in 0..4 {
        let again = ask(&engine).await.1.result.unwrap_err();
        assert!(again.message.contains("REFUSED_STREAM"), "{again}");
    }
    let used = used(&server);
    assert!(used.len() == 10 && used.iter().all(|one| *one == used[0]), "none is opened for it: {used:?}");
}

#[tokio::test]
async fn a_refused_request_goes_to_another_connection_with_room() {
    let server = serve2(100, vec![vec![Step::Reset(Reason::REFUSED_STREAM)], good2(&["a"])]).await;
    let mut target = target2(&server.url, 100);
    target.connections.per_host = Some(2);
    let engine = engine(target).await;
    engine.warm_up(1).await;
    let (events, end) = ask(&engine).await;
    assert_eq!(end.result, Ok(()));
    let opened = |event: &AnswerEvent| matches!(event, AnswerEvent::Sent { opened_connection: true, .. });
    let used = used(&server);
    assert!(used[0] != used[1] && !events.iter().any(opened), "{used:?}: {events:?}");
}

/// A door before a server, which lets some connections through.
struct Door {
    url: String,
    come: Arc<AtomicUsize>,
    through: Arc<AtomicUsize>,
}

impl Door {
    /// A door that is open. Once it is not, connections wait for ever, or are closed.
    async fn before(server: &Server2, closes: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let to = server.url.strip_prefix("http://").unwrap().to_owned();
        let (come, through) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(usize::MAX)));
        let door = Self { url, come: Arc::clone(&come), through: Arc::clone(&through) };
        tokio::spawn(async move {
            let mut waiting = Vec::new();
            loop {
                let (mut socket, _) = listener.accept().await.unwrap();
                if come.fetch_add(1, Relaxed) < through.load(Relaxed) {
                    let mut to = tokio::net::TcpStream::connect(&to).await.unwrap();
                    tokio::spawn(async move { tokio::io::copy_bidirectional(&mut socket, &mut to).await });
                } else if !closes {
                    waiting.push(socket);
                }
            }
        });
        door
    }

    /// An engine of two connections, of which only one comes through.
    async fn engine(&self) -> OpenAiEngine {
        let mut target = target2(&self.url, 2);
        target.connections.per_host = Some(2);
        let engine = engine(target).await;
        self.through.store(self.come.load(Relaxed) + 1, Relaxed);
        let _ = tokio::time::timeout(Duration::from_millis(100), engine.warm_up(1)).await;
        engine
    }
}

#[tokio::test]
async fn no_request_waits_for_a_connection_while_an_open_one_has_room() {
    let server = serve2(100, vec![good2(&["a"])]).await;
    let engine = Door::before(&server, false).await.engine().await;
    let together = futures::future::join_all((0..2).map(|_| ask(&engine)));
    let together = tokio::time::timeout(Duration::from_secs(5), together).await.expect("the second is never open");
    assert!(together.iter().all(|(_, end)| end.result.is_ok()), "{together:?}");
}

#[tokio::test]
async fn a_server_that_refuses_another_connection_is_not_asked_for_it_with_every_request() {
    let server = serve2(100, vec![good2(&["a"])]).await;
    let door = Door::before(&server, true).await;
    let engine = door.engine().await;
    for _ in 0..20 {
        let full = futures::future::join_all((0..2).map(|_| ask(&engine))).await;
        assert!(full.iter().all(|(_, end)| end.result.is_ok()), "{full:?}");
        // The time of a refusal.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let refused = door.come.load(Relaxed) - door.through.load(Relaxed);
    assert_eq!(refused, 1, "it was asked once");
}

#[tokio::test]
async fn a_connection_that_another_address_closes_is_not_missed() {
    let first = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = first.local_addr().unwrap().port();
    let second = TcpListener::bind(("127.0.0.2", port)).await.unwrap();
    let long = [vec![Step::Pause; 60], good2(&["a"])].concat();
    let leaves = [vec![Step::GoAway, Step::Pause], good2(&["b"])].concat();
    // Turns were taken to get to know the server: the next is that of the first address.
    let servers = [(first, [long, good2(&["a"])]), (second, [leaves, good2(&["b"])])];
    let servers = servers.map(|(listener, scripts)| serve2_at(listener, 100, scripts.to_vec()));
    name("left.test", &[1, 2]);
    let engine = engine(target2(&format!("http://left.test:{port}"), 1)).await;
    engine.warm_up(2).await;
    let later = async {
        let left = ask(&engine).await;
        // The next connections to both are opened ahead.
        tokio::time::sleep(Duration::from_millis(200)).await;
        [vec![left], futures::future::join_all((0..3).map(|_| ask(&engine))).await].concat()
    };
    let (long, later) = tokio::join!(ask(&engine), later);
    assert_eq!(servers.each_ref().map(|server| used(server).len()), [3, 2]);
    let all = [vec![long], later].concat();
    let opened = |event: &AnswerEvent| matches!(event, AnswerEvent::Sent { opened_connection: true, .. });
    // The last has no connection ready to its own address, which has closed none.
    assert!(all[4].0.iter().any(opened), "{all:?}");
    assert!(!all.iter().any(|(events, _)| events.contains(&AnswerEvent::Reconnects)), "{all:?}");
}

#[tokio::test]
async fn a_connection_over_which_nothing_comes_any_more_gets_no_more_requests() {
    let server = serve2(100, vec![vec![Step::Freeze, Step::Pause], good2(&["a"])]).await;
    let engine = engine2(&server, 100).await;
    give_up(&engine).await;
    for _ in 0..3 {
        assert_eq!(ask(&engine).await.1.result, Ok(()));
    }
    let used = used(&server);
    assert!(used[1] != used[0] && used[2..] == [used[1]; 2], "{used:?}");
}

#[tokio::test]
async fn a_server_that_is_only_slow_keeps_its_connection() {
    let server = serve2(100, vec![vec![Step::Pause; 50], vec![Step::Pause; 50], good2(&["a"])]).await;
    let engine = engine2(&server, 100).await;
    give_up(&engine).await;
    give_up(&engine).await;
    assert_eq!(ask(&engine).await.1.result, Ok(()));
    assert_eq!(used(&server), [used(&server)[0]; 3]);
}

#[tokio::test]
async fn streams_take_turns_over_all_addresses_of_a_name_and_follow_its_changes() {
    let first = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = first.local_addr().unwrap().port();
    let second = TcpListener::bind(("127.0.0.2", port)).await.unwrap();
    let servers = [first, second].map(|listener| serve2_at(listener, 100, vec![good2(&["a"])]));
    name("streams.test", &[1, 2]);
    let mut target = target2(&format!("http://streams.test:{port}"), 100);
    target.connections.lookup = NameLookup::Each;
    let engine = engine(target).await;
    engine.warm_up(4).await;
    let places = asked_in_turn(&engine, 12).await;
    assert!(places.windows(2).all(|two| two[0] != two[1]), "{places:?}");
    assert_eq!(servers.each_ref().map(|server| used(server).len()), [6, 6]);
    name("streams.test", &[2]);
    tokio::time::sleep(Duration::from_millis(2_200)).await;
    let place = asked_in_turn(&engine, 1).await[0];
    assert_eq!((asked_in_turn(&engine, 3).await, used(&servers[1]).len()), (vec![place; 3], 10));
}

#[tokio::test]
async fn a_connection_that_the_server_leaves_ends_with_its_streams() {
    let server =
        serve2(100, vec![[vec![Step::GoAway, Step::Pause, Step::Pause], good2(&["a"])].concat(), good2(&["b"])]).await;
    let engine = engine2(&server, 100).await;
    let first = ask(&engine);
    let second = async {
        tokio::time::sleep(Duration::from_millis(30)).await;
        ask(&engine).await
    };
    let (first, second) = tokio::join!(first, second);
    assert_eq!((first.1.result, second.1.result), (Ok(()), Ok(())));
    let used = used(&server);
    assert!(used[0] != used[1], "{used:?}");
    assert!(second.0.contains(&AnswerEvent::Reconnects), "{:?}", second.0);
}
