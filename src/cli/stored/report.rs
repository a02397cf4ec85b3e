//! `skyline report`: a stored run, shown again; without a path the latest, and of a folder of runs a list.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use strum::VariantNames;

use crate::cli::args::{ObjectiveArgs, ValidityArgs, config, one_of};
use crate::cli::output::{AB, FormatArgs, RUN, SWEEP};
use crate::foreign::ForeignTool;
use crate::live::{Screen, StepLine};
use crate::report::{self, JSON_SCHEMAS, documents};
use crate::session::campaign::reported::Reported as _;
use crate::session::exits::{self, ExitRules};
use crate::session::stored::{self, Stored, experiments};
use crate::session::stored_run::{JudgedRun, repeats_again};
use crate::session::{Exit, Printer, Stop, folder};

/// Show a stored run again.
#[derive(Debug, Args)]
#[command(after_help = crate::report::documents::glossary())]
pub(in crate::cli) struct ReportArgs {
    /// The run's folder, its run.jsonl, or the folder of runs that were repeated, of a sweep, of an A/B
    /// experiment, of a table of experiments or of a tuning; a folder of these, which are then listed; or a
    /// result of vLLM, SGLang, GuideLLM or AIPerf, of a file of several `FILE:N` [default: the latest under
    /// `results`]
    run: Option<PathBuf>,

    #[command(flatten)]
    objectives: ObjectiveArgs,

    #[command(flatten)]
    validity: ValidityArgs,

    #[command(flatten)]
    format: FormatArgs,

    /// Read a result of this tool, and say what is missing for it to be one: vllm, sglang, guidellm or aiperf [default:
    /// recognised by its content]
    #[arg(long, value_name = "TOOL", hide_possible_values = true,
          value_parser = one_of::<ForeignTool>(ForeignTool::VARIANTS))]
    from: Option<ForeignTool>,

    /// Print the JSON Schema of what is stored or printed under this name, and nothing else
    #[arg(long, value_name = "NAME", exclusive = true, value_parser = json_schema())]
    json_schema: Option<&'static str>,
}

fn json_schema() -> impl TypedValueParser<Value = &'static str> {
    PossibleValuesParser::new(JSON_SCHEMAS.map(|(name, _)| name)).map(|typed| {
        let schema = JSON_SCHEMAS.into_iter().find(|(name, _)| *name == typed);
        schema.map_or("", |(_, schema)| schema)
    })
}

pub(in crate::cli) fn run(args: &ReportArgs, printer: Printer) -> Result<Exit, Stop> {
    match (&args.run, args.json_schema) {
        (_, Some(schema)) => printer.data(schema).map(|()| Exit::Fine),
        (Some(run), None) => args.show(run, printer),
        (None, None) => {
            let latest = stored::latest(&config::results_folder(&config::Surroundings::of_process()))?;
            printer.words(&format!("the latest result: {}", latest.display()));
            args.show(&latest, printer)
        }
    }
}

impl ReportArgs {
    /// Shows what is stored at `path`, and writes what is requested.
    fn show(&self, path: &Path, printer: Printer) -> Result<Exit, Stop> {
        let mut outputs = self.format.outputs()?;
        let (objectives, invalid) = (self.objectives.objectives(), self.validity.invalid_runs());
        let rules = self.objectives.undecided.rules(self.validity);
        let kind = stored::open(path, self.from)?;
        let lists = outputs.take_lists_of(&kind);
        match kind {
            Stored::Foreign(runs) => {
                self.refuse_objectives(
                    " of Skyline: latencies of other tools count from sending, and not from the schedule\n\
                     hint: compare the result with a run with skyline compare",
                )?;
                let forms = outputs.forms_of("a result of another tool")?;
                forms.with_json(printer, || documents::foreign(&runs), || report::foreign_json(&runs))?;
                Ok(Exit::Fine)
            }
            Stored::Results(folders) => {
                self.refuse_objectives(", and this is a folder of results\nhint: name one of them")?;
                let forms = outputs.forms_of("a folder of results")?;
                let (listed, shown) = (stored::listed(&folders), path.to_string_lossy());
                let document = || documents::results(shown.trim_end_matches('/'), &listed);
                forms.with_json(printer, document, || documents::results_json(&listed))?;
                Ok(Exit::Fine)
            }
            Stored::Sweep(stored) => {
                outputs.check(&SWEEP)?;
                lists.write_sweep(folder::of(path), &stored, printer)?;
                let sweep = match objectives.as_slice() {
                    [] => *stored,
                    others => experiments::sweep_judged_by(&stored, path, others)?,
                };
                outputs.finish(&SWEEP, &sweep, (folder::of(path), rules), printer)
            }
            Stored::AbTest => {
                let (test, require) = experiments::ab_test(path, invalid)?;
                self.refuse_objectives(
                    ", and an A/B experiment has a verdict of its own\nhint: show one of its runs, such as round-1/b",
                )?;
                outputs.check(&AB)?;
                outputs.finish(&AB, &test, (path, ExitRules { require, ..rules }), printer)
            }
            Stored::Matrix(folder) => {
                let table = experiments::matrix(&folder, invalid)?;
                self.refuse_objectives(
                    ", and a table of experiments has a contract of its own\nhint: show one of its rows, such as row-A",
                )?;
                outputs.forms_of("a table of experiments")?.result(printer, &table, || table.document())?;
                Ok(table.exit(rules, printer))
            }
            Stored::Tune(folder) => {
                let tune = experiments::tune(&folder, invalid, printer)?;
                self.refuse_objectives(", and a tuning has its own\nhint: show one of its runs")?;
                outputs.forms_of("a tuning")?.result(printer, &tune, || tune.document())?;
                Ok(tune.exit(rules, printer))
            }
            Stored::Repeats(runs) => {
                let mut lists = lists;
                outputs.check_runs()?;
                let repeats = repeats_again(&runs, &objectives, |folder, run| {
                    lists.add(run.report())?;
                    outputs.write_run(run.report(), folder, printer)
                })?;
                outputs.show(&repeats, printer)?;
                lists.write(path, printer)?;
                Ok(repeats.exit(rules, printer))
            }
            Stored::Run => {
                outputs.check(&RUN)?;
                let line = StepLine::start(Screen::detect(), "reading the run");
                let run = JudgedRun::read(path, &objectives)?;
                drop(line);
                outputs.show_run(run.report(), printer)?;
                outputs.write_run(run.report(), folder::of(path), printer)?;
                Ok(exits::of_run(&run.summary, rules, printer))
            }
        }
    }

    /// Refuses objectives for what is not a run, with the reason.
    fn refuse_objectives(&self, why: &str) -> Result<(), Stop> {
        if self.objectives.are_given() {
            return Err(Stop::usage(format!("--objective and --undecided are for runs{why}")));
        }
        Ok(())
    }
}
