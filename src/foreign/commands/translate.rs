//! Which tool's table reads a command line.

use super::translation::Translation;
use super::{aiperf, guidellm, vllm};
use crate::foreign::tool::ForeignTool;

/// Translates the command line of a tool.
///
/// # Errors
///
/// What is expected, where this is no such command line.
pub(crate) fn translate(tool: ForeignTool, words: &[String]) -> Result<Translation, String> {
    match tool {
        ForeignTool::Vllm => vllm::translate(words),
        ForeignTool::GuideLlm => guidellm::translate(words),
        ForeignTool::AiPerf => aiperf::translate(words),
        ForeignTool::Sglang => Err("command lines of SGLang are not translated".to_owned()),
    }
}
