//! The items of a checklist: the rule, whether it is met, the figure, and the cure.

use serde::{Deserialize, Serialize, Serializer};

use super::status::Status;

/// Checklist of how a result was measured and reported. It says, item by item, whether that was done so that the result
/// can be trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Checklist {
    /// Items that are met.
    pub met: u64,
    /// All items that apply, in the order of the rules.
    pub items: Vec<ChecklistItem>,
}

/// One item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ChecklistItem {
    /// The rule.
    pub rule: ChecklistRule,
    /// Standing of the item: met, not met, or nothing in the result says.
    #[serde(serialize_with = "in_item_words")]
    #[cfg_attr(test, schemars(with = "String", extend("enum" = ITEM_WORDS)))]
    pub standing: Status,
    /// Sentence on what is known, with the figure and the limit.
    pub sentence: String,
    /// Advice on what to do about it. Left out where it is met.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cure: Option<String>,
}

/// Words of an item's standing: met, not met, not known from the result.
pub(in crate::analysis) const ITEM_WORDS: [&str; 3] = ["met", "not_met", "not_reported"];

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference to the field")]
fn in_item_words<S: Serializer>(standing: &Status, serializer: S) -> Result<S::Ok, S::Error> {
    Status::store(*standing, ITEM_WORDS, serializer)
}

/// A rule of the checklist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ChecklistRule {
    /// Prompts and answers have lengths like production: they vary, and not all prompts are short.
    Lengths,
    /// Requests arrive at random or as in a trace. They arrive neither evenly nor all at once.
    Arrivals,
    /// No request waits for the answer to another before it is sent.
    OpenLoop,
    /// Requests before the window warm the server up and do not count.
    WarmUp,
    /// The window is long enough, and has the samples that its percentiles need.
    Window,
    /// Several classes, tenants or models share the server.
    TrafficMix,
    /// The content of the prefix cache is known.
    PrefixCache,
    /// Something judges the answers.
    QualityGate,
    /// Failed and refused requests are counted.
    Errors,
    /// Several runs show how much one differs from the next.
    Repeats,
    /// The tail of the latencies is reported, not the mean alone.
    TailLatency,
    /// TTFT, the pace of tokens and throughput are reported together.
    BothPhases,
    /// The GPUs and their number are named.
    Hardware,
    /// The model, the engine's version, precision and serving flags are named.
    Serving,
    /// Several loads show where the server saturates.
    SeveralLoads,
}

/// Finding of a rule. `None` where the rule does not apply.
pub(in crate::analysis) type Found = Option<(Status, String, &'static str)>;

/// Says that the rule is met.
pub(in crate::analysis) fn met(sentence: impl Into<String>) -> Found {
    Some((Status::Met, sentence.into(), ""))
}

/// Says that the rule is not met.
pub(in crate::analysis) fn not_met(sentence: impl Into<String>, cure: &'static str) -> Found {
    Some((Status::Missed, sentence.into(), cure))
}

/// Says that nothing in the result tells.
pub(in crate::analysis) fn not_reported(sentence: impl Into<String>, cure: &'static str) -> Found {
    Some((Status::Undecided, sentence.into(), cure))
}
