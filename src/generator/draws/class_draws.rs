//! Draws what requests have: class and model, and for each class lengths, priority, prefix, images, tenant, turns.

use std::sync::Arc;
use std::time::Duration;

use super::lengths::LengthSampler;
use super::pauses::think_time;
use super::prefixes::PrefixLaw;
use super::session_steps::StepLaws;
use super::starts::SessionStarts;
use crate::generator::datasets::rows::DrawnRow;
use crate::generator::graph::session::SessionGraph;
use crate::generator::request::PlannedRequest;
use crate::random::{RandomStream, WeightedChoice};
use crate::record::{GraphPlace, Turn};
use crate::workload::{Conversation, Distribution, Priority, RequestClass, SessionRules, ThinkTime, WorkloadSpec};

/// Draws of the classes and models of a workload's requests. For each class they hold what its requests have.
#[derive(Clone, Debug)]
pub(crate) struct WorkloadDraws {
    class: NamedChoice,
    /// Choice of the model; absent where the workload does not mix several.
    model: Option<NamedChoice>,
    pub(crate) classes: Vec<ClassDraws>,
}

/// A choice with its random stream.
#[derive(Clone, Debug)]
struct NamedChoice(WeightedChoice, RandomStream);

impl NamedChoice {
    fn new(weights: impl Iterator<Item = f64>, seed: u64, name: &str) -> Self {
        Self(WeightedChoice::new(weights), RandomStream::named(seed, name))
    }

    fn draw(&mut self) -> usize {
        self.0.draw(&mut self.1)
    }

    fn at(&self, index: u64) -> usize {
        self.0.draw(&mut self.1.branch(index))
    }
}

impl WorkloadDraws {
    pub(crate) fn new(workload: &WorkloadSpec) -> Self {
        let (seed, models) = (workload.seed, workload.models.as_ref());
        Self {
            class: NamedChoice::new(workload.classes.iter().map(|class| class.weight), seed, "classes"),
            model: models.map(|models| NamedChoice::new(models.weights.iter().copied(), seed, "models")),
            classes: workload.classes.iter().map(|class| ClassDraws::new(workload, class)).collect(),
        }
    }

    pub(crate) fn class(&mut self) -> usize {
        self.class.draw()
    }

    pub(crate) fn model(&mut self) -> Option<u16> {
        self.model.as_mut().map(|model| model.draw() as u16)
    }

    /// Class and model of the request of this index; they move no other request's draws.
    pub(crate) fn of_index(&self, index: u64) -> (usize, Option<u16>) {
        (self.class.at(index), self.model.as_ref().map(|model| model.at(index) as u16))
    }
}

/// Draws for the requests of one class: a distribution and a stream for every purpose.
#[derive(Clone, Debug)]
pub(crate) struct ClassDraws {
    laws: Arc<Laws>,
    input: RandomStream,
    output: RandomStream,
    share: RandomStream,
    images: RandomStream,
    prefixes: RandomStream,
    tenants: RandomStream,
}

#[derive(Debug)]
struct Laws {
    /// Lengths; `None` where dataset rows or a trace give them.
    input: Option<LengthSampler>,
    output: Option<LengthSampler>,
    inputs: Option<crate::workload::InputBatch>,
    shares: WeightedChoice,
    priorities: Vec<Priority>,
    images: Option<LengthSampler>,
    prefixes: Option<PrefixLaw>,
    /// `None` where there are no tenants.
    tenants: Option<WeightedChoice>,
    conversation: Option<Turns>,
    session: Option<StepLaws>,
    /// Rules for the sessions of a file; `None` where none come from one.
    of_file: Option<SessionRules>,
    /// Where the first sessions of lanes begin, if not at their beginning.
    starts: Option<SessionStarts>,
    /// Number of the workload's models; 0 where it mixes none.
    models: u16,
}

/// Way in which requests continue as conversations.
#[derive(Debug)]
pub(crate) struct Turns {
    count: (LengthSampler, RandomStream),
    pauses: (ThinkTime, RandomStream),
    first_input: Option<LengthSampler>,
    /// Most tokens of a prompt and its answer together.
    pub(crate) most_tokens: Option<u32>,
}

impl Turns {
    fn new(workload: &WorkloadSpec, class: &RequestClass, conversation: &Conversation) -> Self {
        let stream = |purpose: &str| RandomStream::named(workload.seed, &format!("{purpose}/{}", class.name));
        Self {
            count: (LengthSampler::new(&conversation.turns), stream("turns")),
            pauses: (conversation.think_time_s, stream("think_times")),
            first_input: conversation.first_input_tokens.as_ref().map(LengthSampler::new),
            most_tokens: conversation.max_context_tokens,
        }
    }

    /// Number of turns of the conversation that request `opener` opens.
    pub(crate) fn count(&self, opener: u64) -> u32 {
        let (law, stream) = &self.count;
        law.draw(&mut stream.branch(opener)).max(1)
    }

    /// Think time before the request of this index, from the end of the previous answer.
    pub(crate) fn pause(&self, index: u64) -> Duration {
        let (law, stream) = &self.pauses;
        think_time(*law, &mut stream.branch(index))
    }
}

impl ClassDraws {
    pub(crate) fn new(workload: &WorkloadSpec, class: &RequestClass) -> Self {
        let stream = |purpose: &str| RandomStream::named(workload.seed, &format!("{purpose}/{}", class.name));
        let law = |length: &Distribution| (!length.is_from_file()).then(|| LengthSampler::new(length));
        let senders = workload.tenants.iter().map(|tenant| {
            // A tenant gets no requests of other classes, whatever its weight.
            if tenant.sends(&class.name) { tenant.weight } else { 0.0 }
        });
        let laws = Laws {
            input: law(&class.input_tokens),
            output: law(&class.output_tokens),
            inputs: class.inputs,
            shares: WeightedChoice::new(class.priorities.iter().map(|share| share.weight)),
            priorities: class.priorities.iter().map(|share| share.priority).collect(),
            images: class.images.as_ref().map(|images| LengthSampler::new(&images.per_request)),
            prefixes: class.shared_prefix.as_ref().map(|prefixes| PrefixLaw::new(prefixes, &stream("prefix_tokens"))),
            tenants: (!workload.tenants.is_empty()).then(|| WeightedChoice::new(senders)),
            conversation: class.conversation.as_ref().map(|of_class| Turns::new(workload, class, of_class)),
            session: class.session.as_ref().map(|session| StepLaws::new(workload.seed, class, session)),
            of_file: class.session_rules(),
            starts: SessionStarts::new(workload, class),
            models: workload.models.as_ref().map_or(0, |models| models.weights.len() as u16),
        };
        Self {
            laws: Arc::new(laws),
            input: stream("input_tokens"),
            output: stream("output_tokens"),
            share: stream("priorities"),
            images: stream("images"),
            prefixes: stream("prefixes"),
            tenants: stream("tenants"),
        }
    }

    /// The draws of the request of this index alone; they move no other request's draws.
    pub(crate) fn of_index(&self, index: u64) -> Self {
        let Self { laws, input, output, share, images, prefixes, tenants } = self;
        Self {
            laws: Arc::clone(laws),
            input: input.branch(index),
            output: output.branch(index),
            share: share.branch(index),
            images: images.branch(index),
            prefixes: prefixes.branch(index),
            tenants: tenants.branch(index),
        }
    }

    /// A request of this class that opens a conversation or stands alone. It is without its position in the plan; the
    /// lengths of a dataset row are not drawn.
    pub(crate) fn opening(
        &mut self,
        workload: &WorkloadSpec,
        class: usize,
        row: Option<DrawnRow>,
        model: Option<u16>,
    ) -> Option<PlannedRequest> {
        let laws = &self.laws;
        let first = laws.conversation.as_ref().and_then(|turns| turns.first_input.as_ref());
        let (step_input, step_output) = laws
            .session
            .as_ref()
            .map(|steps| &steps.first)
            .map_or((None, None), |first| (first.0.as_ref(), first.1.as_ref()));
        let input = first.or(step_input).or(laws.input.as_ref()).map(|law| law.draw(&mut self.input));
        let output = step_output.or(laws.output.as_ref()).map(|law| law.draw(&mut self.output));
        let each = input.or_else(|| row.map(|row| row.input_tokens))?;
        let input_tokens = laws.inputs.map_or(each, |inputs| inputs.tokens(each));
        let output_tokens = output.or_else(|| row.and_then(|row| row.output_tokens))?;
        let prefix = laws.prefixes.as_ref().map(|law| law.draw(&mut self.prefixes));
        let (priority, tenant) = (self.priority(), self.tenant());
        Some(PlannedRequest {
            class: class as u16,
            input_tokens: input_tokens + prefix.map_or(0, |prefix| prefix.tokens),
            output_tokens,
            priority,
            slo: workload.slo_of(class as u16, priority, tenant),
            row: row.map(|row| row.row),
            tags: row.and_then(|row| row.tags),
            images: self.images(),
            prefix,
            tenant,
            model: row.and_then(|row| row.model?.checked_rem(self.laws.models)).or(model),
            ..PlannedRequest::default()
        })
    }

    /// Draws the tokens of a later turn. They are its own of the prompt, and those of its answer.
    pub(crate) fn later_turn(&mut self) -> Option<(u32, u32)> {
        let input = self.laws.input.as_ref()?.draw(&mut self.input);
        Some((input, self.laws.output.as_ref()?.draw(&mut self.output)))
    }

    pub(crate) fn images(&mut self) -> u16 {
        self.laws.images.as_ref().map_or(0, |law| law.draw(&mut self.images) as u16)
    }

    pub(crate) fn priority(&mut self) -> Priority {
        let share = self.laws.shares.draw(&mut self.share);
        self.laws.priorities.get(share).copied().unwrap_or_default()
    }

    pub(crate) fn tenant(&mut self) -> Option<u16> {
        self.laws.tenants.as_ref().map(|law| law.draw(&mut self.tenants) as u16)
    }

    /// The turn that begins session `session` at `number`. It opens a conversation or a graph, or stands alone.
    /// Its requests are those of the file's `row`, if that is a session.
    pub(crate) fn first_turn(&self, session: u64, number: u32, row: Option<DrawnRow>) -> Turn {
        let index = Turn::index_of(session, number);
        let declared = || self.laws.session.as_ref().map(|steps| steps.graph(index).len());
        let graph = row.and_then(|row| row.requests).or_else(declared);
        let of = graph.or_else(|| self.turns().map(|turns| turns.count(index)));
        let graph = graph.map(|_| GraphPlace::default());
        Turn { session, number, of, begun: number, graph, ..Turn::default() }
    }

    /// Whether a request of the class is followed by others.
    pub(crate) fn continues(&self) -> bool {
        self.laws.conversation.is_some() || self.laws.session.is_some() || self.laws.of_file.is_some()
    }

    /// Returns the graph of the session that request `opener` begins. It is the one `of_file` where sessions come from
    /// one; `None` where the class has none.
    pub(crate) fn graph(
        &self,
        opener: u64,
        of_file: impl FnOnce() -> Option<Arc<SessionGraph>>,
    ) -> Option<Arc<SessionGraph>> {
        let Laws { session, of_file: rules, starts, output, models, .. } = &*self.laws;
        if rules.is_none() {
            return session.as_ref().map(|steps| steps.graph(opener).into());
        }
        let mut graph = of_file()?;
        if output.is_some() || graph.nodes.iter().any(|node| node.model.is_some()) {
            for (node, place) in Arc::make_mut(&mut graph).nodes.iter_mut().zip(0..) {
                let number = Turn::number_of(opener) as u32 + place;
                let index = Turn::index_of(opener & Turn::LAST_SESSION, number);
                let drawn = output.as_ref().map(|law| law.draw(&mut self.output.branch(index)));
                node.output_tokens = drawn.unwrap_or(node.output_tokens);
                node.model = node.model.and_then(|model| model.checked_rem(*models));
            }
        }
        let resumed = starts.as_ref().and_then(|starts| starts.resumed(opener, &graph));
        Some(resumed.map_or(graph, Arc::new))
    }

    /// Whether the session that request `opener` begins does so in its middle.
    pub(crate) fn begins_in_the_middle(&self, opener: u64) -> bool {
        self.laws.starts.is_some() && SessionStarts::is_first(opener)
    }

    /// Most tokens of a prompt and its answer together, in a session of the class.
    pub(crate) fn most_tokens(&self) -> Option<u32> {
        let of_file = || self.laws.of_file.as_ref()?.max_context_tokens;
        self.laws.session.as_ref().map_or_else(of_file, |steps| steps.most_tokens)
    }

    /// Returns how requests of the class continue as conversations; `None` where they do not.
    pub(crate) fn turns(&self) -> Option<&Turns> {
        self.laws.conversation.as_ref()
    }
}
