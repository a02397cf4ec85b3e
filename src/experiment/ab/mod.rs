//! A/B tests of two servers: interleaved rounds of identical requests, and a verdict with at most 5 % false
//! positives.
//!
//! - **The unit is the run.** Requests of one run depend on one another, because a queue remembers; rounds do not. In a
//!   round both sides execute the same plan with the same texts, so that the plan cancels out of the ratio
//!   of the two runs. Which side runs first is drawn from the seed, and of every two rounds each side is first once,
//!   so that a machine that warms up or slows down over the day affects both alike. Where one machine serves both in
//!   turn, rounds alternate, A B, B A, A B …
//! - **A round counts by the instrument, not by what it found.** What spoils the measurement excludes a round; what the
//!   server does, that its queue grows or that it fails requests, is what is compared. A side that does not keep up in
//!   most rounds, while the other does, is worse.
//! - **The test** is Wilcoxon's exact signed-rank test over the rounds' log ratios (of shares: differences), Holm's
//!   procedure over the metrics, which are chosen before the first round: in nineteen of twenty experiments with two
//!   equal sides, no metric that decides comes out better or worse. Where there are classes, the metrics of all classes
//!   together are a second family, with a twentieth of its own.
//! - **The interval** is the one that belongs to this test, Hodges and Lehmann's: it leaves out 0 where the test alone
//!   would reject, and covers the truth in at least 95 % of experiments with any symmetric spread. The bootstrap
//!   interval
//!   is reported beside it and not relied on: with 8 rounds it covers the truth in 90 % of experiments, with 8 rounds
//!   of a
//!   skewed spread in 84 %.
//! - **Equivalent** is what lies within a margin, by two one-sided tests at 5 %: the 90 % interval of the ratio lies
//!   inside it (Schuirmann, *J. Pharmacokin. Biopharm.* 15, 1987). Finding no difference never makes two sides
//!   equivalent.
//! - **The number of rounds is fixed before the first.** Stopping early, when the difference looks large, inflates
//!   false
//!   positives; an experiment that stops early therefore gets no verdict.

mod design;
mod differences;
mod experiment;
mod metric;
mod outcome;
mod overload;
mod power;
mod rounds;
#[cfg(test)]
mod tests;
mod words;

pub use design::{AbDesign, AbOrder, AbSide, DEFAULT_ROUNDS, TooFewRounds};
pub use differences::AbPair;
pub use experiment::{AbExperiment, AbRun};
pub use metric::{AbMetric, AbVerdict};
pub use outcome::{AbClass, AbTest};
pub use overload::AbOverload;
pub use power::{Power, fewest_rounds};
pub use rounds::{AbRound, AbSides, CompletedRound, CompletedSide, NotRounds, Unlike};
