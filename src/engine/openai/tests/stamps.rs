//! The kernel's stamps.

use std::sync::mpsc;

use super::*;
use crate::record::StampSource;

/// A server on its own thread, which goes on while a test's thread is blocked.
fn serve_beside(scripts: Vec<Vec<Act>>) -> Server {
    let (send, received) = mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            send.send(serve(scripts).await).ok().unwrap();
            std::future::pending::<()>().await;
        });
    });
    received.recv().unwrap()
}

#[tokio::test]
async fn bytes_that_a_held_up_client_reads_late_have_the_moment_at_which_they_came() {
    let acts = vec![send(STREAM), Act::Pause, chunk(&delta("a")), chunk(FINISH), send("0\r\n\r\n")];
    let server = serve_beside(vec![acts]);
    let engine = engine(target(&server)).await;
    assert_eq!((engine.stamp_source(), engine.read_delays()), (StampSource::ReadReturned, None));
    engine.smoke_test(Duration::from_secs(5)).await.unwrap();
    assert_eq!((engine.stamp_source(), engine.read_delays()), (StampSource::KernelReceived, None));

    let clock = RunClock::starting_in(Duration::ZERO);
    let mut answer = engine.generate(PreparedRequest::new(0, engine_body()), clock);
    while !matches!(answer.next().await, AnswerEvent::Headers { .. }) {}
    // The chunk is written 20 ms after the head and read 1.5 s after it. Bounds are loose, since the server
    // may be delayed too.
    let headers = clock.now();
    std::thread::sleep(Duration::from_millis(1_500));
    let AnswerEvent::Chunk { at, .. } = answer.next().await else { panic!("a chunk comes next") };
    let late = clock.now().since(at);
    assert!(at >= headers && late > Duration::from_secs(1), "read {late:?} late");
    let delays = engine.read_delays().unwrap();
    assert!(delays.max_ns > 1_000_000_000, "{delays:?}");
}
