//! One kind of request inside a workload.

use serde::Serialize;

use super::reading::{Fields, Place};
use super::{ArrivalPattern, Distribution, Priority, SharedPrefixes, Slo, Trace, weights};

/// A kind of request: how long its prompt and answer are, what it says, how urgent it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RequestClass {
    /// Name shown in reports, unique in its workload.
    pub name: String,
    /// Share of the requests, relative to the other classes' weights; 1 when the file gives none, and where each
    /// class has an arrival process of its own.
    pub weight: f64,
    /// Tokens of prompt content asked for, neither the chat template's own nor those of a shared prefix counted. A class
    /// of a workload with a trace has no lengths of its own.
    #[serde(skip_serializing_if = "Distribution::is_of_trace")]
    pub input_tokens: Distribution,
    /// Tokens of answer asked for.
    #[serde(skip_serializing_if = "Distribution::is_of_trace")]
    pub output_tokens: Distribution,
    /// Prefixes that its requests share, their tokens on top of `input_tokens`; absent: no two prompts begin alike.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_prefix: Option<SharedPrefixes>,
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
    /// Reads a class of a workload that replays this trace, if it replays one, and the class's own arrival process, if
    /// it has one.
    pub(super) fn read(place: Place<'_>, trace: Option<&Trace>) -> Option<(Self, Option<ArrivalPattern>)> {
        place.table("a class", |fields| {
            let name = fields.required("name", |place| place.name());
            let weight = fields.optional("weight", 1.0, weights::read);
            let arrival = fields.optional("arrival", None, |place| {
                if trace.is_some() {
                    place.complain("is given beside a trace, which says when requests arrive; leave it out");
                    return None;
                }
                ArrivalPattern::read_of_class(place).map(Some)
            });
            let input_tokens = lengths(fields, "input_tokens", trace.map(Trace::mean_input_tokens));
            let output_tokens = lengths(fields, "output_tokens", trace.map(Trace::mean_output_tokens));
            let shared_prefix = fields.optional("shared_prefix", None, |place| {
                if trace.is_some() {
                    place.complain(
                        "is given beside a trace, which says what prompts have in common; leave it out",
                    );
                    return None;
                }
                SharedPrefixes::read(place).map(Some)
            });
            let prompt = fields.optional("prompt", PromptSource::everyday(), PromptSource::read);
            let slo = fields.optional("slo", Slo::default(), Slo::read);
            let priorities = priorities(fields, slo.unwrap_or_default());
            slo?;
            let class = Self {
                name: name?,
                weight: weight?,
                input_tokens: input_tokens?,
                output_tokens: output_tokens?,
                shared_prefix: shared_prefix?,
                prompt: prompt?,
                priorities: priorities?,
            };
            Some((class, arrival?))
        })
    }
}

impl RequestClass {
    /// The classes of a workload that gives none: one for each kind of request of its trace, else one for all.
    pub(super) fn of_trace(trace: &Trace) -> Vec<Self> {
        let class = |name: &str, weight| Self {
            name: name.to_owned(),
            weight,
            input_tokens: Distribution::Trace { mean: trace.mean_input_tokens() },
            output_tokens: Distribution::Trace { mean: trace.mean_output_tokens() },
            shared_prefix: None,
            prompt: PromptSource::everyday(),
            priorities: vec![PriorityShare {
                priority: Priority::default(),
                weight: 1.0,
                slo: Slo::default(),
            }],
        };
        let kinds = trace.found.as_ref().map_or(&[][..], |found| &found.kinds);
        if kinds.is_empty() {
            return vec![class("requests", 1.0)];
        }
        kinds.iter().map(|kind| class(&kind.name, kind.requests as f64)).collect()
    }
}

/// The lengths of a class: drawn, or those of the trace, whose mean is `traced`.
fn lengths(fields: &mut Fields<'_>, name: &'static str, traced: Option<f64>) -> Option<Distribution> {
    let Some(mean) = traced else { return fields.required(name, Distribution::read) };
    fields.optional(name, Distribution::Trace { mean }, |place| {
        place.complain("is given beside a trace, which says how long requests are; leave it out");
        None
    })
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
