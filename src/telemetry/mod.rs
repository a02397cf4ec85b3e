//! Metrics that the server and its devices report, read during a run on the run's clock.

mod find;
mod latest;
mod local;
mod prometheus;
mod sampled;
mod scrape;
mod taken;
#[cfg(test)]
pub(crate) mod test_pages;
#[cfg(test)]
mod tests;

pub(crate) use find::FoundPage;
pub(crate) use latest::LatestReadings;
pub(crate) use local::{LocalChoice, LocalDevices, NVML};
pub(crate) use prometheus::Prometheus;
pub(crate) use sampled::read_samples;
pub(crate) use scrape::{ScrapeTimes, Scraper};
