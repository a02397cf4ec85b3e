//! Words of help: what stands below the options, the options of a first week, and what to type in place of an
//! option that is none.

use std::collections::BTreeMap;
use std::sync::LazyLock;

mod elsewhere;
mod short;

pub(super) use self::elsewhere::advice;
pub(super) use self::short::shortened;

/// Texts below the options, by the name of the program, verb or verb's part.
static AFTER: LazyLock<BTreeMap<String, String>> =
    LazyLock::new(|| toml::from_str(include_str!("after.toml")).unwrap_or_default());

/// Text below the options in the help of `name`.
pub(super) fn after(name: &str) -> Option<&'static str> {
    AFTER.get(name).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn what_stands_below_the_options_is_of_a_command_that_there_is() {
        let command = Cli::command();
        assert!(AFTER.len() > 12);
        for name in AFTER.keys().filter(|name| *name != "skyline") {
            let found = name.split(' ').try_fold(&command, |found, part| found.find_subcommand(part));
            assert!(found.is_some(), "{name}");
        }
    }
}
