//! Ctrl-C, from the first moment of the process to its last.
//!
//! While a run is on, the first stops releases and drains, the second cuts off what is under way, and every
//! record is kept; the third, or one at any other time, ends the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use tokio::sync::watch;

use super::printer::Printer;
use crate::runner::Interrupt;

/// What the shell expects of a process that was interrupted.
const EXIT_CODE: i32 = 130;

/// The one listener of the process.
#[derive(Debug)]
pub(super) struct Interrupts {
    wish: watch::Sender<Interrupt>,
    flying: Arc<AtomicBool>,
}

impl Interrupts {
    /// Begins to listen, on a thread of its own: the main thread may be busy with anything.
    pub(super) fn listen(printer: Printer) -> Self {
        let interrupts = Self { wish: watch::Sender::default(), flying: Arc::default() };
        let (wish, flying) = (interrupts.wish.clone(), Arc::clone(&interrupts.flying));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        std::thread::spawn(move || match runtime {
            Ok(runtime) => runtime.block_on(async {
                while tokio::signal::ctrl_c().await.is_ok() {
                    heed(&wish, flying.load(Relaxed), printer);
                }
            }),
            Err(error) => tracing::warn!("Ctrl-C ends the run without a report: {error}"),
        });
        interrupts
    }

    /// From here on a run is on: interrupts are wishes.
    pub(super) fn run_begins(&self) -> watch::Receiver<Interrupt> {
        self.flying.store(true, Relaxed);
        self.wish.subscribe()
    }

    /// The run is over: an interrupt ends the process again.
    pub(super) fn run_ends(&self) {
        self.flying.store(false, Relaxed);
    }
}

fn heed(wish: &watch::Sender<Interrupt>, flying: bool, printer: Printer) {
    let so_far = *wish.borrow();
    match so_far {
        Interrupt::None if flying => {
            printer.words(
                "stopping: nothing more is sent, answers under way are awaited; Ctrl-C again cuts them off",
            );
            wish.send_replace(Interrupt::StopReleasing);
        }
        Interrupt::StopReleasing if flying => {
            printer.words("leaving: answers under way are cut off, every record is kept");
            wish.send_replace(Interrupt::Leave);
        }
        _ => std::process::exit(EXIT_CODE),
    }
}
