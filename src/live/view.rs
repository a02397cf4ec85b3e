//! Shows a run, or a step of one, from its beginning to its end.

use std::sync::mpsc::{self, Receiver};
use std::thread::JoinHandle;

use super::dashboard;
use super::line::ProgressLine;
use super::screen::Screen;
use super::watched::WatchedRun;
use crate::clock::start_thread;

/// The live view of a run, or of a step of one. Dropping it removes it from the screen.
#[derive(Debug)]
pub(crate) struct LiveView {
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl LiveView {
    /// Shows `watched` until dropped.
    pub(crate) fn start(screen: Screen, watched: WatchedRun) -> Self {
        Self::showing(screen, "live view", move |screen, stopped| match screen {
            Screen::Quiet => {}
            Screen::Dashboard => dashboard::show(&watched, stopped),
            Screen::Line => ProgressLine::new(&watched).redraw(stopped),
            Screen::Plain => ProgressLine::new(&watched).print(stopped),
        })
    }

    /// Calls `show` on a thread of this name with the screen that fits. `show` also gets what hangs up when this value
    /// is dropped.
    pub(super) fn showing(
        screen: Screen,
        name: &str,
        show: impl FnOnce(Screen, &Receiver<()>) + Send + 'static,
    ) -> Self {
        let (stop, stopped) = mpsc::channel();
        let thread = match screen {
            Screen::Quiet => None,
            _ => start_thread(name, move || show(screen.fitting(), &stopped)).ok(),
        };
        Self { stop: Some(stop), thread }
    }
}

impl Drop for LiveView {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
