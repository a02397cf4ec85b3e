//! Advice on answers: their tokens, what they say, and the SLOs that they are judged by.

use crate::analysis::requests::delivery::{GATHERED_BAR, TOGETHER_BAR, UNGATHERED};
use crate::analysis::requests::oddities::OddAnswers;
use crate::analysis::requests::quality::{ClassForms, FormFault};
use crate::analysis::requests::tokens::IMPOSSIBLE_CURE;
use crate::analysis::rules::Said;
use crate::analysis::server::settings::counts_chunks;
use crate::analysis::summary::run::Summary;
use crate::analysis::verdict::check::Rule;
use crate::analysis::verdict::client::CURE;
use crate::record::OddityKind;
use crate::units::{count, counted, percent};
use crate::workload::{ShapeFault, TraceFindings};

/// Chunk counts may miss this share of the server's tokens (a last token without text, a swallowed one).
const MISMATCH_BAR: f64 = 0.005;
/// Above this share of chunks that came together, gaps tell more about buffers than about the model.
const MERGED_BAR: f64 = 0.1;
/// A chat template's own opening is shared by all prompts; more than this share is a warm cache.
const CACHED_BAR: f64 = 0.05;

pub(super) fn impossible_usage(summary: &Summary) -> Option<Said> {
    let found = summary.tokens.impossible_usage?;
    Some((found.sentence(&summary.oddities), IMPOSSIBLE_CURE.into()))
}

pub(super) fn odd_answers(summary: &Summary) -> Option<Said> {
    let lines: Vec<_> = summary.oddities.iter().map(OddAnswers::sentence).collect();
    let cure = "look at the bytes of one answer (curl -N), and at the gateway before the server: clients may read it \
        otherwise";
    (!lines.is_empty()).then(|| (lines.join("; "), cure.into()))
}

pub(super) fn estimated_tokens(summary: &Summary) -> Option<Said> {
    let tokens = &summary.tokens;
    // A server with impossible counts does send usage.
    if tokens.from_chunks == 0 || tokens.impossible_usage.is_some() {
        return None;
    }
    let all = tokens.from_chunks + tokens.from_usage + tokens.from_chunk_counts + tokens.from_tokenizer;
    let how = if summary.run.engine.streamed {
        "are estimated as one token a chunk; TPOT, ITL and tokens/s depend on it"
    } else {
        "are unknown: nothing counted them, and an answer in one piece has no chunks"
    };
    let sentence =
        format!("output tokens of {} of {} {how}", count(tokens.from_chunks), counted(all, "answer"));
    let cure = if tokens.uncounted_usage > 0 {
        "the server's usage has no count of them, or fewer than chunks came: look at what counts tokens, the server or \
         a proxy before it; or give --tokenizer, which counts answers after the run"
    } else if !summary.run.engine.streamed {
        "let the server send usage, or give --tokenizer, which counts answers after the run"
    } else if tokens.from_tokenizer > 0 {
        "the tokenizer counts only complete answers, and only after a run that is not aborted; let the server send \
         usage (stream_options.include_usage)"
    } else {
        "let the server send usage (stream_options.include_usage), or give --tokenizer, which counts answers after the \
         run"
    };
    Some((sentence, cure.into()))
}

/// TPOT leaves them out, for they took none of the time between chunks.
pub(super) fn hidden_tokens(summary: &Summary) -> Option<Said> {
    let tokens = summary.tokens;
    if tokens.hidden_tokens == 0 {
        return None;
    }
    let elsewhere = summary.oddities.iter().find(|odd| odd.kind == OddityKind::Elsewhere);
    let unread = elsewhere.map(|odd| format!("text came in `{}`, which is not read", odd.what.join("`, `")));
    let why = unread.as_deref().unwrap_or("hidden reasoning");
    let sentence = format!(
        "{} of {} answer tokens came without text in {} ({why}): TPOT leaves them out, output tokens/s counts them",
        count(tokens.hidden_tokens),
        count(tokens.output.received_tokens),
        counted(tokens.hiding_requests, "answer")
    );
    let cure = "to measure them too, let the server send its reasoning; TTFT waits for the first text";
    Some((sentence, cure.into()))
}

pub(super) fn token_mismatch(summary: &Summary) -> Option<Said> {
    let tokens = &summary.tokens;
    let off =
        tokens.chunk_tokens.abs_diff(tokens.counted_tokens) as f64 / tokens.counted_tokens.max(1) as f64;
    if off <= MISMATCH_BAR {
        return None;
    }
    let source = if tokens.from_tokenizer > tokens.from_usage { "the tokenizer" } else { "usage" };
    let sentence = format!(
        "{} arrived in {} chunks without token counts, but have {} tokens by {source}: {} apart (limit: {}); TPOT uses \
         {source}, ITL counts each chunk as one token",
        counted(tokens.disagreeing_requests, "answer"),
        count(tokens.chunk_tokens),
        count(tokens.counted_tokens),
        percent(off),
        percent(MISMATCH_BAR)
    );
    let cure = if counts_chunks(&summary.run.engine) {
        "the server was asked to count the tokens of each chunk (continuous_usage_stats) and did not: compare TPOT, \
         not ITL"
    } else {
        "compare TPOT, not ITL; vLLM, SGLang and TensorRT-LLM count the tokens of each chunk under their own --engine"
    };
    Some((sentence, cure.into()))
}

/// Where that withholds figures the cause may be this client itself; else a late client says nothing of others.
pub(super) fn merged_reads(summary: &Summary) -> Option<Said> {
    let delivery = &summary.delivery;
    let share = delivery.together_share().filter(|&share| share > MERGED_BAR || delivery.itl_withheld)?;
    let reads_late = delivery.may_be_of_client(summary.client.as_ref());
    let is_late = || reads_late || Rule::OF_CLIENT.iter().any(|rule| summary.verdict.breaks(*rule));
    if !delivery.itl_withheld && is_late() {
        return None;
    }
    let (what, limit) = match (delivery.tpot_withheld, delivery.itl_withheld) {
        (true, _) if delivery.ttft_doubtful => {
            ("TPOT and ITL are withheld, and TTFT may be late: ", TOGETHER_BAR)
        }
        (true, _) => ("TPOT and ITL are withheld: ", TOGETHER_BAR),
        (false, true) => ("ITL is withheld: ", TOGETHER_BAR),
        (false, false) => ("", MERGED_BAR),
    };
    let (cause, cure) = match delivery.gathered_by(summary.client.as_ref()) {
        (true, false) => ("this client read late", CURE.to_owned()),
        (true, true) => {
            ("this client read late, or something before it gathers them", format!("{CURE}; or {UNGATHERED}"))
        }
        _ => ("something between the model and this client gathers them", UNGATHERED.to_owned()),
    };
    let share = percent(share);
    let sentence = if delivery.tpot_withheld {
        let (gathered, answers) = (count(delivery.gathered_answers), counted(delivery.answers, "answer"));
        format!(
            "{what}{gathered} of {answers} came gathered, {share} of their chunks together with the chunk before \
             (limit: {} of the answers): {cause}",
            percent(GATHERED_BAR)
        )
    } else {
        format!(
            "{what}{share} of the chunks came together with the chunk before (limit: {}): {cause}",
            percent(limit)
        )
    };
    Some((sentence, cure))
}

pub(super) fn warm_cache(summary: &Summary) -> Option<Said> {
    // What other shards sent is in the same cache, and they may share prefixes with this one.
    if summary.run.shard.is_some() {
        return None;
    }
    // A trace says what all of its slice shares, and nobody what a part of it does, or what too many blocks do.
    let unknown = || summary.run.arrival.found().is_some_and(TraceFindings::names_blocks);
    let (rate, shared) = match &summary.prefix_cache {
        Some(cache) => (cache.measured?.rate, Some(cache.expected_most)),
        None if unknown() => return None,
        None => (summary.cache_hits?.rate, None),
    };
    // All prompts may begin with what a chat template adds.
    let input = &summary.tokens.input;
    let added = (summary.tokens.template_tokens.unwrap_or(0) * input.requests) as f64;
    if rate <= shared.unwrap_or(added / input.received_tokens.max(1) as f64) + CACHED_BAR {
        return None;
    }
    if summary.run.datasets.iter().any(|taken| !taken.salted) {
        let sentence = format!(
            "{} of the prompt tokens came from a prefix cache: a dataset is sent unchanged, and rows that the server \
             has seen before cost less than new ones; limit: {}",
            percent(rate),
            percent(CACHED_BAR)
        );
        let cure = "for cold prompts, reset the server's prefix cache before the run, or set salt = true, which begins \
            each prompt with different words";
        return Some((sentence, cure.into()));
    }
    let typed = |option| summary.run.command.iter().any(|word| word.starts_with(option));
    let (rate, bar) = (percent(rate), percent(CACHED_BAR));
    let although = if typed("--salt") {
        "although prompts share nothing: --salt repeats those of an earlier run with the same one"
    } else {
        "although every prompt is salted"
    };
    let sentence = shared.map_or_else(
        || format!("{rate} of the prompt tokens came from a prefix cache {although}; limit: {bar}"),
        |most| {
            let most = percent(most);
            format!("{rate} of the prompt tokens came from a prefix cache, and at most {most} are shared; limit: {bar} \
                more")
        },
    );
    let cure = if typed("--salt") {
        "leave --salt out, which makes the prompts of each run new, or empty the server's prefix cache before the run"
    } else if typed("--reset-cache") {
        "the cache was emptied before the run: look at whether other clients use the server"
    } else {
        "reset the server's prefix cache before the run"
    };
    Some((sentence, cure.into()))
}

pub(super) fn lost_prefixes(summary: &Summary) -> Option<Said> {
    let cache = summary.prefix_cache.as_ref()?;
    cache.off().filter(|&off| off < -CACHED_BAR)?;
    let sentence = format!(
        "{} of the prompt tokens came from a prefix cache, and {} are shared; limit: {} less",
        percent(cache.measured?.rate),
        percent(cache.expected_least),
        percent(CACHED_BAR)
    );
    let cure = if cache.measured?.rate > CACHED_BAR {
        "check that the cache has room for the prefixes and the running requests; behind a load balancer each server \
         computes them again"
    } else {
        "check that prefix caching is on, and that the cache has room for the prefixes and the running requests"
    };
    Some((sentence, cure.into()))
}

/// Servers that refuse an empty message fail the next turn, and the cause is the answer before.
pub(super) fn empty_turns(summary: &Summary) -> Option<Said> {
    let empty = counted(summary.sessions.as_ref()?.empty_answers?, "answer");
    let sentence = format!(
        "{empty} of conversations had no text, only reasoning or nothing, so that the next turn repeated an empty \
         message of the assistant, which some servers refuse; limit: none"
    );
    let cure = "raise output_tokens, so that the model comes to its answer, or limit its reasoning";
    Some((sentence, cure.into()))
}

/// Share of answers cut at their longest length from which on that hides what form they have.
const CUT_BAR: f64 = 0.05;

/// A server that is asked for a form and gives another does less work than was asked of it, or other.
pub(super) fn wrong_forms(summary: &Summary) -> Option<Said> {
    let classes = &summary.answers.as_ref()?.by_class;
    let said = |class: &ClassForms| {
        let whole = class.valid + class.invalid + class.cut_at_limit;
        let cut = class.cut_at_limit as f64 > CUT_BAR * whole as f64;
        (class.invalid > 0 || cut).then(|| {
            let (name, form) = (&class.class, class.form);
            let [has, has_not, cut] = [class.valid, class.invalid, class.cut_at_limit].map(count);
            let of = counted(whole, "answer");
            match class.invalid {
                0 => format!("`{name}`: {cut} of {of}; the other {has} have the form {form}"),
                _ => format!(
                    "`{name}`: {has_not} of {of} do not have the form {form}, and {cut} were cut off before they could \
                     have it"
                ),
            }
        })
    };
    let wrong: Vec<_> = classes.iter().filter_map(said).collect();
    if wrong.is_empty() {
        return None;
    }
    let off_schema = |class: &ClassForms| {
        let is_of_arguments = |fault: &FormFault| {
            matches!(fault.fault, ShapeFault::ArgumentsNotOfSchema | ShapeFault::ArgumentsNotJson)
        };
        class.lax_tools && class.faults.iter().any(is_of_arguments)
    };
    let (what, cure) = if classes.iter().any(|class| class.invalid > 0) {
        let cure = if classes.iter().any(off_schema) {
            "set strict = true in the tools: vLLM and OpenAI hold the arguments of a call to its schema only then; if \
             answers are cut off, raise output_tokens"
        } else {
            "check that the server enforces the form (guided decoding, a parser of tool calls); if answers are cut \
             off, raise output_tokens"
        };
        ("answers do not have the requested form (limits: none invalid,", cure)
    } else {
        ("answers were cut off before they could have the requested form (limit:", "raise output_tokens")
    };
    let sentence = format!("{what} {} cut off): {}", percent(CUT_BAR), wrong.join("; "));
    Some((sentence, cure.into()))
}

/// Golden prompts are answered at temperature 0, so that one which passed before the run passes under load,
/// if the server does the same work there.
pub(super) fn worse_under_load(summary: &Summary) -> Option<Said> {
    let checks = &summary.quality.as_ref()?.checks;
    let worse: Vec<_> = checks
        .iter()
        .filter(|check| check.before.passed > 0 && check.before.unmet == 0 && check.under_load.unmet > 0)
        .map(|check| {
            let under = &check.under_load;
            let answered = counted(under.passed + under.unmet, "answer");
            format!("`{}` failed in {} of {answered} under load", check.name, count(under.unmet))
        })
        .collect();
    if worse.is_empty() {
        return None;
    }
    let sentence = format!(
        "checks that passed before the run fail more often under load (limit: none): {}",
        worse.join(", ")
    );
    let cure = "look at the answers under Checks; speed is no gain if answers get worse (batch-dependent numerics, a \
                quantised cache, speculative decoding)";
    Some((sentence, cure.into()))
}

pub(super) fn unmeasurable_slo(summary: &Summary) -> Option<Said> {
    if summary.slo.met.is_some() {
        return None;
    }
    let (sentence, cure) = if summary.delivery.tpot_withheld {
        let cure = "let events pass as they come, or bound TTFT and e2e only";
        ("the SLO bounds TPOT, which is withheld: attainment and goodput are unknown", cure)
    } else {
        (
            "the SLO bounds TTFT or TPOT, which unstreamed answers do not have: attainment and goodput are unknown",
            "stream the answers, or bound e2e only",
        )
    };
    Some((sentence.to_owned(), cure.into()))
}

pub(super) fn no_slo(summary: &Summary) -> Option<Said> {
    if summary.slo.declared || summary.slo.scheduled == 0 {
        return None;
    }
    let sentence =
        "the workload has no SLO: there is no attainment, and goodput counts every completed request";
    let cure = "give it one: --slo ttft=500ms, or slo = { ttft_ms = 500 } in its classes";
    Some((sentence.to_owned(), cure.into()))
}
