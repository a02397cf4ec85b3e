//! The faults that the mock can inject.

mod chance;
mod fault;

pub use chance::FaultChance;
pub use fault::Fault;

pub(super) use chance::{FaultChances, HEADER, asked};
