//! Ctrl-C, from the first moment of the process to its last.
//!
//! While a run is on, the first stops releases and drains, the second cuts off what is under way, and every
//! record is kept; the third, or one at any other time, ends the process. Of several runs one is always on: the first
//! Ctrl-C spares those that have not begun, and what is done is reported.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use tokio::sync::watch;

use crate::live;
use crate::runner::Interrupt;
use crate::session::printer::Printer;

/// What the shell expects of a process that was interrupted.
const EXIT_CODE: i32 = 130;

/// The one listener of the process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupts {
    wish: watch::Sender<Interrupt>,
    /// A run is on.
    flying: Arc<AtomicBool>,
    /// Several runs are: there is something to report between them too.
    series: Arc<AtomicBool>,
}

impl Interrupts {
    /// Begins to listen, on a thread of its own: the main thread may be busy with anything.
    pub(crate) fn listen(printer: Printer) -> Self {
        let interrupts = Self::default();
        let heard = interrupts.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        std::thread::spawn(move || match runtime {
            Ok(runtime) => runtime.block_on(async {
                while tokio::signal::ctrl_c().await.is_ok() {
                    heard.heed(printer);
                }
            }),
            Err(error) => tracing::warn!("Ctrl-C ends the run without a report: {error}"),
        });
        interrupts
    }

    /// From here on several runs are on, one after another, until the process ends: interrupts are wishes.
    pub(crate) fn series_begins(&self) {
        self.series.store(true, Relaxed);
    }

    /// Whether no other run is to begin.
    pub(crate) fn stop_is_wished(&self) -> bool {
        *self.wish.borrow() != Interrupt::None
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

    /// From here on a run is on: interrupts are wishes. One that came since the run before is told to this one.
    pub(crate) fn run_begins(&self) -> watch::Receiver<Interrupt> {
        self.flying.store(true, Relaxed);
        let mut wishes = self.wish.subscribe();
        if self.stop_is_wished() {
            wishes.mark_changed();
        }
        wishes
    }

    /// The run is over: an interrupt ends the process again, unless several are on.
    pub(crate) fn run_ends(&self) {
        self.flying.store(false, Relaxed);
    }

    /// Takes one interrupt.
    fn heed(&self, printer: Printer) {
        let heeded = self.flying.load(Relaxed) || self.series.load(Relaxed);
        let so_far = *self.wish.borrow();
        match so_far {
            Interrupt::None if heeded => {
                printer.words(
                    "stopping: nothing more is sent, answers under way are awaited; Ctrl-C again cuts them off",
                );
                self.wish.send_replace(Interrupt::StopReleasing);
            }
            Interrupt::StopReleasing if heeded => {
                printer.words("leaving: answers under way are cut off, every record is kept");
                self.wish.send_replace(Interrupt::Leave);
            }
            _ => {
                live::leave();
                std::process::exit(EXIT_CODE)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_two_of_several_runs_an_interrupt_is_a_wish_and_the_next_run_knows_it() {
        let interrupts = Interrupts::default();
        interrupts.series_begins();
        let mut first = interrupts.run_begins();
        assert!(!first.has_changed().unwrap());
        interrupts.run_ends();
        // By itself a run that is over would leave nothing to wish for: this would end the process.
        interrupts.heed(Printer);
        assert!(interrupts.stop_is_wished());
        let mut next = interrupts.run_begins();
        assert!(next.has_changed().unwrap());
        assert_eq!(*next.borrow_and_update(), Interrupt::StopReleasing);
        interrupts.heed(Printer);
        assert_eq!(*next.borrow_and_update(), Interrupt::Leave);
        assert_eq!(*first.borrow_and_update(), Interrupt::Leave);
    }
}
