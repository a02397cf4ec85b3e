//! Draws the sessions of a class: the graph of requests that its steps declare.

use std::time::Duration;

use super::lengths::LengthSampler;
use super::pauses::think_time;
use crate::generator::graph::session::{GraphNode, SessionGraph};
use crate::random::RandomStream;
use crate::record::GraphPlace;
use crate::workload::{ClassSession, Distribution, RequestClass, SessionStep, ThinkTime};

/// The steps of a class's sessions.
///
/// Each purpose of a step has its own stream, `copies/CLASS/STEP` and likewise `turns`, `tools`, `delays`,
/// `input_tokens` and `output_tokens`. A session draws from its branch of the opener's index, copy by copy. So no step
/// moves what another draws, and no session another.
#[derive(Debug)]
pub(super) struct StepLaws {
    steps: Vec<StepLaw>,
    /// Lengths of the first prompt and answer, where the step gives them.
    pub(super) first: (Option<LengthSampler>, Option<LengthSampler>),
    /// Most tokens of a prompt and its answer together.
    pub(super) most_tokens: Option<u32>,
}

#[derive(Debug)]
struct StepLaw {
    gates: Vec<usize>,
    any: bool,
    /// Whether its requests bring what tools found.
    is_for_tools: bool,
    history: Option<usize>,
    /// Whether each of its copies is an agent of its own.
    has_agents: bool,
    copies: Law,
    turns: Law,
    tools: Law,
    delays: (ThinkTime, RandomStream),
    input: Law,
    output: Law,
}

/// Lengths or numbers, with their stream.
#[derive(Debug)]
struct Law(LengthSampler, RandomStream);

impl StepLaws {
    pub(super) fn new(seed: u64, class: &RequestClass, session: &ClassSession) -> Self {
        let first = session.steps.first();
        let law = |of: fn(&SessionStep) -> Option<&Distribution>| first.and_then(of).map(LengthSampler::new);
        let with_waits = session.steps.iter().zip(session.gates()).zip(session.histories());
        Self {
            steps: with_waits.map(|((step, gates), history)| StepLaw::new(seed, class, step, gates, history)).collect(),
            first: (law(|step| step.input_tokens.as_ref()), law(|step| step.output_tokens.as_ref())),
            most_tokens: session.max_context_tokens,
        }
    }

    /// The graph of the session that request `opener` begins, whose own lengths are drawn apart.
    pub(super) fn graph(&self, opener: u64) -> SessionGraph {
        let mut nodes: Vec<GraphNode> = Vec::new();
        let mut agents = 0;
        // The last request of each copy of each step.
        let mut ends: Vec<Vec<u32>> = Vec::new();
        for step in &self.steps {
            let mut draws = step.begin(opener);
            let gates: Vec<u32> = step.gates.iter().filter_map(|gate| ends.get(*gate)).flatten().copied().collect();
            let history = step.history.and_then(|step| ends.get(step)?.first().copied());
            let mut own_ends = Vec::new();
            for _ in 0..draws.copies() {
                let before = history.and_then(|place| nodes.get(place as usize)).map(|node| node.place);
                let agent = if step.has_agents { agents + 1 } else { before.map_or(0, |before| before.agent) };
                agents = agents.max(agent);
                for turn in 0..draws.turns() {
                    let last = (nodes.len() as u32).checked_sub(1);
                    let delay = draws.delay();
                    let (waits, carries) = if turn == 0 {
                        (gates.iter().map(|gate| (*gate, delay)).collect(), history)
                    } else {
                        (last.map(|place| (place, delay)).into_iter().collect(), last)
                    };
                    let depth =
                        carries.and_then(|place| nodes.get(place as usize)).map_or(0, |node| node.place.depth + 1);
                    nodes.push(GraphNode {
                        waits,
                        any: turn == 0 && step.any,
                        if_called: step.is_for_tools && carries.is_some(),
                        place: GraphPlace { agent, depth, carries, ..GraphPlace::default() },
                        new_tokens: draws.input(),
                        output_tokens: draws.output(),
                        ..GraphNode::default()
                    });
                }
                own_ends.extend((nodes.len() as u32).checked_sub(1));
            }
            ends.push(own_ends);
        }
        SessionGraph::new(nodes, false)
    }
}

impl StepLaw {
    fn new(seed: u64, class: &RequestClass, step: &SessionStep, gates: Vec<usize>, history: Option<usize>) -> Self {
        let stream = |purpose: &str| RandomStream::named(seed, &format!("{purpose}/{}/{}", class.name, step.name));
        let law = |purpose, of: &Distribution| Law(LengthSampler::new(of), stream(purpose));
        Self {
            any: step.waits_for_any(),
            is_for_tools: step.when.is_some(),
            has_agents: !gates.is_empty() && (history.is_none() || step.copies.bounds() != (1, 1)),
            history,
            gates,
            copies: law("copies", &step.copies),
            turns: law("turns", &step.turns),
            tools: law("tools", &step.tools),
            delays: (step.delay_s, stream("delays")),
            input: law("input_tokens", step.input_tokens.as_ref().unwrap_or(&class.input_tokens)),
            output: law("output_tokens", step.output_tokens.as_ref().unwrap_or(&class.output_tokens)),
        }
    }

    fn begin(&self, opener: u64) -> StepDraws<'_> {
        let branch = |law: &Law| law.1.branch(opener);
        StepDraws {
            law: self,
            copies: branch(&self.copies),
            turns: branch(&self.turns),
            tools: branch(&self.tools),
            delays: self.delays.1.branch(opener),
            input: branch(&self.input),
            output: branch(&self.output),
        }
    }
}

/// The draws of a step in one session.
struct StepDraws<'a> {
    law: &'a StepLaw,
    copies: RandomStream,
    turns: RandomStream,
    tools: RandomStream,
    delays: RandomStream,
    input: RandomStream,
    output: RandomStream,
}

impl StepDraws<'_> {
    fn copies(&mut self) -> u32 {
        self.law.copies.0.draw(&mut self.copies).max(1)
    }

    fn turns(&mut self) -> u32 {
        self.law.turns.0.draw(&mut self.turns).max(1)
    }

    /// The longest of the times of the tools that run side by side.
    fn delay(&mut self) -> Duration {
        let tools = self.law.tools.0.draw(&mut self.tools).max(1);
        (0..tools).map(|_| think_time(self.law.delays.0, &mut self.delays)).max().unwrap_or_default()
    }

    fn input(&mut self) -> u32 {
        self.law.input.0.draw(&mut self.input)
    }

    fn output(&mut self) -> u32 {
        self.law.output.0.draw(&mut self.output)
    }
}
