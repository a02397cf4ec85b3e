//! `skyline matrix`: runs a table of experiments row by row, and judges it by its hypotheses and its contract.

mod plan;

use self::plan::MatrixPlan;
use super::output::exits;
use crate::experiment::drive;
use crate::experiment::matrix::{Experiments, Matrix, MatrixExperiment, MatrixStopped};
use crate::report::documents;
use crate::session::campaign::executor::CampaignExecutor;
use crate::session::campaign::matrix::{FILES, MatrixCampaign, MatrixManifest};
use crate::session::{Exit, ExperimentDir, Interrupts, Printer, Stop, folder};

pub(super) use self::plan::MatrixArgs;

pub(super) fn run(args: &MatrixArgs, printer: Printer) -> Result<Exit, Stop> {
    if args.example {
        printer.data(Experiments::example())?;
        return Ok(Exit::Fine);
    }
    let campaign = &args.campaign;
    campaign.show.check()?;
    let interrupts = Interrupts::listen(printer);
    // Everything that can be wrong with the file is found before anything is sent or started.
    let plan = args.plan(printer)?;
    if args.plan {
        printer.data(&plan.shown()?)?;
        return Ok(Exit::Fine);
    }
    let MatrixPlan { experiments, cells, several_addresses } = plan;
    let manifest = MatrixManifest::of(&experiments, &cells);
    let dir = if let Some(folder) = &campaign.resume {
        ExperimentDir::resume(folder, &manifest)?
    } else {
        folder::base(&campaign.out)?;
        ExperimentDir::create(&campaign.out, &experiments.name, "matrix", &manifest)?
    };
    interrupts.series_begins();
    let invalid = campaign.validity.invalid_runs();
    let mut experiment = MatrixExperiment::new(experiments.clone(), invalid).only(args.only.clone());
    let runs = MatrixCampaign::new(
        &experiments,
        cells,
        several_addresses,
        &dir,
        &interrupts,
        printer,
        campaign.pause,
    );
    let announce = campaign.live.announce(printer);
    let mut executor = CampaignExecutor::new(runs, &dir, &interrupts, announce);
    let driven = drive(&mut experiment, &mut executor);
    executor.campaign.stop_serving();
    driven?;
    finish(args, &executor.campaign.result(&experiment), &dir, printer)
}

/// Shows the table and says how it went.
fn finish(args: &MatrixArgs, matrix: &Matrix, dir: &ExperimentDir, printer: Printer) -> Result<Exit, Stop> {
    args.campaign.show.result(printer, matrix, || documents::matrix(matrix, None))?;
    let folder = dir.folder().display();
    printer.words(&format!("saved to {folder} (the decision: {folder}/{})", FILES[2]));
    printer.words(&match &matrix.stopped {
        MatrixStopped::Interrupted => format!("resume with: {}", dir.command_to_resume(&[])),
        MatrixStopped::OnlySome { .. } => format!("the other rows: {}", dir.command_to_resume(&["--only"])),
        MatrixStopped::AllRun | MatrixStopped::FirstAccepted { .. } => {
            format!("show it again: skyline report {folder}")
        }
    });
    Ok(exits::of_matrix(matrix, args.campaign.validity.invalid_runs()))
}
