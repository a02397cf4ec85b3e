//! What `--help` says, word for word: a change of the command line is seen in review.

use crate::support::Desk;

fn help(verbs: &[&str]) -> String {
    let output = Desk::new().skyline(verbs).arg("--help").assert().success();
    String::from_utf8(output.get_output().stdout.clone()).unwrap()
}

#[test]
fn skyline() {
    insta::assert_snapshot!(help(&[]));
}

#[test]
fn bench() {
    insta::assert_snapshot!(help(&["bench"]));
}

#[test]
fn ab() {
    insta::assert_snapshot!(help(&["ab"]));
}

#[test]
fn simulate() {
    insta::assert_snapshot!(help(&["simulate"]));
}

#[test]
fn capacity() {
    insta::assert_snapshot!(help(&["capacity"]));
}

#[test]
fn sweep() {
    insta::assert_snapshot!(help(&["sweep"]));
}

#[test]
fn report() {
    insta::assert_snapshot!(help(&["report"]));
}

#[test]
fn check() {
    insta::assert_snapshot!(help(&["check"]));
}

#[test]
fn mock() {
    insta::assert_snapshot!(help(&["mock"]));
}

#[test]
fn calibrate() {
    insta::assert_snapshot!(help(&["calibrate"]));
}

#[test]
fn compare() {
    insta::assert_snapshot!(help(&["compare"]));
}

#[test]
fn merge() {
    insta::assert_snapshot!(help(&["merge"]));
}

#[test]
fn matrix() {
    insta::assert_snapshot!(help(&["matrix"]));
}

#[test]
fn workloads() {
    insta::assert_snapshot!(help(&["workloads"]));
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

#[test]
fn workloads_fit() {
    insta::assert_snapshot!(help(&["workloads", "fit"]));
}

#[test]
fn trace() {
    insta::assert_snapshot!(help(&["trace"]));
}

#[test]
fn trace_show() {
    insta::assert_snapshot!(help(&["trace", "show"]));
}

#[test]
fn trace_from() {
    insta::assert_snapshot!(help(&["trace", "from"]));
}

#[test]
fn guide() {
    insta::assert_snapshot!(help(&["guide"]));
}
