//! Results in every format, and results of other tools.

mod foreign;
mod formats;
mod listing;
mod screen;
