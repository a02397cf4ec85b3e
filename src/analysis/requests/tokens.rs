//! The tokens of requests: requested, received and counted.

use serde::Serialize;

use super::observed::{Measured, Observed};
use super::oddities::OddAnswers;
use crate::record::{FinishReason, OddityKind, Outcome, TokenSource, WorkKind};
use crate::units::{count, counted};
use crate::workload::{AnswerEnding, LengthCounts, LengthSpread, PromptSource, RequestClass};

/// Tokens of the measured requests that completed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TokenAccount {
    /// Prompt tokens against the server's `usage`, over the requests that carry one. They are those requested, and
    /// those that the server adds where that is known.
    pub input: Balance,
    /// Tokens that the server adds to a text. They are its chat template's and special ones. Absent where that is not
    /// known.
    pub template_tokens: Option<u64>,
    /// Added tokens of all the prompts that were compared.
    pub added_tokens: u64,
    /// Prompts that were made to a length, and how long they are by `usage`.
    pub made: MadePrompts,
    /// Answer tokens: requested against received, of answers whose length is forced.
    pub output: Balance,
    /// Answers that end by themselves; absent where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub natural: Option<NaturalAnswers>,
    /// Lengths of prompts: requested, and by the server's `usage`.
    pub prompt_lengths: Lengths,
    /// Lengths of answers: requested, and received.
    pub answer_lengths: Lengths,
    /// Prompt tokens that came from a prefix cache; absent if the server never reports it.
    pub cached_input_tokens: Option<u64>,
    /// Answers whose length the server's `usage` reports.
    pub from_usage: u64,
    /// Answers whose `usage` is impossible, so that nothing uses it; absent where there are none.
    pub impossible_usage: Option<ImpossibleUsage>,
    /// Answers whose length was added up from counts that came with the chunks.
    pub from_chunk_counts: u64,
    /// Answers whose length a tokenizer counted after the run.
    pub from_tokenizer: u64,
    /// Answers whose length is the number of their chunks: an estimate.
    pub from_chunks: u64,
    /// Streamed answers whose number of chunks differs from that of their tokens. `usage` or a tokenizer counted the
    /// tokens, and the server did not count those of the chunks.
    pub disagreeing_requests: u64,
    /// Chunks of all streamed answers whose chunks the server did not count. `usage` or a tokenizer counted those
    /// answers.
    pub chunk_tokens: u64,
    /// Tokens of the same answers, by `usage` or the tokenizer, of which the text came.
    pub counted_tokens: u64,
    /// Tokens of all answers that `usage` counts and whose text did not come: hidden reasoning.
    pub hidden_tokens: u64,
    /// Answers with such tokens.
    pub hiding_requests: u64,
    /// Answers from chunks whose `usage` has no possible count of their tokens.
    pub uncounted_usage: u64,
    /// Chunks that carried text.
    pub chunks: u64,
    /// Chunks that shared a read, and so a stamp, with the chunk before them.
    pub merged_reads: u64,
}

/// How long prompts or answers are, over all measured requests that completed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Lengths {
    /// Lengths as requested; absent where no request completed.
    pub requested: Option<LengthSpread>,
    /// Lengths as received, of the requests of which that is known. Absent where it is known of none.
    pub received: Option<LengthSpread>,
}

/// Requested against received tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Balance {
    /// Requests compared.
    pub requests: u64,
    /// Tokens requested.
    pub requested_tokens: u64,
    /// Tokens received.
    pub received_tokens: u64,
    /// (received − requested) / requests.
    pub mean_error_tokens: Option<f64>,
    /// (received − requested) / requested: 0.1 is a tenth too many.
    pub relative_error: Option<f64>,
    /// Requests off by more than a tenth of the requested number, either way.
    pub requests_off_by_a_tenth: u64,
}

/// Answers that end by themselves, of the classes with natural lengths.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NaturalAnswers {
    /// How long they are.
    pub lengths: LengthSpread,
    /// Answers that came to their limit and were cut there.
    pub cut_at_limit: u64,
}

/// Answers with token counts of the server that they cannot have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ImpossibleUsage {
    /// How many there are.
    pub answers: u64,
    /// Most prompt tokens that one of them counts.
    pub prompt_tokens: u64,
    /// Most prompt tokens that were requested of one.
    pub requested_prompt_tokens: u64,
    /// Most answer tokens that one of them counts.
    pub completion_tokens: u64,
    /// Most answer tokens that were requested of one.
    pub requested_completion_tokens: u64,
}

/// Cure of token counts that answers cannot have.
pub(crate) const IMPOSSIBLE_CURE: &str =
    "look at what counts tokens: the server, or a proxy before it that writes its own usage";

impl ImpossibleUsage {
    /// Collects the impossible counts of a run's measured requests, however these ended.
    pub(crate) fn from_observed(observed: &Observed<'_>) -> Option<Self> {
        let mut all = Self::default();
        for record in observed.requests.iter().map(Measured::record) {
            let Some(usage) = &record.impossible_usage else { continue };
            all.answers += 1;
            all.prompt_tokens = all.prompt_tokens.max(usage.prompt_tokens);
            all.requested_prompt_tokens = all.requested_prompt_tokens.max(record.input_tokens_asked.into());
            all.completion_tokens = all.completion_tokens.max(usage.completion_tokens);
            all.requested_completion_tokens = all.requested_completion_tokens.max(record.output_tokens_asked.into());
        }
        (all.answers > 0).then_some(all)
    }

    /// Sentence about what was found, of answers with these oddities.
    pub(crate) fn sentence(&self, odd: &[OddAnswers]) -> String {
        let unread = odd.iter().filter(|odd| odd.kind == OddityKind::Unread).flat_map(|odd| &odd.what);
        let none: Vec<_> = unread.filter(|what| what.starts_with("usage")).map(|what| format!("`{what}`")).collect();
        let counts = if none.is_empty() {
            format!(
                "up to {} prompt tokens ({} requested) and {} answer tokens ({} requested)",
                count(self.prompt_tokens),
                count(self.requested_prompt_tokens),
                count(self.completion_tokens),
                count(self.requested_completion_tokens)
            )
        } else {
            format!("these are no counts: {}", none.join(", "))
        };
        format!(
            "the server's usage is impossible in {} and is ignored there: {counts}",
            counted(self.answers, "answer")
        )
    }
}

/// Prompts that were made to a length: written for the run, or token ids. Those with images are not, nor those that a
/// dataset gives, nor the later turns of a conversation, which say the server's own answers and as many messages as
/// they may be, nor any where it is unknown what the server adds to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MadePrompts {
    /// Prompts with a `usage`.
    pub requests: u64,
    /// Prompts whose `usage` is exactly the requested tokens and those that the server adds.
    pub exact: u64,
    /// Most tokens by which one is off.
    pub most_off: u64,
}

impl MadePrompts {
    fn add(&mut self, expected: u64, reported: u64) {
        let off = expected.abs_diff(reported);
        self.requests += 1;
        self.exact += u64::from(off == 0);
        self.most_off = self.most_off.max(off);
    }
}

impl Balance {
    fn add(&mut self, asked: u64, got: u64) {
        self.requests += 1;
        self.requested_tokens += asked;
        self.received_tokens += got;
        self.requests_off_by_a_tenth += u64::from(asked.abs_diff(got) * 10 > asked);
        let error = self.received_tokens as f64 - self.requested_tokens as f64;
        self.mean_error_tokens = Some(error / self.requests as f64);
        self.relative_error = (self.requested_tokens > 0).then(|| error / self.requested_tokens as f64);
    }
}

impl TokenAccount {
    pub(crate) fn from_observed(observed: &Observed<'_>) -> Self {
        let header = &observed.log.header;
        let template_tokens = header.prompts.template_tokens;
        let impossible_usage = ImpossibleUsage::from_observed(observed);
        let mut account = Self { template_tokens, impossible_usage, ..Self::default() };
        let [mut asked_prompts, mut prompts, mut asked_answers, mut answers, mut natural] =
            [const { LengthCounts::new() }; 5];
        let mut cut_at_limit = 0;
        for record in observed.requests.iter().map(Measured::record) {
            account.chunks += record.chunks.len() as u64;
            account.merged_reads += u64::from(record.merged_reads);
            if record.outcome != Outcome::Completed {
                continue;
            }
            asked_prompts.add(record.input_tokens_asked.into());
            let asked_answer = u64::from(record.output_tokens_asked) * record.choices();
            let has_tokens = record.work != WorkKind::Items;
            if has_tokens {
                asked_answers.add(asked_answer);
            }
            // One that came whole, and that nothing counted, has an unknown number of them.
            let is_known = record.output_tokens > 0;
            if is_known {
                answers.add(record.output_tokens);
            }
            let class = header.workload.classes.get(usize::from(record.class));
            let is_natural = class.is_some_and(|class| class.length == AnswerEnding::Natural);
            if is_natural && is_known {
                natural.add(record.output_tokens);
                cut_at_limit += u64::from(record.finish_reason == Some(FinishReason::Length));
            }
            // An answer with a form ends by itself: what was asked is only the most.
            if record.validity.is_none() && !is_natural && is_known {
                account.output.add(asked_answer, record.output_tokens);
            }
            match record.output_tokens_source {
                _ if !has_tokens => {}
                TokenSource::Usage => account.from_usage += 1,
                TokenSource::ChunkCounts => account.from_chunk_counts += 1,
                TokenSource::Tokenizer => account.from_tokenizer += 1,
                TokenSource::Chunks => account.from_chunks += 1,
            }
            let counted = matches!(record.output_tokens_source, TokenSource::Usage | TokenSource::Tokenizer);
            if counted && !record.chunks_counted && !record.chunks.is_empty() {
                let seen = record.chunks.tokens();
                account.chunk_tokens += seen;
                account.counted_tokens += record.shown_tokens();
                account.disagreeing_requests += u64::from(seen != record.shown_tokens());
            }
            account.hidden_tokens += u64::from(record.hidden_tokens);
            account.hiding_requests += u64::from(record.hidden_tokens > 0);
            account.uncounted_usage += u64::from(record.is_uncounted() && record.usage.is_some());
            let Some((usage, prompt)) = record.usage.zip(record.counted_prompt()) else { continue };
            prompts.add(prompt);
            let asked = u64::from(record.input_tokens_asked);
            let added = class.map_or(template_tokens, |class| added(class, template_tokens));
            account.added_tokens += added.unwrap_or(0);
            account.input.add(asked + added.unwrap_or(0), prompt);
            let opens = record.turn().is_none_or(|turn| turn.carried().is_none());
            if let (Some(added), true) = (added, opens && class.is_some_and(is_made_to_length)) {
                account.made.add(asked + added, prompt);
            }
            if let Some(cached) = usage.cached() {
                *account.cached_input_tokens.get_or_insert(0) += cached;
            }
        }
        account.prompt_lengths = Lengths { requested: asked_prompts.spread(), received: prompts.spread() };
        account.answer_lengths = Lengths { requested: asked_answers.spread(), received: answers.spread() };
        account.natural = natural.spread().map(|lengths| NaturalAnswers { lengths, cut_at_limit });
        account
    }
}

/// Tokens that the server adds to a prompt of the class: to token ids none.
fn added(class: &RequestClass, template_tokens: Option<u64>) -> Option<u64> {
    match class.prompt {
        PromptSource::RandomTokens { .. } => Some(0),
        _ => template_tokens,
    }
}

fn is_made_to_length(class: &RequestClass) -> bool {
    class.images.is_none() && class.audio.is_none() && class.prompt.dataset().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::test_runs::{record, run};
    use crate::record::Turn;

    #[test]
    fn asked_told_and_seen_are_held_against_each_other() {
        let mut long = record(0).sent_at(0, 0, 1).paced(100, 10, 10).usage(120, 12).build();
        long.usage.as_mut().unwrap().cached_tokens = Some(16);
        let exact = record(1).sent_at(1, 1, 2).paced(100, 10, 10).usage(104, 10).build();
        let guess = record(2).sent_at(2, 2, 3).paced(100, 10, 10).build();
        let account = TokenAccount::from_observed(&Observed::from_log(&run(1_000, vec![long, exact, guess])));
        assert_eq!(
            account.input,
            Balance {
                requests: 2,
                requested_tokens: 200,
                received_tokens: 224,
                mean_error_tokens: Some(12.0),
                relative_error: Some(0.12),
                requests_off_by_a_tenth: 1,
            }
        );
        assert_eq!((account.output.requested_tokens, account.output.received_tokens), (30, 32));
        assert_eq!((account.from_usage, account.from_chunk_counts, account.from_chunks), (2, 0, 1));
        assert_eq!((account.disagreeing_requests, account.chunk_tokens, account.counted_tokens), (1, 20, 22));
        assert_eq!(account.cached_input_tokens, Some(16));
        // By hand: prompts of 120 and 104 tokens by usage, answers of 12, 10 and 10.
        let Lengths { requested, received } = account.prompt_lengths;
        assert_eq!(requested.map(|spread| (spread.count, spread.p99, spread.max)), Some((3, 100.0, 100)));
        let received = received.unwrap();
        assert_eq!((received.count, received.mean, received.p50, received.max), (2, 112.0, 112.0, 120));
        let answers = account.answer_lengths.received.unwrap();
        assert_eq!((answers.p50, answers.p90, answers.max), (10.0, 11.6, 12));
    }

    #[test]
    fn what_the_server_adds_is_expected_of_texts_and_not_of_token_ids() {
        let reported = |index, class, prompt_tokens| {
            let priority = crate::workload::Priority::High;
            record(index).class(class, priority).paced(100, 10, 2).usage(prompt_tokens, 2).build()
        };
        let mut log =
            run(1_000, vec![reported(0, 0, 111), reported(1, 0, 114), reported(2, 1, 100), reported(3, 1, 111)]);
        // A first turn is a prompt like any other.
        log.records[0].turn = Some(Turn { of: Some(3), ..Turn::default() }.into());
        let mut ids = log.header.workload.classes[0].clone();
        ids.prompt = PromptSource::RandomTokens { vocabulary: Some(9) };
        log.header.workload.classes.push(ids);
        // Nobody knows what is added to texts, and to ids nothing is.
        let account = TokenAccount::from_observed(&Observed::from_log(&log));
        assert_eq!(account.made, MadePrompts { requests: 2, exact: 1, most_off: 11 });
        assert_eq!(account.input.requested_tokens, 400);
        log.header.prompts.template_tokens = Some(11);
        let account = TokenAccount::from_observed(&Observed::from_log(&log));
        assert_eq!(account.made, MadePrompts { requests: 4, exact: 2, most_off: 11 });
        assert_eq!((account.input.requested_tokens, account.input.received_tokens), (422, 436));
        assert_eq!((account.template_tokens, account.added_tokens), (Some(11), 22));
        // A later turn is not.
        log.records[0].turn = Some(Turn { number: 1, of: Some(3), history_tokens: 50, ..Turn::default() }.into());
        assert_eq!(
            TokenAccount::from_observed(&Observed::from_log(&log)).made,
            MadePrompts { requests: 3, exact: 1, most_off: 11 }
        );
        // What a dataset gives, or what goes with images, has no length that it was made to.
        let per_request = crate::workload::Distribution::Constant { value: 1 };
        let images = crate::workload::Images { folder: Some("pictures".into()), size: None, per_request, found: None };
        log.header.workload.classes[0].images = Some(images);
        assert_eq!(TokenAccount::from_observed(&Observed::from_log(&log)).made.requests, 2);
    }

    #[test]
    fn answers_that_end_by_themselves_are_held_against_no_length() {
        let answer = |index, class, tokens, reason| {
            let priority = crate::workload::Priority::High;
            let mut record = record(index).class(class, priority).paced(100, 10, tokens).usage(100, tokens).build();
            (record.output_tokens_asked, record.finish_reason) = (10, Some(reason));
            record
        };
        let (stop, cut) = (FinishReason::Stop, FinishReason::Length);
        let answers = [answer(0, 0, 10, cut.clone()), answer(1, 1, 4, stop.clone()), answer(2, 1, 10, cut)];
        let mut log = run(1_000, answers.to_vec());
        let mut natural = log.header.workload.classes[0].clone();
        natural.length = AnswerEnding::Natural;
        log.header.workload.classes.push(natural);
        let account = TokenAccount::from_observed(&Observed::from_log(&log));
        assert_eq!((account.output.requests, account.output.relative_error), (1, Some(0.0)));
        let natural = account.natural.unwrap();
        assert_eq!((natural.lengths.count, natural.lengths.p50, natural.cut_at_limit), (2, 7.0, 1));
        assert_eq!(account.answer_lengths.received.unwrap().count, 3, "lengths are of all answers");
        log.header.workload.classes.truncate(1);
        assert_eq!(TokenAccount::from_observed(&Observed::from_log(&log)).natural, None);
    }

    #[test]
    fn a_tokenizer_after_the_run_is_a_source_of_its_own() {
        let mut answer = record(0).sent_at(0, 0, 1).paced(100, 10, 10).build();
        answer.count(13);
        let account = TokenAccount::from_observed(&Observed::from_log(&run(1_000, vec![answer])));
        assert_eq!((account.from_tokenizer, account.from_chunks, account.output.received_tokens), (1, 0, 13));
        assert_eq!((account.disagreeing_requests, account.chunk_tokens, account.counted_tokens), (1, 10, 13));
    }
}
