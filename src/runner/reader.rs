//! The readers of a run: each sends requests and reads their answers on a core of its own.
//!
//! The run loop decides what is sent when, and counts; a reader needs nothing of that. It has a runtime, and
//! connections that live in it, and hands each request back when it ends.

use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use futures::FutureExt;
use futures::future::join_all;
use tokio::runtime::{Builder, Handle};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::feed::ReadyRequest;
use super::later_tasks::LaterTasks;
use super::life::ClientRules;
use super::live_answer::LiveAnswer;
use super::options::Timeouts;
use super::pacer::DispatchedRequest;
use super::progress::Progress;
use super::request_run::{FinishedRequest, RequestContext, RequestRun};
use crate::clock::{Pacing, RunClock, Timestamp, start_thread};
use crate::engine::{Answer as _, Engine, PreparedRequest, ReaderRest};
use crate::generator::PlannedRequest;
use crate::record::WorkKind;
use crate::workload::{LeavingPolicy, RetryPolicy};

/// The readers of one run, and their connections.
pub struct Readers<E> {
    /// The engine that prepares requests.
    pub(super) engine: Arc<E>,
    each: Vec<Reader<E>>,
}

/// A reader.
struct Reader<E> {
    /// The engine, with connections that belong to this reader.
    engine: Arc<E>,
    runtime: Handle,
    /// Its thread; `None` where it reads on that of the run loop.
    thread: Option<ReaderThread>,
}

/// A thread that reads; dropping it ends the thread.
struct ReaderThread {
    /// The tasks that begin when it next looks for bytes.
    later: LaterTasks,
    /// Tells the thread to end.
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Time after which a reader begins what it was given. It is then busy, or no bytes have come.
const BEGINS_WITHIN: Duration = Duration::from_millis(10);

/// The end of the thread of these tasks.
struct EndOfThread(LaterTasks);

impl Drop for EndOfThread {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl<E: Engine> Readers<E> {
    /// Makes the reader that reads on the thread of the run loop. It follows the loop's clock, virtual or not.
    ///
    /// Must be called in the runtime of that loop.
    pub fn in_loop(engine: Arc<E>) -> Self {
        let only = Reader { engine: Arc::clone(&engine), runtime: Handle::current(), thread: None };
        Self { engine, each: vec![only] }
    }

    /// Starts so many readers, each on its own thread.
    ///
    /// # Errors
    ///
    /// Where the system gives no thread or no runtime for one of them.
    pub fn start(engine: Arc<E>, count: NonZeroUsize, pacing: Pacing) -> io::Result<Self> {
        let each = (0..count.get()).map(|_| Reader::start(&engine, pacing)).collect::<io::Result<_>>()?;
        Ok(Self { engine, each })
    }

    /// Opens connections for about `count` requests that will start soon.
    pub async fn warm_up(&self, count: usize) {
        let count = count.div_ceil(self.each.len());
        join_all(self.each.iter().map(|reader| {
            let engine = Arc::clone(&reader.engine);
            reader.runtime.spawn(async move { engine.warm_up(count).await })
        }))
        .await;
    }

    /// Keeps the readers awake for good. What they do then costs what it costs in a run that may not rest.
    pub fn stay_awake(&self) {
        self.runtimes().for_each(|runtime| _ = runtime.spawn(async { ReaderRest::bind() }));
    }

    /// The runtimes in which they read, in order.
    pub(super) fn runtimes(&self) -> impl Iterator<Item = &Handle> {
        self.each.iter().map(|reader| &reader.runtime)
    }

    /// The reader of a request. Indices of a shard or of sessions have a stride, which a plain turn would keep.
    fn of_request(&self, request: &PlannedRequest) -> &Reader<E> {
        let mixed = request.index.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        &self.each[(mixed % self.each.len() as u64) as usize]
    }

    /// Lets readers rest, and the calling thread, while nothing is decided by what they read.
    pub(super) fn may_rest(&self, may: bool) {
        ReaderRest::lull(may);
        self.runtimes().for_each(|runtime| _ = runtime.spawn(async move { ReaderRest::allow(may) }));
    }
}

impl<E: Engine> Reader<E> {
    fn start(engine: &Arc<E>, pacing: Pacing) -> io::Result<Self> {
        let later = LaterTasks::default();
        let [of_park, of_unpark] = [later.clone(), later.clone()];
        let mut builder = Builder::new_current_thread();
        // It may have looked for bytes since it last woke.
        builder.on_thread_park(move || {
            if !of_park.begin() {
                ReaderRest::take();
            }
        });
        builder.on_thread_unpark(move || _ = of_unpark.begin());
        let runtime = builder.enable_all().build()?;
        let (handle, engine) = (runtime.handle().clone(), Arc::clone(engine));
        let own = {
            let _inside = handle.enter();
            engine.with_own_connections().map_or_else(|| Arc::clone(&engine), Arc::new)
        };
        let (end, mut ended) = oneshot::channel();
        let of_thread = EndOfThread(later.clone());
        let thread = start_thread("reader", move || {
            let (_raised, EndOfThread(begun)) = (pacing.raise(), &of_thread);
            // Its end is that of the readers, whoever drops them.
            runtime.block_on(async {
                while timeout(BEGINS_WITHIN, &mut ended).await.is_err() {
                    _ = begun.begin();
                }
            });
        })?;
        let thread = ReaderThread { later, end: Some(end), thread: Some(thread) };
        Ok(Self { engine: own, runtime: handle, thread: Some(thread) })
    }

    /// The reader's looks for bytes so far. `None` on the thread of the run loop.
    fn looks(&self) -> Option<u64> {
        self.thread.as_ref().map(|thread| thread.later.looks())
    }

    /// Runs a task now. One for which bytes will come begins with these, where none can have come `since` these looks.
    fn run(&self, task: impl Future<Output = ()> + Send + 'static, since: Option<u64>) {
        let now = match (&self.thread, since) {
            (Some(thread), Some(looks)) => thread.later.add(task.boxed(), looks),
            _ => Some(task.boxed()),
        };
        let Some(task) = now else { return };
        self.runtime.spawn(task);
        // It may rest, which is no matter to one whose bytes the kernel stamps.
        if since.is_none() {
            self.thread.iter().flat_map(|thread| &thread.thread).for_each(|thread| thread.thread().unpark());
        }
    }
}

impl Drop for ReaderThread {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // What panics on it ends the requests that it has. One of its tasks may be what dropped it.
            if thread.thread().id() != std::thread::current().id() {
                _ = thread.join();
            }
        }
    }
}

/// A request that has ended, and when its reader was done with it.
pub(super) type EndedRequest = (PlannedRequest, FinishedRequest, Timestamp);

/// Sender of the requests of a run, which have this in common.
pub(super) struct Sender<E> {
    pub(super) readers: Arc<Readers<E>>,
    pub(super) clock: RunClock,
    pub(super) timeouts: Timeouts,
    pub(super) retries: Option<Arc<RetryPolicy>>,
    pub(super) leaving: Option<Arc<LeavingPolicy>>,
    pub(super) progress: Arc<Progress>,
    pub(super) cancel: CancellationToken,
    /// Receiver of requests that have ended.
    pub(super) ended: mpsc::UnboundedSender<EndedRequest>,
}

impl<E: Engine> Sender<E> {
    /// Gives a request to its reader, which sends it now. It got a slot when it was `admitted`.
    pub(super) fn send(self: &Arc<Self>, released: DispatchedRequest, admitted: Option<Timestamp>) {
        let DispatchedRequest { ready: ReadyRequest { request, prepared, .. }, dispatched, .. } = released;
        self.hand_over(request, prepared, (dispatched, admitted), None, None);
    }

    /// Writes a request now, on the calling thread, where a plain connection is idle. Tells of it before its reader
    /// takes over.
    pub(super) fn send_now(
        self: &Arc<Self>,
        ready: ReadyRequest,
        dispatched: Timestamp,
        tell: &mut dyn FnMut(ReadyRequest) -> bool,
    ) {
        let (request, prepared) = (ready.request, ready.prepared.clone());
        let reader = self.readers.of_request(&request);
        let mut answer = LiveAnswer::begin(&*reader.engine, prepared.clone(), self.clock);
        let looks = reader.looks();
        let is_written = answer.answer.send_now();
        // Nobody counts it where the run has ended meanwhile: it is dropped, and its connection closed.
        if tell(ready) {
            self.hand_over(request, prepared, (dispatched, None), Some(answer), looks.filter(|_| is_written));
        }
    }

    fn hand_over(
        self: &Arc<Self>,
        request: PlannedRequest,
        prepared: PreparedRequest,
        (dispatched, admitted): (Timestamp, Option<Timestamp>),
        answer: Option<LiveAnswer<E::Answer>>,
        since: Option<u64>,
    ) {
        let (sender, work) = (Arc::clone(self), prepared.work);
        let held = HeldRequest { sender, request, work, dispatched, admitted, finished: None };
        let task = async move {
            let mut held = held;
            let Self { readers, clock, timeouts, retries, leaving, progress, cancel, .. } = &*held.sender;
            let (retries, leaving) = (retries.as_deref(), leaving.as_deref());
            let rules = ClientRules { timeouts: *timeouts, retries, leaving };
            let engine = &*readers.of_request(&request).engine;
            let context = RequestContext { engine, clock: *clock, rules, progress, cancel };
            held.finished = Some(held.begun().execute(prepared, answer, context).await);
        };
        self.readers.of_request(&request).run(task, since);
    }
}

/// A request that its reader has. Dropping it tells the run that it has ended.
struct HeldRequest<E> {
    sender: Arc<Sender<E>>,
    request: PlannedRequest,
    work: WorkKind,
    dispatched: Timestamp,
    admitted: Option<Timestamp>,
    /// Absent where a panic ended it, or its reader, which are faults of this program. It still gets a record.
    finished: Option<FinishedRequest>,
}

impl<E> HeldRequest<E> {
    fn begun(&self) -> RequestRun {
        RequestRun::new(&self.request, self.work, self.dispatched).admitted(self.admitted)
    }
}

impl<E> Drop for HeldRequest<E> {
    fn drop(&mut self) {
        let now = self.sender.clock.now();
        let finished = self.finished.take().unwrap_or_else(|| self.begun().lost(now).into());
        // Nobody takes it where the run loop itself has panicked.
        _ = self.sender.ended.send((self.request, finished, now));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::runner::tests::engines::Script;

    #[test]
    fn readers_that_are_kept_awake_do_not_rest() {
        let script = Script { ttft: Duration::ZERO, gap: Duration::ZERO, tokens: 1 };
        let readers = Readers::start(Arc::new(script), NonZeroUsize::MIN, Pacing::Timer).unwrap();
        let is_bound = || {
            let (say, said) = mpsc::channel();
            readers.each[0].runtime.spawn(async move { say.send(ReaderRest::is_bound()).unwrap() });
            said.recv_timeout(Duration::from_secs(60)).unwrap()
        };
        assert!(!is_bound());
        readers.stay_awake();
        assert!(is_bound());
    }

    #[test]
    fn a_task_that_can_wait_begins_though_nobody_wakes_its_reader_and_is_dropped_where_that_is_gone() {
        let script = Script { ttft: Duration::ZERO, gap: Duration::ZERO, tokens: 1 };
        let readers = Readers::start(Arc::new(script), NonZeroUsize::MIN, Pacing::Timer).unwrap();
        let reader = &readers.each[0];
        let later = reader.thread.as_ref().unwrap().later.clone();
        for since in [reader.looks(), reader.looks().map(|looks| looks + 1), None] {
            let (done, is_done) = mpsc::channel();
            reader.run(async move { done.send(()).unwrap() }, since);
            is_done.recv_timeout(Duration::from_secs(60)).unwrap();
        }
        drop(readers);
        let (held, is_dropped) = mpsc::channel::<()>();
        assert!(later.add(async move { drop(held) }.boxed(), later.looks()).is_none());
        assert_eq!(is_dropped.recv_timeout(Duration::from_secs(60)), Err(mpsc::RecvTimeoutError::Disconnected));
    }
}
