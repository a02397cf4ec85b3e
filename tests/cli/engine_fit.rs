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
    let told = json(&desk, &["simulate", "chat", "60", "--rates", "2,4,8", "--fit", &run]);
    let fit = &told["engine_fit"];
    assert_eq!(
        (&fit["form"], &fit["grade"]),
        (&Value::from("roofline of llama-3.1-8b in bf16 on 1 × l40s"), &Value::from("good"))
    );
    let rates = told["rates"].as_array().unwrap();
    assert!(
        rates.len() == 3 && rates[0]["measured"].is_null() && rates[2]["measured"].is_null(),
        "{rates:?}"
    );
    assert_eq!(rates[1]["measured"]["rate_per_s"], 4.0);
    // The true engine at a rate that the fit did not see.
    let truth = json(&desk, &[&l40s[..], &["--rate", "8"]].concat());
    for metric in ["ttft", "tpot"] {
        let truth = truth["summary"]["latency"][metric]["p50"]["value_ms"].as_f64().unwrap();
        let told = rates[2][format!("{metric}_p50")]["value_ms"].as_f64().unwrap();
        assert!((told / truth - 1.0).abs() < 0.1, "{metric}: {told}, not {truth}");
    }
    // A folder of runs is as good as a run, and one rate gives the whole report.
    let whole = json(&desk, &["simulate", "chat", "30", "--rate", "3", "--fit", "results"]);
    assert_eq!(whole["engine_fit"]["runs"].as_array().unwrap().len(), 1);
    assert!(whole["summary"]["latency"]["ttft"]["p50"]["value_ms"].is_f64());
    assert!(whole["summary"]["run"]["engine"]["modelled"]["fitted_bandwidth_efficiency"].is_f64());

    let ignored =
        desk.skyline(&["simulate", "chat", "--rates", "2", "--fit", &run, "--out", "x"]).assert().code(2);
    assert!(String::from_utf8_lossy(&ignored.get_output().stderr).contains("--sweep"));
    let text = desk.skyline(&["simulate", "chat", "60", "--rates", "2,4", "--fit", &run]).assert().success();
    let text = String::from_utf8(text.get_output().stdout.clone()).unwrap();
    for part in ["Engine fitted to 1 run", "share of the bandwidth", "GOOD FIT", "measured"] {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
}

#[test]
fn what_does_not_fit_is_not_predicted_from() {
    let desk = Desk::new();
    let queue = ["simulate", "chat", "60", "--rate", "2", "--ttft", "log-normal:400ms:0.8", "--itl", "10ms"];
    desk.skyline(&queue).args(["--places", "4", "--out", "results", "--allow-invalid"]).assert().success();
    let refused = desk.skyline(&["simulate", "chat", "60", "--fit", "results"]).assert().code(3);
    let words = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
    assert!(words.contains("POOR FIT") && words.contains("nothing is predicted"), "{words}");
    assert!(refused.get_output().stdout.is_empty());

    let nowhere = desk.skyline(&["simulate", "chat", "60", "--fit", "nowhere"]).assert().code(2);
    assert!(String::from_utf8_lossy(&nowhere.get_output().stderr).contains("cannot read nowhere"));
    desk.skyline(&["simulate", "chat", "--rates", "2,4"]).assert().code(2);
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
    for part in ["2 × h100, llama-3.1-8b in fp8, commit=4f2a91c", "for each GPU"] {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
    let summary = desk.summary();
    let rates = &summary["rates"];
    let [all, each] =
        ["output_tokens_per_s", "output_tokens_per_s_per_gpu"].map(|rate| rates[rate].as_f64().unwrap());
    assert_eq!(each, all / 2.0);
    let diagnosis = &summary["diagnosis"];
    assert!(diagnosis["symptoms"].is_array() && diagnosis["could_not_tell"].is_array(), "{diagnosis}");
    // The embedded mock is not what was said of it, so that no rule may find it as fast as its memory allows.
    assert!(!diagnosis["symptoms"].to_string().contains("memory_bound_decode"), "{diagnosis}");
}
