//! A run on the whole terminal.

mod bottom;
mod head;
mod latency;
mod layout;
mod load;
mod palette;
mod seen;
mod server;
mod show;
#[cfg(test)]
mod tests;
mod timelines;

pub(super) use show::show;
