//! Shows a run on the screen while it is on.

mod alt_screen;
mod count_line;
mod dashboard;
mod echo_guard;
mod in_place;
mod line;
mod provisional;
mod screen;
mod step_line;
mod view;
mod watched;

pub use alt_screen::{LineWriter, leave, say};
pub use count_line::CountLine;
pub use screen::Screen;
pub use step_line::StepLine;
pub use view::LiveView;
pub use watched::{Paced, WatchedRun};
