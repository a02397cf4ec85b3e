//! The rows of a table, checked before anything is sent.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::time::Duration;

use super::MatrixArgs;
use crate::cli::args::FiledServer;
use crate::engine::Dialect;
use crate::experiment::matrix::{Experiments, MatrixRow, MatrixSlot, ServerSettings, Variant};
use crate::record::DeploymentFacts;
use crate::session::campaign::matrix::{Addresses, PlannedCell};
use crate::session::run::{LoadOption, check_plan, of_one_server};
use crate::session::settings::{RequestSettings, RunSettings, ServerAddress, Share};
use crate::session::{Opened, PlannedRun, Printer, Stop, save};

/// How runs of a row under a variant are executed: what the file says in place of what was typed.
fn settings(
    args: &MatrixArgs,
    experiments: &Experiments,
    row: &MatrixRow,
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

/// Every row under every variant, in the order in which they run, or all that is wrong with them.
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
    let mut text = format!("{} {noun} of `{}` cannot be run", mistakes.len(), experiments.name);
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

/// How many addresses the rows that are asked for have. Refuses a page of metrics that is one server's of several, as far as
/// addresses tell.
pub(super) fn addresses(args: &MatrixArgs, planned: &[PlannedCell]) -> Result<Addresses, Stop> {
    let root = |cell: &PlannedCell| match &cell.settings.server.address {
        ServerAddress::At(url) => Some(url.join("/")),
        ServerAddress::EmbeddedMock => None,
    };
    let roots: BTreeSet<_> = planned.iter().filter(|cell| args.wants(&cell.row)).map(root).collect();
    if roots.len() < 2 {
        return Ok(Addresses::One);
    }
    let pages = planned.first().map(|cell| cell.settings.requests.telemetry.urls.as_slice());
    for page in pages.unwrap_or_default().iter().map(ToString::to_string) {
        if roots.iter().flatten().any(|root| page.starts_with(root)) {
            return Err(of_one_server(&page, Addresses::ALL));
        }
    }
    Ok(Addresses::Several)
}

/// The folder of a row under a variant inside that of the table.
pub(super) fn folder_of(experiments: &Experiments, slot: MatrixSlot) -> String {
    let (row, variant) = (&experiments.rows[slot.row].name, &experiments.variants[slot.variant].name);
    if experiments.has_one_variant() { format!("row-{row}") } else { format!("{variant}/row-{row}") }
}
