//! The figures of a run as series for systems that watch servers: families of gauges with labels.

mod families;
mod openmetrics;
mod otlp;
#[cfg(test)]
mod tests;

pub use openmetrics::openmetrics;
pub use otlp::otlp_json;
