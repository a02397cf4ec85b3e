//! Command lines of other tools, said with the options of this program.
//!
//! A tool is a grammar: how its command lines begin, and each of its flags with the option that means the same, or with a
//! sentence where there is none. Flags that mean something only together are read by the tool's own file.

mod aiperf;
mod flags;
mod guidellm;
mod guidellm_data;
mod sentences;
#[cfg(test)]
mod tests;
mod translate;
mod translation;
mod values;
mod vllm;
mod vllm_flags;

pub(crate) use translate::{flag_here, translate};
pub(crate) use translation::{Translation, TranslationGap};
