//! How a verb prints its result: `--format`, `--json`, `--full`, and the one place that renders it.

use clap::Args;
use console::Term;
use serde::Serialize;

use super::place::Place;
use crate::live::wants_colour;
use crate::report::{self, Colour, Document, Extent, Format, RunReport, Style, documents, render as medium};
use crate::session::{Printer, Stop, save};

/// The format that is printed unless another form is asked for.
const SCREEN: Format = Format::Text(Extent::Summary);
/// Fewest columns of a report.
pub(in crate::cli) const NARROWEST: usize = 80;
/// Most columns: longer lines are harder to read.
pub(in crate::cli) const WIDEST: usize = 120;

/// The forms in which a result is printed.
#[derive(Clone, Debug, Default, Args)]
pub(in crate::cli) struct ShowArgs {
    /// Print the result as text, json, html or markdown, separated by commas; FORMAT=PATH writes a file [default:
    /// text]
    #[arg(long = "format", value_name = "FORMAT[=PATH]", value_delimiter = ',', value_parser = requested,
          help_heading = "Output")]
    pub(super) formats: Vec<(Format, Place)>,

    /// Print the result as JSON: --format json
    #[arg(long, help_heading = "Output")]
    pub(super) json: bool,

    /// Print all of the result as text, where a screen of it is the default
    #[arg(long, short = 'v', help_heading = "Output")]
    pub(super) full: bool,
}

/// A form, and where it goes: usually to standard output.
pub(super) fn requested(typed: &str) -> Result<(Format, Place), String> {
    let (name, place) = Place::typed_after(typed)?;
    let format = match name {
        "text" => SCREEN,
        "json" => Format::Json,
        "html" => Format::Html,
        "markdown" => Format::Markdown,
        _ => return Err("the formats are text, json, html, markdown".to_owned()),
    };
    Ok((format, place))
}

impl ShowArgs {
    /// Refuses what cannot be printed, before anything is done. This is two forms on standard output or in one file,
    /// and a file that cannot be written.
    pub(in crate::cli) fn check(&self) -> Result<(), Stop> {
        if self.to_stdout().count() > 1 {
            return Err(Stop::usage(
                "two formats both go to standard output\nhint: name a file for one of them, as in --format \
                 html=report.html",
            ));
        }
        for (number, (_, place)) in self.formats.iter().enumerate() {
            let is_taken = self.formats[..number].iter().any(|(_, before)| before.is(place));
            if let (Place::Path(path), true) = (place, is_taken) {
                let twice = format!("two formats both go to {}\nhint: name a file for each", path.display());
                return Err(Stop::usage(twice));
            }
            place.check()?;
        }
        Ok(())
    }

    /// The forms that go to standard output, each once.
    fn to_stdout(&self) -> impl Iterator<Item = Format> {
        let typed = self.formats.iter().filter(|(_, place)| !matches!(place, Place::Path(_)));
        let typed = typed.map(|(format, _)| *format);
        let mut all: Vec<Format> = self.json.then_some(Format::Json).into_iter().chain(typed).collect();
        all.dedup();
        all.into_iter()
    }

    /// Prints a result in the forms asked for. It is printed as text where no other form goes to standard output.
    pub(in crate::cli) fn show(
        &self,
        printer: Printer,
        render: impl Fn(Format) -> Result<String, Stop>,
    ) -> Result<(), Stop> {
        printer.data(&render(self.shown())?)?;
        for (format, place) in &self.formats {
            let Place::Path(path) = place else { continue };
            // A file has room for all of it.
            let format = if *format == SCREEN { Format::Text(Extent::Full) } else { *format };
            save::text(path, &render(format)?)?;
            printer.words(&format!("written to {}", path.display()));
        }
        Ok(())
    }

    /// Prints a result that is its own JSON in the requested forms.
    pub(in crate::cli) fn result(
        &self,
        printer: Printer,
        result: &impl Serialize,
        document: impl Fn() -> Document,
    ) -> Result<(), Stop> {
        self.with_json(printer, document, || report::json(result))
    }

    /// Prints a result that has a JSON of its own in the requested forms.
    pub(in crate::cli) fn with_json(
        &self,
        printer: Printer,
        document: impl Fn() -> Document,
        json: impl Fn() -> serde_json::Result<String>,
    ) -> Result<(), Stop> {
        self.show(printer, |format| rendered(format, &document, &json))
    }

    /// The form that goes to standard output.
    pub(in crate::cli) fn shown(&self) -> Format {
        match self.to_stdout().next().unwrap_or(SCREEN) {
            Format::Text(_) if self.full => Format::Text(Extent::Full),
            format => format,
        }
    }
}

/// A run in the requested form; only a page has its charts.
pub(in crate::cli) fn render_run(report: RunReport<'_>, format: Format) -> Result<String, Stop> {
    let RunReport { log, summary, diagnosis } = report;
    let with_log = (format == Format::Html).then_some(log);
    rendered(format, || documents::run(summary, diagnosis, with_log), || report::json_with(summary, diagnosis))
}

/// A result that is its own JSON, in the requested form.
pub(in crate::cli) fn render(
    format: Format,
    result: &impl Serialize,
    document: impl FnOnce() -> Document,
) -> Result<String, Stop> {
    rendered(format, document, || report::json(result))
}

/// A result in the requested form.
pub(in crate::cli) fn rendered(
    format: Format,
    document: impl FnOnce() -> Document,
    json: impl FnOnce() -> serde_json::Result<String>,
) -> Result<String, Stop> {
    match format {
        Format::Text(extent) => Ok(medium::text(&document(), style(), extent)),
        Format::Json => json().map_err(Stop::impossible),
        Format::Html => Ok(medium::html(&document())),
        Format::Markdown => Ok(medium::markdown(&document())),
    }
}

/// How text is written to standard output.
fn style() -> Style {
    let colour = if wants_colour(&std::io::stdout()) { Colour::Ansi } else { Colour::Plain };
    Style { colour, width: columns().map_or(Style::PLAIN.width, |columns| columns.clamp(NARROWEST, WIDEST)) }
}

/// Columns of the terminal behind standard output, or as the environment says.
pub(in crate::cli) fn columns() -> Option<usize> {
    let terminal = Term::stdout().size_checked().map(|(_, columns)| usize::from(columns));
    terminal.or_else(|| std::env::var("COLUMNS").ok()?.parse().ok())
}

/// Fewer runs make intervals too wide to be of much use.
const ADVISED: u64 = 5;

/// Says before they are executed when runs are too few for narrow intervals.
pub(in crate::cli) fn advise_repeats(runs: u64, printer: Printer) {
    if (2..ADVISED).contains(&runs) {
        printer.words(&format!("{runs} runs make wide intervals; {ADVISED} or more are advised (--repeats {ADVISED})"));
    }
}
