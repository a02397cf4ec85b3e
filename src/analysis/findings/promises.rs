//! Advice on the SLOs of the workload.

use super::finding::{Finding, FindingKind, finding};
use crate::analysis::summary::run::Summary;

pub(super) fn unmeasurable_slo(summary: &Summary) -> Option<Finding> {
    if summary.slo.met.is_some() {
        return None;
    }
    Some(finding(
        FindingKind::UnmeasurableSlo,
        "the workload bounds TTFT or TPOT, which answers that are not streamed do not have: attainment and \
         goodput are unknown"
            .to_owned(),
        "stream the answers, or bound e2e only",
    ))
}

pub(super) fn no_slo(summary: &Summary) -> Option<Finding> {
    if summary.slo.declared || summary.slo.scheduled == 0 {
        return None;
    }
    Some(finding(
        FindingKind::NoSlo,
        "the workload promises nothing: there is no attainment, and goodput counts every completed request"
            .to_owned(),
        "give its classes bounds, such as slo = { ttft_ms = 500 }",
    ))
}
