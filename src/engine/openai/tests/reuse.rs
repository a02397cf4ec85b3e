//! Connections: used again, opened ahead, lost.

use super::*;

#[tokio::test]
async fn connections_are_used_again_and_lost_ones_are_reported() {
    let server = serve(vec![good(&["a"]), good(&["b"]), vec![Act::Close]]).await;
    let engine = engine(target(&server)).await;
    for turn in 0..2 {
        let (events, end) = ask(&engine).await;
        assert_eq!(end.result, Ok(()), "{turn}");
        assert!(matches!(events[0], AnswerEvent::Sent { opened_connection, .. } if opened_connection == (turn == 0)));
        // Lets the last bytes of the answer arrive, and the connection rest.
        tokio::time::sleep(Duration::from_millis(60)).await;
    }
    // Once on the idle connection, once on a new one.
    let failure = ask(&engine).await.1.result.unwrap_err();
    assert_eq!(failure.message, "the server closed the connection before it answered");
    let used = used(&server);
    assert!(used[0] == used[1] && used[1] == used[2] && used[2] != used[3] && used.len() == 4, "{used:?}");
}

/// The connection of each request.
fn used(server: &Server) -> Vec<usize> {
    server.seen.lock().unwrap().iter().map(|(connection, _)| *connection).collect()
}

#[tokio::test]
async fn a_request_that_meets_the_close_of_an_idle_connection_is_sent_again_once() {
    for close in [Act::Close, Act::Reset] {
        let server = serve(vec![good(&["a"]), vec![close], good(&["b"])]).await;
        let engine = engine(target(&server)).await;
        assert_eq!(ask(&engine).await.1.result, Ok(()));
        tokio::time::sleep(Duration::from_millis(60)).await;
        let (events, end) = ask(&engine).await;
        assert_eq!(end.result, Ok(()));
        let used = used(&server);
        assert!(used.len() == 3 && used[0] == used[1] && used[1] != used[2], "{used:?}");
        let sent = |event: &AnswerEvent| match event {
            AnswerEvent::Sent { opened_connection, .. } => Some(*opened_connection),
            _ => None,
        };
        assert_eq!(events.iter().filter_map(sent).collect::<Vec<_>>(), [false, true], "{events:?}");
        assert!(events.contains(&AnswerEvent::Resent) && events.contains(&AnswerEvent::Reconnects));
        let seen = server.seen.lock().unwrap();
        assert_eq!(seen[1].1, seen[2].1, "the same request");
    }
}

#[tokio::test]
async fn a_request_that_the_server_was_at_work_on_is_not_sent_again() {
    let begun = vec![send(STREAM), chunk(&delta("a")), Act::Close];
    let waited = [vec![Act::Pause; 55], vec![Act::Close]].concat();
    for (lost, words) in
        [(begun, "closed before the announced end"), (waited, "the server closed the connection before it answered")]
    {
        let server = serve(vec![good(&["a"]), lost, good(&["b"])]).await;
        let engine = engine(target(&server)).await;
        assert_eq!(ask(&engine).await.1.result, Ok(()));
        tokio::time::sleep(Duration::from_millis(60)).await;
        let (events, end) = ask(&engine).await;
        let failure = end.result.unwrap_err();
        assert!(failure.reason == FailureKind::Reset && failure.message.contains(words), "{failure}");
        assert!(!events.contains(&AnswerEvent::Resent) && server.seen.lock().unwrap().len() == 2);
    }
}

#[tokio::test]
async fn a_request_is_kept_no_longer_than_it_may_be_sent_again() {
    let slow = [vec![Act::Pause; 150], good(&["b"])].concat();
    let begun = [vec![send(STREAM)], vec![Act::Pause; 40], good(&["b"])[1..].to_vec()].concat();
    for (script, millis, kept) in [(slow.clone(), 1, true), (slow, 1_500, false), (begun, 400, false)] {
        let server = serve(vec![good(&["a"]), script]).await;
        let engine = engine(target(&server)).await;
        assert_eq!(ask(&engine).await.1.result, Ok(()));
        tokio::time::sleep(Duration::from_millis(60)).await;
        let body = bytes::Bytes::from(b"{}".to_vec());
        let request = PreparedRequest::new(42, body.clone());
        let mut answer = engine.generate(request, RunClock::starting_in(Duration::ZERO));
        let sent = answer.next().await;
        assert!(matches!(sent, AnswerEvent::Sent { opened_connection: false, .. }), "{sent:?}");
        let _ = tokio::time::timeout(Duration::from_millis(millis), answer.next()).await;
        assert_eq!(body.is_unique(), !kept, "after {millis} ms");
    }
}

#[tokio::test]
async fn who_closed_the_connection_that_is_missing_is_known() {
    let reconnects = |events: &[AnswerEvent]| events.contains(&AnswerEvent::Reconnects);
    // The first request finds none ready, and no server has closed one.
    let server = serve(vec![good(&["a"])]).await;
    let kept = engine(target(&server)).await;
    assert!(!reconnects(&ask(&kept).await.0));
    // Announced and not.
    let mut announced = good(&["a"]);
    announced[0] = send(&STREAM.replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n"));
    for script in [announced, good(&["a"])] {
        let server = serve(vec![[script, vec![Act::Close]].concat()]).await;
        let mut target = target(&server);
        let engine = engine(target.clone()).await;
        let first = ask(&engine).await;
        assert!(first.1.result.is_ok() && !reconnects(&first.0));
        tokio::time::sleep(Duration::from_millis(60)).await;
        // More than are opened ahead.
        let together = futures::future::join_all((0..12).map(|_| ask(&engine))).await;
        assert!(together.iter().all(|(_, end)| end.result.is_ok()));
        assert!(together.iter().any(|(events, _)| reconnects(events)));
        // This client opens one for each request by itself.
        target.dialect = EngineKind::Llamacpp;
        let own = self::engine(target).await;
        for _ in 0..3 {
            let (events, end) = ask(&own).await;
            assert!(end.result.is_ok() && !reconnects(&events), "{events:?}");
        }
    }
}

#[tokio::test]
async fn a_connection_that_died_idle_is_not_used() {
    let closing = [good(&["a"]), vec![Act::Close]].concat();
    let server = serve(vec![closing.clone(), closing]).await;
    let engine = engine(target(&server)).await;
    for _ in 0..3 {
        assert_eq!(ask(&engine).await.1.result, Ok(()));
        tokio::time::sleep(Duration::from_millis(60)).await;
    }
}

#[tokio::test]
async fn however_many_connections_died_idle_none_of_them_is_used() {
    let server = serve(vec![good(&["a"])]).await;
    let engine = engine(target(&server)).await;
    // More than tokio lets one task look at in one go.
    engine.warm_up(200).await;
    server.hang_up.notify_waiters();
    tokio::time::sleep(Duration::from_millis(60)).await;
    let (events, end) = ask(&engine).await;
    assert_eq!(end.result, Ok(()));
    assert_eq!(events[0], AnswerEvent::Reconnects, "the server closed them");
    assert!(matches!(events[1], AnswerEvent::Sent { opened_connection: true, .. }), "{events:?}");
}

#[tokio::test]
async fn connections_left_from_another_run_are_not_counted_as_warm_once_they_are_old() {
    let server = serve(vec![good(&["a"])]).await;
    let engine = engine(target(&server)).await;
    engine.warm_up(3).await;
    tokio::time::sleep(Duration::from_millis(2_100)).await;
    engine.warm_up(3).await;
    // The first three would be too old by now.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let (events, _) = ask(&engine).await;
    assert!(matches!(events[0], AnswerEvent::Sent { opened_connection: false, .. }), "{events:?}");
}

#[tokio::test]
async fn a_server_that_closes_soon_after_each_answer_loses_no_request() {
    // Unannounced, 20 ms after: a request sent at once would meet the close.
    let closing = [good(&["a"]), vec![Act::Pause, Act::Close]].concat();
    let server = serve(vec![closing]).await;
    let engine = engine(target(&server)).await;
    for turn in 0..10 {
        assert_eq!(ask(&engine).await.1.result, Ok(()), "{turn}");
    }
}

#[tokio::test]
async fn a_server_seen_to_close_after_an_answer_is_not_trusted_with_a_second_request() {
    let server = serve(vec![[good(&["a"]), vec![Act::Pause; 10], vec![Act::Close]].concat()]).await;
    let engine = engine(target(&server)).await;
    assert_eq!(ask(&engine).await.1.result, Ok(()));
    // The close of the first connection is seen; that of the second comes after the third request began.
    tokio::time::sleep(Duration::from_millis(400)).await;
    for turn in 0..2 {
        assert_eq!(ask(&engine).await.1.result, Ok(()), "{turn}");
        tokio::time::sleep(Duration::from_millis(60)).await;
    }
    let used: Vec<usize> = server.seen.lock().unwrap().iter().map(|(connection, _)| *connection).collect();
    assert!(used[0] != used[1] && used[1] != used[2] && used[0] != used[2], "{used:?}");
}

#[tokio::test]
async fn a_lost_connection_is_reported_as_it_was_lost() {
    for (act, words) in [
        (Act::Reset, "the server reset the connection before it answered"),
        (Act::Close, "the server closed the connection before it answered"),
    ] {
        let (_, end) = answer_to(vec![act]).await;
        assert_eq!(end.result.unwrap_err().message, words);
    }
}

#[tokio::test]
async fn warm_connections_spare_requests_the_opening() {
    let server = serve(vec![good(&["a"])]).await;
    let engine = engine(target(&server)).await;
    engine.warm_up(3).await;
    let (events, _) = ask(&engine).await;
    assert!(matches!(events[0], AnswerEvent::Sent { opened_connection: false, .. }), "{events:?}");
}

#[tokio::test]
async fn another_run_has_the_connections_and_request_ids_of_its_own() {
    let server = serve(vec![good(&["a"])]).await;
    let first = engine(target(&server)).await;
    let second = first.for_another_run();
    for (turn, run) in [&first, &second].into_iter().enumerate() {
        let (events, _) = ask(run).await;
        assert!(matches!(events[0], AnswerEvent::Sent { opened_connection, .. } if opened_connection == (turn == 0)));
        let (_, request) = server.seen.lock().unwrap()[turn].clone();
        let id = format!("x-request-id: {}00000000002a\r\n", run.facts().request_id_prefix);
        assert!(request.contains(&id), "{request}");
        tokio::time::sleep(Duration::from_millis(60)).await;
    }
    assert_ne!(first.facts().request_id_prefix, second.facts().request_id_prefix);
    assert_eq!(first.for_another_run().read_delays(), None);
}

/// Returns whether a server of three connections answers all of six requests. They come two at a time.
async fn six_requests_come_through(dialect: EngineKind) -> bool {
    let server = serve_with(3, vec![good(&["a"])]).await;
    let mut target = target(&server);
    target.dialect = dialect;
    let engine = engine(target).await;
    engine.warm_up(8).await;
    let all = async {
        for _ in 0..3 {
            let (one, other) = tokio::join!(ask(&engine), ask(&engine));
            assert_eq!((one.1.result, other.1.result), (Ok(()), Ok(())));
        }
    };
    // Loosely: an answer takes no time, and nothing is closed for its age within 2 s.
    tokio::time::timeout(Duration::from_secs(2), all).await.is_ok()
}

#[tokio::test]
async fn a_server_with_a_thread_for_each_connection_is_not_starved_by_idle_ones() {
    assert!(six_requests_come_through(EngineKind::Llamacpp).await);
    assert!(!six_requests_come_through(EngineKind::Vllm).await, "connections opened ahead took all places");
}
