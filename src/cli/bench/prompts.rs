//! Chooses what counts the tokens of prompts.

use crate::cli::exit::Stop;
use crate::cli::printer::Printer;
use crate::cli::session::Session;
use crate::generator::PromptBuilder;
use crate::workload::WorkloadSpec;

/// A builder that counts with the tokenizer asked for, else by the server's own counts, else with common words.
pub(super) fn builder(
    spec: &WorkloadSpec,
    salt: u64,
    tokenizer: Option<&str>,
    session: &Session,
    printer: Printer,
) -> Result<PromptBuilder, Stop> {
    if let Some(source) = tokenizer {
        return PromptBuilder::with_tokenizer(&spec.classes, salt, source).map_err(Stop::usage);
    }
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
