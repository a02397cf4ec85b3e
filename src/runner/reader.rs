//! The readers of a run: each sends requests and reads their answers on a core of its own.
//!
//! The run loop decides what is sent when, and counts; a reader needs nothing of that. It has a runtime, and
//! connections that live in it, and hands each request back when it ends.

use std::io;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use tokio::runtime::{Builder, Handle};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::feed::ReadyRequest;
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
use crate::workload::RetryPolicy;

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

/// Tasks that nobody is woken for.
///
/// The answer to a request that is on the wire already wakes its reader. To wake it for the request too would double
/// the task switches of a short one.
#[derive(Clone, Default)]
struct LaterTasks(Arc<Mutex<TaskQueue>>);

#[derive(Default)]
struct TaskQueue {
    tasks: Vec<BoxFuture<'static, ()>>,
    /// Whether nobody begins them any more.
    is_closed: bool,
}

impl LaterTasks {
    /// Adds a task, or drops it where its reader is gone.
    fn add(&self, task: BoxFuture<'static, ()>) {
        let mut queue = self.queue();
        if !queue.is_closed {
            queue.tasks.push(task);
        }
    }

    /// Begins them in the runtime of the calling thread.
    fn begin(&self) {
        let tasks = std::mem::take(&mut self.queue().tasks);
        for task in tasks {
            _ = tokio::spawn(task);
        }
    }

    fn queue(&self) -> MutexGuard<'_, TaskQueue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The end of a reader's thread. It drops what has not begun, for a task holds on to its reader.
struct EndOfTasks(LaterTasks);

impl Drop for EndOfTasks {
    fn drop(&mut self) {
        let left = std::mem::replace(&mut *self.0.queue(), TaskQueue { is_closed: true, ..TaskQueue::default() });
        drop(left);
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

    /// The number of them.
    pub(super) fn count(&self) -> usize {
        self.each.len()
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
        for reader in &self.each {
            reader.runtime.spawn(async move { ReaderRest::allow(may) });
        }
    }
}

impl<E: Engine> Reader<E> {
    fn start(engine: &Arc<E>, pacing: Pacing) -> io::Result<Self> {
        let later = LaterTasks::default();
        let begun = later.clone();
        let mut builder = Builder::new_current_thread();
        builder.enable_all().on_thread_park(ReaderRest::take).on_thread_unpark(move || begun.begin());
        let runtime = builder.build()?;
        let (handle, engine) = (runtime.handle().clone(), Arc::clone(engine));
        let own = {
            let _inside = handle.enter();
            engine.with_own_connections().map_or_else(|| Arc::clone(&engine), Arc::new)
        };
        let (end, mut ended) = oneshot::channel();
        let of_thread = EndOfTasks(later.clone());
        let thread = start_thread("reader", move || {
            let (_raised, EndOfTasks(begun)) = (pacing.raise(), &of_thread);
            // Its end is that of the readers, whoever drops them.
            runtime.block_on(async {
                while timeout(BEGINS_WITHIN, &mut ended).await.is_err() {
                    begun.begin();
                }
            });
        })?;
        let thread = ReaderThread { later, end: Some(end), thread: Some(thread) };
        Ok(Self { engine: own, runtime: handle, thread: Some(thread) })
    }

    /// Runs a task. Where that `can_wait`, it begins as this reader next looks for bytes.
    fn run(&self, task: impl Future<Output = ()> + Send + 'static, can_wait: bool) {
        match &self.thread {
            Some(thread) if can_wait => thread.later.add(task.boxed()),
            _ => _ = self.runtime.spawn(task),
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
    pub(super) progress: Arc<Progress>,
    pub(super) cancel: CancellationToken,
    /// Receiver of requests that have ended.
    pub(super) ended: mpsc::UnboundedSender<EndedRequest>,
}

impl<E: Engine> Sender<E> {
    /// Gives a request to its reader, which sends it now. It got a slot when it was `admitted`.
    pub(super) fn send(self: &Arc<Self>, released: DispatchedRequest, admitted: Option<Timestamp>) {
        let DispatchedRequest { ready: ReadyRequest { request, prepared, .. }, dispatched, .. } = released;
        self.hand_over(request, prepared, (dispatched, admitted), None, false);
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
        let mut answer = LiveAnswer::begin(&*self.readers.of_request(&request).engine, prepared.clone(), self.clock);
        let is_written = answer.answer.send_now();
        // Nobody counts it where the run has ended meanwhile: it is dropped, and its connection closed.
        if tell(ready) {
            self.hand_over(request, prepared, (dispatched, None), Some(answer), is_written);
        }
    }

    fn hand_over(
        self: &Arc<Self>,
        request: PlannedRequest,
        prepared: PreparedRequest,
        (dispatched, admitted): (Timestamp, Option<Timestamp>),
        answer: Option<LiveAnswer<E::Answer>>,
        is_written: bool,
    ) {
        let (sender, work) = (Arc::clone(self), prepared.work);
        let held = HeldRequest { sender, request, work, dispatched, admitted, finished: None };
        let task = async move {
            let mut held = held;
            let Self { readers, clock, timeouts, retries, progress, cancel, .. } = &*held.sender;
            let rules = ClientRules { timeouts: *timeouts, retries: retries.as_deref() };
            let engine = &*readers.of_request(&request).engine;
            let context = RequestContext { engine, clock: *clock, rules, progress, cancel };
            held.finished = Some(held.begun().execute(prepared, answer, context).await);
        };
        self.readers.of_request(&request).run(task, is_written);
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
