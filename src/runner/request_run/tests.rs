//! What the record of a request takes from the events of its answer.

use std::time::Duration;

use super::*;
use crate::record::{LateStamps, TokenSource, Usage};
use crate::runner::options::Timeouts;

/// An answer that never comes.
struct NoAnswer;

impl Answer for NoAnswer {
    async fn next(&mut self) -> AnswerEvent {
        std::future::pending().await
    }
}

/// A request scheduled at 100 ns that got these chunks: time, tokens, kind of text.
fn executed(chunks: &[(u64, Option<u32>, ChunkText)], usage: Option<Usage>) -> RequestRecord {
    let request = PlannedRequest {
        index: 7,
        scheduled: Timestamp::from_nanos(100),
        input_tokens: 4,
        output_tokens: 4,
        ..PlannedRequest::default()
    };
    let mut run = RequestRun::new(&request, WorkKind::Tokens, Timestamp::from_nanos(101));
    let begin = Timestamp::from_nanos(101);
    let rules = ClientRules { timeouts: Timeouts::default(), retries: None, leaving: None };
    let mut life = RequestLife::new(7, 0, 100, rules);
    life.begin(LiveAnswer { answer: NoAnswer, headers: None, address: None, target: 0 }, AttemptKind::First, begin);
    let (progress, cancel) = (Progress::default(), CancellationToken::new());
    let clock = RunClock::starting_in(Duration::ZERO);
    let context = RequestContext { engine: &(), clock, rules, progress: &progress, cancel: &cancel };
    for (i, &(at, tokens, text)) in chunks.iter().enumerate() {
        if i % 2 == 1 {
            let late = AnswerEvent::LateStamp { by: Duration::from_nanos(7) };
            assert!(run.take(late, Which::First, &mut life, &context).is_none());
        }
        let chunk = AnswerEvent::Chunk { at: Timestamp::from_nanos(at), tokens, text, merged: i % 2 == 1, choice: 0 };
        assert!(run.take(chunk, Which::First, &mut life, &context).is_none());
    }
    let at = Timestamp::from_nanos(999);
    let end = AnswerEnd {
        at,
        result: Ok(()),
        whole_answer: None,
        finish_reason: None,
        usage,
        impossible_usage: None,
        hidden_tokens: 0,
        last_repeats: false,
        oddities: crate::record::Oddities::default(),
        captured: None,
        retry_after: None,
    };
    let whole = run.whole(end);
    run.finish(whole, life, &progress).record
}

#[test]
fn the_first_answer_is_the_first_text_after_reasoning() {
    use ChunkText::{Content, Reasoning, ToolCall};
    let thinking = executed(&[(200, None, Reasoning), (210, None, Reasoning), (250, None, Content)], None);
    assert_eq!(thinking.first_answer, Some(Timestamp::from_nanos(250)));
    let calling = executed(&[(200, None, Reasoning), (230, None, ToolCall), (250, None, Content)], None);
    assert_eq!(calling.first_answer, Some(Timestamp::from_nanos(230)));
    assert_eq!(executed(&[(200, None, Content), (210, None, Reasoning)], None).first_answer, None);
    assert_eq!(calling.merged_reads, 1);
    assert_eq!(calling.late_stamps(), LateStamps { count: 1, longest_ns: 7, first_ns: 7 });
}

#[test]
fn tokens_are_counted_by_the_best_source_there_is() {
    use ChunkText::Content;
    let usage = |completion_tokens| {
        Some(Usage { prompt_tokens: 4, completion_tokens, cached_tokens: None, reasoning_tokens: None })
    };
    let counted = [(200, Some(2), Content), (210, Some(3), Content)];
    let uncounted = [(200, Some(2), Content), (210, None, Content)];
    for (chunks, usage, tokens, source) in [
        (&counted[..], usage(9), 9, TokenSource::Usage),
        (&counted[..], None, 5, TokenSource::ChunkCounts),
        (&uncounted[..], None, 2, TokenSource::Chunks),
        // Text came, so a count of zero is no count.
        (&uncounted[..], usage(0), 2, TokenSource::Chunks),
        (&counted[..], usage(0), 5, TokenSource::ChunkCounts),
        (&[], usage(0), 0, TokenSource::Chunks),
    ] {
        let record = executed(chunks, usage);
        assert_eq!((record.output_tokens, record.output_tokens_source), (tokens, source));
    }
}
