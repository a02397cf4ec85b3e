//! The rule that no host stall could have moved a reported percentile.

use super::check::{Check, Measure, Rule};
use crate::analysis::client::pauses::{SHARE, TouchedPercentile, named};
use crate::analysis::figures::catalogue::Metric;
use crate::analysis::figures::quantile::Quantile;
use crate::analysis::summary::run::Summary;
use crate::units::three_digits;

/// The percentiles that must not be touched. Those further out rest on so few requests that the one pause which a
/// long run may well have moves them: they are named, and the run stays valid.
const JUDGED: [Quantile; 3] = [Quantile::P50, Quantile::P90, Quantile::P95];
/// The latencies whose percentiles they are.
const JUDGED_METRICS: [Metric; 3] = [Metric::Ttft, Metric::Tpot, Metric::E2e];

const UNTOUCHED: Measure = Measure {
    rule: Rule::HostStalls,
    statistic: "p50, p90 and p95 of ttft, tpot and e2e that standstills of this machine could have moved",
};

/// The tests of [`Rule::HostStalls`].
pub(crate) fn checks(summary: &Summary) -> Vec<Check> {
    let Some(impact) = &summary.host_stalls else {
        return vec![UNTOUCHED.not_tested("nobody watched whether the measuring machine stood still")];
    };
    let (judged, others): (Vec<_>, Vec<_>) =
        impact.touched.iter().partition(|figure| is_judged(figure, summary));
    let moved = named(if judged.is_empty() { &others } else { &judged });
    let so = match (impact.requests_touched, moved) {
        (0, _) => String::new(),
        (_, None) => format!("; no percentile moves by over {} % for it", three_digits(SHARE * 100.0)),
        (_, Some(named)) => format!("; they could have moved {named}"),
    };
    let sentence = impact.in_words() + &so;
    let cure = "measure from a machine with cores to spare, without a CPU quota, that is not suspended, and run again";
    vec![UNTOUCHED.at_most(judged.len() as f64, 0.0, sentence, cure)]
}

/// Whether a run with this figure touched is invalid. A percentile of too few samples nobody is to rely on anyway.
fn is_judged(figure: &TouchedPercentile, summary: &Summary) -> bool {
    let relied_on = || {
        let row = summary.latency.row(figure.metric);
        row.is_some_and(|row| row.percentile(figure.quantile).mark.is_none())
    };
    JUDGED_METRICS.contains(&figure.metric) && JUDGED.contains(&figure.quantile) && relied_on()
}
