//! `-h`: the options that a first week needs, a line each. `--help` has all of them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use clap::{Arg, Command};
use serde::Deserialize;

use crate::guide::Topic;

/// Short help, as `-h` shows it.
#[derive(Debug, Default, Deserialize)]
struct ShortHelp {
    /// Options shown of each verb that has more than a screen of them. Spaces stand between them.
    shown: BTreeMap<String, String>,
    /// Short help of an argument in every verb.
    help: BTreeMap<String, String>,
    /// Short help of an argument in one verb.
    help_of: BTreeMap<String, BTreeMap<String, String>>,
}

/// The embedded table, which tests read.
static SHORT: LazyLock<ShortHelp> = LazyLock::new(|| toml::from_str(include_str!("short.toml")).unwrap_or_default());

/// The command line as `-h` shows it.
pub(in crate::cli) fn shortened(command: Command) -> Command {
    let verbs: Vec<_> = command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
    verbs.into_iter().fold(command, |command, verb| {
        command.mut_subcommand(&verb, |of_verb| {
            let Some(shown) = SHORT.shown.get(&verb) else { return of_verb };
            let topic = Topic::find(&verb).map(|topic| format!("; more: skyline guide {}", topic.name));
            let last = format!("`skyline {verb} --help` shows all options{}", topic.unwrap_or_default());
            of_verb.mut_args(|arg| short(&verb, shown, arg)).after_help(last)
        })
    })
}

/// An argument as `-h` shows it: in few words, or not at all.
fn short(verb: &str, shown: &str, arg: Arg) -> Arg {
    let name = arg.get_long().unwrap_or(arg.get_id().as_str()).to_owned();
    let own = SHORT.help_of.get(verb).and_then(|help| help.get(&name));
    let is_shown = arg.is_positional() || shown.split(' ').any(|option| option == name);
    let arg = match own.or_else(|| SHORT.help.get(&name)) {
        Some(help) if arg.get_action().takes_values() => arg.help(help).hide_possible_values(true),
        Some(help) => arg.help(help),
        None => arg,
    };
    arg.hide(!is_shown)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    /// The most lines of `-h`.
    const MOST_LINES: usize = 60;

    use super::*;
    use crate::cli::Cli;

    /// Counts the lines of a verb's `-h` on a terminal of so many columns. Returns its text too.
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
        assert!(SHORT.shown.len() > 8);
        for (verb, options) in &SHORT.shown {
            let verb = command.find_subcommand(verb).unwrap();
            for option in options.split(' ') {
                let known = verb.get_arguments().any(|arg| arg.get_long() == Some(option));
                assert!(known, "{} has no --{option}", verb.get_name());
            }
        }
    }

    #[test]
    fn every_short_help_is_shown() {
        let command = Cli::command();
        let shown = |verb: &Command, name: &str| {
            let listed = SHORT.shown.get(verb.get_name());
            let positional = || verb.get_positionals().any(|arg| arg.get_id() == name);
            listed.is_some_and(|options| options.split(' ').any(|of| of == name) || positional())
        };
        for name in SHORT.help.keys() {
            assert!(command.get_subcommands().any(|verb| shown(verb, name)), "{name}");
        }
        for (verb, help) in &SHORT.help_of {
            let verb = command.find_subcommand(verb).unwrap();
            assert!(help.keys().all(|name| shown(verb, name)), "{help:?}");
        }
    }
}
