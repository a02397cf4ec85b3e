//! Many runs, one answer: repeats, sweeps, A/B tests, matrices, comparisons, capacity, predictions, diagnoses.
//!
//! An [`Experiment`] says which run comes next and what the runs mean; [`drive`] has its runs carried out by an
//! [`Executor`], against a server or in virtual time.
//!
//! A [`VirtualRun`] is to the simulator what the runner's run is to a server: the same plan, the same window, drain and
//! cool-down, the same records, in virtual time. It is here, above both the generator and the simulator, because
//! neither may depend on the other.

mod ab;
pub mod capacity;
pub mod compare;
mod diagnosis;
mod driver;
mod engine_fit;
mod fitting;
pub mod matrix;
mod paired_open;
mod repeats;
mod sweep;
mod virtual_time;

pub use ab::{
    AbClass, AbDesign, AbEstimate, AbExperiment, AbMetric, AbOverall, AbPair, AbRound, AbRun, AbSide,
    AbSides, AbTest, AbUnit, AbVerdict, CompletedRound, CompletedSide, DEFAULT_ROUNDS, DifferenceScale,
    InvalidRuns, NotRounds, Power, TooFewRounds, Unlike, fewest_rounds,
};
pub use diagnosis::{
    Diagnosis, LoadFigures, MissingEvidence, Regime, RepeatsDiagnosis, RepeatsSymptom, Symptom,
    warm_like_cold,
};
pub use driver::{
    CompletedRun, Executor, Experiment, FailedBy, FailureReach, NextStep, RunFailure, RunOutcome, RunRequest,
    RunSource, RunsLeft, VirtualExecutor, drive,
};
pub use engine_fit::{
    CannotFit, CostKind, CostModel, EngineFit, FigureCheck, FittedCost, Grade, MeasuredRun, PredictedRate,
    PredictedRates, RunCheck,
};
pub use fitting::{
    ClassFit, FitError, FitReport, FittedArrivals, FittedWorkload, PrefixFit, fit_run, fit_trace,
};
pub use paired_open::{ArrivalUnit, PairedFigure, PairedLatency, PairedOpen};
pub use repeats::{
    AcrossJudgement, NotRepeats, RepeatRun, RepeatedRun, Repeats, RepeatsExperiment, RepeatsReason,
    RepeatsVerdict, repeats_of, seed_of_run,
};
pub use sweep::{
    Frontier, FrontierPoint, HighestLoad, JudgedObjective, Knee, Load, LoadAxis, LoadClass, PairedLoad,
    Search, SearchStep, StopReason, Sustained, Sweep, SweepExperiment, SweepPlan, SweepPoint, SweepRun,
    Swept, Trial, TrialRequest, UnreadableSweep, Unsearchable,
};
pub use virtual_time::{
    Bottleneck, EngineEvidence, Latency, LayoutComparison, LayoutFigures, LayoutRow, Limit, Prediction,
    SimulatedRun, VirtualRun, predict, run_virtually,
};
