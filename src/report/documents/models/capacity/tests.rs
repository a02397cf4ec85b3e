//! What a person reads of a plan.

use std::path::Path;

use super::*;
use crate::experiment::capacity::{Candidate, CapacityTarget};
use crate::report::render::{self, assert_page};

const HOSTILE: &str = "</title><script src=https://evil.example/x.js></script>\u{202e}<img onerror=a(1)>";

/// A sweep of one instance whose largest rate that passed is 50 requests/s.
fn sweep() -> Sweep {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/experiments/sweep-schema-1");
    Sweep::read(&folder).unwrap()
}

fn capacity(names: &[&str], max_gpus: Option<u64>) -> (CapacityPlan, Vec<Sweep>) {
    let contract =
        CapacityTarget { target_per_s: 400.0, headroom: 0.2, gpus_per_instance: Some(2), max_gpus };
    let sweeps: Vec<Sweep> = names.iter().map(|_| sweep()).collect();
    let offer = |(name, sweep): (&&str, &Sweep)| {
        Offer::new(&Candidate { name, sweep, gpu_hour: Some(2.5) }, &contract).unwrap()
    };
    let offers = names.iter().zip(&sweeps).map(offer).collect();
    (CapacityPlan::new(contract, offers), sweeps)
}

/// 400/s by instances of which 40 of 50/s may be used: ten of them, of two GPUs each, at 2.5 an hour.
#[test]
fn the_answer_stands_first_and_what_it_rests_on_last() {
    let (capacity, sweeps) = capacity(&["measured"], None);
    let page = render::html(&document(&capacity, &sweeps));
    assert_page(&page);
    let card = |name: &str, value: &str| {
        format!("<div class=\"name\">{name}</div><div class=\"value\">{value}</div>")
    };
    let places: Vec<usize> = [
        "<span class=\"good\">✓ ENOUGH</span>: 400 requests/s with 20 % headroom",
        &card("Instances", "10"),
        &card("GPUs", "20"),
        &card("Used of each", "80 %"),
        &card("Price per hour", "50.0"),
        "TTFT over load, one instance",
        ">highest 50.0/s</text>",
        ">requested of each 40.0/s</text>",
        "TPOT over load, one instance",
        "At other rates",
        // 400/s by nine of them.
        "With one of them lost the others get 44.4/s each, 88.9 % of their highest rate: which they still carry.",
    ]
    .into_iter()
    .map(|part| page.find(part).unwrap_or_else(|| panic!("no {part} in {page}")))
    .collect();
    assert!(places[..=5].is_sorted() && places[8..].is_sorted());
    assert!(places[6] > places[5] && places[7] > places[5]);
    assert!(
        page.contains("<title>50.0/s passed</title>")
            && page.contains("90.0/s failed")
            && page.contains("p95 ttft &lt; 100ms")
    );
}

#[test]
fn offers_stand_beside_one_another_and_names_stay_text() {
    let (capacity, sweeps) = capacity(&["measured", HOSTILE], Some(4));
    let page = render::html(&document(&capacity, &sweeps));
    assert_page(&page);
    assert!(page.contains("The offers compared") && page.contains("&lt;script"), "{page}");
    assert!(
        page.contains("<span class=\"bad\">✗ NOT ENOUGH</span>: no offer carries")
            && page.contains("20 GPUs, and the limit is 4")
    );
    assert!(!page.contains("class=\"cards\""), "no offer is the answer");
}

#[test]
fn every_instance_more_is_a_step() {
    let (capacity, _) = capacity(&["measured"], None);
    let steps = staircase(&capacity, 50.0, 5.0);
    assert_eq!(steps[..4], [(0.0, 5.0), (40.0, 5.0), (40.0, 10.0), (80.0, 10.0)]);
    assert_eq!(steps.last(), Some(&(800.0, 100.0)));
    // Of many instances not every step is drawn, and the end is.
    let many = staircase(&capacity, 0.05, 5.0);
    assert!(
        many.len() < 620
            && many.last().is_some_and(|(rate, price)| *rate == 800.0 && (*price - 1e5).abs() < 5.1)
    );
}
