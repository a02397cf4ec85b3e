//! One kind of request inside a workload.

use serde::Serialize;

use super::reading::{Fields, Place};
use super::{ArrivalPattern, Distribution, Priority, Slo, weights};

/// A kind of request: how long its prompt and answer are, what it says, how urgent it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RequestClass {
    /// Name shown in reports, unique in its workload.
    pub name: String,
    /// Share of the requests, relative to the other classes' weights; 1 when the file gives none, and where each
    /// class has an arrival process of its own.
    pub weight: f64,
    /// Tokens of prompt content asked for, the chat template's own tokens not counted.
    pub input_tokens: Distribution,
    /// Tokens of answer asked for.
    pub output_tokens: Distribution,
    /// What the prompts say; a few everyday questions when the file gives nothing.
    pub prompt: PromptSource,
    /// Priorities with their shares; never empty (one `medium` share when the file gives none).
    pub priorities: Vec<PriorityShare>,
}

/// A share of a class's requests that has one priority and one SLO.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PriorityShare {
    /// The priority.
    pub priority: Priority,
    /// Share of the class's requests, relative to the other shares' weights; 1 when the file gives none.
    pub weight: f64,
    /// What a request of this share promises: the share's own `slo` as a whole, else the one of its class.
    pub slo: Slo,
}

/// What prompts say. Whatever the source, each grows or is cut to the asked token count.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PromptSource {
    /// One of these texts, drawn at random, continued with filler words.
    Templates {
        /// The opening texts; at least one.
        templates: Vec<String>,
    },
    /// Retrieval-augmented generation: retrieved passages (filler words) and then a question at the end.
    Retrieval {
        /// The questions; at least one.
        questions: Vec<String>,
    },
}

impl RequestClass {
    /// Reads the class, and its own arrival process if it has one.
    pub(super) fn read(place: Place<'_>) -> Option<(Self, Option<ArrivalPattern>)> {
        place.table("a class", |fields| {
            let name = fields.required("name", |place| place.name());
            let weight = fields.optional("weight", 1.0, weights::read);
            let arrival =
                fields.optional("arrival", None, |place| ArrivalPattern::read_of_class(place).map(Some));
            let input_tokens = fields.required("input_tokens", Distribution::read);
            let output_tokens = fields.required("output_tokens", Distribution::read);
            let prompt = fields.optional("prompt", PromptSource::everyday(), PromptSource::read);
            let slo = fields.optional("slo", Slo::default(), Slo::read);
            let priorities = priorities(fields, slo.unwrap_or_default());
            slo?;
            let class = Self {
                name: name?,
                weight: weight?,
                input_tokens: input_tokens?,
                output_tokens: output_tokens?,
                prompt: prompt?,
                priorities: priorities?,
            };
            Some((class, arrival?))
        })
    }
}

/// The shares of a class whose own SLO is `class_slo`.
fn priorities(fields: &mut Fields<'_>, class_slo: Slo) -> Option<Vec<PriorityShare>> {
    let alone = vec![PriorityShare { priority: Priority::default(), weight: 1.0, slo: class_slo }];
    let mut seen = Vec::new();
    let shares = fields.optional("priorities", alone, |place| {
        place.list(|place| {
            let share = PriorityShare::read(place, class_slo)?;
            if seen.contains(&share.priority) {
                place.complain(&format!(
                    "has the priority \"{}\" a second time; join the two shares",
                    share.priority
                ));
            }
            seen.push(share.priority);
            Some(share)
        })
    })?;
    let share_weights: Vec<f64> = shares.iter().map(|share| share.weight).collect();
    weights::positive_total(fields, "priorities", &share_weights)?;
    Some(shares)
}

impl PriorityShare {
    fn read(place: Place<'_>, class_slo: Slo) -> Option<Self> {
        place.table("a priority share", |fields| {
            let priority = fields.required("priority", Priority::read);
            let weight = fields.optional("weight", 1.0, weights::read);
            let slo = fields.optional("slo", class_slo, Slo::read);
            Some(Self { priority: priority?, weight: weight?, slo: slo? })
        })
    }
}

impl PromptSource {
    fn read(place: Place<'_>) -> Option<Self> {
        fn texts(place: Place<'_>) -> Option<Vec<String>> {
            place.list(|text| text.said())
        }
        place.tagged(
            "prompt",
            &[
                ("templates", |fields| {
                    Some(Self::Templates { templates: fields.required("templates", texts)? })
                }),
                ("retrieval", |fields| {
                    Some(Self::Retrieval { questions: fields.required("questions", texts)? })
                }),
            ],
        )
    }

    /// Openings for a class whose file names none: the everyday questions that chat servers are asked.
    fn everyday() -> Self {
        let templates = [
            "Explain in simple terms how a refrigerator keeps food cold.",
            "Write a polite message that moves Thursday's meeting to next week.",
            "What should I look at before I rent a flat in a city I do not know?",
            "Write a Python function that merges two sorted lists, and explain it.",
            "Suggest a week of dinners for two people who cook for half an hour a day.",
            "Summarise what made the printing press spread so quickly in Europe.",
            "My train was cancelled and I missed my flight. What can I claim, and how?",
            "Compare three ways of learning a language alone, with their weak points.",
        ];
        Self::Templates { templates: templates.map(str::to_owned).to_vec() }
    }
}
