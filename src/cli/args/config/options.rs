//! The options that can be set, their names, and the verbs that share them.

use clap::{Arg, Command};

use crate::workload::nearest;

/// The beginning of the names of variables.
pub(super) const PREFIX: &str = "SKYLINE_";

/// The verbs that measure a server: the keys at the top of a file and the variables are for them. A table of
/// its own is for any verb.
const MEASURING: [&str; 6] = ["bench", "sweep", "ab", "matrix", "tune", "check"];

/// The words on variables and files in the help of those verbs.
const IN_HELP: &str = "\
Options that are not typed:
  SKYLINE_URL=http://host:8000 stands for --url http://host:8000, SKYLINE_QUIET=1 for --quiet, and
  so on; skyline.toml in this folder or in yours has the same names: skyline guide terminal";

/// Returns a verb's help on variables and files, where they are for it.
pub(in crate::cli) fn in_help(verb: &str) -> Option<&'static str> {
    MEASURING.contains(&verb).then_some(IN_HELP)
}

/// Whether a verb measures a server.
pub(super) fn measures(verb: &Command) -> bool {
    MEASURING.contains(&verb.get_name())
}

/// The verbs that do.
pub(super) fn measuring(command: &Command) -> impl Iterator<Item = &Command> {
    MEASURING.iter().filter_map(|name| command.find_subcommand(name))
}

/// The name of the option that a variable or a key names.
pub(super) fn option_name(name: &str) -> String {
    name.to_lowercase().replace('_', "-")
}

/// The name of the variable for an option.
pub(super) fn variable_name(option: &str) -> String {
    format!("{PREFIX}{}", option.to_uppercase().replace('-', "_"))
}

/// The options of a verb that can be set.
fn settable(verb: &Command) -> impl Iterator<Item = &Arg> {
    verb.get_arguments().filter(|arg| !["help", "version"].contains(&arg.get_id().as_str()))
}

/// The option of a verb by its long name or another name for it.
pub(super) fn option<'c>(verb: &'c Command, name: &str) -> Option<&'c Arg> {
    settable(verb)
        .find(|arg| arg.get_long() == Some(name) || arg.get_all_aliases().is_some_and(|names| names.contains(&name)))
}

/// The long names of a verb's options.
pub(super) fn options(verb: &Command) -> impl Iterator<Item = &str> {
    settable(verb).filter_map(Arg::get_long)
}

/// The name that is nearest to what was written.
pub(super) fn meant(written: &str, known: &[&str]) -> Option<String> {
    let known: Vec<String> = known.iter().map(|name| name.replace('-', "_")).collect();
    nearest(written, known.iter().map(String::as_str)).map(|meant| meant.replace('_', "-"))
}
