//! How a verb prints its result: `--format`, `--json`, `--full`, and the one place that renders it.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use console::Term;

use crate::report::{Colour, Document, Extent, Format, Style, render};
use crate::session::{Printer, Stop, save, try_whole_file, wants_colour};

/// What is printed unless another form is asked for.
const SCREEN: Format = Format::Text(Extent::Summary);
/// A report is not made for fewer columns.
const NARROWEST: usize = 80;
/// Nor does it read better over more.
const WIDEST: usize = 120;

/// The forms in which a result is printed.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct ShowArgs {
    /// Print the result as text, json, html or markdown, with commas between several; FORMAT=PATH writes a file
    /// [default: text]
    #[arg(long = "format", value_name = "FORMAT[=PATH]", value_delimiter = ',', help_heading = "Output")]
    formats: Vec<Asked>,

    /// Print the result as JSON: --format json
    #[arg(long, help_heading = "Output")]
    json: bool,

    /// Print all of the result as text, where a screen of it is the default
    #[arg(long, help_heading = "Output")]
    full: bool,
}

/// A form with the file that it goes to; absent: standard output.
#[derive(Clone, Debug)]
struct Asked {
    format: Format,
    path: Option<PathBuf>,
}

impl FromStr for Asked {
    type Err = String;

    fn from_str(typed: &str) -> Result<Self, String> {
        let (name, path) = match typed.split_once('=') {
            None | Some((_, "-")) => (typed.split('=').next().unwrap_or(typed), None),
            Some((_, "")) => return Err("after the = comes a path, or - for standard output".to_owned()),
            Some((name, path)) => (name, Some(path.into())),
        };
        let format = match name {
            "text" => SCREEN,
            "json" => Format::Json,
            "html" => Format::Html,
            "markdown" => Format::Markdown,
            _ => return Err("the formats are text, json, html, markdown".to_owned()),
        };
        Ok(Self { format, path })
    }
}

impl ShowArgs {
    /// Refuses what cannot be printed, before anything is done: two forms on standard output, a file that cannot be
    /// written.
    pub(super) fn check(&self) -> Result<(), Stop> {
        if self.to_stdout().count() > 1 {
            return Err(Stop::usage(
                "two formats both go to standard output\nhint: name a file for one of them, as in --format html=page.html",
            ));
        }
        self.formats.iter().filter_map(|asked| asked.path.as_deref()).try_for_each(|path| {
            try_whole_file(path).map_err(|error| {
                Stop::usage(format!(
                    "cannot write {}: {error}\nhint: name a place in a folder that can be written",
                    path.display()
                ))
            })
        })
    }

    /// The forms that go to standard output, each once.
    fn to_stdout(&self) -> impl Iterator<Item = Format> {
        let typed = self.formats.iter().filter(|asked| asked.path.is_none()).map(|asked| asked.format);
        let mut all: Vec<Format> = self.json.then_some(Format::Json).into_iter().chain(typed).collect();
        all.dedup();
        all.into_iter()
    }

    /// Prints a result in the forms asked for; as text where no other goes to standard output.
    pub(super) fn show(
        &self,
        printer: Printer,
        render: impl Fn(Format) -> Result<String, Stop>,
    ) -> Result<(), Stop> {
        self.check()?;
        printer.data(&render(self.shown())?)?;
        for asked in &self.formats {
            let Some(path) = &asked.path else { continue };
            // A file has room for all of it.
            let format = if asked.format == SCREEN { Format::Text(Extent::Full) } else { asked.format };
            save::text(path, &render(format)?)?;
            printer.words(&format!("written to {}", path.display()));
        }
        Ok(())
    }

    /// The form that goes to standard output.
    pub(super) fn shown(&self) -> Format {
        match self.to_stdout().next().unwrap_or(SCREEN) {
            Format::Text(_) if self.full => Format::Text(Extent::Full),
            format => format,
        }
    }
}

/// A result in the form asked for.
pub(super) fn rendered(
    format: Format,
    document: impl FnOnce() -> Document,
    json: impl FnOnce() -> serde_json::Result<String>,
) -> Result<String, Stop> {
    match format {
        Format::Text(extent) => Ok(render::text(&document(), style(), extent)),
        Format::Json => json().map_err(Stop::impossible),
        Format::Html => Ok(render::html(&document())),
        Format::Markdown => Ok(render::markdown(&document())),
    }
}

/// All of a result as text for standard output.
pub(super) fn text(document: &Document) -> String {
    render::text(document, style(), Extent::Full)
}

/// How text is written to standard output.
fn style() -> Style {
    let colour = if wants_colour() { Colour::Ansi } else { Colour::Plain };
    let columns = Term::stdout().size_checked().map(|(_, columns)| usize::from(columns));
    Style { colour, width: columns.map_or(Style::PLAIN.width, |columns| columns.clamp(NARROWEST, WIDEST)) }
}
