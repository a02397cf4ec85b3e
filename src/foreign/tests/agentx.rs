//! Results of `AIPerf` under the scenario of `InferenceX`, in files that we wrote after its layout.

use serde_json::{Value, json};

use crate::analysis::{Metric, Quantile};
use crate::foreign::run::ForeignRun;
use crate::foreign::tests::{changed_run, figure, is_computed, is_refused, percentile, raw, run};

const SAMPLE: &str = "aiperf-agentx/profile_export_aiperf.json";

/// The reservation that begins like this, without its beginning.
fn said<'r>(run: &'r ForeignRun, begins: &str) -> Option<&'r str> {
    run.reservations.iter().find_map(|text| text.strip_prefix(begins))
}

const BROKEN: &str = "it breaks these rules of AgentX: ";
const UNSAID: &str = "of these rules of AgentX its files say nothing: ";

#[test]
fn figures_are_aiperfs_own_and_have_no_interval() {
    let (run, file) = (run("aiperf-agentx"), raw(SAMPLE));
    assert_eq!((run.requests.completed, run.requests.failed), (6, Some(0)));
    let ttft = percentile(Quantile::P95, Metric::TtftFromSend);
    assert_eq!(figure(&run, &ttft), file["time_to_first_token"]["p95"].as_f64());
    assert!(!is_computed(&run, Metric::TtftFromSend) && run.interval(&ttft) == (None, None));
    let conditions = &run.conditions;
    assert_eq!((conditions.arrival.as_deref(), conditions.max_concurrency), (Some("closed"), None));
    assert!(conditions.warm_up.is_none() && is_refused(&run, "theoretical_prefix_cache_hit"));
    assert!(!run.reservations.iter().any(|text| text.contains("its requests are missing")));
}

#[test]
fn rules_are_kept_broken_or_not_shown() {
    let run = run("aiperf-agentx");
    assert_eq!((said(&run, BROKEN), said(&run, UNSAID)), (None, None));
    let kept = said(&run, "it keeps these rules of AgentX: ").unwrap();
    assert_eq!(kept.split(", ").count(), 10, "{kept}");
    let mut file = raw(SAMPLE);
    file["metadata"]["dataset"] = Value::Null;
    file["metadata"]["submission_invalid_reasons"] = json!(["unsafe_override", "run_cancelled"]);
    let config = &mut file["input_config"];
    config["endpoint"] = json!({"type": "chat", "streaming": false, "extra": {"ignore_eos": false}});
    config["datasets"] = json!([{"type": "file", "ignore_trace_delays": true, "synthesis": {"max_isl": 8192},
        "trace_idle_gap_cap_seconds": 300.0, "cache_bust": {"target": "none"}}]);
    let phase = &mut config["phases"][0];
    phase["duration"] = json!(600.0);
    phase["system_idle_gap_cap_seconds"] = json!(60.0);
    phase["trajectory_start_min_ratio"] = json!(0.0);
    phase["trajectory_start_max_ratio"] = json!(1.0);
    let run = changed_run(&file);
    assert_eq!(
        said(&run, BROKEN).unwrap(),
        "streaming (answers came whole), answers of the recorded lengths (ignore_eos is false), recorded pauses (they \
         are left out), prompts of any length (those over 8192 tokens are left out), pauses of any length (the longest \
         is 300.0 s), 15 minutes at least (it is 600.0 s), nothing idle for over 10 s (the limit is 60.0 s), a marker \
         before each session (it is none), published traces (nothing proves what is in a local file)"
    );
    let why = said(&run, "AIPerf calls it no valid submission of the scenario inferencex-agentx-mvp: ");
    assert_eq!(why, Some("rules were broken on purpose (--unsafe-override), it was cancelled"));
    assert_eq!(said(&run, "sessions begin between "), None);
    let mut file = raw(SAMPLE);
    file["input_config"]["phases"] =
        json!([{"name": "profiling", "kind": "profiling", "type": "poisson", "rate": 2.0}]);
    file["input_config"]["datasets"] = json!([{}]);
    file["metadata"] = json!({"scenario": "inferencex-agentx-mvp", "submission_valid": true});
    let run = changed_run(&file);
    assert_eq!(said(&run, BROKEN).unwrap(), "sessions that are played as recorded (they are not)");
    let unsaid = "15 minutes at least, nothing idle for over 10 s, a marker before each session, published traces";
    assert_eq!(said(&run, UNSAID).unwrap(), unsaid);
    assert_eq!(said(&run, "AIPerf calls it a valid submission of the scenario "), Some("inferencex-agentx-mvp"));
}

#[test]
fn hit_rates_stand_beside_each_other() {
    let mut file = raw(SAMPLE);
    let begins = "a cache that drops nothing would find 95.5 % of the prompts' blocks; ";
    assert_eq!(said(&changed_run(&file), begins), Some("the server found 92.98 % of the prompt tokens"));
    file["overall_usage_prompt_cache_read_pct"] = Value::Null;
    assert_eq!(said(&changed_run(&file), begins), Some("what the server found is not reported"));
}
