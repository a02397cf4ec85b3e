//! Ends that a step of a session waits for, and conditions of its requests.

use serde::Serialize;
use strum::{EnumString, VariantNames};

use crate::workload::reading::SpecValue;

/// Conditions of requests of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, EnumString, VariantNames)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum StepCondition {
    /// A call of a tool in the answer that the request carries on.
    ToolCall,
}

/// The steps that another waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum StepWait {
    /// All of these.
    All(Vec<String>),
    /// The first of these that ends.
    Any {
        /// Names of the steps.
        any: Vec<String>,
    },
}

impl StepWait {
    pub(super) fn read(value: SpecValue<'_>) -> Option<Self> {
        if value.is_list() {
            return names(value).map(Self::All);
        }
        if value.text_or_none().is_some() || value.is_number() {
            return Some(Self::All(vec![value.name()?]));
        }
        value.table("steps to wait for", |fields| fields.required("any", names).map(|any| Self::Any { any }))
    }

    pub(super) fn names(&self) -> &[String] {
        match self {
            Self::All(names) | Self::Any { any: names } => names,
        }
    }
}

/// The names of steps, each once.
fn names(value: SpecValue<'_>) -> Option<Vec<String>> {
    let names = value.list(|name| name.name())?;
    match names.iter().enumerate().find(|(place, name)| names[..*place].contains(*name)) {
        Some((_, twice)) => value.reject(&format!("names \"{twice}\" twice; once is enough")),
        None => Some(names),
    }
}
