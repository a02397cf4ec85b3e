//! One run, from its command line to its report.

mod bench;
mod breakers;
mod closed_loop;
#[cfg(target_os = "linux")]
mod guards;
mod killed;
#[cfg(target_os = "linux")]
mod live;
mod marks;
mod objectives;
mod otlp;
mod quality;
mod sessions;
mod shards;
#[cfg(target_os = "linux")]
mod signals;
#[cfg(target_os = "linux")]
mod stolen_time;
mod telemetry;
pub(crate) mod tokens;
mod truth;
mod verdict;
mod watch;
