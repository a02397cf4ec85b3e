//! The library, defaults and loading by name or path.

use crate::workload::arrival::pattern::ArrivalPattern;
use crate::workload::class::request_class::PriorityShare;
use crate::workload::class::slo::{Priority, Slo};
use crate::workload::lengths::Distribution;
use crate::workload::library;
use crate::workload::prompt::source::PromptSource;
use crate::workload::reading::mistakes::SpecError;
use crate::workload::spec::{Purpose, WorkloadSpec};
use crate::workload::tests::least;

#[test]
fn every_workload_of_the_library_loads_under_its_own_name() {
    let all = library::all().unwrap();
    assert_eq!(all.iter().map(|spec| spec.name.as_str()).collect::<Vec<_>>(), library::names().collect::<Vec<_>>());
    for (name, spec) in library::names().zip(all) {
        assert_eq!(WorkloadSpec::load(name).unwrap(), spec);
        assert!(!spec.description.is_empty(), "{name}");
        for class in &spec.classes {
            let texts = match &class.prompt {
                PromptSource::Templates { templates } => templates,
                PromptSource::Retrieval { questions } => questions,
                other => panic!("{name} needs files: {other:?}"),
            };
            let mut unique = texts.clone();
            unique.sort();
            unique.dedup();
            assert!(unique.len() == texts.len() && texts.len() >= 8, "{name}: varied prompts");
        }
    }
    assert_eq!(library::source("nothing"), None);
}

#[test]
fn short_chat_is_as_promised() {
    let spec = WorkloadSpec::load("short_chat").unwrap();
    assert_eq!(spec.arrival, ArrivalPattern::Poisson { rate_per_s: 10.0 });
    let [chat] = spec.classes.as_slice() else { panic!("one class") };
    assert_eq!(chat.input_tokens, Distribution::Normal { mean: 256.0, std: 128.0, min: 16, max: 1024 });
    assert_eq!(chat.output_tokens, Distribution::Normal { mean: 128.0, std: 64.0, min: 8, max: 512 });
    let share = |priority, weight, ttft_ms| PriorityShare {
        priority,
        weight,
        slo: Slo { ttft_ms: Some(ttft_ms), ..Slo::default() },
    };
    assert_eq!(chat.priorities, [share(Priority::High, 0.7, 200.0), share(Priority::Medium, 0.3, 500.0)]);
    let PromptSource::Templates { templates } = &chat.prompt else { panic!("templates") };
    assert!(templates.len() >= 20);
    assert_eq!(spec.arrival.expected_arrivals(spec.horizon_s), 600.0);
}

/// Checks that each workload's longest prompt and answer fit a common context. The chat template is added to them.
#[test]
fn every_workload_fits_the_context_that_it_names() {
    for (name, context) in [
        ("chat", 8_192),
        ("code_generation", 16_384),
        ("long_context_qa", 131_072),
        ("summarization", 32_768),
        ("batch_offline", 8_192),
        ("prefill_heavy", 8_192),
        ("decode_heavy", 2_048),
        ("smoke", 2_048),
    ] {
        let longest = |distribution: &Distribution| match *distribution {
            Distribution::LogNormal { max, .. } | Distribution::Uniform { max, .. } => max,
            _ => panic!("{name}: log-normal or uniform lengths"),
        };
        let [class] = &WorkloadSpec::load(name).unwrap().classes[..] else { panic!("{name}: one class") };
        let both = longest(&class.input_tokens) + longest(&class.output_tokens);
        assert!(both + 128 <= context, "{name}: {both} of {context} tokens");
        assert!(class.priorities.iter().all(|share| !share.slo.is_empty()), "{name}: has an SLO");
    }
}

/// A bound that the server's context has room for ends the agents' conversations.
#[test]
fn agents_fit_the_context_and_promise_something() {
    let [class] = &WorkloadSpec::load("agents").unwrap().classes[..] else { panic!("one class") };
    let conversation = class.conversation.as_ref().unwrap();
    assert_eq!(conversation.turns, Distribution::Uniform { min: 6, max: 15 });
    assert!(conversation.max_context_tokens.is_some_and(|most| most + 384 <= 16_384));
    assert!(class.shared_prefix.is_some() && class.priorities.iter().all(|share| !share.slo.is_empty()));
}

#[test]
fn the_smoke_test_lasts_five_seconds() {
    let spec = WorkloadSpec::load("smoke").unwrap();
    assert_eq!((spec.horizon_s, spec.arrival.expected_arrivals(5.0)), (5.0, 50.0));
    assert_eq!(spec.purpose, Purpose::Smoke);
    let stored = |spec: &WorkloadSpec| serde_json::to_value(spec).unwrap()["purpose"].clone();
    assert_eq!(stored(&spec), "smoke");
    assert!(stored(&WorkloadSpec::load("short_chat").unwrap()).is_null(), "left out where it is the default");
}

#[test]
fn the_mix_bursts_in_whole_periods() {
    let spec = WorkloadSpec::load("bursty_mix").unwrap();
    assert_eq!(spec.arrival.mean_rate_per_s(), 8.0);
    assert_eq!(spec.arrival.expected_arrivals(spec.warmup_s), 120.0);
    assert_eq!(spec.arrival.expected_arrivals(spec.horizon_s), 480.0);
}

#[test]
fn what_a_file_leaves_out_has_a_default() {
    let spec = least();
    assert_eq!((spec.description.as_str(), spec.seed, spec.requests), ("", 0, None));
    assert_eq!((spec.horizon_s, spec.warmup_s, spec.drain_s), (60.0, 6.0, 60.0));
    let class = &spec.classes[0];
    assert_eq!(class.weight, 1.0);
    assert_eq!(class.priorities, [PriorityShare { priority: Priority::Medium, weight: 1.0, slo: Slo::default() }]);
    assert!(matches!(&class.prompt, PromptSource::Templates { templates } if templates.len() >= 5));

    let bounds = crate::workload::tests::LEAST
        .replace(r#"{ kind = "constant", value = 10 }"#, r#"{ kind = "exponential", mean = 100 }"#)
        .replace(r#"{ kind = "constant", value = 5 }"#, r#"{ kind = "empirical", values = [3, 4] }"#);
    let class = WorkloadSpec::from_toml(&bounds, "bounds").unwrap().classes.remove(0);
    assert_eq!(class.input_tokens, Distribution::Exponential { mean: 100.0, min: 1, max: 1_000_000 });
    assert_eq!(class.output_tokens, Distribution::Empirical { values: vec![3, 4], weights: vec![1.0, 1.0] });
}

#[test]
fn a_share_without_an_slo_has_that_of_its_class() {
    let text = format!(
        "{}slo = {{ ttft_ms = 300, tpot_ms = 40 }}\n\
         priorities = [{{ priority = \"high\" }}, {{ priority = \"low\", slo = {{}} }}]",
        crate::workload::tests::LEAST
    );
    let spec = WorkloadSpec::from_toml(&text, "shares").unwrap();
    let [high, low] = spec.classes[0].priorities.as_slice() else { panic!("two shares") };
    assert_eq!(high.slo, Slo { ttft_ms: Some(300.0), tpot_ms: Some(40.0), e2e_ms: None });
    assert!(low.slo.is_empty(), "an empty SLO stays empty");
}

#[test]
fn numbers_are_read_in_every_notation() {
    let text = crate::workload::tests::LEAST
        .replace("rate_per_s = 2", "rate_per_s = +2.5e1")
        .replace("value = 10", "value = 0x1_0")
        .replace("value = 5", "value = 1e3")
        .replace("name = \"least\"", "name = \"least\"\nseed = 18446744073709551615");
    let spec = WorkloadSpec::from_toml(&text, "notations").unwrap();
    assert_eq!(spec.seed, u64::MAX);
    assert_eq!(spec.arrival, ArrivalPattern::Poisson { rate_per_s: 25.0 });
    assert_eq!(spec.classes[0].input_tokens, Distribution::Constant { value: 16 });
    assert_eq!(spec.classes[0].output_tokens, Distribution::Constant { value: 1000 });
}

#[test]
fn files_are_found_by_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("a.toml"), format!("\u{feff}{}", crate::workload::tests::LEAST)).unwrap();
    assert_eq!(WorkloadSpec::load(&path("a.toml")).unwrap(), least());
    std::fs::write(path("b.JSON"), serde_json::to_string_pretty(&least()).unwrap()).unwrap();
    assert_eq!(WorkloadSpec::load(&path("b.JSON")).unwrap(), least());

    std::fs::write(path("c.yaml"), "").unwrap();
    let error = WorkloadSpec::load(&path("c.yaml")).unwrap_err().to_string();
    assert!(error.ends_with("c.yaml; its name must end in .toml or .json"), "{error}");

    let error = WorkloadSpec::load(&path("none.toml")).unwrap_err();
    assert!(matches!(&error, SpecError::Unreadable { .. }), "{error}");
    assert!(error.to_string().contains("none.toml: No such file"), "{error}");

    let error = WorkloadSpec::load("short_caht").unwrap_err();
    insta::assert_snapshot!(error, @r"
    no workload is called `short_caht`; did you mean `short_chat`?
      the library has: short_chat, long_rag, bursty_mix, chat, code_generation, long_context_qa, summarization, agents, coding_agent, batch_offline, prefill_heavy, decode_heavy, smoke, agentx
      or give the path of a .toml or .json file
    ");
    let error = WorkloadSpec::load("zzz").unwrap_err();
    insta::assert_snapshot!(error, @r"
    no workload is called `zzz`
      the library has: short_chat, long_rag, bursty_mix, chat, code_generation, long_context_qa, summarization, agents, coding_agent, batch_offline, prefill_heavy, decode_heavy, smoke, agentx
      or give the path of a .toml or .json file
    ");
}
