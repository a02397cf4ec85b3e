//! One kind of request inside a workload.

use std::collections::BTreeMap;

use serde::Serialize;

use super::slo::{Priority, Slo};
use crate::workload::answer::shape::AnswerShape;
use crate::workload::arrival::pattern::ArrivalPattern;
use crate::workload::lengths::{Distribution, positive_total, read_weight};
use crate::workload::metadata::read_tags;
use crate::workload::prompt::dataset::Dataset;
use crate::workload::prompt::source::{Conversation, Images, PromptSource, SharedPrefixes};
use crate::workload::reading::fields::{Fields, Given};
use crate::workload::reading::value::SpecValue;
use crate::workload::reading::{SpecKinds as _, SpecTable as _};
use crate::workload::trace::findings::TraceFindings;
use crate::workload::trace::source::Trace;

/// A kind of request: how long its prompt and answer are, what it says, how urgent it is.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RequestClass {
    /// Name shown in reports, unique in its workload.
    pub name: String,
    /// Share of the requests, relative to the other classes' weights; 1 when the file gives none, and when classes
    /// have their own arrival processes.
    pub weight: f64,
    /// Requested prompt tokens, without the chat template and a shared prefix. A file leaves it out for a class with
    /// a dataset, whose prompts have their own lengths, and in a workload with a trace.
    #[serde(skip_serializing_if = "Distribution::is_from_file")]
    pub input_tokens: Distribution,
    /// Requested answer tokens. A class with a dataset may leave it out: then each row says. A workload with a trace
    /// has none.
    #[serde(skip_serializing_if = "Distribution::is_from_file")]
    pub output_tokens: Distribution,
    /// Prefixes that its requests share, in addition to `input_tokens`; absent: no two prompts begin alike.
    pub shared_prefix: Option<SharedPrefixes>,
    /// How its requests continue as conversations; absent: each request stands alone.
    pub conversation: Option<Conversation>,
    /// What the prompts say; a few everyday questions by default.
    pub prompt: PromptSource,
    /// Images sent with the prompts; none when absent.
    pub images: Option<Images>,
    /// Required answer format, which leaves the length unforced; absent: text of the requested length.
    pub answer: Option<AnswerShape>,
    /// Priorities with their shares; never empty (one `medium` share when the file gives none).
    pub priorities: Vec<PriorityShare>,
    /// Tags of its requests, such as a team or a product: they say of which group a request is, and change
    /// nothing of it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}

/// A share of a class's requests that has one priority and one SLO.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PriorityShare {
    /// The priority.
    pub priority: Priority,
    /// Share of the class's requests, relative to the other shares' weights; 1 when the file gives none.
    pub weight: f64,
    /// SLO of this share's requests: its own `slo` as a whole, else the SLO of its class.
    pub slo: Slo,
}

impl RequestClass {
    /// Reads a class, with its own arrival process if it has one; `trace` is the trace that the workload replays, if
    /// any.
    pub(crate) fn read(value: SpecValue<'_>, trace: Option<&Trace>) -> Option<(Self, Option<ArrivalPattern>)> {
        value.table("a class", |fields| {
            let name = fields.need("name", |value| value.name());
            let weight = fields.or("weight", 1.0, read_weight);
            let when = "when requests arrive";
            let arrival = fields.maybe("arrival", without(trace, when, ArrivalPattern::read_of_class));
            let input_tokens = lengths(fields, "input_tokens", trace.map(Trace::mean_input_tokens));
            let output_tokens = lengths(fields, "output_tokens", trace.map(Trace::mean_output_tokens));
            let common = "what prompts have in common";
            let shared_prefix = fields.maybe("shared_prefix", without(trace, common, SharedPrefixes::read));
            let when = "when every request leaves";
            let conversation = fields.maybe("conversation", without(trace, when, Conversation::read));
            let prompt = fields.optional("prompt", PromptSource::everyday(), PromptSource::read);
            let images = fields.maybe("images", Images::read);
            if let (Some(prompt), Some(trace)) = (&prompt, trace) {
                fit_trace(fields, prompt, trace);
            }
            let dataset = prompt.as_ref().and_then(PromptSource::dataset).filter(|_| trace.is_none());
            if let (Some(_), Given::Right(_)) = (&dataset, &input_tokens) {
                let sentence = "is given with a dataset, whose prompts have their own lengths; leave it out";
                fields.complain_of("input_tokens", sentence);
            }
            if let (Some(_), None) = (&prompt, &dataset) {
                for (name, length) in [("input_tokens", &input_tokens), ("output_tokens", &output_tokens)] {
                    if let Given::Absent = length {
                        fields.miss(name);
                    }
                }
            }
            let (of_prompts, of_answers) = dataset.map(row_lengths).unzip();
            let input_tokens = fields.or_stand_in(input_tokens.or(of_prompts));
            let output_tokens = fields.or_stand_in(output_tokens.or(of_answers));
            let answer = fields.maybe("answer", AnswerShape::read);
            let slo = fields.or("slo", Slo::default(), Slo::read);
            let priorities = priorities(fields, slo);
            let priorities = fields.or_stand_in(priorities);
            let metadata = fields.or("metadata", BTreeMap::new(), read_tags);
            let class = Self {
                name,
                weight,
                input_tokens,
                output_tokens,
                shared_prefix,
                conversation,
                prompt: prompt?,
                images,
                answer,
                priorities,
                metadata,
            };
            for (field, sentence) in class.misfits() {
                fields.complain_of(field, &sentence);
            }
            Some((class, arrival))
        })
    }

    /// The fields that do not go with others, each with a sentence that says so.
    pub(in crate::workload) fn misfits(&self) -> impl Iterator<Item = (&'static str, String)> {
        let broken = MISFITS.into_iter().filter(|(_, is_out_of_place, _)| is_out_of_place(self));
        let columns = self.prompt.dataset().map(|dataset| &dataset.metadata);
        let twice = columns.and_then(|columns| columns.keys().find(|key| self.metadata.contains_key(*key)));
        let twice = twice
            .map(|tag| ("metadata", format!("has the tag \"{tag}\", and so has its dataset; leave one of them out")));
        broken.map(|(field, _, sentence)| (field, sentence.to_owned())).chain(twice)
    }

    fn has_token_ids(&self) -> bool {
        matches!(self.prompt, PromptSource::RandomTokens { .. })
    }

    /// Mean number of requests per arrival: the turns of its conversations.
    pub fn mean_turns(&self) -> f64 {
        self.conversation.as_ref().map_or(1.0, |conversation| conversation.turns.mean())
    }
}

/// A field, when it is out of place in a class, and a sentence that says so.
type Misfit = (&'static str, fn(&RequestClass) -> bool, &'static str);

/// What does not go together in a class.
const MISFITS: [Misfit; 7] = [
    (
        "shared_prefix",
        |class| class.shared_prefix.is_some() && class.prompt.is_verbatim(),
        "goes before written prompts only; leave it out with a dataset or token ids",
    ),
    (
        "images",
        |class| class.images.is_some() && class.has_token_ids(),
        "cannot go along with token ids; choose another `prompt`",
    ),
    (
        "conversation",
        |class| class.conversation.is_some() && class.prompt.dataset().is_some(),
        "is given with a dataset, whose rows are whole requests; leave one of them out, or choose another `prompt`",
    ),
    (
        "conversation",
        |class| class.conversation.is_some() && class.has_token_ids(),
        "is given with token ids, and answers come as text, which cannot be put between them; choose another `prompt`",
    ),
    (
        "images",
        |class| class.images.is_some() && class.conversation.is_some(),
        "is given with `conversation`, whose turns are texts; leave one of them out",
    ),
    (
        "answer",
        |class| class.answer.is_some() && class.has_token_ids(),
        "cannot be requested with token ids; choose another `prompt`",
    ),
    (
        "answer",
        |class| class.conversation.is_some() && matches!(class.answer, Some(AnswerShape::Tools { .. })),
        "is given with `conversation`, and tool calls get no answer between turns; leave one of them out",
    ),
];

/// The lengths of prompts and answers of a dataset's rows.
fn row_lengths(dataset: &Dataset) -> (Distribution, Distribution) {
    let found = dataset.found.as_ref();
    let prompts = Distribution::Dataset { mean: found.map(|found| found.mean_input_tokens) };
    (prompts, Distribution::Dataset { mean: found.and_then(|found| found.mean_output_tokens) })
}

impl RequestClass {
    /// The classes of a workload that gives none: one for each kind of request in its trace, else one for all.
    pub(crate) fn of_trace(trace: &Trace) -> Vec<Self> {
        let class = |name: &str, weight| Self {
            name: name.to_owned(),
            weight,
            input_tokens: Distribution::Trace { mean: trace.mean_input_tokens() },
            output_tokens: Distribution::Trace { mean: trace.mean_output_tokens() },
            shared_prefix: None,
            conversation: None,
            prompt: PromptSource::everyday(),
            images: None,
            answer: None,
            priorities: vec![PriorityShare { priority: Priority::default(), weight: 1.0, slo: Slo::default() }],
            metadata: BTreeMap::new(),
        };
        let kinds = trace.found.as_ref().map_or(&[][..], |found| &found.kinds);
        if kinds.is_empty() {
            return vec![class("requests", 1.0)];
        }
        kinds.iter().map(|kind| class(&kind.name, kind.requests as f64)).collect()
    }

    /// SHA-256 of the files its requests come from, once read: dataset, then images.
    pub(crate) fn files(&self) -> impl Iterator<Item = &str> {
        let dataset = self.prompt.dataset().and_then(|dataset| dataset.found.as_ref());
        let images = self.images.as_ref().and_then(|images| images.found.as_ref());
        let (dataset, images) = (dataset.map(|found| found.sha256.as_str()), images.map(|found| found.sha256.as_str()));
        dataset.into_iter().chain(images)
    }
}

/// A reader of what a class may have only without a trace, which says `what` already.
fn without<T>(
    trace: Option<&Trace>,
    what: &str,
    read: impl FnOnce(SpecValue<'_>) -> Option<T>,
) -> impl FnOnce(SpecValue<'_>) -> Option<T> {
    move |value| match trace {
        Some(_) => value.reject(&format!("is given with a trace, which says {what}; leave it out")),
        None => read(value),
    }
}

/// The lengths of a class: its own, or those of the trace, whose mean is `traced`.
fn lengths(fields: &mut Fields<'_>, name: &'static str, traced: Option<f64>) -> Given<Distribution> {
    let Some(mean) = traced else { return fields.given(name, Distribution::read_or_constant) };
    let given = fields
        .given(name, |value| value.reject("is given with a trace, which says how long requests are; leave it out"));
    match given {
        Given::Absent => Given::Right(Distribution::Trace { mean }),
        given => given,
    }
}

/// Refuses prompts that contradict the trace.
fn fit_trace(fields: &Fields<'_>, prompt: &PromptSource, trace: &Trace) {
    match prompt {
        PromptSource::Dataset(_) => fields.complain_of(
            "prompt",
            "is a dataset with a trace, and both say how long requests are; choose another `prompt`, or leave the \
             trace out",
        ),
        PromptSource::RandomTokens { .. } if trace.found.as_ref().is_some_and(TraceFindings::names_blocks) => {
            fields.complain_of(
                "prompt",
                "is token ids with a trace that says which prompts begin alike, and token ids never do; choose another \
                 `prompt`",
            );
        }
        _ => {}
    }
}

/// The priority shares of a class whose own SLO is `class_slo`.
fn priorities(fields: &mut Fields<'_>, class_slo: Slo) -> Option<Vec<PriorityShare>> {
    let alone = vec![PriorityShare { priority: Priority::default(), weight: 1.0, slo: class_slo }];
    let mut seen = Vec::new();
    let shares = fields.optional("priorities", alone, |value| {
        value.list(|value| {
            let share = PriorityShare::read(value, class_slo)?;
            if seen.contains(&share.priority) {
                value.complain(&format!("has the priority \"{}\" a second time; join the two shares", share.priority));
            }
            seen.push(share.priority);
            Some(share)
        })
    })?;
    let share_weights: Vec<f64> = shares.iter().map(|share| share.weight).collect();
    positive_total(fields, "priorities", &share_weights)?;
    Some(shares)
}

impl PriorityShare {
    fn read(value: SpecValue<'_>, class_slo: Slo) -> Option<Self> {
        value.table("a priority share", |fields| {
            let priority = fields.required("priority", |value| value.variant());
            let weight = fields.optional("weight", 1.0, read_weight);
            let slo = fields.optional("slo", class_slo, Slo::read);
            Some(Self { priority: priority?, weight: weight?, slo: slo? })
        })
    }
}
