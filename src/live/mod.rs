//! Shows a run on the screen while it is on.

mod alt_screen;
mod dashboard;
mod echo_guard;
mod line;
mod provisional;
mod screen;
mod step;
mod view;
mod watched;
mod wrap;

pub(crate) use alt_screen::{LineWriter, leave, say};
pub(crate) use screen::{Screen, wants_colour};
pub(crate) use step::StepLine;
pub(crate) use view::LiveView;
pub(crate) use watched::WatchedRun;
