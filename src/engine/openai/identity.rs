//! Checks between two runs that the server is still the same.

use super::control::Control;
use crate::record::EngineFacts;

/// The server is not the one that was connected to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its {what} was {before} when it was connected to, and is {now} now")]
pub struct ServerChanged {
    /// What changed.
    pub what: &'static str,
    /// Its value before.
    pub before: String,
    /// Its value now.
    pub now: String,
}

/// Compares the server's version and models with those of the connection.
pub(super) async fn compare(
    facts: &EngineFacts,
    listed: &[String],
    control: &Control,
) -> Result<(), ServerChanged> {
    if let (Some(before), Some(now)) = (&facts.server_version, control.version().await)
        && *before != now
    {
        return Err(ServerChanged { what: "server version", before: before.clone(), now });
    }
    // A missing list proves nothing: the run will show what is wrong with the server.
    let models = control.models().await.unwrap_or_default();
    let asked_for = models.iter().find(|model| model.id == facts.model);
    match asked_for {
        None if !models.is_empty() && listed.contains(&facts.model) => {
            let now: Vec<_> = models.into_iter().map(|model| model.id).collect();
            Err(ServerChanged { what: "list of models", before: listed.join(", "), now: now.join(", ") })
        }
        None => Ok(()),
        Some(model) => match (facts.max_model_len, model.max_len) {
            (Some(before), Some(now)) if before != now => Err(ServerChanged {
                what: "longest context",
                before: before.to_string(),
                now: now.to_string(),
            }),
            _ => Ok(()),
        },
    }
}
