//! What a served model weighs, reads and computes, by its published configuration.

use std::str::FromStr;

use super::preset::{UnknownName, find};

/// A transformer from the server's point of view. Counts come from the `config.json` and the model card on Hugging
/// Face.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServingModel {
    /// Name as given on a command line.
    pub name: &'static str,
    /// Total parameters.
    pub parameters: f64,
    /// Parameters that one token uses: all of a dense model's; the shared ones and the chosen experts' in a mixture.
    pub active_parameters: f64,
    /// The experts of one layer; absent in a dense model.
    pub experts: Option<Experts>,
    /// Transformer layers.
    pub layers: u32,
    /// Width of the residual stream, elements: what an all-reduce moves for one token.
    pub hidden: u32,
    /// Query heads × head size, elements: an attended pair of tokens costs 4 × this FLOPs in one layer
    /// (2 for the score, 2 for the weighted sum).
    pub attention_width: u32,
    /// What the KV cache stores per token and layer.
    pub kv: KvLayout,
    /// Longest context, tokens.
    pub max_model_len: u32,
}

/// The routed experts of a mixture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Experts {
    /// Routed experts in a layer.
    pub count: u32,
    /// Experts that one token uses.
    pub per_token: u32,
}

/// What the KV cache stores per token and layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KvLayout {
    /// A key and a value per KV head; tensor parallelism divides the heads.
    Heads {
        /// KV heads.
        count: u32,
        /// Elements of a key, and of a value.
        size: u32,
    },
    /// One compressed vector (multi-head latent attention); every tensor-parallel rank stores all of it.
    Latent {
        /// Elements.
        width: u32,
        /// Query heads that attend to it.
        heads: u32,
    },
}

impl ServingModel {
    /// Elements that the KV cache stores per token on each of `ranks` tensor-parallel ranks.
    pub fn kv_elements_per_token(&self, ranks: u32) -> f64 {
        let per_layer = match self.kv {
            // Fewer heads than ranks: vLLM keeps a copy on each.
            KvLayout::Heads { count, size } => 2 * count.div_ceil(ranks.max(1)) * size,
            KvLayout::Latent { width, .. } => width,
        };
        f64::from(self.layers) * f64::from(per_layer)
    }

    /// Whether `ranks` tensor-parallel ranks divide the query heads evenly, and the KV heads divide the ranks or the
    /// ranks the KV heads; vLLM refuses to start otherwise.
    pub const fn divides_over(&self, ranks: u32) -> bool {
        match self.kv {
            _ if ranks == 0 => false,
            KvLayout::Heads { count, size } => {
                (self.attention_width / size).is_multiple_of(ranks)
                    && (count.is_multiple_of(ranks) || ranks.is_multiple_of(count))
            }
            KvLayout::Latent { heads, .. } => heads.is_multiple_of(ranks),
        }
    }

    /// Parameters that a forward pass over `tokens` tokens reads.
    ///
    /// A mixture's routed experts hold R = (all − active) / (1 − k/E) parameters when each token uses k of E in
    /// a layer. With even routing a token leaves an expert alone with probability 1 − k/E, so a pass reads
    /// all − R × (1 − k/E)^tokens: the active ones for one token, all of them for a large batch.
    pub fn parameters_read(&self, tokens: u64) -> f64 {
        let Some(Experts { count, per_token }) = self.experts else { return self.parameters };
        let left_alone = 1.0 - f64::from(per_token) / f64::from(count);
        let routed = (self.parameters - self.active_parameters) / left_alone;
        self.parameters - routed * left_alone.powf(tokens as f64)
    }
}

const fn heads(count: u32, size: u32) -> KvLayout {
    KvLayout::Heads { count, size }
}

/// A dense model: its parameters, layers, residual width, attention width, KV cache and longest context.
const fn dense(
    name: &'static str,
    parameters: f64,
    layers: u32,
    hidden: u32,
    attention_width: u32,
    kv: KvLayout,
    max_model_len: u32,
) -> ServingModel {
    ServingModel {
        name,
        parameters,
        active_parameters: parameters,
        experts: None,
        layers,
        hidden,
        attention_width,
        kv,
        max_model_len,
    }
}

/// Every model known by name.
///
/// Layers, widths and heads come from the model's own `config.json`; *checked against* names the copy that was read.
/// Parameter counts are the published ones; the tests recompute each from the configuration.
pub const MODELS: [ServingModel; 7] = [
    // meta-llama/Llama-3.1-8B-Instruct: 8,030,261,248 parameters, checked against the count and shape in the
    // metadata of its safetensors and GGUF files as others copy them, and 14.96 GiB of weights in vLLM's log
    // (vllm-project/vllm pull request 10511).
    dense("llama-3.1-8b", 8.03e9, 32, 4096, 4096, heads(8, 128), 131_072),
    // meta-llama/Llama-3.1-70B-Instruct: 70,553,706,496 parameters and 131,072 tokens of context, checked against the
    // metadata of its safetensors and GGUF files as others copy them; the shape is that of Llama-3-70B, checked against
    // huggingface.co/vicky4s4s/llama-3-70B-instruct. The 8B and 405B are of the same release: no copy of their context
    // was read.
    dense("llama-3.1-70b", 70.55e9, 80, 8192, 8192, heads(8, 128), 131_072),
    // meta-llama/Llama-3.1-405B-Instruct: 405,853,388,800 parameters, checked against copies of the count and
    // shape. Its first configuration said 16 KV heads, each of the eight stored twice; that is 410.1 B
    // parameters.
    dense("llama-3.1-405b", 405.85e9, 126, 16_384, 16_384, heads(8, 128), 131_072),
    // Qwen/Qwen2.5-7B-Instruct: 7.61 B parameters (7,615,616,512), 28 query and 4 KV heads of 128; checked against
    // huggingface.co/osllmai-community/Qwen2.5-7B-Instruct.
    dense("qwen2.5-7b", 7.61e9, 28, 3584, 3584, heads(4, 128), 32_768),
    // Qwen/Qwen3-32B: 32.8 B parameters (32,762,123,264), 64 query and 8 KV heads of 128 (wider than `hidden`); checked
    // against huggingface.co/ronnywebdevs1/d-m-1, a copy of the configuration.
    dense("qwen3-32b", 32.8e9, 64, 5120, 8192, heads(8, 128), 40_960),
    // mistralai/Mixtral-8x7B-Instruct-v0.1: 46.7 B parameters (46,702,792,704), 12.9 B used by a token, 2 of 8 experts;
    // checked against its own config.json (revision eba92302).
    ServingModel {
        active_parameters: 12.9e9,
        experts: Some(Experts { count: 8, per_token: 2 }),
        ..dense("mixtral-8x7b", 46.7e9, 32, 4096, 4096, heads(8, 128), 32_768)
    },
    // deepseek-ai/DeepSeek-V3: 671 B parameters without the head that predicts a second token, 37 B used by a token
    // (its README; README_WEIGHTS.md counts 36.6 B without the input embedding), 8 of 256 routed experts;
    // checked against gitcode.com/cann/cann-recipes-train, a copy of the configuration. Latent attention
    // keeps kv_lora_rank 512 + qk_rope_head_dim 64 elements of a token in a layer. The attention width is
    // that of the uncompressed form used in prefill: 128 heads × (192 for the score + 128 for the sum) / 2.
    ServingModel {
        active_parameters: 37e9,
        experts: Some(Experts { count: 256, per_token: 8 }),
        ..dense("deepseek-v3", 671e9, 61, 7168, 20_480, KvLayout::Latent { width: 576, heads: 128 }, 163_840)
    },
];

impl FromStr for ServingModel {
    type Err = UnknownName;

    /// The model with this name: `llama-3.1-8b`, `mixtral-8x7b`, …
    fn from_str(name: &str) -> Result<Self, UnknownName> {
        find("serving model", &MODELS, |model| model.name, name)
    }
}

#[cfg(test)]
mod tests;
