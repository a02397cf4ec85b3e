//! Shows a run on the screen while it is on.

mod alt_screen;
mod dashboard;
mod echo_guard;
mod line;
mod provisional;
mod screen;
mod view;
mod watched;

pub use alt_screen::{LineWriter, leave, say};
pub use line::{CountLine, StepLine};
pub use screen::Screen;
pub use view::LiveView;
pub use watched::{Paced, WatchedRun};
