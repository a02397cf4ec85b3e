//! What `--help` says, word for word: a change of the command line is seen in review.

use crate::support::Desk;

fn help(verbs: &[&str]) -> String {
    let output = Desk::new().skyline(verbs).arg("--help").assert().success();
    String::from_utf8(output.get_output().stdout.clone()).unwrap()
}

/// The commands that a text of help lists, without clap's own `help`.
fn listed(help: &str) -> Vec<&str> {
    let commands = help.split_once("\nCommands:\n").map_or("", |(_, after)| after);
    let lines = commands.lines().take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !name.is_empty() && *name != "help").collect()
}

/// Options without a default: required, repeated, or what the verb does.
const WITHOUT_DEFAULT: [&str; 5] = ["header <", "objective <", "target-rate <", "search <", "json-schema <"];

/// Compares the help of a verb with its snapshot, and that of every verb below it; gives how many they are. Every option of
/// a verb shows its default.
fn compare(verbs: &[&str]) -> usize {
    let help = help(verbs);
    let name = if verbs.is_empty() { "skyline".to_owned() } else { verbs.join("_") };
    insta::assert_snapshot!(name, &help);
    let options = help.split("\n      --").skip(1);
    let takes_value = |option: &&str| option.lines().next().is_some_and(|line| line.contains('<'));
    for option in options.filter(takes_value).filter(|_| verbs.len() == 1) {
        let is_known = WITHOUT_DEFAULT.iter().any(|known| option.starts_with(known));
        assert!(is_known || option.contains("[default:"), "{verbs:?} shows no default for --{option}");
    }
    let below = listed(&help).into_iter().map(|verb| compare(&[verbs, &[verb]].concat()));
    1 + below.sum::<usize>()
}

#[test]
fn every_verb_has_its_help_with_every_default() {
    assert!(compare(&[]) >= 19);
}
