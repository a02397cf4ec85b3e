//! What of a table is flown, checked before anything is sent.

use crate::session::save;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::MatrixArgs;
use crate::cli::args::FiledServer;
use crate::engine::Dialect;
use crate::experiment::matrix::{Experiments, Row, ServerSettings, Slot, Variant};
use crate::generator::Datasets;
use crate::record::DeploymentFacts;
use crate::session::ServerManifest;
use crate::session::run::{CheckedWorkload, LoadOption, RunContext, check_plan, of_one_server};
use crate::session::settings::{RequestSettings, RunSettings, ServerAddress, Share};
use crate::session::{Opened, PlannedRun, Printer, Stop};
use crate::workload::WorkloadSpec;

/// A row under a variant, ready to be flown.
pub(super) struct PlannedCell {
    pub(super) slot: Slot,
    /// Name of the row.
    pub(super) row: String,
    /// Its folder inside that of the table.
    pub(super) folder: String,
    pub(super) spec: WorkloadSpec,
    pub(super) datasets: Arc<Datasets>,
    pub(super) runs: Vec<PlannedRun>,
    pub(super) checked: CheckedWorkload,
    pub(super) settings: RunSettings,
}

/// How runs of a row under a variant are executed: what the file says in place of what was typed.
fn settings(
    args: &MatrixArgs,
    experiments: &Experiments,
    row: &Row,
    variant: &Variant,
) -> Result<RunSettings, Stop> {
    let server = args.server.with(filed_server(&variant.server)?, &format!("variant {}", variant.name))?;
    let requests = args.run.settings()?;
    let cap = row.settings.max_concurrency.and_then(|cap| NonZeroUsize::new(cap as usize));
    let contract = experiments.accept.as_ref().filter(|accept| accept.counts(&row.name));
    Ok(RunSettings {
        server: server.settings()?,
        deployment: args.deployment.with(facts(experiments, row, variant)).facts(),
        requests: RequestSettings { max_concurrency: cap.or(requests.max_concurrency), ..requests },
        machine: args.machine.settings(),
        share: Share::default(),
        objectives: contract.map(|accept| accept.objectives.clone()).unwrap_or_default(),
        load_option: LoadOption::InFile,
        screen: args.live.screen(),
    })
}

fn filed_server(filed: &ServerSettings) -> Result<FiledServer<'_>, Stop> {
    let engine = filed.engine.as_deref().map(str::parse::<Dialect>).transpose().map_err(Stop::usage)?;
    Ok(FiledServer {
        url: filed.url.as_deref(),
        engine,
        model: filed.model.as_deref(),
        wait: filed.wait_s.map(Duration::from_secs_f64),
    })
}

/// What is kept in every run's header of the place that it has in the table.
fn facts(experiments: &Experiments, row: &Row, variant: &Variant) -> DeploymentFacts {
    let ServerSettings { hardware, gpus, serving_model, precision, flags, .. } = variant.server.clone();
    let labels = [
        Some(("matrix".to_owned(), experiments.name.clone())),
        Some(("row".to_owned(), row.name.clone())),
        Some(("variant".to_owned(), variant.name.clone())),
        flags.map(|flags| ("flags".to_owned(), flags)),
    ];
    DeploymentFacts {
        hardware,
        gpus,
        serving_model,
        precision,
        labels: labels.into_iter().flatten().collect(),
    }
}

/// Every row under every variant, in the order in which they are flown, or all that is wrong with them.
pub(super) fn all(
    args: &MatrixArgs,
    experiments: &Experiments,
    printer: Printer,
) -> Result<Vec<PlannedCell>, Stop> {
    let (mut cells, mut mistakes) = (Vec::new(), Vec::new());
    let mut opened = Opened::default();
    for slot in experiments.order() {
        match one(args, experiments, slot, &mut opened, printer) {
            Ok(cell) => cells.push(cell),
            Err(stop) => {
                let mistake = format!("row {}: {}", experiments.rows[slot.row].name, stop.message());
                // Under several variants it is the same one.
                if !mistakes.contains(&mistake) {
                    mistakes.push(mistake);
                }
            }
        }
    }
    if mistakes.is_empty() {
        return Ok(cells);
    }
    let noun = if mistakes.len() == 1 { "row" } else { "rows" };
    let mut text = format!("{} {noun} of `{}` cannot be flown", mistakes.len(), experiments.name);
    for mistake in mistakes {
        // Nothing can be wrong with writing to a string.
        let _ = write!(text, "\n  {}", mistake.replace('\n', "\n    "));
    }
    Err(Stop::usage(text))
}

fn one(
    args: &MatrixArgs,
    experiments: &Experiments,
    slot: Slot,
    opened: &mut Opened,
    printer: Printer,
) -> Result<PlannedCell, Stop> {
    let (row, variant) = (&experiments.rows[slot.row], &experiments.variants[slot.variant]);
    let settings = settings(args, experiments, row, variant)?;
    let spec = row.settings.spec(&row.name).map_err(Stop::usage)?;
    let (spec, datasets) = opened.open(spec, args.run.tokenizer.as_deref(), printer)?;
    save::check_objectives(&row.bounds(), &spec)?;
    let checked = settings.check(&spec, &datasets)?;
    let runs = PlannedRun::all(&spec, &datasets, row.repeats())?;
    for run in &runs {
        check_plan(run)?;
    }
    let folder = folder_of(experiments, slot);
    Ok(PlannedCell { slot, row: row.name.clone(), folder, spec, datasets, runs, checked, settings })
}

/// Where the rows that are asked for find their servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Places {
    /// All at one address, one after the other.
    One,
    /// At several, so that what one of them tells is not about the others.
    Several,
}

impl Places {
    /// Their pages are read anyway; one that was named would count for all of them.
    const ALL: &'static str = "every variant";

    /// Looks whether a page that was named is of one of several servers, as far as addresses tell.
    pub(super) fn of(args: &MatrixArgs, planned: &[PlannedCell]) -> Result<Self, Stop> {
        let mut roots = BTreeSet::new();
        for cell in planned.iter().filter(|cell| args.wants(&cell.row)) {
            roots.insert(match &cell.settings.server.address {
                ServerAddress::At(url) => Some(url.join("/")),
                ServerAddress::EmbeddedMock => None,
            });
        }
        if roots.len() < 2 {
            return Ok(Self::One);
        }
        let named = planned.first().map(|cell| cell.settings.requests.telemetry.urls.as_slice());
        for page in named.unwrap_or_default().iter().map(ToString::to_string) {
            if roots.iter().flatten().any(|root| page.starts_with(root)) {
                return Err(of_one_server(&page, Self::ALL));
            }
        }
        Ok(Self::Several)
    }

    /// Looks the same up in what pages tell that `field` found.
    pub(super) fn fit(self, field: &RunContext) -> Result<(), Stop> {
        match self {
            Self::One => Ok(()),
            Self::Several => field.check_pages(Self::ALL),
        }
    }
}

/// The folder of a row under a variant inside that of the table.
pub(super) fn folder_of(experiments: &Experiments, slot: Slot) -> String {
    let (row, variant) = (&experiments.rows[slot.row].name, &experiments.variants[slot.variant].name);
    if experiments.has_one_variant() { format!("row-{row}") } else { format!("{variant}/row-{row}") }
}

/// What decides which runs a table has, so that it is gone on with only if the same is asked.
#[derive(Serialize)]
pub(super) struct Asked {
    experiments: Experiments,
    cells: BTreeMap<String, AskedCell>,
}

/// What is asked of a row under a variant, beyond what the file says.
#[derive(Serialize)]
struct AskedCell {
    plans: Vec<String>,
    server: ServerManifest,
}

impl Asked {
    pub(super) fn of(experiments: &Experiments, planned: &[PlannedCell]) -> Self {
        let cells = planned.iter().map(|cell| (cell.folder.clone(), AskedCell::of(cell)));
        Self { experiments: experiments.clone(), cells: cells.collect() }
    }
}

impl AskedCell {
    fn of(cell: &PlannedCell) -> Self {
        Self {
            plans: cell.runs.iter().map(|run| run.plan.hash.clone()).collect(),
            server: ServerManifest::of(&cell.settings),
        }
    }
}
