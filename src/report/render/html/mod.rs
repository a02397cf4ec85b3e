//! Documents as pages: one file each, that needs nothing from elsewhere and runs nothing but its own script.

mod blocks;
#[cfg(test)]
mod contrast;
mod page;
#[cfg(test)]
pub(in crate::report) mod tests;

pub use page::html;
