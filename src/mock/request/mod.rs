//! Requests: read from a body and checked against what is served.

mod fields;
mod limits;
mod prompt;
mod read;
mod shape;
#[cfg(test)]
mod tests;

pub(super) use fields::{Fields, object};
pub(super) use limits::ServedModels;
pub(super) use prompt::{Prompt, id, token};
pub(super) use read::{Ending, Endpoint, Form, Request, TokenIds, UsageIn};
