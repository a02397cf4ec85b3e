//! The door: the command line, turned into typed plans. A verb is its file and its line in the table of verbs.

mod ab;
mod args;
mod bench;
mod calibrate;
mod capacity;
mod check;
mod compare;
mod help;
mod launch;
mod manual;
mod mock;
mod output;
mod simulate;
mod stored;
mod sweep;
mod trace;
mod translate;
mod variants;
mod workloads;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Command, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use self::args::config;
use self::manual::{completions, guide, man};
use self::stored::{audit, merge, report};
use self::variants::{matrix, tune};
use crate::guide::Topic;
use crate::live::{LineWriter, wants_colour};
use crate::session::command_line::{self, InEffect};
use crate::session::{Exit, Printer, Stop, outlive_file_limits};

/// Open-loop load generator for LLM servers.
///
/// Draws a workload into a schedule of timed requests, streams them against an OpenAI-compatible server, stamps
/// every token as it arrives, and reports exact percentiles of TTFT, TPOT, ITL and end-to-end latency, SLO
/// attainment and goodput.
#[derive(Debug, Parser)]
#[command(name = "skyline", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

/// Declares the verbs by their line of help, their name and their module. The module runs the verb with what clap reads
/// for it, and with what it needs besides.
macro_rules! verbs {
    ($($(#[$help:meta])* $verb:ident => $module:ident::$args:ident $(with $besides:expr)?,)*) => {
        #[derive(Debug, Subcommand)]
        enum Verb {
            $($(#[$help])* $verb(Box<$module::$args>),)*
        }

        impl Verb {
            fn run(&self, printer: Printer) -> Result<Exit, Stop> {
                match self {
                    $(Self::$verb(args) => $module::run(args, $($besides,)? printer),)*
                }
            }
        }
    };
}

verbs! {
    /// Run a workload against a server and report how it did
    Bench => bench::BenchArgs,
    /// Measure a server from low load to high, and find the highest that meets the objectives
    Sweep => sweep::SweepArgs,
    /// Compare two servers or configurations (A/B, paired rounds)
    Ab => ab::AbArgs,
    /// Predict how a deployment would do under a workload, in virtual time
    Simulate => simulate::SimulateArgs,
    /// Compute the instances and GPUs a rate needs, and their cost
    Capacity => capacity::CapacityArgs,
    /// Show a stored run again, the latest, or a list of runs
    Report => report::ReportArgs,
    /// Say what a stored result supports, and what it does not
    Audit => audit::AuditArgs,
    /// Join the shards of several generators into one run
    Merge => merge::MergeArgs,
    /// Print what runs a bench on Kubernetes or Slurm, as several workers
    Launch => launch::LaunchArgs with read_bench,
    /// Run a table of experiments, each judged by its hypothesis
    Matrix => matrix::MatrixArgs,
    /// Find the flags with which a server serves most
    Tune => tune::TuneArgs,
    /// Compare stored runs, repeats or sweeps with a baseline
    Compare => compare::CompareArgs,
    /// Measure this machine's own timing accuracy
    Calibrate => calibrate::CalibrateArgs,
    /// Check that a server is ready and answers correctly
    Check => check::CheckArgs,
    /// Serve a simulated engine over HTTP: an OpenAI-compatible server of known behaviour
    Mock => mock::MockArgs,
    /// List the workloads, or show one as a start for your own
    Workloads => workloads::WorkloadsArgs,
    /// Inspect a trace, or create one from a run or an access log
    Trace => trace::TraceVerbArgs,
    /// Read the guide: one chapter a topic
    Guide => guide::GuideArgs,
    /// Translate a command of vLLM, SGLang, GuideLLM or AIPerf into one of Skyline
    #[command(aliases = ["from-vllm", "from-guidellm", "from-aiperf"])]
    Translate => translate::TranslateArgs,
    /// Print completions for bash, zsh, fish, elvish or PowerShell
    Completions => completions::CompletionsArgs with command(),
    /// Print the man page, or write one of each verb
    Man => man::ManArgs with command(),
}

/// The command line. The long help of a verb ends with where its options may come from, and with the topic of
/// the guide that is about it.
fn command() -> Command {
    let command = Cli::command().after_help(help::after("skyline").unwrap_or_default());
    command.mut_subcommands(|verb| {
        let name = verb.get_name().to_owned();
        let verb = match help::after(&name) {
            Some(below) => verb.after_help(below),
            None => verb,
        };
        let below = verb.get_after_help().map(ToString::to_string);
        let settings = config::in_help(verb.get_name()).map(str::to_owned);
        let Some(topic) = Topic::find(verb.get_name()) else { return verb };
        let more = |topic: &Topic| format!("More: skyline guide {}", topic.name);
        let verb = verb.mut_subcommands(|part| {
            let own = Topic::find(&format!("{} {}", topic.name, part.get_name())).unwrap_or(topic);
            let below = help::after(&format!("{name} {}", part.get_name()));
            part.after_help(below.map(|help| format!("{help}\n\n")).unwrap_or_default() + &more(own))
        });
        let after: Vec<_> = [below, settings, Some(more(topic))].into_iter().flatten().collect();
        verb.after_long_help(after.join("\n\n"))
    })
}

/// Parses the arguments; `-h` is short.
fn parsed(arguments: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let arguments: Vec<_> = arguments.into_iter().collect();
    let is_short = arguments.iter().any(|argument| argument == "-h");
    let command = if is_short { help::shortened(command()) } else { command() };
    Cli::from_arg_matches(&command.try_get_matches_from(arguments)?)
}

/// Whether the program would take this command line; the message where not. For the test of the guide's commands.
#[doc(hidden)]
pub fn understands(arguments: &[String]) -> Result<(), String> {
    parsed(arguments.iter().map(OsString::from)).map(drop).map_err(|error| error.to_string())
}

/// Runs the program on the process's own arguments.
pub fn main() -> ExitCode {
    outlive_file_limits();
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::try_from_env("SKYLINE_LOG").unwrap_or_else(|_| "warn".into()))
        .with_writer(LineWriter::default)
        .with_ansi(wants_colour(&std::io::stderr()))
        .without_time()
        .init();
    let printer = Printer;
    let exit = run(printer).unwrap_or_else(|stop| {
        printer.words(&format!("error: {}", stop.message()));
        stop.exit()
    });
    exit.into()
}

/// Runs the verb that was typed.
fn run(printer: Printer) -> Result<Exit, Stop> {
    let (cli, effect) = read(std::env::args_os().collect(), printer)?;
    command_line::take_effect(effect);
    cli.verb.run(printer)
}

/// Reads a command line, with the options from the environment and from files.
fn read(typed: Vec<OsString>, printer: Printer) -> Result<(Cli, InEffect), Stop> {
    let effect = config::in_effect(&Cli::command(), typed, &config::Surroundings::of_process())?;
    for words in effect.warnings.iter().chain(&config::in_words(&effect.settings)) {
        printer.words(words);
    }
    let cli = parsed(effect.arguments.clone())
        .map_err(|error| help::advice(&error, &Cli::command()).map_or_else(|| error.exit(), Stop::usage))?;
    Ok((cli, effect))
}

/// Reads the command line of a bench, which other machines are to run.
fn read_bench(words: &[String], printer: Printer) -> Result<(Box<bench::BenchArgs>, InEffect), Stop> {
    let typed = std::iter::once("skyline").chain(words.iter().map(String::as_str));
    match read(typed.map(OsString::from).collect(), printer)? {
        (Cli { verb: Verb::Bench(bench) }, effect) => Ok((bench, effect)),
        _ => Err(Stop::usage("it is no bench")),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory;

    use crate::foreign::commands::translate;

    /// Command lines of the documentations of other tools.
    const OTHERS: [&str; 4] = [
        include_str!("../../tests/data/commands/vllm.txt"),
        include_str!("../../tests/data/commands/sglang.txt"),
        include_str!("../../tests/data/commands/guidellm.txt"),
        include_str!("../../tests/data/commands/aiperf.txt"),
    ];

    #[test]
    fn translations_of_other_tools_commands_are_understood() {
        for line in OTHERS.into_iter().flat_map(str::lines).filter(|line| !line.starts_with('#')) {
            let words = translate(&shlex::split(line).unwrap()).unwrap().words;
            super::understands(&words).unwrap_or_else(|error| panic!("{line}\n{words:?}\n{error}"));
        }
    }

    /// Each form of a line is tried once. Values do not matter here, and most options of others have the same
    /// translation.
    #[test]
    fn options_of_other_tools_become_options_that_the_verb_has() {
        let mut tried = BTreeSet::new();
        for (begins, flags) in [
            ("vllm bench serve", include_str!("../../tests/data/flags/vllm-0.33.txt")),
            ("vllm bench serve --sweep-request-rate 1,2", include_str!("../../tests/data/flags/vllm-0.33.txt")),
            ("sglang.bench_serving", include_str!("../../tests/data/flags/sglang-0.5.23.txt")),
            ("aiperf profile", include_str!("../../tests/data/flags/aiperf-0.13.txt")),
            ("aiperf profile --request-rate 1,2", include_str!("../../tests/data/flags/aiperf-0.13.txt")),
        ] {
            for name in flags.lines().filter(|line| line.starts_with('-')).flat_map(|line| line.split('|')) {
                let line = format!("{begins} {name} 1");
                let words = translate(&shlex::split(&line).unwrap()).unwrap().words;
                let option =
                    |word: &String| word.split('=').next().filter(|name| name.starts_with("--")).map(str::to_owned);
                if !tried.insert(words.iter().map(option).collect::<Vec<_>>()) {
                    continue;
                }
                let refused = super::understands(&words).err().unwrap_or_default();
                assert!(!refused.contains("unexpected argument"), "{line}: {refused}");
            }
        }
        assert!(tried.len() > 50, "{}", tried.len());
    }

    #[test]
    fn the_command_line_is_sound() {
        super::Cli::command().debug_assert();
    }
}
