//! One run against a server, from the checks before it to its folder.

mod answers;
mod cache;
mod connect;
mod connections;
mod context;
mod golden;
pub(super) mod machine;
mod pages;
mod plan_check;
mod prompts;
mod setup;
mod start;
mod warm;

pub(crate) use self::connect::{RequestNeeds, ServerConnection};
pub(crate) use self::context::{Conditions, RunContext, StoredRun};
pub(crate) use self::golden::{Golden, fit as check_golden, needs as request_needs};
pub(crate) use self::machine::LoadOption;
pub(crate) use self::pages::of_one_server;
pub(crate) use self::plan_check::check_plan;
pub(crate) use self::setup::CheckedWorkload;
