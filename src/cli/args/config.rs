//! Options that were not typed: from the environment, and from `skyline.toml`.
//!
//! An option counts as it was typed; else as the variable says (`SKYLINE_URL` for `--url`); else as `skyline.toml` in the
//! working directory says, then as that of the user says. What counts becomes arguments before those that were typed, so that
//! everything behind this sees one command line.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};

use crate::session::Stop;
use crate::session::command_line::InEffect;
use crate::workload::nearest;
use crate::workload::reading::{Entry, Mistakes, Node, NodeValue, parse_toml};

/// The file, in the working directory and in the user's folder of settings.
const FILE: &str = "skyline.toml";

/// The verbs that measure a server: the keys at the top of a file and the variables are for them. A table of its own is for
/// any verb.
const SHARED: [&str; 5] = ["bench", "sweep", "ab", "matrix", "check"];

/// Where options are looked for that were not typed.
#[derive(Debug, Default)]
pub(in crate::cli) struct Surroundings {
    variables: Vec<(String, String)>,
    /// The files that there may be, the first counts first.
    files: Vec<PathBuf>,
}

impl Surroundings {
    /// Those of this process.
    pub(in crate::cli) fn of_process() -> Self {
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(name, value)| name.starts_with("SKYLINE_") && !value.is_empty());
        let folder = |name: &str| std::env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
        let of_user = folder("XDG_CONFIG_HOME").or_else(|| Some(folder("HOME")?.join(".config")));
        let of_user = of_user.map(|folder| folder.join("skyline").join(FILE));
        Self { variables: variables.collect(), files: std::iter::once(FILE.into()).chain(of_user).collect() }
    }
}

/// The folder of all results, where nothing was typed: that of `out`, else `results`.
pub(in crate::cli) fn results_folder(surroundings: &Surroundings) -> PathBuf {
    let set = surroundings.variables.iter().find(|(name, _)| name == "SKYLINE_OUT");
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

/// What is said of an option: the value, and where it stands.
#[derive(Debug)]
struct Setting {
    option: String,
    value: NodeValue,
    line: Option<usize>,
    source: String,
}

/// The arguments with what was not typed; `typed` begins with the name of the program.
pub(in crate::cli) fn in_effect(
    command: &Command,
    typed: Vec<OsString>,
    surroundings: &Surroundings,
) -> Result<InEffect, Stop> {
    let lenient = command.clone().ignore_errors(true);
    let mut command = command.clone();
    command.build();
    let verb = typed.get(1).and_then(|verb| verb.to_str()).and_then(|verb| command.find_subcommand(verb));
    let Some(verb) = verb else { return Ok(InEffect { arguments: typed, settings: Vec::new() }) };
    let settings = settings(&command, verb, surroundings)?;
    if settings.is_empty() {
        return Ok(InEffect { arguments: typed, settings: Vec::new() });
    }
    // Help and the like need no settings.
    let Ok(matches) = lenient.try_get_matches_from(&typed) else {
        return Ok(InEffect { arguments: typed, settings: Vec::new() });
    };
    let is_typed =
        |arg: &&Arg| matches.subcommand_matches(verb.get_name()).is_some_and(|of| was_typed(of, arg));
    let mut present: Vec<&Arg> = verb.get_arguments().filter(is_typed).collect();
    let mut added = Vec::new();
    for setting in &settings {
        let Some(arg) = option(verb, &setting.option) else { continue };
        if present.iter().any(|other| other.get_id() == arg.get_id() || are_in_conflict(verb, arg, other)) {
            continue;
        }
        present.push(arg);
        let arguments = setting.arguments(arg)?;
        added.extend(arguments.into_iter().map(|argument| (argument, setting.source.clone())));
    }
    let mut arguments = typed;
    arguments.splice(2..2, added.iter().map(|(argument, _)| argument.into()));
    Ok(InEffect { arguments, settings: added })
}

fn was_typed(matches: &ArgMatches, arg: &Arg) -> bool {
    matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine)
}

fn are_in_conflict(verb: &Command, a: &Arg, b: &Arg) -> bool {
    let names =
        |a: &Arg, b: &Arg| verb.get_arg_conflicts_with(a).iter().any(|other| other.get_id() == b.get_id());
    names(a, b) || names(b, a)
}

/// The option of a verb by its long name or another name for it.
fn option<'c>(verb: &'c Command, name: &str) -> Option<&'c Arg> {
    verb.get_arguments().find(|arg| {
        arg.get_long() == Some(name) || arg.get_all_aliases().is_some_and(|names| names.contains(&name))
    })
}

/// The long names of a verb's options that can be set.
fn options(verb: &Command) -> impl Iterator<Item = &str> {
    verb.get_arguments().filter_map(Arg::get_long).filter(|name| !["help", "version"].contains(name))
}

/// What the surroundings say of the options of `verb`, that which counts first.
fn settings(command: &Command, verb: &Command, surroundings: &Surroundings) -> Result<Vec<Setting>, Stop> {
    let shares = SHARED.contains(&verb.get_name());
    let mut settings = Vec::new();
    if shares {
        for name in options(verb) {
            let variable = format!("SKYLINE_{}", name.replace('-', "_").to_uppercase());
            let set = surroundings.variables.iter().find(|(name, _)| *name == variable);
            settings.extend(set.map(|(_, value)| Setting {
                option: name.to_owned(),
                value: NodeValue::Text(value.clone()),
                line: None,
                source: variable,
            }));
        }
    }
    for path in &surroundings.files {
        // Settings are no concern of verbs that share none and have no table.
        let Ok(text) = std::fs::read_to_string(path) else { continue };
        if shares || text.contains(&format!("[{}]", verb.get_name())) {
            settings.extend(of_file(command, verb, path, &text)?);
        }
    }
    Ok(settings)
}

/// What a file says of the options of `verb`: first its own table, then the top, which is for verbs that measure.
fn of_file(command: &Command, verb: &Command, path: &Path, text: &str) -> Result<Vec<Setting>, Stop> {
    let origin = path.display().to_string();
    let refused = |mistakes: Mistakes| Stop::usage(mistakes.into_error(&origin));
    let Node { value: NodeValue::Table(entries), .. } = parse_toml(text).map_err(refused)? else {
        return Ok(Vec::new());
    };
    let mistakes = Mistakes::default();
    let (mut own, mut shared) = (Vec::new(), Vec::new());
    let setting = |Entry { key, line, node }: Entry| Setting {
        option: key.replace('_', "-"),
        value: node.value,
        line,
        source: origin.clone(),
    };
    for entry in entries {
        match (command.find_subcommand(&entry.key), entry) {
            (Some(of), Entry { node: Node { value: NodeValue::Table(inside), .. }, .. }) => {
                for entry in inside {
                    let known: Vec<_> = options(of).collect();
                    check(&entry, option(of, &entry.key.replace('_', "-")).is_some(), &known, &mistakes);
                    if of.get_name() == verb.get_name() {
                        own.push(setting(entry));
                    }
                }
            }
            (_, entry) => {
                let measuring = || SHARED.iter().filter_map(|name| command.find_subcommand(name));
                let key = entry.key.replace('_', "-");
                let is_known = measuring().any(|verb| option(verb, &key).is_some());
                let tables = command.get_subcommands().map(Command::get_name);
                let known: Vec<_> = measuring().flat_map(options).chain(tables).collect();
                check(&entry, is_known, &known, &mistakes);
                if SHARED.contains(&verb.get_name()) {
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

/// Notes a key that is not known, with the nearest that is.
fn check(entry: &Entry, is_known: bool, known: &[&str], mistakes: &Mistakes) {
    if is_known {
        return;
    }
    let underscored: Vec<String> = known.iter().map(|name| name.replace('-', "_")).collect();
    let meant = nearest(&entry.key, underscored.iter().map(String::as_str));
    let meant =
        meant.map(|meant| format!("; did you mean `{}`?", meant.replace('_', "-"))).unwrap_or_default();
    mistakes.add(entry.line, format!("`{}` is no option{meant}", entry.key));
}

impl Setting {
    /// The arguments that say the same.
    fn arguments(&self, arg: &Arg) -> Result<Vec<String>, Stop> {
        let option = arg.get_long().unwrap_or(&self.option);
        let takes_value = arg.get_action().takes_values();
        let of = |value: &NodeValue| text(value).map(|text| format!("--{option}={text}"));
        let arguments = match &self.value {
            NodeValue::Bool(on) if !takes_value => {
                Some(if *on { vec![format!("--{option}")] } else { Vec::new() })
            }
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
            let field = |Entry { key, node, .. }: &Entry| {
                Some(match &node.value {
                    NodeValue::Text(text) => format!("{key} = {text:?}"),
                    value => format!("{key} = {}", text(value)?),
                })
            };
            format!("{{ {} }}", entries.iter().map(field).collect::<Option<Vec<_>>>()?.join(", "))
        }
        NodeValue::Null | NodeValue::List(_) => return None,
    })
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

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    fn command() -> Command {
        let value = |name: &'static str| Arg::new(name).long(name).action(clap::ArgAction::Append);
        let flag = |name: &'static str| Arg::new(name).long(name).action(clap::ArgAction::SetTrue);
        let shared = |name: &'static str| {
            Command::new(name)
                .arg(Arg::new("workload").required(true))
                .args(["url", "engine", "model", "header", "input-tokens"].map(value))
                .arg(value("rate").alias("request-rate"))
                .arg(value("users").conflicts_with("rate"))
                .args(["quiet", "json"].map(flag))
        };
        let sweep = shared("sweep").arg(value("samples"));
        let mock = Command::new("mock").args(["port", "model"].map(value));
        Command::new("skyline").subcommands([shared("bench"), sweep, mock])
    }

    struct Desk(tempfile::TempDir);

    impl Desk {
        fn new(here: &str, of_user: &str) -> Self {
            let folder = tempfile::tempdir().unwrap();
            for (name, text) in [("here.toml", here), ("user.toml", of_user)] {
                std::fs::write(folder.path().join(name), text).unwrap();
            }
            Self(folder)
        }

        fn of(&self, variables: &[(&str, &str)], typed: &[&str]) -> Result<InEffect, Stop> {
            let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            let files = ["here.toml", "user.toml", "absent.toml"].map(|name| self.0.path().join(name));
            let surroundings = Surroundings { variables: variables.collect(), files: files.to_vec() };
            let typed = std::iter::once("skyline").chain(typed.iter().copied()).map(OsString::from);
            in_effect(&command(), typed.collect(), &surroundings)
        }

        fn line(&self, variables: &[(&str, &str)], typed: &[&str]) -> String {
            let effect = self.of(variables, typed).unwrap();
            effect.arguments[1..].join(OsStr::new(" ")).into_string().unwrap()
        }
    }

    #[test]
    fn what_is_nearer_to_the_user_counts() {
        let desk = Desk::new(
            "url = \"http://here\"\nheader = [\"A: 1\", \"B: 2\"]\n[bench]\nurl = \"http://bench\"\nquiet = true\njson = false\n",
            "url = \"http://user\"\nmodel = \"of-user\"\nrequest_rate = 5\n",
        );
        assert_eq!(
            desk.line(&[], &["bench", "chat"]),
            "bench --url=http://bench --quiet --header=A: 1 --header=B: 2 --model=of-user --rate=5 chat"
        );
        assert_eq!(
            desk.line(&[], &["sweep", "chat"]),
            "sweep --url=http://here --header=A: 1 --header=B: 2 --model=of-user --rate=5 chat"
        );
        let environment = [("SKYLINE_URL", "http://env"), ("SKYLINE_QUIET", "0"), ("SKYLINE_MODEL", "m")];
        assert_eq!(
            desk.line(&environment, &["bench", "chat", "--model", "typed", "--users=3"]),
            "bench --url=http://env --header=A: 1 --header=B: 2 chat --model typed --users=3",
            "what was typed counts first, and what it excludes is left out"
        );
        assert_eq!(desk.line(&environment, &["mock", "--port=1"]), "mock --port=1");
        assert_eq!(desk.line(&environment, &["bench", "--help"]), "bench --help");
        let effect = desk.of(&environment, &["bench", "chat"]).unwrap();
        let words = in_words(&effect.settings).unwrap();
        assert!(words.starts_with("settings: --url from SKYLINE_URL; "), "{words}");
        assert!(words.contains("--header, --header from ") && words.contains("here.toml"), "{words}");
    }

    #[test]
    fn results_are_where_a_setting_says() {
        let desk = Desk::new("url = \"x\"\n", "out = \"kept\"\n");
        let files = ["here.toml", "user.toml"].map(|name| desk.0.path().join(name)).to_vec();
        let variables = vec![("SKYLINE_OUT".to_owned(), "env".to_owned())];
        let folder = |variables, files| results_folder(&Surroundings { variables, files });
        assert_eq!(folder(variables, files.clone()), Path::new("env"));
        assert_eq!(folder(Vec::new(), files), Path::new("kept"));
        assert_eq!(folder(Vec::new(), Vec::new()), Path::new("results"));
    }

    #[test]
    fn tables_are_for_their_verb_and_values_are_as_typed() {
        let desk = Desk::new(
            "[mock]\nport = 9000\n[bench]\ninput-tokens = { kind = \"normal\", mean = 256, std = 128 }\n",
            "",
        );
        assert_eq!(desk.line(&[], &["mock"]), "mock --port=9000");
        assert_eq!(
            desk.line(&[], &["bench", "chat"]),
            "bench --input-tokens={ kind = \"normal\", mean = 256, std = 128 } chat"
        );
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        let desk = Desk::new("url = 1\nmodell = \"x\"\n[bench]\nsamples = 3\n[sweeep]\n", "");
        let error = desk.of(&[], &["sweep", "chat"]).unwrap_err();
        for part in [
            "3 mistakes in",
            "line 2: `modell` is no option; did you mean `model`?",
            "line 4: `samples` is no option",
            "`sweeep` is no option; did you mean `sweep`?",
        ] {
            assert!(error.message().contains(part), "{part} in {}", error.message());
        }
        assert!(desk.of(&[], &["mock"]).is_ok(), "another verb does not mind");
        let desk = Desk::new("quiet = \"loud\"\n", "");
        let error = desk.of(&[], &["bench", "chat"]).unwrap_err();
        assert!(error.message().contains("line 1: `quiet` takes true or false"), "{}", error.message());
        let error = Desk::new("url = [\n", "").of(&[], &["bench", "chat"]).unwrap_err();
        assert!(error.message().contains("not valid TOML"), "{}", error.message());
    }
}
