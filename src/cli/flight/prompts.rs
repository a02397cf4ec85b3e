//! Chooses what counts the tokens of prompts.

use crate::cli::session::Session;
use crate::generator::PromptBuilder;
use crate::record::PromptMethod;
use crate::session::{Printer, Stop};
use crate::units::count;
use crate::workload::WorkloadSpec;

/// A builder that counts with the tokenizer asked for, if one was.
pub(super) fn exact(
    spec: &WorkloadSpec,
    salt: u64,
    tokenizer: Option<&str>,
) -> Result<Option<PromptBuilder>, Stop> {
    tokenizer
        .map(|source| PromptBuilder::with_tokenizer(&spec.classes, salt, source).map_err(Stop::usage))
        .transpose()
}

/// A builder that goes by the server's own counts, or by common words where the server cannot count.
pub(super) fn counted(
    spec: &WorkloadSpec,
    salt: u64,
    session: &Session,
    printer: Printer,
) -> Result<PromptBuilder, Stop> {
    let texts = PromptBuilder::texts_to_measure(&spec.classes);
    match session.runtime.block_on(session.engine.count_tokens(&texts)) {
        Ok(Some(counts)) => {
            PromptBuilder::with_server_counts(&spec.classes, salt, &counts).map_err(Stop::impossible)
        }
        Ok(None) => Ok(PromptBuilder::with_word_list(&spec.classes, salt)),
        Err(failure) => {
            printer.words(&format!(
                "the server's /tokenize cannot be used ({failure}); prompt lengths are estimated from common words"
            ));
            Ok(PromptBuilder::with_word_list(&spec.classes, salt))
        }
    }
}

/// Tokens that the server adds to a text: what it counted of the test request's prompt beyond the text itself. `None` where
/// one of the two is not known.
pub(super) fn template_tokens(session: &Session, prompts: &PromptBuilder, printer: Printer) -> Option<u64> {
    let told = session.smoke.usage.map(|usage| usage.prompt_tokens).filter(|&tokens| tokens > 0)?;
    let text = session.smoke.prompt?;
    let own = match (prompts.counter(), prompts.facts().method) {
        (Some(counter), _) => u64::from(counter.count(text)),
        (None, PromptMethod::Server) => {
            let counted = session.runtime.block_on(session.engine.count_tokens(&[text.to_owned()]));
            *counted.ok().flatten()?.first()? as u64
        }
        (None, _) => return None,
    };
    if told < own {
        printer.words(&format!(
            "warning: `{text}` is {} tokens by the tokenizer, and {} by the server, its chat template included: is this the \
             served model's tokenizer?",
            count(own),
            count(told)
        ));
    }
    told.checked_sub(own)
}
