//! A simulated engine fitted to measured runs: the costs of its steps with intervals, and how well it reproduces
//! what was measured.
//!
//! A client sees the steps of a batching engine: an answer gets a token a step, and each token of another answer
//! meanwhile is a sequence in one of them. So the time of an answer is a sum of known work at unknown costs, and many
//! answers are a system of equations, linear for a sum of costs, and for a roofline linear once it is known which steps
//! are bound by what. Nothing of the server's own is needed. The answers must be those of one engine.

mod check;
mod family;
mod fit;
mod rates;
mod rows;
mod solve;

pub use check::{FigureCheck, Grade, MeasuredRun, RunCheck};
pub use family::{CostKind, CostModel};
pub use fit::{CannotFit, EngineFit, FittedCost};
pub use rates::{PredictedRate, PredictedRates};
