//! `skyline trace`: what a trace holds, and traces of one's own.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};

use super::args::{SliceArgs, survey};
use super::exit::{Exit, Stop};
use super::printer::Printer;
use crate::generator::{LogFields, TimeUnit, TraceWriter, TracedRequest, from_the_first, requests_of_run};
use crate::record::RunLog;
use crate::report::{trace_contents, trace_what};
use crate::units::count;
use crate::workload::Trace;

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
    /// Make a trace of a stored run or of an access log: moments, lengths and classes, no text
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
}

/// Make a trace of a stored run or of an access log.
#[derive(Debug, Args)]
#[command(after_help = "\
A run's trace has what its plan had: replayed with the run's workload, window and seed it is the same plan.
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
    let trace = args.slice.of(Trace::whole(&args.path));
    let found = survey(&trace, 0).map_err(Stop::usage)?;
    let mut text = format!("{}\n{}\n", trace_what(&trace, &found), trace_contents(&found));
    for kind in &found.kinds {
        let _ = writeln!(text, "{:>9}  {}", count(kind.requests), kind.name);
    }
    printer.data(&text)?;
    Ok(Exit::Fine)
}

fn from(args: &FromArgs, printer: Printer) -> Result<Exit, Stop> {
    let requests = match (&args.time, &args.input, &args.output) {
        (Some(time), Some(input), Some(output)) => {
            let fields = LogFields {
                time: time.clone(),
                unit: args.time_unit.into(),
                input: input.clone(),
                output: output.clone(),
                class: args.class.clone(),
            };
            from_the_first(read_log(&args.source, &fields)?)
        }
        _ => requests_of_run(&RunLog::read(&args.source).map_err(Stop::usage)?),
    };
    if requests.is_empty() {
        return Err(Stop::usage(format!("{} holds no request", args.source.display())));
    }
    let number = requests.len() as u64;
    let trace = written(requests).map_err(Stop::impossible)?;
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

fn written(requests: Vec<TracedRequest>) -> std::io::Result<String> {
    let mut text = Vec::new();
    let mut writer = TraceWriter::begin(&mut text, None)?;
    for request in requests {
        writer.add(request)?;
    }
    writer.finish()?;
    String::from_utf8(text).map_err(std::io::Error::other)
}

fn read_log(path: &Path, fields: &LogFields) -> Result<Vec<TracedRequest>, Stop> {
    let cannot = |error| Stop::usage(format!("cannot read {}: {error}", path.display()));
    let mut requests = Vec::new();
    for (line, number) in BufReader::new(File::open(path).map_err(cannot)?).lines().zip(1_u64..) {
        let line = line.map_err(cannot)?;
        if line.trim().is_empty() {
            continue;
        }
        let request = fields.request(&line);
        requests.push(request.map_err(|cause| {
            Stop::usage(format!(
                "{}, line {number}, {cause}\nhint: mend the line or leave it out",
                path.display()
            ))
        })?);
    }
    Ok(requests)
}
