//! Shows a run on the screen while it is on.

mod count_line;
mod dashboard;
mod in_place;
mod line;
mod screen;
mod so_far;
mod stage;
mod step_line;
mod typing;
mod view;

pub use count_line::CountLine;
pub use screen::Screen;
pub use stage::{Words, leave, say};
pub use step_line::StepLine;
pub use view::{LiveView, Paced, Watched};
