//! Workloads fitted to what was sent: to a stored run, or to a trace.
//!
//! A fit keeps what recurs (laws of lengths, shares of classes, a rate and its course, the form of gaps, prefixes) and
//! gives up what happened once (which request came when, and after which other). The report beside it says how much was
//! given up.

mod fit;
mod prefixes;
mod spec;

pub use fit::{fit_run, fit_trace};
pub use spec::{ClassFit, FitError, FitReport, FittedArrivals, FittedWorkload, PrefixFit};
