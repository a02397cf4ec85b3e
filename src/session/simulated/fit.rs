//! The model of a server taken from runs that were measured.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::model::Described;
use crate::analysis::{Quantile, async_scheduling};
use crate::experiment::{CannotFit, CostKind, CostModel, EngineFit, Grade, MeasuredRun};
use crate::record::{DeploymentFacts, EngineFacts, EngineKind, PlanCheck, RunHeader, RunLog};
use crate::session::console::{Printer, Stop};
use crate::session::stored_run::{read_log, runs_in};
use crate::simulator::{BatchingConfig, Deployment, EngineModel, StepTime};
use crate::units::percent;

/// Blocks of a KV cache of unknown size: more than any run fills.
const ENDLESS: u64 = 1 << 22;
/// Longest context of a server that does not report it, tokens.
const LONGEST: u32 = 1 << 20;

/// Fits the engine of a model to `runs`. `describe` makes the model from what is known of the servers of these. A poor
/// fit is returned too.
pub(crate) fn fitted_to(
    runs: &[MeasuredRun],
    describe: impl FnOnce(&[DeploymentFacts]) -> Result<Described, Stop>,
    printer: Printer,
) -> Result<(Described, EngineFit), Stop> {
    let Some(first) = runs.first() else {
        return Err(Stop::usage("--fit: no runs are in there\nhint: name the folders of runs, or that of a sweep"));
    };
    runs.iter().try_for_each(|run| of_one_server(first, run).and_then(|()| of_its_plan(run)))?;
    let known: Vec<_> = runs.iter().map(|run| facts(&run.log.header)).collect();
    let mut described = describe(&known)?;
    let EngineModel::Batching(config) = &described.fleet.engine else {
        return Err(Stop::usage("--fit needs a batching engine to fit\nhint: leave out --ttft and --itl"));
    };
    let mut config = config.clone();
    let by_physics = match &config.step_time {
        StepTime::Roofline(roofline) if described.names_both => {
            by_physics(runs, &config, roofline.deployment(), printer)?
        }
        _ => None,
    };
    let fit = if let Some(fit) = by_physics {
        fit
    } else {
        let reported = first.log.header.engine().max_model_len.and_then(|tokens| u32::try_from(tokens).ok());
        config.kv_blocks = ENDLESS;
        if !described.names_context {
            config.limits.max_model_len = reported.unwrap_or(LONGEST);
        }
        for name in ["hardware", "serving_model", "precision", "kv_cache_tokens", "tensor_parallel_size"] {
            described.facts.remove(name);
        }
        described.facts.insert("max_model_len".to_owned(), json!(config.limits.max_model_len));
        described.model.clone_from(&first.log.header.engine().model);
        fitted(runs, &config, &CostModel::Linear)?
    };
    described.fleet = fit.applied_to(&described.fleet);
    described.max_model_len = Some(u64::from(config.limits.max_model_len));
    let names: Vec<&str> = runs.iter().map(|run| run.name.as_str()).collect();
    described.facts.insert("fitted_to".to_owned(), json!(names.join(", ")));
    described.facts.insert("fit_grade".to_owned(), json!(fit.grade));
    for (name, quantile) in [("fit_median_off", Quantile::P50), ("fit_p99_off", Quantile::P99)] {
        if let Some(off) = fit.worst(quantile).filter(|off| off.is_finite()) {
            described.facts.insert(name.to_owned(), json!(off));
        }
    }
    for cost in &fit.costs {
        if let (Ok(kind), Some(value)) = (serde_json::to_value(cost.kind), cost.value)
            && let Some(kind) = kind.as_str()
        {
            described.facts.insert(format!("fitted_{kind}"), json!(value));
        }
    }
    Ok((described, fit))
}

/// Returns what is said of the server of a run, and whether it schedules asynchronously. It is said by its user, by
/// itself, by what was modelled; else it is as vLLM does by default. Of other engines nothing is known, and they are
/// taken not to.
fn facts(header: &RunHeader) -> DeploymentFacts {
    let EngineFacts { modelled, server_version, .. } = header.engine();
    let facts = header.deployment.clone();
    let on_cpu = facts.hardware.as_ref().is_some_and(|name| name.to_lowercase().contains("cpu"));
    let usual = || match header.engine().kind() {
        _ if !modelled.is_empty() => modelled.contains_key("async_scheduling"),
        // An embedded mock says it; one of an older skyline did not, and has its number of GPUs in the log.
        Some(EngineKind::Mock) => facts.gpus.is_none(),
        Some(EngineKind::Vllm) => !on_cpu && !before_0_14(server_version.as_deref().unwrap_or_default()),
        _ => false,
    };
    DeploymentFacts { async_scheduling: async_scheduling(header).or_else(|| Some(usual())), ..facts }
}

/// Whether vLLM of this version schedules asynchronously only if it is asked to. A mock's version, 0.1, is
/// none of vLLM's.
fn before_0_14(version: &str) -> bool {
    let minor = version.trim_start_matches('v').strip_prefix("0.").and_then(|rest| rest.split('.').next());
    minor.and_then(|minor| minor.parse::<u32>().ok()).is_some_and(|minor| (2..14).contains(&minor))
}

/// Refuses a run whose log is damaged or is not that of its plan. An engine is fitted to what was sent.
fn of_its_plan(run: &MeasuredRun) -> Result<(), Stop> {
    let what = match &run.log.plan_check {
        Some(PlanCheck::Differs { first, .. }) => {
            format!("the log of {} is not that of its plan: {}", run.name, first.join("; "))
        }
        _ => match run.log.damage.warning() {
            Some(damage) => format!("{}: {damage}", run.name),
            None => return Ok(()),
        },
    };
    let hint = "hint: fit the log as it was written, or leave this run out";
    Err(Stop::usage(format!("{what}\n{hint}")))
}

/// Refuses runs of which the facts say that different servers answered.
fn of_one_server(first: &MeasuredRun, other: &MeasuredRun) -> Result<(), Stop> {
    let named = |run: &MeasuredRun| {
        let DeploymentFacts { hardware, gpus, serving_model, precision, async_scheduling, .. } = facts(&run.log.header);
        [
            ("hardware", hardware),
            ("gpus", gpus.map(|gpus| gpus.to_string())),
            ("serving model", serving_model),
            ("precision", precision),
            ("async scheduling", async_scheduling.map(|on| on.to_string())),
            ("model", Some(run.log.header.engine().model.clone())),
        ]
    };
    for ((name, one), (_, two)) in named(first).into_iter().zip(named(other)) {
        if let (Some(one), Some(two)) = (one, two)
            && one != two
        {
            return Err(Stop::usage(format!(
                "--fit: {} has {name} {one}, {} has {two}: one server cannot have answered both\n\
                 hint: fit the runs of each server by themselves",
                first.name, other.name
            )));
        }
    }
    Ok(())
}

/// Fits an engine by physics, or by a sum of costs where that does better. `None` where the datasheet does not allow
/// what was measured.
fn by_physics(
    runs: &[MeasuredRun],
    config: &BatchingConfig,
    deployment: &Deployment,
    printer: Printer,
) -> Result<Option<EngineFit>, Stop> {
    let found = fitted(runs, config, &CostModel::Roofline(Box::new(deployment.clone())))?;
    if let Some(cost) = found.beyond_datasheet() {
        let what = if cost.kind == CostKind::ComputeEfficiency { "arithmetic" } else { "bandwidth" };
        printer.words(&format!(
            "note: --hardware {}: these runs would take {} of its {what} for {} in {}, more than its datasheet has; \
             the hardware is ignored, and a sum of costs is fitted\nhint: say what served (--hardware, \
             --serving-model, --precision, --tensor-parallel)",
            deployment.hardware.name,
            percent(cost.value.unwrap_or(f64::NAN)),
            deployment.model.name,
            deployment.weights,
        ));
        return Ok(None);
    }
    if found.grade == Grade::Good {
        return Ok(Some(found));
    }
    let other = fitted(runs, config, &CostModel::Linear)?;
    Ok(Some(if other.grade < found.grade { other } else { found }))
}

fn fitted(runs: &[MeasuredRun], config: &BatchingConfig, family: &CostModel) -> Result<EngineFit, Stop> {
    EngineFit::new(runs, config, family).map_err(|error| match error {
        CannotFit::TooLittle(_) => Stop::usage(error),
        CannotFit::Fleet(_) => Stop::impossible(error),
    })
}

/// The runs at these paths: of a folder of several, all that are in it.
pub(crate) fn runs_to_fit(paths: &[PathBuf]) -> Result<Vec<MeasuredRun>, Stop> {
    let mut runs = Vec::new();
    for path in paths {
        for folder in folders(path)? {
            let log = read_log(&folder)?;
            let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or("run");
            runs.push(MeasuredRun { name: name.to_owned(), log });
        }
    }
    Ok(runs)
}

/// The folder of a run, or those inside the folder of several, by name.
fn folders(path: &Path) -> Result<Vec<PathBuf>, Stop> {
    if path.is_file() || path.join(RunLog::FILE_NAME).exists() {
        return Ok(vec![path.to_path_buf()]);
    }
    runs_in(path).map_err(|error| {
        Stop::usage(format!("--fit: cannot read {}: {error}\nhint: name the folder of a run", path.display()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::test_runs::run;

    #[test]
    fn how_a_server_schedules_is_taken_from_its_run_or_from_its_engine() {
        let on = |set: &dyn Fn(&mut RunHeader)| {
            let mut header = run(1_000, Vec::new()).header;
            header.engines[0].engine = "vllm".to_owned();
            header.engines[0].server_version = None;
            set(&mut header);
            facts(&header).async_scheduling
        };
        let flag = |value: bool| {
            move |header: &mut RunHeader| {
                let name = "vllm_config.scheduler_config.async_scheduling";
                header.engines[0].serving_flags.insert(name.to_owned(), json!(value));
            }
        };
        let engine = |name: &'static str| move |header: &mut RunHeader| header.engines[0].engine = name.to_owned();
        assert_eq!(on(&|_| ()), Some(true), "vLLM's default");
        assert_eq!(on(&flag(false)), Some(false));
        assert_eq!(on(&|header| header.deployment.hardware = Some("EPYC CPU".to_owned())), Some(false));
        assert_eq!(on(&engine("sglang")), Some(false));
        assert_eq!(on(&engine("mock")), Some(true), "a mock that was started by itself");
        let of_version = |version: &'static str| {
            move |header: &mut RunHeader| header.engines[0].server_version = Some(version.to_owned())
        };
        for (version, expected) in
            [("0.10.2", false), ("v0.13.0", false), ("0.14.0", true), ("0.1.0", true), ("1.0", true)]
        {
            assert_eq!(on(&of_version(version)), Some(expected), "vLLM {version}");
        }
        let typed = |header: &mut RunHeader| {
            flag(false)(header);
            header.deployment.async_scheduling = Some(true);
        };
        assert_eq!(on(&typed), Some(true), "the user is believed first");
        let older = |header: &mut RunHeader| {
            engine("mock")(header);
            header.deployment.gpus = Some(1);
        };
        assert_eq!(on(&older), Some(false), "the embedded mock of an older log");
        let simulated = |header: &mut RunHeader| {
            header.engines[0].modelled.insert("hardware".to_owned(), json!("l40s"));
        };
        assert_eq!(on(&simulated), Some(false), "a simulated run of an older log");
        let planned_ahead = |header: &mut RunHeader| {
            header.engines[0].modelled.insert("async_scheduling".to_owned(), json!(true));
        };
        assert_eq!(on(&planned_ahead), Some(true));
    }
}
