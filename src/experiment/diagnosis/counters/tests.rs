//! Recorded pages beside records that were made by hand.

use super::*;
use crate::analysis::summarise;
use crate::analysis::test_runs::{record, run};
use crate::experiment::Diagnosis;
use crate::experiment::diagnosis::CounterOutcome;
use crate::record::{DeploymentFacts, RunLog};
use crate::telemetry::test_pages::{COMPUTE_BOUND, MEMORY_BOUND, THROTTLED, with_page};

/// Forty answers of Llama-3.1-8B on an H100, each alone, 6 ms a token: 16.06 GB at 0.85 of 3.35 TB/s take 5.6 ms.
fn decode() -> RunLog {
    let answer = |i: u64| record(i).sent_at(i * 250, i * 250, i * 250).paced(i * 250 + 20, 6, 33).build();
    named(run(10_000, (0..40).map(answer).collect()))
}

/// Forty prompts of 1,000 to 8,800 tokens, each alone, 40 ms for each 1,000.
fn prefill() -> RunLog {
    prefill_at(25)
}

/// The same at so many tokens in a millisecond, with as much time between prompts for each of them.
fn prefill_at(per_ms: u64) -> RunLog {
    let apart = 12_500 / per_ms;
    let prompt = |i: u64| {
        let at = i * apart;
        let mut one = record(i).sent_at(at, at, at).paced(at + 20 + (1_000 + i * 200) / per_ms, 6, 4).build();
        one.input_tokens_asked = 1_000 + i as u32 * 200;
        one
    };
    named(run(40 * apart, (0..40).map(prompt).collect()))
}

fn named(mut log: RunLog) -> RunLog {
    let said = |text: &str| Some(text.to_owned());
    log.header.deployment = DeploymentFacts {
        hardware: said("h100"),
        serving_model: said("llama-3.1-8b"),
        ..DeploymentFacts::default()
    };
    log
}

fn symptom(log: &RunLog, regime: Regime) -> Symptom {
    let diagnosis = Diagnosis::of_run(log, &summarise(log, &[]));
    let found = diagnosis.symptoms.iter().find(|symptom| symptom.regime == regime);
    found.unwrap_or_else(|| panic!("no {regime:?} in {diagnosis:#?}")).clone()
}

fn tested(log: &RunLog, regime: Regime) -> (CounterOutcome, String) {
    let test = symptom(log, regime).counters.unwrap();
    (test.outcome, test.sentence)
}

#[test]
fn a_busy_memory_confirms_memory_bound_decode() {
    let (outcome, sentence) = tested(&with_page(decode(), MEMORY_BOUND), Regime::MemoryBoundDecode);
    // 0.743 of the cycles, in 98 % of which the device was busy.
    assert_eq!(outcome, Confirmed);
    assert!(sentence.contains("75.8 %") && sentence.contains("60 %"), "{sentence}");
    let (outcome, sentence) = tested(&decode(), Regime::MemoryBoundDecode);
    assert_eq!(outcome, NoCounter);
    assert!(sentence.contains("DCGM_FI_PROF_DRAM_ACTIVE"), "{sentence}");
}

/// What the records say alone is memory-bound decode; the page has the memory at 12 %, 900 MHz, thermal
/// slowdown and 88 °C.
#[test]
fn a_throttled_device_contradicts_it_and_is_named_instead() {
    let log = with_page(decode(), THROTTLED);
    let decode = symptom(&log, Regime::MemoryBoundDecode);
    let test = decode.counters.as_ref().unwrap();
    assert_eq!(test.outcome, Contradicted);
    assert!(test.to_string().starts_with("contradicted: the memory is active in 12.4 %"), "{test}");
    for part in ["throttling", "100 %", "hardware thermal slowdown", "SM clock 900 of 1,980 MHz", "88 °C"] {
        assert!(decode.likely.contains(part), "{part} is not in {}", decode.likely);
    }
    assert!(!decode.likely.contains("memory-bound") && decode.first_response.contains("cool the device"));
}

#[test]
fn busy_matrix_units_confirm_prefill_and_idle_ones_contradict_it() {
    let (outcome, sentence) = tested(&with_page(prefill(), COMPUTE_BOUND), Regime::PrefillCost);
    assert_eq!(outcome, Confirmed, "{sentence}");
    assert!(sentence.contains("57.2 %"), "{sentence}");
    // Prompts are computed for 39 % of the time, so 1.27 % of all of it is 3.2 % of that.
    let symptom = symptom(&with_page(prefill(), THROTTLED), Regime::PrefillCost);
    let test = symptom.counters.unwrap();
    assert_eq!(test.outcome, Contradicted, "{}", test.sentence);
    assert!(symptom.likely.starts_with("throttling"), "{}", symptom.likely);
    assert_eq!(tested(&prefill(), Regime::PrefillCost).0, NoCounter);
}

/// Prompts far below what the arithmetic allows look held back, and yet the matrix units are busy.
#[test]
fn busy_matrix_units_contradict_a_prefill_that_looks_held_back() {
    let symptom = symptom(&with_page(prefill_at(10), COMPUTE_BOUND), Regime::PrefillCost);
    assert_eq!(symptom.counters.unwrap().outcome, Contradicted);
    assert!(symptom.likely.starts_with("arithmetic after all"), "{}", symptom.likely);
}

#[test]
fn devices_that_served_nothing_say_nothing() {
    // As an exporter reports a machine whose other GPU serves.
    let idle = THROTTLED.replace("DCGM_FI_DEV_GPU_UTIL{", "X{").replace("GR_ENGINE_ACTIVE{", "OTHER{");
    let idle = format!("{idle}DCGM_FI_DEV_GPU_UTIL{{gpu=\"0\"}} 0\n");
    let log = with_page(decode(), &idle);
    assert_eq!(tested(&log, Regime::MemoryBoundDecode).0, NoCounter);
}

/// The share of time in which memory is touched at all is no share of what it can do: high, it fits every regime.
#[test]
fn memory_that_is_touched_seldom_contradicts_and_often_says_nothing() {
    let page = |touched: u32| {
        format!("DCGM_FI_DEV_GPU_UTIL{{gpu=\"0\"}} 98\nDCGM_FI_DEV_MEM_COPY_UTIL{{gpu=\"0\"}} {touched}\n")
    };
    let outcome = |touched| tested(&with_page(decode(), &page(touched)), Regime::MemoryBoundDecode).0;
    assert_eq!((outcome(12), outcome(90)), (Contradicted, NoCounter));
    let contradicted = symptom(&with_page(decode(), &page(12)), Regime::MemoryBoundDecode);
    assert!(contradicted.likely.starts_with("not the memory"), "{}", contradicted.likely);
}

/// A server that is idle half of the time is not judged by the time in which it is.
#[test]
fn a_low_rate_is_no_contradiction() {
    let page = |dram: f64, busy: u32| {
        format!("DCGM_FI_DEV_GPU_UTIL{{gpu=\"0\"}} {busy}\nDCGM_FI_PROF_DRAM_ACTIVE{{gpu=\"0\"}} {dram}\n")
    };
    let outcome = |dram, busy| tested(&with_page(decode(), &page(dram, busy)), Regime::MemoryBoundDecode).0;
    assert_eq!(outcome(0.35, 50), Confirmed);
    assert_eq!(outcome(0.35, 100), Contradicted);
    assert_eq!(outcome(0.5, 100), CannotTell);
}
