//! When each request leaves and what it says: a workload drawn into a schedule.

mod request;

pub use request::{Prompt, RequestSpec};
