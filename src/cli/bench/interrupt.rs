//! Ctrl-C: the first stops releases and drains, the second leaves at once; records are kept either way.

use tokio::sync::watch;

use crate::cli::printer::Printer;
use crate::runner::Interrupt;

/// Listens for interrupts in the current runtime until the receiver is gone.
pub(super) fn listen(printer: Printer) -> watch::Receiver<Interrupt> {
    let (wish, receiver) = watch::channel(Interrupt::None);
    tokio::spawn(async move {
        for (wanted, said) in [
            (
                Interrupt::StopReleasing,
                "stopping: nothing more is sent, answers under way are awaited; Ctrl-C again leaves at once",
            ),
            (Interrupt::Leave, "leaving: answers under way are cut off"),
        ] {
            if tokio::signal::ctrl_c().await.is_err() {
                return;
            }
            printer.words(said);
            wish.send_replace(wanted);
        }
        // Stay, so that the channel does not close while the run is on.
        wish.closed().await;
    });
    receiver
}
