//! `skyline trace`: what a trace holds, and traces of one's own.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::args::{AccessLogArgs, SliceArgs};
use super::output::ShowArgs;
use crate::generator::{AccessLogFields, RequestTrace, ShownSessions, TraceWriter, read_log, survey_with_lengths};
use crate::record::RunLog;
use crate::report::documents;
use crate::session::{Exit, Printer, Stop, whole_file};
use crate::units::counted;
use crate::workload::{BadLines, Dataset, SessionLayout, Trace};

/// Inspect a trace, or create one from a run or an access log.
#[derive(Debug, Args)]
pub(super) struct TraceVerbArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Read a trace as a run does, and summarise it
    Show(ShownTraceArgs),
    /// Create a trace from a stored run or an access log: timestamps, lengths and categories, no text
    From(FromArgs),
}

/// Read a trace as a run does, and summarise it.
#[derive(Debug, Args)]
struct ShownTraceArgs {
    /// The trace
    #[arg(value_name = "FILE")]
    path: String,

    #[command(flatten)]
    slice: SliceArgs,

    /// Skip and count unusable lines [default: refuse the file]
    #[arg(long, help_heading = "Trace")]
    skip_bad: bool,

    #[command(flatten)]
    show: ShowArgs,
}

/// Create a trace from a stored run or an access log.
#[derive(Debug, Args)]
struct FromArgs {
    /// The run's folder or its run.jsonl; or a log in JSON lines, whose fields are then named
    source: PathBuf,

    /// Write the trace to this file, which must not be there yet [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    #[command(flatten)]
    log: AccessLogArgs,
}

pub(super) fn run(args: &TraceVerbArgs, printer: Printer) -> Result<Exit, Stop> {
    match &args.action {
        Action::Show(args) => show(args, printer),
        Action::From(args) => from(args, printer),
    }
}

fn show(args: &ShownTraceArgs, printer: Printer) -> Result<Exit, Stop> {
    args.show.check()?;
    if let Some(layout) = args.slice.layout_of(&args.path) {
        return show_sessions(args, layout, printer);
    }
    let trace = args.slice.of_file(&args.path, args.skip_bad);
    trace.check().map_err(Stop::usage)?;
    let (found, lengths) = survey_with_lengths(&trace, 0).map_err(|error| Stop::usage(error.to_string()))?;
    let json = || documents::trace_json(&trace, &found, lengths.as_ref());
    args.show.with_json(printer, || documents::trace(&trace, &found, lengths.as_ref()), json)?;
    Ok(Exit::Fine)
}

fn show_sessions(args: &ShownTraceArgs, layout: SessionLayout, printer: Printer) -> Result<Exit, Stop> {
    let trace = Trace { layout: Some(layout), ..args.slice.of_file(&args.path, args.skip_bad) };
    let dataset = Dataset::of_trace(&trace).unwrap_or_default();
    let ShownSessions { dataset, lengths, sessions } = ShownSessions::read(dataset).map_err(Stop::usage)?;
    let replayed = args.slice.replayed(trace, &dataset)?;
    let (lengths, replayed) = (lengths.as_ref(), replayed.as_ref());
    let json = || documents::sessions_json(&dataset, lengths, replayed, &sessions);
    args.show.with_json(printer, || documents::sessions_of_file(&dataset, lengths, replayed), json)?;
    Ok(Exit::Fine)
}

fn from(args: &FromArgs, printer: Printer) -> Result<Exit, Stop> {
    let traced = match args.log.fields() {
        Some(fields) => of_log(args, &fields, printer)?,
        None => of_run(&args.source, printer)?,
    };
    if traced.requests.is_empty() {
        return Err(Stop::usage(format!("{} holds no request", args.source.display())));
    }
    let number = traced.requests.len() as u64;
    match &args.out {
        None => printer.stream(|out| write(traced, out))?,
        Some(path) => {
            store(traced, path)?;
            printer.words(&format!("{} in {}", counted(number, "request"), path.display()));
        }
    }
    Ok(Exit::Fine)
}

/// Returns the trace of what a stored run sent.
fn of_run(path: &Path, printer: Printer) -> Result<RequestTrace, Stop> {
    let log = RunLog::read(path).map_err(|error| {
        Stop::usage(format!("{error}\nhint: of a log in JSON lines name the fields: --time, --input and --output"))
    })?;
    for note in RequestTrace::given_up_of(&log) {
        printer.words(&format!("note: {note}"));
    }
    Ok(RequestTrace::of_run(&log))
}

/// Returns the trace that the lines of a log tell.
fn of_log(args: &FromArgs, fields: &AccessLogFields, printer: Printer) -> Result<RequestTrace, Stop> {
    let bad_lines = if args.log.skip_bad { BadLines::Skip } else { BadLines::Refuse };
    let (requests, skipped) = read_log(&args.source.display().to_string(), fields, bad_lines).map_err(Stop::usage)?;
    if args.log.skip_bad {
        printer.words(&format!("{} left out", counted(skipped, "line")));
    }
    Ok(RequestTrace { requests, ..RequestTrace::default() })
}

/// Writes a whole trace or none, to a file that is not there yet.
fn store(traced: RequestTrace, path: &Path) -> Result<(), Stop> {
    if path.exists() {
        return Err(Stop::usage(format!(
            "{} is there already\nhint: name another file with --out, or remove it",
            path.display()
        )));
    }
    whole_file(path, |out| write(traced, out))
        .map_err(|error| Stop::usage(format!("cannot write {}: {error}", path.display())))
}

fn write(traced: RequestTrace, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = TraceWriter::begin(out, traced.block_tokens, traced.window)?;
    for request in traced.requests {
        writer.add(request)?;
    }
    writer.finish()
}
