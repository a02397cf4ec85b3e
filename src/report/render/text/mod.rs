//! Documents as text for a terminal or a file: wrapped, coloured where wanted, safe to print.

mod blocks;
mod brief;
mod grid;
mod lines;
#[cfg(test)]
mod tests;

pub use blocks::{Extent, text};
pub(in crate::report::render) use lines::wrap;
pub use lines::{Colour, Style};
