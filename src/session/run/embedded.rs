//! The embedded mock: which deployment it models.

use crate::mock::Backend;
use crate::record::DeploymentFacts;
use crate::session::console::{Printer, Stop};
use crate::session::settings::{RunSettings, ServerAddress};
use crate::simulator::{Deployment, Hardware};
use crate::workload::WorkloadSpec;

/// Hardware that is modelled by default. It serves an 8B model at tens of requests per second, and so most workloads at
/// their own rate.
const DEFAULT_HARDWARE: &str = "h100";
/// The model that a team is likely to try first.
const DEFAULT_MODEL: &str = "llama-3.1-8b";

/// Returns the hardware of a server that is modelled, where none is named. It is that which the workload recommends,
/// else the default.
pub(crate) fn hardware_for(spec: Option<&WorkloadSpec>) -> Result<Hardware, Stop> {
    match spec.and_then(|spec| Some((&spec.name, spec.mock_hardware.as_deref()?))) {
        Some((workload, name)) => known(&format!("`mock_hardware` of `{workload}`"), name),
        None => known("--hardware", DEFAULT_HARDWARE),
    }
}

/// Returns the facts of what the embedded mock models, all of it filled in. They are what the user says of the
/// deployment, else the hardware that the workload recommends, else the defaults.
pub(super) fn facts(typed: &DeploymentFacts, spec: &WorkloadSpec) -> Result<DeploymentFacts, Stop> {
    let usual = || hardware_for(Some(spec)).map(|hardware| hardware.name.to_owned());
    let hardware = Some(typed.hardware.clone().map_or_else(usual, Ok)?);
    let deployment = deployment(&DeploymentFacts { hardware, ..typed.clone() })?;
    Backend::new(&deployment, None).map_err(Stop::usage)?;
    Ok(DeploymentFacts {
        hardware: Some(deployment.hardware.name.to_owned()),
        gpus: Some(deployment.tensor_parallel),
        serving_model: Some(deployment.model.name.to_owned()),
        precision: Some(deployment.weights.to_string()),
        async_scheduling: typed.async_scheduling.or(Some(true)),
        ..typed.clone()
    })
}

/// Says what the embedded mock models, where that is the server.
pub(super) fn announce(settings: &RunSettings, spec: &WorkloadSpec, printer: Printer) {
    let ServerAddress::EmbeddedMock(facts) = &settings.server.address else { return };
    let Ok(deployment) = deployment(facts) else { return };
    let recommended = spec.mock_hardware.as_deref() == Some(deployment.hardware.name);
    let why = if recommended { ", as the workload recommends" } else { "" };
    printer.words(&format!("embedded mock: {deployment}{why} (--hardware models another)"));
}

/// The deployment with these facts, the defaults where they say nothing.
pub(super) fn deployment(facts: &DeploymentFacts) -> Result<Deployment, Stop> {
    let DeploymentFacts { hardware, gpus, serving_model, precision, .. } = facts;
    let hardware = known("--hardware", hardware.as_deref().unwrap_or(DEFAULT_HARDWARE))?;
    let model = known("--serving-model", serving_model.as_deref().unwrap_or(DEFAULT_MODEL))?;
    let mut deployment = Deployment::new(hardware, model);
    if let Some(precision) = precision {
        deployment.weights = known("--precision", precision)?;
    }
    deployment.tensor_parallel = gpus.unwrap_or(1);
    if deployment.model.divides_over(deployment.tensor_parallel) {
        return Ok(deployment);
    }
    Err(Stop::usage(format!(
        "--gpus {}: the attention heads of {} cannot be shared out evenly\nhint: take 1, 2, 4 or 8",
        deployment.tensor_parallel, deployment.model.name
    )))
}

/// Returns the preset of the simulator that `name` stands for.
fn known<T: std::str::FromStr<Err: std::fmt::Display>>(option: &str, name: &str) -> Result<T, Stop> {
    name.parse().map_err(|error| {
        Stop::usage(format!(
            "{option}: {error}\nhint: the embedded mock models what it has figures for; for your own server any name \
             works (--url)"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(hardware: Option<&str>, gpus: Option<u32>) -> DeploymentFacts {
        DeploymentFacts { hardware: hardware.map(str::to_owned), gpus, ..DeploymentFacts::default() }
    }

    #[test]
    fn what_is_typed_goes_before_what_the_workload_recommends() {
        let spec = WorkloadSpec::load("short_chat").unwrap();
        let own = WorkloadSpec { mock_hardware: None, ..spec.clone() };
        let hardware = |typed, spec| facts(&typed, spec).unwrap().hardware.unwrap();
        assert_eq!(hardware(typed(None, None), &spec), "l40s");
        assert_eq!(hardware(typed(Some("A10G"), None), &spec), "a10g");
        assert_eq!(hardware(typed(None, None), &own), DEFAULT_HARDWARE);
        let all = facts(&typed(None, Some(2)), &spec).unwrap();
        let said = (all.gpus, all.serving_model.as_deref(), all.precision.as_deref());
        assert_eq!(said, (Some(2), Some(DEFAULT_MODEL), Some("bf16")));
        assert_eq!(all.async_scheduling, Some(true), "vLLM's default");
        let synchronous = DeploymentFacts { async_scheduling: Some(false), ..typed(None, None) };
        assert_eq!(facts(&synchronous, &spec).unwrap().async_scheduling, Some(false));
    }

    #[test]
    fn what_the_mock_cannot_model_is_refused_with_what_it_can() {
        let spec = WorkloadSpec::load("short_chat").unwrap();
        let refusal = |facts: DeploymentFacts| super::facts(&facts, &spec).unwrap_err().message().to_owned();
        let hardware = refusal(typed(Some("h10"), None));
        assert!(hardware.contains("--hardware: ") && hardware.contains("did you mean `h100`?"), "{hardware}");
        assert!(refusal(typed(None, Some(3))).contains("--gpus 3: "));
        let too_large = DeploymentFacts { serving_model: Some("llama-3.1-405b".to_owned()), ..typed(None, None) };
        let too_large = refusal(too_large);
        assert!(too_large.contains("llama-3.1-405b"), "{too_large}");
        let spec = WorkloadSpec { mock_hardware: Some("l40x".to_owned()), ..spec.clone() };
        let own = facts(&typed(None, None), &spec).unwrap_err().message().to_owned();
        assert!(own.contains("`mock_hardware` of `short_chat`: ") && own.contains("`l40s`"), "{own}");
    }
}
