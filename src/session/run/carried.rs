//! Checks that requests to an endpoint can carry what they are to carry.

use serde_json::Value;

use crate::engine::{CommonRequest, PriorityField};
use crate::session::console::Stop;

/// Refuses parameters that the requests to an endpoint cannot carry, before any is sent.
pub(super) fn check(common: &CommonRequest, priority: PriorityField) -> Result<(), Stop> {
    let CommonRequest { endpoint, extra_body, sampling, .. } = common;
    let elsewhere = |option: &str, name: &str, what: &str| {
        let other = endpoint.another(|other| other.takes(name));
        Stop::usage(format!(
            "{option}: requests to the endpoint {endpoint} {what}\n\
             hint: leave it out, or give --endpoint {other}"
        ))
    };
    if sampling.seed.is_some() && !endpoint.takes("seed") {
        return Err(elsewhere("--sampling-seed", "seed", "carry no seed"));
    }
    if priority == PriorityField::Sent && !endpoint.takes("priority") {
        return Err(elsewhere("--send-priority", "priority", "carry no priority"));
    }
    let inner = endpoint.within.and_then(|name| Some((name, extra_body.0.get(name)?)));
    if let Some((name, value)) = inner.filter(|(_, value)| !value.is_object()) {
        return Err(Stop::usage(format!(
            "--extra-body: `{name}` is no object: {value}\nhint: write it like {{\"{name}\": {{\"top_p\": 0.9}}}}"
        )));
    }
    let is_set = |name: &str| {
        extra_body.0.contains_key(name)
            || inner.is_some_and(|(_, inner)| inner.get(name).is_some_and(|of| of != &Value::Null))
    };
    match ["n", "best_of"].into_iter().find(|name| !endpoint.takes(name) && is_set(name)) {
        Some(name) => Err(elsewhere("--extra-body", name, &format!("get one answer, and `{name}` asks for more"))),
        None => Ok(()),
    }
}
