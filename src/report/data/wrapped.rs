//! Results that are printed as JSON inside another object.

use serde::Serialize;

use super::json::indented;
use crate::experiment::EngineFit;
use crate::foreign::ForeignRun;

/// Version of the format of [`foreign_json`].
const FOREIGN_SCHEMA: u32 = 2;

/// Runs of other tools as indented JSON with a line break at its end.
pub fn foreign_json(runs: &[ForeignRun]) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct Runs<'a> {
        schema: u32,
        runs: &'a [ForeignRun],
    }
    indented(&Runs { schema: FOREIGN_SCHEMA, runs })
}

/// A result that was predicted with a fitted engine, the fit under `engine_fit`.
pub fn fitted_json(result: &impl Serialize, engine_fit: &EngineFit) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct Fitted<'a, T: Serialize> {
        #[serde(flatten)]
        result: &'a T,
        engine_fit: &'a EngineFit,
    }
    indented(&Fitted { result, engine_fit })
}
