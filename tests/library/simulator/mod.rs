//! Holds the simulator to closed forms, to vLLM's scheduling rules, to its own invariants and to known phenomena.

mod against_vllm;
mod asynchronous;
mod closed_forms;
mod closed_loops;
mod clusters;
pub(crate) mod drive;
mod invariants;
mod phenomena;
mod published;
mod schedulers;
mod scheduling;
mod sessions;
