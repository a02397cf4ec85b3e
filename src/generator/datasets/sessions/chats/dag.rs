//! `AIPerf`'s `dag_jsonl`: conversations that fork others, which carry on their history, and spawn fresh ones.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::chain::{FileTurn, SessionPrompts};
use super::chat::{ChatMessage, OpenCalls};
use super::dag_turn::{Child, DagTurn};
use super::fields::{JsonFields, key_paths, values};
use crate::generator::datasets::error::BadRow;
use crate::generator::datasets::json_list::ItemPosition;
use crate::generator::datasets::parse::{at, whole};
use crate::generator::datasets::sessions::session::{FileRequest, FileSession, FoundSessions, SessionReader};
use crate::units::{count, cut};
use crate::workload::MOST_TURNS;

/// Reader of conversations that start others. Sessions are complete once all lines have been read.
#[derive(Debug, Default)]
pub(in crate::generator::datasets::sessions) struct DagReader {
    conversations: Vec<DagConversation>,
    by_id: HashMap<String, usize>,
}

#[derive(Debug)]
struct DagConversation {
    id: String,
    place: ItemPosition,
    mode: ContextMode,
    turns: Vec<DagTurn>,
}

/// Relation of a turn's messages to those before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
enum ContextMode {
    /// New messages; answers are the server's.
    #[default]
    #[serde(rename = "deltas_without_responses")]
    New,
    /// New messages, recorded answers among them.
    #[serde(rename = "deltas_with_responses")]
    Recorded,
    /// All messages, recorded answers among them.
    #[serde(rename = "message_array_with_responses")]
    Whole,
}

/// Whether the beginning of a file looks like such conversations.
pub(in crate::generator::datasets::sessions) fn fits(head: &str) -> bool {
    let keys = key_paths(head);
    keys.contains("session_id") && (keys.contains("turns.messages") || keys.contains("orchestrator"))
}

impl SessionReader for DagReader {
    fn take(&mut self, item: &[u8], place: ItemPosition, found: &mut FoundSessions) -> Result<(), BadRow> {
        for json in values(item) {
            let json = json.map_err(|error| at(place, &error))?;
            self.conversation(json, place, found).map_err(|cause| whole(place, cause))?;
        }
        Ok(())
    }

    fn finish(&mut self, found: &mut FoundSessions) -> Result<(), BadRow> {
        let mut is_child = vec![false; self.conversations.len()];
        for conversation in &self.conversations {
            for child in conversation.turns.iter().flat_map(|turn| &turn.children) {
                let wrong = |cause| Err(whole(conversation.place, cause));
                let Some(&at) = self.by_id.get(&child.id) else {
                    let (id, parent) = (cut(child.id.clone(), 80), &conversation.id);
                    return wrong(format!("`{parent}` starts `{id}`, and no line has this `session_id`: add it"));
                };
                let started = &self.conversations[at];
                let keeps = conversation.mode == started.mode && started.mode != ContextMode::Whole;
                if child.forks && !keeps {
                    return wrong(format!(
                        "`{}` forks `{}`, which cannot carry on its history with its `context_mode`: give both one \
                         kind of deltas, or use `spawns`",
                        conversation.id, started.id
                    ));
                }
                is_child[at] = true;
            }
        }
        let mut is_started = vec![false; self.conversations.len()];
        for root in (0..self.conversations.len()).filter(|at| !is_child[*at]) {
            let session = self.session(root, &mut is_started, found)?;
            found.sessions.push(session);
        }
        // Others are in a circle, or started from one.
        while let Some(left) = is_started.iter().position(|is_started| !is_started) {
            self.session(left, &mut is_started, found)?;
        }
        Ok(())
    }
}

impl DagReader {
    fn conversation(&mut self, json: &RawValue, place: ItemPosition, found: &mut FoundSessions) -> Result<(), String> {
        let mut fields = JsonFields::of_object(json)?;
        let id: String = fields.need("session_id")?;
        let shown = cut(id.clone(), 80);
        if self.by_id.contains_key(&id) {
            return Err(format!("the `session_id` `{shown}` occurs twice; give one of them another"));
        }
        if fields.take("orchestrator")?.unwrap_or(false) {
            return Err(format!(
                "`{shown}` is an `orchestrator`, which sends nothing itself, and a session here begins with one \
                 request: put what its `rounds` and `spawns` start below a first turn"
            ));
        }
        let early: Vec<String> = fields.take("pre_session_spawns")?.unwrap_or_default();
        let mode = fields.take("context_mode")?.unwrap_or_default();
        let turns: Vec<&RawValue> = fields.need("turns")?;
        let number = turns.len();
        if number == 0 {
            return Err(format!("`turns` of `{shown}` is empty; a conversation has at least one"));
        }
        fields.count_rest(found, |_| true);
        let mut open = OpenCalls::default();
        let read = |(json, at): (&RawValue, usize)| {
            let read = DagTurn::read(json, at, number, found).and_then(|turn| {
                if mode != ContextMode::Whole {
                    turn.turn.messages.iter().try_for_each(|message| open.follow(message))?;
                }
                Ok(turn)
            });
            read.map_err(|cause| format!("turn {at} of `{shown}`: {cause}"))
        };
        let mut turns: Vec<DagTurn> = turns.into_iter().zip(0..).map(read).collect::<Result<_, _>>()?;
        // They begin beside the first turn, and wait for its end here.
        found.clamped += early.len() as u64;
        turns[0].children.extend(early.into_iter().map(|id| Child { id, forks: false, join_at: None }));
        self.by_id.insert(id.clone(), self.conversations.len());
        self.conversations.push(DagConversation { id, place, mode, turns });
        Ok(())
    }

    /// The session that begins with the conversation at `root`. Each conversation that is started is an agent.
    fn session(&self, root: usize, is_started: &mut [bool], found: &mut FoundSessions) -> Result<FileSession, BadRow> {
        let DagConversation { id, place, turns, .. } = &self.conversations[root];
        if turns.iter().take(1).any(|first| !first.turn.delay.is_zero()) {
            found.ignore("delay of a first turn");
        }
        let (mut requests, mut prompts): (Vec<FileRequest>, _) = (Vec::new(), SessionPrompts::default());
        let mut started = VecDeque::from([Agent { conversation: root, ..Agent::default() }]);
        let mut number = 0;
        while let Some(mut agent) = started.pop_front() {
            let conversation = &self.conversations[agent.conversation];
            if let Some(from) = agent.parents.iter().position(|parent| *parent == agent.conversation) {
                let circle = agent.parents[from..].iter().chain([&agent.conversation]);
                let names: Vec<_> = circle.map(|at| format!("`{}`", self.conversations[*at].id)).collect();
                let cause = format!("conversations start each other in a circle: {}; break it", names.join(" starts "));
                return Err(whole(conversation.place, cause));
            }
            is_started[agent.conversation] = true;
            agent.parents.push(agent.conversation);
            for (DagTurn { turn, children }, at) in conversation.turns.iter().zip(0..) {
                let here = requests.len();
                if here >= MOST_TURNS as usize {
                    let most = count(MOST_TURNS.into());
                    return Err(whole(*place, format!("`{id}` starts more than {most} requests; split its session")));
                }
                let before = if at == 0 { agent.after } else { Some(here - 1) };
                let name = format!("turn {at} of {}", conversation.id);
                requests.push(FileRequest { agent: number, ..turn.request(name, before) });
                agent.say(conversation.mode, turn, here, &mut prompts);
                started.extend(children.iter().map(|child| Agent {
                    conversation: self.by_id[&child.id],
                    after: Some(here),
                    joins: child.join_at.map(|turn| here + turn - at),
                    parents: agent.parents.clone(),
                    ..if child.forks { agent.clone() } else { Agent::default() }
                }));
            }
            if let Some(joined) = agent.joins {
                let last = requests.len() - 1;
                requests[joined].waits.push((last, Duration::ZERO));
            }
            number = number.saturating_add(1);
        }
        prompts.fill(&mut requests);
        Ok(FileSession { name: id.clone(), place: *place, begins_ns: None, requests, blocks: Arc::default() })
    }
}

/// A conversation in a session.
#[derive(Clone, Debug, Default)]
struct Agent {
    conversation: usize,
    /// The conversations that led to it.
    parents: Vec<usize>,
    /// Place of the request that starts it.
    after: Option<usize>,
    /// Place of the request that waits for its end.
    joins: Option<usize>,
    /// Places of the requests whose history it carries on, in order.
    history: Vec<usize>,
    /// Messages so far, where answers are recorded.
    said: Vec<ChatMessage>,
    /// Tools of the last turn that had any.
    tools: Option<Arc<str>>,
}

impl Agent {
    /// Adds the prompt of its next turn, whose place is `here`.
    fn say(&mut self, mode: ContextMode, turn: &FileTurn, here: usize, prompts: &mut SessionPrompts) {
        let ended = |at| self.history.binary_search(&at).is_ok();
        if mode != ContextMode::Whole && turn.tools.is_some() {
            self.tools.clone_from(&turn.tools);
        }
        match mode {
            ContextMode::New => {
                prompts.add_new(self.history.last().copied(), &turn.messages, self.tools.clone());
            }
            ContextMode::Recorded => {
                self.said.extend_from_slice(&turn.messages);
                prompts.add_whole(&self.said, None, self.tools.clone(), ended);
            }
            ContextMode::Whole => {
                prompts.add_whole(&turn.messages, None, turn.tools.clone(), ended);
            }
        }
        self.history.push(here);
    }
}
