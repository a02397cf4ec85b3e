//! Names of the field that limits the tokens of an answer.

/// OpenAI's older name of the field that limits an answer's tokens. Every self-hosted server takes it.
pub(crate) const MAX_TOKENS: &str = "max_tokens";
/// OpenAI's newer name of that field.
pub(crate) const MAX_COMPLETION_TOKENS: &str = "max_completion_tokens";
/// Name of that field in OpenAI's Responses.
pub(crate) const MAX_OUTPUT_TOKENS: &str = "max_output_tokens";
/// All names of that field: Hugging Face's and llama.cpp's too.
pub(crate) const TOKEN_LIMITS: [&str; 5] =
    [MAX_TOKENS, MAX_COMPLETION_TOKENS, MAX_OUTPUT_TOKENS, "max_new_tokens", "n_predict"];
