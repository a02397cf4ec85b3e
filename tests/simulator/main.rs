//! Holds the simulator to closed forms, to vLLM's scheduling rules, to its own invariants and to known phenomena.

#[cfg(test)]
mod against_vllm;
#[cfg(test)]
mod closed_forms;
#[cfg(test)]
mod closed_loops;
#[cfg(test)]
mod clusters;
#[cfg(test)]
mod drive;
#[cfg(test)]
mod invariants;
#[cfg(test)]
mod phenomena;
#[cfg(test)]
mod scheduling;
#[cfg(test)]
mod sessions;
#[cfg(test)]
#[path = "../support/virtual_time.rs"]
mod virtual_time;
