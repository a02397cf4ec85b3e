//! Results as documents: one `document()` for each, and the wording that they share.

mod ab;
mod audit;
mod calibration;
mod check;
mod compare;
mod dry_run;
mod foreign;
mod matrix;
mod models;
mod parts;
mod repeats;
mod results;
mod run;
mod sweep;
mod trace;
mod tune;
mod workloads;

pub use ab::document as ab;
pub use audit::{document as audit, json as audit_json};
pub use calibration::{calibration_json, document as calibration};
pub use check::{CheckedServer, document as check, json as check_json};
pub use compare::{compared, compared_foreign, compared_sweeps};
pub use dry_run::{document as dry_run, with_settings};
pub use foreign::{document as foreign, in_words as foreign_in_words};
pub use matrix::{PlannedRow, document as matrix, matrix_plan};
pub use models::{capacity, engine_fit, fit, predicted_rates, prediction};
pub(crate) use parts::arrivals;
pub(crate) use parts::cells::{bounds, deployment};
pub(crate) use parts::clients;
pub use parts::glossary::glossary;
pub use repeats::document as repeats;
pub(crate) use results::{ListedResult, document as results, json as results_json};
pub use run::document as run;
pub use sweep::document as sweep;
pub use trace::{
    document as trace, json as trace_json, json_of_sessions as sessions_json, of_sessions as sessions_of_file,
};
pub use tune::{document as tune, plan as tune_plan};
pub use workloads::{document as workloads, json as workloads_json};
