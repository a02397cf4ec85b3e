//! The kinds of servers.

use strum::{Display, EnumString, IntoStaticStr, VariantArray};

/// The kind of a server: the dialect of the OpenAI protocol that it speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Display, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase", parse_err_ty = String, parse_err_fn = unknown)]
pub enum EngineKind {
    /// vLLM.
    #[default]
    Vllm,
    /// SGLang.
    Sglang,
    /// TensorRT-LLM's `trtllm-serve`.
    Trtllm,
    /// Hugging Face's Text Generation Inference.
    Tgi,
    /// llama.cpp's llama-server; llama-cpp-python, whose default port is 8000.
    Llamacpp,
    /// The gateway `LiteLLM`, whose `/health` sends a completion to each of its models.
    Litellm,
    /// OpenAI itself and whatever speaks only its protocol: gateways, transformers serve.
    Openai,
    /// Skyline's own mock.
    Mock,
}

impl EngineKind {
    /// Every kind, in the order of messages.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// Its name for `--engine`.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Message for an unknown name, with all known ones.
fn unknown(name: &str) -> String {
    let names = EngineKind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ");
    format!("`{name}` is not an engine; there are {names} (openai fits any other server)")
}
