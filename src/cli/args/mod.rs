//! Options that several verbs share, as typed, and what they mean.

mod ab;
mod clients;
pub(super) mod config;
mod deployment;
mod experiment;
mod header;
mod model;
mod prices;
mod server;
mod target;
mod trace;
mod values;
mod work;
mod workload;

pub(super) use self::ab::{DesignArgs, SideArgs};
pub(super) use self::clients::note_idle;
pub(super) use self::experiment::{CampaignArgs, LiveArgs, ObjectiveArgs, UndecidedArgs, ValidityArgs};
pub(super) use self::model::{Described, ModelArgs};
pub(super) use self::prices::PriceArgs;
pub(super) use self::server::{FiledServer, ServerArgs};
pub(super) use self::target::TargetArgs;
pub(super) use self::trace::SliceArgs;
pub(super) use self::values::{
    above_zero, one_of, percentile, rates, seconds, share, share_up_to_half, some_time, stop_length, users, whole,
};
pub(super) use self::work::WorkArgs;
pub(super) use self::workload::{LoadArgs, WorkloadArgs};
