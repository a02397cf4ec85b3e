//! The checks of one process, and of its counts over runs that repeat one another.

use super::beats::cured;
use super::facet::Facet;
use super::law::{GapLaw, adjective, not_tested, within};
use super::sequence::{ArrivalFit, ArrivalSequence, FEWEST};
use crate::analysis::judgements::{Check, Measure, Rule};
use crate::analysis::statistics::chi_squared_quantile;
use crate::units::{counted, three_digits};
use crate::workload::ArrivalPattern;

/// Why the arrivals of a trace are not put to tests of a process.
const REPLAYED: &str = "a trace declares no process to test: its timestamps are the plan, and each dispatch is \
    compared with its timestamp";

/// Tests of a plan, and of what was delivered of it.
pub(super) fn checks(
    pattern: &ArrivalPattern,
    planned: Option<&ArrivalSequence>,
    delivered: Option<&ArrivalSequence>,
) -> [Vec<Check>; 2] {
    let of_plan = planned.map(|planned| planned.planned_checks(pattern));
    let of_delivery = delivered.map(|delivered| delivered.delivered_checks(pattern, planned));
    [of_plan.unwrap_or_default(), of_delivery.unwrap_or_default()]
}

impl ArrivalSequence {
    /// Tests of a plan: together they refuse 1 in 10,000 honest ones.
    pub fn planned_checks(&self, pattern: &ArrivalPattern) -> Vec<Check> {
        if let Some(beats) = &self.constant_arrivals {
            return vec![beats.planned_check(), self.beats_check(Rule::PlannedArrivals)];
        }
        self.facets(pattern, Rule::PlannedArrivals, None)
    }

    /// Tests delivered arrivals. The tests together accuse fewer than 2 in 100 honest sequences of chance. They hardly
    /// ever accuse one that was delivered as planned when the `plan` is known.
    pub fn delivered_checks(&self, pattern: &ArrivalPattern, plan: Option<&Self>) -> Vec<Check> {
        if let Some(beats) = &self.constant_arrivals {
            return vec![beats.delivered_check(), self.beats_check(Rule::DeliveredArrivals)];
        }
        let plan = plan.and_then(|plan| Some((plan, plan.fit.as_ref()?)));
        self.facets(pattern, Rule::DeliveredArrivals, plan)
    }

    fn facets(&self, pattern: &ArrivalPattern, rule: Rule, plan: Option<(&Self, &ArrivalFit)>) -> Vec<Check> {
        if GapLaw::from_pattern(pattern) == GapLaw::Replayed {
            return vec![not_tested(rule, Some(self.arrivals), REPLAYED.to_owned())];
        }
        match &self.fit {
            Some(fit) => Facet::ALL.map(|facet| facet.check(pattern, rule, (self, fit), plan)).to_vec(),
            None => vec![self.too_few(rule)],
        }
    }

    fn too_few(&self, rule: Rule) -> Check {
        let sentence = format!(
            "{} {}: at least {FEWEST} are needed to test the process",
            counted(self.arrivals, "arrival"),
            adjective(rule)
        );
        not_tested(rule, Some(self.arrivals), sentence)
    }

    /// Tests the number of beats. There are to be as many as go into the stretch, to one, or 1 % where that is more.
    pub(super) fn beats_check(&self, rule: Rule) -> Check {
        let (missed, bar) = (self.arrivals as f64 - self.expected, (0.01 * self.expected).max(1.0));
        let sentence = format!(
            "{}; constant intervals give {}; limit: ±{}",
            counted(self.arrivals, "arrival"),
            three_digits(self.expected),
            three_digits(bar)
        );
        // A beat on the very end of the stretch is not in it.
        let measure = Measure::new(rule, "arrivals beyond those expected");
        cured(within(measure, missed, bar + 1e-6, sentence))
    }
}

/// Chance that honest runs are accused, half of it on each side. It is as small as for plans, since the seeds say the
/// same every time and honest ones that were refused would be refused for ever.
const ALPHA: f64 = 1e-4;

/// Tests the counts of runs with seeds of their own. Σ(N − expected)²/expected is χ² with one degree of freedom a run.
///
/// Runs that were stretched to hit their count vary too little, even where the gaps of each look right; two runs
/// suffice to see it. Runs of a metronome have no chance in them and are left out. Not tested for fewer than two.
pub fn counts_over_runs(runs: &[&ArrivalSequence]) -> Check {
    let runs: Vec<_> = runs.iter().filter(|run| run.fit.is_some()).collect();
    let measure = Measure::new(Rule::DeliveredArrivals, "variation of the counts of runs");
    if runs.len() < 2 {
        return measure.not_tested("fewer than two runs show no variation of counts");
    }
    let n = runs.len() as f64;
    let off = |run: &&&ArrivalSequence| run.arrivals as f64 - run.expected;
    let value = runs.iter().map(|run| off(run) * off(run) / run.expected).sum::<f64>() / n;
    let bound = |p| chi_squared_quantile(p, n) / n;
    let (low, high) = (bound(ALPHA / 2.0), bound(1.0 - ALPHA / 2.0));
    let sentence = format!(
        "the counts of {} runs vary {} times as much as the declared process expects; limits: {} and {}",
        runs.len(),
        three_digits(value),
        three_digits(low),
        three_digits(high)
    );
    let cure = "use a different seed for each run, and do not stretch a plan to hit its count";
    let critical = if value < 1.0 { low } else { high };
    measure.judged(value < low || value > high, [value, critical], sentence, cure)
}
