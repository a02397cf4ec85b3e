//! Shows a run on the screen while it is on.

mod line;

pub use line::{LiveLine, Screen};
