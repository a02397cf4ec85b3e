//! Where requests come from: workloads, datasets, traces.

mod datasets;
mod fit;
mod trace;
mod trace_prefixes;
mod workloads;
