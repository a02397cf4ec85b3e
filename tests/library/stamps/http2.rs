//! HTTP/2 against a server of the `h2` crate: what it logs of its frames, Skyline stamps.
//!
//! The log is made where the server's bytes meet the socket, by a reader of frames of its own. A frame's moments are
//! those just before the first write that took of it, and just after the last.

use std::collections::{BTreeMap, HashMap};
use std::convert::identity;
use std::io;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use h2::RecvStream;
use h2::server::{Builder, SendResponse};
use http::{Request, Response};
use skyline::clock::{Pacing, RunClock, Timestamp};
use skyline::engine::{CaptureText, Http2, OpenAiEngine, Target};
use skyline::generator::{PlannedRequest, Prompt};
use skyline::record::{EngineKind, Outcome, PlanFacts, StreamReads};
use skyline::runner::{FinishedRequest, Interrupt, Progress, Readers, RequestFeed, Run, RunOptions};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

const REQUESTS: u64 = 16;
/// Streams of a connection.
const SHARED_BY: u32 = 4;
const TOKENS: u64 = 100;
/// Gaps before tokens, in turn, ms. The first token comes after the first gap and `BEGINS`.
const GAPS_MS: [u64; 4] = [3, 2, 8, 5];
/// Time before the first token, in which all requests are sent.
const BEGINS: Duration = Duration::from_millis(100);
/// Bytes of text of every token of each fourth answer, which are 200 kB together: three windows of HTTP/2's default.
const LONG: usize = 2_000;

/// Difference between the kernel's clock and the run's, at most.
const CLOCKS: Duration = Duration::from_millis(1);
/// Distance of half of the stamps from a write: the kernel stamps a packet while its sender writes it, however late it is
/// read. Where the machine is busy, it leaves some to a thread of its own.
const FROM_A_WRITE: Duration = Duration::from_micros(100);
/// Error of half of the gaps, which are 2 ms and more, and of nineteen in twenty. On a machine that is busy with other
/// tests a read may bring what came for long, with the stamp of the last of it.
const HALF_WITHIN: Duration = Duration::from_millis(1);
const NEARLY_ALL_WITHIN: Duration = Duration::from_millis(250);

/// A frame of data, or a write: just before it was handed to the socket, and just after.
#[derive(Clone, Copy, Debug)]
struct SentFrame {
    before: Timestamp,
    after: Timestamp,
}

/// The server's log.
#[derive(Default)]
struct ServerLog {
    /// Frames of data by the number of their connection and of their stream.
    frames: HashMap<(usize, u32), Vec<SentFrame>>,
    /// Writes of each connection.
    writes: HashMap<usize, Vec<SentFrame>>,
    /// Stream of each answer, by the number of its request, and the bytes that there was room for at its beginning.
    answers: BTreeMap<u64, ((usize, u32), usize)>,
    /// Answers that are under way on each connection, and the most that were.
    under_way: HashMap<usize, [u32; 2]>,
}

type SharedLog = Arc<Mutex<ServerLog>>;

/// Text of a token. All tokens of a run differ.
fn token(request: u64, number: u64) -> String {
    let long = if request.is_multiple_of(4) { LONG } else { 0 };
    format!("<{request}.{number}>{}", "x".repeat(long))
}

fn event(request: u64, number: u64) -> String {
    let text = token(request, number);
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}},\"finish_reason\":null}}]}}\n\n")
}

fn last_event() -> String {
    let finish = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}"#;
    let usage = format!(r#"{{"choices":[],"usage":{{"prompt_tokens":4,"completion_tokens":{TOKENS}}}}}"#);
    format!("data: {finish}\n\ndata: {usage}\n\ndata: [DONE]\n\n")
}

/// A socket whose writes are logged, frame by frame.
struct LoggedSocket {
    socket: TcpStream,
    connection: usize,
    clock: RunClock,
    log: SharedLog,
    /// Head of the frame that is being written.
    head: Vec<u8>,
    /// Bytes of its payload that are left.
    left: usize,
    before: Timestamp,
}

impl LoggedSocket {
    fn wrote(&mut self, mut bytes: &[u8], before: Timestamp, after: Timestamp) {
        while !bytes.is_empty() {
            if self.head.is_empty() {
                self.before = before;
            }
            let of_head = (9 - self.head.len()).min(bytes.len());
            self.head.extend_from_slice(&bytes[..of_head]);
            bytes = &bytes[of_head..];
            if of_head > 0 && self.head.len() == 9 {
                self.left = u32::from_be_bytes([0, self.head[0], self.head[1], self.head[2]]) as usize;
            }
            let of_payload = self.left.min(bytes.len());
            bytes = &bytes[of_payload..];
            self.left -= of_payload;
            if self.head.len() == 9 && self.left == 0 {
                let stream = u32::from_be_bytes([self.head[5], self.head[6], self.head[7], self.head[8]]);
                let is_data = self.head[3] == 0;
                self.head.clear();
                if is_data {
                    let mut log = self.log.lock().unwrap();
                    let frames = log.frames.entry((self.connection, stream)).or_default();
                    frames.push(SentFrame { before: self.before, after });
                }
            }
        }
    }
}

impl AsyncRead for LoggedSocket {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(cx, buffer)
    }
}

impl AsyncWrite for LoggedSocket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let before = self.clock.now();
        let taken = ready!(Pin::new(&mut self.socket).poll_write(cx, bytes))?;
        let after = self.clock.now();
        self.log.lock().unwrap().writes.entry(self.connection).or_default().push(SentFrame { before, after });
        self.wrote(&bytes[..taken], before, after);
        Poll::Ready(Ok(taken))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

/// Starts the server on a thread of its own, for as long as the process runs.
fn start(clock: RunClock, log: SharedLog) -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async move {
            let listener = TcpListener::from_std(listener).unwrap();
            for connection in 0.. {
                let (socket, _) = listener.accept().await.unwrap();
                socket.set_nodelay(true).unwrap();
                let (log, head) = (Arc::clone(&log), Vec::new());
                let socket = LoggedSocket { socket, connection, clock, log, head, left: 0, before: Timestamp::ZERO };
                tokio::spawn(serve(socket));
            }
        });
    });
    address
}

async fn serve(socket: LoggedSocket) {
    let (connection, log) = (socket.connection, Arc::clone(&socket.log));
    let Ok(mut accepting) = Builder::new().max_send_buffer_size(1 << 20).handshake::<_, Bytes>(socket).await else {
        return;
    };
    while let Some(Ok((request, respond))) = accepting.accept().await {
        tokio::spawn(answer(request, respond, connection, Arc::clone(&log)));
    }
}

async fn answer(request: Request<RecvStream>, mut respond: SendResponse<Bytes>, connection: usize, log: SharedLog) {
    let id = request.headers().get("x-request-id").map(|id| id.to_str().unwrap().to_owned());
    let (head, mut body) = request.into_parts();
    while let Some(Ok(bytes)) = body.data().await {
        body.flow_control().release_capacity(bytes.len()).unwrap();
    }
    let mut sending = respond.send_response(Response::new(()), false).unwrap();
    if head.method == "GET" {
        sending.send_data(Bytes::from_static(br#"{"data":[{"id":"m"}]}"#), true).unwrap();
        return;
    }
    // The last part of a UUID is the number of the request.
    let number = u64::from_str_radix(id.unwrap().rsplit('-').next().unwrap(), 16).unwrap();
    let mut due = Instant::now() + BEGINS;
    let bytes: usize = (0..TOKENS).map(|token| event(number, token).len()).sum();
    // What the windows leave no room for is not given at once.
    sending.reserve_capacity(bytes);
    {
        let mut log = log.lock().unwrap();
        log.answers.insert(number, ((connection, sending.stream_id().as_u32()), sending.capacity().min(bytes)));
        let [now, most] = log.under_way.entry(connection).or_default();
        (*now, *most) = (*now + 1, (*most).max(*now + 1));
    }
    for token in 0..TOKENS {
        due += Duration::from_millis(GAPS_MS[token as usize % GAPS_MS.len()]);
        sleep_until(due).await;
        sending.send_data(event(number, token).into(), false).unwrap();
    }
    log.lock().unwrap().under_way.get_mut(&connection).unwrap()[0] -= 1;
    sending.send_data(last_event().into(), true).unwrap();
}

/// Skyline's records of a request a millisecond, all of whose answers are under way at once.
fn measured(clock: RunClock, address: SocketAddr) -> (BTreeMap<u64, FinishedRequest>, StreamReads) {
    let runtime = runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut target = Target::new(format!("http://{address}").parse().unwrap(), EngineKind::Openai);
        target.http2 = Http2::Always(SHARED_BY);
        let engine = OpenAiEngine::connect(target, Duration::from_secs(30), |_| {}).await.unwrap();
        let engine = Arc::new(engine.capturing(CaptureText::Yes));
        let readers = Readers::start(Arc::clone(&engine), NonZeroUsize::MIN, Pacing::Precise).unwrap();
        readers.warm_up(REQUESTS as usize).await;
        let begin = clock.now().after(Duration::from_millis(50));
        let at = move |index: u64| begin.after(Duration::from_millis(index));
        let schedule = (0..REQUESTS).map(move |index| {
            let (scheduled, output_tokens) = (at(index), TOKENS as u32);
            let planned =
                PlannedRequest { index, scheduled, input_tokens: 4, output_tokens, ..PlannedRequest::default() };
            planned.into_spec(Prompt::Text("Count from one to ten.".to_owned()))
        });
        let plan = PlanFacts {
            hash: String::new(),
            warmup_requests: 0,
            measured_requests: REQUESTS,
            window_start: begin,
            window_end: at(REQUESTS),
        };
        let (_wish, interrupt) = watch::channel(Interrupt::None);
        let run = Run {
            readers: Arc::new(readers),
            clock,
            plan,
            options: RunOptions { drain: Duration::from_secs(60), ..RunOptions::default() },
            progress: Arc::new(Progress::default()),
            interrupt,
            samples: None,
            dispatches: None,
            tail: None,
        };
        let feed = RequestFeed::start(Arc::clone(&engine), schedule, identity, None).unwrap();
        let mut finished = BTreeMap::new();
        let keep = |request: FinishedRequest| _ = finished.insert(request.record.index, request);
        run.execute(feed, keep).await.unwrap();
        (finished, engine.stream_reads().unwrap())
    })
}

/// The quantiles of some times: half of them, nineteen in twenty, and 99 in a hundred are at most so long.
fn quantiles(mut times: Vec<Duration>) -> [Duration; 3] {
    times.sort_unstable();
    [0.5, 0.95, 0.99].map(|share| times[(times.len() as f64 * share) as usize])
}

impl SentFrame {
    /// Time between a stamp and this write, during which it may have been made.
    fn distance(self, stamp: Timestamp) -> Duration {
        self.before.since(stamp).max(stamp.since(self.after))
    }
}

#[test]
fn every_frame_of_another_server_is_stamped_as_its_log_says() {
    let (clock, log) = (RunClock::starting_in(Duration::ZERO), SharedLog::default());
    let (finished, reads) = measured(clock, start(clock, Arc::clone(&log)));
    let log = log.lock().unwrap();
    assert_eq!((finished.len(), log.answers.len()), (REQUESTS as usize, REQUESTS as usize));
    let (mut late, mut gaps_off, mut from_a_write) = (Vec::new(), Vec::new(), Vec::new());
    for (number, (stream, room)) in &log.answers {
        let FinishedRequest { record, captured, .. } = &finished[number];
        assert_eq!(record.outcome, Outcome::Completed, "{number}");
        let texts: Vec<_> = (0..TOKENS).map(|token| self::token(*number, token)).collect();
        assert_eq!(captured.as_ref().unwrap().read().content, texts.concat(), "{number}");
        // The whole answer has room before any of it is sent: no frame waits for a window.
        let bytes: usize = (0..TOKENS).map(|token| event(*number, token).len()).sum();
        assert_eq!(*room, bytes, "{number}");
        let stamps: Vec<_> = record.chunks.iter().map(|chunk| chunk.at).collect();
        let frames = &log.frames[stream];
        // The last frame has no text.
        assert_eq!((stamps.len() as u64, frames.len() as u64), (TOKENS, TOKENS + 1), "{number}");
        for (stamp, frame) in stamps.iter().zip(frames) {
            assert!(stamp.after(CLOCKS) >= frame.before, "{number}: {stamp:?} is before {frame:?}");
            late.push(stamp.since(frame.before));
            // A read has the stamp of its last packet, which may be of a later frame, or of another stream.
            let writes = log.writes[&stream.0].iter().filter(|write| write.after >= frame.before);
            from_a_write.push(writes.map(|write| write.distance(*stamp)).min().unwrap());
        }
        for (stamps, frames) in stamps.windows(2).zip(frames.windows(2)) {
            // The frames themselves were on their way at some moment from before until after.
            let shortest = frames[1].before.since(frames[0].after);
            let longest = frames[1].after.since(frames[0].before);
            let gap = stamps[1].since(stamps[0]);
            gaps_off.push(gap.saturating_sub(longest).max(shortest.saturating_sub(gap)));
        }
    }
    let connections: Vec<_> = log.under_way.values().map(|[_, most]| *most).collect();
    assert_eq!(connections, [SHARED_BY; (REQUESTS / SHARED_BY as u64) as usize], "streams at once, by connection");
    assert!(reads.most_streams <= u64::from(SHARED_BY), "{reads:?}");
    let (late, [half, nearly_all, p99]) = (quantiles(late), quantiles(gaps_off));
    println!("stamp − moment before the write: p50, p95, p99 {late:?}");
    let from_a_write = quantiles(from_a_write);
    println!("stamp − the nearest write of its connection: p50, p95, p99 {from_a_write:?}");
    println!("gap of stamps off the log's: p50, p95, p99 {:?}; {reads:?}", [half, nearly_all, p99]);
    // Elsewhere the kernel stamps nothing.
    assert!(!cfg!(target_os = "linux") || from_a_write[0] <= FROM_A_WRITE, "{from_a_write:?}");
    assert!(half <= HALF_WITHIN && nearly_all <= NEARLY_ALL_WITHIN, "{half:?} {nearly_all:?}");
}
