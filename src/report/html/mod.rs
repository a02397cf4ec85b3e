//! Pages: one file each, that needs nothing from elsewhere and runs nothing.

mod parts;
mod run;

#[cfg(test)]
mod tests;
mod told;

use crate::report::render::shell;

pub use run::run_page;
