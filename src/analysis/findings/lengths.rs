//! Advice on the lengths of prompts and answers.

use crate::analysis::requests::tokens::TokenAccount;
use crate::analysis::rules::Said;
use crate::analysis::server::settings::forces_length;
use crate::analysis::summary::run::Summary;
use crate::record::PromptMethod;
use crate::units::{count, counted, percent};

/// A tenth off what was asked is too much.
const LENGTH_BAR: f64 = 0.1;
/// Tokens by which no estimate and no template raises a prompt.
const FAR_ABOVE: f64 = 1_000.0;
/// Answers that are longer than requested by more than this were not limited.
const IGNORED_BAR: f64 = 1.0;

pub(super) fn output_length(summary: &Summary) -> Option<Said> {
    let balance = &summary.tokens.output;
    let error = balance.relative_error?;
    let off = balance.requests_off_by_a_tenth;
    if error.abs() <= LENGTH_BAR && off as f64 <= balance.requests as f64 * LENGTH_BAR {
        return None;
    }
    let by_tokenizer = summary.tokens.from_tokenizer > summary.tokens.from_usage;
    let ignored = error > IGNORED_BAR;
    let sentence = format!(
        "{}answers are {} {} than requested ({} tokens for {}{}); {} of {} off by more than 10 %",
        if ignored { "the requested length is ignored: " } else { "" },
        percent(error.abs()),
        if error < 0.0 { "shorter" } else { "longer" },
        count(balance.received_tokens),
        count(balance.requested_tokens),
        if by_tokenizer { ", by the tokenizer" } else { "" },
        count(off),
        counted(balance.requests, "request")
    );
    let own = if by_tokenizer { "check that the tokenizer is the served model's; if it is, " } else { "" };
    let cure = if ignored {
        "`skyline check` says which fields the server goes by: choose its own --engine, or set its field with \
         --extra-body"
            .to_owned()
    } else if forces_length(&summary.run.engine) {
        format!(
            "{own}check the model's longest answer and its stop words, and whether a gateway before the server takes \
             ignore_eos out: it was sent"
        )
    } else {
        format!(
            "{own}check the model's longest answer; an answer ends where the model ends it unless the server forces \
             its length, as vLLM, SGLang, TensorRT-LLM and llama.cpp do under their own --engine"
        )
    };
    Some((sentence, cure))
}

pub(super) fn prompt_length(summary: &Summary) -> Option<Said> {
    let balance = &summary.tokens.input;
    // The server counts images too, and nobody asked for a number of tokens of those.
    if !summary.run.images.is_empty() {
        return None;
    }
    let error = balance.relative_error.filter(|error| error.abs() > LENGTH_BAR)?;
    if let Some((requested, counted)) = far_above(&summary.tokens) {
        let sentence = format!(
            "the server counts {} tokens in the median prompt, and {} were planned, its chat template included; limit: \
             twice as many and 1,000 more",
            count(counted.round() as u64),
            count(requested.round() as u64)
        );
        let cure = "look at the usage of one answer (curl): a system prompt or tools that a gateway adds are some \
            thousand tokens, more is a wrong count (of bytes, padding or other requests), and input tokens/s and cache \
            rates are as wrong";
        return Some((sentence, cure.into()));
    }
    let (added, included) = match summary.tokens.template_tokens {
        Some(0) => (String::new(), ""),
        Some(tokens) => (format!(" plus {} of chat template in each", counted(tokens, "token")), ""),
        None => (String::new(), " (its chat template included)"),
    };
    let sentence = format!(
        "the server counts {} prompt tokens, and {} were requested{added}: {} {} on average{included}; limit: {}",
        count(balance.received_tokens),
        count(balance.requested_tokens),
        percent(error.abs()),
        if error < 0.0 { "fewer" } else { "more" },
        percent(LENGTH_BAR)
    );
    let cure = match summary.run.prompt_method {
        PromptMethod::Tokenizer { .. } => "check that the tokenizer is the served model's",
        PromptMethod::AsGiven if summary.run.datasets.is_empty() => {
            "token ids were sent, as many as requested: look at what the server adds to them, or counts otherwise"
        }
        PromptMethod::Server | PromptMethod::WordList | PromptMethod::AsGiven | PromptMethod::LengthsOnly => {
            "give --tokenizer, so that prompts are exact"
        }
    };
    Some((sentence, cure.into()))
}

/// Tokens of the median prompt, planned and counted, where no template explains the difference.
fn far_above(tokens: &TokenAccount) -> Option<(f64, f64)> {
    let planned = tokens.prompt_lengths.requested?.p50 + tokens.template_tokens.unwrap_or(0) as f64;
    let counted = tokens.prompt_lengths.received?.p50;
    (counted > planned * 2.0 && counted > planned + FAR_ABOVE).then_some((planned, counted))
}
