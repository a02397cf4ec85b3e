//! A diagnosis: each symptom with its likely cause, what would confirm it, and what to try first.

use crate::experiment::{Diagnosis, Symptom};
use crate::report::document::{Note, Section};

/// Said where every SLO was met.
const MET: &str = "SLOs met; for information: this says where the time goes";

pub(crate) fn section(diagnosis: &Diagnosis) -> Section {
    let Diagnosis { runs, reservation, symptoms, not_enough_data, .. } = diagnosis;
    // Where every SLO was met nothing needs a cure, unless the figures cannot be trusted.
    let met = reservation.is_none() && diagnosis.nearly_all_slos_met();
    let note = |seen: &Symptom| if met { cause(seen, *runs) } else { with_cure(seen, *runs) };
    let any = !symptoms.is_empty();
    let lacking = not_enough_data.iter().filter(|_| runs.is_none());
    Section::detail("Diagnosis")
        .notes(reservation.iter().filter(|_| any).map(Note::error))
        .text((any && met).then_some(MET))
        .notes(symptoms.iter().map(note))
        .more(any.then(Diagnosis::topics).into_iter().flatten())
        .named(lacking.map(|rule| ("not enough data", [format!("{}: {}", rule.about, rule.lacked)])))
}

/// A symptom with its likely cause.
fn cause(seen: &Symptom, runs: Option<u64>) -> Note {
    let counters = seen.counters.as_ref().map(ToString::to_string);
    Note::info(seen.in_words(runs)).cause(&seen.likely).counters(counters)
}

/// Besides, what would confirm it, and what to try first.
pub(crate) fn with_cure(seen: &Symptom, runs: Option<u64>) -> Note {
    cause(seen, runs).confirm(&seen.confirm).cure(&seen.first_response)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::LoadFigures;

    fn trade() -> Diagnosis {
        let at = |load: f64, tokens: f64, tpot: f64| LoadFigures {
            load,
            output_tokens_per_s: Some(tokens),
            ttft_p50_ms: Some(100.0),
            ttft_p99_ms: Some(200.0),
            tpot_p50_ms: Some(tpot),
        };
        Diagnosis::of_points(&[at(1.0, 100.0, 20.0), at(8.0, 700.0, 40.0)])
    }

    #[test]
    fn a_symptom_comes_with_what_confirms_and_what_cures_it() {
        let shown = format!("{:?}", section(&trade()));
        for part in [
            "from a load of 1.00 to 8.00 TPOT p50 goes from 20.0 to 40.0 ms",
            "batching trade-off: larger batches raise throughput and slow each answer",
            "TPOT and throughput at each concurrency (a sweep over --users)",
            "choose the load whose percentile the product allows",
        ] {
            assert!(shown.contains(part), "{part} is not in {shown}");
        }
        assert!(section(&Diagnosis::default()).blocks.is_empty());
    }

    #[test]
    fn met_slos_need_no_cure_and_an_invalid_run_no_belief() {
        let met = format!("{:?}", section(&Diagnosis { slo_attainment: Some(1.0), ..trade() }));
        assert!(met.contains("for information") && met.contains("confirm: None"), "{met}");
        let reservation = Some("the run is INVALID".to_owned());
        let invalid = Diagnosis { slo_attainment: Some(1.0), reservation, ..trade() };
        let invalid = format!("{:?}", section(&invalid));
        assert!(invalid.contains("the run is INVALID") && invalid.contains("confirm: Some"), "{invalid}");
    }
}
