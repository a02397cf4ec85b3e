//! Whether requests arrived faster than they were served.

use super::evidence::RunEvidence;
use super::symptom::{Opinion, Regime, seen};
use crate::analysis::Rule;
use crate::analysis::rules::facts;
use crate::units::three_digits;

pub(super) fn rule(evidence: &RunEvidence<'_>) -> Opinion {
    let summary = evidence.summary;
    let Some(reason) = summary.verdict.reasons.iter().find(|reason| reason.rule == Rule::SteadyState) else {
        return Ok(None);
    };
    let (offered, completed) = (summary.rates.requests_per_s(), summary.rates.completed_requests_per_s);
    let rates = match (offered, completed) {
        (Some(offered), Some(completed)) => {
            format!("; {} requests/s arrived and {} were completed", three_digits(offered), three_digits(completed))
        }
        _ => String::new(),
    };
    let figures = [
        ("offered_requests_per_s", offered.unwrap_or(f64::NAN)),
        ("completed_requests_per_s", completed.unwrap_or(f64::NAN)),
    ];
    let symptom = seen(Regime::Overload, figures, "{}{}", facts![reason.sentence.as_str(), rates])
        .likely("overload: the queue grows for as long as the run lasts, and latency with it")
        .confirmed_by("a longer run at the same rate: latencies grow with it")
        .answered_by("find the rate that it sustains (skyline sweep), then add what is short there");
    Ok(Some(symptom))
}
