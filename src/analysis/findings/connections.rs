//! Advice on connections: who closed them, and what it cost.

use crate::analysis::rules::Said;
use crate::analysis::summary::run::Summary;
use crate::record::EngineKind;
use crate::units::{counted, percent};

/// Requests that had to connect first, or were sent twice, as a share.
const CONNECTION_BAR: f64 = 0.01;
/// This client opens a connection for each request by itself, since idle ones hold threads of this server.
const CLOSED_BY_CLIENT: EngineKind = EngineKind::Llamacpp;

/// `number` of the requests in words, where that is a share over the limit.
fn over_bar(summary: &Summary, number: u64) -> Option<String> {
    let share = number as f64 / summary.requests.executed().max(1) as f64;
    (share > CONNECTION_BAR).then(|| format!("{} ({})", counted(number, "request"), percent(share)))
}

/// Cure of a server that closes its connections.
pub(in crate::analysis) fn keep_alive(summary: &Summary) -> String {
    let is_vllm = summary.run.engine.kind() == Some(EngineKind::Vllm);
    let option = if is_vllm { " (vLLM: VLLM_HTTP_TIMEOUT_KEEP_ALIVE)" } else { "" };
    format!(
        "raise the keep-alive timeout of the server{option}, or of the proxy before it: over 4 s, for which Skyline \
         keeps idle connections"
    )
}

pub(super) fn cold_connections(summary: &Summary) -> Option<Said> {
    let limit = percent(CONNECTION_BAR);
    if let Some(anew) = over_bar(summary, summary.requests.reconnected) {
        let sentence = format!(
            "{anew} had to open a connection first, because the server closes them after answers; that counts in the \
             latency; limit: {limit}"
        );
        return Some((sentence, keep_alive(summary)));
    }
    if summary.run.engine.kind() == Some(CLOSED_BY_CLIENT) {
        return None;
    }
    let opened = over_bar(summary, summary.requests.opened_connection)?;
    let sentence = format!(
        "{opened} had to open a connection first, because none was ready: many came at once, or the last ones were \
         idle for over 4 s; that counts in the latency; limit: {limit}"
    );
    let cure = "nothing is wrong with the server; a longer warm-up at this load leaves more connections open";
    Some((sentence, cure.into()))
}
