//! Metrics that the server and its devices report, read during a run on the run's clock.

mod find;
mod latest;
mod scrape;
mod taken;
#[cfg(test)]
mod tests;

pub use find::FoundPage;
pub use latest::LatestReadings;
pub use scrape::{ScrapeTimes, Scraper};
