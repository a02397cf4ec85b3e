//! One row of the table: a question, a hypothesis, and settings.

use serde::Serialize;

use super::claim::{Claim, ClaimKind};
use super::settings::Settings;
use crate::analysis::Objective;
use crate::workload::reading::SpecValue;

/// A row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MatrixRow {
    /// Its name, unique in the table.
    pub name: String,
    /// The question that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// What was expected, in words, before it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hypothesis: Option<String>,
    /// The hypothesis as claims that can be tested.
    pub expect: Vec<Claim>,
    /// The variants under which it runs, by name; absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variants: Option<Vec<String>>,
    /// Settings, defaults included.
    pub settings: Settings,
}

impl MatrixRow {
    /// A row with settings alone.
    pub(super) fn made(name: String, settings: Settings) -> Self {
        Self { name, question: None, hypothesis: None, expect: Vec::new(), variants: None, settings }
    }

    /// Reads one; missing settings are those of `defaults`.
    pub(super) fn read(place: SpecValue<'_>, defaults: &Settings) -> Option<Self> {
        place.table("a row", |fields| {
            let name = fields.required("name", |place| place.name());
            let question = fields.optional("question", None, |place| place.nonblank().map(Some));
            let hypothesis = fields.optional("hypothesis", None, |place| place.nonblank().map(Some));
            let expect = fields.optional("expect", Vec::new(), |place| place.list_or_none(Claim::read));
            let variants =
                fields.optional("variants", None, |place| place.list(|place| place.name()).map(Some));
            let settings = Settings::read(fields);
            Some(Self {
                name: name?,
                question: question?,
                hypothesis: hypothesis?,
                expect: expect?,
                variants: variants?,
                settings: settings?.over(defaults),
            })
        })
    }

    /// The objectives among its claims.
    pub fn bounds(&self) -> Vec<Objective> {
        let bound = |claim: &Claim| match &claim.kind {
            ClaimKind::Bound(objective) => Some(objective.clone()),
            ClaimKind::Ratio { .. } | ClaimKind::Within { .. } => None,
        };
        self.expect.iter().filter_map(bound).collect()
    }

    /// How many runs it has.
    pub fn repeats(&self) -> u64 {
        self.settings.repeats.unwrap_or(1)
    }

    /// Whether it runs under the variant of this name.
    pub fn is_under(&self, variant: &str) -> bool {
        self.variants.as_ref().is_none_or(|variants| variants.iter().any(|name| name == variant))
    }
}
