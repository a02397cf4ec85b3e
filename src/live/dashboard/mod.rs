//! A run on the whole terminal.

mod bottom;
mod charts;
mod head;
mod latency;
mod layout;
mod load;
mod server;
mod show;
#[cfg(test)]
pub(super) mod tests;
mod time_chart;
mod view_state;

pub(super) use show::show;
