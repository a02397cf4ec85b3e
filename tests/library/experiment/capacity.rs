//! Capacity of a queue whose sweep is known.

use skyline::experiment::capacity::{Basis, Candidate, CapacityPlan, CapacityTarget, ComparedBy, Offer};
use skyline::experiment::{HighestLoad, Load, LoadAxis, StopReason, Sustained, Sweep};
use skyline::workload::WorkloadSpec;

use super::highest_load::search;
use super::queues::Queue;

const CONTRACT: CapacityTarget =
    CapacityTarget { target_per_s: 100.0, headroom: 0.2, gpus_per_instance: Some(8), max_gpus: None };

/// A sweep of eight places whose answer is set to what is known.
fn sweep(low: f64) -> Sweep {
    let sweep = search(Queue::eight_places(), 500, 14, 3);
    let answer =
        HighestLoad { passed: Some(Load::Rate(12.0)), interval_low: Some(low), ..sweep.answer.clone().unwrap() };
    Sweep { answer: Some(answer), ..sweep }
}

/// What `sweep` offers where a GPU costs 2.5 an hour.
fn offer(name: &str, sweep: &Sweep, contract: &CapacityTarget) -> Offer {
    Offer::new(&priced(name, sweep), contract).unwrap()
}

fn priced<'a>(name: &'a str, sweep: &'a Sweep) -> Candidate<'a> {
    Candidate { name, sweep, gpu_hour: Some(2.5) }
}

/// 100/s with 20 % headroom are 125/s; at 12.5/s each, 10 instances, 80 GPUs, 200 an hour. Every answer has two tokens: 200 a
/// second, 0.72 million an hour.
#[test]
fn instances_and_money_are_those_of_the_formulas() {
    let offer = offer("eight", &sweep(12.5), &CONTRACT);
    assert_eq!(offer.per_instance, Some(Basis::IntervalLow { rate_per_s: 12.5 }));
    assert_eq!((offer.instances, offer.gpus, offer.cost_per_hour), (Some(10), Some(80), Some(200.0)));
    assert!((offer.utilisation.unwrap() - 0.8).abs() < 1e-9);
    let million = offer.cost_per_million_output_tokens.unwrap();
    assert!((million / (200.0 / 0.72) - 1.0).abs() < 0.03, "{million}");
    assert_eq!((offer.slo_share, offer.cost_per_million_within_slo), (None, None), "nothing is promised");
    assert!(offer.keeps());
}

#[test]
fn the_cheapest_that_keeps_the_contract_is_named_and_the_others_say_why_not() {
    let (slow, fast) = (sweep(5.0), sweep(12.5));
    let nothing = Sweep { answer: None, ..fast.clone() };
    let contract = CapacityTarget { max_gpus: Some(100), ..CONTRACT };
    let offers =
        [("slow", &slow), ("nothing", &nothing), ("fast", &fast)].map(|(name, sweep)| offer(name, sweep, &contract));
    let capacity = CapacityPlan::new(contract, offers.to_vec());
    assert_eq!(capacity.cheapest, Some(2));
    assert!(capacity.offers[0].why_not[0].contains("needs 200 GPUs, and the limit is 100"));
    assert!(capacity.offers[1].why_not[0].contains("no objective"));
    let bare = CapacityTarget { gpus_per_instance: None, ..CONTRACT };
    let unpriced = Offer::new(&priced("fast", &fast), &bare).unwrap_err().to_string();
    assert!(unpriced.contains("--gpus-per-instance N"), "{unpriced}");
}

#[test]
fn a_rate_that_was_not_seen_to_last_keeps_no_contract() {
    let sweep = sweep(12.5);
    let sustained = Sustained {
        load: Load::Rate(12.0),
        seconds: 600.0,
        run: "sustain".to_owned(),
        held: false,
        unknown: None,
        undecided: false,
        judged: Vec::new(),
        sentence: "12/s was not sustained for 10 min: the queue grew".to_owned(),
    };
    let sweep = Sweep { sustained: Some(sustained), ..sweep };
    let offer = offer("eight", &sweep, &CONTRACT);
    assert!(!offer.keeps() && offer.why_not[0].ends_with("the queue grew"), "{:?}", offer.why_not);
}

#[test]
fn users_are_no_rate() {
    let sweep = sweep(12.5);
    let plan = skyline::experiment::SweepPlan { axis: LoadAxis::Users { users: vec![1, 8] }, ..sweep.plan.clone() };
    let refused = Offer::new(&priced("loop", &Sweep { plan, ..sweep }), &CONTRACT).unwrap_err().to_string();
    assert!(refused.contains("closed-loop users") && refused.contains("hint: sweep rates"), "{refused}");
}

/// 25 instances of two GPUs, 10 of twenty, and 10 of who knows how many.
#[test]
fn offers_are_compared_by_what_is_known_of_all_of_them() {
    let (slow, fast) = (sweep(5.0), sweep(12.5));
    let free = |name, sweep, gpus_per_instance| {
        let contract = CapacityTarget { gpus_per_instance, ..CONTRACT };
        Offer::new(&Candidate { name, sweep, gpu_hour: None }, &contract).unwrap()
    };
    let small = || free("small", &slow, Some(2));
    let (large, unknown) = (|| free("large", &fast, Some(20)), || free("unknown", &fast, None));
    let by_gpus = CapacityPlan::new(CONTRACT, vec![large(), small()]);
    assert_eq!((by_gpus.compared_by, by_gpus.cheapest), (Some(ComparedBy::Gpus), Some(1)));
    assert!(by_gpus.sentence.contains("fewest GPUs"), "{}", by_gpus.sentence);
    let mixed = CapacityPlan::new(CONTRACT, vec![small(), unknown()]);
    assert_eq!((mixed.is_kept(), mixed.compared_by, mixed.cheapest), (true, None, None));
    assert!(mixed.sentence.contains("the cheapest is unknown"), "{}", mixed.sentence);
    let uncounted = CapacityPlan::new(CONTRACT, vec![unknown(), free("slow", &slow, None)]);
    assert_eq!((uncounted.compared_by, uncounted.cheapest), (Some(ComparedBy::Instances), Some(0)));

    // 25 instances of two GPUs at 1 an hour are 50; 10 of two at 3 are 60.
    let at = |name, sweep, gpu_hour| {
        let contract = CapacityTarget { gpus_per_instance: Some(2), ..CONTRACT };
        Offer::new(&Candidate { name, sweep, gpu_hour: Some(gpu_hour) }, &contract).unwrap()
    };
    let priced = CapacityPlan::new(CONTRACT, vec![at("dear", &fast, 3.0), at("cheap", &slow, 1.0)]);
    assert_eq!((priced.compared_by, priced.cheapest), (Some(ComparedBy::Price), Some(1)));
    assert_eq!((priced.offers[0].cost_per_hour, priced.offers[1].cost_per_hour), (Some(60.0), Some(50.0)));
}

/// Sessions of five turns: 2.5/s of them are 12.5 requests/s, which is what 12.5 single requests are.
#[test]
fn a_target_is_of_requests_where_the_rates_are_of_sessions() {
    let requests = offer("requests", &sweep(12.5), &CONTRACT);
    let of_sessions = sweep(2.5);
    let workload = WorkloadSpec::from_toml(SESSIONS, "sessions").unwrap();
    let sessions = offer("sessions", &Sweep { workload, ..of_sessions }, &CONTRACT);
    assert_eq!(sessions.per_instance, Some(Basis::IntervalLow { rate_per_s: 12.5 }));
    assert_eq!((sessions.instances, sessions.gpus), (requests.instances, requests.gpus));
    assert_eq!(sessions.output_tokens_per_s, requests.output_tokens_per_s);
    assert!(sessions.notes[0].contains("2.50 sessions/s, each of 5.00 requests"), "{:?}", sessions.notes);
}

const SESSIONS: &str = r#"
    name = "sessions"
    horizon_s = 60
    seed = 1
    arrival = { kind = "poisson", rate_per_s = 1 }
    [[classes]]
    name = "talk"
    input_tokens = { kind = "constant", value = 10 }
    output_tokens = { kind = "constant", value = 2 }
    [classes.conversation]
    turns = 5
    think_time_s = 1
"#;

#[test]
fn a_sweep_in_which_no_rate_passed_offers_nothing() {
    let sweep = sweep(12.5);
    let answer = HighestLoad { passed: None, ..sweep.answer.clone().unwrap() };
    let offer = offer("none", &Sweep { answer: Some(answer), ..sweep }, &CONTRACT);
    assert_eq!((offer.per_instance, offer.instances, offer.keeps()), (None, None, false));
}

#[test]
fn a_sweep_that_is_not_over_is_said_to_be() {
    let sweep = Sweep { stopped: StopReason::Interrupted, ..sweep(12.5) };
    let offer = offer("half", &sweep, &CONTRACT);
    assert!(offer.notes.iter().any(|note| note.starts_with("the sweep is not finished")), "{:?}", offer.notes);
}
