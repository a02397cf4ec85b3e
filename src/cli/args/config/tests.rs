//! Options from the environment and from files.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::{Arg, Command};

use super::effect::{in_effect, in_words};
use super::options::{PREFIX, option_name};
use super::settings::{Surroundings, results_folder};
use crate::session::Stop;
use crate::session::command_line::InEffect;

fn command() -> Command {
    let value = |name: &'static str| Arg::new(name).long(name).action(clap::ArgAction::Append);
    let flag = |name: &'static str| Arg::new(name).long(name).action(clap::ArgAction::SetTrue);
    let shared = |name: &'static str| {
        Command::new(name)
            .arg(Arg::new("workload").required(true))
            .args(["url", "engine", "model", "header", "input-tokens"].map(value))
            .arg(value("rate").alias("request-rate"))
            .arg(value("users").conflicts_with("rate"))
            .args(["quiet", "json", "yes"].map(flag))
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
        let variable = |(name, value): &(&str, &str)| (option_name(&name[PREFIX.len()..]), (*value).to_owned());
        let variables = variables.iter().map(variable);
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
fn no_file_confirms_a_load() {
    for here in ["yes = true", "[bench]\nyes = true"] {
        let stop = Desk::new(here, "").of(&[], &["bench", "chat"]).err().unwrap();
        assert!(stop.message().contains("`yes` cannot be set in a file"), "{}", stop.message());
    }
    let desk = Desk::new("", "");
    assert_eq!(desk.line(&[("SKYLINE_YES", "1")], &["bench", "chat"]), "bench --yes chat");
}

#[test]
fn what_is_nearer_to_the_user_counts() {
    let desk = Desk::new(
        "url = \"http://here\"\nheader = [\"A: 1\", \"B: 2\"]\n[bench]\nurl = \"http://bench\"\nquiet = true\njson = \
         false\n",
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
fn a_variable_that_stands_for_nothing_is_named_with_the_nearest() {
    let desk = Desk::new("", "");
    let variables = [("SKYLINE_ULR", "x"), ("SKYLINE_INPUT_TOKEN", "8"), ("SKYLINE_SAMPLES", "9")];
    let others =
        [("SKYLINE_LOG", "debug"), ("SKYLINE_VARIANT", "a"), ("SKYLINE_SHARDS", "2"), ("SKYLINE_REQUEST_RATE", "5")];
    let effect = desk.of(&[&variables[..], &others].concat(), &["bench", "chat"]).unwrap();
    assert_eq!(
        effect.warnings,
        [
            "warning: SKYLINE_ULR stands for no option; did you mean SKYLINE_URL?",
            "warning: SKYLINE_INPUT_TOKEN stands for no option; did you mean SKYLINE_INPUT_TOKENS?"
        ]
    );
    assert_eq!(effect.settings, [("--rate=5".to_owned(), "SKYLINE_REQUEST_RATE".to_owned())]);
    assert!(desk.of(&variables, &["mock"]).unwrap().warnings.is_empty(), "variables are not for it");
}

#[test]
fn help_needs_no_settings() {
    let desk = Desk::new("modle = 1\nhelp = true\n", "");
    assert_eq!(desk.line(&[], &["bench", "--help"]), "bench --help");
    let error = desk.of(&[], &["bench", "chat"]).unwrap_err();
    assert!(error.message().contains("`help` is no option"), "{}", error.message());
}

#[test]
fn results_are_where_a_setting_says() {
    let desk = Desk::new("url = \"x\"\n", "out = \"kept\"\n");
    let files = ["here.toml", "user.toml"].map(|name| desk.0.path().join(name)).to_vec();
    let variables = vec![("out".to_owned(), "env".to_owned())];
    let folder = |variables, files| results_folder(&Surroundings { variables, files });
    assert_eq!(folder(variables, files.clone()), Path::new("env"));
    assert_eq!(folder(Vec::new(), files), Path::new("kept"));
    assert_eq!(folder(Vec::new(), Vec::new()), Path::new("results"));
}

#[test]
fn tables_are_for_their_verb_and_values_are_as_typed() {
    let desk =
        Desk::new("[mock]\nport = 9000\n[bench]\ninput-tokens = { kind = \"normal\", mean = 256, std = 128 }\n", "");
    assert_eq!(desk.line(&[], &["mock"]), "mock --port=9000");
    assert_eq!(Desk::new("mock = { port = 1 }\n", "").line(&[], &["mock"]), "mock --port=1");
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

#[test]
fn a_table_may_hold_a_list() {
    let desk = Desk::new("[sweep]\ninput-tokens = { kind = \"empirical\", values = [1, 2] }\n", "");
    assert_eq!(
        desk.line(&[], &["sweep", "chat"]),
        "sweep --input-tokens={ kind = \"empirical\", values = [1, 2] } chat"
    );
}

#[test]
fn a_file_that_cannot_be_read_is_refused_where_it_is_wanted() {
    let desk = Desk::new("", "");
    let here = desk.0.path().join("here.toml");
    std::fs::write(&here, [0xff, 0xfe, b'u']).unwrap();
    let error = desk.of(&[], &["bench", "chat"]).unwrap_err();
    assert!(error.message().contains("here.toml: ") && error.message().contains("UTF-8"), "{}", error.message());
    assert!(desk.of(&[], &["mock"]).is_ok(), "another verb does not mind");
    std::fs::remove_file(&here).unwrap();
    std::fs::create_dir(&here).unwrap();
    assert!(desk.of(&[], &["bench", "chat"]).unwrap_err().message().contains("here.toml: "));
}
