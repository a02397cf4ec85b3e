//! Several engines as one server: replicas, disaggregated pools, and the router, admission control and front
//! end before them.

mod admission;
mod cluster;
mod config;
mod front_end;
mod pools;

pub use admission::{AbandonedWork, Admission, AdmissionGroup};
pub use cluster::{BadFleet, Cluster, RoutingRule};
pub use config::{EngineModel, Fleet, FleetLayout};
pub use pools::{KvTransfer, Pools};
