//! Workloads fitted to what was sent: to a stored run, or to a trace.
//!
//! A fit keeps lengths, shares of classes, a rate and its course, and the form of gaps. It gives up what happened once
//! (which request came when, and after which other) and what requests have besides: prefixes, turns, tenants, SLOs.

mod fit;
mod spec;

pub use fit::{fit_run, fit_trace};
pub use spec::{ClassFit, FitError, FitReport, FittedArrivals, FittedWorkload};
