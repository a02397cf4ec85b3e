//! Documents as pages: one file each, that needs nothing from elsewhere and runs nothing.

mod blocks;
#[cfg(test)]
mod contrast;
mod sections;
pub(in crate::report) mod shell;
#[cfg(test)]
pub(in crate::report) mod tests;

pub(crate) use sections::html;
