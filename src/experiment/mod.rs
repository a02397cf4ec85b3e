//! Many runs, one answer: predictions that are held against a baseline, closed loops against open arrivals, repeats that
//! say how sure a figure is.
//!
//! A [`VirtualRun`] is to the simulator what the runner's is to a server: the same plan, the same window, drain and
//! cool-down, the same records, with a clock that costs nothing. It stands here, above both the generator and the
//! simulator, because neither may know of the other, and because whatever repeats runs wants it without a command
//! line.

mod ab;
mod bottleneck;
pub mod capacity;
pub mod compare;
mod comparison;
mod diagnosis;
mod driver;
mod engine_fit;
mod evidence;
mod fitting;
mod later_turns;
mod leading;
pub mod matrix;
mod paired_open;
mod prediction;
mod repeats;
mod sweep;
mod virtual_log;
mod virtual_run;

pub use ab::{
    AbClass, AbDesign, AbEstimate, AbExperiment, AbMetric, AbOverall, AbPair, AbRound, AbRun, AbSide,
    AbSides, AbTest, AbUnit, AbVerdict, DEFAULT_ROUNDS, FlownRound, FlownSide, InvalidRuns, NotRounds, Power,
    Scale, TooFewRounds, Unlike, fewest_rounds,
};
pub use bottleneck::{Bottleneck, Limit};
pub use comparison::{Comparison, ComparisonRow, Latency, Side};
pub use diagnosis::{
    CouldNotTell, Diagnosis, JointDiagnosis, JointSymptom, LoadFigures, Regime, Symptom, warm_like_cold,
};
pub use driver::{
    CompletedRun, Executor, Experiment, FailedBy, Failure, Reach, RunOutcome, RunRequest, RunSource,
    RunsLeft, Step, VirtualExecutor, drive,
};
pub use engine_fit::{
    CannotFit, CostKind, EngineFit, Family, FigureCheck, FittedCost, Grade, MeasuredRun, PredictedRate,
    PredictedRates, RunCheck,
};
pub use evidence::Evidence;
pub use fitting::{ArrivalFit, ClassFit, FitError, FitReport, FittedWorkload, PrefixFit, fit_run, fit_trace};
pub use paired_open::{Begun, PairedFigure, PairedLatency, PairedOpen};
pub use prediction::{Prediction, fly_virtually, predict};
pub use repeats::{
    AcrossJudgement, AcrossRuns, Figures, JointReason, JointVerdict, NotRepeats, RepeatRun, RepeatedRun,
    Repeats, RepeatsExperiment, TARGET_PRECISION, Unresolvable, repeats_for, repeats_of, seed_of_run,
};
pub use sweep::{
    Frontier, FrontierPoint, HighestLoad, Judged, Knee, Load, LoadAxis, LoadClass, PairedLoad, PointFigures,
    Search, SearchStep, StopReason, Sustained, Sweep, SweepExperiment, SweepPlan, SweepPoint, SweepRun,
    Swept, Trial, UnreadableSweep, Unsearchable, Wanted,
};
pub use virtual_run::{Flown, VirtualRun};
