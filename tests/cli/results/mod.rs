//! Results in every format, results of other tools, and audits.

mod audit;
mod foreign;
mod formats;
mod listing;
#[cfg(target_os = "linux")]
mod memory;
mod screen;
