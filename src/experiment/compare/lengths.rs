//! Answers that end by themselves, which one side may make longer than the other.

use super::side::ComparedSide;
use crate::analysis::{FigureKey, Metric};
use crate::workload::RequestClass;

/// Share of the baseline's mean lengths by which others may differ and be the same. Tools count prompts differently.
pub(super) const SAME_LENGTH: f64 = 0.1;

/// Share by which the mean answer is longer than the baseline's. It is `None` where lengths are forced or the same.
pub(super) fn longer_answers(baseline: &ComparedSide, other: &ComparedSide) -> Option<f64> {
    if ![baseline, other].iter().any(|side| side.workload().classes.iter().any(RequestClass::ends_by_itself)) {
        return None;
    }
    let mean = |side: &ComparedSide| side.figure(&FigureKey::from_metric(Metric::AnswerTokens)).level().value;
    let longer = mean(other)? / mean(baseline).filter(|mean| *mean > 0.0)? - 1.0;
    (longer.abs() > SAME_LENGTH).then_some(longer)
}

/// Whether longer answers alone move the figure.
pub(super) fn follows_length(metric: Metric) -> bool {
    use Metric::{
        ArrivedOutputTokens, E2e, E2eFromSend, Goodput, OutputTokens, OutputTokensPerGpu, SloAttainment,
        SlowTokensPerRequest, TokensPerRequest,
    };
    let rates = [OutputTokens, ArrivedOutputTokens, OutputTokensPerGpu, TokensPerRequest, SlowTokensPerRequest];
    [E2e, E2eFromSend, Goodput, SloAttainment].contains(&metric)
        || rates.contains(&metric)
        || Metric::COSTS.contains(&metric)
}
