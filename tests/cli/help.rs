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

/// Compares the help of a verb with its snapshot, and that of every verb below it; gives how many they are.
fn compare(verbs: &[&str]) -> usize {
    let help = help(verbs);
    let name = if verbs.is_empty() { "skyline".to_owned() } else { verbs.join("_") };
    insta::assert_snapshot!(name, &help);
    let below = listed(&help).into_iter().map(|verb| compare(&[verbs, &[verb]].concat()));
    1 + below.sum::<usize>()
}

#[test]
fn every_verb_has_its_help() {
    assert!(compare(&[]) >= 19);
}

#[test]
fn every_default_shows() {
    let verbs = [("bench", 15), ("sweep", 25), ("ab", 20), ("simulate", 15), ("mock", 8), ("matrix", 15)];
    for (verb, at_least) in verbs {
        let help = help(&[verb]);
        let mut options = help.split("\n      --").skip(1).collect::<Vec<_>>();
        options.retain(|option| option.contains('<') && option.split_whitespace().nth(1).is_some());
        assert!(options.len() > at_least, "{}", options.len());
        for option in options {
            let takes_value = option.lines().next().is_some_and(|line| line.contains('<'));
            let repeats = option.contains("repeat");
            assert!(
                !takes_value || repeats || option.contains("[default:"),
                "no default shown for --{option}"
            );
        }
    }
}
