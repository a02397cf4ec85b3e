//! Turns a session of a file into the graph of a plan.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::value::RawValue;

use super::blocks::PromptBlocks;
use super::order::{ends_before, in_order, one_beginning, shared_with};
use super::pieces::TextPieces;
use super::session::{FilePrompt, FileRequest, FileSession};
use super::stored::{StoredPrompt, StoredSession};
use crate::generator::datasets::error::BadRow;
use crate::generator::datasets::messages;
use crate::generator::datasets::parse::whole;
use crate::generator::graph::session::{GraphNode, SessionGraph};
use crate::generator::tokens::tokenizer::TokenCounter;
use crate::record::GraphPlace;
use crate::units::count;
use crate::workload::{HistorySource, MOST_TURNS, SaltScope, SessionRules, TOKEN_LIMIT};

/// Tokens of the words before the texts of a session. They are four words and an empty line.
const SALT_TOKENS: u32 = 5;

/// Rules for the sessions of a file.
pub(super) struct Conversion<'a> {
    pub(super) rules: &'a SessionRules,
    pub(super) counter: &'a TokenCounter,
    /// Whether the requests say how long their answers are.
    pub(super) lengths_of_rows: bool,
    /// The names of models so far.
    pub(super) models: Vec<Box<str>>,
    /// The texts so far, where sessions have some in common.
    pub(super) texts: TextPieces,
}

/// A request beside those before it.
#[derive(Clone, Copy, Default)]
struct Lengths {
    input: u32,
    /// Tokens of its answer as later prompts repeat it.
    said: u32,
    /// Tokens of its answer that are asked for.
    answer: u32,
}

impl Conversion<'_> {
    /// Returns the session. Each of its requests comes after those that it waits for.
    ///
    /// # Errors
    ///
    /// What no session can be, with the request and the cure.
    pub(super) fn session(&mut self, file: FileSession) -> Result<StoredSession, BadRow> {
        let FileSession { name, place: at, begins_ns, mut requests, blocks } = file;
        let refused = |cause: String| Err(whole(at, format!("session `{name}`: {cause}")));
        if requests.is_empty() {
            return refused("it has no request".to_owned());
        }
        if requests.len() > MOST_TURNS as usize {
            let many = count(requests.len() as u64);
            return refused(format!("it has {many} requests, and a session has at most 10,000; split it"));
        }
        one_beginning(&mut requests);
        let order = match in_order(&requests) {
            Ok(order) => order,
            Err(circle) => return refused(circle),
        };
        let mut places = vec![0_u32; requests.len()];
        for (place, from) in (0..).zip(&order) {
            places[*from] = place;
        }
        let is_recorded = match self.recorded(&requests) {
            Ok(is_recorded) => is_recorded,
            Err(cause) => return refused(cause).map_err(|row| BadRow { of_options: true, ..row }),
        };
        if self.rules.start.is_some() && !(is_recorded || requests.iter().all(FileRequest::is_whole)) {
            return refused(
                "its history is what the server answers, and it answered nothing before the middle that `start` names; \
                 repeat recorded answers, or leave `start` out"
                    .to_owned(),
            );
        }
        let undated = requests.iter().find(|request| request.begins.is_none());
        if let Some(undated) = undated.filter(|_| self.rules.start.is_some()) {
            return refused(format!(
                "nothing says when {} began, so its middle is unknown; leave `start` out",
                undated.name
            ));
        }
        let mut session = StoredSession { blocks, begins_ns, ..StoredSession::default() };
        let mut nodes: Vec<GraphNode> = Vec::with_capacity(order.len());
        let mut lengths: Vec<Lengths> = Vec::with_capacity(order.len());
        let mut last_of_agent = HashMap::new();
        for (place, from) in (0_u32..).zip(&order) {
            let request = std::mem::take(&mut requests[*from]);
            let waits: Vec<(u32, Duration)> =
                request.waits.iter().map(|(on, delay)| (places[*on], self.rules.delay(*delay))).collect();
            let surely = |on: &u32| ends_before(&nodes, &waits, *on);
            let carries = request.prompt.carries().map(|on| places[on]);
            if let Some(carried) = carries.filter(|carried| !is_recorded && !surely(carried)) {
                let of = order.get(carried as usize).map_or(String::new(), |from| names_of(&requests, *from));
                return refused(format!(
                    "{} repeats the answer of {of}, and does not wait for its end; add the wait, or repeat recorded \
                     answers",
                    request.name
                ));
            }
            let agent_before = last_of_agent.insert(request.agent, place);
            let near = carries.or(agent_before).into_iter().chain(waits.iter().map(|(on, _)| *on));
            // A new agent may begin like one that has ended.
            let ended = last_of_agent.values().copied().filter(|_| agent_before.is_none());
            let near: Vec<u32> = near.chain(ended).filter(|on| *on != place && surely(on)).collect();
            let shared_blocks = match &request.prompt {
                FilePrompt::Blocks { blocks, .. } => shared_with(&session.blocks, *blocks, &session.says, &near),
                FilePrompt::Messages { .. } | FilePrompt::Text { .. } => (0, None),
            };
            let (mut says, length, (shared, like)) =
                match self.says(&request, carries, is_recorded, shared_blocks, &lengths) {
                    Ok(said) => said,
                    Err(cause) => return refused(format!("{}: {cause}", request.name)),
                };
            let is_whole = is_recorded || matches!(says, StoredPrompt::Blocks { .. });
            let history = carries.and_then(|on| lengths.get(on as usize)).copied().unwrap_or_default();
            let new_tokens =
                if is_whole { length.input } else { length.input.saturating_sub(history.input + history.said) };
            let (shared, like) =
                Some((shared, like)).filter(|(_, like)| like.as_ref().is_none_or(surely)).unwrap_or((0, None));
            let depth = carries.or(agent_before).and_then(|on| nodes.get(on as usize)).map_or(0, |n| n.place.depth + 1);
            nodes.push(GraphNode {
                waits,
                begins: request.begins,
                place: GraphPlace {
                    agent: request.agent,
                    depth,
                    carries: carries.filter(|_| !is_whole),
                    ..GraphPlace::default()
                },
                new_tokens,
                shared_tokens: is_whole.then_some(shared),
                begins_like: like.filter(|_| is_whole),
                output_tokens: length.answer,
                model: request.model.map(|model| self.number_of(model)),
                ..GraphNode::default()
            });
            lengths.push(length);
            self.divide(&mut says, is_recorded, &session.says);
            session.says.push(says);
        }
        let outlives_failures = nodes.iter().all(|node| node.shared_tokens.is_some());
        session.graph = SessionGraph::new(nodes, outlives_failures).into();
        Ok(session)
    }

    /// The number of a model, by its name in the file.
    fn number_of(&mut self, model: Box<str>) -> u16 {
        let place = self.models.iter().position(|known| *known == model).unwrap_or_else(|| {
            self.models.push(model);
            self.models.len() - 1
        });
        u16::try_from(place).unwrap_or(u16::MAX)
    }

    /// Whether prompts repeat recorded answers. All of them are then in the file, and nobody wants others.
    fn recorded(&self, requests: &[FileRequest]) -> Result<bool, String> {
        let carried = || requests.iter().filter_map(|request| requests.get(request.prompt.carries()?));
        let without = carried().find(|carried| carried.prompt.answer().is_none());
        let is_whole = requests.iter().all(FileRequest::is_whole);
        if self.rules.history.is_some() && is_whole {
            return Err("its prompts are whole, with no answer apart; leave --history out".to_owned());
        }
        let calls = |text: &str| text.contains("\"tool_calls\"");
        let called = carried().find(|carried| carried.prompt.answer().is_some_and(calls));
        match (self.rules.history, without, called) {
            (Some(HistorySource::Recorded), Some(without), _) => Err(format!(
                "the file has no answer of {}, and later prompts repeat it; repeat live answers (--history live)",
                without.name
            )),
            (Some(HistorySource::Live), _, Some(called)) => Err(format!(
                "{} called tools in the recording, and the recorded results fit no other call; repeat recorded answers \
                 (--history recorded)",
                called.name
            )),
            (history, without, _) => {
                let has_texts = requests.iter().all(|request| matches!(request.prompt, FilePrompt::Messages { .. }));
                Ok(has_texts && without.is_none() && history != Some(HistorySource::Live))
            }
        }
    }

    /// Returns what a request says and its lengths. With it are the tokens that its prompt shares with one before, and
    /// the place of that. So many blocks are those of another.
    fn says(
        &self,
        request: &FileRequest,
        carries: Option<u32>,
        is_recorded: bool,
        (kept, base): (u32, Option<u32>),
        lengths: &[Lengths],
    ) -> Result<(StoredPrompt, Lengths, (u32, Option<u32>)), String> {
        let before = carries.and_then(|on| lengths.get(on as usize)).copied();
        let said = before.map_or(0, |before| before.input + before.said);
        let (says, input, shared, counted) = match &request.prompt {
            FilePrompt::Blocks { tokens, block_tokens, is_local, blocks } => {
                let theirs = base.and_then(|on| lengths.get(on as usize)).map_or(0, |before| before.input);
                let shared = kept.saturating_mul(*block_tokens).min(*tokens).min(theirs);
                let says = StoredPrompt::Blocks { blocks: *blocks, tokens: *block_tokens, is_local: *is_local };
                (says, *tokens, (shared, base), None)
            }
            FilePrompt::Messages { new, answer, tools, .. } => {
                let list = format!("[{new}]");
                let texts = messages::texts(&list).map_err(|error| format!("its messages: {error}"))?;
                let first = if before.is_some() { 0 } else { self.beginning(tools.as_deref()) };
                let tokens: u32 = texts.iter().map(|text| self.counter.count(text)).sum();
                let (new, tools) = (new.clone(), tools.clone());
                let says = StoredPrompt::Messages { carries, new, answer: answer.clone(), tools, pieces: None };
                let counted = answer.as_deref().map(|answer| messages::texts(&format!("[{answer}]")));
                let counted = counted.transpose().map_err(|error| format!("its answer: {error}"))?;
                let counted = counted.map(|texts| texts.iter().map(|text| self.counter.count(text)).sum::<u32>());
                let shared = (before.map_or(0, |before| before.input), carries);
                (says, said + first + tokens, shared, counted)
            }
            FilePrompt::Text { tokens, .. } => (StoredPrompt::Words, said + tokens, (0, None), None),
        };
        if input == 0 {
            return Err("its prompt has no token".to_owned());
        }
        if input > TOKEN_LIMIT {
            return Err(format!(
                "its prompt has {} tokens; the most is {}",
                count(input.into()),
                count(TOKEN_LIMIT.into())
            ));
        }
        let answer = request.output_tokens.or(counted.map(|tokens| tokens.max(1)));
        match answer {
            None if self.lengths_of_rows => {
                Err("nothing says how long its answer is; give the class `output_tokens`, or --output-tokens"
                    .to_owned())
            }
            answer => {
                let answer = answer.unwrap_or(0);
                let said = if is_recorded { counted.unwrap_or(answer) } else { answer };
                Ok((says, Lengths { input, said, answer }, shared))
            }
        }
    }

    /// Divides a whole prompt into pieces, where other sessions may have them too. `before` are those of its session.
    fn divide(&mut self, says: &mut StoredPrompt, is_recorded: bool, before: &[StoredPrompt]) {
        let StoredPrompt::Messages { carries, new, tools, pieces, .. } = says else { return };
        if self.rules.salt == SaltScope::Session || carries.is_some() && !is_recorded {
            return;
        }
        let (first, answer) = match carries.and_then(|on| before.get(on as usize)) {
            Some(StoredPrompt::Messages { pieces: Some(pieces), answer, .. }) => (*pieces, answer.as_deref()),
            Some(_) => return,
            None => (PromptBlocks::default(), None),
        };
        let tools = tools.as_deref();
        let leads = carries.is_none().then(|| (tools.unwrap_or_default(), self.beginning(tools)));
        let list = format!("[{new}]");
        let new: Vec<&RawValue> = serde_json::from_str(&list).unwrap_or_default();
        let each = answer.into_iter().chain(new.iter().map(|message| message.get()));
        let counted = each.map(|message| {
            let texts = messages::texts(&format!("[{message}]")).unwrap_or_default();
            (message, texts.iter().map(|text| self.counter.count(text)).sum())
        });
        *pieces = Some(self.texts.add(first, leads.into_iter().chain(counted)));
    }

    /// Tokens before the first message. They are words of the session, and definitions of tools.
    fn beginning(&self, tools: Option<&str>) -> u32 {
        let salt = if self.rules.salt == SaltScope::Run { 0 } else { SALT_TOKENS };
        salt + tools.map_or(0, |tools| self.counter.count(tools))
    }
}

impl FilePrompt {
    /// The place of the request whose prompt and answer come first.
    fn carries(&self) -> Option<usize> {
        match self {
            Self::Blocks { .. } => None,
            Self::Messages { carries, .. } | Self::Text { carries, .. } => *carries,
        }
    }

    fn answer(&self) -> Option<&str> {
        match self {
            Self::Messages { answer, .. } => answer.as_deref(),
            Self::Blocks { .. } | Self::Text { .. } => None,
        }
    }
}

fn names_of(requests: &[FileRequest], at: usize) -> String {
    requests.get(at).map_or(String::new(), |request| request.name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::datasets::json_list::ItemPosition;
    use crate::generator::datasets::sessions::blocks::{BlockTree, KnownPrompts};

    fn converted(requests: Vec<FileRequest>, blocks: BlockTree) -> SessionGraph {
        let rules = SessionRules { salt: SaltScope::Run, ..SessionRules::default() };
        let counter = TokenCounter::Estimate;
        let (models, texts) = (Vec::new(), TextPieces::default());
        let mut conversion = Conversion { rules: &rules, counter: &counter, lengths_of_rows: true, models, texts };
        let (name, blocks) = ("s".to_owned(), blocks.into());
        let file = FileSession { name, place: ItemPosition::FIRST, begins_ns: None, requests, blocks };
        SessionGraph::clone(&conversion.session(file).unwrap().graph)
    }

    fn says(text: &str) -> Box<str> {
        format!(r#"{{"role":"user","content":"{text}"}}"#).into()
    }

    /// The prompt after a recorded answer has that, whatever length was asked for.
    #[test]
    fn a_recorded_answer_is_as_long_as_it_is() {
        let turn = |carries: Option<usize>| FileRequest {
            name: "a".to_owned(),
            waits: carries.map(|on| (on, Duration::ZERO)).into_iter().collect(),
            prompt: FilePrompt::Messages {
                carries,
                new: says("one two three four"),
                answer: Some(says("five six")),
                tools: None,
            },
            output_tokens: Some(500),
            ..FileRequest::default()
        };
        let graph = converted(vec![turn(None), turn(Some(0))], BlockTree::default());
        assert_eq!(graph.inputs(), [4, 10]);
        assert_eq!(graph.nodes[1].shared_tokens, Some(4));
        assert_eq!(graph.nodes[1].output_tokens, 500);
    }

    /// The second agent begins like the first, whose end the main agent waited for.
    #[test]
    fn a_new_agent_shares_what_one_that_ended_said() {
        let lists: [&[u64]; 4] = [&[0, 1], &[7, 8, 9], &[0, 1, 2], &[7, 8, 5]];
        let waits = [vec![], vec![0], vec![1], vec![2]];
        let mut known = KnownPrompts::default();
        let requests = lists.iter().zip(waits).zip([0, 1, 0, 2]).map(|((ids, waits), agent)| {
            let prompt = FilePrompt::Blocks {
                tokens: 64 * ids.len() as u32,
                block_tokens: 64,
                blocks: known.add(ids),
                is_local: true,
            };
            let waits = waits.into_iter().map(|on| (on, Duration::ZERO)).collect();
            FileRequest { waits, agent, prompt, output_tokens: Some(4), ..FileRequest::default() }
        });
        let requests = requests.collect();
        let graph = converted(requests, known.tree());
        let shared: Vec<_> = graph.nodes.iter().map(|node| node.shared_tokens).collect();
        assert_eq!(shared, [Some(0), Some(0), Some(128), Some(128)]);
    }
}
