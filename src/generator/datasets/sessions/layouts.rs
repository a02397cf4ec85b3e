//! The layouts of files of sessions: how each is recognised, and who reads it.

use std::io::Read as _;

use strum::VariantNames as _;

use super::chats::dag::{self, DagReader};
use super::chats::messages::{self, ChatReader};
use super::chats::mlcommons::{self, MlcommonsReader};
use super::chats::multi_turn::{self, TurnsReader};
use super::chats::spans::{self, SpanReader};
use super::mooncake::MooncakeReader;
use super::session::SessionReader;
use super::tracelab::{self, TraceLabReader, TraceLabTable};
use super::{mooncake, weka};
use crate::generator::datasets::table::local;
use crate::generator::packed::Unpacked;
use crate::units::cut;
use crate::workload::SessionLayout;

/// A layout: how a file of it is recognised, and its reader.
pub(super) struct Layout {
    pub(super) name: SessionLayout,
    fits: fn(&str) -> bool,
    pub(super) reader: fn() -> Box<dyn SessionReader>,
}

/// Bytes of a file in which fields are looked for.
const HEAD: u64 = 64 << 10;

/// All layouts.
const LAYOUTS: &[Layout] = &[
    Layout { name: SessionLayout::Weka, fits: weka::fits, reader: || Box::<weka::WekaReader>::default() },
    Layout { name: SessionLayout::Tracelab, fits: tracelab::fits, reader: || Box::<TraceLabReader>::default() },
    Layout { name: SessionLayout::Tracelab, fits: tracelab::fits_table, reader: || Box::<TraceLabTable>::default() },
    Layout { name: SessionLayout::MooncakeSessions, fits: mooncake::fits, reader: || Box::<MooncakeReader>::default() },
    Layout { name: SessionLayout::DagJsonl, fits: dag::fits, reader: || Box::<DagReader>::default() },
    Layout { name: SessionLayout::MultiTurn, fits: multi_turn::fits, reader: || Box::<TurnsReader>::default() },
    Layout { name: SessionLayout::Mlcommons, fits: mlcommons::fits, reader: || Box::<MlcommonsReader>::default() },
    Layout { name: SessionLayout::Spans, fits: spans::fits, reader: || Box::<SpanReader>::default() },
    Layout { name: SessionLayout::Messages, fits: messages::fits, reader: || Box::<ChatReader>::default() },
    Layout { name: SessionLayout::Sharegpt, fits: messages::fits_sharegpt, reader: || Box::<ChatReader>::default() },
];

/// The layout of the file or folder at `path`. It is `None` where that is not one of sessions.
pub fn session_layout(path: &str) -> Option<SessionLayout> {
    Layout::find(None, &head_of(path)?).ok().map(|known| known.name)
}

/// The beginning of the file at `path`. Of a folder it is that of its first file.
pub(super) fn head_of(path: &str) -> Option<Vec<u8>> {
    let names = local(path).ok()?;
    let mut head = Vec::new();
    Unpacked::open(names.first()?.as_ref()).ok()?.take(HEAD).read_to_end(&mut head).ok()?;
    Some(head)
}

impl Layout {
    /// The layout of this name, else the one that the beginning of a file fits.
    ///
    /// # Errors
    ///
    /// A sentence, where none fits or several do.
    pub(super) fn find(named: Option<SessionLayout>, head: &[u8]) -> Result<&'static Self, String> {
        let head = String::from_utf8_lossy(head);
        let mut of_name = LAYOUTS.iter().filter(|layout| Some(layout.name) == named);
        // One may be written in two ways.
        if let Some(layout) = of_name.clone().find(|layout| (layout.fits)(&head)).or_else(|| of_name.next()) {
            return Ok(layout);
        }
        let fitting: Vec<&Self> = LAYOUTS.iter().filter(|layout| (layout.fits)(&head)).collect();
        let listed = |layouts: &[&Self]| layouts.iter().map(|layout| layout.name.name()).collect::<Vec<_>>().join(", ");
        match &*fitting {
            [one] => Ok(one),
            [] => Err(format!(
                "it is not recognised as a file of sessions, which are of one of the layouts {}; it begins with {:?}",
                SessionLayout::VARIANTS.join(", "),
                cut(head.into_owned(), 60)
            )),
            several => Err(format!("it may be any of {}", listed(several))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_with_blocks_fit_one_layout_each() {
        for (layout, head) in [
            (
                SessionLayout::Weka,
                r#"{"id":"a","models":[],"block_size":64,"hash_id_scope":"local","requests":[{"t":0"#,
            ),
            (
                SessionLayout::Tracelab,
                r#"{"session_id":"a","round_index":0,"input_tokens_total":9,"timing_events":[{"event_type""#,
            ),
            (SessionLayout::Tracelab, "id,input_len,output_len,arrival_time,round_idx,tool_wait_after_ms,prefix_len"),
            (SessionLayout::MooncakeSessions, r#"{"session_id":"a","timestamp":0,"input_length":9,"hash_ids":[0,1"#),
        ] {
            assert_eq!(Layout::find(None, head.as_bytes()).unwrap().name, layout);
        }
        // Without sessions it is a trace of requests.
        assert!(Layout::find(None, br#"{"timestamp":0,"input_length":9,"output_length":9,"hash_ids":[0]}"#).is_err());
    }
}
