//! The figures of a run as series for systems that watch servers: families of gauges with labels.

mod families;
mod openmetrics;
mod otlp;
#[cfg(test)]
mod tests;

pub(crate) use openmetrics::openmetrics;
pub(crate) use otlp::otlp_json;
pub(super) use otlp::{attribute, resource};
