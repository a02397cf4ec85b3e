//! Shows a run on the screen while it is on.

mod alt_screen;
mod dashboard;
mod echo_guard;
mod line;
mod provisional;
mod screen;
mod view;
mod watched;

pub(crate) use alt_screen::{LineWriter, leave, say};
pub(crate) use line::{CountLine, StepLine};
pub(crate) use screen::Screen;
pub(crate) use view::LiveView;
pub(crate) use watched::WatchedRun;
