//! A diagnosis as a person reads it: each symptom with its regime, what would confirm it, and what to try first.

use super::page::{Page, Style, Tone};
use crate::experiment::{Diagnosis, Symptom};

/// The diagnosis by itself; empty where there is nothing to say.
#[must_use]
pub fn diagnosis_text(diagnosis: &Diagnosis, style: Style) -> String {
    let mut page = Page::new(style);
    section(&mut page, diagnosis);
    page.finish()
}

pub(crate) fn section(page: &mut Page, diagnosis: &Diagnosis) {
    if !diagnosis.is_silent() {
        let detail = head(page, diagnosis.reservation.as_deref(), diagnosis.promises_kept());
        diagnosis.symptoms.iter().for_each(|seen| symptom(page, seen, detail));
    }
}

/// What is said where every promise was kept.
pub(crate) const KEPT: &str = "the promises were kept: this says where the time goes; nothing needs a cure";

/// The heading, and how much is told below it.
fn head(page: &mut Page, reservation: Option<&str>, promises_kept: bool) -> Detail {
    page.heading("Diagnosis: symptoms, = the likely regime, ? what would confirm it, → what to try first");
    let detail = Detail::of(reservation, promises_kept);
    match (reservation, detail) {
        (Some(reservation), _) => page.entry(Tone::Bad, "  ! ", reservation),
        (None, Detail::Regime) => page.entry(Tone::Normal, "  ", KEPT),
        (None, Detail::WithCures) => {}
    }
    detail
}

/// How much is told of a symptom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// The regime that it points to.
    Regime,
    /// Besides, what would confirm it, and what to try first.
    WithCures,
}

impl Detail {
    /// Where every promise was kept nothing needs a cure, unless the figures cannot be believed.
    pub(crate) const fn of(reservation: Option<&str>, promises_kept: bool) -> Self {
        if reservation.is_none() && promises_kept { Self::Regime } else { Self::WithCures }
    }
}

pub(crate) fn symptom(page: &mut Page, symptom: &Symptom, detail: Detail) {
    page.entry(Tone::Normal, "  • ", &symptom.symptom);
    page.entry(Tone::Strong, "    = ", &symptom.likely);
    if detail == Detail::WithCures {
        page.entry(Tone::Faint, "    ? ", &symptom.confirm);
        page.entry(Tone::Normal, "    → ", &symptom.first_response);
    }
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
        assert_eq!(
            diagnosis_text(&trade(), Style::PLAIN),
            "\n\
             Diagnosis: symptoms, = the likely regime, ? what would confirm it, → what to try first\n  \
             • from a load of 1.00 to 8.00 TPOT p50 goes from 20.0 to 40.0 ms and output tokens/s from 100 to\n    \
             700\n    \
             = batching trade: larger batches serve all faster and each more slowly\n    \
             ? TPOT and throughput at each concurrency (a sweep over --users)\n    \
             → choose the load whose percentile the product allows; beyond the flat part there is only\n      \
             latency\n"
        );
        assert_eq!(diagnosis_text(&Diagnosis::default(), Style::PLAIN), "");
    }

    #[test]
    fn kept_promises_need_no_cure_and_an_invalid_run_no_belief() {
        let kept = diagnosis_text(&Diagnosis { slo_attainment: Some(1.0), ..trade() }, Style::PLAIN);
        assert!(kept.contains("nothing needs a cure") && !kept.contains("? TPOT"), "{kept}");
        let reservation = Some("the run is INVALID".to_owned());
        let invalid = Diagnosis { slo_attainment: Some(1.0), reservation, ..trade() };
        let invalid = diagnosis_text(&invalid, Style::PLAIN);
        assert!(invalid.contains("  ! the run is INVALID") && invalid.contains("? TPOT"), "{invalid}");
    }
}
