//! Verbs about variants of a server that a file describes: tables of experiments, and tunings.

pub(super) mod matrix;
pub(super) mod tune;

use std::time::Duration;

use serde::Serialize;

use super::args::{CampaignArgs, FiledServer, TargetArgs};
use crate::engine::DEFAULT_WAIT;
use crate::experiment::matrix::{Variant, VariantServer};
use crate::live::Screen;
use crate::record::{DeploymentFacts, EngineKind};
use crate::session::run::check_series;
use crate::session::settings::{LoadOption, MachineCheck, RunSettings};
use crate::session::{ExperimentDir, Printer, Stop, folder};

/// Refuses a series on an unfit machine, and begins or resumes an experiment. The machine is judged by the `first` of
/// the series' settings. Returns how this machine counts, too.
fn begin(
    campaign: &CampaignArgs,
    first: Option<&RunSettings>,
    (name, engine): (&str, &str),
    manifest: &impl Serialize,
    printer: Printer,
) -> Result<(ExperimentDir, MachineCheck), Stop> {
    first.map_or(Ok(()), |settings| check_series(settings, printer))?;
    let dir = if let Some(folder) = &campaign.resume {
        ExperimentDir::resume(folder, manifest)?
    } else {
        folder::base(&campaign.out)?;
        ExperimentDir::create(&campaign.out, name, engine, manifest)?
    };
    Ok((dir, first.map_or(MachineCheck::Enforced, |settings| settings.machine)))
}

/// Returns how runs against a variant are executed. What the file says takes the place of what was typed. The price of
/// the variant has this currency, and at most so many requests are in flight. `labels` say which run it is.
fn settings(
    target: &TargetArgs,
    (variant, currency, cap): (&Variant, Option<&str>, Option<u64>),
    labels: &[(&str, &str)],
    screen: Screen,
) -> Result<RunSettings, Stop> {
    let filed = &variant.server;
    let engine = filed.engine.as_deref().map(str::parse::<EngineKind>).transpose().map_err(Stop::usage)?;
    let (url, model) = (filed.url.as_deref(), filed.model.as_deref());
    let server = FiledServer { url, engine, model, wait: filed.wait_s.map(Duration::from_secs_f64) };
    let server = target.server.with(server, &format!("variant {}", variant.name))?;
    let mut settings = target.with(server, facts(variant, currency, labels)).settings(LoadOption::InFile, screen)?;
    if settings.deployment.kwh_price.is_some() {
        return Err(Stop::usage(
            "--price-per-kwh: variants are compared by the price of their GPU hours\n\
             hint: put the energy into that price (--gpu-hour), such as 0.21 more for 700 W at 0.30 a kWh",
        ));
    }
    if filed.serve.is_some() || filed.start.is_some() {
        // A command starts the server, which loads its model.
        settings.server.wait.get_or_insert(DEFAULT_WAIT);
    }
    settings.requests.cap(cap.or(settings.requests.caps().max_concurrency));
    Ok(settings)
}

/// Returns the facts that every run's header gives of its variant.
fn facts(variant: &Variant, currency: Option<&str>, labels: &[(&str, &str)]) -> DeploymentFacts {
    let VariantServer { hardware, gpus, serving_model, precision, flags, gpu_hour, .. } = variant.server.clone();
    let own = [Some(("variant", variant.name.as_str())), flags.as_deref().map(|flags| ("flags", flags))];
    let labels = labels.iter().copied().chain(own.into_iter().flatten());
    DeploymentFacts {
        hardware,
        gpus,
        serving_model,
        precision,
        gpu_hour,
        currency: currency.map(str::to_owned),
        labels: labels.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        ..DeploymentFacts::default()
    }
}
