//! The terminal's alternate screen, on which the dashboard is drawn, and the way back from it, whatever
//! happens.
//!
//! There is one terminal, so the process has one alternate screen. While it is taken, nothing else may write
//! to standard error: messages appear in the dashboard and are printed when the normal screen is back.

use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use console::Term;
use indicatif::ProgressBar;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen};

use super::echo_guard::EchoGuard;
use super::wrap;
use crate::clock::start_thread;

/// The alternate screen, while it is taken.
static SCREEN: Mutex<Option<ScreenState>> = Mutex::new(None);

/// The line that is redrawn in place, if there is one.
static PROGRESS_BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Installs the panic hook and the signal handler once.
static EXIT_HANDLERS: Once = Once::new();

#[derive(Debug)]
struct ScreenState {
    echo: Option<EchoGuard>,
    said: Vec<String>,
}

/// Locks the state of the screen. No code that holds this lock can panic, so that the panic hook always gets it.
fn taken() -> MutexGuard<'static, Option<ScreenState>> {
    SCREEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The alternate screen; dropping it gives the terminal back.
#[derive(Debug)]
pub(super) struct AltScreen(());

impl AltScreen {
    /// Takes the terminal. `None` where the process has already taken it, or it cannot be written to.
    pub(super) fn enter() -> Option<Self> {
        EXIT_HANDLERS.call_once(install_exit_handlers);
        let mut taken = taken();
        if taken.is_some() || execute!(io::stderr(), EnterAlternateScreen, Hide).is_err() {
            return None;
        }
        *taken = Some(ScreenState { echo: EchoGuard::hide(), said: Vec::new() });
        Some(Self(()))
    }

    /// Whether it is still taken: a panic elsewhere in the program gives the terminal back.
    #[allow(clippy::unused_self)] // Needs the alternate screen.
    pub(super) fn is_taken(&self) -> bool {
        taken().is_some()
    }

    /// The last messages, oldest first.
    #[allow(clippy::unused_self)] // Needs the alternate screen.
    pub(super) fn said(&self, most: usize) -> Vec<String> {
        let taken = taken();
        let said = taken.as_ref().map(|taken| taken.said.as_slice()).unwrap_or_default();
        said[said.len().saturating_sub(most)..].to_vec()
    }
}

impl Drop for AltScreen {
    fn drop(&mut self) {
        leave();
    }
}

/// Gives the terminal back, if it is taken, and prints the messages of that time. A line that is redrawn is removed.
/// Call it before the process ends on another thread than the one that draws.
pub(crate) fn leave() {
    if let Some(bar) = progress_bar().take() {
        bar.finish_and_clear();
    }
    let mut taken = taken();
    let Some(ScreenState { echo, said }) = taken.take() else { return };
    // A terminal that is gone needs nothing back.
    let _ = execute!(io::stderr(), Show, LeaveAlternateScreen);
    if let Some(echo) = echo {
        echo.show();
    }
    for line in &said {
        write_message(line);
    }
}

/// Writes a message to standard error, wrapped where that is a terminal. A closed pipe is no reason to stop.
fn write_message(line: &str) {
    let term = Term::stderr();
    let columns = if term.is_term() { usize::from(term.size().1) } else { 0 };
    let mut err = io::stderr().lock();
    for line in wrap::message(line, columns) {
        let _ = writeln!(err, "{line}");
    }
}

/// Prints a message to standard error, above a line that is redrawn in place. While the dashboard is on, the
/// message appears there and is printed afterwards.
pub(crate) fn say(line: &str) {
    if let Some(taken) = &mut *taken() {
        taken.said.push(line.to_owned());
        return;
    }
    match &*progress_bar() {
        Some(bar) => bar.suspend(|| write_message(line)),
        None => write_message(line),
    }
}

/// The line that is redrawn in place. No code that holds this lock calls [`say`].
pub(super) fn progress_bar() -> MutexGuard<'static, Option<ProgressBar>> {
    PROGRESS_BAR.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Standard error for whatever writes lines by itself, such as diagnostics.
#[derive(Debug, Default)]
pub(crate) struct LineWriter {
    unfinished: Vec<u8>,
}

impl Write for LineWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.unfinished.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let text = String::from_utf8_lossy(&self.unfinished).into_owned();
        text.lines().for_each(say);
        self.unfinished.clear();
        Ok(())
    }
}

impl Drop for LineWriter {
    fn drop(&mut self) {
        // It cannot fail.
        let _ = self.flush();
    }
}

/// A frame under way to the terminal. It gets there whole, or not at all if the terminal has been given back.
#[derive(Debug, Default)]
pub(super) struct FrameBuffer(Vec<u8>);

impl Write for FrameBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let picture = std::mem::take(&mut self.0);
        match &*taken() {
            Some(_) => io::stderr().write_all(&picture),
            None => Ok(()),
        }
    }
}

/// Installs handlers that give the terminal back after a panic or a signal. The signals are those that end the process.
fn install_exit_handlers() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        leave();
        usual(panic);
    }));
    #[cfg(unix)]
    let _ = start_thread("terminal signals", end_on_signals);
}

/// Gives the terminal back on signals that end or suspend the process at once. Then it does what they ask. Those that
/// ask a run to stop, such as Ctrl-C, have their own listener.
#[cfg(unix)]
fn end_on_signals() {
    use rustix::process::Signal;
    use tokio::signal::unix::{SignalKind, signal};

    use super::echo_guard;

    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
    let ended_by = runtime.block_on(async {
        let quit = SignalKind::quit();
        let mut quitted = signal(quit).ok()?;
        let mut stopped = signal(SignalKind::from_raw(Signal::TSTP.as_raw())).ok()?;
        loop {
            tokio::select! {
                _ = quitted.recv() => return Some(quit),
                _ = stopped.recv() => {
                    leave();
                    echo_guard::sleep();
                }
            }
        }
    });
    if let Some(signal) = ended_by {
        leave();
        // The exit code that shells give to a process ended by a signal.
        std::process::exit(128 + signal.as_raw_value());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One test, since the process has one alternate screen.
    #[test]
    fn the_terminal_is_given_back_whatever_happens() {
        let take = || *taken() = Some(ScreenState { echo: None, said: Vec::new() });
        take();
        let stage = AltScreen(());
        say("one");
        {
            let mut words = LineWriter::default();
            write!(words, "two\nth").unwrap();
            writeln!(words, "ree").unwrap();
        }
        // Other tests in this process may print messages too.
        let ours = |line: &String| ["one", "two", "three"].contains(&line.as_str());
        let said: Vec<_> = stage.said(usize::MAX).into_iter().filter(ours).collect();
        assert_eq!(said, ["one", "two", "three"]);
        assert!(AltScreen::enter().is_none(), "two have the terminal");
        drop(stage);
        assert!(taken().is_none(), "dropped");

        take();
        let stage = AltScreen(());
        let panicked = std::thread::spawn(|| {
            EXIT_HANDLERS.call_once(install_exit_handlers);
            panic!("this is how a test panics");
        });
        assert!(panicked.join().is_err());
        assert!(!stage.is_taken(), "a panic elsewhere leaves the terminal taken");
        // What is drawn afterwards is dropped.
        let mut frame_buffer = FrameBuffer::default();
        frame_buffer.write_all(b"a picture").unwrap();
        frame_buffer.flush().unwrap();
        assert!(frame_buffer.0.is_empty() && stage.said(9).is_empty());
    }
}
