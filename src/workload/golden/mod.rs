//! Golden prompts: questions whose answers are known, asked before a run and under its load.

mod check;
mod expect;

pub use check::GoldenCheck;
pub use expect::{Expect, Pattern};
