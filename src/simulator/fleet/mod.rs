//! Several engines as one server: replicas, disaggregated pools, and the router, admission control and front
//! end before them.

mod admission;
mod cluster;
mod config;
mod front_end;
mod pools;

pub use admission::{AbandonedWork, Admission, AdmissionGroup, AdmissionLimit};
pub use cluster::{Cluster, NoReplicas, PriorityLane, Routing};
pub use config::{BadFleet, EngineModel, Fleet, FleetLayout, RoutingRule};
pub use pools::{KvTransfer, Pools};
