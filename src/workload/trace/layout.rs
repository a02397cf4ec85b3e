//! Layouts of files of sessions.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantNames};

/// Layouts of files of sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, EnumString, IntoStaticStr, VariantNames)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum SessionLayout {
    /// Sessions of coding agents with the hashes of their blocks (Weka, `AgentX`), one an object.
    Weka,
    /// Conversations of `AIPerf` that fork and spawn others, one a line.
    DagJsonl,
    /// Conversations of `AIPerf` as lists of turns, and its other files with a `session_id`.
    MultiTurn,
    /// Messages of mlcommons' agentic benchmark, one a line.
    Mlcommons,
    /// Spans of `OpenTelemetry` in its conventions for generative AI.
    Spans,
    /// Rounds of coding agents in `TraceLab`'s form, one a line.
    Tracelab,
    /// Lists of OpenAI's `messages`, one a line, tool calls and their results included.
    Messages,
    /// Whole conversations of `ShareGPT`, a list of them.
    Sharegpt,
    /// Requests of Mooncake's form that have a `session_id`.
    MooncakeSessions,
}

impl SessionLayout {
    /// Name of the layout in specs and on the command line.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
