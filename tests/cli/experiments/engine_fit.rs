//! `simulate --fit`: an engine fitted to runs, told by its costs, refused where it does not fit; and the diagnosis that
//! every report carries.

use serde_json::Value;

use crate::support::Desk;

fn json(desk: &Desk, arguments: &[&str]) -> Value {
    let output = desk.skyline(arguments).arg("--json").assert().success();
    serde_json::from_slice(&output.get_output().stdout).unwrap()
}

#[test]
fn an_engine_is_fitted_to_a_run_and_predicts_other_rates() {
    let desk = Desk::new();
    let l40s = ["simulate", "chat", "60", "--hardware", "l40s"];
    desk.skyline(&l40s).args(["--rate", "4", "--out", "results"]).assert().success();
    let run = desk.run().to_str().unwrap().to_owned();
    // Hardware and model are those that the run names; nothing is typed.
    let report = json(&desk, &["simulate", "chat", "60", "--rates", "4,8", "--fit", &run]);
    let fit = &report["engine_fit"];
    assert_eq!(
        (&fit["form"], &fit["grade"]),
        (&Value::from("roofline of llama-3.1-8b in bf16 on 1 × l40s"), &Value::from("good"))
    );
    let rates = report["rates"].as_array().unwrap();
    assert!(rates.len() == 2 && rates[1]["measured"].is_null(), "{rates:?}");
    assert_eq!(rates[0]["measured"]["rate_per_s"], 4.0);
    // The true engine at a rate that the fit did not see.
    let truth = json(&desk, &[&l40s[..], &["--rate", "8"]].concat());
    for metric in ["ttft", "tpot"] {
        let truth = truth["summary"]["latency"][metric]["p50"]["value_ms"].as_f64().unwrap();
        let report = rates[1][format!("{metric}_p50")]["value_ms"].as_f64().unwrap();
        assert!((report / truth - 1.0).abs() < 0.1, "{metric}: {report}, not {truth}");
    }
    // A folder of runs is as good as a run, and one rate gives the whole report.
    let whole = json(&desk, &["simulate", "chat", "30", "--rate", "3", "--fit", "results"]);
    assert_eq!(whole["engine_fit"]["runs"].as_array().unwrap().len(), 1);
    assert!(whole["summary"]["latency"]["ttft"]["p50"]["value_ms"].is_f64());
    let modelled = &whole["summary"]["run"]["engine"]["modelled"];
    assert!(modelled["fitted_bandwidth_efficiency"].is_f64());
    // The fitted engine schedules as the one that answered, unless it is said that it does not.
    assert_eq!(modelled["async_scheduling"], true);
    let other = ["simulate", "chat", "30", "--hardware", "l40s", "--rate", "4", "--out", "other"];
    desk.skyline(&other).arg("--no-async-scheduling").assert().success();
    for (options, scheduling) in [(&[][..], Value::Null), (&["--async-scheduling"], Value::Bool(true))] {
        let fit = ["simulate", "chat", "30", "--rate", "3", "--fit", "other"];
        let whole = json(&desk, &[&fit, options].concat());
        assert_eq!(whole["summary"]["run"]["engine"]["modelled"]["async_scheduling"], scheduling);
    }

    let ignored = desk.skyline(&["simulate", "chat", "--rates", "2", "--fit", &run, "--out", "x"]).assert().code(2);
    assert!(String::from_utf8_lossy(&ignored.get_output().stderr).contains("--sweep"));
    let unused: [&str; 8] = ["simulate", "chat", "--rates", "2", "--fit", &run, "--undecided", "pass"];
    let unused = desk.skyline(&unused).assert().code(2);
    assert!(
        String::from_utf8_lossy(&unused.get_output().stderr)
            .contains("leave --repeats, --out, --objective and --undecided out")
    );
    let text = desk.skyline(&["simulate", "chat", "60", "--rates", "4", "--fit", &run]).assert().success();
    let text = String::from_utf8(text.get_output().stdout.clone()).unwrap();
    for part in ["Engine fitted to 1 run", "share of the bandwidth", "GOOD FIT", "measured"] {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
}

#[test]
fn what_does_not_fit_is_not_predicted_from() {
    let desk = Desk::new();
    let queue = ["simulate", "chat", "60", "--rate", "2", "--ttft", "log-normal:400ms:0.8", "--itl", "10ms"];
    desk.skyline(&queue).args(["--places", "4", "--out", "results"]).assert().code(1);
    let refused = desk.skyline(&["simulate", "chat", "60", "--fit", "results"]).assert().code(3);
    let words = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
    assert!(words.contains("POOR FIT") && words.contains("nothing is predicted"), "{words}");
    assert!(refused.get_output().stdout.is_empty());

    let nowhere = desk.skyline(&["simulate", "chat", "60", "--fit", "nowhere"]).assert().code(2);
    assert!(String::from_utf8_lossy(&nowhere.get_output().stderr).contains("cannot read nowhere"));
    desk.skyline(&["simulate", "chat", "--rates", "2,4"]).assert().code(2);
}

#[test]
fn a_log_that_is_not_that_of_its_plan_is_not_fitted() {
    let desk = Desk::new();
    let run = ["simulate", "chat", "30", "--rate", "2", "--hardware", "l40s", "--out", "results"];
    desk.skyline(&run).assert().success();
    let log = desk.run().join("run.jsonl");
    Desk::rewrite(&log, "\"seed\":", "\"seed\":1");
    let refused = desk.skyline(&["simulate", "chat", "30", "--fit", "results"]).assert().code(2);
    let words = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
    assert!(words.contains("is not that of its plan: the header has the hash"), "{words}");
    assert!(words.contains("leave this run out"), "{words}");
}

#[test]
fn hardware_that_cannot_be_is_left_out() {
    let desk = Desk::new();
    let run = ["simulate", "short_chat", "60", "--rate", "10", "--out", "d"];
    desk.skyline(&run).args(["--hardware", "h100"]).assert().success();
    let wrong = ["simulate", "short_chat", "60", "--fit", "d", "--hardware", "l4", "--rates", "10"];
    let report = desk.skyline(&wrong).arg("--json").assert().success();
    let words = String::from_utf8(report.get_output().stderr.clone()).unwrap();
    assert!(words.contains("--hardware l4") && words.contains("more than its datasheet"), "{words}");
    let report: Value = serde_json::from_slice(&report.get_output().stdout).unwrap();
    assert!(report["engine_fit"]["form"].as_str().unwrap().starts_with("a sum of costs"), "{report}");
}

#[test]
fn runs_of_two_servers_are_not_fitted_together() {
    let desk = Desk::new();
    for hardware in ["h100", "l40s"] {
        let run = ["simulate", "chat", "30", "--rate", "2", "--out", "both", "--hardware", hardware];
        desk.skyline(&run).arg("--allow-invalid").assert().success();
    }
    let refused = desk.skyline(&["simulate", "chat", "30", "--fit", "both"]).assert().code(2);
    let words = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
    assert!(["hardware h100", "has l40s", "one server"].iter().all(|part| words.contains(part)), "{words}");
}

#[test]
fn only_what_was_measured_of_the_same_requests_stands_beside() {
    let desk = Desk::new();
    desk.skyline(&["simulate", "chat", "60", "--rate", "4", "--out", "results", "--hardware", "l40s"])
        .assert()
        .success();
    let other = json(&desk, &["simulate", "short_chat", "60", "--rates", "4,9", "--fit", "results"]);
    assert!(other["rates"][0]["measured"].is_null(), "{other}");
    let notes = other["notes"].to_string();
    for part in ["1 run at these rates sent other requests", "4.00/s were measured", "predictions for 9.00/s"] {
        assert!(notes.contains(part), "no {part} in {notes}");
    }
    // Other promises change no latency.
    let same = json(&desk, &["simulate", "chat", "60", "--rates", "4", "--fit", "results"]);
    assert_eq!(same["rates"][0]["measured"]["rate_per_s"], 4.0);
    assert!(same["notes"].is_null(), "{same}");
}

#[test]
fn every_form_of_a_prediction_says_how_well_it_is_fitted() {
    let desk = Desk::new();
    desk.skyline(&["simulate", "chat", "40", "--users", "8", "--out", "results"]).assert().success();
    let fitted = ["simulate", "chat", "30", "--fit", "results", "--allow-invalid"];
    for more in [&["--rate", "2", "--repeats", "2"][..], &["--sweep", "--rates", "2", "--samples", "50", "--out", "s"]]
    {
        let report = desk.skyline(&fitted).args(more).assert();
        let words = String::from_utf8(report.get_output().stderr.clone()).unwrap();
        assert!(words.contains("GOOD FIT") && words.contains("8 users"), "{more:?}: {words}");
        // As JSON the fit is part of what is printed, and not told beside it.
        let report = desk.skyline(&fitted).args(more).arg("--json").assert();
        let words = String::from_utf8(report.get_output().stderr.clone()).unwrap();
        let report: Value = serde_json::from_slice(&report.get_output().stdout).unwrap();
        let fit = &report["engine_fit"];
        assert_eq!((&fit["grade"], &fit["runs"][0]["users"]), (&"good".into(), &8.into()), "{more:?}: {report}");
        assert!(!words.contains("GOOD FIT"), "{words}");
    }
    let sweep = std::fs::read_dir(desk.file("mark", "").with_file_name("s"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path()
        .join("sweep.json");
    let sweep: Value = serde_json::from_str(&std::fs::read_to_string(sweep).unwrap()).unwrap();
    assert_eq!(sweep["engine"]["modelled"]["fit_grade"], "good", "{}", sweep["engine"]);
    assert!(sweep["engine"]["modelled"]["fit_median_off"].as_f64().unwrap() <= 0.1);
}

#[test]
fn a_report_says_what_serves_and_carries_its_diagnosis() {
    let desk = Desk::new();
    let deployment = [
        "--hardware",
        "h100",
        "--gpus",
        "2",
        "--serving-model",
        "llama-3.1-8b",
        "--precision",
        "fp8",
        "--label",
        "commit=4f2a91c",
    ];
    let run = desk.skyline(&["bench", "quick.toml", "--allow-invalid"]).args(deployment).assert().code(0);
    let text = String::from_utf8(run.get_output().stdout.clone()).unwrap();
    for part in ["on 2 × h100", "llama-3.1-8b, commit=4f2a91c", "the user     fp8", "per GPU"] {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
    let summary = desk.summary();
    let rates = &summary["rates"];
    let [all, each] = ["output_tokens_per_s", "output_tokens_per_s_per_gpu"].map(|rate| rates[rate].as_f64().unwrap());
    assert_eq!(each, all / 2.0);
    let diagnosis = &summary["diagnosis"];
    assert!(diagnosis["symptoms"].is_array() && diagnosis["not_enough_data"].is_array(), "{diagnosis}");
}

/// Answers that came over HTTP, on a clock that others use too: the fit is graded, and predicted from unless it is poor.
#[test]
fn an_engine_is_fitted_to_what_was_measured_over_http() {
    let desk = Desk::new();
    let bench = ["bench", "quick.toml", "4", "--rate", "12", "--no-calibration", "--allow-invalid", "--quiet"];
    desk.skyline(&bench).assert().success();
    let fitted = ["simulate", "quick.toml", "10", "--fit", "results", "--rates", "6,12", "--json"];
    let report = desk.skyline(&fitted).assert();
    let output = report.get_output();
    if output.status.code() == Some(3) {
        // A machine so busy that its mock is no engine of steady steps.
        assert!(String::from_utf8_lossy(&output.stderr).contains("POOR FIT"));
        return;
    }
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let fit = &report["engine_fit"];
    assert_eq!(fit["runs"].as_array().unwrap().len(), 1, "{fit}");
    assert!(fit["equations"].as_u64().unwrap() >= 40 && fit["grade"] != "poor", "{fit}");
    // The mock's steps take tens of milliseconds, and a token of an answer comes with each.
    let measured = &report["rates"][1]["measured"]["figures"];
    let figure = |metric: &str| {
        let all = measured.as_array().unwrap();
        let found = all.iter().find(|figure| figure["metric"] == metric && figure["quantile"] == "p50");
        found.unwrap()["measured_ms"].as_f64().unwrap()
    };
    let predicted = report["rates"][1]["tpot_p50"]["value_ms"].as_f64().unwrap();
    assert!((predicted / figure("tpot") - 1.0).abs() <= 0.25, "{predicted}, not {}", figure("tpot"));
    assert!(report["rates"][0]["measured"].is_null(), "6/s was not flown");
}
