//! What can go wrong on purpose, by name and by chance.

mod chance;
mod fault;

pub use chance::Chance;
pub use fault::Fault;

pub(super) use chance::{Chances, HEADER, asked};
