//! Workloads that replay a trace: what they take from it, and what they refuse.

use crate::workload::class::dataset_change::DatasetChange;
use crate::workload::lengths::Distribution;
use crate::workload::overrides::Overrides;
use crate::workload::reading::mistakes::SpecError;
use crate::workload::spec::WorkloadSpec;
use crate::workload::trace::findings::{TraceFindings, TraceFormat, TraceKind};
use crate::workload::trace::source::{BadLines, Trace};

/// A minute of 600 requests, 10 a second, three quarters of them `text`.
fn found() -> TraceFindings {
    TraceFindings {
        format: TraceFormat::Bailian,
        requests: 600,
        ends_s: 60.0,
        warmup_s: None,
        bin_s: 0.5,
        arrivals: vec![5; 120],
        peak_per_s: 10,
        same_moment: 0,
        input_tokens: 100.5,
        output_tokens: 20.0,
        reusable_share: None,
        too_many_blocks: false,
        kinds: [("search", 150), ("text", 450)]
            .map(|(name, requests)| TraceKind { name: name.to_owned(), requests, called: None, rarer_kinds: 0 })
            .to_vec(),
        skipped_lines: 0,
        nearest_drawn: 0,
        reordered: 0,
    }
}

fn read(text: &str) -> Result<WorkloadSpec, SpecError> {
    WorkloadSpec::from_toml_with(text, "a test", &|_, _| Ok(found()))
}

const SHORT: &str = "name = \"replay\"\n[trace]\npath = \"a.jsonl\"\n";

#[test]
fn a_trace_gives_times_lengths_and_classes() {
    let spec = read(SHORT).unwrap();
    // A tenth of the slice is warm-up, as of every run.
    assert_eq!((spec.horizon_s, spec.warmup_s, spec.drain_s, spec.requests), (60.0, 6.0, 60.0, None));
    assert_eq!((spec.arrival.mean_rate_per_s(), spec.arrival.peak_rate_per_s()), (10.0, 10.0));
    assert_eq!(spec.arrival.expected_arrivals(30.0), 300.0);
    let classes: Vec<_> = spec.classes.iter().map(|class| (class.name.as_str(), class.weight)).collect();
    assert_eq!(classes, [("search", 150.0), ("text", 450.0)]);
    assert_eq!(spec.classes[0].input_tokens, Distribution::Trace { mean: 100.5 });
    assert_eq!(spec.classes[0].input_tokens.mean(), 100.5);
    // What is stored reads back without the trace.
    let stored = serde_json::to_string(&spec).unwrap();
    assert_eq!(serde_json::from_str::<WorkloadSpec>(&stored).unwrap(), spec);
}

#[test]
fn every_field_of_a_trace_is_read() {
    let spec = read(
        r#"
name = "replay"
requests = 100
[trace]
path = "a.csv"
format = "azure"
from_s = 3600
for_s = 600
time_scale = 0.5
rate_scale = 2.5
bad_lines = "skip"
[[classes]]
name = "text"
slo = { ttft_ms = 300 }
"#,
    )
    .unwrap();
    let trace = spec.arrival.trace().unwrap();
    assert_eq!((trace.path.as_str(), trace.format), ("a.csv", Some(TraceFormat::Azure)));
    assert_eq!((trace.from_s, trace.for_s), (3600.0, Some(600.0)));
    assert_eq!((trace.time_scale, trace.rate_scale, trace.bad_lines), (0.5, 2.5, BadLines::Skip));
    assert_eq!(spec.requests, Some(100));
    assert_eq!(spec.classes.len(), 1);
    // The same under its stored name.
    let arrival = SHORT.replace("[trace]", "[arrival]\nkind = \"trace\"");
    assert_eq!(read(&arrival).unwrap(), read(SHORT).unwrap());
}

#[test]
fn mistakes_about_a_trace_are_reported_with_their_fields() {
    let class = "[[classes]]\nname = \"a\"\n";
    let constant = "input_tokens = { kind = \"constant\", value = 5 }\n";
    for (text, message) in [
        (format!("{SHORT}time_scale = 0\n"), "`trace.time_scale` is 0; it must be a number from 0.0001 to 100"),
        (format!("{SHORT}rate_scale = 101\n"), "`trace.rate_scale` is 101; it must be"),
        (format!("{SHORT}from_s = -1\n"), "`trace.from_s` is -1; it must be"),
        (format!("{SHORT}for_s = 0\n"), "`trace.for_s` is 0; it must be"),
        (format!("{SHORT}format = \"azur\"\n"), "`trace.format` is \"azur\"; did you mean \"azure\"?"),
        (format!("{SHORT}speed = 2\n"), "`trace.speed` is not a field of a trace"),
        (format!("{SHORT}{class}{constant}"), "`classes[0].input_tokens` is given with a trace"),
        (
            format!("{SHORT}{class}shared_prefix = {{ count = 2, tokens = 10 }}\n"),
            "`classes[0].shared_prefix` is given with a trace",
        ),
        (
            format!("horizon_s = 60.5\n{SHORT}"),
            "`horizon_s` is 60.5 s, and the slice of the trace ends after 60 s of the run",
        ),
        (format!("requests = 601\n{SHORT}"), "`requests` is 601, and the slice of the trace has 600"),
        (format!("warmup_s = 60\n{SHORT}"), "`warmup_s` is 60 s, and the run ends at 60 s"),
        (format!("arrival = {{ kind = \"poisson\", rate_per_s = 1 }}\n{SHORT}"), "`arrival` is given with `trace`"),
        ("name = \"a\"\n[trace]\n".to_owned(), "`trace.path` is missing"),
    ] {
        let error = read(&text).unwrap_err().to_string();
        assert!(error.contains(message), "{text}\n{error}");
    }
    let unreadable = |_: &mut Trace, _: u64| Err("a.jsonl, line 7, column 3: no".to_owned());
    let error = WorkloadSpec::from_toml_with(SHORT, "a test", &unreadable).unwrap_err().to_string();
    assert!(error.starts_with("1 mistake in"), "{error}");
    assert!(error.contains("line 2: `trace` cannot be replayed: a.jsonl, line 7, column 3: no"), "{error}");
    assert!(WorkloadSpec::from_toml(SHORT, "a test").unwrap_err().to_string().contains("was not read"));
}

#[test]
fn a_trace_takes_the_place_of_another_workloads_times_and_lengths() {
    let chat = WorkloadSpec::load("short_chat").unwrap();
    let trace = Trace { found: Some(TraceFindings { requests: 1, ..found() }), ..Trace::whole("a b.jsonl") };
    let spec = chat.replaying(&trace, 9, &|_, seed| Ok(TraceFindings { requests: seed, ..found() })).unwrap();
    assert_eq!((spec.name.as_str(), spec.seed, spec.horizon_s, spec.warmup_s), ("short_chat", 9, 60.0, 6.0));
    assert_eq!(spec.arrival.found().unwrap().requests, 9, "read anew");
    let priorities = |spec: &WorkloadSpec| spec.classes[0].priorities.clone();
    assert_eq!(priorities(&spec), priorities(&chat));
    let alone = WorkloadSpec::of_trace(&trace, 3, &|_, _| Ok(found())).unwrap();
    assert_eq!((alone.name.as_str(), alone.seed, alone.classes.len()), ("a_b", 3, 2));
    let faster = Overrides { rate_per_s: Some(3.0), ..Overrides::default() };
    let error = alone.clone().with(&faster).unwrap_err().to_string();
    assert!(error.contains("--rate-scale"), "{error}");
    let shorter = Overrides { horizon_s: Some(20.0), ..Overrides::default() };
    assert_eq!(alone.with(&shorter).unwrap().warmup_s, 5.0, "a quarter of what is left");
}

#[test]
fn prompts_go_along_with_a_trace_where_its_lengths_fit_them() {
    let class = |prompt: &str| format!("{SHORT}[[classes]]\nname = \"a\"\nprompt = {prompt}\n");
    let ids = class(r#"{ kind = "random_tokens", vocabulary = 100 }"#);
    let images =
        format!("{}images = {{ folder = \"pictures\" }}\n", class(r#"{ kind = "templates", templates = ["a"] }"#));
    for spec in [&ids, &images].map(|text| read(text).unwrap()) {
        assert_eq!(spec.classes[0].input_tokens, Distribution::Trace { mean: 100.5 });
        let stored = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<WorkloadSpec>(&stored).unwrap(), spec);
    }
    let alike = |_: &mut Trace, _| Ok(TraceFindings { reusable_share: Some(0.5), ..found() });
    let error = WorkloadSpec::from_toml_with(&ids, "a test", &alike).unwrap_err().to_string();
    assert!(
        error.contains("`classes[0].prompt` is token ids with a trace that says which prompts begin alike"),
        "{error}"
    );
    let error = read(&class(r#"{ kind = "dataset", path = "a.jsonl" }"#)).unwrap_err().to_string();
    assert!(error.contains("`classes[0].prompt` is a dataset with a trace, and both say"), "{error}");
    assert!(!error.contains("missing"), "{error}");
}

#[test]
fn changes_of_datasets_and_answers_do_not_go_along_with_a_trace() {
    let refusal = |overrides: Overrides| read(SHORT).unwrap().with(&overrides).unwrap_err().to_string();
    let dataset = DatasetChange { path: Some("a.jsonl".to_owned()), ..DatasetChange::default() };
    let error = refusal(Overrides { dataset, ..Overrides::default() });
    assert!(error.contains("`--dataset` cannot be given for a trace, which `replay` replays"), "{error}");
    let error = refusal(Overrides { output_tokens: Some(Distribution::Constant { value: 5 }), ..Overrides::default() });
    assert!(error.contains("`--output-tokens` cannot be given for a trace"), "{error}");
    // The flag refers to the lines of the trace.
    let dataset = DatasetChange { skip_bad: true, ..DatasetChange::default() };
    let spec = read(SHORT).unwrap();
    assert_eq!(spec.clone().with(&Overrides { dataset, ..Overrides::default() }).unwrap(), spec);
}

#[test]
fn a_mistaken_trace_is_one_mistake() {
    for text in [
        "name = \"a\"\n[trace]\npath = \"a.jsonl\"\ntime_scale = 1e-12\n",
        // Its kinds cannot be checked either.
        "name = \"a\"\n[trace]\npath = \"a.jsonl\"\nrate_scale = 0\n[[tenants]]\nname = \"t\"\nclasses = [\"text\"]\n",
        "name = \"a\"\nseed = -1\n[trace]\npath = \"a.jsonl\"\n[[classes]]\nname = \"b\"\n",
    ] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.starts_with("1 mistake in"), "{error}");
    }
    let unreadable = |_: &mut Trace, _: u64| Err("no".to_owned());
    let tenant = format!("{SHORT}[[tenants]]\nname = \"t\"\nclasses = [\"text\"]\n");
    let error = WorkloadSpec::from_toml_with(&tenant, "a test", &unreadable).unwrap_err().to_string();
    assert!(error.starts_with("1 mistake in"), "{error}");
}

#[test]
fn a_trace_may_be_changed_before_it_is_read() {
    let file = format!("horizon_s = 5\nwarmup_s = 0\n{SHORT}");
    let halved = |trace: &mut Trace, _| {
        trace.rate_scale = 0.5;
        Ok(found())
    };
    let spec = WorkloadSpec::from_toml_with(&file, "a test", &halved).unwrap();
    assert_eq!((spec.horizon_s, spec.warmup_s), (5.0, 0.0), "what the file says of the window stays");
    assert_eq!(spec.arrival.trace().unwrap().rate_scale, 0.5);
}

#[test]
fn a_class_that_the_trace_may_name_has_a_sender_whatever_it_weighs() {
    let text = |classes: &str| {
        format!(
            "{SHORT}[[tenants]]\nname = \"one\"\nclasses = {classes}\n[[classes]]\nname = \"text\"\n\
             [[classes]]\nname = \"search\"\nweight = 0\n"
        )
    };
    let refused = read(&text("[\"text\"]")).unwrap_err().to_string();
    let said = "`tenants` has none with a weight above 0 that sends the class \"search\"";
    assert!(refused.contains(said), "{refused}");
    assert!(read(&text("[\"text\", \"search\"]")).is_ok());
}
