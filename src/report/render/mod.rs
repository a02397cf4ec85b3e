//! Documents as bytes: one renderer for each medium, none of which knows what a result is.

mod html;
mod markdown;
#[cfg(test)]
mod tests;
mod text;

#[cfg(test)]
pub(in crate::report) use html::assert_page;
pub use html::html;
pub(in crate::report) use html::shell;
pub(in crate::report) use markdown::escape;
pub use markdown::markdown;
pub use text::{Extent, text};
