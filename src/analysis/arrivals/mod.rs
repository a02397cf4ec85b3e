//! Whether requests arrived as the workload declares: in the plan, and as they were dispatched.
//!
//! Every declared process is brought to one form: on the clock of its own expected arrivals
//! ([`ExpectedArrivals`]) it is a Poisson process of rate one, so one set of tests ([`Facet`]) fits them all.
//! Only the metronome has no chance in it: each of its arrivals has a moment of its own
//! ([`ConstantArrivals`]). Where each class has a process of its own, each is judged by itself
//! ([`ClassArrivals`]). Delivered arrivals are also compared with the plan itself, request by request
//! ([`ArrivalShift`]).

pub(super) mod beats;
pub(super) mod classes;
pub(super) mod expectation;
pub(super) mod facet;
pub(super) mod figures;
pub(super) mod law;
pub(super) mod process;
pub(super) mod sequence;

#[cfg(test)]
mod tests;
