//! Figures that differ between two sides and move others: lengths of answers, and hits of the prefix cache.

use serde::Serialize;

use crate::analysis::{AcrossRuns, FigureKey, Metric};
use crate::units::percent;

/// Share of the baseline's mean lengths by which others may differ and be the same. Tools count prompts differently.
pub(super) const SAME_LENGTH: f64 = 0.1;
/// Difference of hit rates within which they are the same.
const SAME_HITS: f64 = 0.02;

/// Differences from the baseline that move other figures, beyond chance.
#[serde_with::skip_serializing_none]
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Confounders {
    /// Share by which the mean answer is longer than the baseline's. It is absent where lengths are forced or the same;
    /// else figures that follow from lengths are not judged.
    pub longer_answers: Option<f64>,
    /// Share of prompt tokens whose hits the server lost beyond those that the baseline's lost. It is absent where both
    /// lost as many.
    pub lost_hits: Option<f64>,
}

impl Confounders {
    /// Returns the differences between the figures of the baseline and the other side. `is_natural` says whether
    /// answers end by themselves on one of them.
    pub(in crate::experiment) fn new(is_natural: bool, figures: impl Fn(&FigureKey) -> [AcrossRuns; 2]) -> Self {
        let of = |metric: Metric| {
            let [before, after] = figures(&FigureKey::from_metric(metric)).map(|figure| figure.level());
            let ends = [before, after].map(|level| level.low.zip(level.high));
            let is_chance = match ends {
                [Some((low, high)), Some((other_low, other_high))] => low <= other_high && other_low <= high,
                _ => false,
            };
            before.value.zip(after.value).filter(|_| !is_chance)
        };
        let longer = of(Metric::AnswerTokens).filter(|(before, _)| is_natural && *before > 0.0);
        let longer = longer.map(|(before, after)| after / before - 1.0);
        let lost = of(Metric::CacheLoss).map(|(before, after)| after - before);
        Self {
            longer_answers: longer.filter(|by| by.abs() > SAME_LENGTH),
            lost_hits: lost.filter(|by| by.abs() > SAME_HITS),
        }
    }

    /// Whether the figure follows from lengths that differ, so that it is not judged.
    pub(in crate::experiment) fn is_moved(self, metric: Metric) -> bool {
        self.longer_answers.is_some() && follows_length(metric)
    }

    /// Says what differs on `side`, in sentences.
    pub fn in_words(self, side: &str) -> impl Iterator<Item = String> + use<> {
        let by = |by: f64, more, less| (percent(by.abs()), if by < 0.0 { less } else { more });
        let longer = self.longer_answers.map(|share| {
            let (share, than) = by(share, "longer", "shorter");
            format!(
                "confounded: answers end by themselves and are {share} {than} on {side}, which alone moves e2e, \
                 goodput, output tokens/s and costs, so these are not judged; TTFT and TPOT are. --length forced on \
                 both sides compares them"
            )
        });
        let lost = self.lost_hits.map(|share| {
            let (share, than) = by(share, "fewer", "more");
            format!(
                "confounded: the prefix cache of {side} found {than} of the planned hits, by {share} of the prompt \
                 tokens, which alone moves TTFT. Begin both sides with the same cache, unless the cache is what is \
                 compared"
            )
        });
        longer.into_iter().chain(lost)
    }
}

/// Whether longer answers alone move the figure.
fn follows_length(metric: Metric) -> bool {
    use Metric::{
        ArrivedOutputTokens, E2e, E2eFromSend, Goodput, OutputTokens, OutputTokensPerGpu, SloAttainment,
        SlowTokensPerRequest, TokensPerRequest,
    };
    let rates = [OutputTokens, ArrivedOutputTokens, OutputTokensPerGpu, TokensPerRequest, SlowTokensPerRequest];
    [E2e, E2eFromSend, Goodput, SloAttainment].contains(&metric)
        || rates.contains(&metric)
        || Metric::COSTS.contains(&metric)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Figure;

    fn figures(answers: [&[f64]; 2], lost: [&[f64]; 2]) -> impl Fn(&FigureKey) -> [AcrossRuns; 2] {
        let of = |values: &[f64]| {
            let figures: Vec<_> = values.iter().map(|value| Some(Figure::Exact(*value))).collect();
            AcrossRuns::of_figures(&figures, f64::INFINITY)
        };
        let [answers, lost] = [answers.map(of), lost.map(of)];
        move |key| if key.metric == Metric::AnswerTokens { answers.clone() } else { lost.clone() }
    }

    #[test]
    fn what_differs_by_more_than_chance_confounds() {
        let found = Confounders::new(true, figures([&[100.0, 101.0, 99.0], &[120.0, 121.0, 119.0]], [&[0.01], &[0.2]]));
        assert!(found.longer_answers.is_some_and(|by| (by - 0.2).abs() < 1e-9), "{found:?}");
        assert!(found.lost_hits.is_some_and(|by| (by - 0.19).abs() < 1e-9), "{found:?}");
        assert!(found.is_moved(Metric::E2e) && !found.is_moved(Metric::Ttft));
        let words: Vec<_> = found.in_words("B").collect();
        assert!(
            words[0].contains("are 20 % longer on B") && words[1].contains("found fewer of the planned hits, by 19 %")
        );
        // Means that far apart may be chance.
        let wide = figures([&[60.0, 100.0, 140.0], &[90.0, 120.0, 150.0]], [&[0.0, 0.1, 0.2], &[0.1, 0.2, 0.3]]);
        assert_eq!(Confounders::new(true, wide), Confounders::default());
        // So little does not matter, and a forced length is what it is.
        let close = figures([&[100.0], &[109.0]], [&[0.01], &[0.02]]);
        assert_eq!(Confounders::new(true, close), Confounders::default());
        assert_eq!(Confounders::new(false, figures([&[100.0], &[150.0]], [&[], &[]])), Confounders::default());
    }
}
