//! A turn of `dag_jsonl`: what it says, and the conversations that it starts.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::chain::FileTurn;
use super::chat::ChatMessage;
use super::fields::JsonFields;
use crate::generator::datasets::sessions::session::FoundSessions;
use crate::units::cut;

/// A turn, and the conversations that it starts.
#[derive(Debug)]
pub(super) struct DagTurn {
    pub(super) turn: FileTurn,
    pub(super) children: Vec<Child>,
}

/// A conversation that a turn starts.
#[derive(Debug)]
pub(super) struct Child {
    pub(super) id: String,
    /// Whether the child carries on the history of the turn.
    pub(super) forks: bool,
    /// The turn that waits for its end.
    pub(super) join_at: Option<usize>,
}

#[derive(Deserialize)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "neither a `session_id` nor an object with `child` and `background`"
)]
enum Fork {
    Foreground(String),
    Either {
        child: String,
        #[serde(default)]
        background: bool,
    },
}

#[derive(Deserialize)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "neither a `session_id` nor an object with `children` and `join_at`"
)]
enum Spawn {
    Next(String),
    Later { children: Vec<String>, join_at: Option<usize> },
}

impl DagTurn {
    /// Reads the turn at `at` of `turns`.
    pub(super) fn read(json: &RawValue, at: usize, turns: usize, found: &mut FoundSessions) -> Result<Self, String> {
        let mut fields = JsonFields::of_object(json)?;
        let messages = ChatMessage::read_all(&fields.need::<Vec<&RawValue>>("messages")?)?;
        if messages.is_empty() {
            return Err("`messages` is empty; add what is sent".to_owned());
        }
        let mut children: Vec<Child> = Vec::new();
        for fork in fields.take::<Vec<Fork>>("forks")?.unwrap_or_default() {
            let (id, background) = match fork {
                Fork::Foreground(id) => (id, false),
                Fork::Either { child, background } => (child, background),
            };
            if !background && at + 1 < turns {
                let id = cut(id, 80);
                return Err(format!(
                    "the fork `{id}` ends its parent, and turns come after it: write {{\"child\": \"{id}\", \
                 \"background\": true}}, or move it to the last turn"
                ));
            }
            children.push(Child { id, forks: true, join_at: None });
        }
        for spawn in fields.take::<Vec<Spawn>>("spawns")?.unwrap_or_default() {
            let (spawned, join_at) = match spawn {
                Spawn::Next(id) => (vec![id], None),
                Spawn::Later { children, join_at } => (children, join_at),
            };
            if let Some(join) = join_at.filter(|join| *join <= at || *join >= turns) {
                return Err(format!(
                    "`join_at` is {join}; it must be a turn after {at}, and the last is {}",
                    turns - 1
                ));
            }
            let join_at = join_at.or(Some(at + 1)).filter(|join| *join < turns);
            children.extend(spawned.into_iter().map(|id| Child { id, forks: false, join_at }));
        }
        let mut seen = HashSet::new();
        if let Some(double) = children.iter().find(|child| !seen.insert((&child.id, child.forks))) {
            return Err(format!(
                "`{}` is started twice; a turn starts a conversation once",
                cut(double.id.clone(), 80)
            ));
        }
        let turn = FileTurn {
            messages,
            tools: fields.raw("tools").map(|tools| tools.get().into()),
            model: fields.take("model")?,
            output_tokens: fields.tokens("max_tokens")?,
            delay: fields.delay("delay", 1e-3)?,
        };
        fields.count_rest(found, |_| true);
        Ok(Self { turn, children })
    }
}
