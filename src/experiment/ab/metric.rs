//! One metric over all rounds: B compared with A, with intervals and a verdict.

use serde::Serialize;
use strum::IntoStaticStr;

use super::differences::{AbPair, Differences};
use super::power::{LEVEL, Power};
use crate::analysis::statistics::{Estimate, bootstrap, mean, variance};
use crate::analysis::{FigureKey, FigureKind, Sample};
use crate::experiment::difference::{DifferenceScale, PerGpuTrade};

/// Half of the error rate at which a run becomes INVALID. A smaller difference between failure rates does not matter.
pub(super) const FAILURE_MARGIN: f64 = 0.005;

/// A metric over all rounds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AbMetric {
    /// Its name as typed.
    pub metric: FigureKey,
    /// The unit of its figures.
    pub unit: FigureKind,
    /// Whether less of it is better.
    pub less_is_better: bool,
    /// The scale of the comparison, which the test uses.
    pub scale: DifferenceScale,
    /// Rounds in which both runs count and have it.
    pub rounds: u64,
    /// Its figures, round by round.
    pub figures: Vec<AbPair>,
    /// Median of A's figures; absent where they are not all known.
    pub a: Option<f64>,
    /// Median of B's.
    pub b: Option<f64>,
    /// B − A, in its unit; absent for fewer rounds than six.
    pub difference: Option<Estimate>,
    /// B ÷ A; absent on the scale of differences.
    pub ratio: Option<Estimate>,
    /// `BCa` bootstrap interval of the ratio's geometric mean, for readers who expect it. On the scale of differences
    /// it is that of the mean difference. It is too narrow for so few rounds.
    pub bootstrap: Option<Estimate>,
    /// 90 % interval of the ratio, which lies within the margin where both are equivalent. On the scale of differences
    /// it is that of the difference.
    pub equivalence: Option<Estimate>,
    /// Difference that does not matter. It is a share of A, or of shares a difference in points ÷ 100.
    pub margin: f64,
    /// Spread of B ÷ A from round to round, as a share of itself. On the scale of differences it is the standard
    /// deviation of B − A. It is absent where a figure is not known.
    pub spread: Option<f64>,
    /// Difference that these rounds detect with 80 % power at this spread. It is in the unit of the margin.
    pub detectable: Option<f64>,
    /// Approximate number of rounds that detect the margin with 80 % power. They detect a difference as large as the
    /// margin.
    pub rounds_for_margin: Option<u64>,
    /// p-value of the exact signed-rank test; absent where no round has the metric.
    pub p: Option<f64>,
    /// The p-value adjusted by Holm's procedure over all deciding metrics; absent for other metrics.
    pub adjusted_p: Option<f64>,
    /// The verdict; absent for a metric that does not decide, and before all rounds ran.
    pub verdict: Option<AbVerdict>,
}

/// An estimate as people read the scale; `None` where nothing bounds it.
fn on(scale: DifferenceScale, estimate: Estimate) -> Option<Estimate> {
    estimate.value.is_finite().then(|| estimate.map(|shift| scale.place(shift)))
}

impl AbMetric {
    /// The metric from these differences, without a verdict; `power` is that of as many rounds.
    pub(super) fn new(measure: &FigureKey, differences: &Differences, margin: f64, power: &Power) -> Self {
        let (scale, pairs) = (differences.scale, &differences.pairs);
        let estimate = |scale, level| differences.estimate(scale, level).and_then(|found| on(scale, found));
        let exact = differences.exact();
        let resampled = exact
            .as_deref()
            .and_then(|exact| bootstrap(exact, &measure.to_string(), |sample| mean(sample).unwrap_or(f64::NAN)));
        let spread = exact.as_deref().and_then(variance).map(libm::sqrt);
        let a = median(pairs.iter().map(|pair| pair.a));
        let margin = margin_of(measure, scale, margin, a);
        Self {
            metric: measure.clone(),
            unit: measure.kind(),
            less_is_better: measure.less_is_better(),
            scale,
            rounds: pairs.len() as u64,
            figures: pairs.clone(),
            a,
            b: median(pairs.iter().map(|pair| pair.b)),
            difference: estimate(DifferenceScale::Difference, LEVEL),
            ratio: (scale == DifferenceScale::Ratio).then(|| estimate(scale, LEVEL)).flatten(),
            bootstrap: resampled.and_then(|found| on(scale, found)),
            equivalence: estimate(scale, 2.0 * LEVEL),
            margin,
            spread: spread.map(|spread| scale.length(spread)),
            detectable: spread.zip(power.detectable()).map(|(spread, times)| scale.length(spread * times)),
            rounds_for_margin: spread.and_then(|spread| power.rounds_for(scale.shift(margin) / spread)),
            p: differences.p(),
            adjusted_p: None,
            verdict: None,
        }
    }

    /// The verdict by the adjusted p-value. Equivalent precedes better and worse: a significant difference that
    /// lies within the margin does not matter.
    pub(super) fn judged(&self) -> AbVerdict {
        if self.is_within_margin() {
            return AbVerdict::Equivalent;
        }
        match (self.adjusted_p.is_some_and(|p| p <= LEVEL), self.is_improvement()) {
            (true, Some(true)) => AbVerdict::Better,
            (true, Some(false)) => AbVerdict::Worse,
            (true, None) | (false, _) => AbVerdict::Inconclusive,
        }
    }

    fn is_within_margin(&self) -> bool {
        let margin = self.scale.shift(self.margin);
        let [least, most] = [-margin, margin].map(|shift| self.scale.place(shift));
        self.equivalence.is_some_and(|within| within.low >= least && within.high <= most)
    }

    /// The difference of B from A: a share of A, or for shares a difference.
    pub fn change(&self) -> Option<f64> {
        match self.scale {
            DifferenceScale::Ratio => self.ratio.map(|ratio| ratio.value - 1.0),
            DifferenceScale::Difference => self.difference.map(|difference| difference.value),
        }
    }

    /// Whether B's figure is better; `None` where both are equal or unknown.
    fn is_improvement(&self) -> Option<bool> {
        let change = self.change().filter(|change| *change != 0.0)?;
        Some((change < 0.0) == self.less_is_better)
    }

    /// The change in words: `p95 ttft 12.3 % lower`.
    pub fn change_in_words(&self) -> String {
        let metric = &self.metric;
        match self.change() {
            None => format!("{metric} not known"),
            Some(0.0) => format!("{metric} the same"),
            Some(change) => {
                let side = if change < 0.0 { "lower" } else { "higher" };
                format!("{metric} {} {side}", self.length_in_words(change.abs()))
            }
        }
    }

    /// A length in the unit of the margin, in words.
    pub fn length_in_words(&self, length: f64) -> String {
        self.scale.in_words(self.unit, length)
    }
}

/// Returns the margin in the scale's own unit. `margin` is the requested one and `a` A's figure.
fn margin_of(subject: &FigureKey, scale: DifferenceScale, margin: f64, a: Option<f64>) -> f64 {
    match (subject.kind(), scale) {
        _ if subject.metric.counts_failures() => FAILURE_MARGIN,
        (FigureKind::Share, _) | (_, DifferenceScale::Ratio) => margin,
        (_, DifferenceScale::Difference) => margin * a.unwrap_or(0.0),
    }
}

/// Returns a latency that decides and is better, while each GPU makes fewer tokens. The tokens are judged by their
/// verdict where it decides, else by their own test, for no other figure is looked at so.
pub(super) fn per_gpu_trade(metrics: &[AbMetric], explored: &[AbMetric]) -> Option<PerGpuTrade> {
    let is_sure = |metric: &AbMetric| match metric.verdict {
        Some(verdict) => matches!(verdict, AbVerdict::Better | AbVerdict::Worse),
        None => metric.unit == FigureKind::Rate && metric.p.is_some_and(|p| p <= LEVEL),
    };
    let all = metrics.iter().chain(explored).filter(|metric| metric.scale == DifferenceScale::Ratio);
    let changed = |metric: &AbMetric| Some((metric.metric.clone(), metric.change()?, is_sure(metric)));
    PerGpuTrade::from_changes(all.filter_map(changed))
}

/// The median, if all figures are known.
fn median(figures: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    Sample::new(figures.collect::<Option<_>>()?).quantile(0.5)?.exact()
}

/// A verdict: on one metric, or on all of them together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, IntoStaticStr)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum AbVerdict {
    /// Side that is better than A by more than chance. Of all metrics it is better by some, worse by none, without more
    /// failures.
    Better,
    /// Worse; of all metrics by some, better by none.
    Worse,
    /// Better by one metric, worse by another: a trade-off for the user to weigh.
    Mixed,
    /// Within the margin, by every metric: no difference that matters.
    Equivalent,
    /// The rounds do not decide.
    Inconclusive,
    /// Too few rounds have figures that can be trusted.
    Invalid,
    /// Not all rounds ran: stopping early inflates false positives.
    Unfinished,
}

impl AbVerdict {
    /// Combines the verdicts on single metrics.
    pub fn joined(verdicts: &[Self]) -> Self {
        let any = |verdict| verdicts.contains(&verdict);
        match (any(Self::Better), any(Self::Worse)) {
            (true, true) => Self::Mixed,
            (true, false) => Self::Better,
            (false, true) => Self::Worse,
            (false, false) if !verdicts.is_empty() && !any(Self::Inconclusive) => Self::Equivalent,
            (false, false) => Self::Inconclusive,
        }
    }

    /// The verdict in words.
    pub fn word(self) -> &'static str {
        self.into()
    }
}
