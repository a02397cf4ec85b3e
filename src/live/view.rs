//! Shows a run from its beginning to its end.

use std::sync::mpsc;
use std::thread::JoinHandle;

use super::dashboard;
use super::line::ProgressLine;
use super::screen::Screen;
use super::watched::WatchedRun;

/// The live view of a run; dropping it removes it from the screen.
#[derive(Debug)]
pub(crate) struct LiveView {
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl LiveView {
    /// Shows `watched` until dropped.
    pub(crate) fn start(screen: Screen, watched: WatchedRun) -> Self {
        let (stop, stopped) = mpsc::channel();
        let show = move || match screen.fitting() {
            Screen::Quiet => {}
            Screen::Dashboard => dashboard::show(&watched, &stopped),
            Screen::Line => ProgressLine::new(&watched).redraw(&stopped),
            Screen::Plain => ProgressLine::new(&watched).print(&stopped),
        };
        let thread = match screen {
            Screen::Quiet => None,
            _ => std::thread::Builder::new().name("live view".to_owned()).spawn(show).ok(),
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
