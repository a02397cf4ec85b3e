//! Advice on tokens: their lengths, who counts them, how they come, and what a cache saves of them.

use super::row::{FindingRow, when};
use super::usage::counting;
use crate::analysis::judgements::{FindingKind as Kind, Rule};
use crate::analysis::requests::{GATHERED_BAR, IMPOSSIBLE_CURE, OddAnswers, TOGETHER_BAR, TokenAccount, UNGATHERED};
use crate::analysis::rules::Suppressor::{Advice, OnScreen, Smoke};
use crate::analysis::rules::{RuleFact, facts, filled};
use crate::analysis::server::settings::{counts_chunks, forces_length};
use crate::analysis::summary::run::Summary;
use crate::analysis::verdict::cache::{CACHED_BAR, cure, found_and_shared, typed};
use crate::analysis::verdict::client::CURE;
use crate::record::{OddityKind, PromptMethod};
use crate::units::{counted, percent};

/// A tenth off what was asked is too much.
const LENGTH_BAR: f64 = 0.1;
/// Tokens by which no estimate and no template raises a prompt.
const FAR_ABOVE: f64 = 1_000.0;
/// Answers that are longer than requested by more than this were not limited.
const IGNORED_BAR: f64 = 1.0;
/// Share of the server's tokens that chunk counts may miss. They may miss a last token without text, or a swallowed
/// one.
const MISMATCH_BAR: f64 = 0.005;
/// Share of chunks that may come together. Above it gaps tell more about buffers than the model.
const MERGED_BAR: f64 = 0.1;

pub(super) const RULES: &[FindingRow] = &[
    when(Kind::OutputLength, "workloads", &[], output_length)
        .says("{}answers are {%} {} than requested ({#} tokens for {#}{}); {#} of {request} off by more than 10 %"),
    when(Kind::PromptLength, "workloads", &[], |run| {
        let [planned, counted] = wrong_prompts(run).and_then(|_| far_above(&run.tokens))?;
        Some(facts![counted, planned])
    })
    .says(
        "the server counts {#} tokens in the median prompt, and {#} were planned, its chat template included; limit: \
         twice as many and 1,000 more",
    )
    .cure(
        "look at the usage of one answer (curl): a system prompt or tools that a gateway adds are some thousand \
         tokens, more is a wrong count (of bytes, padding or other requests), and input tokens/s and cache rates are \
         as wrong",
    ),
    when(Kind::PromptLength, "workloads", &[Advice(Kind::PromptLength)], prompt_length)
        .says("the server counts {#} prompt tokens, and {#} were requested{}: {%} {} on average{}; limit: {%}"),
    when(Kind::ImpossibleUsage, "workloads", &[OnScreen(Rule::TokenIdentity)], |run| {
        Some(facts![run.tokens.impossible_usage?.sentence(&run.oddities)])
    })
    .cure(IMPOSSIBLE_CURE),
    when(Kind::OddAnswers, "workloads", &[], |run| {
        let lines: Vec<_> = run.oddities.iter().map(OddAnswers::sentence).collect();
        (!lines.is_empty()).then(|| facts![lines.join("; ")])
    })
    .cure(
        "look at the bytes of one answer (curl -N), and at the gateway before the server: clients may read it \
         otherwise",
    ),
    when(Kind::EstimatedTokens, "workloads", &[], estimated_tokens).says("output tokens of {#} of {answer} {}"),
    // TPOT leaves them out, for they took none of the time between chunks.
    when(Kind::HiddenTokens, "workloads", &[], |run| {
        let tokens = run.tokens;
        let elsewhere = run.oddities.iter().find(|odd| odd.kind == OddityKind::Elsewhere);
        let unread = elsewhere.map(|odd| format!("text came in `{}`, which is not read", odd.what.join("`, `")));
        let why = unread.as_deref().unwrap_or("hidden reasoning");
        let all = tokens.answer_lengths.received.map_or(0.0, |all| all.mean * all.count as f64).round() as u64;
        (tokens.hidden_tokens > 0).then(|| facts![tokens.hidden_tokens, all, tokens.hiding_requests, why])
    })
    .says(
        "{#} of {#} answer tokens came without text in {answer} ({}): TPOT leaves them out, output tokens/s counts \
         them",
    )
    .cure("to measure them too, let the server send its reasoning; TTFT waits for the first text"),
    when(
        Kind::TokenMismatch,
        "workloads",
        &[OnScreen(Rule::TokenIdentity), OnScreen(Rule::CounterIdentity)],
        token_mismatch,
    )
    .says(
        "{answer} arrived in {#} chunks without token counts, but have {#} tokens by {}: {%} apart (limit: {%}); TPOT \
         uses {}, ITL counts each chunk as one token",
    ),
    when(Kind::MergedReads, "validity", &[Smoke], merged_reads),
    when(Kind::WarmCache, "prompts", &[OnScreen(Rule::CacheHits)], warm_cache)
        .says("{%} of the prompt tokens came from a prefix cache{}"),
    when(Kind::LostPrefixes, "prompts", &[], |run| {
        let cache = run.prefix_cache.as_ref()?;
        cache.off().filter(|&off| off < -CACHED_BAR)?;
        let rate = cache.measured?.rate;
        let cure = if rate > CACHED_BAR {
            "check that the cache has room for the prefixes and the running requests; behind a load balancer each \
             server computes them again"
        } else {
            "check that prefix caching is on, and that the cache has room for the prefixes and the running requests"
        };
        Some(facts![rate, cache.expected_least, CACHED_BAR, cure])
    })
    .says("{%} of the prompt tokens came from a prefix cache, and {%} are shared; limit: {%} less"),
    when(Kind::LatePriming, "agents", &[], |run| {
        let priming = run.prefix_cache.as_ref()?.priming.filter(|priming| priming.late > 0)?;
        Some(facts![priming.late, priming.requests])
    })
    .says(
        "{#} of the {#} requests that prime the prefix cache had not been answered when the window began: what follows \
         them left later, or found less",
    )
    .cure("give the warm-up more time (--warmup), or let fewer agents begin"),
    when(Kind::MeaninglessAcceptance, "server", &[Smoke], |run| {
        let found = run.speculation.as_ref()?;
        let of_files = |name: &str| run.run.datasets.iter().any(|taken| taken.class == name);
        let filler = !run.run.classes.iter().all(|name| of_files(name));
        let forced = forces_length(&run.run.engine) && run.tokens.output.requests > 0;
        let why = match (filler, forced) {
            (true, true) => "prompts are filler and answers are held to a length",
            (true, false) => "prompts are filler",
            (false, true) => "answers are held to a length",
            (false, false) => return None,
        };
        Some(facts![found.acceptance_rate?, found.draft_tokens, why])
    })
    .says(
        "{%} of {#} draft tokens were accepted, and {}: how well a draft guesses depends on the text, so the rate says \
         nothing of real use",
    )
    .cure(
        "to measure speculation, send real prompts (--dataset), and let answers end by themselves (--length natural)",
    ),
];

fn output_length(run: &Summary) -> Option<Vec<RuleFact>> {
    let balance = &run.tokens.output;
    let error = balance.relative_error?;
    let off = balance.requests_off_by_a_tenth;
    if error.abs() <= LENGTH_BAR && off as f64 <= balance.requests as f64 * LENGTH_BAR {
        return None;
    }
    let by_tokenizer = run.tokens.from_tokenizer > run.tokens.from_usage;
    let (by, own) = if by_tokenizer {
        (", by the tokenizer", "check that the tokenizer is the served model's; if it is, ")
    } else {
        ("", "")
    };
    let (ignored, cure) = if error > IGNORED_BAR {
        let cure = "`skyline check` says which fields the server goes by: choose its own --engine, or set its field \
            with --extra-body";
        ("the requested length is ignored: ", cure.to_owned())
    } else if forces_length(&run.run.engine) {
        let check = "check the model's longest answer and its stop words, and whether a gateway before the server \
            takes ignore_eos out: it was sent";
        ("", format!("{own}{check}"))
    } else {
        let check = "check the model's longest answer; an answer ends where the model ends it unless the server forces \
            its length, as vLLM, SGLang, TensorRT-LLM and llama.cpp do under their own --engine";
        ("", format!("{own}{check}"))
    };
    let than = if error < 0.0 { "shorter" } else { "longer" };
    let (received, requested) = (balance.received_tokens, balance.requested_tokens);
    Some(facts![ignored, error.abs(), than, received, requested, by, off, balance.requests, cure])
}

/// Returns how far prompts are from what was requested. Runs with images are left out, for the server counts images
/// too, and nobody asked for their tokens.
fn wrong_prompts(run: &Summary) -> Option<f64> {
    let error = run.tokens.input.relative_error.filter(|_| run.run.images.is_empty())?;
    (error.abs() > LENGTH_BAR).then_some(error)
}

fn prompt_length(run: &Summary) -> Option<Vec<RuleFact>> {
    let (balance, error) = (&run.tokens.input, wrong_prompts(run)?);
    let (added, included) = match run.tokens.template_tokens {
        Some(0) => (String::new(), ""),
        Some(tokens) => (format!(" plus {} of chat template in each", counted(tokens, "token")), ""),
        None => (String::new(), " (its chat template included)"),
    };
    let cure = match run.run.prompt_method {
        PromptMethod::Tokenizer { .. } => "check that the tokenizer is the served model's",
        PromptMethod::AsGiven if run.run.datasets.is_empty() => {
            "token ids were sent, as many as requested: look at what the server adds to them, or counts otherwise"
        }
        PromptMethod::Server | PromptMethod::WordList | PromptMethod::AsGiven | PromptMethod::LengthsOnly => {
            "give --tokenizer, so that prompts are exact"
        }
    };
    let than = if error < 0.0 { "fewer" } else { "more" };
    let (received, requested) = (balance.received_tokens, balance.requested_tokens);
    Some(facts![received, requested, added, error.abs(), than, included, LENGTH_BAR, cure])
}

/// Tokens of the median prompt, planned and counted, where no template explains the difference.
fn far_above(tokens: &TokenAccount) -> Option<[f64; 2]> {
    let planned = tokens.prompt_lengths.requested?.p50 + tokens.template_tokens.unwrap_or(0) as f64;
    let counted = tokens.prompt_lengths.received?.p50;
    (counted > planned * 2.0 && counted > planned + FAR_ABOVE).then(|| [planned, counted].map(f64::round))
}

fn estimated_tokens(run: &Summary) -> Option<Vec<RuleFact>> {
    let (tokens, streamed) = (&run.tokens, run.run.engine.streamed);
    let all = tokens.from_chunks + tokens.from_usage + tokens.from_chunk_counts + tokens.from_tokenizer;
    let how = if streamed {
        "are estimated as one token a chunk; TPOT, ITL and tokens/s depend on it"
    } else {
        "are unknown: nothing counted them, and an answer in one piece has no chunks"
    };
    let cure = if tokens.uncounted_usage > 0 {
        "the server's usage has no count of them, or fewer than chunks came: look at what counts tokens, the server or \
         a proxy before it; or give --tokenizer, which counts answers after the run"
            .to_owned()
    } else {
        counting(&run.run.engine.endpoint, streamed, tokens.from_tokenizer > 0)
    };
    // A server with impossible counts does send usage.
    let estimated = tokens.from_chunks > 0 && tokens.impossible_usage.is_none();
    estimated.then(|| facts![tokens.from_chunks, all, how, cure])
}

fn token_mismatch(run: &Summary) -> Option<Vec<RuleFact>> {
    let tokens = &run.tokens;
    let (seen, counted) = (tokens.chunk_tokens, tokens.counted_tokens);
    let off = seen.abs_diff(counted) as f64 / counted.max(1) as f64;
    let source = if tokens.from_tokenizer > tokens.from_usage { "the tokenizer" } else { "usage" };
    let cure = if counts_chunks(&run.run.engine) {
        "the server was asked to count the tokens of each chunk (continuous_usage_stats) and did not: compare TPOT, \
         not ITL"
    } else {
        "compare TPOT, not ITL; vLLM, SGLang and TensorRT-LLM count the tokens of each chunk of chats and completions \
         under their own --engine"
    };
    let answers = tokens.disagreeing_requests;
    (off > MISMATCH_BAR).then(|| facts![answers, seen, counted, source, off, MISMATCH_BAR, source, cure])
}

/// Finds chunks that came together. Where that withholds figures the cause may be this client itself. Elsewhere a late
/// client says nothing of others.
fn merged_reads(run: &Summary) -> Option<Vec<RuleFact>> {
    let delivery = &run.delivery;
    let share = delivery.together_share().filter(|&share| share > MERGED_BAR || delivery.itl_withheld)?;
    let reads_late = delivery.may_be_of_client(run.client.as_ref());
    let is_late = || reads_late || Rule::OF_CLIENT.iter().any(|rule| run.verdict.breaks(*rule));
    if !delivery.itl_withheld && is_late() {
        return None;
    }
    let (what, limit) = match (delivery.tpot_withheld, delivery.itl_withheld) {
        (true, _) if delivery.ttft_doubtful => ("TPOT and ITL are withheld, and TTFT may be late: ", GATHERED_BAR),
        (true, _) => ("TPOT and ITL are withheld: ", GATHERED_BAR),
        (false, true) => ("ITL is withheld: ", TOGETHER_BAR),
        (false, false) => ("", MERGED_BAR),
    };
    let (cause, cure) = match delivery.gathered_by(run.client.as_ref()) {
        (true, false) => ("this client read late", CURE.to_owned()),
        (true, true) => {
            ("this client read late, or something before it gathers them", format!("{CURE}; or {UNGATHERED}"))
        }
        _ => ("something between the model and this client gathers them", UNGATHERED.to_owned()),
    };
    let said = if delivery.tpot_withheld {
        "{}{#} of {answer} came gathered, {%} of their chunks together with the chunk before (limit: {%} of the \
         answers): {}"
    } else {
        "{}{%} of the chunks came together with the chunk before (limit: {%}): {}"
    };
    let mut facts = facts![what];
    if delivery.tpot_withheld {
        facts.extend(facts![delivery.gathered_answers, delivery.answers]);
    }
    facts.extend(facts![share, limit, cause]);
    Some(facts![filled(said, facts), cure])
}

fn warm_cache(run: &Summary) -> Option<Vec<RuleFact>> {
    let (rate, most) = found_and_shared(run)?;
    if rate <= most + CACHED_BAR || run.run.inputs.is_some_and(crate::workload::InputBatch::has_query) {
        return None;
    }
    let bar = percent(CACHED_BAR);
    if run.run.datasets.iter().any(|taken| !taken.salted) {
        let although = format!(
            ": a dataset is sent unchanged, and rows that the server has seen before cost less than new ones; limit: \
             {bar}"
        );
        if run.run.datasets.iter().all(|taken| taken.salted || taken.agents.is_some()) {
            let cure = "for cold sessions, reset the server's prefix cache before the run, or give --salt-by session";
            return Some(facts![rate, although, cure]);
        }
        let cure = "for cold prompts, reset the server's prefix cache before the run, or set salt = true, which begins \
            each prompt with different words";
        return Some(facts![rate, although, cure]);
    }
    let although = match &run.prefix_cache {
        Some(_) => format!(", and at most {} are shared; limit: {bar} more", percent(most)),
        None if typed(run, "--salt") => format!(
            " although prompts share nothing: --salt repeats those of an earlier run with the same one; limit: {bar}"
        ),
        None => format!(" although every prompt is salted; limit: {bar}"),
    };
    Some(facts![rate, although, cure(run)])
}
