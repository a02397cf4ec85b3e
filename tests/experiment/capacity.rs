//! Capacity of a queue whose sweep is known.

use skyline::analysis::Objective;
use skyline::experiment::capacity::{Basis, Capacity, Contract, Offer, Queueing, Replicas};
use skyline::experiment::{HighestLoad, Load, Sweep};

use crate::highest_load::search;
use crate::queues::Queue;

const CONTRACT: Contract = Contract {
    target_per_s: 100.0,
    headroom: 0.2,
    gpus_per_instance: Some(8),
    gpu_hour: Some(2.5),
    max_gpus: None,
};

/// A sweep of eight places whose answer is set to what is known.
fn sweep(low: f64) -> Sweep {
    let sweep = search(Queue::eight_places(), 500, 14, 3);
    let answer = HighestLoad {
        passed: Some(Load::Rate(12.0)),
        interval_low: Some(low),
        ..sweep.answer.clone().unwrap()
    };
    Sweep { answer: Some(answer), ..sweep }
}

/// 100/s with 20 % headroom are 125/s; at 12.5/s each, 10 instances, 80 GPUs, 200 an hour. Every answer has two tokens: 200 a
/// second, 0.72 million an hour.
#[test]
fn instances_and_money_are_those_of_the_formulas() {
    let offer = Offer::of("eight", &sweep(12.5), &CONTRACT).unwrap();
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
    let contract = Contract { max_gpus: Some(100), ..CONTRACT };
    let offers = [("slow", &slow), ("nothing", &nothing), ("fast", &fast)]
        .map(|(name, sweep)| Offer::of(name, sweep, &contract).unwrap());
    let capacity = Capacity::of(contract, offers.to_vec());
    assert_eq!(capacity.cheapest, Some(2));
    assert!(capacity.offers[0].why_not[0].contains("needs 200 GPUs, and 100 may be taken"));
    assert!(capacity.offers[1].why_not[0].contains("no objective"));
    let bare = Contract { gpus_per_instance: None, ..CONTRACT };
    let unpriced = Offer::of("fast", &fast, &bare).unwrap_err().to_string();
    assert!(unpriced.contains("--gpus-per-instance N"), "{unpriced}");
}

/// Behind one router several queues do with fewer places than each by itself, and never with more.
#[test]
fn queues_behind_a_router_share_their_bursts() {
    let (sweep, objectives) = (sweep(12.5), [Queue::eight_places().objective.parse::<Objective>().unwrap()]);
    let basis = Basis::IntervalLow { rate_per_s: 12.5 };
    let of = |asked| Queueing::of(&sweep, basis, &CONTRACT, &objectives, asked).unwrap();
    let fewest = of(Replicas::Fewest);
    assert_eq!(fewest.by_division, 10);
    assert!(fewest.instances < 10 && fewest.instances >= 6 && fewest.meets, "{fewest:?}");
    assert!(fewest.sentence.contains("division says 10"), "{}", fewest.sentence);
    assert!(!of(Replicas::Exactly(3)).meets);
}
