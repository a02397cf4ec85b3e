//! Results in every format, and results of other tools.

mod foreign;
mod formats;
mod listing;
#[cfg(target_os = "linux")]
mod memory;
mod screen;
