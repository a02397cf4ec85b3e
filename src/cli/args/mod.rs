//! Arguments that several verbs share, as typed, and what they mean.

mod dataset;
mod deployment;
mod generator;
mod live;
mod model;
mod run;
mod server;
mod telemetry;
mod trace;
mod validity;
mod workload;

pub(super) use deployment::{DeploymentArgs, label};
pub(super) use generator::{MachineArgs, ShareArgs};
pub(super) use live::LiveArgs;
pub(super) use model::{Described, ModelArgs};
pub(super) use run::RunArgs;
pub(super) use server::{FiledServer, ServerArgs};
pub(super) use trace::SliceArgs;
pub(super) use validity::ValidityArgs;
pub(super) use workload::{LoadArgs, WorkArgs, WorkloadArgs};

use std::num::NonZeroUsize;
use std::time::Duration;

use crate::mock::StopLength;
use crate::units;

/// A duration such as `250ms`, `90s` or `2m`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    units::parse_duration(text)
}

/// A duration of more than nothing.
pub(super) fn some_time(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => Err(format!("`{text}` is no time at all; give more than 0")),
        time => Ok(time),
    }
}

/// A share such as `5%` or `0.05`, whatever it is.
pub(super) fn share(text: &str) -> Option<f64> {
    match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().ok().map(|percent| percent / 100.0),
        None => text.parse().ok(),
    }
}

/// A number above zero.
pub(super) fn above_zero(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value > 0.0 => Ok(value),
        _ => Err(format!("`{text}` is not a number above 0")),
    }
}

/// Zero or a number above it.
fn at_least_zero(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
        _ => Err(format!("`{text}` is not 0 or a number above it")),
    }
}

/// A whole number from 1 on.
fn at_least_one(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| format!("`{text}` is not a whole number from 1 on"))
}

/// Seconds, with or without a unit, above zero.
pub(super) fn seconds(text: &str) -> Result<f64, String> {
    some_time(text).map(|time| time.as_secs_f64())
}

/// A median in tokens and the sigma around it, such as `150,0.8`.
pub(super) fn stop_length(text: &str) -> Result<StopLength, String> {
    let read = || {
        let (median, sigma) = text.split_once(',')?;
        let (median, sigma) = (median.trim().parse::<f64>().ok()?, sigma.trim().parse::<f64>().ok()?);
        let sound = (1.0..=1e6).contains(&median) && (0.0..=5.0).contains(&sigma);
        sound.then_some(StopLength { median, sigma })
    };
    read().ok_or_else(|| {
        format!("`{text}` is not a median of 1 to 1,000,000 tokens and a sigma of 0 to 5, such as 150,0.8")
    })
}
