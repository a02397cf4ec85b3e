//! Draws what the requests of one class have: lengths, priority, prefix, images, tenant.

use std::sync::Arc;

use super::lengths::LengthSampler;
use super::prefixes::PrefixLaw;
use super::think_times::ThinkTimeSampler;
use crate::generator::datasets::draws::DrawnRow;
use crate::random::{RandomStream, WeightedChoice};
use crate::record::SharedPrefix;
use crate::workload::{Conversation, Distribution, Priority, RequestClass, WorkloadSpec};

/// What is drawn for the requests of one class: a distribution and a stream for every purpose.
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
    shares: WeightedChoice,
    priorities: Vec<Priority>,
    images: Option<LengthSampler>,
    prefixes: Option<PrefixLaw>,
    /// `None` where there are no tenants.
    tenants: Option<WeightedChoice>,
    conversation: Option<Turns>,
}

/// How requests continue as conversations.
#[derive(Debug)]
pub(crate) struct Turns {
    count: (LengthSampler, RandomStream),
    pauses: (ThinkTimeSampler, RandomStream),
    first_input: Option<LengthSampler>,
    /// Most tokens of a prompt and its answer together.
    pub(crate) most_tokens: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct DrawnLengths {
    /// Its own tokens, without a shared prefix.
    pub(crate) input_tokens: u32,
    pub(crate) output_tokens: u32,
}

impl Turns {
    fn new(workload: &WorkloadSpec, class: &RequestClass, conversation: &Conversation) -> Self {
        let stream = |purpose: &str| RandomStream::named(workload.seed, &format!("{purpose}/{}", class.name));
        Self {
            count: (LengthSampler::new(&conversation.turns), stream("turns")),
            pauses: (ThinkTimeSampler::new(conversation.think_time_s), stream("think_times")),
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
    pub(crate) fn pause(&self, index: u64) -> std::time::Duration {
        let (law, stream) = &self.pauses;
        law.draw(&mut stream.branch(index))
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
            shares: WeightedChoice::new(class.priorities.iter().map(|share| share.weight)),
            priorities: class.priorities.iter().map(|share| share.priority).collect(),
            images: class.images.as_ref().map(|images| LengthSampler::new(&images.per_request)),
            prefixes: class
                .shared_prefix
                .as_ref()
                .map(|prefixes| PrefixLaw::new(prefixes, &stream("prefix_tokens"))),
            tenants: (!workload.tenants.is_empty()).then(|| WeightedChoice::new(senders)),
            conversation: class.conversation.as_ref().map(|of_class| Turns::new(workload, class, of_class)),
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

    /// The lengths of a request that opens a conversation or stands alone; a dataset row's lengths are not drawn.
    pub(crate) fn opening(&mut self, row: Option<DrawnRow>) -> Option<DrawnLengths> {
        let laws = &self.laws;
        let first = laws.conversation.as_ref().and_then(|turns| turns.first_input.as_ref());
        let input = first.or(laws.input.as_ref()).map(|law| law.draw(&mut self.input));
        let output = laws.output.as_ref().map(|law| law.draw(&mut self.output));
        Some(DrawnLengths {
            input_tokens: input.or_else(|| row.map(|row| row.input_tokens))?,
            output_tokens: output.or_else(|| row.and_then(|row| row.output_tokens))?,
        })
    }

    /// The lengths of a later turn.
    pub(crate) fn later_turn(&mut self) -> Option<DrawnLengths> {
        let input_tokens = self.laws.input.as_ref()?.draw(&mut self.input);
        let output_tokens = self.laws.output.as_ref()?.draw(&mut self.output);
        Some(DrawnLengths { input_tokens, output_tokens })
    }

    pub(crate) fn images(&mut self) -> u16 {
        self.laws.images.as_ref().map_or(0, |law| law.draw(&mut self.images) as u16)
    }

    pub(crate) fn priority(&mut self) -> Priority {
        let share = self.laws.shares.draw(&mut self.share);
        self.laws.priorities.get(share).copied().unwrap_or_default()
    }

    pub(crate) fn prefix(&mut self) -> Option<SharedPrefix> {
        self.laws.prefixes.as_ref().map(|law| law.draw(&mut self.prefixes))
    }

    pub(crate) fn tenant(&mut self) -> Option<u16> {
        self.laws.tenants.as_ref().map(|law| law.draw(&mut self.tenants) as u16)
    }

    /// How requests of the class continue; `None` where each stands alone.
    pub(crate) fn turns(&self) -> Option<&Turns> {
        self.laws.conversation.as_ref()
    }
}

/// What draws the models of a workload's requests, where it mixes several.
pub(crate) fn models_of(workload: &WorkloadSpec) -> Option<(WeightedChoice, RandomStream)> {
    workload.models.as_ref().map(|models| {
        (WeightedChoice::new(models.weights.iter().copied()), RandomStream::named(workload.seed, "models"))
    })
}
