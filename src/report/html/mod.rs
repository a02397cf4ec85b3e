//! Pages: one file each, that needs nothing from elsewhere and runs nothing.

mod ab;
mod compare;
mod parts;
mod shell;
mod sweep;

pub use ab::ab_page;
pub use compare::compared_page;
pub use sweep::sweep_page;
