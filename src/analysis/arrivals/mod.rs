//! Whether requests arrived as the workload declares: in the plan, and as they were let go.
//!
//! Every declared process is brought to one form: on the clock of its own expected arrivals ([`Expectation`]) it is a
//! Poisson process of rate one, so one set of tests ([`Facet`]) fits them all. Only the metronome has no chance in
//! it: each of its arrivals has a moment of its own ([`ArrivalBeats`]). Where each class has a process of its own, each
//! is judged by itself ([`ClassArrivals`]). Delivered arrivals are also held against the
//! plan itself, request by request ([`ArrivalShift`]).

mod beats;
mod classes;
mod expectation;
mod facet;
mod figures;
mod hazard;
mod judged;
mod law;
mod repeats;
mod sequence;
mod shift;

pub use beats::ArrivalBeats;
pub use classes::ClassArrivals;
pub use figures::{ArrivalFigures, Untested};
pub use repeats::counts_over_runs;
pub use sequence::{ArrivalFit, ArrivalSequence};
pub use shift::ArrivalShift;

use expectation::Expectation;
use facet::Facet;
use law::{GapLaw, Law};

#[cfg(test)]
mod tests;
