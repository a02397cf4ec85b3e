//! Metrics that the server and its devices report, read during a run on the run's clock.

mod find;
mod latest;
mod scrape;
mod taken;
#[cfg(test)]
mod tests;

pub(crate) use find::FoundPage;
pub(crate) use latest::LatestReadings;
pub(crate) use scrape::{ScrapeTimes, Scraper};
