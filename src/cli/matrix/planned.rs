//! What of a table is flown, checked before anything is sent.

use crate::session::save;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::MatrixArgs;
use crate::analysis::Objective;
use crate::cli::args::{DeploymentArgs, FiledServer, RunArgs, Server, ServerArgs, ShareArgs};
use crate::cli::flight::{self, AskedOfServer, Checked, Field, Lowered, Setup};
use crate::engine::Dialect;
use crate::experiment::matrix::{Experiments, MatrixRow, MatrixSlot, ServerSettings, Variant};
use crate::generator::Datasets;
use crate::record::DeploymentFacts;
use crate::session::{Opened, PlannedRun, Printer, Stop};
use crate::workload::WorkloadSpec;

/// A row under a variant, ready to be flown.
pub(super) struct PlannedCell {
    pub(super) slot: MatrixSlot,
    /// Name of the row.
    pub(super) row: String,
    /// Its folder inside that of the table.
    pub(super) folder: String,
    pub(super) spec: WorkloadSpec,
    pub(super) datasets: Arc<Datasets>,
    pub(super) runs: Vec<PlannedRun>,
    pub(super) checked: Checked,
    pub(super) typed: Typed,
}

/// What would have been typed to fly it by itself.
pub(super) struct Typed {
    pub(super) server: ServerArgs,
    pub(super) deployment: DeploymentArgs,
    pub(super) run: RunArgs,
    pub(super) objectives: Vec<Objective>,
}

impl Typed {
    pub(super) fn setup(&self, args: &MatrixArgs) -> Setup<'_> {
        Setup {
            server: &self.server,
            deployment: &self.deployment,
            run: &self.run,
            machine: args.machine,
            share: ShareArgs::default(),
            objectives: &self.objectives,
            lowered: Lowered::InFile,
            screen: args.live.screen(),
        }
    }

    fn of(
        args: &MatrixArgs,
        experiments: &Experiments,
        row: &MatrixRow,
        variant: &Variant,
    ) -> Result<Self, Stop> {
        let filed = &variant.server;
        let server = args.server.with(filed_server(filed)?, &format!("variant {}", variant.name))?;
        let cap = row.settings.max_concurrency.and_then(|cap| NonZeroUsize::new(cap as usize));
        let run = cap.map_or_else(|| args.run.clone(), |cap| args.run.capped(cap));
        let contract = experiments.accept.as_ref().filter(|accept| accept.counts(&row.name));
        Ok(Self {
            server,
            deployment: args.deployment.with(facts(experiments, row, variant)),
            run,
            objectives: contract.map(|accept| accept.objectives.clone()).unwrap_or_default(),
        })
    }
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
fn facts(experiments: &Experiments, row: &MatrixRow, variant: &Variant) -> DeploymentFacts {
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
    slot: MatrixSlot,
    opened: &mut Opened,
    printer: Printer,
) -> Result<PlannedCell, Stop> {
    let (row, variant) = (&experiments.rows[slot.row], &experiments.variants[slot.variant]);
    let typed = Typed::of(args, experiments, row, variant)?;
    // An address that cannot be is found before any server is started for it.
    if let Server::At(url) = typed.server.server()? {
        typed.server.target(url)?;
    }
    let spec = row.settings.spec(&row.name).map_err(Stop::usage)?;
    let (spec, datasets) = opened.open(spec, args.run.tokenizer.as_deref(), printer)?;
    save::check_objectives(&row.bounds(), &spec)?;
    let checked = typed.setup(args).check(&spec, &datasets)?;
    let runs = PlannedRun::all(&spec, &datasets, row.repeats())?;
    for run in &runs {
        flight::check_plan(run)?;
    }
    let folder = folder_of(experiments, slot);
    Ok(PlannedCell { slot, row: row.name.clone(), folder, spec, datasets, runs, checked, typed })
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
            roots.insert(match cell.typed.server.server()? {
                Server::At(url) => Some(url.join("/")),
                Server::EmbeddedMock => None,
            });
        }
        if roots.len() < 2 {
            return Ok(Self::One);
        }
        for page in args.run.telemetry.urls()?.iter().map(ToString::to_string) {
            if roots.iter().flatten().any(|root| page.starts_with(root)) {
                return Err(flight::of_one_server(&page, Self::ALL));
            }
        }
        Ok(Self::Several)
    }

    /// Looks the same up in what pages tell that `field` found.
    pub(super) fn fit(self, field: &Field<'_>) -> Result<(), Stop> {
        match self {
            Self::One => Ok(()),
            Self::Several => field.no_page_of_engine(Self::ALL),
        }
    }
}

/// The folder of a row under a variant inside that of the table.
pub(super) fn folder_of(experiments: &Experiments, slot: MatrixSlot) -> String {
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
    server: AskedOfServer,
}

impl Asked {
    pub(super) fn of(
        args: &MatrixArgs,
        experiments: &Experiments,
        planned: &[PlannedCell],
    ) -> Result<Self, Stop> {
        let cells = planned.iter().map(|cell| Ok((cell.folder.clone(), AskedCell::of(args, cell)?)));
        Ok(Self { experiments: experiments.clone(), cells: cells.collect::<Result<_, Stop>>()? })
    }
}

impl AskedCell {
    fn of(args: &MatrixArgs, cell: &PlannedCell) -> Result<Self, Stop> {
        Ok(Self {
            plans: cell.runs.iter().map(|run| run.plan.hash.clone()).collect(),
            server: cell.typed.setup(args).asked()?,
        })
    }
}
