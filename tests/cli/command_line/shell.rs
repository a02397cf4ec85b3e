//! Completions and man pages.

use predicates::str::contains;

use crate::support::Desk;

#[test]
fn shells_get_completions() {
    let desk = Desk::new();
    for (shell, sign) in [("bash", "_skyline()"), ("zsh", "#compdef skyline"), ("fish", "complete -c skyline")] {
        let output = desk.skyline(&["completions", shell]).assert().success();
        let script = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
        assert!(script.contains(sign) && script.contains("max-concurrency"), "{shell}");
    }
    desk.skyline(&["completions", "cmd"]).assert().code(2);
}

#[test]
fn every_verb_has_a_man_page() {
    let desk = Desk::new();
    let output = desk.skyline(&["man", "bench"]).assert().success();
    let page = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    assert!(page.contains(".TH skyline-bench 1") && page.contains("max\\-concurrency"), "{page}");
    assert!(page.contains("SKYLINE_URL"), "{page}");
    desk.skyline(&["man", "banch"]).assert().code(2).stderr(contains("did you mean `bench`?"));
    desk.skyline(&["man", "--out", "pages"]).assert().success();
    for name in ["skyline.1", "skyline-bench.1", "skyline-workloads-fit.1"] {
        assert!(desk.path().join("pages").join(name).exists(), "{name}");
    }
}
