//! What counters say of a regime: they confirm it, contradict it, do not tell, or nobody read them.
//!
//! The limits follow the *Feature overview* of NVIDIA's DCGM (profiling metrics): the memory of a device is
//! as busy as it gets at about 80 % of its cycles; multiprocessors that are active for less than 50 % are not
//! used well, and 80 % are needed but not enough for good use.

use super::prefill::COMPUTE_BOUND;
use super::symptom::{CounterTest, Regime, Symptom};
use crate::analysis::Status::{Met, Missed, Undecided};
use crate::analysis::{DeviceSummary, GaugeSummary, Summary, clock_and_heat, longest_slowdown};
use crate::record::Gauge;
use crate::units::{percent, three_digits};

/// Share of the busy time from which on active memory is what decode waits for.
const DRAM_HIGH: f64 = 0.6;
/// Share of the busy time below which active memory is not what decode waits for.
const DRAM_LOW: f64 = 0.4;
/// Share of time from which on active matrix units are what work waits for. More is rare even in large products.
const TENSOR_HIGH: f64 = 0.4;
/// Share of time below which active matrix units are not what work waits for.
const TENSOR_LOW: f64 = 0.2;
/// Multiprocessors that are active for less of the time are not what work waits for.
const SM_LOW: f64 = 0.5;
/// Least share of time spent on prompts that stand out from answers. Prompts that are computed for a smaller share
/// cannot.
const LEAST_PREFILL: f64 = 0.05;

/// Adds what counters say to a symptom. A regime that they contradict is not the likely one.
pub(super) fn test(symptom: &mut Symptom, summary: &Summary) {
    // In virtual time there are no devices.
    if !summary.run.engine.modelled.is_empty() {
        return;
    }
    let counters = Counters::from_summary(summary);
    let tested = match symptom.regime {
        Regime::MemoryBoundDecode => counters.memory_bound(),
        Regime::ComputeBoundDecode => counters.compute_bound(),
        Regime::PrefillCost => counters.prefill(symptom, summary),
        Regime::Overload | Regime::Queueing => match waiting(summary) {
            Some(tested) => tested,
            None => return,
        },
        _ => return,
    };
    if tested.outcome == Some(Missed) {
        contradicted_by(symptom, summary);
    }
    symptom.counters = Some(tested);
}

/// Puts what is likely instead in the place of a regime that counters contradict.
fn contradicted_by(symptom: &mut Symptom, summary: &Summary) {
    if let Some((words, cure)) = summary.server.as_ref().and_then(longest_slowdown) {
        symptom.likely = format!("throttling, and not what the times alone suggest: {words}");
        symptom.first_response = cure;
        return;
    }
    let (likely, first) = match symptom.regime {
        Regime::MemoryBoundDecode => (
            "not the memory, although the times fit it: CPU, kernels, clocks, or facts of the deployment that are not \
             true",
            "check --hardware, --serving-model, --precision and --gpus, then the server's CPU load and the clocks of \
             its GPUs",
        ),
        Regime::PrefillCost if is_held_back(symptom) => (
            "arithmetic after all, although prompts are computed far below the bound: slower hardware or a larger \
             model than was named, or other work on the matrix units",
            "check --hardware, --serving-model, --precision and --gpus, then what else the GPUs compute",
        ),
        Regime::PrefillCost => (
            "not arithmetic, although TTFT follows the prompt: kernels, chunks or the host hold prefill back",
            "look at the server's CPU load while only long prompts come, at the size of its chunks, and at its \
             attention backend",
        ),
        Regime::ComputeBoundDecode => (
            "not arithmetic, although the times fit it: kernels, the host, or facts of the deployment that are not \
             true",
            "check --hardware, --serving-model, --precision and --gpus, then the server's CPU load",
        ),
        _ => return,
    };
    likely.clone_into(&mut symptom.likely);
    first.clone_into(&mut symptom.first_response);
}

/// The counters of the devices that served.
struct Counters<'a> {
    devices: Vec<&'a DeviceSummary>,
}

impl<'a> Counters<'a> {
    fn from_summary(summary: &'a Summary) -> Self {
        let devices = summary.server.iter().flat_map(|server| &server.devices);
        Self { devices: devices.filter(|device| device.was_busy()).collect() }
    }

    fn together(&self, gauge: fn(&DeviceSummary) -> Option<GaugeSummary>) -> Option<GaugeSummary> {
        DeviceSummary::together(self.devices.iter().copied(), gauge)
    }

    /// Returns the mean of a gauge over the time in which the devices were busy. It is as far as they report that.
    fn while_busy(&self, gauge: fn(&DeviceSummary) -> Option<GaugeSummary>) -> Option<f64> {
        let of = |device: &&DeviceSummary| {
            let (mean, busy) = (gauge(device)?.mean, device.utilisation.map(|busy| busy.mean));
            Some(busy.filter(|busy| *busy > 0.0).map_or(mean, |busy| (mean / busy).min(1.0)))
        };
        let known: Vec<f64> = self.devices.iter().filter_map(of).collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    }

    /// Returns the clocks and the heat of the device that is described first. They are for sentences that contradict.
    fn seen(&self) -> String {
        let seen = self.devices.first().and_then(|device| clock_and_heat(device));
        seen.map(|seen| format!("; {seen}")).unwrap_or_default()
    }

    /// Puts a gauge of the busy time beside its shares by regime. They are those in this regime and in others. It is
    /// `None` where nobody reports it.
    fn beside(
        &self,
        what: &str,
        gauge: fn(&DeviceSummary) -> Option<GaugeSummary>,
        [low, high]: [f64; 2],
    ) -> Option<CounterTest> {
        let active = self.while_busy(gauge)?;
        let sentence = format!(
            "the {what} active in {} of the cycles of the busy time ({} or more in this regime, under {} in others)",
            percent(active),
            percent(high),
            percent(low)
        );
        Some(if active >= high {
            CounterTest::new(Met, sentence)
        } else if active < low {
            CounterTest::new(Missed, format!("{sentence}{}", self.seen()))
        } else {
            CounterTest::new(Undecided, sentence)
        })
    }

    fn memory_bound(&self) -> CounterTest {
        self.beside("memory is", |device| device.dram_active, [DRAM_LOW, DRAM_HIGH]).unwrap_or_else(|| {
            // Memory that is not even touched all the time cannot be what decode waits for.
            let touched = self.while_busy(|device| device.memory_busy);
            match touched.filter(|touched| *touched < DRAM_LOW) {
                Some(touched) => CounterTest::new(
                    Missed,
                    format!(
                        "the memory is read or written in {} of the busy time (at least {} in this regime){}",
                        percent(touched),
                        percent(DRAM_LOW),
                        self.seen()
                    ),
                ),
                None => CounterTest::new(None, NO_DRAM),
            }
        })
    }

    fn compute_bound(&self) -> CounterTest {
        let tested = self.beside("matrix units are", |device| device.tensor_active, [TENSOR_LOW, TENSOR_HIGH]);
        tested.unwrap_or_else(|| CounterTest::new(None, NO_TENSOR))
    }

    /// Prompts are computed for a part of the time. What is active in all of it is at most so active in that
    /// part as if it were active in no other.
    fn prefill(&self, symptom: &Symptom, summary: &Summary) -> CounterTest {
        let tensor = self.together(|device| device.tensor_active);
        let sm = self.together(|device| device.sm_active);
        if tensor.is_none() && sm.is_none() {
            return CounterTest::new(None, NO_TENSOR);
        }
        let share = prefill_share(symptom, summary).filter(|share| *share >= LEAST_PREFILL);
        let at_most = |all: GaugeSummary| share.map(|share| (all.mean / share).min(1.0));
        let is_held_back = is_held_back(symptom);
        let Some(tensor) = tensor else {
            return match sm.and_then(at_most).filter(|most| *most < SM_LOW) {
                Some(most) if !is_held_back => CounterTest::new(
                    Missed,
                    format!(
                        "the multiprocessors are active in at most {} of the time in which prompts are computed ({} or \
                     more in this regime){}",
                        percent(most),
                        percent(SM_LOW),
                        self.seen()
                    ),
                ),
                _ => CounterTest::new(None, NO_TENSOR),
            };
        };
        let most =
            at_most(tensor).map(|most| format!(", at most {} of those in which prompts are computed", percent(most)));
        let sentence = format!(
            "the matrix units are active in {} of the cycles, {} in the busiest reading{}",
            percent(tensor.mean),
            percent(tensor.max),
            most.unwrap_or_default()
        );
        let expected = |words: &str, limit: f64| format!("{sentence} ({words} {} in this regime)", percent(limit));
        let (is_high, is_low) = (tensor.max >= TENSOR_HIGH, at_most(tensor).is_some_and(|most| most < TENSOR_LOW));
        match (is_held_back, is_high, is_low) {
            (false, true, _) => CounterTest::new(Met, expected("at least", TENSOR_HIGH)),
            (false, _, true) => {
                CounterTest::new(Missed, format!("{}{}", expected("at least", TENSOR_LOW), self.seen()))
            }
            (true, true, _) => CounterTest::new(Missed, expected("under", TENSOR_HIGH)),
            (true, _, true) => CounterTest::new(Met, expected("under", TENSOR_LOW)),
            _ => CounterTest::new(Undecided, sentence),
        }
    }
}

/// Whether the times say that something else than arithmetic holds prefill back.
fn is_held_back(symptom: &Symptom) -> bool {
    let figure = |name: &str| symptom.figures.get(name).copied();
    let known = figure("prefill_tokens_per_s_high").zip(figure("arithmetic_bound_tokens_per_s"));
    known.is_some_and(|(rate, bound)| rate / bound < COMPUTE_BOUND)
}

/// Returns the share of the window in which prompts are computed. It is by the rate at which they are.
fn prefill_share(symptom: &Symptom, summary: &Summary) -> Option<f64> {
    let rate = *symptom.figures.get("prefill_tokens_per_s")?;
    let rates = &summary.rates;
    let tokens = rates.uncached_input_tokens_per_s.or(rates.input_tokens_per_s)?;
    (rate > 0.0).then(|| (tokens / rate).min(1.0))
}

/// Requests that the server itself has waiting.
fn waiting(summary: &Summary) -> Option<CounterTest> {
    let waiting = summary.server.as_ref()?.gauge(Gauge::Waiting)?;
    let sentence = format!(
        "the server reports {} waiting requests on average, {} at most",
        three_digits(waiting.mean),
        three_digits(waiting.max)
    );
    Some(if waiting.max >= 1.0 { CounterTest::new(Met, sentence) } else { CounterTest::new(Undecided, sentence) })
}

const NO_DRAM: &str = "no page reports how active the memory is (DCGM_FI_PROF_DRAM_ACTIVE of a DCGM exporter)";
const NO_TENSOR: &str =
    "no page reports how active the matrix units are (DCGM_FI_PROF_PIPE_TENSOR_ACTIVE of a DCGM exporter)";

#[cfg(test)]
mod tests {
    //! Recorded pages beside records that were made by hand.

    use super::*;
    use crate::analysis::test_runs::{record, run};
    use crate::analysis::{Status, summarise};
    use crate::experiment::Diagnosis;
    use crate::record::{DeploymentFacts, RunLog};
    use crate::telemetry::test_pages::{COMPUTE_BOUND, MEMORY_BOUND, THROTTLED, with_page};

    /// Returns a log of forty answers of Llama-3.1-8B on an H100, each alone. They take 6 ms a token: 16.06 GB at 0.85
    /// of 3.35 TB/s take 5.6 ms.
    fn decode() -> RunLog {
        let answer = |i: u64| record(i).sent_at(i * 250, i * 250, i * 250).paced(i * 250 + 20, 6, 33).build();
        named(run(10_000, (0..40).map(answer).collect()))
    }

    /// Forty prompts of 1,000 to 8,800 tokens, each alone, 40 ms for each 1,000.
    fn prefill() -> RunLog {
        prefill_at(25)
    }

    /// Forty prompts of 1,000 to 8,800 tokens, at so many tokens in a millisecond. Each comes 12,500 tokens' time after
    /// the one before.
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

    fn tested(log: &RunLog, regime: Regime) -> (Option<Status>, String) {
        let test = symptom(log, regime).counters.unwrap();
        (test.outcome, test.sentence)
    }

    #[test]
    fn a_busy_memory_confirms_memory_bound_decode() {
        let (outcome, sentence) = tested(&with_page(decode(), MEMORY_BOUND), Regime::MemoryBoundDecode);
        // 0.743 of the cycles, in 98 % of which the device was busy.
        assert_eq!(outcome, Some(Met));
        assert!(sentence.contains("75.8 %") && sentence.contains("60 %"), "{sentence}");
        let (outcome, sentence) = tested(&decode(), Regime::MemoryBoundDecode);
        assert_eq!(outcome, None);
        assert!(sentence.contains("DCGM_FI_PROF_DRAM_ACTIVE"), "{sentence}");
    }

    /// The records alone say memory-bound decode. The page has the memory at 12 %, 900 MHz, thermal slowdown and 88 °C.
    #[test]
    fn a_throttled_device_contradicts_it_and_is_named_instead() {
        let log = with_page(decode(), THROTTLED);
        let decode = symptom(&log, Regime::MemoryBoundDecode);
        let test = decode.counters.as_ref().unwrap();
        assert_eq!(test.outcome, Some(Missed));
        assert!(test.to_string().starts_with("contradicted: the memory is active in 12.4 %"), "{test}");
        for part in ["throttling", "100 %", "hardware thermal slowdown", "SM clock 900 of 1,980 MHz", "88 °C"] {
            assert!(decode.likely.contains(part), "{part} is not in {}", decode.likely);
        }
        assert!(!decode.likely.contains("memory-bound") && decode.first_response.contains("cool the device"));
    }

    #[test]
    fn busy_matrix_units_confirm_prefill_and_idle_ones_contradict_it() {
        let (outcome, sentence) = tested(&with_page(prefill(), COMPUTE_BOUND), Regime::PrefillCost);
        assert_eq!(outcome, Some(Met), "{sentence}");
        assert!(sentence.contains("57.2 %"), "{sentence}");
        // Prompts are computed for 39 % of the time, so 1.27 % of all of it is 3.2 % of that.
        let symptom = symptom(&with_page(prefill(), THROTTLED), Regime::PrefillCost);
        let test = symptom.counters.unwrap();
        assert_eq!(test.outcome, Some(Missed), "{}", test.sentence);
        assert!(symptom.likely.starts_with("throttling"), "{}", symptom.likely);
        assert_eq!(tested(&prefill(), Regime::PrefillCost).0, None);
    }

    /// Lets busy matrix units contradict prompts that look held back. The prompts are far below what the arithmetic
    /// allows, and yet the matrix units are busy.
    #[test]
    fn busy_matrix_units_contradict_a_prefill_that_looks_held_back() {
        let symptom = symptom(&with_page(prefill_at(10), COMPUTE_BOUND), Regime::PrefillCost);
        assert_eq!(symptom.counters.unwrap().outcome, Some(Missed));
        assert!(symptom.likely.starts_with("arithmetic after all"), "{}", symptom.likely);
    }

    #[test]
    fn devices_that_served_nothing_say_nothing() {
        // As an exporter reports a machine whose other GPU serves.
        let idle = THROTTLED.replace("DCGM_FI_DEV_GPU_UTIL{", "X{").replace("GR_ENGINE_ACTIVE{", "OTHER{");
        let idle = format!("{idle}DCGM_FI_DEV_GPU_UTIL{{gpu=\"0\"}} 0\n");
        let log = with_page(decode(), &idle);
        assert_eq!(tested(&log, Regime::MemoryBoundDecode).0, None);
    }

    /// Judges the share of time in which memory is touched at all. It is no share of what memory can do: high, it fits
    /// every regime.
    #[test]
    fn memory_that_is_touched_seldom_contradicts_and_often_says_nothing() {
        let page = |touched: u32| {
            format!("DCGM_FI_DEV_GPU_UTIL{{gpu=\"0\"}} 98\nDCGM_FI_DEV_MEM_COPY_UTIL{{gpu=\"0\"}} {touched}\n")
        };
        let outcome = |touched| tested(&with_page(decode(), &page(touched)), Regime::MemoryBoundDecode).0;
        assert_eq!((outcome(12), outcome(90)), (Some(Missed), None));
        let contradicted = symptom(&with_page(decode(), &page(12)), Regime::MemoryBoundDecode);
        assert!(contradicted.likely.starts_with("not the memory"), "{}", contradicted.likely);
    }

    /// Judges a server that is idle half of the time. The time in which it is idle does not count.
    #[test]
    fn a_low_rate_is_no_contradiction() {
        let page = |dram: f64, busy: u32| {
            format!("DCGM_FI_DEV_GPU_UTIL{{gpu=\"0\"}} {busy}\nDCGM_FI_PROF_DRAM_ACTIVE{{gpu=\"0\"}} {dram}\n")
        };
        let outcome = |dram, busy| tested(&with_page(decode(), &page(dram, busy)), Regime::MemoryBoundDecode).0;
        assert_eq!(outcome(0.35, 50), Some(Met));
        assert_eq!(outcome(0.35, 100), Some(Missed));
        assert_eq!(outcome(0.5, 100), Some(Undecided));
    }
}
