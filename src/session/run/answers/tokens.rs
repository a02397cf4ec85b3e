//! Chooses what counts the tokens of prompts, and of answers where the server does not.

use std::ops::ControlFlow;

use crate::engine::{CaptureText, SmokeReport, Targets};
use crate::generator::{PromptBuilder, TokenCounter};
use crate::live::{Screen, StepLine};
use crate::record::{PromptMethod, TokenSource};
use crate::runner::CollectedRun;
use crate::session::console::{Interrupts, Printer, Stop};
use crate::session::run::connect::ServerConnection;
use crate::units::count;
use crate::workload::WorkloadSpec;

/// A builder that counts with the tokenizer asked for, if one was.
pub(in crate::session::run) fn exact(
    spec: &WorkloadSpec,
    salt: u64,
    tokenizer: Option<&str>,
    screen: Screen,
) -> Result<Option<PromptBuilder>, Stop> {
    let Some(source) = tokenizer else { return Ok(None) };
    let _line = StepLine::start(screen, format!("preparing prompts with the tokenizer {source}"));
    PromptBuilder::with_tokenizer(&spec.classes, salt, source).map(Some).map_err(Stop::usage)
}

/// Returns a builder that goes by the server's own counts. It goes by common words where the server cannot count.
pub(in crate::session::run) fn counted(
    spec: &WorkloadSpec,
    salt: u64,
    server: &ServerConnection,
    screen: Screen,
    printer: Printer,
) -> Result<PromptBuilder, Stop> {
    let texts = PromptBuilder::texts_to_measure(&spec.classes);
    let line = StepLine::counting(screen, "asking the server how many tokens words have", texts.len() as u64);
    let mut counted = 0;
    let step = || {
        counted += 1;
        line.done(counted);
    };
    let counts = server.runtime.block_on(server.router.targets().first().count_tokens(&texts, step));
    drop(line);
    match counts {
        Ok(Some(counts)) => {
            return PromptBuilder::with_server_counts(&spec.classes, salt, &counts).map_err(Stop::impossible);
        }
        Ok(None) => {}
        Err(failure) => printer.words(&format!(
            "the server's /tokenize cannot be used ({failure}); prompt lengths are estimated from common words"
        )),
    }
    Ok(PromptBuilder::with_word_list(&spec.classes, salt))
}

/// Returns the tokens that the server adds to a text. They are what it counted of the test request's prompt beyond the
/// text itself. `None` where one of the two is not known.
pub(in crate::session::run) fn template_tokens(
    server: &ServerConnection,
    prompts: &PromptBuilder,
    printer: Printer,
) -> Option<u64> {
    // All serve one model: what the first counts, all do.
    let (engine, smoke) = (server.router.targets().first(), server.smokes.first());
    let reported = smoke.usage?.prompt()?;
    let (text, times) = smoke.prompt?;
    let own = match (prompts.counter(), prompts.facts().method) {
        (Some(counter), _) => u64::from(counter.count(text)),
        (None, PromptMethod::Server) => {
            let counted = server.runtime.block_on(engine.count_tokens(&[text.to_owned()], || ()));
            *counted.ok().flatten()?.first()? as u64
        }
        (None, _) => return None,
    };
    let own = own * times;
    if reported < own {
        printer.words(&format!(
            "warning: `{text}` is {} tokens by the tokenizer, and {} by the server, its chat template included: is \
             this the served model's tokenizer?",
            count(own),
            count(reported)
        ));
    }
    reported.checked_sub(own)
}

/// Returns what is kept of answers, by how the servers answered the test request. It is their words, where a server
/// counts nothing and something here can.
pub(super) fn capture(smokes: &Targets<SmokeReport>, counter: Option<&TokenCounter>) -> CaptureText {
    let counts_nothing = smokes.iter().any(|smoke| smoke.token_source == TokenSource::Chunks);
    let is_counted_here = counts_nothing && counter.is_some();
    if is_counted_here { CaptureText::Yes } else { CaptureText::No }
}

/// Counts what was kept, unless the user wants to leave.
pub(super) fn count_answers(
    collected: &mut CollectedRun,
    counter: Option<&TokenCounter>,
    interrupts: &Interrupts,
    screen: Screen,
) {
    let (Some(counter), 1..) = (counter, collected.uncounted()) else { return };
    let line = StepLine::counting(screen, "counting the tokens of answers", collected.uncounted() as u64);
    collected.count(counter, |done| {
        line.done(done as u64);
        if interrupts.leave_is_wished() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
}
