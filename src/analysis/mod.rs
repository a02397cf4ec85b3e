//! Records turned into numbers: exact percentiles, latencies, rates, promises kept, advice and a verdict.

mod aliases;
mod answer_forms;
mod arrivals;
mod attainment;
mod binomial;
mod calibration;
mod check;
mod client;
mod closed_loop;
mod counts;
mod curve;
mod dependence;
mod failures;
mod fairness;
mod findings;
pub mod fit;
mod gap_histogram;
mod gaps;
mod group;
mod in_flight;
mod judgement;
mod latency;
mod latency_row;
mod latency_table;
mod load_form;
mod measure;
mod metric;
mod objective;
mod objective_preset;
mod observed;
mod over_share;
mod pauses;
mod percentile;
mod prefix_cache;
mod quality;
mod quantile;
mod rates;
mod reproduction;
mod sampled;
#[cfg(test)]
mod schemas;
mod scope;
pub(crate) mod serving;
mod sessions;
mod sorted;
pub mod statistics;
mod steady_state;
mod subject;
mod summary;
mod taken;
mod telemetry;
#[cfg(test)]
pub(crate) mod test_runs;
mod timeline;
mod tokens;
mod trend;
mod verdict;
pub(crate) mod wording;

pub use aliases::Alias;
pub use answer_forms::{AnswerForms, ClassForms, FormFault};
pub use arrivals::{
    ArrivalBeats, ArrivalFigures, ArrivalFit, ArrivalSequence, ArrivalShift, ClassArrivals, Untested,
    counts_over_runs,
};
pub use attainment::Attainment;
pub use calibration::CalibrationSummary;
pub use check::{Check, CheckOutcome};
pub use client::{ClientLoad, DelaySummary};
pub use closed_loop::ClosedLoop;
pub use counts::RequestCounts;
pub use curve::LatencyCurve;
pub use failures::{FailureCount, Failures};
pub use fairness::Fairness;
pub use findings::{Finding, FindingKind};
pub use gap_histogram::{GapBar, GapHistogram};
pub use gaps::Stalls;
pub use group::{Group, Promise};
pub use in_flight::{InFlight, Level};
pub use judgement::{Judgement, Status};
pub use latency::RequestLatency;
pub use latency_row::{LatencyRow, Percentile};
pub use latency_table::LatencyTable;
pub use load_form::LoadForm;
pub use measure::{Measure, NotAMeasure};
pub use metric::Metric;
pub use objective::{Objective, ObjectiveError, UnfitObjective};
pub use objective_preset::ObjectivePreset;
pub use observed::of_request;
pub use pauses::{PauseImpact, TouchedPercentile};
pub use percentile::{Figure, Sample};
pub use prefix_cache::{HitSource, MeasuredHits, PrefixCache};
pub use quality::{CheckExample, CheckPasses, Passes, Quality};
pub use quantile::{Mark, Quantile};
pub use rates::Rates;
pub use reproduction::{Fact, Reproduction, Teller, ToldFact};
pub use sampled::{Dot, Fate, SampledRequests, Scatter};
pub use scope::{PartKind, Scope};
pub use sessions::{Sessions, TurnGroup};
pub use steady_state::{Beginning, SteadyState, Unsettled};
pub use subject::{Comparison, Flow, Sense, Share, Statistic, Subject};
pub use summary::{RunDescription, Summary, Window, summarise};
pub use taken::{TakenImages, TakenPrompts};
pub use telemetry::{
    BothAccounts, BucketQuantile, CountBeside, DeviceSummary, EnergySource, EnergyUse, FollowedGauge,
    GaugeSummary, PageSummary, ServerSide, TimeBeside, TimeSummary, WentBack,
};
pub use timeline::{Bin, BinWait, Timeline};
pub use tokens::{Balance, MadePrompts, TokenAccount};
pub use trend::Trend;
pub(crate) use verdict::{ERROR_RATE_BAR, lag_bar_ms};
pub use verdict::{Reason, Rule, Verdict};
