//! Whether the server keeps the planned lengths: of answers, and of prompts in its context.

use crate::engine::{LengthTest, OpenAiEngine, SmokeReport};
use crate::generator::Schedule;
use crate::record::{EngineFacts, PlanFacts};
use crate::session::console::{Printer, Stop};
use crate::units::count;

/// Above this share of requests that do not fit, nothing is sent.
const MOST: f64 = 0.5;

/// Says what the test request showed of the length of answers, where that is not as requested.
pub(super) fn report_length(engine: &OpenAiEngine, smoke: &SmokeReport, printer: Printer) {
    let facts = engine.facts();
    if let (Some(fields), Some(own)) = (&facts.length_fields, &smoke.instead_of) {
        printer
            .words(&format!("the server does not go by {own}: requests ask for their lengths with {fields}"));
    }
    if smoke.length == LengthTest::Ignored {
        printer.words(&format!("warning: {}", smoke.length_in_words()));
    }
}

/// Refuses a plan of which most requests are longer than the server's context; a warning where some are. The context is
/// that of prompt and answer together, and `template` tokens are added to each prompt.
pub(super) fn check(
    schedule: &Schedule,
    plan: &PlanFacts,
    engine: &EngineFacts,
    template: u64,
) -> Result<Option<String>, Stop> {
    let Some(context) = engine.max_model_len else { return Ok(None) };
    let (mut all, mut prompts_over, mut over) = (0_u64, 0_u64, 0_u64);
    let mut longest = (0, 0);
    for request in schedule.plan().take((plan.warmup_requests + plan.measured_requests) as usize) {
        let (input, output) = (u64::from(request.input_tokens) + template, u64::from(request.output_tokens));
        all += 1;
        prompts_over += u64::from(input >= context);
        over += u64::from(input + output > context);
        if input + output > longest.0 + longest.1 {
            longest = (input, output);
        }
    }
    if over == 0 {
        return Ok(None);
    }
    let what = if prompts_over == over { "prompts" } else { "prompts, with the answers requested," };
    let (input, output) = longest;
    let found = format!(
        "{} of {} {what} exceed {} tokens, the longest context of the server: up to {} tokens and an answer of {}",
        count(over),
        count(all),
        count(context),
        count(input),
        count(output)
    );
    let cure = "shorten them (--input-tokens, --output-tokens), or serve a longer context (vLLM: --max-model-len; \
                SGLang: --context-length; llama.cpp: --ctx-size; TGI: --max-total-tokens)";
    if over as f64 > MOST * all as f64 {
        return Err(Stop::usage(format!("{found}; no load was sent\nhint: {cure}")));
    }
    Ok(Some(format!("warning: {found}; the server may refuse these or cut their answers\nhint: {cure}")))
}
