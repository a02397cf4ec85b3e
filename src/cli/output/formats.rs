//! `--format`: the forms that a report is wanted in, checked before anything is done, and written at the end.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;

use super::place::Place;
use super::requested::RequestedExport;
use super::show::{ShowArgs, render, render_run, requested};
use crate::experiment::{AbTest, Sweep};
use crate::report::{Export, ExportFile, Extent, Format, Out, RunReport, WriteOf, WriteRun};
use crate::session::campaign::reported::Reported;
use crate::session::exits::ExitRules;
use crate::session::{Collector, Exit, Printer, Stop, whole_file};

/// The forms that a report is wanted in.
#[derive(Debug, Args)]
pub(in crate::cli) struct FormatArgs {
    #[arg(long = "format", value_name = "FORMAT[=PATH]", value_delimiter = ',', help = help())]
    pub(super) formats: Vec<RequestedExport>,

    /// Print the summary as JSON on standard output, and nothing else: --format json
    #[arg(long)]
    pub(super) json: bool,

    /// Print all of the report as text; the default is a screen of it
    #[arg(long, short = 'v')]
    pub(super) full: bool,

    #[arg(long = "otlp", value_name = "URL", help = PUSH)]
    pub(super) collector: Option<String>,
}

/// The help text of `--otlp`.
const PUSH: &str = "Push the figures of a run as OTLP metrics to the OpenTelemetry collector at this address, such as \
    http://localhost:4318, with the headers of OTEL_EXPORTER_OTLP_HEADERS; a failed push is reported and loses nothing \
    [default: no push]";

/// Returns the help text of the formats.
fn help() -> String {
    let mut help = String::from(
        "Write the report in these formats, separated by commas; may be repeated [default: text]. text and json go to \
         standard output, text where nothing else does; the others are files in the run's folder. FORMAT=PATH puts one \
         elsewhere, FORMAT=- on standard output. Where a format is several files, the name of one is a format too:\n",
    );
    for export in Export::ALL {
        // Nothing can be wrong with writing to a string.
        let _ = write!(help, "\n{:<11} {}", export.name, export.what);
    }
    help
}

/// The requested outputs, free of contradictions.
#[derive(Debug)]
pub(in crate::cli) struct Outputs {
    /// The format that is shown; absent where a document goes to standard output.
    shown: Option<Format>,
    /// The requests for formats, all that was typed.
    pub(super) asked: Vec<RequestedExport>,
    /// The collector that figures are pushed to.
    collector: Option<Collector>,
}

/// A kind of result that has files.
pub(in crate::cli) struct Kind<W: 'static> {
    name: &'static str,
    /// The files that a format has for it.
    files: fn(&'static Export) -> &'static [ExportFile<W>],
    /// Whether its figures can be pushed.
    is_pushed: bool,
}

pub(in crate::cli) const RUN: Kind<WriteRun> = Kind { name: "a run", files: |export| export.run, is_pushed: true };
pub(in crate::cli) const SWEEP: Kind<WriteOf<Sweep>> =
    Kind { name: "a sweep", files: |export| export.sweep, is_pushed: false };
pub(in crate::cli) const AB: Kind<WriteOf<AbTest>> =
    Kind { name: "an A/B experiment", files: |export| export.ab, is_pushed: false };

/// A document that is to be written.
pub(super) struct Planned<W: 'static> {
    asked: &'static str,
    pub(super) document: &'static ExportFile<W>,
    place: Place,
}

impl FormatArgs {
    /// Returns the outputs that were asked for. Two things cannot both go to standard output.
    pub(in crate::cli) fn outputs(&self) -> Result<Outputs, Stop> {
        let json = self.json.then_some(("--json", Some(Format::Json)));
        let to_stdout = self.formats.iter().filter_map(|asked| match asked.shown() {
            None if asked.place != Place::StandardOutput => None,
            shown => Some((asked.typed.as_str(), shown)),
        });
        let mut first = None;
        for (typed, shown) in json.into_iter().chain(to_stdout) {
            match first {
                None => first = Some((typed, shown)),
                Some((_, before)) if before.is_some() && before == shown => {}
                Some((before, _)) => {
                    return Err(Stop::usage(format!(
                        "{before} and {typed} both go to standard output\n\
                         hint: name a file for one of them, as in --format {}=report.txt",
                        typed.trim_start_matches("--").split('=').next().unwrap_or(typed)
                    )));
                }
            }
        }
        let shown = first.map_or(Some(Format::Text(Extent::Summary)), |(_, shown)| shown);
        let shown = shown.map(|format| match format {
            Format::Text(_) if self.full => Format::Text(Extent::Full),
            format => format,
        });
        // Read here, for clap would repeat what it refuses, and a secret in it.
        let collector = self.collector.as_deref().map(Collector::at).transpose()?;
        Ok(Outputs { shown, asked: self.formats.clone(), collector })
    }
}

impl Outputs {
    /// Returns the format shown on standard output; absent where a document goes there.
    pub(in crate::cli) fn shown(&self) -> Option<Format> {
        self.shown
    }

    /// Prints a result, where no document goes to standard output.
    pub(in crate::cli) fn show(&self, found: &impl Reported, printer: Printer) -> Result<(), Stop> {
        let Some(format) = self.shown else { return Ok(()) };
        printer.data(&render(format, found, || found.document())?)
    }

    /// Prints a run, where no document goes to standard output.
    pub(in crate::cli) fn show_run(&self, run: RunReport<'_>, printer: Printer) -> Result<(), Stop> {
        let Some(format) = self.shown else { return Ok(()) };
        printer.data(&render_run(run, format)?)
    }

    /// Prints a result that is stored in `folder` and writes its documents: its exit code.
    pub(in crate::cli) fn finish<R: Reported>(
        &self,
        kind: &Kind<WriteOf<R>>,
        found: &R,
        (folder, rules): (&Path, ExitRules),
        printer: Printer,
    ) -> Result<Exit, Stop> {
        self.show(found, printer)?;
        self.write(kind, folder, printer, |write, out| write(found, out))?;
        Ok(found.exit(rules, printer))
    }

    /// The forms of `subject`, which has no files of its own.
    pub(in crate::cli) fn forms_of(&self, subject: &str) -> Result<ShowArgs, Stop> {
        self.refuse_to_push(subject)?;
        let parsed = |asked: &RequestedExport| {
            requested(&asked.typed).map_err(|formats| {
                Stop::usage(format!("--format {}: {subject} has no such form\nhint: {formats}", asked.typed))
            })
        };
        let forms = ShowArgs {
            formats: self.asked.iter().map(parsed).collect::<Result<_, _>>()?,
            json: self.shown == Some(Format::Json),
            full: self.shown == Some(Format::Text(Extent::Full)),
        };
        forms.check()?;
        Ok(forms)
    }

    /// Finds what cannot be written of a result of this kind, before it is there.
    pub(in crate::cli) fn check<W>(&self, kind: &Kind<W>) -> Result<(), Stop> {
        if !kind.is_pushed {
            self.refuse_to_push(kind.name)?;
        }
        self.planned(kind)?.iter().try_for_each(|planned| planned.place.check())
    }

    /// Finds what cannot be written of several runs, before they are there. Each of them writes into its own folder;
    /// what they say together is shown.
    pub(in crate::cli) fn check_runs(&self) -> Result<(), Stop> {
        self.planned(&RUN)?;
        let elsewhere = |asked: &&RequestedExport| asked.shown().is_none() && asked.place != Place::Usual;
        match self.asked.iter().find(elsewhere) {
            None => Ok(()),
            Some(asked) => Err(Stop::usage(format!(
                "--format {}: of several runs each writes a file into its own folder\n\
                 hint: name the format alone, or write one of the runs with `skyline report`",
                asked.typed
            ))),
        }
    }

    /// Finds what the merge of shares cannot write, and what shares should not push.
    pub(in crate::cli) fn check_shares(&self) -> Result<(), Stop> {
        self.refuse_to_push("a share of a run")?;
        let file = self.asked.iter().find(|asked| asked.shown().is_none());
        let Some(RequestedExport { typed, .. }) = file else { return Ok(()) };
        Err(Stop::usage(format!(
            "--format {typed}: the merge of shares shows its run, and writes no such file\n\
             hint: write it afterwards: skyline report MERGED_RUN --format {typed}"
        )))
    }

    /// Writes a run that is stored in `folder`, and pushes its figures.
    pub(in crate::cli) fn write_run(&self, report: RunReport<'_>, folder: &Path, printer: Printer) -> Result<(), Stop> {
        let written = self.write(&RUN, folder, printer, |write, out| write(report, out));
        if let Some(collector) = &self.collector {
            collector.push(report, printer);
        }
        written
    }

    /// Writes each document of a result that is stored in `folder`, and says where. One that cannot be written does not
    /// keep the others from being.
    pub(in crate::cli) fn write<W>(
        &self,
        kind: &Kind<W>,
        folder: &Path,
        printer: Printer,
        write: impl Fn(&W, Out<'_>) -> std::io::Result<()>,
    ) -> Result<(), Stop> {
        let mut outcome = Ok(());
        for Planned { asked, document, place } in self.planned(kind)? {
            let written =
                write_to(place, (asked, folder.join(document.file)), printer, |out| write(&document.write, out));
            outcome = outcome.and(written);
        }
        outcome
    }

    /// Only the figures of runs are pushed.
    fn refuse_to_push(&self, subject: &str) -> Result<(), Stop> {
        let refused = format!("--otlp: {subject} is not pushed\nhint: push runs of Skyline, one by one");
        self.collector.as_ref().map_or(Ok(()), |_| Err(Stop::usage(refused)))
    }

    /// The documents of all that is to be written, each once. What is shown is found to have its form.
    pub(super) fn planned<W>(&self, kind: &Kind<W>) -> Result<Vec<Planned<W>>, Stop> {
        let Kind { name: subject, files: of, .. } = kind;
        let mut all: Vec<Planned<W>> = Vec::new();
        for asked in &self.asked {
            let documents: Vec<_> = of(asked.export)
                .iter()
                .filter(|document| asked.file.is_none_or(|file| file == document.file))
                .collect();
            if documents.is_empty() {
                let possible = Export::ALL.iter().filter(|export| !of(export).is_empty());
                let possible: Vec<_> = possible.map(|export| export.name).collect();
                return Err(Stop::usage(format!(
                    "--format {}: {subject} has no such form\nhint: its formats are {}",
                    asked.typed,
                    possible.join(", ")
                )));
            }
            if asked.shown().is_some() {
                continue;
            }
            let several = documents.len() > 1;
            for document in documents {
                let place = asked.place_of(document, several)?;
                let before = all.iter().find(|other| {
                    other.place.is(&place) && (place != Place::Usual || other.document.file == document.file)
                });
                if before.is_some_and(|before| before.document.file == document.file) {
                    continue;
                }
                if before.is_some() {
                    return Err(Stop::usage(format!(
                        "--format {}: something else is written there too\nhint: name a place for each",
                        asked.typed
                    )));
                }
                all.push(Planned { asked: asked.export.name, document, place });
            }
        }
        Ok(all)
    }
}

/// Writes a document to its place, which is usually `usual`, and says where.
pub(super) fn write_to(
    place: Place,
    (asked, usual): (&str, PathBuf),
    printer: Printer,
    write: impl FnOnce(Out<'_>) -> std::io::Result<()>,
) -> Result<(), Stop> {
    let path = match place {
        Place::StandardOutput => return printer.stream(write),
        Place::Usual => usual,
        Place::Path(path) => path,
    };
    whole_file(&path, write).map_err(|error| {
        Stop::impossible(format!("cannot write {}: {error}\nhint: FORMAT=PATH writes to another place", path.display()))
    })?;
    printer.words(&format!("{asked}: {}", path.display()));
    Ok(())
}
