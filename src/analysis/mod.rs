//! Records turned into numbers: exact percentiles, latencies, rates, SLO attainment, advice and a verdict.

mod arrivals;
mod checklist;
mod client;
mod figures;
mod findings;
pub mod fit;
mod judgements;
mod latency;
mod load;
mod parts;
mod requests;
pub(crate) mod rules;
mod server;
mod slo;
pub mod statistics;
mod summarise;
mod summary;
#[cfg(test)]
pub(crate) mod test_runs;
mod verdict;

pub use arrivals::beats::{ArrivalShift, ConstantArrivals};
pub use arrivals::classes::ClassArrivals;
pub use arrivals::figures::{ArrivalFigures, Untested};
pub use arrivals::process::counts_over_runs;
pub use arrivals::sequence::{ArrivalFit, ArrivalSequence};
pub use checklist::audit::Audit;
pub use checklist::evidence::{
    ArrivalEvidence, ArrivalShape, CountsGpus, Evidence, LatencyEvidence, LengthRange, PercentileEvidence,
    ResultSource, WarmUpEvidence,
};
pub(crate) use client::effects::{ClientEffect, LEAST_MS, SPOILED};
pub(crate) use client::load::DELAY_FLOOR_MS;
pub use client::load::{CalibrationSummary, ClientLoad, DelaySummary, LateStampSummary};
pub use client::pauses::HostStallImpact;
pub(crate) use figures::selections;
pub use figures::{
    Direction, Elsewhere, Figure, FigureInfo, FigureKey, FigureKeyError, FigureKind, Metric, PartName, Quantile,
    Sample, SampleWarning, Samples, Statistic, Unit, Unresolvable,
};
pub use judgements::{
    Check, Checklist, ChecklistItem, ChecklistRule, Finding, FindingKind, Reason, Rule, Status, Verdict, VerdictOutcome,
};
pub use latency::aliases::Alias;
pub use latency::curve::{GapBar, LatencyCurve, TokenGaps};
pub use latency::gaps::Stalls;
pub(crate) use latency::gaps::{Gaps, Received};
pub use latency::row::{LatencyRow, Percentile};
pub use latency::table::LatencyTable;
pub use load::aftermath::{GoodputStretch, SpikeAftermath};
pub use load::attempts::{AskedWaits, AttemptFigures, RetriedFailure};
pub use load::closed_loop::ClosedLoop;
pub use load::movement::Movement;
pub use load::rates::{InFlight, Rates, TimeAverage};
pub use load::sessions::{SessionTime, Sessions};
pub use load::steady_state::{Beginning, SteadyState, Trend};
pub(crate) use load::stretches::{LoadTimeline, PhaseOfLoad};
pub use load::timeline::{Bin, BinWait, Timeline};
pub use parts::fairness::Fairness;
pub use parts::part::Part;
pub use parts::phases::PhaseLoad;
pub use parts::servers::{ServerGroup, ServerShare};
pub use parts::slower::SlowerBy;
pub use parts::tags::TagValues;
pub use requests::{
    Accuracy, AnswerForms, Balance, CheckExample, CheckPasses, ClassForms, Dot, FailureCount, Failures, FormFault,
    Lengths, LoadForm, MadePrompts, NaturalAnswers, OddAnswers, Passes, Quality, RealTimeFactor, RequestCounts,
    RequestLatency, RequestSpeed, RequestState, SampledRequests, Scatter, ScoreChange, SlicePasses, StreamDelivery,
    TakenImages, TakenPrompts, TokenAccount, TokenDeadlines, answers_end, of_request,
};
pub(crate) use requests::{ScoredRows, SloOutcome, audio_seconds, real_time_factor, tokens_per_s};
pub(crate) use server::costs::cost_per_million;
pub use server::costs::{Costs, UnitCosts};
pub use server::devices::{DeviceSummary, EnergySource, EnergyUse, IdleDevice};
pub use server::histogram::{BothAccounts, BucketQuantile, CountBeside, TimeBeside, TimeSummary};
pub use server::leaving::LeavingFigures;
pub use server::pages::{PageSummary, WentBack};
pub use server::prefix_cache::priming::PrimingFigures;
pub use server::prefix_cache::{HitSource, MeasuredHits, PrefixCacheFigures};
pub use server::reported::ServerSide;
pub(crate) use server::settings::in_words_of;
pub(crate) use server::slowdown::{clock_and_heat, longest_slowdown, reason_in_words};
pub use server::speculation::{ChunkTokens, SpeculationFigures};
pub use server::track::{FollowedGauge, GaugeSummary};
pub use slo::attainment::Attainment;
pub use slo::judgement::Judgement;
pub(crate) use slo::objective::bound as parse_bound;
pub use slo::objective::{Comparison, Objective, ObjectiveError, UnfitObjective};
pub use slo::targets::SloTarget;
pub use slo::tier::Tier;
pub use summarise::summarise;
pub use summary::across_runs::{AcrossRuns, FigureLevel, TARGET_PRECISION, repeats_for};
pub use summary::description::{RunDescription, Window};
pub use summary::reproduction::{FactSource, ReportedFact, Reproduction};
pub(crate) use summary::reproduction::{async_scheduling, tensor_parallel};
pub use summary::run::Summary;
pub use summary::scenario::ScenarioFigures;
pub(crate) use summary::scenario::{LEAST_S, ScenarioRule};
pub use summary::set::FigureSet;
#[cfg(test)]
pub(crate) use summary::set::schema;
pub(crate) use verdict::accounts::{ERROR_RATE_BAR, failure_cure};
pub(crate) use verdict::judge::of_failures;
