//! A file of sessions read as a run reads it, to be shown.

use serde_json::{Value, json};

use super::read::survey;
use super::stored::{SessionStart, SessionStore};
use crate::generator::datasets::error::DatasetError;
use crate::generator::datasets::survey::Survey;
use crate::generator::graph::session::{GraphNode, SessionGraph};
use crate::generator::tokens::tokenizer::TokenCounter;
use crate::workload::{
    Dataset, DatasetFormat, Distribution, LengthCounts, RequestClass, SessionLayout, SessionLengths, SessionRules,
};

/// A file of sessions: what was found in it, and its sessions.
#[derive(Debug)]
pub struct ShownSessions {
    /// The file, with the findings about it.
    pub dataset: Dataset,
    /// Lengths of what it holds.
    pub lengths: Option<SessionLengths>,
    /// Sessions as JSON. Each request has its agent, what it waits for, and its tokens.
    pub sessions: Vec<Value>,
}

/// Reads the sessions of `dataset`, whose lengths are estimated.
fn read(dataset: &Dataset) -> Result<Survey, DatasetError> {
    // A request that does not say how long its answer is has none here.
    let of_prompts = Distribution::Dataset { mean: None };
    let class = RequestClass::alike("sessions", 1.0, of_prompts, Distribution::default());
    survey(dataset, &class, &TokenCounter::Estimate)
}

/// The layout of a file of sessions, and their beginnings. Last comes how many have no moment.
pub(in crate::generator) fn session_starts(
    dataset: &Dataset,
) -> Result<(SessionLayout, Vec<SessionStart>, u64), DatasetError> {
    let Survey { index, findings, .. } = read(dataset)?;
    let starts = index.sessions().map(SessionStore::starts).unwrap_or_default();
    let layout = findings.sessions.map_or(SessionLayout::Weka, |found| found.layout);
    let undated = findings.rows - starts.len() as u64;
    Ok((layout, starts, undated))
}

/// Whether the first session of the file at `path` says when it began.
pub fn has_moments(path: &str, layout: Option<SessionLayout>) -> bool {
    let sessions = Some(SessionRules { layout, ..SessionRules::default() });
    let dataset = Dataset::new(path.to_owned(), DatasetFormat::Sessions);
    let first = Dataset { sessions, rows: Some(1), skip_bad: true, ..dataset };
    session_starts(&first).is_ok_and(|(_, starts, _)| !starts.is_empty())
}

impl ShownSessions {
    /// Reads the sessions of `dataset`, whose lengths are estimated.
    ///
    /// # Errors
    ///
    /// What is wrong with the file, with its position and the cure.
    pub fn read(dataset: Dataset) -> Result<Self, DatasetError> {
        let read = read(&dataset)?;
        let rows = (0..read.findings.rows).filter_map(|row| read.index.sessions()?.graph(row));
        let [mut requests, mut prompts, mut new, mut answers] = [const { LengthCounts::new() }; 4];
        let mut sessions = Vec::new();
        for graph in rows {
            requests.add(u64::from(graph.len()));
            for (node, input) in graph.nodes.iter().zip(graph.inputs()) {
                prompts.add(input);
                new.add(node.shared_tokens.map_or(u64::from(node.new_tokens), |shared| input - u64::from(shared)));
                answers.add(u64::from(node.output_tokens));
            }
            sessions.push(listed(graph));
        }
        let [requests, prompts, new, answers] = [requests, prompts, new, answers].map(|lengths| lengths.spread());
        let all = requests.zip(prompts).zip(new.zip(answers));
        let lengths =
            all.map(|((requests, prompts), (new, answers))| SessionLengths { requests, prompts, new, answers });
        let found = Some(Box::new(read.findings));
        Ok(Self { dataset: Dataset { found, ..dataset }, lengths, sessions })
    }
}

/// The requests of a session.
fn listed(graph: &SessionGraph) -> Value {
    let waits = |node: &GraphNode| {
        let waits = node.waits.iter();
        waits.map(|(on, delay)| json!({ "on": on, "delay_s": delay.as_secs_f64() })).collect::<Vec<_>>()
    };
    let requests = graph.nodes.iter().zip(graph.inputs()).map(|(node, input_tokens)| {
        json!({
            "agent": node.place.agent,
            "waits": waits(node),
            "carries": node.place.carries,
            "input_tokens": input_tokens,
            "shared_tokens": node.shared_tokens,
            "output_tokens": node.output_tokens,
        })
    });
    requests.collect()
}
