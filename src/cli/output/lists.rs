//! Several runs in one document: a list, for readers that take one.

use std::io;
use std::path::Path;

use super::formats::{Outputs, write_to};
use super::place::Place;
use super::requested::RequestedExport;
use crate::experiment::Sweep;
use crate::report::{Content, ExportFile, Out, RunReport, WriteRun};
use crate::session::stored::Stored;
use crate::session::stored_run::JudgedRun;
use crate::session::{Printer, Stop};

/// Lists of runs that are asked for, with the runs so far.
#[derive(Debug)]
pub(in crate::cli) struct RunList {
    lists: Vec<List>,
}

#[derive(Debug)]
struct List {
    asked: RequestedExport,
    document: &'static ExportFile<WriteRun>,
    runs: Vec<Vec<u8>>,
}

impl Outputs {
    /// Takes out what makes a list of the runs of what is stored. Where runs have files of their own, a list is what a
    /// named place takes.
    pub(in crate::cli) fn take_lists_of(&mut self, stored: &Stored) -> RunList {
        let mut lists = Vec::new();
        let (is_sweep, are_repeats) = (matches!(stored, Stored::Sweep(_)), matches!(stored, Stored::Repeats(_)));
        self.asked.retain(|asked| {
            let listed = asked.export.run.iter().find(|document| document.content == Content::Listed);
            match listed {
                Some(document) if is_sweep || are_repeats && asked.place != Place::Usual => {
                    lists.push(List { asked: asked.clone(), document, runs: Vec::new() });
                    false
                }
                _ => true,
            }
        });
        RunList { lists }
    }
}

impl RunList {
    /// Adds a run.
    pub(in crate::cli) fn add(&mut self, report: RunReport<'_>) -> Result<(), Stop> {
        for list in &mut self.lists {
            let mut text = Vec::new();
            (list.document.write)(report, &mut text)
                .map_err(|error| Stop::impossible(format!("{}: {error}", list.document.file)))?;
            list.runs.push(text);
        }
        Ok(())
    }

    /// Writes them, each where it is asked for, else into `folder`.
    pub(in crate::cli) fn write(&self, folder: &Path, printer: Printer) -> Result<(), Stop> {
        for List { asked, document, runs } in &self.lists {
            let joined = |out: Out<'_>| -> io::Result<()> {
                for (number, run) in runs.iter().enumerate() {
                    out.write_all(if number == 0 { b"[" } else { b"," })?;
                    out.write_all(run)?;
                }
                out.write_all(if runs.is_empty() { b"[]\n" } else { b"]\n" })
            };
            let usual = (asked.export.name, folder.join(document.file));
            write_to(asked.place_of(document, false)?, usual, printer, joined)?;
        }
        Ok(())
    }

    /// Writes the runs of the sweep in `folder`, in the order in which they ran.
    pub(in crate::cli) fn write_sweep(mut self, folder: &Path, sweep: &Sweep, printer: Printer) -> Result<(), Stop> {
        let mut trials: Vec<_> = sweep.points.iter().flat_map(|point| &point.trials).collect();
        trials.sort_by_key(|trial| trial.number);
        if self.lists.is_empty() {
            return Ok(());
        }
        for trial in trials {
            self.add(JudgedRun::read(&folder.join(&trial.run), &[])?.report())?;
        }
        self.write(folder, printer)
    }
}
