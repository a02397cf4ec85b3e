//! Where requests come from: workloads, datasets, traces.

mod datasets;
mod fit;
mod graphs;
mod idle_cap;
mod leaving;
mod planned_hits;
mod retries;
mod session_files;
mod session_starts;
mod trace;
mod trace_prefixes;
mod workloads;
