//! Builds each request ahead of time, on all cores.
//!
//! Builders draw batches of the plan in turn and write them side by side. A batch has its place in the queue from the
//! moment when it is drawn, so requests come out in order, and no more are ahead than the queue has places.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, mpsc as blocking};

use crate::clock::start_thread;
use crate::engine::{CaptureText, Engine, PreparedRequest};
use crate::generator::{PlannedRequest, Prompt, PromptBuilder, RequestSpec, SessionPlanner};

/// Requests handed over together: waking a thread costs more than preparing a request.
const BATCH: usize = 32;
/// Batches prepared ahead.
const LOOK_AHEAD: usize = 16;

/// A flag for panics of threads that prepare or dispatch requests. A clone dropped by such a panic raises it.
#[derive(Clone, Debug, Default)]
pub(super) struct FeedWitness(Arc<AtomicBool>);

impl FeedWitness {
    /// The state of these threads.
    ///
    /// # Errors
    ///
    /// When one of them has panicked.
    pub(super) fn check(&self) -> io::Result<()> {
        let words = "skyline itself failed: a thread that prepares or sends requests has panicked, so a part of the \
            plan was not sent\nhint: please report this, with the message of the panic";
        if self.0.load(Relaxed) { Err(io::Error::other(words)) } else { Ok(()) }
    }
}

impl Drop for FeedWitness {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Relaxed);
        }
    }
}

/// A request with its body, ready to be dispatched.
pub(super) struct ReadyRequest {
    /// The request's entry in the plan; its prompt is in the body.
    pub(super) request: PlannedRequest,
    /// The request as it is written to the socket.
    pub(super) prepared: PreparedRequest,
    /// The prompt, where the request opens a session whose later turns repeat it.
    pub(super) said: Option<Prompt>,
}

/// A batch that is being built.
type PendingBatch = blocking::Receiver<Vec<ReadyRequest>>;

/// Requests with their prompts and bodies built ahead of time.
pub struct RequestFeed {
    batches: blocking::Receiver<PendingBatch>,
    batch: std::vec::IntoIter<ReadyRequest>,
    /// Plan and writer of later turns; `None` where no request belongs to a session.
    later: Option<(SessionPlanner, Arc<PromptBuilder>)>,
    pub(super) witness: FeedWitness,
}

/// The plan and the means of the threads that build requests.
struct Builders<I, W> {
    /// The plan, and the queue of batches in its order.
    plan: Mutex<(I, blocking::SyncSender<PendingBatch>)>,
    write: W,
    built: AtomicUsize,
    /// Receives one word when enough is built for a run to begin.
    ready: blocking::SyncSender<()>,
}

impl RequestFeed {
    /// Requests that are ready before a run begins, of a plan that has more.
    pub const READY: u64 = (BATCH * LOOK_AHEAD / 2) as u64;

    /// Builds prompts and bodies on threads of its own, about 570 requests ahead. There is one a core, and no more than
    /// half the batches that are ahead. Returns when the first ones are ready. `write` makes requests of what is
    /// planned. `later` plans and writes the later turns of sessions, where the schedule has any.
    ///
    /// # Errors
    ///
    /// When there is no thread for it, or one panics at once.
    pub fn start<E: Engine, P: Send + 'static>(
        engine: Arc<E>,
        plan: impl Iterator<Item = P> + Send + 'static,
        write: impl Fn(P) -> RequestSpec + Send + Sync + 'static,
        later: Option<(SessionPlanner, Arc<PromptBuilder>)>,
    ) -> io::Result<Self> {
        let (batches_in, batches) = blocking::sync_channel(LOOK_AHEAD);
        let (ready, is_ready) = blocking::sync_channel(1);
        let sessions = later.as_ref().map(|(sessions, _)| sessions.clone());
        let write = move |planned| first_request(&*engine, sessions.as_ref(), write(planned));
        let (plan, built) = (Mutex::new((plan, batches_in)), AtomicUsize::new(0));
        let builders = Arc::new(Builders { plan, write, built, ready });
        let witness = FeedWitness::default();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..cores.min(LOOK_AHEAD / 2) {
            let (builders, witness) = (Arc::clone(&builders), witness.clone());
            _ = start_thread("request feed", move || builders.build(&witness))?;
        }
        drop(builders);
        // Half the look-ahead is built, or the whole plan is and the threads have ended.
        let _ = is_ready.recv();
        // The first batch need not be among what is built.
        let first = batches.recv().ok().and_then(|batch: PendingBatch| batch.recv().ok()).unwrap_or_default();
        witness.check()?;
        Ok(Self { batches, batch: first.into_iter(), later, witness })
    }

    /// Whether some requests belong to sessions.
    pub(super) fn has_later(&self) -> bool {
        self.later.is_some()
    }

    /// Takes the plan and the writer of later turns.
    pub(super) fn take_later(&mut self) -> Option<(SessionPlanner, Arc<PromptBuilder>)> {
        self.later.take()
    }

    pub(super) fn next(&mut self) -> Option<ReadyRequest> {
        loop {
            if let Some(ready) = self.batch.next() {
                return Some(ready);
            }
            self.batch = self.batches.recv().ok()?.recv().ok()?.into_iter();
        }
    }
}

impl<P, I: Iterator<Item = P>, W: Fn(P) -> ReadyRequest> Builders<I, W> {
    /// Builds batches until the plan or the run has ended.
    fn build(&self, witness: &FeedWitness) {
        // Witnesses are dropped before what they are of, so that nobody sees the end of it before the panic.
        let _of_plan = witness.clone();
        while let Some((planned, batch_in)) = self.draw() {
            let _of_batch = witness.clone();
            // Nobody takes it where the run has ended.
            let _ = batch_in.send(planned.into_iter().map(&self.write).collect());
            if self.built.fetch_add(1, Relaxed) + 1 == LOOK_AHEAD / 2 {
                let _ = self.ready.send(());
            }
        }
    }

    /// Draws the next part of the plan and its place in the queue. `None` at the end of either.
    fn draw(&self) -> Option<(Vec<P>, blocking::SyncSender<Vec<ReadyRequest>>)> {
        // Another builder has panicked as it drew, and says so.
        let mut plan = self.plan.lock().ok()?;
        let (plan, batches) = &mut *plan;
        let planned: Vec<P> = plan.by_ref().take(BATCH).collect();
        let (batch_in, batch) = blocking::sync_channel(1);
        (!planned.is_empty() && batches.send(batch).is_ok()).then_some((planned, batch_in))
    }
}

/// The request, with its answer's text captured where a later turn may repeat it.
pub(super) fn carried(request: PreparedRequest, goes_on: bool) -> PreparedRequest {
    if goes_on { request.capturing(CaptureText::Yes) } else { request }
}

/// A request of the plan, with its prompt where later turns repeat it.
fn first_request<E: Engine>(engine: &E, sessions: Option<&SessionPlanner>, spec: RequestSpec) -> ReadyRequest {
    let goes_on = sessions.is_some_and(|sessions| sessions.has_next_turn(&spec.planned));
    let prepared = carried(engine.prepare(&spec), goes_on);
    ReadyRequest { request: spec.planned, prepared, said: goes_on.then_some(spec.prompt) }
}
