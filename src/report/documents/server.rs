//! A server in words.

use crate::record::{DeploymentFacts, EngineFacts};

/// Which engine serves which model where, and on what: `vllm 0.11 at http://…, llama on 2 × H200, tp 2`.
pub(super) fn served_by(engine: &EngineFacts, deployment: &DeploymentFacts) -> String {
    let version = engine.server_version.as_deref().map_or(String::new(), |version| format!(" {version}"));
    let hardware = deployment.hardware.as_ref().map_or(String::new(), |name| format!(" on {name}"));
    let labels = deployment.labels.iter().map(|(name, value)| format!(", {name} {value}"));
    let labels: String = labels.collect();
    format!("{}{version} at {}, {}{hardware}{labels}", engine.engine, engine.url, engine.model)
}
