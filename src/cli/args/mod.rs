//! Options that several verbs share, as typed, and what they mean.

mod ab;
mod access_log;
mod clients;
pub(super) mod config;
mod connections;
mod deployment;
mod experiment;
mod model;
mod prices;
mod routing;
mod server;
mod simulated_loads;
mod sweep_loads;
mod target;
mod trace;
mod values;
mod work;
mod workload;

pub(super) use self::ab::{DesignArgs, SideArgs, SimulatedSideArgs};
pub(super) use self::access_log::AccessLogArgs;
pub(super) use self::clients::{ClientLimitArgs, note_idle};
pub(super) use self::experiment::{CampaignArgs, ObjectiveArgs, RunOutputArgs, UndecidedArgs, ValidityArgs};
pub(super) use self::model::{FitArgs, ModelArgs, fit_in_words, predictor, refuse_poor_fit, simulated_tuning};
pub(super) use self::prices::PriceArgs;
pub(super) use self::server::header::variables;
pub(super) use self::server::{FiledServer, ServerArgs};
pub(super) use self::simulated_loads::SimulatedLoads;
pub(super) use self::sweep_loads::SweepLoadArgs;
pub(super) use self::target::{AROUND_ALL, BesideArgs, PROFILED, TargetArgs};
pub(super) use self::trace::SliceArgs;
pub(super) use self::values::{
    above_zero, one_of, seconds, share, share_up_to_half, size, some_time, stop_length, whole,
};
pub(super) use self::work::WorkArgs;
pub(super) use self::workload::{LoadArgs, WorkloadArgs};
