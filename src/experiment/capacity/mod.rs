//! How many instances a rate needs, and what they cost: sweeps turned into offers, and the cheapest that keeps the
//! contract.

mod instance;
mod offer;

pub use instance::{Basis, CapacityTarget};
pub use offer::{Candidate, CapacityPlan, ComparedBy, NoOffer, Offer};
