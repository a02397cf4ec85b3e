//! Metrics that are tested together, which keeps their number from producing false positives.

use super::differences::Differences;
use super::metric::AbMetric;
use super::power::Power;
use super::rounds::AbRound;
use crate::analysis::FigureKey;
use crate::analysis::statistics::holm;

/// Metrics that are tested together.
pub(super) struct MetricFamily<'a> {
    pub(super) measures: &'a [FigureKey],
    /// The difference that does not matter, as a share.
    pub(super) margin: f64,
    /// Number of tests, on which the detectable difference depends.
    pub(super) tests: u64,
}

impl MetricFamily<'_> {
    /// The metrics that some round has, without verdicts; `rounds` gives the rounds that count for each.
    pub(super) fn compared<'r>(&self, rounds: impl Fn(&FigureKey) -> &'r [AbRound<'r>]) -> Vec<AbMetric> {
        // The power of so many rounds is simulated once.
        let mut powers: Vec<(u64, Power)> = Vec::new();
        let mut metrics = Vec::new();
        for measure in self.measures {
            let differences = Differences::of(measure, rounds(measure));
            let pairs = differences.pairs.len() as u64;
            if !powers.iter().any(|(rounds, _)| *rounds == pairs) {
                powers.push((pairs, Power::new(pairs, self.tests)));
            }
            let Some((_, power)) = powers.iter().find(|(rounds, _)| *rounds == pairs) else { continue };
            metrics.push(AbMetric::of(measure, &differences, self.margin, power));
        }
        metrics
    }
}

/// Judges `metrics` together by Holm's procedure. A metric that no round has counts as one without a difference, since
/// the number of tests was fixed before.
pub(super) fn judge(metrics: &mut [AbMetric]) {
    let p_values: Vec<f64> = metrics.iter().map(|metric| metric.p.unwrap_or(1.0)).collect();
    for (metric, adjusted) in metrics.iter_mut().zip(holm(&p_values)) {
        metric.adjusted_p = metric.p.map(|_| adjusted);
        metric.verdict = Some(metric.judged());
    }
}
