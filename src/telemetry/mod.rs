//! What the server and its devices tell of themselves: pages of metrics, read while a run is on, on the run's own clock.

mod find;
mod latest;
mod names;
mod scrape;
mod taken;
#[cfg(test)]
mod tests;

pub use find::FoundPage;
pub use latest::LatestReadings;
pub use scrape::{ScrapeTimes, Scraper};
