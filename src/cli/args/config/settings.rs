//! Options that were not typed: where they are looked for, and the arguments that say the same.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::{Arg, Command};

use super::options::{PREFIX, meant, measures, measuring, option, option_name, options, variable_name};
use crate::session::Stop;
use crate::workload::reading::{Entry, Mistakes, Node, NodeValue, parse_toml};

/// The file, in the working directory and in the user's folder of settings.
const FILE: &str = "skyline.toml";

/// The option that only the user sets: a folder that somebody else made does not confirm a load on a server of others.
const CONSENT: &str = "yes";

/// Where options are looked for that were not typed.
#[derive(Debug, Default)]
pub(in crate::cli) struct Surroundings {
    /// Their names, without what all begin with, as those of options: `max-concurrency`.
    pub(super) variables: Vec<(String, String)>,
    /// The files that there may be, the first counts first.
    pub(super) files: Vec<PathBuf>,
}

impl Surroundings {
    /// Returns the surroundings of this process.
    pub(in crate::cli) fn of_process() -> Self {
        let mut variables: Vec<_> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter_map(|(name, value)| Some((option_name(name.strip_prefix(PREFIX)?), value)))
            .filter(|(_, value)| !value.is_empty())
            .collect();
        variables.sort_unstable();
        let folder = |name: &str| std::env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
        let of_user = folder("XDG_CONFIG_HOME").or_else(|| Some(folder("HOME")?.join(".config")));
        let of_user = of_user.map(|folder| folder.join("skyline").join(FILE));
        Self { variables, files: std::iter::once(FILE.into()).chain(of_user).collect() }
    }

    /// The arguments for what they say of the options of `verb` that are not typed, each with where it comes from.
    pub(super) fn arguments(
        &self,
        command: &Command,
        verb: &Command,
        typed: Vec<&Arg>,
    ) -> Result<Vec<(String, String)>, Stop> {
        let mut present = typed;
        let mut all = Vec::new();
        for setting in self.said_of(command, verb)? {
            let Some(arg) = option(verb, &setting.option) else { continue };
            let excludes = |other: &&Arg| other.get_id() == arg.get_id() || are_in_conflict(verb, arg, other);
            if present.iter().any(excludes) {
                continue;
            }
            present.push(arg);
            let arguments = setting.arguments(arg)?;
            all.extend(arguments.into_iter().map(|argument| (argument, setting.source.clone())));
        }
        Ok(all)
    }

    /// Returns the settings for options of `verb`, in the order in which they count.
    fn said_of(&self, command: &Command, verb: &Command) -> Result<Vec<Setting>, Stop> {
        let mut settings = Vec::new();
        if measures(verb) {
            settings.extend(self.variables.iter().map(|(name, value)| Setting {
                option: name.clone(),
                value: NodeValue::Text(value.clone()),
                line: None,
                source: variable_name(name),
            }));
        }
        for path in &self.files {
            // Settings are no concern of verbs that share none and have no table.
            let text = match std::fs::read_to_string(path) {
                Ok(text) => text,
                Err(error)
                    if !measures(verb) || matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
                {
                    continue;
                }
                // In a folder that is closed to this user there is nothing of his.
                Err(_) if path.try_exists().is_err() => continue,
                Err(error) => return Err(unreadable(path, &error)),
            };
            let begins = |line: &str| line.trim_start_matches([' ', '[', '"']).starts_with(verb.get_name());
            if measures(verb) || text.lines().any(begins) {
                settings.extend(of_file(command, verb, path, &text)?);
            }
        }
        Ok(settings)
    }
}

/// Why a file that is there counts for nothing.
fn unreadable(path: &Path, error: &std::io::Error) -> Stop {
    let path = path.display();
    Stop::usage(format!(
        "cannot read {path}: {error}\nhint: options are looked for in this file (skyline guide settings)"
    ))
}

/// The folder of all results, where nothing was typed: that of `out`, else `results`.
pub(in crate::cli) fn results_folder(surroundings: &Surroundings) -> PathBuf {
    let set = surroundings.variables.iter().find(|(name, _)| name == "out");
    let in_file = |path: &PathBuf| {
        let NodeValue::Table(entries) = parse_toml(&std::fs::read_to_string(path).ok()?).ok()?.value else {
            return None;
        };
        let out = entries.into_iter().find(|entry| entry.key == "out")?;
        text(&out.node.value)
    };
    let out = set.map(|(_, folder)| folder.clone()).or_else(|| surroundings.files.iter().find_map(in_file));
    out.unwrap_or_else(|| "results".to_owned()).into()
}

fn are_in_conflict(verb: &Command, a: &Arg, b: &Arg) -> bool {
    let names = |a: &Arg, b: &Arg| verb.get_arg_conflicts_with(a).iter().any(|other| other.get_id() == b.get_id());
    names(a, b) || names(b, a)
}

/// The setting of an option: the value, and where it stands.
#[derive(Debug)]
struct Setting {
    option: String,
    value: NodeValue,
    line: Option<usize>,
    source: String,
}

impl Setting {
    /// The arguments that say the same.
    fn arguments(&self, arg: &Arg) -> Result<Vec<String>, Stop> {
        let option = arg.get_long().unwrap_or(&self.option);
        let takes_value = arg.get_action().takes_values();
        let of = |value: &NodeValue| text(value).map(|text| format!("--{option}={text}"));
        let arguments = match &self.value {
            NodeValue::Bool(on) if !takes_value => Some(if *on { vec![format!("--{option}")] } else { Vec::new() }),
            NodeValue::Text(text) if !takes_value => match text.as_str() {
                "1" | "true" | "yes" => Some(vec![format!("--{option}")]),
                "0" | "false" | "no" => Some(Vec::new()),
                _ => None,
            },
            _ if !takes_value => None,
            NodeValue::List(values) => values.iter().map(|node| of(&node.value)).collect(),
            value => of(value).map(|argument| vec![argument]),
        };
        arguments.ok_or_else(|| {
            let place = self.line.map(|line| format!(", line {line}")).unwrap_or_default();
            let wanted = if takes_value { "a value" } else { "true or false" };
            Stop::usage(format!("{}{place}: `{}` takes {wanted}", self.source, self.option))
        })
    }
}

/// A value as it is typed; a table as options take one.
fn text(value: &NodeValue) -> Option<String> {
    Some(match value {
        NodeValue::Bool(value) => value.to_string(),
        NodeValue::Number(text) | NodeValue::Text(text) | NodeValue::Date(text) => text.clone(),
        NodeValue::Table(entries) => {
            let field = |Entry { key, node, .. }: &Entry| Some(format!("{key} = {}", in_table(&node.value)?));
            format!("{{ {} }}", entries.iter().map(field).collect::<Option<Vec<_>>>()?.join(", "))
        }
        NodeValue::Null | NodeValue::List(_) => return None,
    })
}

/// A value as it is written in a table.
fn in_table(value: &NodeValue) -> Option<String> {
    match value {
        NodeValue::Text(text) => Some(format!("{text:?}")),
        NodeValue::List(items) => {
            let items: Option<Vec<_>> = items.iter().map(|node| in_table(&node.value)).collect();
            Some(format!("[{}]", items?.join(", ")))
        }
        value => text(value),
    }
}

/// Reads what a file says of the options of `verb`. The verb's own table comes first, then the top, which is for verbs
/// that measure.
fn of_file(command: &Command, verb: &Command, path: &Path, text: &str) -> Result<Vec<Setting>, Stop> {
    let origin = path.display().to_string();
    let refused = |mistakes: Mistakes| Stop::usage(mistakes.into_error(&origin));
    let Node { value: NodeValue::Table(entries), .. } = parse_toml(text).map_err(refused)? else {
        return Ok(Vec::new());
    };
    let mistakes = Mistakes::default();
    let (mut own, mut shared) = (Vec::new(), Vec::new());
    let setting = |Entry { key, line, node }: Entry| Setting {
        option: option_name(&key),
        value: node.value,
        line,
        source: origin.clone(),
    };
    for entry in entries {
        let inside = if let NodeValue::Table(inside) = &entry.node.value { &inside[..] } else { &[] };
        for entry in inside.iter().chain([&entry]).filter(|entry| option_name(&entry.key) == CONSENT) {
            mistakes.add(
                entry.line,
                format!(
                    "`{CONSENT}` cannot be set in a file, which may not be the user's\n    \
                     confirm a load with --{CONSENT} or {}=1",
                    variable_name(CONSENT)
                ),
            );
        }
        match (command.find_subcommand(&entry.key), entry) {
            (Some(of), Entry { node: Node { value: NodeValue::Table(inside), .. }, .. }) => {
                for entry in inside {
                    if option(of, &option_name(&entry.key)).is_none() {
                        mistakes.add(entry.line, unknown(&entry.key, &options(of).collect::<Vec<_>>()));
                    }
                    if of.get_name() == verb.get_name() {
                        own.push(setting(entry));
                    }
                }
            }
            (_, entry) => {
                if measuring(command).all(|verb| option(verb, &option_name(&entry.key)).is_none()) {
                    let tables = command.get_subcommands().map(Command::get_name);
                    let known: Vec<_> = measuring(command).flat_map(options).chain(tables).collect();
                    mistakes.add(entry.line, unknown(&entry.key, &known));
                }
                if measures(verb) {
                    shared.push(setting(entry));
                }
            }
        }
    }
    if !mistakes.is_empty() {
        return Err(refused(mistakes));
    }
    Ok(own.into_iter().chain(shared).collect())
}

/// Returns what is said of a key that is not known.
fn unknown(key: &str, known: &[&str]) -> String {
    let meant = meant(key, known).map(|meant| format!("; did you mean `{meant}`?"));
    format!("`{key}` is no option{}", meant.unwrap_or_default())
}
