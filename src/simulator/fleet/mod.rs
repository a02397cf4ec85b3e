//! Several engines as one server: replicas, disaggregated pools, and the router and front end before them.

mod cluster;
mod config;
mod front_end;
mod pools;

pub use cluster::{Cluster, NoReplicas, PriorityLane, Routing};
pub use config::{BadFleet, EngineModel, Fleet, FleetLayout, RoutingRule};
pub use pools::{KvTransfer, Pools};
