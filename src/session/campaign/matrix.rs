//! A table of experiments against the servers of its variants.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Duration;

use serde::Serialize;

use super::conduct::{Campaign, CampaignStep, place};
use super::dir::ServerManifest;
use super::serving::{Servers, check_finished};
use crate::analysis::Objective;
use crate::experiment::matrix::{Experiments, Matrix, MatrixExperiment, MatrixRow, MatrixRun, MatrixSlot, Variant};
use crate::experiment::{Experiment, RunOutcome, RunRequest};
use crate::report::documents::PlannedRow;
use crate::session::console::{Printer, Stop};
use crate::session::datasets::Opened;
use crate::session::planned::PlannedRun;
use crate::session::run::{CheckedWorkload, PlannedLoad, RunContext, StoredRun, of_one_server};
use crate::session::settings::RunSettings;
use crate::units::counted;
use crate::workload::library;

/// A row under a variant, ready to be executed.
pub(crate) struct PlannedCell {
    pub(crate) slot: MatrixSlot,
    /// Name of the row.
    pub(crate) row: String,
    /// Its folder inside that of the table.
    pub(crate) folder: String,
    pub(crate) checked: CheckedWorkload,
    pub(crate) runs: Vec<PlannedRun>,
}

/// A table that passes every check possible before a server is asked.
pub(crate) struct MatrixPlan {
    pub(crate) experiments: Experiments,
    /// Every row under every variant, in the order in which they run.
    pub(crate) cells: Vec<PlannedCell>,
    /// The only rows that are asked for; empty: all.
    only: Vec<String>,
    /// Whether variants have addresses of their own. A page of metrics of one is then not about the others.
    several_addresses: bool,
}

impl PlannedCell {
    /// Returns every row under every variant, in the order in which they run. The error is all that is wrong with them.
    fn cells(
        experiments: &Experiments,
        printer: Printer,
        settings: impl Fn(&Experiments, &MatrixRow, &Variant) -> Result<RunSettings, Stop>,
    ) -> Result<Vec<Self>, Stop> {
        let mut cells = Vec::new();
        // What is wrong, and with which rows.
        let mut mistakes: Vec<(String, Vec<&str>)> = Vec::new();
        let mut opened = Opened::default();
        for slot in experiments.order() {
            let (row, variant) = (&experiments.rows[slot.row], &experiments.variants[slot.variant]);
            let settings = settings(experiments, row, variant);
            match settings.and_then(|settings| Self::new(experiments, slot, settings, &mut opened, printer)) {
                Ok(cell) => cells.push(cell),
                Err(stop) => {
                    let row = row.name.as_str();
                    match mistakes.iter_mut().find(|(mistake, _)| mistake == stop.message()) {
                        // Under several variants it is the same one.
                        Some((_, rows)) if rows.contains(&row) => {}
                        Some((_, rows)) => rows.push(row),
                        None => mistakes.push((stop.message().to_owned(), vec![row])),
                    }
                }
            }
        }
        if mistakes.is_empty() {
            return Ok(cells);
        }
        let rows: BTreeSet<_> = mistakes.iter().flat_map(|(_, rows)| rows).collect();
        let mut text = format!("{} of `{}` cannot be run", counted(rows.len() as u64, "row"), experiments.name);
        for (mistake, rows) in mistakes {
            let noun = if rows.len() == 1 { "row" } else { "rows" };
            // Nothing can be wrong with writing to a string.
            let _ = write!(text, "\n  {noun} {}: {}", rows.join(", "), mistake.replace('\n', "\n    "));
        }
        Err(Stop::usage(text))
    }

    fn new(
        experiments: &Experiments,
        slot: MatrixSlot,
        settings: RunSettings,
        opened: &mut Opened,
        printer: Printer,
    ) -> Result<Self, Stop> {
        let (row, variant) = (&experiments.rows[slot.row], &experiments.variants[slot.variant]);
        let spec = row.settings.spec(&row.name).map_err(Stop::usage)?;
        let is_own = library::source(&spec.name).is_none();
        let spec = settings.fitted(spec, is_own, printer)?;
        let (spec, datasets) = opened.open(spec, settings.requests.tokenizer.as_deref(), settings.screen, printer)?;
        Objective::check_all(&row.bounds(), &spec).map_err(Stop::usage)?;
        let checked = settings.check(&spec, &datasets)?;
        let runs = PlannedRun::all(&spec, &datasets, row.repeats())?;
        PlannedRun::check_all(&runs, true)?;
        let (row, variant) = (&row.name, &variant.name);
        let one = experiments.has_one_variant();
        let folder = if one { format!("row-{row}") } else { format!("{variant}/row-{row}") };
        Ok(Self { slot, row: row.clone(), folder, checked, runs })
    }
}

impl MatrixPlan {
    /// Returns the table with its runs, or what is wrong with its rows.
    pub(crate) fn new(
        experiments: Experiments,
        only: Vec<String>,
        printer: Printer,
        settings: impl Fn(&Experiments, &MatrixRow, &Variant) -> Result<RunSettings, Stop>,
    ) -> Result<Self, Stop> {
        let cells = PlannedCell::cells(&experiments, printer, settings)?;
        let plan = Self { experiments, cells, only, several_addresses: false };
        let several_addresses = plan.have_several_addresses()?;
        // A breaker that can end the runs of one row is of use.
        let useless = plan.wanted().map(|cell| cell.checked.settings.check_breakers());
        useless.reduce(Result::or).unwrap_or(Ok(()))?;
        Ok(Self { several_addresses, ..plan })
    }

    /// The rows that are asked for, under every variant.
    pub(crate) fn wanted(&self) -> impl Iterator<Item = &PlannedCell> {
        self.cells.iter().filter(|cell| self.only.is_empty() || self.only.contains(&cell.row))
    }

    /// The load of all of them.
    pub(crate) fn load(&self, is_resumed: bool) -> PlannedLoad {
        let of = |cell: &PlannedCell| PlannedLoad::of_all(&cell.runs, &cell.checked.settings);
        let mut load = self.wanted().map(of).reduce(PlannedLoad::and).unwrap_or_default();
        load.resumed = is_resumed;
        load
    }

    /// Rows with their runs and requests, for people.
    pub(crate) fn rows(&self) -> Vec<PlannedRow> {
        let row = |cell: &PlannedCell| PlannedRow {
            slot: cell.slot,
            runs: cell.runs.len() as u64,
            load: cell.runs.iter().map(PlannedRun::length).sum(),
            requests: PlannedLoad::of_all(&cell.runs, &cell.checked.settings).counted(),
        };
        self.wanted().map(row).collect()
    }

    /// Whether the rows that are asked for have several addresses. Refuses a page of metrics that is one
    /// server's of several, as far as addresses show it.
    fn have_several_addresses(&self) -> Result<bool, Stop> {
        let roots = |cell: &PlannedCell| {
            cell.checked.settings.server.address.urls().map(|url| url.join("/")).collect::<Vec<_>>()
        };
        let roots: BTreeSet<_> = self.wanted().map(roots).collect();
        if roots.len() < 2 {
            return Ok(false);
        }
        let pages = self.cells.first().map(|cell| cell.checked.settings.telemetry.urls.as_slice());
        for page in pages.unwrap_or_default().iter().map(ToString::to_string) {
            if roots.iter().flatten().any(|root| page.starts_with(root)) {
                return Err(of_one_server(&page, EVERY_VARIANT));
            }
        }
        Ok(true)
    }
}

/// All that decides which runs a table has.
#[derive(Serialize)]
pub(crate) struct MatrixManifest {
    experiments: Experiments,
    cells: BTreeMap<String, CellManifest>,
}

/// The demands on a row under a variant, beyond what the file says.
#[derive(Serialize)]
struct CellManifest {
    plans: Vec<String>,
    server: ServerManifest,
}

impl MatrixManifest {
    pub(crate) fn from_plan(plan: &MatrixPlan) -> Self {
        let cell = |cell: &PlannedCell| CellManifest {
            plans: cell.runs.iter().map(|run| run.plan.hash.clone()).collect(),
            server: ServerManifest::from_settings(&cell.checked.settings),
        };
        let cells = plan.cells.iter().map(|planned| (planned.folder.clone(), cell(planned)));
        Self { experiments: plan.experiments.clone(), cells: cells.collect() }
    }
}

/// The variants that a named page of metrics would count for, in words.
const EVERY_VARIANT: &str = "every variant";

/// The runs of a table.
pub(crate) struct MatrixCampaign<'a> {
    pub(crate) plan: &'a MatrixPlan,
    pub(crate) servers: Servers<'a, MatrixSlot>,
}

impl<'a> MatrixCampaign<'a> {
    fn cell(&self, slot: MatrixSlot) -> Result<&'a PlannedCell, Stop> {
        let cell = self.plan.cells.iter().find(|cell| cell.slot == slot);
        cell.ok_or_else(|| Stop::impossible("a row is not planned"))
    }
}

impl Campaign<MatrixExperiment> for MatrixCampaign<'_> {
    fn plan(&mut self, request: &RunRequest<MatrixRun>) -> Result<PlannedRun, Stop> {
        PlannedRun::numbered(&self.cell(request.part.slot)?.runs, request.part.repeat)
    }

    fn objectives(&self, request: &RunRequest<MatrixRun>) -> &[Objective] {
        self.cell(request.part.slot).map(|cell| cell.checked.settings.objectives.as_slice()).unwrap_or_default()
    }

    fn time_of(&self, next: &CampaignStep<'_, MatrixExperiment>, _run: &PlannedRun, runs: u64) -> Duration {
        let left = |cell: &PlannedCell| next.experiment.left_in(cell.slot) as usize;
        // Runs of a row are equally long.
        let left = self.plan.cells.iter().flat_map(|cell| cell.runs.iter().cycle().take(left(cell)));
        left.take(runs as usize).map(|run| run.length() + next.pause).sum()
    }

    fn resting(&self, _after: &RunRequest<MatrixRun>) -> Option<&RunContext> {
        // Without a context the server is another one.
        self.servers.context()
    }

    fn ready(&mut self, request: &RunRequest<MatrixRun>) -> Result<&RunContext, Stop> {
        let slot = request.part.slot;
        let checked = &self.cell(slot)?.checked;
        let MatrixPlan { experiments, several_addresses, .. } = self.plan;
        let (variant, row) = (&experiments.variants[slot.variant], &experiments.rows[slot.row].name);
        let pages = several_addresses.then_some(EVERY_VARIANT);
        self.servers.ready(slot, variant, checked, row, pages)
    }

    fn title(&self, next: &CampaignStep<'_, MatrixExperiment>, _run: &PlannedRun) -> Option<String> {
        let MatrixRun { slot, repeat, of } = next.request.part;
        let (row, variant) = (&self.plan.experiments.rows[slot.row], &self.plan.experiments.variants[slot.variant]);
        let under =
            if self.plan.experiments.has_one_variant() { String::new() } else { format!(" under {}", variant.name) };
        let which = if of.max(repeat) > 1 { format!(", {}", place("run", repeat, of)) } else { String::new() };
        Some(format!("row {}{under}{which}", row.name))
    }

    fn finished(&mut self, request: &RunRequest<MatrixRun>, run: &StoredRun) -> Result<(), Stop> {
        check_finished(request.part.repeat, run)?;
        run.run.summary.aborted().map_or(Ok(()), |aborted| {
            Err(Stop::impossible(format!(
                "in run {}: {aborted}\nhint: look at the server's log, and continue with --resume, which runs it again",
                request.part.repeat
            ))
            .of_server())
        })
    }

    fn failed(&mut self, request: &RunRequest<MatrixRun>, stop: Stop) -> Result<RunOutcome, Stop> {
        let slot = request.part.slot;
        let row = format!("row {}", self.plan.experiments.rows[slot.row].name);
        self.servers.failed(slot, &row, stop)
    }

    fn recorded(&mut self, done: &CampaignStep<'_, MatrixExperiment>) -> Result<(), Stop> {
        let variant = done.request.part.slot.variant;
        let goes_on = matches!(done.experiment.next(), Some(next) if next.part.slot.variant == variant);
        if !goes_on {
            self.servers.stop();
        }
        Ok(())
    }

    fn found(&self, experiment: &MatrixExperiment) -> Result<Option<Matrix>, Stop> {
        Ok(Some(Matrix { unstopped: self.servers.unstopped.clone(), ..experiment.result() }))
    }

    fn over(&mut self, _read: Option<u64>) {
        self.servers.stop();
    }
}
