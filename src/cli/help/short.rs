//! `-h`: the options that a first week needs, a line each. `--help` has all of them.

use clap::{Arg, Command};

use crate::guide::Topic;

/// The most lines of `-h`.
#[cfg(test)]
const MOST_LINES: usize = 60;

/// The options of the verbs that have more than a screen of them, by verb, in no order of their own. Other verbs show all.
const FIRST_WEEK: [(&str, &str); 10] = [
    (
        "bench",
        "rate users requests input-tokens output-tokens slo repeats engine url model api-key-env \
         tokenizer max-concurrency warmup-requests hardware objective dry-run out format json full quiet",
    ),
    (
        "sweep",
        "rates users repeats samples max-seconds sustain input-tokens output-tokens slo engine url model \
         api-key-env tokenizer hardware objective resume dry-run out json full quiet",
    ),
    (
        "ab",
        "a b switch-cmd rounds metric margin rate users requests input-tokens output-tokens engine model \
         b-model tokenizer warmup-requests require resume dry-run out json full quiet",
    ),
    (
        "tune",
        "example plan seconds max-runs engine url model api-key-env tokenizer pause resume allow-invalid out json full quiet",
    ),
    (
        "simulate",
        "tune rate users requests input-tokens output-tokens repeats hardware serving-model precision \
         tensor-parallel replicas pools sweep rates fit objective out json full",
    ),
    (
        "matrix",
        "example dry-run only seconds repeats engine url model api-key-env tokenizer resume out format \
         json full quiet",
    ),
    (
        "mock",
        "port bind served-model-name hardware serving-model tensor-parallel replicas ttft itl slots fault \
         seed",
    ),
    ("report", "format json full from objective allow-invalid"),
    ("check", "workload engine url model wait header api-key-env endpoint json full"),
    ("compare", "vary max-regression require-improvement page markdown format json full"),
];

/// What `-h` says of an argument where its help is long: in one verb, or in all (`*`).
const SHORT: &[(&str, &str, &str)] = &[
    ("*", "workload", "Its name (`skyline workloads`), a TOML or JSON file, or - for standard input"),
    ("check", "workload", "Send the `checks` of this workload too"),
    ("*", "seconds", "How long its load lasts [default: the workload's]"),
    ("matrix", "seconds", "Length of every run [default: the file's]"),
    ("*", "rate", "Requests per second, or `max` with --max-concurrency"),
    ("*", "users", "Closed loop of N users in place of a rate"),
    ("sweep", "users", "Users in place of rates, such as 1,2,4 or 1:64:x2"),
    ("*", "requests", "End after N requests"),
    ("*", "repeats", "Runs, each with a seed of its own"),
    ("*", "input-tokens", "Prompts: 1024, 100..400, normal:256:128"),
    ("*", "output-tokens", "Tokens of answers, in the same forms"),
    ("*", "slo", "SLO of all requests: ttft=500ms,tpot=50ms"),
    ("*", "engine", "Which server it is [default: mock; with --url vllm]"),
    ("*", "url", "Its address [default: on this machine]"),
    ("*", "model", "Model to request [default: the first listed]"),
    ("*", "endpoint", "chat or completions [default: chat]"),
    ("*", "api-key-env", "Variable with the key [default: OPENAI_API_KEY]"),
    ("*", "tokenizer", "Makes prompts of exact lengths: a file or a hub id"),
    ("*", "max-concurrency", "Most requests in flight [default: no cap]"),
    ("*", "warmup-requests", "Send N requests before, not counted"),
    ("*", "hardware", "Accelerator that serves, or that the mock is"),
    ("*", "objective", "Judge by 'p95 ttft < 500ms'; repeat for more"),
    ("*", "format", "text, json, html, markdown, csv, junit, … [default: text]"),
    ("*", "out", "Folder of results"),
    ("*", "json", "Print the result as JSON"),
    ("*", "full", "Print all of the result, not a screen of it"),
    ("*", "resume", "Go on with the experiment in this folder"),
    ("*", "dry-run", "Show what would be run, and send nothing"),
    ("*", "rates", "Rates to measure, such as 1,2,4 or 1:64:x2 [default: searched]"),
    ("*", "samples", "Requests that each run measures [default: as p99 needs]"),
    ("*", "max-seconds", "The longest run"),
    ("*", "sustain", "Hold the highest load for this long in the end"),
    ("*", "a", "Address of A, the baseline"),
    ("*", "b", "Address of B"),
    ("*", "switch-cmd", "Command that makes one machine serve a or b in turn"),
    ("*", "rounds", "Runs of each side"),
    ("*", "metric", "Figure that decides, such as 'p95 ttft'; may be repeated"),
    ("*", "margin", "A difference within this share does not matter"),
    ("*", "precision", "Format of the weights, such as bf16 or fp8"),
    ("*", "sweep", "Simulate rising loads, and find the highest that does"),
    ("*", "tune", "Find the flags that serve most: a file of axes"),
    ("tune", "seconds", "Length of the first runs"),
    ("tune", "max-runs", "End after N runs, with the best so far"),
    ("tune", "pause", "Wait between two runs"),
    ("*", "fit", "Fit the engine to runs that were measured"),
    ("*", "ttft", "A plain server: its time to the first token, such as 80ms"),
    ("*", "itl", "A plain server: its time from token to token"),
    ("*", "slots", "A plain server: requests served at a time"),
    ("*", "fault", "Inject a fault, such as reset_mid_stream=0.01"),
    ("simulate", "hardware", "Accelerator: a10g, l4, l40s, a100-80g, h100, h200, b200, mi300x"),
    ("mock", "hardware", "Accelerator: a10g, l4, l40s, a100-80g, h100, h200, b200, mi300x"),
    ("*", "only", "Run this row only; may be repeated"),
    ("*", "from", "Read a result of another tool"),
    ("*", "allow-invalid", "Exit with 0 or 1 even if INVALID"),
];

/// The command line as `-h` shows it.
pub(in crate::cli) fn shortened(command: Command) -> Command {
    let verbs: Vec<_> = command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
    verbs.into_iter().fold(command, |command, verb| {
        command.mut_subcommand(&verb, |of_verb| {
            let Some((_, shown)) = FIRST_WEEK.iter().find(|(name, _)| *name == verb) else { return of_verb };
            let topic = Topic::find(&verb).map(|topic| format!("; more: skyline guide {}", topic.name));
            let last = format!("`skyline {verb} --help` shows all options{}", topic.unwrap_or_default());
            of_verb.mut_args(|arg| short(&verb, shown, arg)).after_help(last)
        })
    })
}

/// An argument as `-h` shows it: in few words, or not at all.
fn short(verb: &str, shown: &str, arg: Arg) -> Arg {
    let name = arg.get_long().unwrap_or(arg.get_id().as_str()).to_owned();
    let said = |verb| SHORT.iter().find(|(of, argument, _)| (*of, *argument) == (verb, name.as_str()));
    let is_shown = arg.is_positional() || shown.split(' ').any(|option| option == name);
    let arg = match said(verb).or_else(|| said("*")) {
        Some((.., help)) if arg.get_action().takes_values() => arg.help(*help).hide_possible_values(true),
        Some((.., help)) => arg.help(*help),
        None => arg,
    };
    arg.hide(!is_shown)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    /// The lines of `-h` of a verb, and its text, on a terminal of so many columns.
    fn lines(command: &Command, columns: usize) -> (usize, String) {
        let text = command.clone().term_width(columns).render_help().to_string();
        (text.lines().count(), text)
    }

    #[test]
    fn no_verb_says_more_than_a_screen_or_two() {
        let command = shortened(Cli::command());
        let (all, text) = lines(&command, 80);
        assert!(all <= MOST_LINES, "skyline: {all} lines\n{text}");
        for verb in command.get_subcommands() {
            let (all, text) = lines(verb, 80);
            assert!(all <= MOST_LINES, "{}: {all} lines\n{text}", verb.get_name());
        }
        let bench = command.find_subcommand("bench").unwrap();
        assert!(lines(bench, 80).1.trim_end().ends_with("shows all options; more: skyline guide first-run"));
    }

    #[test]
    fn every_option_of_the_first_week_is_one() {
        let command = Cli::command();
        for (verb, options) in FIRST_WEEK {
            let verb = command.find_subcommand(verb).unwrap();
            for option in options.split(' ') {
                let known = verb.get_arguments().any(|arg| arg.get_long() == Some(option));
                assert!(known, "{} has no --{option}", verb.get_name());
            }
        }
    }

    #[test]
    fn every_short_help_is_shown_and_there_is_one_of_each() {
        let command = Cli::command();
        let shown = |verb: &Command, name: &str| {
            let listed = FIRST_WEEK.iter().find(|(of, _)| *of == verb.get_name());
            let positional = || verb.get_positionals().any(|arg| arg.get_id() == name);
            listed.is_some_and(|(_, options)| options.split(' ').any(|of| of == name) || positional())
        };
        for (place, (of, name, _)) in SHORT.iter().enumerate() {
            let mut verbs = command.get_subcommands().filter(|verb| [verb.get_name(), "*"].contains(of));
            assert!(verbs.any(|verb| shown(verb, name)), "{of} {name}");
            let again = SHORT[..place].iter().any(|(before, other, _)| (before, other) == (of, name));
            assert!(!again, "{of} {name} twice");
        }
    }
}
