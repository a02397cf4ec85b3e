//! `skyline calibrate`: what this machine can measure.

use std::time::Duration;

use clap::Args;

use super::args::whole;
use super::output::ShowArgs;
use crate::calibration::{CalibrationStage, calibrate};
use crate::clock::Pacing;
use crate::live::{Screen, StepLine};
use crate::report::documents;
use crate::session::run::host_facts;
use crate::session::{Exit, Printer, Stop};

/// Measure what this machine can measure.
#[derive(Debug, Args)]
pub(super) struct CalibrateArgs {
    /// Measure for about this long in total
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = whole::<u16>(1..=60))]
    seconds: u16,

    /// Measure at normal priority; by default runs measure at a low real-time priority where the system
    /// permits it, else at nice -20
    #[arg(long)]
    no_realtime: bool,

    #[command(flatten)]
    show: ShowArgs,
}

pub(super) fn run(args: &CalibrateArgs, printer: Printer) -> Result<Exit, Stop> {
    args.show.check()?;
    let length = Duration::from_secs(u64::from(args.seconds));
    let screen = Screen::detect();
    let name = format!("calibrating this machine: {} s", args.seconds);
    let line = StepLine::start(if screen == Screen::Plain { Screen::Quiet } else { screen }, name);
    let pacing = if args.no_realtime { Pacing::Precise } else { Pacing::RealTime };
    let found = calibrate(length, pacing, |stage| {
        let stage = match stage {
            CalibrationStage::ShortAnswers => "1 of 3: 1,000 requests/s with short answers, and 4,000",
            CalibrationStage::PacedStreams => "2 of 3: 50 answers at a time, 200 tokens/s each and more, one by one",
            CalibrationStage::WholeAnswers => "3 of 3: 200 answers/s of 2,000 tokens, all at once",
        };
        match screen {
            Screen::Plain => printer.words(stage),
            _ => line.at(format!("{stage}; {} s in all", args.seconds)),
        }
    });
    drop(line);
    let found = found.map_err(Stop::impossible)?;
    let host = host_facts(Some(pacing.priority()));
    let json = || documents::calibration_json(&found, &host);
    args.show.with_json(printer, || documents::calibration(&found, &host), json)?;
    Ok(Exit::Fine)
}
