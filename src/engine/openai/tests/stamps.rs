//! The kernel's stamps.

use std::sync::mpsc;

use super::*;
use crate::clock::Timestamp;
use crate::engine::transport::ReaderTicks;
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
    engine.smoke_test("hi", Duration::from_secs(5)).await.unwrap();
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

/// Returns an answer of two chunks 60 ms apart and a third. The third has two tokens and comes after another 60 ms.
fn paced() -> Vec<Act> {
    let pause = || (0..3).map(|_| Act::Pause);
    let pieces = [delta("a"), delta("b"), delta("c") + &delta("d")];
    let pieces = pieces.iter().flat_map(|piece| pause().chain([chunk(piece)]));
    std::iter::once(send(STREAM)).chain(pieces).chain([chunk(FINISH), send("0\r\n\r\n")]).collect()
}

/// Returns how much earlier chunks may have come, and the stamps of all. The chunks are those that another of their
/// read follows; after the answer's head the reader is `held_up`.
async fn read_beside_ticks(held_up: Duration) -> (Vec<Duration>, Vec<Timestamp>) {
    let server = serve_beside(vec![good(&["a"]), paced()]);
    let engine = engine(target(&server)).await;
    engine.smoke_test("hi", Duration::from_secs(5)).await.unwrap();
    let clock = RunClock::starting_in(Duration::ZERO);
    let ticking = tokio::spawn(async move {
        let _ticks = ReaderTicks::start();
        loop {
            ReaderTicks::tick(clock.now());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    let mut answer = engine.generate(PreparedRequest::new(0, engine_body()), clock);
    let (mut late, mut stamps) = (Vec::new(), Vec::new());
    loop {
        match answer.next().await {
            AnswerEvent::Headers { at } => {
                stamps.push(at);
                std::thread::sleep(held_up);
            }
            AnswerEvent::Chunk { at, .. } => stamps.push(at),
            AnswerEvent::LateStamp { by } => late.push(by),
            AnswerEvent::Connected { .. }
            | AnswerEvent::Sent { .. }
            | AnswerEvent::Reconnects
            | AnswerEvent::Resent => {}
            AnswerEvent::Ended(_) => break,
        }
    }
    ticking.abort();
    (late, stamps)
}

#[tokio::test]
async fn a_starved_reader_knows_how_late_its_stamps_may_be() {
    let (late, stamps) = read_beside_ticks(Duration::from_millis(1_500)).await;
    let [headers, first, .., last] = stamps[..] else { panic!("{stamps:?}") };
    assert_eq!((late.len(), stamps.len(), first), (3, 5, last), "one read brings all");
    // The first came 120 ms before the last at least, and after the head.
    for late in late {
        assert!(late >= Duration::from_millis(120) && late <= last.since(headers), "{late:?}: {stamps:?}");
    }
}

#[tokio::test]
async fn a_reader_that_waits_has_no_late_stamps() {
    // A busy machine may starve some readers, and not all.
    for _ in 0..20 {
        let (late, stamps) = read_beside_ticks(Duration::ZERO).await;
        let [_, first, second, third, fourth] = stamps[..] else { panic!("{stamps:?}") };
        if first < second && second < third && third == fourth && late.is_empty() {
            return;
        }
    }
    panic!("no reader read in time");
}
