//! Options of verbs that execute runs: what they are judged by, where they are stored, how progress is shown.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{ArgGroup, Args, ValueEnum};
use serde::Serialize;

use super::values::{duration, percentile};
use crate::analysis::{Objective, Tier};
use crate::cli::output::{FormatArgs, Outputs, RUN, ShowArgs};
use crate::experiment::InvalidRuns;
use crate::live::Screen;
use crate::session::campaign::conduct::{Campaign, Conduct, conduct};
use crate::session::campaign::reported::{Conducted, Reported as _};
use crate::session::exits::{ExitRules, Require, Undecided};
use crate::session::settings::MachineCheck;
use crate::session::{Exit, ExperimentDir, Interrupts, Printer, Stop};

/// What a result is judged by.
#[derive(Clone, Debug, Default, Args)]
pub(in crate::cli) struct ObjectiveArgs {
    /// Objective to judge by, such as `p95 ttft < 500ms`, `error_rate < 1%`, `goodput > 5/s`,
    /// `slo_attainment > 95%` or, of one class, priority, tenant or model, `p95 ttft of NAME < 500ms`, or a
    /// preset of two, such as `mlperf:llama-3.1-8b:interactive`; a miss exits with 1; of a sweep the highest
    /// load is the highest that meets all of them, and without any there is a curve and its knee; of a stored
    /// result in place of its own; may be repeated
    #[arg(long = "objective", value_name = "OBJECTIVE", help_heading = "Output", value_parser = objectives)]
    objectives: Vec<Vec<Objective>>,

    #[command(flatten)]
    pub(in crate::cli) undecided: UndecidedArgs,
}

/// What an objective does that a run cannot tell.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(in crate::cli) struct UndecidedArgs {
    /// What an objective counts as for the exit code if the run cannot tell it, `fail` or `pass`; of a sweep,
    /// loads of which none surely passed, and a sustained run that cannot tell [default: fail]
    #[arg(long, value_name = "HOW", value_enum, hide_possible_values = true, help_heading = "Output")]
    undecided: Option<Undecided>,
}

impl UndecidedArgs {
    /// Returns the rules on what counts as a failure.
    pub(in crate::cli) fn rules(self, validity: ValidityArgs) -> ExitRules {
        ExitRules { undecided: self.undecided, ..validity.rules() }
    }
}

impl ObjectiveArgs {
    /// Whether there are any, or it is said what they count as.
    pub(in crate::cli) fn are_given(&self) -> bool {
        !self.objectives.is_empty() || self.undecided.undecided.is_some()
    }

    /// Each of them once.
    pub(in crate::cli) fn objectives(&self) -> Vec<Objective> {
        Tier::objectives_of(&[], &self.objectives.concat())
    }
}

/// Tiers of a search.
#[derive(Clone, Debug, Default, Args)]
#[command(group = ArgGroup::new("judged").args(["objectives", "tiers"]).multiple(true))]
pub(in crate::cli) struct TierArgs {
    /// Tier of a sweep: objectives that have a highest load of their own. An example is `fast='p95 ttft <
    /// 1s,tokens_per_s_per_user > 40'`; one search finds that of each tier, and what --objective says is part of all;
    /// may be repeated [default: all objectives have one highest load together]
    #[arg(long = "tier", value_name = "NAME=OBJECTIVE[,OBJECTIVE]")]
    tiers: Vec<Tier>,
}

impl TierArgs {
    /// Whether there are any.
    pub(in crate::cli) fn are_given(&self) -> bool {
        !self.tiers.is_empty()
    }

    /// The tiers, each with the objectives in `common`.
    pub(in crate::cli) fn tiers(&self, common: &[Objective]) -> Result<Vec<Tier>, Stop> {
        for (place, tier) in self.tiers.iter().enumerate() {
            if self.tiers[..place].iter().any(|before| before.name == tier.name) {
                let name = &tier.name;
                return Err(Stop::usage(format!(
                    "two tiers are called `{name}`\nhint: objectives of one tier stand in one --tier, with commas"
                )));
            }
        }
        Ok(Tier::all_with(&self.tiers, common))
    }

    /// Returns the tiers with the common objectives of `typed`, and makes `all` those of all tiers.
    pub(in crate::cli) fn of_search(&self, typed: &ObjectiveArgs, all: &mut Vec<Objective>) -> Result<Vec<Tier>, Stop> {
        let common = typed.objectives();
        *all = self.objectives(&common);
        self.tiers(&common)
    }

    /// The objectives in `common` and those of all tiers.
    pub(in crate::cli) fn objectives(&self, common: &[Objective]) -> Vec<Objective> {
        Tier::objectives_of(&self.tiers, common)
    }
}

/// The objectives of a text. A mistake is said without the text, which clap shows.
fn objectives(text: &str) -> Result<Vec<Objective>, String> {
    Objective::all_of(text).map_err(|error| error.cure())
}

/// Whether an INVALID run fails the command.
#[derive(Clone, Copy, Debug, Args)]
pub(in crate::cli) struct ValidityArgs {
    /// Exit with 0 or 1 as if the run were valid; the report still says INVALID, and why; in repeats, A/B rounds and
    /// rows of a table INVALID runs count, and no spare run replaces a spoiled one
    #[arg(long)]
    allow_invalid: bool,
}

impl ValidityArgs {
    /// Returns what INVALID runs do to the exit code. The report says INVALID all the same.
    pub(in crate::cli) fn invalid_runs(self) -> InvalidRuns {
        if self.allow_invalid { InvalidRuns::Counted } else { InvalidRuns::LeftOut }
    }

    /// Rules of a result that has no undecided objectives.
    pub(in crate::cli) fn rules(self) -> ExitRules {
        ExitRules { invalid: self.invalid_runs(), undecided: None, require: Require::NotWorse }
    }
}

/// Results of a run, or of several: what is reported, and where it goes.
#[derive(Debug, Args)]
pub(in crate::cli) struct RunOutputArgs {
    /// Percentiles of the table of latencies, with commas between them, such as 50,95,99.5
    /// [default: 50,90,95,99,99.9]
    #[arg(long, visible_alias = "metric-percentiles", value_name = "LIST", value_delimiter = ',',
          help_heading = "Output",
          value_parser = percentile)]
    pub(in crate::cli) percentiles: Vec<f64>,

    #[command(flatten, next_help_heading = "Output")]
    pub(in crate::cli) validity: ValidityArgs,

    /// Folder in which the run's folder is created
    #[arg(long, visible_alias = "result-dir", value_name = "DIR", help_heading = "Output", default_value = "results")]
    pub(in crate::cli) out: PathBuf,

    /// Says nothing: each run is stored in a folder of its own anyway; `vllm bench serve` has this option
    #[arg(long, help_heading = "Output")]
    pub(in crate::cli) save_result: bool,

    #[command(flatten, next_help_heading = "Output")]
    pub(in crate::cli) format: FormatArgs,

    #[command(flatten)]
    pub(in crate::cli) live: LiveArgs,
}

impl RunOutputArgs {
    /// Returns the percentiles of the table of latencies, each once. None stand for the usual ones.
    pub(in crate::cli) fn percentiles(&self) -> Vec<f64> {
        let mut percentiles = self.percentiles.clone();
        percentiles.sort_by(f64::total_cmp);
        percentiles.dedup();
        percentiles
    }

    /// Outputs of one run, or of several, if they can be written.
    pub(in crate::cli) fn outputs(&self, runs: u64) -> Result<Outputs, Stop> {
        let outputs = self.format.outputs()?;
        if runs > 1 { outputs.check_runs() } else { outputs.check(&RUN) }.map(|()| outputs)
    }
}

/// Several runs that are one experiment.
#[derive(Debug, Args)]
pub(in crate::cli) struct CampaignArgs {
    /// Wait this long between two runs, and until the server is idle, if it reports that
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration, allow_hyphen_values = true,
          help_heading = "Experiment")]
    pub(in crate::cli) pause: Duration,

    /// Resume the interrupted experiment in this folder: repeat the same command with this option; finished runs are
    /// read and not executed again [default: a new experiment]
    #[arg(long, value_name = "FOLDER", help_heading = "Experiment")]
    pub(in crate::cli) resume: Option<PathBuf>,

    /// Show what would be run, for how long and against what, and send nothing
    #[arg(long, help_heading = "Experiment")]
    pub(in crate::cli) dry_run: bool,

    #[command(flatten, next_help_heading = "Output")]
    pub(in crate::cli) validity: ValidityArgs,

    /// Folder in which the experiment's folder is created
    #[arg(long, value_name = "DIR", help_heading = "Output", default_value = "results")]
    pub(in crate::cli) out: PathBuf,

    #[command(flatten)]
    pub(in crate::cli) show: ShowArgs,

    #[command(flatten)]
    pub(in crate::cli) live: LiveArgs,
}

impl CampaignArgs {
    /// Where the experiment's folder is created; `None` where one with this manifest is resumed.
    pub(in crate::cli) fn begins_in(&self, manifest: &impl Serialize) -> Result<Option<&Path>, Stop> {
        match &self.resume {
            Some(folder) => ExperimentDir::resume(folder, manifest).map(|_| None),
            None => Ok(Some(&self.out)),
        }
    }

    /// Conducts an experiment in `dir` and shows what it found. It says where that is stored and how to go on, and
    /// returns the exit code under `rules`.
    pub(in crate::cli) fn conduct<E: Conducted>(
        &self,
        experiment: &mut E,
        runs: impl Campaign<E>,
        (dir, interrupts): (&ExperimentDir, &Interrupts),
        spoiled: (MachineCheck, InvalidRuns),
        rules: ExitRules,
        printer: Printer,
    ) -> Result<Exit, Stop> {
        let mut how = Conduct::new(dir, interrupts, spoiled, (self.live.announce(printer), printer));
        how.pause = self.pause;
        conduct(experiment, runs, how, rules, |found| self.show.result(printer, found, || found.document()))
    }
}

/// Whether progress is shown, and how.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Output")]
pub(in crate::cli) struct LiveArgs {
    /// How progress is shown on a terminal: `dashboard`, on all of it while a run is on, where there are 60
    /// columns and 12 rows or more, or `line`; elsewhere a line is printed every five seconds
    #[arg(long, value_name = "HOW", value_enum, hide_possible_values = true, default_value_t = LiveForm::Dashboard)]
    live: LiveForm,

    /// Do not show progress
    #[arg(long, short, conflicts_with = "live")]
    quiet: bool,
}

/// Forms of progress on a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LiveForm {
    /// On the whole terminal while a run is on, which then is as it was before
    Dashboard,
    /// In one line, redrawn in place
    Line,
}

impl LiveArgs {
    /// Returns the printer for words about progress; absent: they go nowhere.
    pub(in crate::cli) fn announce(self, printer: Printer) -> Option<Printer> {
        (!self.quiet).then_some(printer)
    }

    /// Returns the screen that progress is shown on.
    pub(in crate::cli) fn screen(self) -> Screen {
        match self.live {
            _ if self.quiet => Screen::Quiet,
            LiveForm::Dashboard => Screen::detect(),
            LiveForm::Line => Screen::detect().in_a_line(),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Typed {
        #[command(flatten)]
        args: ObjectiveArgs,
    }

    fn objectives(typed: &[&str]) -> Vec<String> {
        let typed = ["skyline"].into_iter().chain(typed.iter().flat_map(|text| ["--objective", text]));
        let objectives = Typed::try_parse_from(typed).unwrap().args.objectives();
        objectives.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_preset_is_what_it_stands_for() {
        let preset = "mlperf:llama-3.1-8b:interactive";
        assert_eq!(objectives(&[preset]), ["p99 ttft <= 500ms", "p99 tpot <= 30ms"]);
    }

    #[test]
    fn nothing_is_demanded_twice() {
        assert_eq!(objectives(&["p95 ttft < 1s", "p95 ttft < 1s", "error_rate < 1%"]).len(), 2);
        let preset = "mlperf:llama-3.1-8b:interactive";
        assert_eq!(objectives(&[preset, "p99 tpot <= 30ms", preset]).len(), 2);
    }

    #[test]
    fn what_is_neither_objective_nor_preset_is_refused() {
        assert!(Typed::try_parse_from(["skyline", "--objective", "mlperf:x"]).is_err());
    }
}
