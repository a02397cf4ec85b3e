//! The tests that arrivals of chance are put to.

use super::law::{GapLaw, adjective, deviation_of, judged, process_name, within};
use super::sequence::{ArrivalFit, ArrivalSequence};
use crate::analysis::judgements::{Check, Measure, Rule, Status};
use crate::analysis::statistics::{
    Dispersion, EXPONENTIAL_A2_AT_1_PERCENT, EXPONENTIAL_A2_AT_2_IN_100_000, UNIFORM_A2_AT_1_PERCENT,
    UNIFORM_A2_AT_2_IN_100_000,
};
use crate::random::normal_quantile;
use crate::units::{counted, percent, three_digits};
use crate::workload::ArrivalPattern;

/// How far out chance alone may put a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Allowance {
    /// Allowance for arrivals of which nothing else is known. All tests together accuse at most 2 in 100 honest
    /// sequences (the sum of their levels, by Bonferroni's inequality: 1 + 0.27 + 0.1 + 0.1 + 0.05 = 1.52 %).
    Sequence,
    /// Allowance for plans, and for deliveries of a plan that was itself so unusual. All tests together accuse 1 in
    /// 10,000 (2 in 100,000 each). A seed says the same in every run, so an honest one that was refused would be
    /// refused for ever.
    Plan,
}

/// A side of the arrivals that is tested. Each fails only where chance does not explain it *and* it is large enough to
/// matter: with many thousand gaps a test sees trifles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Facet {
    /// How many there are.
    Count,
    /// Whether counts vary as they should.
    Spread,
    /// The distribution of the gaps.
    Gaps,
    /// Whether a gap depends on the one before.
    Neighbours,
    /// Offset of the last arrival from its count. In a sequence that was stretched until it fell there exactly, it is
    /// 0.
    Landing,
}

/// Share of wrong gaps that is too small to matter.
const SMALL_DEVIATION: f64 = 0.01;
/// Correlation of neighbours that is too small to matter. It moves the dispersion of counts by a tenth (1 + 2ρ; Cox and
/// Lewis 1966), which is that figure's own bar.
const SMALL_CORRELATION: f64 = 0.05;
/// Dispersion that is too near to 1 to matter.
const SMALL_DISPERSION: (f64, f64) = (0.9, 1.1);
/// Deviation of the count, as a share of it, that is too small to matter.
const SMALL_COUNT: f64 = 0.01;

impl Allowance {
    /// Returns the probability with which a test accuses honest arrivals. That of [`Facet::Gaps`] is in its critical
    /// values.
    fn alpha(self, facet: Facet) -> f64 {
        match (self, facet) {
            (Self::Plan, _) => 2e-5,
            (Self::Sequence, Facet::Gaps) => 0.01,
            // 3 standard deviations.
            (Self::Sequence, Facet::Count) => 0.0027,
            (Self::Sequence, Facet::Neighbours | Facet::Spread) => 0.001,
            (Self::Sequence, Facet::Landing) => 0.0005,
        }
    }

    fn a_squared(self, gaps: GapLaw) -> f64 {
        match (self, gaps) {
            (Self::Sequence, GapLaw::Specified) => UNIFORM_A2_AT_1_PERCENT,
            (Self::Sequence, _) => EXPONENTIAL_A2_AT_1_PERCENT,
            (Self::Plan, GapLaw::Specified) => UNIFORM_A2_AT_2_IN_100_000,
            (Self::Plan, _) => EXPONENTIAL_A2_AT_2_IN_100_000,
        }
    }

    /// How many standard deviations from 0 a normal figure may lie.
    fn z(self, facet: Facet) -> f64 {
        normal_quantile(1.0 - self.alpha(facet) / 2.0)
    }
}

impl Facet {
    /// The plainest first.
    pub(super) const ALL: [Self; 5] = [Self::Count, Self::Spread, Self::Gaps, Self::Neighbours, Self::Landing];

    fn statistic(self) -> &'static str {
        match self {
            Self::Gaps => {
                "the lesser of two, each as a multiple of its limit: Anderson–Darling A² of the gaps, their largest \
                 CDF deviation"
            }
            Self::Neighbours => "Spearman correlation of neighbouring gaps",
            Self::Spread => "index of dispersion of counts",
            Self::Count => "arrivals beyond those expected",
            Self::Landing => "offset of the last arrival, in arrivals",
        }
    }

    /// Tests `sequence`, whose fit is `fit`. Where the `plan` from which it was delivered is unusual itself, by the
    /// bar for sequences, the seed is what made it so: then the plan's own bar holds for what was delivered too.
    pub(super) fn check(
        self,
        pattern: &ArrivalPattern,
        rule: Rule,
        (sequence, fit): (&ArrivalSequence, &ArrivalFit),
        plan: Option<(&ArrivalSequence, &ArrivalFit)>,
    ) -> Check {
        let measure = Measure::new(rule, self.statistic());
        let read = |(sequence, fit): (&ArrivalSequence, &ArrivalFit), allowance| match self {
            Self::Gaps => gaps(pattern, measure, fit, allowance),
            Self::Neighbours => neighbours(measure, sequence, fit, allowance),
            Self::Spread => spread(measure, fit, allowance),
            Self::Count => count(pattern, measure, sequence, allowance),
            Self::Landing => landing(pattern, measure, sequence, fit, allowance),
        };
        let failed = |check: &Check| check.outcome == Status::Missed;
        let usual = if rule == Rule::PlannedArrivals { Allowance::Plan } else { Allowance::Sequence };
        let own = read((sequence, fit), usual);
        let unusual = plan.is_some_and(|plan| failed(&read(plan, Allowance::Sequence)));
        if failed(&own) && unusual { read((sequence, fit), Allowance::Plan) } else { own }
    }
}

fn gaps(pattern: &ArrivalPattern, measure: Measure, fit: &ArrivalFit, allowance: Allowance) -> Check {
    let which = adjective(measure.rule);
    let (value, critical) = (fit.anderson_darling, allowance.a_squared(GapLaw::from_pattern(pattern)));
    let (deviation, is_large) = (fit.largest_cdf_deviation, fit.largest_cdf_deviation > SMALL_DEVIATION);
    let (a_squared, limit, small) = (three_digits(value), three_digits(critical), percent(SMALL_DEVIATION));
    // Both must be over their limit: what chance explains is no fault, and neither is what is too small to matter.
    let found = match (value > critical, is_large) {
        (true, true) => format!(
            "is {a_squared} (limit: {limit}); their largest CDF deviation is {} (limit: {small})",
            percent(deviation)
        ),
        (false, true) => format!(
            "is {a_squared} (limit: {limit}): chance explains it, and so their largest CDF deviation of {}",
            percent(deviation)
        ),
        (_, false) => format!(
            "is {a_squared}; their largest CDF deviation of {} is too small to matter (limit: {small})",
            percent(deviation)
        ),
    };
    let sentence =
        format!("Anderson–Darling A² of the {which} gaps against the declared {} {found}", process_name(pattern));
    within(measure, (value / critical).min(deviation / SMALL_DEVIATION), 1.0, sentence)
}

fn neighbours(measure: Measure, sequence: &ArrivalSequence, fit: &ArrivalFit, allowance: Allowance) -> Check {
    let pairs = sequence.arrivals as f64 - 1.0;
    let critical = (allowance.z(Facet::Neighbours) / libm::sqrt(pairs - 1.0)).max(SMALL_CORRELATION);
    let value = fit.lag1_spearman;
    let sentence = format!(
        "Spearman correlation of neighbouring {} gaps is {}; limit: ±{}",
        adjective(measure.rule),
        three_digits(value),
        three_digits(critical)
    );
    within(measure, value, critical, sentence)
}

fn spread(measure: Measure, fit: &ArrivalFit, allowance: Allowance) -> Check {
    let dispersion = Dispersion { index: fit.dispersion_index, counts: fit.dispersion_slices };
    let (low, high) = dispersion.bounds(allowance.alpha(Facet::Spread));
    let (low, high) = (low.min(SMALL_DISPERSION.0), high.max(SMALL_DISPERSION.1));
    let value = dispersion.index;
    let sentence = format!(
        "index of dispersion of the {} arrivals over {} slices is {}; limits: {} and {}, 1 is as declared",
        adjective(measure.rule),
        dispersion.counts,
        three_digits(value),
        three_digits(low),
        three_digits(high)
    );
    let critical = if value < 1.0 { low } else { high };
    judged(measure, value < low || value > high, [value, critical], sentence)
}

fn count(pattern: &ArrivalPattern, measure: Measure, sequence: &ArrivalSequence, allowance: Allowance) -> Check {
    let expected = sequence.expected;
    let critical = (allowance.z(Facet::Count) * libm::sqrt(expected)).max(SMALL_COUNT * expected);
    let value = sequence.arrivals as f64 - expected;
    let sentence = format!(
        "{} {}; the declared {} expects {}; limit: ±{}",
        counted(sequence.arrivals, "arrival"),
        adjective(measure.rule),
        process_name(pattern),
        three_digits(expected),
        three_digits(critical)
    );
    within(measure, value, critical, sentence)
}

/// Tests how far the last arrival is from its count. The offset is nearly normal with the deviation of the count, so it
/// lies within ±x of 0 with probability 2x/(√(2π)·deviation). No smallness excuses it. A count that is the same in
/// every run varies too little by all of its variance.
fn landing(
    pattern: &ArrivalPattern,
    measure: Measure,
    sequence: &ArrivalSequence,
    fit: &ArrivalFit,
    allowance: Allowance,
) -> Check {
    let half_root_of_two_pi = libm::sqrt(std::f64::consts::FRAC_PI_2);
    let critical =
        allowance.alpha(Facet::Landing) * half_root_of_two_pi * deviation_of(pattern, sequence.arrivals as f64);
    let value = fit.last_arrival_offset;
    let sentence = format!(
        "the last {} arrival is {} arrivals from the moment at which {} are expected; limit: {} at least, within which \
         a plan was almost certainly stretched",
        adjective(measure.rule),
        three_digits(value.abs()),
        sequence.arrivals,
        three_digits(critical)
    );
    judged(measure, value.abs() < critical, [value, critical], sentence)
}
