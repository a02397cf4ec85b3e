//! `skyline trace`: what a trace holds, and traces of one's own.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};

use super::args::{SliceArgs, survey};
use super::exit::{Exit, Stop};
use super::printer::Printer;
use crate::analysis::wording::counted;
use crate::generator::{LogFields, TimeUnit, TraceWriter, Traced, TracedRequest, from_the_first};
use crate::record::RunLog;
use crate::report::{trace_contents, trace_what};
use crate::units::count;
use crate::workload::{BadLines, Trace};

/// Say what a trace holds, or make one of a run or of a log.
#[derive(Debug, Args)]
pub(super) struct TraceVerbArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Read a trace as a run would, and say what is in it
    Show(ShowArgs),
    /// Make a trace of a stored run or of an access log: moments, lengths and categories, no text
    From(FromArgs),
}

/// Read a trace as a run would, and say what is in it.
#[derive(Debug, Args)]
struct ShowArgs {
    /// The trace
    #[arg(value_name = "FILE")]
    path: String,

    #[command(flatten)]
    slice: SliceArgs,

    /// Leave out lines that cannot be used, and count them [default: refuse the file]
    #[arg(long, help_heading = "Trace")]
    skip_bad: bool,
}

/// Make a trace of a stored run or of an access log.
#[derive(Debug, Args)]
#[command(after_help = "\
A run's trace has what its plan had: replayed with the run's workload, window and seed it is the same plan, but
that prefixes which the run shared are named as blocks.
A log in JSON lines is read by the names of its fields, and a field inside another is written with a dot:
  skyline trace from access.jsonl --time ts --input usage.prompt_tokens --output usage.completion_tokens")]
struct FromArgs {
    /// The run's folder or its run.jsonl; or a log in JSON lines, whose fields are then named
    source: PathBuf,

    /// Write the trace to this file [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Field of the log that says when a request came: a date, or a number
    #[arg(long, value_name = "FIELD", requires = "input", help_heading = "Log")]
    time: Option<String>,

    /// What a number in that field is in
    #[arg(long, value_name = "UNIT", default_value = "s", help_heading = "Log")]
    time_unit: Unit,

    /// Field of the log with the tokens of the prompt
    #[arg(long, value_name = "FIELD", requires = "output", help_heading = "Log")]
    input: Option<String>,

    /// Field of the log with the tokens of the answer
    #[arg(long, value_name = "FIELD", requires = "time", help_heading = "Log")]
    output: Option<String>,

    /// Field of the log with the kind of the request, which becomes its class [default: none]
    #[arg(long, value_name = "FIELD", requires = "time", help_heading = "Log")]
    class: Option<String>,

    /// Leave out lines of the log that cannot be used, and count them [default: refuse the log]
    #[arg(long, requires = "time", help_heading = "Log")]
    skip_bad: bool,
}

/// What a number of a log's clock is in.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Unit {
    /// Seconds
    S,
    /// Milliseconds
    Ms,
    /// Microseconds
    Us,
    /// Nanoseconds
    Ns,
}

impl From<Unit> for TimeUnit {
    fn from(unit: Unit) -> Self {
        match unit {
            Unit::S => Self::Seconds,
            Unit::Ms => Self::Milliseconds,
            Unit::Us => Self::Microseconds,
            Unit::Ns => Self::Nanoseconds,
        }
    }
}

pub(super) fn run(args: &TraceVerbArgs, printer: Printer) -> Result<Exit, Stop> {
    match &args.action {
        Action::Show(args) => show(args, printer),
        Action::From(args) => from(args, printer),
    }
}

fn show(args: &ShowArgs, printer: Printer) -> Result<Exit, Stop> {
    let bad_lines = if args.skip_bad { BadLines::Skip } else { BadLines::Refuse };
    let trace = args.slice.of(Trace { bad_lines, ..Trace::whole(&args.path) });
    let found = survey(&trace, 0).map_err(Stop::usage)?;
    let mut text = format!("{}\n{}\n", trace_what(&trace, &found), trace_contents(&found));
    for kind in &found.kinds {
        let _ = writeln!(text, "{:>9}  {}", count(kind.requests), kind.name);
    }
    printer.data(&text)?;
    Ok(Exit::Fine)
}

fn from(args: &FromArgs, printer: Printer) -> Result<Exit, Stop> {
    let traced = match (&args.time, &args.input, &args.output) {
        (Some(time), Some(input), Some(output)) => {
            let fields = LogFields {
                time: time.clone(),
                unit: args.time_unit.into(),
                input: input.clone(),
                output: output.clone(),
                class: args.class.clone(),
            };
            Traced { requests: from_the_first(read_log(args, &fields, printer)?), block_tokens: None }
        }
        _ => of_run(&args.source, printer)?,
    };
    if traced.requests.is_empty() {
        return Err(Stop::usage(format!("{} holds no request", args.source.display())));
    }
    let number = traced.requests.len() as u64;
    let trace = written(traced).map_err(Stop::impossible)?;
    match &args.out {
        None => printer.data(&trace)?,
        Some(path) => {
            let cannot = |error| Stop::usage(format!("cannot write {}: {error}", path.display()));
            std::fs::write(path, trace).map_err(cannot)?;
            printer.words(&format!("{} requests in {}", count(number), path.display()));
        }
    }
    Ok(Exit::Fine)
}

/// What a stored run sent.
fn of_run(path: &Path, printer: Printer) -> Result<Traced, Stop> {
    let log = RunLog::read(path).map_err(|error| {
        Stop::usage(format!(
            "{error}\nhint: of a log in JSON lines name the fields: --time, --input and --output"
        ))
    })?;
    let replayed = log.header.workload.arrival.trace();
    if let Some(trace) =
        replayed.filter(|trace| trace.found.as_ref().is_some_and(|found| found.reusable_share.is_some()))
    {
        printer.words(&format!(
            "note: the run replayed {}, and a run does not keep the blocks of a trace; replay that to share them again",
            trace.path
        ));
    }
    Ok(Traced::of_run(&log))
}

fn written(traced: Traced) -> std::io::Result<String> {
    let mut text = Vec::new();
    let mut writer = TraceWriter::begin(&mut text, traced.block_tokens)?;
    for request in traced.requests {
        writer.add(request)?;
    }
    writer.finish()?;
    String::from_utf8(text).map_err(std::io::Error::other)
}

fn read_log(args: &FromArgs, fields: &LogFields, printer: Printer) -> Result<Vec<TracedRequest>, Stop> {
    let path = args.source.display();
    let cannot = |error| Stop::usage(format!("cannot read {path}: {error}"));
    let (mut requests, mut skipped) = (Vec::new(), 0);
    for (line, number) in BufReader::new(File::open(&args.source).map_err(cannot)?).lines().zip(1_u64..) {
        let line = line.map_err(cannot)?;
        if line.trim().is_empty() {
            continue;
        }
        match fields.request(&line) {
            Ok(request) => requests.push(request),
            Err(_) if args.skip_bad => skipped += 1,
            Err(cause) => {
                return Err(Stop::usage(format!(
                    "{path}, line {number}, {cause}\nhint: a line is a JSON object with the named fields; mend it, or \
                     leave out what cannot be used with --skip-bad, which is counted"
                )));
            }
        }
    }
    if args.skip_bad {
        printer.words(&format!("{} left out", counted(skipped, "line")));
    }
    Ok(requests)
}
