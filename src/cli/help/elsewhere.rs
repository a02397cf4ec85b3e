//! Options that people type and that are none here: those of other tools, of other verbs, and near misses.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use serde::Deserialize;

use crate::foreign::commands::flag_here;
use crate::workload::Slo;
use crate::workload::library::is_address;

/// Options and verbs of other tools, each with what to type in its place. Several names have spaces between them.
#[derive(Debug, Default, Deserialize)]
struct Elsewhere {
    options: BTreeMap<String, String>,
    verbs: BTreeMap<String, String>,
}

/// The embedded table, which a test reads.
static ELSEWHERE: LazyLock<Elsewhere> =
    LazyLock::new(|| toml::from_str(include_str!("elsewhere.toml")).unwrap_or_default());

/// Hint for a name that is typed in place of another.
fn hint<'t>(table: &'t BTreeMap<String, String>, typed: &str) -> Option<&'t str> {
    let mut rows = table.iter();
    rows.find_map(|(names, hint)| names.split(' ').any(|name| name == typed).then_some(hint.as_str()))
}

/// Returns what is wrong with a command line, and the cure. `None` where clap knows best.
pub(in crate::cli) fn advice(error: &clap::Error, command: &Command) -> Option<String> {
    let context = |kind| match error.get(kind)? {
        ContextValue::String(text) => Some(text.as_str()),
        ContextValue::Strings(texts) => texts.first().map(String::as_str),
        _ => None,
    };
    if error.kind() == ErrorKind::InvalidSubcommand {
        let typed = context(ContextKind::InvalidSubcommand)?;
        let meant = hint(&ELSEWHERE.verbs, typed)?;
        return Some(format!("`{typed}` is no verb of skyline\nhint: skyline {meant}"));
    }
    let typed = context(ContextKind::InvalidArg)?;
    match error.kind() {
        ErrorKind::UnknownArgument if typed.starts_with('-') => instead_of(typed, command),
        ErrorKind::UnknownArgument => stray_value(typed),
        ErrorKind::ValueValidation if !typed.starts_with('-') => stray_value(context(ContextKind::InvalidValue)?),
        ErrorKind::InvalidValue if typed.starts_with("--endpoint ") => {
            let path = context(ContextKind::InvalidValue).filter(|value| value.starts_with('/'))?;
            Some(format!("`{path}` is not the usual path of an endpoint\nhint: --path {path} takes a path as it is"))
        }
        ErrorKind::ArgumentConflict => {
            let other = context(ContextKind::PriorArg).filter(|other| *other != typed)?;
            Some(format!("{typed} cannot be used with {other}\nhint: leave one of them out"))
        }
        _ => None,
    }
}

/// Hint for a bound behind those of `--slo`, and for an address.
fn stray_value(typed: &str) -> Option<String> {
    if is_address(typed) {
        return Some(
            "an address belongs to an option\nhint: --url names the server: --url http://host:8000".to_owned(),
        );
    }
    Slo::typed(typed).ok()?;
    Some(format!(
        "`{typed}` belongs to no option\nhint: bounds of --slo have commas between them: ttft=500ms,tpot=50ms"
    ))
}

/// Returns what to type in place of an option that is none here.
fn instead_of(typed: &str, command: &Command) -> Option<String> {
    let name = typed.split('=').next().unwrap_or(typed);
    let hyphens = name.replace('_', "-");
    let hint = match (hint(&ELSEWHERE.options, name), verbs_with(&hyphens, command)) {
        (Some(hint), _) => hint.to_owned(),
        (None, Some(_)) if hyphens != name => format!("it is written with hyphens: {hyphens}"),
        (None, Some(verbs)) => format!("it is an option of {verbs}"),
        (None, None) => flag_here(&hyphens)?,
    };
    Some(format!("`{name}` is not an option here\nhint: {hint}"))
}

/// The verbs that have this option.
fn verbs_with(option: &str, command: &Command) -> Option<String> {
    let name = option.strip_prefix("--")?;
    let has = |verb: &&Command| {
        verb.get_arguments()
            .any(|arg| arg.get_long() == Some(name) || arg.get_all_aliases().is_some_and(|names| names.contains(&name)))
    };
    let verbs: Vec<_> = command.get_subcommands().filter(has).map(Command::get_name).collect();
    (!verbs.is_empty()).then(|| verbs.join(", "))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn verbs_that_are_hinted_at_are_ours_and_those_of_others_are_not() {
        let command = Cli::command();
        assert!(ELSEWHERE.verbs.len() > 5);
        for (names, hint) in &ELSEWHERE.verbs {
            let ours = hint.split(' ').next().unwrap_or_default();
            assert!(command.find_subcommand(ours).is_some(), "{ours}");
            assert!(names.split(' ').all(|name| command.find_subcommand(name).is_none()), "{names}");
        }
    }

    fn said(typed: &[&str]) -> Option<String> {
        let command = Cli::command();
        advice(&command.clone().try_get_matches_from([&["skyline"], typed].concat()).unwrap_err(), &command)
    }

    #[test]
    fn options_of_other_tools_are_known() {
        for (typed, cure) in [
            (&["bench", "short_chat", "--seconds", "60"][..], "skyline bench short_chat 60"),
            (&["bench", "short_chat", "--random-range-ratio=0.5"], "vllm_range:1024:0.5"),
            (&["bench", "short_chat", "--concurrency", "8"], "--users N"),
            (&["sweep", "short_chat", "--num-prompts", "8"], "--samples N"),
            (&["bench", "short_chat", "--endpoint-type", "chat"], "--engine"),
            (&["bench", "short_chat", "--endpoint", "/x/v1/completions"], "--path /x/v1/completions"),
            (&["bench", "short_chat", "--trust-remote-code"], "nothing of it is executed"),
            (&["bench", "short_chat", "--num-profile-runs=3"], "here it is --repeats"),
            (&["bench", "short_chat", "--dataset-sampling-strategy=random"], "skyline translate -- aiperf profile"),
            (&["bench", "short_chat", "--num_prompts=3"], "with hyphens: --num-prompts"),
            (&["bench", "short_chat", "--samples=3"], "it is an option of sweep, simulate"),
            (&["bench", "short_chat", "9", "--slo", "ttft=1s", "tpot=9ms"], "commas between them"),
            (&["bench", "short_chat", "--slo", "ttft=1s", "tpot=9ms"], "commas between them"),
            (&["bench", "short_chat", "--users=3", "--rate=3"], "leave one of them out"),
            (&["check", "http://host:8000"], "--url http://host:8000"),
            (&["check", "host:8000"], "--url http://host:8000"),
            (&["bench", "short_chat", "http://key@host:8000"], "--url http://host:8000"),
            (&["run", "short_chat"], "skyline bench short_chat 60"),
            (&["diff", "a", "b"], "skyline compare"),
        ] {
            let said = said(typed).unwrap_or_default();
            assert!(said.contains(cure), "{typed:?}: {said}");
        }
        assert_eq!(said(&["bench", "short_chat", "--objectiv", "x"]), None);
        assert_eq!(said(&["bench", "short_chat", "9", "more"]), None);
        assert_eq!(said(&["bench", "short_chat", "--rate", "fast"]), None);
    }

    /// The options that a sentence names.
    fn named(sentence: &str) -> impl Iterator<Item = &str> {
        let words = sentence.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
        words.filter_map(|word| word.strip_prefix("--")).filter(|name| !name.is_empty())
    }

    #[test]
    fn hints_name_options_that_there_are() {
        let theirs = [
            include_str!("../../../tests/data/flags/vllm-0.33.txt"),
            include_str!("../../../tests/data/flags/vllm-rs-0.33.txt"),
            include_str!("../../../tests/data/flags/sglang-0.5.23.txt"),
            include_str!("../../../tests/data/flags/guidellm-0.8.1.txt"),
            include_str!("../../../tests/data/flags/aiperf-0.13.txt"),
            include_str!("../../../tests/data/flags/genai-perf-0.0.16.txt"),
            include_str!("../../../tests/data/flags/llmperf-0.1.txt"),
            include_str!("../../../tests/data/flags/vllm-benchmark-serving-0.10.txt"),
        ];
        let theirs: BTreeSet<&str> = theirs.iter().flat_map(|all| all.split([' ', '|', '\n'])).collect();
        let command = Cli::command();
        let arguments = command.get_subcommands().flat_map(Command::get_arguments);
        let ours: BTreeSet<&str> = arguments.filter_map(|arg| arg.get_long()).collect();
        let is_known = |name: &str| ours.contains(name);
        for hint in ELSEWHERE.options.values() {
            assert!(named(hint).all(is_known), "{hint}");
        }
        let answers: BTreeSet<String> = theirs.iter().filter_map(|name| flag_here(name)).collect();
        for hint in answers {
            let is_theirs = |name: &str| theirs.contains(&format!("--{name}").as_str());
            assert!(named(&hint).all(|name| is_known(name) || is_theirs(name)), "{hint}");
        }
    }

    #[test]
    fn no_option_is_explained_twice() {
        let mut names: Vec<_> = ELSEWHERE.options.keys().flat_map(|names| names.split(' ')).collect();
        let all = names.len();
        assert!(all > 50);
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
