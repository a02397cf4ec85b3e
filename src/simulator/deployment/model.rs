//! Weight, reads and arithmetic of a served model, by its published configuration.

use serde::Deserialize;

/// A transformer from the server's point of view. Counts come from the `config.json` and the model card on Hugging
/// Face.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServingModel {
    /// Name as given on a command line.
    pub name: &'static str,
    /// Total parameters.
    pub parameters: f64,
    /// Parameters that one token uses: all of a dense model's. The shared ones and the chosen experts' in a
    /// mixture.
    #[serde(default)]
    pub active_parameters: f64,
    /// The experts of one layer; absent in a dense model.
    pub experts: Option<Experts>,
    /// Transformer layers.
    pub layers: u32,
    /// Width of the residual stream, elements: what an all-reduce moves for one token.
    pub hidden: u32,
    /// Query heads × head size, elements. An attended pair of tokens costs 4 × this FLOPs in one layer (2 for the
    /// score, 2 for the weighted sum).
    pub attention_width: u32,
    /// KV cache of a token and layer.
    pub kv: KvLayout,
    /// Longest context, tokens.
    pub max_model_len: u32,
}

/// The routed experts of a mixture.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Experts {
    /// Routed experts in a layer.
    pub count: u32,
    /// Experts that one token uses.
    pub per_token: u32,
}

/// KV cache of a token and layer.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
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

    /// Returns whether the model divides evenly over `ranks` tensor-parallel ranks. They divide the query heads, and
    /// the KV heads divide the ranks or the ranks the KV heads; vLLM refuses to start otherwise.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulator::MODELS;

    fn model(name: &str) -> ServingModel {
        name.parse().unwrap()
    }

    /// Figures of a configuration that the preset does not keep.
    struct Rest {
        vocabulary: f64,
        /// Width of the feed-forward layer, or of one expert.
        inner: f64,
        /// Parameters of a layer's biases and of the norms of its queries and keys.
        small: f64,
    }

    /// Counts the parameters of a transformer whose keys and values have heads. They are (all, used by one token).
    fn counted(model: &ServingModel, rest: &Rest) -> (f64, f64) {
        let KvLayout::Heads { count, size } = model.kv else { panic!("{} has no KV heads", model.name) };
        let (hidden, layers) = (f64::from(model.hidden), f64::from(model.layers));
        // Input embedding, output head, last norm.
        let outside = 2.0 * rest.vocabulary * hidden + hidden;
        // Query and output; key and value; two norms.
        let attention = 2.0 * hidden * f64::from(model.attention_width)
            + 2.0 * hidden * f64::from(count * size)
            + 2.0 * hidden
            + rest.small;
        let expert = 3.0 * hidden * rest.inner;
        let (router, experts, chosen) = match model.experts {
            Some(Experts { count, per_token }) => (hidden * f64::from(count), f64::from(count), f64::from(per_token)),
            None => (0.0, 1.0, 1.0),
        };
        let with = |experts: f64| outside + layers * (attention + router + experts * expert);
        (with(experts), with(chosen))
    }

    fn assert_within_a_percent(preset: f64, counted: f64, name: &str) {
        assert!((preset / counted - 1.0).abs() < 0.01, "{name}: {preset} is not {counted}");
    }

    #[test]
    fn parameters_are_those_of_the_configuration() {
        // vocab_size, intermediate_size, biases and norms by the config.json; the count as published.
        for (name, vocabulary, inner, small, published) in [
            ("llama-3.1-8b", 128_256.0, 14_336.0, 0.0, 8_030_261_248.0),
            ("llama-3.1-70b", 128_256.0, 28_672.0, 0.0, 70_553_706_496.0),
            ("llama-3.1-405b", 128_256.0, 53_248.0, 0.0, 405_853_388_800.0),
            // Query, key and value have biases.
            ("qwen2.5-7b", 152_064.0, 18_944.0, (28.0 + 4.0 + 4.0) * 128.0, 7_615_616_512.0),
            // One norm of queries and one of keys.
            ("qwen3-32b", 151_936.0, 25_600.0, 2.0 * 128.0, 32_762_123_264.0),
            ("mixtral-8x7b", 32_000.0, 14_336.0, 0.0, 46_702_792_704.0),
        ] {
            let preset = model(name);
            let (all, active) = counted(&preset, &Rest { vocabulary, inner, small });
            assert_eq!(all, published, "{name}");
            assert_within_a_percent(preset.parameters, all, name);
            assert_within_a_percent(preset.active_parameters, active, name);
        }
    }

    #[test]
    fn parameters_of_deepseek_v3_are_those_of_the_configuration() {
        let preset = model("deepseek-v3");
        let Some(Experts { count, per_token }) = preset.experts else { unreachable!() };
        let (hidden, layers) = (f64::from(preset.hidden), f64::from(preset.layers));
        let embedding = 129_280.0 * hidden;
        // Query down to 1536 and up to 128 × (128 + 64); key and value down to 512, with 64 for the position, and up to
        // 128 × (128 + 128); output from 128 × 128; the norms of both latents and of the layer.
        let attention = hidden * 1536.0
            + 1536.0 * 128.0 * 192.0
            + hidden * (512.0 + 64.0)
            + 512.0 * 128.0 * 256.0
            + 128.0 * 128.0 * hidden
            + 1536.0
            + 512.0
            + 2.0 * hidden;
        let expert = 3.0 * hidden * 2048.0;
        // The first three layers are dense; the others have a router, its biases and a shared expert besides
        // the routed.
        let with = |routed: u32| {
            2.0 * embedding
                + hidden
                + layers * attention
                + 3.0 * 3.0 * hidden * 18_432.0
                + (layers - 3.0) * (f64::from(count) * (hidden + 1.0) + f64::from(routed + 1) * expert)
        };
        assert_eq!(with(count), 671_026_419_200.0);
        assert_within_a_percent(preset.parameters, with(count), preset.name);
        // The published 37 B lie between the counts with and without the table of input embeddings.
        assert!((with(per_token) - embedding..with(per_token)).contains(&preset.active_parameters));
        // What `parameters_read` takes for the routed experts.
        let routed = (preset.parameters - preset.active_parameters) / (1.0 - 8.0 / 256.0);
        assert_within_a_percent(routed, (layers - 3.0) * f64::from(count) * expert, preset.name);
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
        let over = |name| (1..=8).filter(|&ranks| model(name).divides_over(ranks)).collect::<Vec<_>>();
        assert_eq!(over("llama-3.1-8b"), [1, 2, 4, 8]);
        // 28 query heads: 8 ranks get 3.5 each, 7 ranks 4 each but 4 KV heads do not go over 7.
        assert_eq!(over("qwen2.5-7b"), [1, 2, 4]);
        assert_eq!(over("deepseek-v3"), [1, 2, 4, 8]);
        assert!(model("llama-3.1-70b").divides_over(16), "two ranks to each of eight KV heads");
        assert!(!model("llama-3.1-70b").divides_over(0));
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
        for preset in MODELS.iter().copied() {
            assert_eq!(model(preset.name), preset);
        }
        let error = "llama-8b".parse::<ServingModel>().unwrap_err().to_string();
        assert!(error.contains("did you mean `llama-3.1-8b`?"), "{error}");
    }
}
