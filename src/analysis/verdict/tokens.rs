//! Rules that tokens add up: inside each answer, and with the server's own counters.

use super::table::{CheckedRun, RAN, RuleResult, ValidityRow, at_most, not_tested, row};
use crate::analysis::judgements::Rule;
use crate::analysis::requests::{IMPOSSIBLE_CURE, ImpossibleUsage, Measured, OddAnswers};
use crate::analysis::rules::facts;
use crate::record::{CheckResult, FinishReason, Outcome, RecordRef, RequestRecord, RunLog, ServerCounters, Usage};
use crate::units::count;
use crate::workload::{GoldenCheck, InputBatch};

/// Tokens may be apart by this share.
const BAR: f64 = 0.005;
/// Tokens without text at the end of an answer that the model ended itself. They are an end token, a closing tag.
const CLOSING_TOKENS: u64 = 8;
/// Tokens without text at the end of an answer cut at its length. It is a last token that is half a character.
const CUT_TOKENS: u64 = 1;
/// Factor by which a prompt may be longer than predicted, at the most. The prediction is by the others' ratio of
/// reported to requested tokens.
const PROMPT_SLACK: f64 = 1.1;

pub(super) const RULES: &[ValidityRow] = &[
    row(Rule::TokenIdentity, "tokens by which chunks and usage differ, as a share of usage", RAN, identity)
        .says("the tokens of the chunks differ from usage by {token} ({%}) in {#} of {answer}; limit: {%}")
        .cure(
            "compare the chunks of one answer with its usage (curl -N): either the server counts them differently, or \
         something on the way drops or repeats events",
        ),
    // A server whose counts are impossible in one answer is not believed in the others.
    row(Rule::TokenIdentity, "answers whose usage is impossible", RAN, |of| {
        let found = ImpossibleUsage::from_observed(of.observed)?;
        at_most(found.answers as f64, 0.0, facts![found.sentence(&OddAnswers::all(of.observed))])
    })
    .cure(IMPOSSIBLE_CURE),
    row(Rule::CounterIdentity, "difference of answer tokens from the server's counter, as a share of it", RAN, |of| {
        match counters(of) {
            Some(counters) => {
                let known = all_count(of, Usage::completion);
                held("answer tokens", counters.generation_tokens.filter(|_| known), answer_tokens(of))
            }
            None => not_tested("the server's counters are not known"),
        }
    })
    .says(COUNTED)
    .cure(SHARED),
    row(Rule::CounterIdentity, "difference of prompt tokens from the server's counter, as a share of it", RAN, |of| {
        let known = counters(of)?.prompt_tokens.filter(|_| all_count(of, Usage::prompt));
        held("prompt tokens", known, prompt_tokens(of))
    })
    .says(COUNTED)
    .cure(SHARED),
    row(
        Rule::CounterIdentity,
        "difference of completed requests from the server's counter, as a share of it",
        RAN,
        |of| held("completed requests", counters(of)?.requests_succeeded, completions(of)),
    )
    .says(COUNTED)
    .cure(SHARED),
];

const COUNTED: &str = "the server counted {#} {}, the client {}: {%} apart; limit: {%}";
const SHARED: &str =
    "check that no other client used this server meanwhile, and that one server answered every request";

/// Tests the identity Σ k = N. The tokens that the server counted chunk by chunk are those of its `usage`.
///
/// Where the server does not count its chunks there is no identity: a chunk may carry several tokens or none. An
/// answer may end in tokens that carry no text, so it may fall short by a few; it may never exceed.
fn identity(of: &CheckedRun<'_>) -> Option<RuleResult> {
    let (mut answers, mut tokens, mut apart, mut disagreeing) = (0_u64, 0_u64, 0_u64, 0_u64);
    for record in of.observed.requests.iter().map(Measured::record) {
        let reported = record.usage.and_then(|usage| usage.completion());
        let Some(reported) = reported.filter(|_| record.chunks_counted) else { continue };
        if record.outcome != Outcome::Completed {
            continue;
        }
        let seen = record.chunks.tokens();
        let off = if seen > reported { seen - reported } else { (reported - seen).saturating_sub(textless(&record)) };
        answers += 1;
        tokens += reported;
        apart += off;
        disagreeing += u64::from(off > 0);
    }
    if tokens == 0 {
        return not_tested("the server does not count the tokens of its chunks");
    }
    let share = apart as f64 / tokens as f64;
    at_most(share, BAR, facts![apart, share, disagreeing, answers, BAR])
}

fn textless(record: &RequestRecord) -> u64 {
    match record.finish_reason {
        Some(FinishReason::Length) => CUT_TOKENS,
        _ => CLOSING_TOKENS,
    }
}

/// Range that the client can name for a quantity that the server counts. The server's count must lie between these two.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    least: f64,
    most: f64,
}

impl Account {
    fn add(&mut self, least: f64, hidden: f64) {
        self.least += least;
        self.most += least + hidden;
    }

    /// Adds both together.
    fn and(self, other: Self) -> Self {
        Self { least: self.least + other.least, most: self.most + other.most }
    }

    /// How far outside `counted` lies, as a share of it.
    fn apart(self, counted: f64) -> f64 {
        (self.least - counted).max(counted - self.most).max(0.0) / counted.max(1.0)
    }
}

/// Returns the server's counters. They rose by what the client was sent over the whole run, warm-up and cool-down
/// included.
///
/// Of an answer that failed or was cut off the server may have worked on more than arrived: up to the length asked
/// for. The same is true of each attempt that was retried or cancelled for its hedge, unless the server
/// refused it. So the client's account has a least and a most, and only what lies outside both counts.
fn counters(of: &CheckedRun<'_>) -> Option<ServerCounters> {
    of.observed.log.footer.as_ref()?.server
}

/// Whether every answer, that of a golden prompt too, came with this count.
fn all_count(of: &CheckedRun<'_>, count: fn(&Usage) -> Option<u64>) -> bool {
    let counts =
        |record: RecordRef<'_>| record.outcome != Outcome::Completed || record.usage.as_ref().and_then(count).is_some();
    of.observed.log.records.iter().all(counts) && golden(of.observed.log).all_counted
}

/// A counter beside the client's account of the same.
fn held(what: &str, counter: Option<u64>, account: Account) -> Option<RuleResult> {
    let Some(counter) = counter else {
        return not_tested(format!("no count of {what} on both sides"));
    };
    let apart = account.apart(counter as f64);
    let range = if account.most > account.least {
        format!("{} to {}", count(account.least as u64), count(account.most.ceil() as u64))
    } else {
        count(account.least as u64)
    };
    at_most(apart, BAR, facts![counter, what, range, apart, BAR])
}

/// Amounts that golden prompts under load add to the server's counters. Those before the run came before its first
/// reading.
struct Golden {
    answers: Account,
    prompts: Account,
    completions: Account,
    /// Whether every answer came with the server's counts.
    all_counted: bool,
}

fn golden(log: &RunLog) -> Golden {
    let none = Account::default;
    let mut golden = Golden { answers: none(), prompts: none(), completions: none(), all_counted: true };
    for record in log.checks.iter().filter(|record| record.released.is_some()) {
        let asked = log.header.workload.checks.get(usize::from(record.check));
        let answered = matches!(record.result, CheckResult::Passed | CheckResult::Unmet { .. });
        let whole = record.usage.filter(|usage| usage.prompt().and(usage.completion()).is_some());
        golden.all_counted &= !answered || whole.is_some();
        golden.completions.add(f64::from(u8::from(answered)), f64::from(u8::from(!answered)));
        match (whole, asked) {
            (Some(usage), _) => {
                golden.answers.add(usage.completion_tokens as f64, 0.0);
                golden.prompts.add(usage.prompt_tokens as f64, 0.0);
            }
            (None, Some(asked)) => {
                golden.answers.add(0.0, f64::from(asked.max_tokens));
                golden.prompts.add(0.0, longest_prompt(asked));
            }
            (None, None) => {}
        }
    }
    golden
}

/// Returns the most tokens that a golden prompt has. It is one a byte, and a chat template.
fn longest_prompt(check: &GoldenCheck) -> f64 {
    const TEMPLATE: usize = 128;
    let messages = check.messages.as_ref().map_or(0, |messages| messages.to_string().len());
    (TEMPLATE + messages + check.prompt.as_ref().map_or(0, String::len)) as f64
}

fn answer_tokens(of: &CheckedRun<'_>) -> Account {
    let records = &of.observed.log.records;
    let mut account = golden(of.observed.log).answers;
    for record in records.iter() {
        let reported = record.usage.and_then(|usage| usage.completion());
        let seen = reported.unwrap_or_else(|| record.chunks.tokens());
        // What is reported with each chunk is final at the end alone.
        let last = reported.filter(|_| record.outcome == Outcome::Completed);
        let longest = last.unwrap_or_else(|| u64::from(record.output_tokens_asked));
        account.add(seen as f64, longest.saturating_sub(seen) as f64);
        for attempt in record.other_attempts().filter(|attempt| attempt.may_have_cost()) {
            let discarded = u64::from(attempt.discarded_tokens);
            let hidden = u64::from(record.output_tokens_asked).saturating_sub(discarded);
            account.add(discarded as f64, hidden as f64);
        }
    }
    account
}

/// Returns the account of prompt tokens. A prompt without a `usage` may have been computed or not; its length follows
/// those that were reported.
fn prompt_tokens(of: &CheckedRun<'_>) -> Account {
    let records = &of.observed.log.records;
    let reported = records.iter().filter_map(|record| Some((record.input_tokens_asked, record.counted_prompt()?)));
    let (asked, got) =
        reported.fold((0.0, 0.0), |(asked, got), (one, counted)| (asked + f64::from(one), got + counted as f64));
    let ratio = if asked > 0.0 { got / asked } else { 1.0 };
    let longest = records.iter().filter_map(|record| record.counted_prompt()).max();
    let mut account = Account { least: got, most: got };
    for record in records.iter().filter(|record| record.counted_prompt().is_none()) {
        // The server alone knows how many tokens audio has.
        let most = match record.input_tokens_asked {
            0 => longest.map_or(f64::INFINITY, |longest| longest as f64),
            asked => f64::from(asked) * ratio,
        };
        account.add(0.0, most * PROMPT_SLACK);
    }
    for record in records.iter() {
        let others = record.other_attempts().filter(|attempt| attempt.may_have_cost()).count();
        account.add(0.0, others as f64 * record.prompt_tokens() as f64 * ratio.max(1.0) * PROMPT_SLACK);
    }
    account.and(golden(of.observed.log).prompts)
}

fn completions(of: &CheckedRun<'_>) -> Account {
    let mut account = golden(of.observed.log).completions;
    for record in of.observed.log.records.iter() {
        let whole = record.outcome == Outcome::Completed;
        let others = record.other_attempts().filter(|attempt| attempt.may_have_cost()).count();
        let class = of.observed.log.header.workload.classes.get(usize::from(record.class));
        let inputs = class.and_then(|class| class.inputs);
        // Servers count the request, or each input, and some the query beside them.
        let one = inputs.map_or(1.0, |inputs| f64::from(inputs.size));
        let query = if inputs.is_some_and(InputBatch::has_query) { 1.0 } else { 0.0 };
        let is_whole = f64::from(u8::from(whole));
        account.add(is_whole, is_whole * (one - 1.0) + (1.0 - is_whole + others as f64) * one + query);
    }
    account
}
