//! What counts, of what was typed and what was not.

use std::ffi::OsString;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};

use super::options::{meant, measures, measuring, option, options, variable_name};
use super::settings::Surroundings;
use crate::session::Stop;
use crate::session::command_line::InEffect;
use crate::session::hooks::Variable;

/// The arguments with what was not typed; `typed` begins with the name of the program.
pub(in crate::cli) fn in_effect(
    command: &Command,
    typed: Vec<OsString>,
    surroundings: &Surroundings,
) -> Result<InEffect, Stop> {
    // Help and the like need no settings.
    let matches = command.clone().ignore_errors(true).try_get_matches_from(&typed);
    let mut command = command.clone();
    command.build();
    let verb = typed.get(1).and_then(|verb| verb.to_str()).and_then(|verb| command.find_subcommand(verb));
    let (Some(verb), Ok(matches)) = (verb, matches) else {
        return Ok(InEffect { arguments: typed, ..InEffect::default() });
    };
    let is_typed = |arg: &&Arg| matches.subcommand_matches(verb.get_name()).is_some_and(|of| was_typed(of, arg));
    let typed_options = verb.get_arguments().filter(is_typed).collect();
    let settings = surroundings.arguments(&command, verb, typed_options)?;
    let mut arguments = typed;
    arguments.splice(2..2, settings.iter().map(|(argument, _)| argument.into()));
    Ok(InEffect { arguments, settings, warnings: misspelt(&command, verb, surroundings) })
}

/// Warnings of variables that stand for no option of a verb that measures. The environment is not this
/// program's own, so they are no mistakes.
fn misspelt(command: &Command, verb: &Command, surroundings: &Surroundings) -> Vec<String> {
    if !measures(verb) {
        return Vec::new();
    }
    let stranger = |name: &&String| {
        let is_other = ["log", "shards"].contains(&name.as_str()) || name.parse::<Variable>().is_ok();
        !is_other && measuring(command).all(|verb| option(verb, name).is_none())
    };
    let known: Vec<_> = measuring(command).flat_map(options).collect();
    let names = surroundings.variables.iter().map(|(name, _)| name);
    let warning = |name: &String| {
        let meant = meant(name, &known).map(|meant| format!("; did you mean {}?", variable_name(&meant)));
        format!("warning: {} stands for no option{}", variable_name(name), meant.unwrap_or_default())
    };
    names.filter(stranger).map(warning).collect()
}

fn was_typed(matches: &ArgMatches, arg: &Arg) -> bool {
    matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine)
}

/// The line that says where options come from which were not typed; nothing where all were.
pub(in crate::cli) fn in_words(settings: &[(String, impl AsRef<str>)]) -> Option<String> {
    let mut sources: Vec<(&str, Vec<&str>)> = Vec::new();
    for (argument, source) in settings.iter().map(|(argument, source)| (argument, source.as_ref())) {
        let option = argument.split('=').next().unwrap_or(argument);
        match sources.iter_mut().find(|(known, _)| *known == source) {
            Some((_, options)) => options.push(option),
            None => sources.push((source, vec![option])),
        }
    }
    let said: Vec<_> =
        sources.iter().map(|(source, options)| format!("{} from {source}", options.join(", "))).collect();
    (!said.is_empty()).then(|| format!("settings: {}", said.join("; ")))
}
