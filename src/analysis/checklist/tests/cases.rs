//! What is said of the prefix cache, and cures that this server and this run can do.

use super::*;
use crate::record::{RunLog, ServerCounters};
use crate::workload::PromptSource;

#[test]
fn cold_is_what_the_server_counted_and_else_only_planned() {
    let log = |tokens: u32| {
        let prompt = |i| {
            let mut record = record(i).sent_at(i, i, i).paced(100 + i, 10, 5).usage(u64::from(tokens), 5).build();
            record.input_tokens_asked = tokens;
            record
        };
        run(1_000, (0..20).map(prompt).collect())
    };
    let cache = |log: &_| Evidence::of_run(log, &summarise(log, &[])).prefix_cache;
    let planned = "planned cold: prompts share nothing and are new in each run";
    assert_eq!(cache(&log(100)).as_deref(), Some(planned));
    assert_eq!(cache(&log(1)), None, "512 words are those of every run");
    let mut ids = log(1);
    ids.header.workload.classes[0].prompt = PromptSource::RandomTokens { vocabulary: Some(32_000) };
    assert_eq!(cache(&ids), None);
    let mut counted = log(100);
    let mut with = |hits| {
        let counters = ServerCounters { cache_queries: Some(2_000), cache_hits: Some(hits), ..Default::default() };
        counted.footer.as_mut().unwrap().server = Some(counters);
        cache(&counted)
    };
    assert_eq!(with(0).as_deref(), Some("cold: hit rate 0 % by the server's counters"));
    assert_eq!(with(1_920).as_deref(), Some("hit rate 96 % by the server's counters"));
}

#[test]
fn what_helps_is_what_this_server_and_this_run_can_do() {
    let cure = |rule, change: &dyn Fn(&mut RunLog)| {
        let mut log = run(1_000, (0..20).map(|i| record(i).sent_at(i, i, i).paced(100 + i, 10, 1).build()).collect());
        log.header.command.push("--salt".to_owned());
        change(&mut log);
        let checklist = Checklist::from_evidence(&Evidence::of_run(&log, &summarise(&log, &[]))).unwrap();
        item(&checklist, rule).unwrap().cure.clone().unwrap()
    };
    for (engine, empties) in [("vllm", true), ("sglang", true), ("mock", true), ("tgi", false), ("openai", false)] {
        let cure = cure(Rule::PrefixCache, &|log| log.header.engines[0].engine = engine.to_owned());
        assert_eq!(cure.contains("--reset-cache"), empties, "{engine}: {cure}");
    }
    for streamed in [true, false] {
        let cure = cure(Rule::BothPhases, &|log| log.header.engines[0].streamed = streamed);
        assert_eq!(cure.contains("leave --no-stream out"), !streamed, "{cure}");
    }
}
