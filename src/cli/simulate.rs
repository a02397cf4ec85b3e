//! `skyline simulate`: what to expect of a deployment, before it is there.

use std::path::{Path, PathBuf};

use clap::Args;

use super::args::{Described, ModelArgs, WorkloadArgs};
use super::exit::{Exit, Stop};
use super::outcome::{self, Format};
use super::printer::Printer;
use super::{command_line, folder, host};
use crate::analysis::Objective;
use crate::experiment::{Prediction, predict};
use crate::generator::Schedule;
use crate::record::{
    EngineFacts, Limits, PromptFacts, PromptMethod, RunFooter, RunHeader, RunLog, RunLogWriter, StampSource,
};
use crate::simulator::RoutingRule;
use crate::workload::WorkloadSpec;

/// Predict how a deployment would do under a workload, in virtual time
#[derive(Debug, Args)]
pub(super) struct SimulateArgs {
    #[command(flatten)]
    workload: WorkloadArgs,
    #[command(flatten)]
    model: ModelArgs,

    /// Hold the prediction against an objective, such as `p95 ttft < 500ms`, `error_rate < 1%`, `goodput > 5/s` or
    /// `slo_attainment > 95%`; a miss exits with 1; may be repeated
    #[arg(long = "objective", value_name = "OBJECTIVE", help_heading = "Output")]
    objectives: Vec<Objective>,

    /// Folder in which the run gets a folder of its own [default: not kept, as it can be computed again at any time]
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    out: Option<PathBuf>,

    /// Print the prediction as JSON on standard output, and nothing else
    #[arg(long, help_heading = "Output")]
    json: bool,
}

pub(super) fn run(args: &SimulateArgs, printer: Printer) -> Result<Exit, Stop> {
    let spec = args.workload.spec()?;
    let described = args.model.describe()?;
    if described.fleet.layout.rule() == RoutingRule::PrefixAware {
        printer
            .words("note: no two prompts of a workload are alike, so that prefix-aware routes by load here");
    }
    let header = header(spec, &described, &args.objectives)?;
    args.out.as_deref().map_or(Ok(()), folder::base)?;
    let (log, prediction) = predict(header, &described.fleet, &args.objectives).map_err(Stop::usage)?;
    let kept = args.out.as_deref().map(|base| keep(&log, &prediction, base)).transpose();
    let format = if args.json { Format::Json } else { Format::Text };
    printer.data(&outcome::render_prediction(&prediction, format)?)?;
    if let Some(folder) = kept? {
        printer.words(&format!("kept in {} (show it again: skyline report {0})", folder.display()));
    }
    Ok(outcome::exit(&prediction.summary))
}

/// The header of a run that no server answers.
fn header(
    workload: WorkloadSpec,
    described: &Described,
    objectives: &[Objective],
) -> Result<RunHeader, Stop> {
    let plan = Schedule::draw(&workload).facts();
    if plan.measured_requests == 0 {
        return Err(Stop::usage(format!(
            "the plan of `{}` has no request to measure\nhint: give it more seconds or a higher --rate",
            workload.name
        )));
    }
    Ok(RunHeader {
        schema: RunHeader::SCHEMA,
        skyline_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: jiff::Timestamp::now(),
        command: command_line::masked(std::env::args_os()),
        plan,
        prompts: PromptFacts { method: PromptMethod::LengthsOnly, salt: 0 },
        engine: EngineFacts {
            engine: "simulator".to_owned(),
            url: "virtual time".to_owned(),
            endpoint: "no wire".to_owned(),
            streamed: true,
            model: described.model.clone(),
            server_version: None,
            max_model_len: described.max_model_len,
            request_id_prefix: String::new(),
            modelled: described.facts.clone(),
        },
        limits: Limits::default(),
        objectives: objectives.iter().map(ToString::to_string).collect(),
        host: host::facts(),
        stamps: StampSource::default(),
        workload,
    })
}

/// Stores the run as `bench` does.
fn keep(log: &RunLog, prediction: &Prediction, base: &Path) -> Result<PathBuf, Stop> {
    let header = &log.header;
    let folder = folder::create(base, &header.workload.name, &header.engine.engine, header.started_at)?;
    let write = |footer: &RunFooter| {
        let mut writer = RunLogWriter::create(&folder, header)?;
        log.records.iter().try_for_each(|record| writer.append(record))?;
        writer.finish(footer)
    };
    log.footer.as_ref().map_or(Ok(()), write).map_err(Stop::impossible)?;
    outcome::store(&prediction.summary, &folder)?;
    Ok(folder)
}
