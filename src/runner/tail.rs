//! Load that goes on for something beside a run.

use tokio::sync::oneshot;

/// Load that goes on after all that counts has ended, for something beside the run.
#[derive(Debug)]
pub struct Tail {
    /// Hears when all that counts has ended. It is dropped unheard where the run is stopped before.
    pub begins: Option<oneshot::Sender<()>>,
    /// Ends the run, by a word or when its other end is dropped. It is dropped where the run ends by itself.
    pub over: oneshot::Receiver<()>,
}

impl Tail {
    /// Says that all that counts has ended, the first time. Returns whether somebody waits for it.
    pub(super) fn begin(&mut self) -> bool {
        self.begins.take().is_none_or(|begins| begins.send(()).is_ok())
    }

    /// Waits until it is over; without one for ever.
    pub(super) async fn over(tail: Option<&mut Self>) {
        match tail {
            Some(tail) => drop((&mut tail.over).await),
            None => std::future::pending().await,
        }
    }
}
