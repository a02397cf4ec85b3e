//! Several runs in one document: a list, for readers that take one.

use std::io;
use std::path::Path;

use super::formats::{Outputs, write_to};
use super::place::Place;
use super::requested::RequestedExport;
use crate::report::{Content, ExportFile, Out, RunReport, WriteRun};
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

/// Whether runs in their own folders have files of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum OwnFiles {
    /// Each has: a list is what a named place takes.
    Each,
    /// None has.
    None,
}

impl Outputs {
    /// Takes out what makes a list of several runs.
    pub(in crate::cli) fn take_lists(&mut self, own: OwnFiles) -> RunList {
        let mut lists = Vec::new();
        self.asked.retain(|asked| {
            let listed = asked.export.run.iter().find(|document| document.content == Content::Listed);
            match listed {
                Some(document) if own == OwnFiles::None || asked.place != Place::Usual => {
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
    /// Whether none is asked for.
    pub(in crate::cli) fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }

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
}
