//! One reader for each tool.

pub(super) mod aiperf;
pub(super) mod guidellm;
mod serving;
pub(super) mod sglang;
pub(super) mod vllm;
