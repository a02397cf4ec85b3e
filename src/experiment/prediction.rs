//! Predicts how a deployment does under a workload.

use std::time::Duration;

use serde::Serialize;

use super::diagnosis::Diagnosis;
use super::engine_fit::EngineFit;
use super::virtual_time::{Bottleneck, LayoutComparison, VirtualRun};
use crate::analysis::{Objective, Summary, summarise};
use crate::generator::{ConcurrencyCaps, Schedule, check_plan};
use crate::record::{Phase, RunHeader, RunLog};
use crate::simulator::{BadFleet, BandwidthMath, EngineModel, Fleet, StepTime};

/// A prediction, as `skyline simulate --json` prints it. Unknown figures are `null`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// Version of this format: [`Prediction::SCHEMA`].
    pub schema: u32,
    /// Upper bounds for one engine; absent where step times or delays are given.
    pub bandwidth_math: Option<BandwidthMath>,
    /// The run's summary, as `skyline bench --json` prints it for a real one.
    pub summary: Summary,
    /// The likely regime of the deployment, as seen by a client.
    pub diagnosis: Diagnosis,
    /// The bottleneck of the deployment.
    pub bottleneck: Bottleneck,
    /// Comparison with the same traffic on the same hardware without pools and behind round robin. Absent for one
    /// server, and where that is what was asked for.
    pub baseline: Option<LayoutComparison>,
    /// The fit of the engine to runs; absent where there is none.
    pub engine_fit: Option<EngineFit>,
}

impl Prediction {
    /// The format that this program writes.
    pub const SCHEMA: u32 = 2;
}

/// Runs `schedule` against `fleet`, and against its baseline where it has one. The schedule is that of the workload of
/// `header`. The log is the run's as it would be stored.
///
/// # Errors
///
/// When the fleet is impossible.
pub fn predict(
    header: RunHeader,
    schedule: Schedule,
    fleet: &Fleet,
    objectives: &[Objective],
) -> Result<(RunLog, Prediction), BadFleet> {
    let run = run_of(&header, schedule);
    let executed = run.execute(&mut *fleet.server()?);
    let bottleneck = Bottleneck::new(&executed, &run.plan);
    let mut log = RunLog::of_requests(header, executed.records, executed.footer);
    log.plan_check = Some(check_plan(&log));
    let summary = summarise(&log, objectives);
    let diagnosis = Diagnosis::of_run(&log, &summary);
    let baseline = match fleet.baseline() {
        None => None,
        Some(plain) => {
            let executed = run.execute(&mut *plain.server()?);
            let plain_log = RunLog::of_requests(log.header.clone(), executed.records, executed.footer);
            let other = summarise(&plain_log, objectives);
            Some(LayoutComparison::new(fleet.layout.to_string(), &summary, plain.layout.to_string(), &other))
        }
    };
    let bandwidth_math = bandwidth_math(fleet, &run);
    let schema = Prediction::SCHEMA;
    let prediction = Prediction { schema, bandwidth_math, summary, diagnosis, bottleneck, baseline, engine_fit: None };
    Ok((log, prediction))
}

/// Runs `schedule` against `fleet` and returns the log of the run. The schedule is that of the workload of `header`.
/// The log is as it would be stored.
///
/// # Errors
///
/// When the fleet is impossible.
pub fn run_virtually(header: RunHeader, schedule: Schedule, fleet: &Fleet) -> Result<RunLog, BadFleet> {
    let executed = run_of(&header, schedule).execute(&mut *fleet.server()?);
    Ok(RunLog::of_requests(header, executed.records, executed.footer))
}

fn run_of(header: &RunHeader, schedule: Schedule) -> VirtualRun {
    let drain = Duration::from_secs_f64(header.workload.drain_s);
    let classes = header.workload.classes.iter().map(|class| class.name.as_str());
    let caps = ConcurrencyCaps::new(&header.limits, classes);
    VirtualRun { schedule, plan: header.plan.clone(), drain, caps }
}

/// Returns the envelope's back, at the workload's mean context. That is the context that its requests have on average
/// while they decode: the whole prompt and half of the answer.
fn bandwidth_math(fleet: &Fleet, run: &VirtualRun) -> Option<BandwidthMath> {
    let EngineModel::Batching(config) = &fleet.engine else { return None };
    let StepTime::Roofline(roofline) = &config.step_time else { return None };
    let (mut requests, mut tokens) = (0_u64, 0.0);
    for request in run.schedule.plan().take_while(|request| request.phase != Phase::Cooldown) {
        requests += 1;
        tokens += f64::from(request.input_tokens) + f64::from(request.output_tokens) / 2.0;
    }
    let context = (tokens / requests.max(1) as f64).round() as u32;
    BandwidthMath::new(roofline, &config.limits, context).ok()
}
