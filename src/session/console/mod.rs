//! The user at the terminal: words and data for them, why a verb stops and with which exit code, and their Ctrl-C, or
//! SIGTERM or SIGHUP in its place.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::clock::start_thread;
use crate::live;
use crate::report::{Out, printable};
use crate::runner::Interrupt;

/// Writes for a user or a pipe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Printer;

impl Printer {
    /// Data: what a script would read. A reader that has gone away is no error; a full disk is.
    #[allow(clippy::unused_self)] // Only code that was handed the printer may print.
    pub(crate) fn data(self, text: &str) -> Result<(), Stop> {
        let end = if text.ends_with('\n') { "" } else { "\n" };
        let mut out = io::stdout().lock();
        match write!(out, "{text}{end}").and_then(|()| out.flush()) {
            Err(error) if !is_gone(&error) => {
                Err(Stop::impossible(format!("cannot write to standard output: {error}")))
            }
            _ => Ok(()),
        }
    }

    /// Data that is written piece by piece, under the same rules.
    #[allow(clippy::unused_self)] // Only code that was handed the printer may print.
    pub(crate) fn stream(self, write: impl FnOnce(Out<'_>) -> io::Result<()>) -> Result<(), Stop> {
        let mut out = PipeWriter { out: io::BufWriter::new(io::stdout()), gone: false };
        match write(&mut out).and_then(|()| out.flush()) {
            // Writers of tables hide the kind of an error in one of their own.
            Err(error) if !out.gone => Err(Stop::impossible(format!("cannot write to standard output: {error}"))),
            _ => Ok(()),
        }
    }

    /// Words: what only a user reads. They may hold what a server said, which must not steer a terminal.
    #[allow(clippy::unused_self)] // Only code that was handed the printer may print.
    pub(crate) fn words(self, text: &str) {
        text.lines().for_each(|line| live::say(&printable(line)));
    }
}

/// Remembers that its reader has gone away.
struct PipeWriter<W> {
    out: W,
    gone: bool,
}

/// Returns whether the reader of standard output has gone away. The reader is a pipe or a terminal. A terminal that is
/// gone gives the error of a broken disk.
fn is_gone(error: &io::Error) -> bool {
    #[cfg(unix)]
    let hung_up = || {
        use rustix::io::Errno;
        error.raw_os_error() == Some(Errno::IO.raw_os_error())
            && rustix::termios::tcgetattr(io::stdout()).err() == Some(Errno::IO)
    };
    #[cfg(not(unix))]
    let hung_up = || false;
    error.kind() == ErrorKind::BrokenPipe || hung_up()
}

impl<W> PipeWriter<W> {
    fn watch<T>(&mut self, outcome: io::Result<T>) -> io::Result<T> {
        self.gone |= outcome.as_ref().is_err_and(is_gone);
        outcome
    }
}

impl<W: Write> Write for PipeWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes);
        self.watch(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.out.flush();
        self.watch(flushed)
    }
}

/// Makes a file at its size limit (`ulimit -f`) fail as on a full disk. The signal for it ends no process.
pub(crate) fn outlive_file_limits() {
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

/// Exit codes are an interface: scripts and CI decide by them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All is well.
    Fine,
    /// An objective was missed.
    Missed,
    /// The command line or the workload has a mistake.
    Usage,
    /// The run was impossible, or its numbers do not deserve belief.
    Invalid,
    /// The user stopped the run.
    Interrupted,
}

/// Reason why a verb could not do its work. It has a message fit to be read, and the exit code.
#[derive(Debug)]
pub(crate) struct Stop {
    exit: Exit,
    message: String,
    /// The server failed, and nothing on this side.
    of_server: bool,
}

impl Stop {
    /// Returns a stop because of a mistake in what was typed.
    pub(crate) fn usage(message: impl Display) -> Self {
        Self { exit: Exit::Usage, message: message.to_string(), of_server: false }
    }

    /// Returns a stop because what was asked cannot be done.
    pub(crate) fn impossible(message: impl Display) -> Self {
        Self { exit: Exit::Invalid, message: message.to_string(), of_server: false }
    }

    /// Returns a stop by the user.
    pub(crate) fn interrupted(message: impl Display) -> Self {
        Self { exit: Exit::Interrupted, message: message.to_string(), of_server: false }
    }

    /// Returns the stop with what it is about before its message.
    pub(crate) fn about(self, what: &str) -> Self {
        Self { message: format!("{what}: {}", self.message), ..self }
    }

    /// Returns the stop as a failure of the server. The server did not start, did not become ready, or ended.
    pub(crate) fn of_server(self) -> Self {
        Self { of_server: true, ..self }
    }

    pub(crate) fn is_of_server(&self) -> bool {
        self.of_server
    }

    /// The message without its hints.
    pub(crate) fn first_line(&self) -> String {
        self.message.lines().next().unwrap_or_default().to_owned()
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }
}

/// Both values, or all mistakes in them.
pub(crate) fn both<A, B>(one: Result<A, Stop>, other: Result<B, Stop>) -> Result<(A, B), Stop> {
    match (one, other) {
        (Ok(one), Ok(other)) => Ok((one, other)),
        (Err(one), Err(other)) => Err(Stop { message: format!("{}\nerror: {}", one.message, other.message), ..one }),
        (Err(stop), _) | (_, Err(stop)) => Err(stop),
    }
}

/// Fine, or all mistakes as one error, with the exit code of the first.
pub(crate) fn all(outcomes: impl IntoIterator<Item = Result<(), Stop>>) -> Result<(), Stop> {
    outcomes.into_iter().reduce(|one, other| both(one, other).map(drop)).unwrap_or(Ok(()))
}

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
        let mut wishes = self.wish.subscribe();
        // The sender lives as long as this.
        let _ = wishes.wait_for(|wish| *wish != Interrupt::None).await;
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

#[cfg(test)]
mod tests;
