//! What a served model weighs, reads and computes, by its published configuration.

use std::str::FromStr;

use super::preset::{UnknownName, find};

/// A transformer as a server meets it. Counts come from the `config.json` and the model card on Hugging Face.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServingModel {
    /// Name as given on a command line.
    pub name: &'static str,
    /// All parameters.
    pub parameters: f64,
    /// Parameters that one token uses: all of a dense model's, the shared ones and the chosen experts' otherwise.
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
    /// What the KV cache keeps of one token in one layer.
    pub kv: KvLayout,
    /// Longest context, tokens.
    pub max_model_len: u32,
}

/// The routed experts of a mixture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Experts {
    /// Routed experts in a layer.
    pub count: u32,
    /// Of them, how many one token uses.
    pub per_token: u32,
}

/// What the KV cache keeps of one token in one layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KvLayout {
    /// A key and a value for each KV head; tensor parallelism shares the heads out.
    Heads {
        /// KV heads.
        count: u32,
        /// Elements of a key, and of a value.
        size: u32,
    },
    /// One compressed vector (multi-head latent attention); every tensor-parallel rank keeps it whole.
    Latent {
        /// Elements.
        width: u32,
        /// Query heads that attend to it.
        heads: u32,
    },
}

impl ServingModel {
    /// Elements that the KV cache keeps of one token on each of `ranks` tensor-parallel ranks.
    #[must_use]
    pub fn kv_elements_per_token(&self, ranks: u32) -> f64 {
        let per_layer = match self.kv {
            // Fewer heads than ranks: vLLM keeps a copy on each.
            KvLayout::Heads { count, size } => 2 * count.div_ceil(ranks.max(1)) * size,
            KvLayout::Latent { width, .. } => width,
        };
        f64::from(self.layers) * f64::from(per_layer)
    }

    /// Whether `ranks` tensor-parallel ranks get equally many query heads, and each KV head equally many ranks or each
    /// rank equally many KV heads; vLLM refuses to start otherwise.
    #[must_use]
    pub const fn shares_out_over(&self, ranks: u32) -> bool {
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
    #[must_use]
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

/// Every model known by name.
pub const MODELS: [ServingModel; 7] = [
    // meta-llama/Llama-3.1-8B-Instruct: 8,030,261,248 parameters.
    ServingModel {
        name: "llama-3.1-8b",
        parameters: 8.03e9,
        active_parameters: 8.03e9,
        experts: None,
        layers: 32,
        hidden: 4096,
        attention_width: 4096,
        kv: heads(8, 128),
        max_model_len: 131_072,
    },
    // meta-llama/Llama-3.1-70B-Instruct: 70,553,706,496 parameters.
    ServingModel {
        name: "llama-3.1-70b",
        parameters: 70.55e9,
        active_parameters: 70.55e9,
        experts: None,
        layers: 80,
        hidden: 8192,
        attention_width: 8192,
        kv: heads(8, 128),
        max_model_len: 131_072,
    },
    // meta-llama/Llama-3.1-405B-Instruct: 405,853,388,800 parameters.
    ServingModel {
        name: "llama-3.1-405b",
        parameters: 405.85e9,
        active_parameters: 405.85e9,
        experts: None,
        layers: 126,
        hidden: 16_384,
        attention_width: 16_384,
        kv: heads(8, 128),
        max_model_len: 131_072,
    },
    // Qwen/Qwen2.5-7B-Instruct: 7.61 B parameters, 28 query and 4 KV heads of 128.
    ServingModel {
        name: "qwen2.5-7b",
        parameters: 7.61e9,
        active_parameters: 7.61e9,
        experts: None,
        layers: 28,
        hidden: 3584,
        attention_width: 3584,
        kv: heads(4, 128),
        max_model_len: 32_768,
    },
    // Qwen/Qwen3-32B: 32.8 B parameters, 64 query and 8 KV heads of 128 (wider than `hidden`).
    ServingModel {
        name: "qwen3-32b",
        parameters: 32.8e9,
        active_parameters: 32.8e9,
        experts: None,
        layers: 64,
        hidden: 5120,
        attention_width: 8192,
        kv: heads(8, 128),
        max_model_len: 40_960,
    },
    // mistralai/Mixtral-8x7B-Instruct-v0.1: 46.7 B parameters, 12.9 B used by a token, 2 of 8 experts.
    ServingModel {
        name: "mixtral-8x7b",
        parameters: 46.7e9,
        active_parameters: 12.9e9,
        experts: Some(Experts { count: 8, per_token: 2 }),
        layers: 32,
        hidden: 4096,
        attention_width: 4096,
        kv: heads(8, 128),
        max_model_len: 32_768,
    },
    // deepseek-ai/DeepSeek-V3: 671 B parameters, 37 B used by a token, 8 of 256 routed experts. Latent attention
    // keeps kv_lora_rank 512 + qk_rope_head_dim 64 elements of a token in a layer. The attention width is that
    // of the uncompressed form used in prefill: 128 heads × (192 for the score + 128 for the sum) / 2.
    ServingModel {
        name: "deepseek-v3",
        parameters: 671e9,
        active_parameters: 37e9,
        experts: Some(Experts { count: 256, per_token: 8 }),
        layers: 61,
        hidden: 7168,
        attention_width: 20_480,
        kv: KvLayout::Latent { width: 576, heads: 128 },
        max_model_len: 163_840,
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
mod tests {
    use super::*;

    fn model(name: &str) -> ServingModel {
        name.parse().unwrap()
    }

    #[test]
    fn kv_sizes_are_the_published_ones() {
        // Bytes a token at 16 bits: Llama-3.1-8B 128 KiB, 70B 320 KiB; DeepSeek-V3 70.3 kB (its report's table).
        assert_eq!(model("llama-3.1-8b").kv_elements_per_token(1) * 2.0, 131_072.0);
        assert_eq!(model("llama-3.1-70b").kv_elements_per_token(1) * 2.0, 327_680.0);
        assert_eq!(model("deepseek-v3").kv_elements_per_token(1) * 2.0, 70_272.0);
        // Eight ranks share eight heads; sixteen still keep one each.
        assert_eq!(model("llama-3.1-70b").kv_elements_per_token(8) * 2.0, 40_960.0);
        assert_eq!(model("llama-3.1-70b").kv_elements_per_token(16) * 2.0, 40_960.0);
        assert_eq!(model("deepseek-v3").kv_elements_per_token(8) * 2.0, 70_272.0);
    }

    #[test]
    fn heads_are_shared_out_evenly_or_not_at_all() {
        let over = |name| (1..=8).filter(|&ranks| model(name).shares_out_over(ranks)).collect::<Vec<_>>();
        assert_eq!(over("llama-3.1-8b"), [1, 2, 4, 8]);
        // 28 query heads: 8 ranks get 3.5 each, 7 ranks 4 each but 4 KV heads do not go over 7.
        assert_eq!(over("qwen2.5-7b"), [1, 2, 4]);
        assert_eq!(over("deepseek-v3"), [1, 2, 4, 8]);
        assert!(model("llama-3.1-70b").shares_out_over(16), "two ranks to each of eight KV heads");
        assert!(!model("llama-3.1-70b").shares_out_over(0));
    }

    #[test]
    fn a_mixture_reads_more_as_the_batch_grows() {
        let mixtral = model("mixtral-8x7b");
        // One token reads what it uses. The routed experts by the config: 32 layers × 8 × 3 × 4096 × 14336.
        assert!((mixtral.parameters_read(1) - 12.9e9).abs() < 1.0);
        let routed = 32.0 * 8.0 * 3.0 * 4096.0 * 14336.0;
        let two = mixtral.parameters - routed * 0.75 * 0.75;
        assert!((mixtral.parameters_read(2) / two - 1.0).abs() < 0.002, "{}", mixtral.parameters_read(2));
        assert!((mixtral.parameters_read(256) - 46.7e9).abs() < 1.0);
        assert_eq!(model("llama-3.1-8b").parameters_read(1), 8.03e9);
    }

    #[test]
    fn every_preset_is_found_by_its_name() {
        for preset in MODELS {
            assert_eq!(model(preset.name), preset);
        }
        let error = "llama-8b".parse::<ServingModel>().unwrap_err().to_string();
        assert!(error.contains("did you mean `llama-3.1-8b`?"), "{error}");
    }
}
