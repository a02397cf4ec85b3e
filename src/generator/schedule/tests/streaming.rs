//! Requests that are drawn one by one, as they are asked for.

use super::*;

#[test]
fn the_whole_and_the_stream_are_the_same_requests() {
    let workload = WorkloadSpec { horizon_s: 20.0, drain_s: 2.0, ..workload() };
    let prompts = Arc::new(PromptBuilder::with_word_list(&workload.classes, 7));
    let schedule = Schedule::draw(&workload);
    let whole = schedule.generate(&prompts);
    let streamed: Vec<_> = schedule.generate_stream(Arc::clone(&prompts)).collect();
    assert!(!whole.is_empty());
    assert_eq!(whole, streamed);
    let plan = whole.iter().map(|r| RequestSpec { prompt: Prompt::default(), ..r.clone() });
    assert!(schedule.plan().map(|planned| planned.into_spec(Prompt::default())).eq(plan));
    // A shard's prompts are those of the whole.
    let shard = schedule.shard(1, 2).unwrap().generate(&prompts);
    assert!(shard.iter().eq(whole.iter().filter(|request| request.planned.index % 2 == 1)));
}

#[test]
fn a_plan_is_never_held() {
    // Ten thousand million requests: more than memory has room for, or a test has time to draw.
    let rate_per_s = 1e5;
    let horizon_s = 1e10 / rate_per_s;
    let arrival = ArrivalPattern::Poisson { rate_per_s };
    let workload = WorkloadSpec { horizon_s, arrival, classes: vec![chat(), rag()], ..workload() };
    let schedule = Schedule::draw(&workload);
    assert_eq!(schedule.plan().nth(20_000).map(|request| request.index), Some(20_000));
    let shard = schedule.shard(3, 4).unwrap();
    assert_eq!(shard.plan().nth(5_000).map(|request| request.index), Some(20_003));
    let prompts = Arc::new(PromptBuilder::with_word_list(&workload.classes, 7));
    assert_eq!(schedule.generate_stream(prompts).take(20).count(), 20);
}
