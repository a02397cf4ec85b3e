//! The end of a process that serves until the user ends it.

/// Waits for Ctrl-C, or for the signal with which supervisors end a process. Calls `ready` when neither can be missed.
pub(crate) fn wait_for_the_end(ready: impl FnOnce()) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.and_then(|runtime| runtime.block_on(end(ready)))
}

#[cfg(unix)]
async fn end(ready: impl FnOnce()) -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    ready();
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Ok(())
}

#[cfg(not(unix))]
async fn end(ready: impl FnOnce()) -> std::io::Result<()> {
    ready();
    tokio::signal::ctrl_c().await
}
