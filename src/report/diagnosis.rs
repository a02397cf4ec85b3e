//! A diagnosis as a person reads it: each symptom with its regime, what would confirm it, and what to try first.

use super::page::{Page, Style, Tone};
use crate::experiment::Diagnosis;

/// The diagnosis by itself; empty where there is nothing to say.
#[must_use]
pub fn diagnosis_text(diagnosis: &Diagnosis, style: Style) -> String {
    let mut page = Page::new(style);
    section(&mut page, diagnosis);
    page.finish()
}

pub(crate) fn section(page: &mut Page, diagnosis: &Diagnosis) {
    if diagnosis.is_silent() {
        return;
    }
    page.heading("Diagnosis: symptoms, = the likely regime, ? what would confirm it, → what to try first");
    if let Some(reservation) = &diagnosis.reservation {
        page.entry(Tone::Bad, "  ! ", reservation);
    } else if diagnosis.promises_kept() {
        let kept = "the promises were kept: this says where the time goes; nothing needs a cure";
        page.entry(Tone::Normal, "  ", kept);
    }
    let well = diagnosis.promises_kept() && diagnosis.reservation.is_none();
    for symptom in &diagnosis.symptoms {
        page.entry(Tone::Normal, "  • ", &symptom.symptom);
        page.entry(Tone::Strong, "    = ", &symptom.likely);
        if well {
            continue;
        }
        page.entry(Tone::Faint, "    ? ", &symptom.confirm);
        page.entry(Tone::Normal, "    → ", &symptom.first_response);
    }
}
