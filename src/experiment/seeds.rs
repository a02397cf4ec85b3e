//! Seeds of runs that differ in their draws alone, and the workloads that have them.

use crate::random::RandomStream;
use crate::record::Repeat;
use crate::workload::WorkloadSpec;

/// Returns the seed of run number `run`, counted from 1. The first run has `first` itself. Each other has the upper 53
/// bits of the branch with the run's number of the stream `repeats` under `first`. 53 bits, so that no reader of JSON
/// rounds it.
pub fn seed_of_run(first: u64, run: u64) -> u64 {
    if run <= 1 { first } else { RandomStream::named(first, "repeats").branch(run).bits() >> 11 }
}

/// Returns the workloads of `runs` runs of `spec`, which differ in their seeds alone. Each has its place among them; a
/// single run has none.
pub fn repeats_of(spec: &WorkloadSpec, runs: u64) -> Vec<(Option<Repeat>, WorkloadSpec)> {
    let place = |number| (runs > 1).then_some(Repeat { number, of: runs, first_seed: spec.seed });
    let workload = |number| WorkloadSpec { seed: seed_of_run(spec.seed, number), ..spec.clone() };
    (1..=runs).map(|number| (place(number), workload(number))).collect()
}
