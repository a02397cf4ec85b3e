//! Pages: one file each, that needs nothing from elsewhere and runs nothing.

mod ab;
mod capacity;
mod compare;
mod compare_sweeps;
mod matrix;
mod parts;

mod sweep;
#[cfg(test)]
mod tests;
mod told;

use crate::report::render::shell;

pub use ab::ab_page;
pub use capacity::capacity_page;
pub use compare::compared_page;
pub use compare_sweeps::compared_sweeps_page;
pub use matrix::matrix_page;
pub use sweep::sweep_page;
