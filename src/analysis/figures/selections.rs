//! The selections of figures that results show, follow and compare, each in its own order.

use super::catalogue::Metric::{
    self, Accuracy, Amplification, AnswerTokens, AudioSeconds, CacheLoss, ChunkGap, CostPerAcceptableAnswer,
    DeadlineMiss, E2e, E2eFromSend, ErrorRate, Goodput, InFlight, InputTokens, Inputs, Itl, OutputTokens,
    OutputTokensPerGpu, QueueWait, RealTimeFactor, RequestRate, ScheduleLag, SloAttainment, TokensPerUser, Tpot,
    TpotAdjusted, Ttfa, Ttft, TtftFromSend,
};
use super::key::{FigureKey, Statistic};
use super::quantile::Quantile;

/// Rates and shares by which runs are compared.
const RATES: [Metric; 10] = [
    RequestRate,
    Inputs,
    AudioSeconds,
    RealTimeFactor,
    OutputTokens,
    OutputTokensPerGpu,
    Goodput,
    SloAttainment,
    ErrorRate,
    Accuracy,
];

/// Latencies that other tools have too.
pub(crate) const LATENCIES_OF_TOOLS: [Metric; 6] = [TtftFromSend, Tpot, TpotAdjusted, Itl, ChunkGap, E2eFromSend];

/// Latencies in the table of a run; the others are in its JSON.
pub(crate) const LATENCIES_OF_RUN: [Metric; 8] = [Ttft, Ttfa, Tpot, Itl, E2e, TtftFromSend, QueueWait, ScheduleLag];

/// Latencies of a request, in the order of their columns.
pub(crate) const LATENCIES_OF_REQUEST: [Metric; 9] =
    [ScheduleLag, QueueWait, Ttft, TtftFromSend, Ttfa, Tpot, TpotAdjusted, E2e, E2eFromSend];

/// Statistics of each latency over repeats.
pub(crate) const STATISTICS_OF_REPEATS: [Statistic; 6] = {
    let [mean, _, _, p50, p90, p95, p99, p999] = Statistic::ALL;
    [mean, p50, p90, p95, p99, p999]
};

const MEAN: Option<Statistic> = Some(Statistic::Mean);
const P50: Option<Statistic> = Some(Statistic::Percentile(Quantile::P50));
const P95: Option<Statistic> = Some(Statistic::Percentile(Quantile::P95));
const P99: Option<Statistic> = Some(Statistic::Percentile(Quantile::P99));
/// The statistics that tables of experiments have of each latency.
const USUAL: &[Option<Statistic>] = &[P50, P95, P99];
/// Stands for figures without a statistic.
const ALONE: &[Option<Statistic>] = &[None];

/// Group of metrics with the statistics of each.
type Group = (&'static [Metric], &'static [Option<Statistic>]);

const COSTS: Group = (&Metric::COSTS, ALONE);

fn keys(groups: &'static [Group]) -> impl Iterator<Item = FigureKey> {
    groups.iter().flat_map(|(metrics, statistics)| {
        let of = |metric| statistics.iter().map(move |&statistic| FigureKey { statistic, metric, part: None });
        metrics.iter().copied().flat_map(of)
    })
}

/// Figures by which runs are compared.
pub(crate) fn compared() -> impl Iterator<Item = FigureKey> {
    keys(&[(&[Ttft], USUAL), (&[Tpot], &[P50, P99]), (&[Itl], &[P99]), (&[E2e], &[P50, P99]), (&RATES, ALONE), COSTS])
}

/// Figures by which runs are compared and that each request has, without their statistics.
pub(crate) fn compared_by_request() -> impl Iterator<Item = FigureKey> {
    keys(&[(&Metric::MAIN, ALONE), (&RATES, ALONE)])
}

/// Figures by which runs of several tools are compared.
pub(crate) fn compared_of_tools() -> impl Iterator<Item = FigureKey> {
    keys(&[(&LATENCIES_OF_TOOLS, &[MEAN, P50, P95, P99]), (&[ErrorRate], ALONE)])
}

/// Figures that several tools have under one name, whatever each means by it.
pub(crate) fn under_one_name() -> impl Iterator<Item = FigureKey> {
    keys(&[(&[Ttft], &[P50, P99]), (&[Tpot], &[P50]), (&[Itl, E2e], &[P99]), (&[RequestRate, OutputTokens], ALONE)])
}

/// Figures by which sweeps are compared, load by load.
pub(crate) fn compared_of_loads() -> impl Iterator<Item = FigureKey> {
    keys(&[
        (&Metric::MAIN, &[P99]),
        (&[RequestRate, Inputs, AudioSeconds, OutputTokens, OutputTokensPerGpu, Goodput, Accuracy], ALONE),
    ])
}

/// Figures of a comparison that a screen has room for.
pub(crate) fn headlines() -> impl Iterator<Item = FigureKey> {
    const WHOLE: [Metric; 7] =
        [Inputs, OutputTokens, OutputTokensPerGpu, Goodput, ErrorRate, Accuracy, CostPerAcceptableAnswer];
    keys(&[
        (&[Ttft, Tpot], USUAL),
        (&[TtftFromSend], &[P50, P99]),
        (&[E2e], &[P95, P99]),
        (&[E2eFromSend], &[P99]),
        (&WHOLE, ALONE),
    ])
}

/// Figures that decide an A/B test of streamed answers where none was chosen.
pub(crate) fn deciding_of_streams() -> impl Iterator<Item = FigureKey> {
    keys(&[(&[Ttft], &[P50, P95]), (&[Tpot], &[P50]), (&[E2e], &[P95])])
}

/// Figures that decide an A/B test of answers in one piece where none was chosen.
pub(crate) fn deciding_of_whole_answers() -> impl Iterator<Item = FigureKey> {
    keys(&[(&[E2e], &[P50, P95])])
}

/// Figures that an A/B test tells beside those that decide.
pub(crate) fn explored() -> impl Iterator<Item = FigureKey> {
    const RATES: [Metric; 6] = [Inputs, OutputTokens, OutputTokensPerGpu, RequestRate, Goodput, SloAttainment];
    keys(&[(&Metric::MAIN_AND_ITL, USUAL), (&RATES, ALONE), COSTS])
}

/// Figures that tables of experiments follow.
pub(crate) fn of_rows() -> impl Iterator<Item = FigureKey> {
    keys(&[(&Metric::MAIN_AND_ITL, USUAL), (&RATES, ALONE), COSTS])
}

/// Figures of a row that may be better at the price of each GPU.
pub(crate) fn traded() -> impl Iterator<Item = FigureKey> {
    keys(&[(&Metric::MAIN, &[P50]), (&[OutputTokensPerGpu], ALONE)])
}

/// Figures that sweeps follow.
pub(crate) fn of_loads() -> impl Iterator<Item = FigureKey> {
    const OTHERS: [Metric; 15] = [
        Goodput,
        SloAttainment,
        DeadlineMiss,
        CacheLoss,
        ErrorRate,
        Accuracy,
        Amplification,
        RequestRate,
        Inputs,
        InputTokens,
        OutputTokens,
        OutputTokensPerGpu,
        AnswerTokens,
        TokensPerUser,
        InFlight,
    ];
    keys(&[(&Metric::MAIN_AND_ITL, USUAL), (&OTHERS, ALONE), (&Metric::OF_SERVER, ALONE), COSTS])
}

/// Figures of repeats, with these statistics of each latency. Those that follow from others are left out.
pub(crate) fn of_repeats(statistics: &[Statistic]) -> impl Iterator<Item = FigureKey> {
    FigureKey::all(statistics).filter(|key| !matches!(key.metric, TokensPerUser | InFlight))
}
