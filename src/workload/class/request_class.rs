//! One kind of request inside a workload.

use std::collections::BTreeMap;

use super::inputs::InputBatch;
use super::session::ClassSession;
use super::slo::{Priority, Slo};
use super::traced::{fit_trace, no_length, of_requests, row_lengths, usual_prompts, without};
use crate::workload::answer::ending::AnswerEnding;
use crate::workload::answer::scoring::Scoring;
use crate::workload::answer::shape::AnswerShape;
use crate::workload::arrival::pattern::ArrivalPattern;
use crate::workload::clients::leaving::Leaving;
use crate::workload::lengths::Distribution;
use crate::workload::metadata::read_tags;
use crate::workload::prompt::audio::Audio;
use crate::workload::prompt::session_file::{SessionFindings, SessionRules};
use crate::workload::prompt::source::{Conversation, Images, PromptSource, SharedPrefixes};
use crate::workload::reading::weights::{positive_total, read_weight};
use crate::workload::reading::{Fields, Given, spec_table};
use crate::workload::trace::source::Trace;

spec_table! {
    /// A kind of request. It says how long its prompt and answer are, what it says, how urgent it is.
    pub struct RequestClass = "a class" with(trace: Option<&Trace>, own: &mut Vec<Option<ArrivalPattern>>) {
        /// Name shown in reports, unique in its workload.
        name: String = required(|value| value.name()),
        /// Share of the requests, relative to the other classes' weights. It is 1 when the file gives none, and when
        /// classes have their own arrival processes.
        weight: f64 = weight_and_arrival(trace, own),
        /// Requested prompt tokens, without the chat template and a shared prefix. A file leaves it out for a class
        /// with a dataset, whose prompts have their own lengths, in a workload with a trace, and with `audio`.
        #[serde(skip_serializing_if = "Distribution::is_unwritten")]
        input_tokens: Distribution = lengths(of_requests(trace).map(Trace::mean_input_tokens)),
        /// Requested answer tokens. A class with a dataset may leave it out: then each row says. A workload with a
        /// trace has none, nor has a class with `inputs`.
        #[serde(skip_serializing_if = "Distribution::is_unwritten")]
        output_tokens: Distribution = lengths(of_requests(trace).map(Trace::mean_output_tokens)),
        /// Inputs of each request, where one answer covers several; absent where answers are texts. An endpoint such as
        /// `embeddings` sets them, for it generates nothing.
        inputs: Option<InputBatch> = option(InputBatch::read),
        /// Prefixes that its requests share, in addition to `input_tokens`; absent: no two prompts begin alike.
        shared_prefix: Option<SharedPrefixes> =
            option(without(trace, "what prompts have in common", SharedPrefixes::read)),
        /// How its requests continue as conversations; absent: each request stands alone.
        conversation: Option<Conversation> = option(without(trace, "when every request leaves", Conversation::read)),
        /// How its requests continue as sessions of steps. It is absent where they are conversations or stand alone.
        session: Option<ClassSession> = option(without(trace, "when every request leaves", ClassSession::read)),
        /// Source of the prompts. It is a few everyday questions by default, and the sessions of a trace that has some.
        prompt: PromptSource = optional(usual_prompts(trace), PromptSource::read),
        /// Images sent with the prompts; none when absent.
        images: Option<Images> = option(Images::read),
        /// Audio of its requests, in place of texts; none when absent. An endpoint such as `transcriptions` sets it.
        audio: Option<Audio> = option(without(trace, "how long prompts are", Audio::read)),
        /// End of its answers. It is `forced` to the requested length, or `natural`, with that length as the limit. It
        /// is natural by default where answers are scored.
        #[serde(skip_serializing_if = "crate::workload::reading::is_usual")]
        length: AnswerEnding = given(|value| value.variant()),
        /// Required answer format, which leaves the length unforced; absent: text of the requested length.
        answer: Option<AnswerShape> = option(AnswerShape::read),
        /// Share of its clients who leave before their answer is complete. None does when absent.
        cancel: Option<Leaving> = option(Leaving::read),
        /// Priorities with their shares; never empty (one `medium` share when the file gives none).
        priorities: Vec<PriorityShare> = slo_and_priorities(),
        /// Tags of its requests, such as a team or a product. They say of which group a request is, and change nothing
        /// of it.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        metadata: BTreeMap<String, String> = optional(BTreeMap::new(), read_tags),
    }
    check(fields) {
        if let (Some(prompt), Some(trace)) = (&prompt, trace) {
            fit_trace(fields, prompt, trace);
        }
        if let Some(Some(_)) = inputs {
            let sentence = "is given with `inputs`, whose answers have no tokens; leave it out";
            let is_own = of_requests(trace).is_none();
            output_tokens = no_length(fields, ("output_tokens", sentence), &output_tokens, is_own);
        }
        let dataset = prompt.as_ref().and_then(PromptSource::dataset).filter(|_| of_requests(trace).is_none());
        if let (Some(_), Given::Right(_)) = (&dataset, &input_tokens) {
            let sentence = "is given with a dataset, whose prompts have their own lengths; leave it out";
            fields.complain_of("input_tokens", sentence);
        }
        if let Some(Some(_)) = audio {
            let sentence = "is given with `audio`, which takes the place of texts; leave it out";
            input_tokens = no_length(fields, ("input_tokens", sentence), &input_tokens, dataset.is_none());
        }
        if let (Some(_), None) = (&prompt, &dataset) {
            for (name, length) in [("input_tokens", &input_tokens), ("output_tokens", &output_tokens)] {
                if let Given::Absent = length {
                    fields.miss(name);
                }
            }
        }
        let is_scored = dataset.is_some_and(|dataset| dataset.score.is_some());
        let length = length.or(Some(if is_scored { AnswerEnding::Natural } else { AnswerEnding::Forced }));
        let (of_prompts, of_answers) = dataset.map(row_lengths).unzip();
        let (input_tokens, output_tokens) = (input_tokens.or(of_prompts), output_tokens.or(of_answers));
        // What is wrong with another field hides none of these mistakes.
        let lengths = match of_requests(trace) {
            Some(trace) => Distribution::Trace { mean: trace.mean_input_tokens() },
            None => Distribution::default(),
        };
        let readable = Self {
            inputs: inputs.flatten(),
            shared_prefix: shared_prefix.clone().flatten(),
            conversation: conversation.clone().flatten(),
            session: session.clone().flatten(),
            prompt: prompt.clone().unwrap_or_default(),
            images: images.clone().flatten(),
            audio: audio.flatten(),
            answer: answer.clone().flatten(),
            metadata: metadata.clone().unwrap_or_default(),
            ..Self::alike("", 1.0, lengths, Distribution::default())
        };
        for (field, sentence) in readable.misfits() {
            fields.complain_of(field, &sentence);
        }
    }
}

spec_table! {
    /// A share of a class's requests that has one priority and one SLO.
    pub struct PriorityShare = "a priority share" with(class_slo: Slo) {
        /// The priority.
        priority: Priority = required(|value| value.variant()),
        /// Share of the class's requests, relative to the other shares' weights. It is 1 when the file gives none.
        weight: f64 = optional(1.0, read_weight),
        /// SLO of this share's requests. It is its own `slo` as a whole, else the SLO of its class.
        slo: Slo = optional(class_slo, Slo::read),
    }
}

impl RequestClass {
    pub(super) fn has_token_ids(&self) -> bool {
        matches!(self.prompt, PromptSource::RandomTokens { .. })
    }

    /// Whether its answers may end before the requested length, which is then their limit.
    pub fn ends_by_itself(&self) -> bool {
        self.length == AnswerEnding::Natural || self.answer.is_some()
    }

    /// The rule by which its answers are scored, if they are.
    pub fn scoring(&self) -> Option<&Scoring> {
        self.prompt.dataset()?.score.as_deref()
    }

    /// Whether its requests continue: as conversations, or as sessions that are graphs.
    pub const fn continues(&self) -> bool {
        self.conversation.is_some() || self.has_graphs()
    }

    /// Whether its sessions are graphs of requests.
    pub const fn has_graphs(&self) -> bool {
        self.session.is_some() || self.has_session_file()
    }

    /// Whether its sessions come from a file.
    pub const fn has_session_file(&self) -> bool {
        match self.prompt.dataset() {
            Some(dataset) => dataset.has_sessions(),
            None => false,
        }
    }

    /// Rules for the sessions of its file; absent where they come from none.
    pub(crate) fn session_rules(&self) -> Option<SessionRules> {
        let dataset = self.prompt.dataset().filter(|dataset| dataset.has_sessions())?;
        Some(dataset.sessions.clone().unwrap_or_default())
    }

    /// Findings about the file of its sessions, once it is read.
    fn sessions_found(&self) -> Option<&SessionFindings> {
        self.prompt.dataset()?.sessions_found()
    }

    /// Most requests of one session that can be in flight at once.
    pub(in crate::workload) fn most_in_flight(&self) -> u64 {
        let of_file = || self.sessions_found().map_or(1, |found| u64::from(found.most_agents));
        self.session.as_ref().map_or_else(of_file, ClassSession::most_in_flight)
    }

    /// Mean number of requests per arrival. It is that of the turns of its conversations, or of its sessions.
    pub fn mean_turns(&self) -> f64 {
        let rows =
            self.prompt.dataset().and_then(|dataset| dataset.found.as_ref()).map_or(1, |found| found.rows.max(1));
        let of_file = || self.sessions_found().map_or(1.0, |found| found.requests as f64 / rows as f64);
        let of_session = || self.session.as_ref().map_or_else(of_file, ClassSession::mean_requests);
        self.conversation.as_ref().map_or_else(of_session, |conversation| conversation.turns.mean())
    }
}

impl RequestClass {
    /// A class of everyday questions of these lengths, each of which stands alone.
    pub(crate) fn alike(name: &str, weight: f64, input_tokens: Distribution, output_tokens: Distribution) -> Self {
        Self {
            name: name.to_owned(),
            weight,
            input_tokens,
            output_tokens,
            inputs: None,
            shared_prefix: None,
            conversation: None,
            session: None,
            prompt: PromptSource::default(),
            images: None,
            audio: None,
            length: AnswerEnding::default(),
            answer: None,
            cancel: None,
            priorities: PriorityShare::alone(Slo::default()),
            metadata: BTreeMap::new(),
        }
    }

    /// Returns the classes of a workload that gives none. There is one for each kind of request in its trace, else one
    /// for all.
    pub(crate) fn of_trace(trace: &Trace) -> Vec<Self> {
        let class = |name: &str, weight| {
            let [input, output] = [trace.mean_input_tokens(), trace.mean_output_tokens()];
            Self::alike(name, weight, Distribution::Trace { mean: input }, Distribution::Trace { mean: output })
        };
        if trace.has_sessions() {
            let (lengths, prompt) = (Distribution::Dataset { mean: None }, usual_prompts(Some(trace)));
            return vec![Self { prompt, ..Self::alike("sessions", 1.0, lengths.clone(), lengths) }];
        }
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

impl Fields<'_> {
    /// Reads the weight of a class, and its own arrival process if it has one.
    fn weight_and_arrival(
        &mut self,
        name: &'static str,
        trace: Option<&Trace>,
        own: &mut Vec<Option<ArrivalPattern>>,
    ) -> Option<f64> {
        let weight = self.optional(name, 1.0, read_weight);
        let arrival = self.option("arrival", without(trace, "when requests arrive", ArrivalPattern::read_of_class))?;
        own.push(arrival);
        weight
    }

    /// Reads the lengths of a class. They are its own, or those of the trace, whose mean is `traced`.
    fn lengths(&mut self, name: &'static str, traced: Option<f64>) -> Given<Distribution> {
        let Some(mean) = traced else { return self.given(name, Distribution::read_or_constant) };
        let given = self
            .given(name, |value| value.reject("is given with a trace, which says how long requests are; leave it out"));
        match given {
            Given::Absent => Given::Right(Distribution::Trace { mean }),
            given => given,
        }
    }

    /// Reads the priority shares of a class. It also reads the SLO of those that have none of their own.
    fn slo_and_priorities(&mut self, name: &'static str) -> Option<Vec<PriorityShare>> {
        let slo = self.optional("slo", Slo::default(), Slo::read);
        let class_slo = slo.unwrap_or_default();
        let mut seen = Vec::new();
        let shares = self.optional(name, PriorityShare::alone(class_slo), |value| {
            value.list(|value| {
                let share = PriorityShare::read(value, class_slo)?;
                if seen.contains(&share.priority) {
                    let priority = share.priority;
                    value.complain(&format!("has the priority \"{priority}\" a second time; join the two shares"));
                }
                seen.push(share.priority);
                Some(share)
            })
        })?;
        let weights: Vec<f64> = shares.iter().map(|share| share.weight).collect();
        positive_total(self, name, &weights)?;
        slo.map(|_| shares)
    }
}

impl PriorityShare {
    /// The shares of a class that gives none, with this SLO.
    fn alone(slo: Slo) -> Vec<Self> {
        vec![Self { priority: Priority::default(), weight: 1.0, slo }]
    }
}
