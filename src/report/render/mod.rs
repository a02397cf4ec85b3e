//! Documents as bytes: one renderer for each medium, none of which knows what a result is.

mod bars;
mod html;
mod markdown;
mod picture;
mod printable;
#[cfg(test)]
mod tests;
mod text;

pub use html::html;
#[cfg(test)]
pub(in crate::report) use html::tests::{self as html_tests, assert_page};
pub use markdown::markdown;
pub(crate) use picture::{Ground, picture, raster};
pub use printable::printable;
pub use text::{Colour, Extent, Style, text};
