//! A run in every medium.

mod markdown;
mod page;
mod summary;
mod text;
