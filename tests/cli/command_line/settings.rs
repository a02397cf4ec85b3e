//! Options from the environment and from `skyline.toml`.

use crate::support::Desk;

#[test]
fn files_and_variables_say_what_was_not_typed_and_are_stored_with_the_run() {
    let desk = Desk::new();
    desk.file("skyline.toml", "no-calibration = true\nallow-invalid = true\nout = \"kept\"\n[bench]\nsalt = 7\n");
    desk.file("config/skyline/skyline.toml", "out = \"elsewhere\"\nlabel = [\"of=user\"]\n");
    let mut command = desk.skyline(&["bench", "quick.toml", "1", "--quiet", "--salt", "8"]);
    let output = command.env("SKYLINE_MODEL", "llama-3.1-8b").assert().success();
    let words = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(words.contains("--model from SKYLINE_MODEL") && words.contains("--out from skyline.toml"), "{words}");
    let runs: Vec<_> = std::fs::read_dir(desk.path().join("kept")).unwrap().flatten().collect();
    let log = std::fs::read_to_string(runs[0].path().join("run.jsonl")).unwrap();
    let header: serde_json::Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
    let stored: Vec<_> =
        header["header"]["command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    for word in ["--model=llama-3.1-8b", "--no-calibration", "--out=kept", "--label=of=user", "8"] {
        assert!(stored.contains(&word), "{word} in {stored:?}");
    }
    assert!(!stored.contains(&"--salt=7") && !stored.contains(&"--out=elsewhere"), "{stored:?}");
}

#[test]
fn a_key_that_is_no_option_is_refused_with_its_line() {
    let desk = Desk::new();
    desk.file("skyline.toml", "# mine\nmodle = \"x\"\n");
    let output = desk.skyline(&["bench", "quick.toml"]).assert().code(2);
    let words = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(words.contains("line 2: `modle` is no option; did you mean `model`?"), "{words}");
    desk.skyline(&["workloads"]).assert().success();
}

#[test]
fn a_variable_that_stands_for_nothing_is_a_warning_with_the_nearest() {
    let desk = Desk::new();
    let mut command = desk.skyline(&["bench", "quick.toml", "--dry-run"]);
    let output = command.env("SKYLINE_UTL", "http://127.0.0.1:9").env("SKYLINE_LOG", "warn").assert().success();
    let words = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    let warning = "warning: SKYLINE_UTL stands for no option; did you mean SKYLINE_URL?";
    assert!(words.contains(warning) && !words.contains("SKYLINE_LOG"), "{words}");
}

#[test]
fn a_dry_run_shows_settings_and_their_sources() {
    let desk = Desk::new();
    desk.file("skyline.toml", "[bench]\nsalt = 7\n");
    let mut command = desk.skyline(&["bench", "quick.toml", "--dry-run"]);
    let output = command.env("SKYLINE_URL", "http://127.0.0.1:9").assert().success();
    let text = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    assert!(text.contains("--salt=7 from skyline.toml"), "{text}");
    assert!(text.contains("--url=http://127.0.0.1:9 from SKYLINE_URL"), "{text}");
}
