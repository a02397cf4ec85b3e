//! `skyline compare`: stored runs beside a baseline.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use strum::VariantNames as _;

use super::args::{ValidityArgs, one_of};
use super::output::{ShowArgs, render};
use crate::experiment::compare::{Compared, ComparedForeign, ComparedSweeps, Condition, Gate, GateJudgement, Margin};
use crate::report::{Document, Format, documents};
use crate::session::exits::{ExitRules, Undecided};
use crate::session::stored::ComparedResults;
use crate::session::{Exit, Printer, Stop, save};

/// Compare stored runs, repeats or sweeps with a baseline.
#[derive(Debug, Args)]
pub(super) struct CompareArgs {
    /// Folders of runs, of runs that were repeated, or of sweeps, the baseline first; or results of vLLM,
    /// SGLang, GuideLLM or AIPerf beside runs or each other, of a file of several `FILE:N`
    #[arg(value_name = "FOLDER", required = true, num_args = 2..)]
    folders: Vec<PathBuf>,

    /// Condition that is varied: it may differ between the runs and is shown; may be repeated
    /// [default: none]
    #[arg(long, value_name = "NAME", hide_possible_values = true,
          value_parser = one_of::<Condition>(Condition::VARIANTS))]
    vary: Vec<Condition>,

    /// Exit with 1 if a figure is worse than the baseline's by more, and not by chance, such as `p95 ttft 10%`; may be
    /// repeated [default: none]
    #[arg(long, value_name = "FIGURE SHARE")]
    max_regression: Vec<Margin>,

    /// Exit with 1 if a figure is not better than the baseline's by as much, or if that may be chance, such
    /// as `p95 ttft 25%`; may be repeated [default: none]
    #[arg(long, value_name = "FIGURE SHARE")]
    require_improvement: Vec<Margin>,

    /// What a demand counts as for the exit code if the runs cannot tell it, `pass` or `fail` [default: a regression
    /// passes, an improvement fails]
    #[arg(long, value_name = "HOW", value_enum, hide_possible_values = true)]
    undecided: Option<Undecided>,

    #[command(flatten)]
    validity: ValidityArgs,

    /// Write the comparison as a page with charts to this file [default: none]
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,

    /// Write the comparison as Markdown, for the summary of a CI job, to this file; - prints it in place of the text
    /// [default: none]
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,

    #[command(flatten)]
    show: ShowArgs,
}

pub(super) fn run(args: &CompareArgs, printer: Printer) -> Result<Exit, Stop> {
    args.show.check()?;
    if args.show.shown() == Format::Json && args.shows_markdown() {
        return Err(Stop::usage(
            "--json and --markdown - both go to standard output\nhint: name a file for the Markdown",
        ));
    }
    let (gates, vary) = (args.gates(), &args.vary);
    let rules = ExitRules { undecided: args.undecided, ..args.validity.rules() };
    rules.check_use(gates.is_empty(), "demand", printer);
    let passed = match ComparedResults::open(&args.folders, &gates, rules.invalid)? {
        ComparedResults::WithOthers(sides) => {
            let compared = ComparedForeign::new(&sides, vary, &gates).map_err(Stop::usage)?;
            let judged = compared.against.iter().flat_map(|against| &against.gates);
            args.show_compared(printer, &compared, judged, || documents::compared_foreign(&compared))?
        }
        ComparedResults::Runs(sides) => {
            let compared = Compared::new(&sides, vary, &gates).map_err(Stop::usage)?;
            let judged = compared.against.iter().flat_map(|against| &against.gates);
            args.show_compared(printer, &compared, judged, || documents::compared(&compared))?
        }
        ComparedResults::Sweeps(sides) => {
            let compared = ComparedSweeps::new(&sides, vary, &gates).map_err(Stop::usage)?;
            let judged = compared.against.iter().flat_map(|against| &against.gates);
            args.show_compared(printer, &compared, judged, || documents::compared_sweeps(&compared))?
        }
    };
    Ok(if passed { Exit::Fine } else { Exit::Missed })
}

impl CompareArgs {
    /// Whether Markdown is printed in place of text.
    fn shows_markdown(&self) -> bool {
        self.markdown.as_ref().is_some_and(|path| path.as_os_str() == "-")
    }

    fn gates(&self) -> Vec<Gate> {
        let undecided_passes = self.undecided.map(|undecided| undecided == Undecided::Pass);
        let of = |margin: &Margin| Margin { undecided_passes, ..margin.clone() };
        let regressions = self.max_regression.iter().map(of).map(Gate::MaxRegression);
        regressions.chain(self.require_improvement.iter().map(of).map(Gate::RequiredImprovement)).collect()
    }

    /// Prints a comparison and writes the files that are requested of it. Returns whether every demand is met.
    fn show_compared<'a>(
        &self,
        printer: Printer,
        compared: &impl Serialize,
        mut judged: impl Iterator<Item = &'a GateJudgement>,
        document: impl Fn() -> Document,
    ) -> Result<bool, Stop> {
        if self.shows_markdown() {
            printer.data(&render(Format::Markdown, compared, &document)?)?;
        } else {
            self.show.result(printer, compared, &document)?;
        }
        let markdown = self.markdown.as_ref().filter(|_| !self.shows_markdown());
        let files = [("page", self.page.as_ref(), Format::Html), ("Markdown", markdown, Format::Markdown)];
        for (what, path, format) in files {
            if let Some(path) = path {
                save::text(path, &render(format, compared, &document)?)?;
                printer.words(&format!("{what} written to {}", path.display()));
            }
        }
        Ok(judged.all(|gate| gate.passes))
    }
}
