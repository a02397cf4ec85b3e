//! Runs and experiments in virtual time: the model that answers, what it is fitted to, and what the simulator finds.

mod experiments;
mod fit;
mod model;
mod simulation;

pub(crate) use self::experiments::SimulatedWork;
pub(crate) use self::fit::{fitted_to, runs_to_fit};
pub(crate) use self::model::Described;
pub(crate) use self::simulation::Simulation;
