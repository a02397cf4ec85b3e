//! Holds schedules to their laws.

mod lengths;
mod streaming;

use sha2::{Digest, Sha256};

use super::*;
use crate::generator::draws::prefixes::prefixes_of;
use crate::generator::request::Prompt;
use crate::units::hexadecimal;
use crate::workload::{
    ArrivalPattern, Distribution, ModelMix, Priority, PriorityShare, PromptSource, Purpose, RateStage, RequestClass,
    SharedPrefixes, Slo, Tenant,
};

fn slo(ttft_ms: f64) -> Slo {
    Slo { ttft_ms: Some(ttft_ms), ..Slo::default() }
}

fn chat() -> RequestClass {
    RequestClass {
        name: "chat".into(),
        weight: 3.0,
        input_tokens: Distribution::Normal { mean: 256.0, std: 128.0, min: 16, max: 1024 },
        output_tokens: Distribution::Normal { mean: 128.0, std: 64.0, min: 4, max: 512 },
        inputs: None,
        shared_prefix: None,
        conversation: None,
        session: None,
        prompt: PromptSource::Templates { templates: vec!["Tell me about the sea.".into()] },
        images: None,
        audio: None,
        length: crate::workload::AnswerEnding::default(),
        answer: None,
        cancel: None,
        priorities: vec![
            PriorityShare { priority: Priority::High, weight: 0.7, slo: slo(200.0) },
            PriorityShare { priority: Priority::Medium, weight: 0.3, slo: slo(500.0) },
        ],
        metadata: std::collections::BTreeMap::new(),
    }
}

fn rag() -> RequestClass {
    RequestClass {
        name: "rag".into(),
        weight: 1.0,
        input_tokens: Distribution::LogNormal { median: 2000.0, sigma: 0.5, min: 500, max: 8000 },
        prompt: PromptSource::Retrieval { questions: vec!["What do the passages say?".into()] },
        priorities: vec![PriorityShare { priority: Priority::Low, weight: 1.0, slo: slo(2000.0) }],
        ..chat()
    }
}

fn workload() -> WorkloadSpec {
    WorkloadSpec {
        name: "test".into(),
        description: String::new(),
        seed: 42,
        horizon_s: 60.0,
        requests: None,
        warmup_s: 5.0,
        cooldown_s: None,
        drain_s: 30.0,
        arrival: ArrivalPattern::Poisson { rate_per_s: 10.0 },
        classes: vec![chat(), rag()],
        tenants: Vec::new(),
        models: None,
        clients: None,
        checks: Vec::new(),
        check_every_s: None,
        cache: None,
        system_idle_cap_s: None,
        scenario: None,
        purpose: Purpose::default(),
        mock_hardware: None,
    }
}

fn plan(workload: &WorkloadSpec) -> Vec<PlannedRequest> {
    Schedule::draw(workload).plan().collect()
}

fn moments(workload: &WorkloadSpec) -> Vec<Timestamp> {
    plan(workload).iter().map(|request| request.scheduled).collect()
}

fn lengths_of(workload: &WorkloadSpec, class: u16) -> Vec<(u32, u32, Priority)> {
    let of_class = plan(workload).into_iter().filter(|request| request.class == class);
    of_class.map(|request| (request.input_tokens, request.output_tokens, request.priority)).collect()
}

#[test]
fn plans_are_pinned_forever() {
    // A change of any of these figures changes every plan ever drawn: runs could no longer be compared.
    let facts = Schedule::draw(&workload()).facts();
    let first: Vec<_> = plan(&workload())
        .iter()
        .take(4)
        .map(|r| (r.scheduled.as_nanos(), r.class, r.input_tokens, r.output_tokens, r.priority))
        .collect();
    // Drawn independently in Python: ChaCha8 and hashlib for the streams, numpy.log1p for the gaps,
    // scipy.special.ndtr and ndtri for the lengths, struct.pack("<QHIIB", …) for the hashed bytes.
    assert_eq!(
        first,
        [
            (193_820_553, 0, 264, 77, Priority::High),
            (299_580_826, 0, 362, 193, Priority::Medium),
            (323_851_230, 0, 316, 31, Priority::High),
            (363_637_225, 1, 4_084, 164, Priority::Low),
        ]
    );
    assert_eq!(facts.hash, "0f12a420a1a86a902f4accb6063120d5ad22578dd8fdf556bed89519b718e195");
    assert_eq!((facts.warmup_requests, facts.measured_requests), (56, 547));
}

#[test]
fn the_seed_decides() {
    let other = WorkloadSpec { seed: 43, ..workload() };
    assert_eq!(plan(&workload()), plan(&workload()));
    assert_ne!(moments(&workload()), moments(&other));
    assert_ne!(Schedule::draw(&workload()).facts().hash, Schedule::draw(&other).facts().hash);
}

#[test]
fn the_hash_covers_every_field_and_not_the_cooldown() {
    let hash = |change: &dyn Fn(&mut WorkloadSpec)| {
        let mut workload = workload();
        change(&mut workload);
        Schedule::draw(&workload).facts().hash
    };
    let unchanged = hash(&|_| {});
    assert_eq!(hash(&|w| w.drain_s = 5.0), unchanged);
    assert_ne!(hash(&|w| w.horizon_s = 61.0), unchanged);
    assert_ne!(hash(&|w| w.classes[0].weight = 4.0), unchanged);
    assert_ne!(hash(&|w| w.classes[1].output_tokens = Distribution::Constant { value: 9 }), unchanged);
    assert_ne!(hash(&|w| w.classes[1].priorities[0].priority = Priority::High), unchanged);
}

#[test]
fn changing_lengths_never_moves_arrivals_nor_another_class() {
    let before = workload();
    let mut after = workload();
    after.classes[0].input_tokens = Distribution::Exponential { mean: 99.0, min: 1, max: 5000 };
    after.classes[0].output_tokens = Distribution::Constant { value: 3 };
    after.classes[0].priorities.truncate(1);
    assert_eq!(moments(&before), moments(&after));
    assert_eq!(lengths_of(&before, 1), lengths_of(&after, 1));
    assert_ne!(lengths_of(&before, 0), lengths_of(&after, 0));
    // Nor does one length move the other: only the input lengths differ here.
    let mut input_only = workload();
    input_only.classes[0].input_tokens = Distribution::Constant { value: 1 };
    let outputs = |w| lengths_of(w, 0).into_iter().map(|(_, output, priority)| (output, priority));
    assert!(outputs(&before).eq(outputs(&input_only)));
}

#[test]
fn a_further_template_changes_no_length_and_no_moment() {
    let mut more = workload();
    more.classes[0].prompt =
        PromptSource::Templates { templates: vec!["Tell me about the sea.".into(), "Why?".into()] };
    assert_eq!(plan(&workload()), plan(&more));
}

#[test]
fn another_share_of_classes_keeps_each_classs_sequence() {
    let mut shifted = workload();
    shifted.classes[1].weight = 2.0;
    let (few, many) = (lengths_of(&workload(), 1), lengths_of(&shifted, 1));
    assert!(many.len() > few.len() && many.starts_with(&few));
}

#[test]
fn shards_partition_the_plan() {
    let whole = Schedule::draw(&workload());
    let mut joined: Vec<PlannedRequest> =
        (0..3).flat_map(|shard| whole.shard(shard, 3).unwrap().plan().collect::<Vec<_>>()).collect();
    joined.sort_by_key(|request| request.index);
    assert_eq!(joined, plan(&workload()));
    let second = whole.shard(1, 3).unwrap();
    assert!(second.plan().all(|request| request.index % 3 == 1));
    // A shard counts its own requests; whose shard it is shows in the hash.
    let (facts, of_whole) = (second.facts(), whole.facts());
    let counted = |phase| second.plan().filter(|request| request.phase == phase).count() as u64;
    assert_eq!(facts.warmup_requests, counted(Phase::Warmup));
    assert_eq!(facts.measured_requests, counted(Phase::Measured));
    let PlanFacts { warmup_requests, measured_requests, .. } = facts;
    assert_eq!(facts, PlanFacts { warmup_requests, measured_requests, ..of_whole });
    let halves = [0, 1].map(|half| second.shard(half, 2).unwrap());
    assert_eq!(halves.iter().map(|half| half.plan().count()).sum::<usize>(), second.plan().count());
    assert!(halves[1].plan().all(|request| request.index % 6 == 4));
    assert!(whole.shard(3, 3).unwrap_err().to_string().contains("no shard 3 of 3"));
    assert!(whole.shard(0, 0).is_err());
}

#[test]
fn phases_follow_the_scheduled_moment() {
    let plan = plan(&workload());
    for request in &plan {
        let expected = match request.scheduled.as_secs_f64() {
            t if t < 5.0 => Phase::Warmup,
            t if t < 60.0 => Phase::Measured,
            _ => Phase::Cooldown,
        };
        assert_eq!(request.phase, expected);
        assert!(request.scheduled.as_secs_f64() < 90.0);
    }
    let facts = Schedule::draw(&workload()).facts();
    let planned = |phase| plan.iter().filter(|request| request.phase == phase).count() as u64;
    assert_eq!(facts.warmup_requests, planned(Phase::Warmup));
    assert_eq!(facts.measured_requests, planned(Phase::Measured));
    assert!(planned(Phase::Cooldown) > 200, "load keeps arriving for the 30 seconds of the drain");
    assert_eq!(facts.window_start, Timestamp::from_secs_f64(5.0));
    assert_eq!(facts.window_end, Timestamp::from_secs_f64(60.0));
}

#[test]
fn a_run_may_be_so_many_requests_long() {
    let workload = WorkloadSpec { requests: Some(200), ..workload() };
    let facts = Schedule::draw(&workload).facts();
    assert_eq!(facts.warmup_requests + facts.measured_requests, 200);
    assert_eq!(plan(&workload).len(), 200, "nothing follows unless it is asked for");
    // A cool-down that is asked for ends with the drain, and the window ends where it did.
    for (cooldown_s, longest) in [(9.0, 9.0), (50.0, 30.0)] {
        let cooled = WorkloadSpec { cooldown_s: Some(cooldown_s), ..workload.clone() };
        let plan = plan(&cooled);
        assert_eq!(plan[199].phase, Phase::Measured);
        assert_eq!(plan[200].phase, Phase::Cooldown);
        assert_eq!(facts.window_end, plan[200].scheduled);
        let last = plan[199].scheduled.as_secs_f64();
        let latest = plan.last().unwrap().scheduled.as_secs_f64() - last;
        assert!(latest < longest && latest > 0.8 * longest, "{latest}");
        assert_eq!(Schedule::draw(&cooled).facts(), facts);
    }
    // Nor need a window of so many seconds have one.
    let seconds = WorkloadSpec { requests: None, cooldown_s: Some(0.0), ..workload };
    assert!(plan(&seconds).iter().all(|request| request.phase != Phase::Cooldown));
}

#[test]
fn arrivals_that_run_out_end_the_plan_just_after_the_last() {
    let fade = vec![RateStage { duration_s: 20.0, from_rate_per_s: 10.0, to_rate_per_s: 0.0 }];
    let workload =
        WorkloadSpec { requests: Some(1_000), arrival: ArrivalPattern::Stages { stages: fade }, ..workload() };
    let facts = Schedule::draw(&workload).facts();
    let plan = plan(&workload);
    assert!(plan.len() < 1_000);
    assert_eq!(facts.window_end.as_nanos(), plan.last().unwrap().scheduled.as_nanos() + 1);
}

#[test]
fn an_empty_window_is_seen_before_load_is_sent() {
    let all_warmup = WorkloadSpec { requests: Some(3), warmup_s: 50.0, ..workload() };
    assert_eq!(Schedule::draw(&all_warmup).facts().measured_requests, 0);
    let rare = WorkloadSpec { arrival: ArrivalPattern::Poisson { rate_per_s: 1e-6 }, ..workload() };
    assert_eq!(Schedule::draw(&rare).facts().measured_requests, 0);
}

#[test]
fn classes_and_priorities_come_in_their_shares() {
    let long = WorkloadSpec { horizon_s: 2_000.0, ..workload() };
    let plan = plan(&long);
    let n = plan.len() as f64;
    let share =
        |wanted: &dyn Fn(&PlannedRequest) -> bool| plan.iter().filter(|request| wanted(request)).count() as f64 / n;
    // Four standard errors of a share over some 20,000 requests are below 0.0142.
    assert!((share(&|r| r.class == 0) - 0.75).abs() < 0.0142);
    assert!((share(&|r| r.priority == Priority::High) - 0.525).abs() < 0.0142);
    assert!(plan.iter().all(|r| (r.priority == Priority::High) == (r.slo == slo(200.0))));
}

/// The workload on shared prefixes, with tenants and models.
fn marked() -> WorkloadSpec {
    let mut marked = workload();
    marked.classes[0].shared_prefix =
        Some(SharedPrefixes { count: 50, tokens: Distribution::Uniform { min: 100, max: 200 }, zipf: 1.0, warm: 0.0 });
    let tenant = |name: &str, weight, slo, classes: &[&str]| Tenant {
        name: name.to_owned(),
        weight,
        slo,
        classes: classes.iter().map(|&class| class.to_owned()).collect(),
    };
    marked.tenants = vec![tenant("a", 3.0, None, &[]), tenant("b", 1.0, Some(slo(50.0)), &["chat"])];
    marked.models = Some(ModelMix { names: vec!["x".into(), "y".into()], weights: vec![1.0, 4.0] });
    marked
}

#[test]
fn marks_move_nothing_else_in_a_plan() {
    let (plain, marked) = (workload(), marked());
    assert_eq!(moments(&plain), moments(&marked));
    for (before, after) in plan(&plain).iter().zip(plan(&marked)) {
        let own = after.input_tokens - after.prefix.map_or(0, |prefix| prefix.tokens);
        assert_eq!((before.class, before.input_tokens, before.priority), (after.class, own, after.priority));
        assert_eq!(after.prefix.is_some(), after.class == 0);
    }
}

#[test]
fn a_plan_with_marks_has_a_hash_of_them_too() {
    let facts = Schedule::draw(&marked()).facts();
    // The bytes as the documentation of `facts` tells them, put together another way.
    let mut bytes = b"skyline plan 2\0".to_vec();
    for request in plan(&marked()).into_iter().filter(|request| request.phase != Phase::Cooldown) {
        let priority =
            [Priority::High, Priority::Medium, Priority::Low].iter().position(|priority| *priority == request.priority);
        bytes.extend(request.scheduled.as_nanos().to_le_bytes());
        bytes.extend(request.class.to_le_bytes());
        bytes.extend([request.input_tokens, request.output_tokens].map(u32::to_le_bytes).concat());
        bytes.push(priority.unwrap() as u8);
        let (number, tokens) = request.prefix.map_or((!0, !0), |prefix| (prefix.number, prefix.tokens));
        bytes.extend([number, tokens].map(u32::to_le_bytes).concat());
        bytes.extend([request.tenant.unwrap(), request.model.unwrap()].map(u16::to_le_bytes).concat());
    }
    assert_eq!(facts.hash, hexadecimal(&Sha256::digest(&bytes)));
    // For ever, as every plan.
    assert_eq!(facts.hash, "2ca06f1cbe2276a41e113519c46d92fdbff3c2299ef87c8161b1935313b3f8d6");
}

#[test]
fn prefixes_tenants_and_models_come_in_their_shares() {
    let long = WorkloadSpec { horizon_s: 2_000.0, ..marked() };
    let chats: Vec<_> = plan(&long).into_iter().filter(|request| request.class == 0).collect();
    let n = chats.len() as f64;
    let share =
        |wanted: &dyn Fn(&PlannedRequest) -> bool| chats.iter().filter(|request| wanted(request)).count() as f64 / n;
    // Four standard errors of a share over some 15,000 requests are below 0.0164.
    let harmonic: f64 = (1..=50).map(|rank| 1.0 / f64::from(rank)).sum();
    for rank in [1_u32, 2, 10] {
        let got = share(&|r| r.prefix.unwrap().number == rank - 1);
        assert!((got - 1.0 / (f64::from(rank) * harmonic)).abs() < 0.0164, "{rank}: {got}");
    }
    assert!((share(&|r| r.tenant == Some(1)) - 0.25).abs() < 0.0164);
    assert!((share(&|r| r.model == Some(1)) - 0.8).abs() < 0.0164);
    assert!(chats.iter().all(|r| (r.slo == slo(50.0)) == (r.tenant == Some(1))), "the tenant's own SLO");
    assert!(plan(&long).iter().all(|r| r.class == 0 || r.tenant == Some(0)), "b sends no rag");
    // A prefix is as long for every request that has it.
    let known = prefixes_of(&long, &long.classes[0]);
    assert!(chats.iter().all(|r| known.contains(&r.prefix.unwrap())));
    assert_eq!(known.len(), 50);
}

#[test]
fn classes_with_processes_of_their_own_are_superposed() {
    let own = |classes: [ArrivalPattern; 2]| WorkloadSpec {
        arrival: ArrivalPattern::ByClass { classes: classes.to_vec() },
        ..workload()
    };
    let poisson = ArrivalPattern::Poisson { rate_per_s: 5.0 };
    let constant = ArrivalPattern::Constant { rate_per_s: 2.0 };
    let both = own([poisson.clone(), constant.clone()]);
    let drawn = plan(&both);
    assert!(drawn.is_sorted_by_key(|request| request.scheduled));
    let of_class = |requests: &[PlannedRequest], class| -> Vec<_> {
        let own = requests.iter().filter(|request| request.class == class);
        own.map(|request| (request.scheduled, request.input_tokens, request.output_tokens)).collect()
    };
    let metronome: Vec<_> = of_class(&drawn, 1).into_iter().map(|request| request.0.as_nanos()).collect();
    assert!((1..).zip(&metronome).all(|(beat, nanos)| beat * 500_000_000 == *nanos), "{metronome:?}");
    // Another process of one class moves nothing of the other; nor does another seed's worth of its own requests.
    let faster = plan(&own([poisson.clone(), ArrivalPattern::Weibull { rate_per_s: 9.0, shape: 0.5 }]));
    assert_eq!(of_class(&drawn, 0), of_class(&faster, 0));
    assert_ne!(of_class(&drawn, 1).len(), of_class(&faster, 1).len());
    // Two classes with the same process do not send at the same moments.
    let twins = plan(&own([poisson.clone(), poisson]));
    let moments = |class| of_class(&twins, class).into_iter().map(|request| request.0).collect::<Vec<_>>();
    assert!(moments(0).iter().all(|moment| !moments(1).contains(moment)));
}
