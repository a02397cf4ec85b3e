//! One run against a server, from the checks before it to its folder.

mod answers;
mod cache;
mod carried;
mod clocks;
mod connect;
mod consent;
mod context;
mod context_fit;
mod embedded;
mod golden;
mod kept_calibration;
mod load;
mod machine;
mod pages;
mod sending;
mod setup;
#[cfg(test)]
mod tests;
mod together;
mod warm;

pub(crate) use self::connect::ServerConnection;
pub(crate) use self::consent::{announce_load, check_before_load, public_load};
pub(crate) use self::context::{Conditions, RunContext, StoredRun};
pub(crate) use self::embedded::hardware_for;
pub(crate) use self::golden::{Golden, common as common_request, fit as check_golden};
pub(crate) use self::load::PlannedLoad;
pub(crate) use self::machine::{check_series, host_facts};
pub(crate) use self::pages::of_one_server;
pub(crate) use self::setup::CheckedWorkload;
