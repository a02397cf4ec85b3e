//! `skyline simulate`: what it prints, what it keeps, how it answers mistakes.

mod limits;
mod model;
mod results;

use serde_json::Value;

use crate::support::Desk;

/// Lines printed of a simulation as JSON, without a word beside it.
fn json(desk: &Desk, arguments: &[&str]) -> Value {
    let out = desk.skyline(arguments).assert().code(0).stderr("");
    serde_json::from_slice(&out.get_output().stdout).unwrap()
}
