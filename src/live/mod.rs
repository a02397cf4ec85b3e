//! Shows a run on the screen while it is on.

mod count_line;
mod line;

pub use count_line::CountLine;
pub use line::{LiveLine, Screen};
