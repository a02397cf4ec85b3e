//! What experiments conclude, held against servers whose truth is known.

mod ab;
mod agents;
mod capacity;
mod diagnosis;
mod engine_fit;
mod highest_load;
mod matrix;
mod queues;
mod tune;
