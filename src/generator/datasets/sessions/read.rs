//! Reads a file of sessions once: its layout, its sessions, facts about the file.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use super::convert::Conversion;
use super::layouts::{Layout, head_of};
use super::pieces::TextPieces;
use super::session::{FoundSessions, SessionReader};

use super::stored::{SessionStore, StoredSession};
use crate::generator::datasets::error::{BadRow, DatasetError};
use crate::generator::datasets::json_list::ItemPosition;
use crate::generator::datasets::rows::{Index, RowEntry, RowStore};
use crate::generator::datasets::survey::Survey;
use crate::generator::datasets::table::objects;
use crate::generator::graph::session::GraphNode;
use crate::generator::tokens::tokenizer::TokenCounter;
use crate::units::hexadecimal;
use crate::workload::{Dataset, DatasetFindings, RequestClass, SessionFindings, SessionLayout};

/// Reads the sessions of `dataset` through.
pub(in crate::generator::datasets) fn survey(
    dataset: &Dataset,
    class: &RequestClass,
    counter: &TokenCounter,
) -> Result<Survey, DatasetError> {
    let rules = dataset.sessions.clone().unwrap_or_default();
    let lengths_of_rows = class.output_tokens.is_of_rows();
    let conversion =
        Conversion { rules: &rules, counter, lengths_of_rows, models: Vec::new(), texts: TextPieces::default() };
    let mut pass = SessionPass::new(dataset, conversion);
    let mut digest = objects(dataset, &mut |item, place| pass.take(item, place))?;
    pass.finish()?;
    let SessionPass { mut sessions, found, layout, bad, first, conversion, .. } = pass;
    let Some(layout) = layout.filter(|_| !sessions.is_empty()) else {
        let path = PathBuf::from(&dataset.path);
        return Err(DatasetError::Empty { path, format: dataset.format.name(), filtered: 0, bad, first });
    };
    let facts = facts(layout, &sessions, found);
    let requests = facts.requests.max(1) as f64;
    let answers: u64 = nodes(&sessions).map(|node| u64::from(node.output_tokens)).sum();
    let findings = DatasetFindings {
        bytes: digest.bytes,
        sha256: hexadecimal(&digest.sha256),
        revision: digest.revision.take(),
        files: std::mem::take(&mut digest.names),
        rows: sessions.len() as u64,
        filtered_rows: 0,
        bad_rows: bad,
        mean_input_tokens: facts.input_tokens as f64 / requests,
        mean_output_tokens: lengths_of_rows.then_some(answers as f64 / requests),
        tags: Vec::new(),
        sessions: Some(facts),
    };
    let pieces = conversion.texts.tree();
    let has_messages = sessions.iter().any(StoredSession::has_messages);
    for session in sessions.iter_mut().filter(|session| session.has_messages()) {
        session.blocks = Arc::clone(&pieces.tree);
    }
    let entries = sessions.iter().map(opener).collect();
    let rows = RowStore::Sessions(SessionStore { rules, sessions, pieces });
    Ok(Survey { index: Index { path: dataset.path.clone(), entries, rows, key: None }, findings, has_messages })
}

/// One pass over the items of a file of sessions.
struct SessionPass<'a> {
    dataset: &'a Dataset,
    conversion: Conversion<'a>,
    /// Layout of the file, once its first item is known.
    layout: Option<SessionLayout>,
    reader: Option<Box<dyn SessionReader>>,
    found: FoundSessions,
    sessions: Vec<StoredSession>,
    /// Items and sessions that were skipped, and the first of them.
    bad: u64,
    first: Option<Box<BadRow>>,
}

impl<'a> SessionPass<'a> {
    fn new(dataset: &'a Dataset, conversion: Conversion<'a>) -> Self {
        let (layout, reader, found) = (None, None, FoundSessions::default());
        Self { dataset, conversion, layout, reader, found, sessions: Vec::new(), bad: 0, first: None }
    }

    fn take(&mut self, item: &[u8], place: ItemPosition) -> Result<ControlFlow<()>, DatasetError> {
        if self.reader.is_none() {
            let head = head_of(&self.dataset.path).unwrap_or_else(|| item.to_owned());
            let known = Layout::find(self.conversion.rules.layout, &head).map_err(|cause| DatasetError::NoTable {
                what: self.dataset.path.clone(),
                cause,
                cure: "say how it is written: --trace-format, or `layout` of `sessions` in a workload file".to_owned(),
            })?;
            self.layout = Some(known.name);
            self.reader = Some((known.reader)());
        }
        let read = self.reader.as_mut().map_or(Ok(()), |reader| reader.take(item, place, &mut self.found));
        self.judge(read)?;
        self.convert()?;
        Ok(if self.is_full() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    fn finish(&mut self) -> Result<(), DatasetError> {
        if !self.is_full() {
            let read = self.reader.as_mut().map_or(Ok(()), |reader| reader.finish(&mut self.found));
            self.judge(read)?;
            self.convert()?;
        }
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.dataset.rows.is_some_and(|rows| self.sessions.len() as u64 >= rows)
    }

    /// Takes over the sessions that are complete.
    fn convert(&mut self) -> Result<(), DatasetError> {
        for session in std::mem::take(&mut self.found.sessions) {
            if !self.is_full() {
                let converted = self.conversion.session(session).map(|session| self.sessions.push(session));
                self.judge(converted)?;
            }
        }
        Ok(())
    }

    fn judge(&mut self, read: Result<(), BadRow>) -> Result<(), DatasetError> {
        match read {
            Ok(()) => Ok(()),
            Err(row) if self.dataset.skip_bad => {
                self.bad += 1;
                self.first.get_or_insert(Box::new(row));
                Ok(())
            }
            Err(row) => Err(DatasetError::BadRow { path: PathBuf::from(&self.dataset.path), row }),
        }
    }
}

fn nodes(sessions: &[StoredSession]) -> impl Iterator<Item = &GraphNode> {
    sessions.iter().flat_map(|session| &session.graph.nodes)
}

/// The lengths of the first request of a session.
fn opener(session: &StoredSession) -> RowEntry {
    let first = session.graph.nodes.first();
    RowEntry {
        offset: 0,
        bytes: 0,
        input_tokens: first.map_or(1, |node| node.new_tokens),
        output_tokens: first.map_or(0, |node| node.output_tokens),
        tags: RowEntry::NO_TAGS,
    }
}

fn facts(layout: SessionLayout, sessions: &[StoredSession], found: FoundSessions) -> SessionFindings {
    let most = |of: fn(&StoredSession) -> u32| sessions.iter().map(of).max().unwrap_or(0);
    let (mut input_tokens, mut shared_tokens) = (0, 0);
    for (input, shared) in sessions.iter().map(|session| session.graph.prompt_tokens()) {
        input_tokens += input;
        shared_tokens += shared;
    }
    SessionFindings {
        layout,
        requests: nodes(sessions).count() as u64,
        most_requests: most(|session| session.graph.len()),
        most_agents: most(|session| session.graph.agents()),
        joins: nodes(sessions).filter(|node| node.waits.len() > 1).count() as u64,
        recorded: sessions.iter().filter(|session| session.graph.outlives_failures).count() as u64,
        dated: sessions.iter().filter(|session| session.begins_ns.is_some()).count() as u64,
        input_tokens,
        shared_tokens,
        clamped: found.clamped,
        ignored: found.ignored.into_iter().collect(),
        left_out: found.left_out.into_iter().map(|(reason, count)| (reason.to_owned(), count)).collect(),
    }
}
