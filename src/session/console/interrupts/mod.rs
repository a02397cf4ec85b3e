//! The user's Ctrl-C, or SIGTERM or SIGHUP in its place.

#[cfg(test)]
mod tests;

use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::clock::start_thread;
use crate::live;
use crate::runner::Interrupt;
use crate::session::console::printer::Printer;
use crate::session::console::stop::Stop;

/// The exit code that the shell expects of a process that was interrupted.
const EXIT_CODE: i32 = 130;

/// The one listener of the process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupts {
    wish: watch::Sender<Interrupt>,
    /// A run is on.
    running: Arc<AtomicBool>,
    /// A run has begun.
    begun: Arc<AtomicBool>,
    /// Several runs are: there is something to report between them too.
    series: Arc<AtomicBool>,
    /// The moment when the last signal came.
    heard: Arc<Mutex<Option<Instant>>>,
}

/// A signal other than Ctrl-C that follows one within this time repeats it.
const ECHO: Duration = Duration::from_secs(1);

/// A signal that asks for a stop.
#[derive(Clone, Copy, Debug)]
enum Signal {
    CtrlC,
    #[cfg(unix)]
    Terminate,
    #[cfg(unix)]
    HangUp,
}

impl Interrupts {
    /// Begins to listen, on a thread of its own. The main thread may be busy with anything.
    pub(crate) fn listen(printer: Printer) -> Result<Self, Stop> {
        let interrupts = Self::default();
        let heard = interrupts.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(Stop::impossible)?;
        let listening = start_thread("interrupts", move || {
            let listened = runtime.block_on(each_stop(|signal| heard.hear(signal, Instant::now(), printer)));
            listened.unwrap_or_else(|error| tracing::warn!("signals end the run without a report: {error}"));
        });
        listening.map_err(Stop::impossible).map(|_| interrupts)
    }

    /// Notes that several runs are on, one after another, until the process ends. From here on interrupts are wishes.
    pub(crate) fn series_begins(&self) {
        self.series.store(true, Relaxed);
    }

    /// Whether no other run is to begin.
    pub(crate) fn stop_is_wished(&self) -> bool {
        *self.wish.borrow() != Interrupt::None
    }

    /// Returns why there is no use in waiting for a server. The user wants no other run.
    pub(crate) fn in_vain(&self) -> Option<Stop> {
        self.stop_is_wished().then(|| Stop::interrupted("stopped while the server was awaited"))
    }

    /// Ends when no other run is to begin.
    pub(crate) async fn stop_wished(&self) {
        // The sender lives as long as this.
        let _ = self.wish.subscribe().wait_for(|wish| *wish != Interrupt::None).await;
    }

    /// Ends when not even what is under way is to be awaited.
    pub(crate) async fn leave_wished(&self) {
        let _ = self.wish.subscribe().wait_for(|wish| *wish == Interrupt::Leave).await;
    }

    /// Whether not even what is under way is to be awaited.
    pub(crate) fn leave_is_wished(&self) -> bool {
        *self.wish.borrow() == Interrupt::Leave
    }

    /// From here on a run is on: interrupts are wishes. One that came since the run before reaches this one.
    pub(crate) fn run_begins(&self) -> watch::Receiver<Interrupt> {
        self.running.store(true, Relaxed);
        self.begun.store(true, Relaxed);
        let mut wishes = self.wish.subscribe();
        if self.stop_is_wished() {
            wishes.mark_changed();
        }
        wishes
    }

    /// The run is over: an interrupt ends the process again, unless several are on.
    pub(crate) fn run_ends(&self) {
        self.running.store(false, Relaxed);
    }

    /// Takes a signal, unless it repeats one that was taken. A lost terminal sends SIGHUP more than once (an
    /// interactive shell does, and so does the kernel), and a supervisor may send SIGTERM to each process and to the
    /// group.
    fn hear(&self, signal: Signal, now: Instant, printer: Printer) {
        let before = self.heard.lock().unwrap_or_else(PoisonError::into_inner).replace(now);
        let at_once = before.is_some_and(|before| now.duration_since(before) < ECHO);
        let is_repeat = match signal {
            Signal::CtrlC => false,
            #[cfg(unix)]
            Signal::Terminate => at_once,
            #[cfg(unix)]
            Signal::HangUp => at_once || self.stop_is_wished(),
        };
        if !is_repeat {
            self.heed(printer);
        }
    }

    /// Takes one interrupt.
    fn heed(&self, printer: Printer) {
        let heeded = self.running.load(Relaxed) || self.series.load(Relaxed);
        let so_far = *self.wish.borrow();
        match so_far {
            Interrupt::None if heeded => {
                printer.words(
                    "stopping: no more requests are sent, and answers in flight are awaited; Ctrl-C again cuts them \
                     off",
                );
                self.wish.send_replace(Interrupt::StopReleasing);
            }
            Interrupt::StopReleasing if heeded => {
                printer.words("aborting: answers in flight are cut off, and every record is saved");
                self.wish.send_replace(Interrupt::Leave);
            }
            _ => {
                live::leave();
                printer.words(if heeded {
                    "stopped at once: what was not stored yet is lost"
                } else if self.begun.load(Relaxed) {
                    "stopped: the records of the run are stored, and skyline report makes its report of them"
                } else {
                    "stopped before the run began: none of its requests was sent, and there is no result"
                });
                std::process::exit(EXIT_CODE)
            }
        }
    }
}

/// Calls `heed` at each Ctrl-C, and each SIGTERM and SIGHUP.
#[cfg(unix)]
async fn each_stop(mut heed: impl FnMut(Signal)) -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let hangup = SignalKind::hangup();
    // Under `nohup` a lost terminal ends nothing.
    let is_heeded = !is_ignored(hangup.as_raw_value());
    let mut interrupted = signal(SignalKind::interrupt())?;
    let mut terminated = signal(SignalKind::terminate())?;
    let mut hung_up = if is_heeded { Some(signal(hangup)?) } else { None };
    loop {
        tokio::select! {
            _ = interrupted.recv() => heed(Signal::CtrlC),
            _ = terminated.recv() => heed(Signal::Terminate),
            _ = async { hung_up.as_mut()?.recv().await }, if is_heeded => heed(Signal::HangUp),
        }
    }
}

/// Calls `heed` at each Ctrl-C.
#[cfg(not(unix))]
async fn each_stop(mut heed: impl FnMut(Signal)) -> io::Result<()> {
    loop {
        tokio::signal::ctrl_c().await?;
        heed(Signal::CtrlC);
    }
}

/// Returns whether this process was started so that it ignores the signal of this number. It says so as far as the
/// system reports that.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
