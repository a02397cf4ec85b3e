//! One format as it was typed: what is written, and where it goes.

use std::io::IsTerminal;
use std::str::FromStr;

use super::place::Place;
use crate::report::{Content, Export, ExportFile, Format, UsualPlace};
use crate::session::Stop;

/// One format, as it was typed.
#[derive(Clone, Debug)]
pub(super) struct RequestedExport {
    pub(super) typed: String,
    pub(super) export: &'static Export,
    /// The one file of it that is wanted; absent: all.
    pub(super) file: Option<&'static str>,
    pub(super) place: Place,
}

impl FromStr for RequestedExport {
    type Err = String;

    fn from_str(typed: &str) -> Result<Self, String> {
        let (name, place) = Place::typed_after(typed)?;
        let found = Export::ALL.iter().find_map(|export| {
            let whole = (export.name == name).then_some((export, None));
            whole.or_else(|| export.files().find(|file| *file == name).map(|file| (export, Some(file))))
        });
        let Some((export, file)) = found else {
            let names: Vec<_> = Export::ALL.iter().map(|export| export.name).collect();
            return Err(format!("the formats are {}", names.join(", ")));
        };
        Ok(Self { typed: typed.to_owned(), export, file, place })
    }
}

impl RequestedExport {
    /// Returns the form in which the export is shown on standard output. `None` where that is not what is asked.
    pub(super) fn shown(&self) -> Option<Format> {
        match (self.export.place, &self.place) {
            (UsualPlace::Shown(format), Place::Usual | Place::StandardOutput) => Some(format),
            _ => None,
        }
    }

    /// Where a document goes, one of `several` of its format or the only one.
    pub(super) fn place_of<W>(&self, document: &ExportFile<W>, several: bool) -> Result<Place, Stop> {
        match &self.place {
            Place::Usual => Ok(Place::Usual),
            Place::StandardOutput if several => Err(Stop::usage(format!(
                "--format {}: {} comes in several files, and standard output takes one\n\
                 hint: name the file: --format {}=-",
                self.typed, self.export.name, document.file
            ))),
            Place::StandardOutput if document.content == Content::Binary && std::io::stdout().is_terminal() => {
                Err(Stop::usage(format!(
                    "--format {}: {} is no text, and standard output is a terminal\n\
                     hint: redirect it to a file, or name one: --format {}=PATH",
                    self.typed, document.file, self.export.name
                )))
            }
            Place::StandardOutput => Ok(Place::StandardOutput),
            Place::Path(path) if path.is_dir() => Ok(Place::Path(path.join(document.file))),
            Place::Path(_) if several => Err(Stop::usage(format!(
                "--format {}: {} comes in several files, so a folder is named, and there is none of this name\n\
                 hint: create it, or name one file: --format {}=PATH",
                self.typed, self.export.name, document.file
            ))),
            Place::Path(path) => Ok(Place::Path(path.clone())),
        }
    }
}
