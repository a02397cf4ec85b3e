//! A model placed on hardware: what each accelerator holds, and how much KV cache is left.

use super::hardware::Hardware;
use super::model::ServingModel;
use super::precision::Precision;

/// A model on one or more accelerators of one node.
#[derive(Clone, Debug, PartialEq)]
pub struct Deployment {
    /// The accelerator.
    pub hardware: Hardware,
    /// The model.
    pub model: ServingModel,
    /// Format of the weights.
    pub weights: Precision,
    /// Format of the KV cache; 16 bits is vLLM's default (`--kv-cache-dtype auto`).
    pub kv_cache: Precision,
    /// Accelerators that share each layer.
    pub tensor_parallel: u32,
    /// Share of the memory that the server may fill. 0.92 is vLLM's default (0.32; older ones 0.9).
    pub gpu_memory_utilization: f64,
    /// Bytes of each accelerator reserved for CUDA graphs, activations, logits and communication buffers. vLLM
    /// measures it at start-up. Default 1.5 GB (an estimate): for Llama-3-8B vLLM found 1.26 GiB of activations
    /// (vllm-project/vllm pull request 10511), and 0.16 GiB outside `PyTorch` (pull request 12126).
    pub reserve: f64,
}

/// Reason why a deployment cannot start.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "{model} does not fit on {accelerators} × {hardware}: {needed_gb:.1} GB of weights and buffers on each, \
     {usable_gb:.1} GB usable; {cure}"
)]
pub struct DoesNotFit {
    model: &'static str,
    hardware: &'static str,
    accelerators: u32,
    needed_gb: f64,
    usable_gb: f64,
    cure: String,
}

/// The model in its format on its accelerators.
impl std::fmt::Display for Deployment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { hardware, model, weights, tensor_parallel, .. } = self;
        write!(f, "{} in {weights} on {tensor_parallel} × {}", model.name, hardware.name)
    }
}

impl Deployment {
    /// `model` in 16 bits on one `hardware`, with vLLM's defaults.
    pub const fn new(hardware: Hardware, model: ServingModel) -> Self {
        Self {
            hardware,
            model,
            weights: Precision::Bf16,
            kv_cache: Precision::Bf16,
            tensor_parallel: 1,
            gpu_memory_utilization: 0.92,
            reserve: 1.5e9,
        }
    }

    /// Bytes of weights on each accelerator.
    pub fn weight_bytes(&self) -> f64 {
        self.model.parameters * self.weights.bytes() / self.ranks()
    }

    /// Bytes of KV cache that one token takes on each accelerator.
    pub fn kv_bytes_per_token(&self) -> f64 {
        self.model.kv_elements_per_token(self.tensor_parallel) * self.kv_cache.bytes()
    }

    /// Returns the tokens whose KV fits. They are (memory × utilization − reserve − weights) / bytes per token, on each
    /// accelerator.
    ///
    /// # Errors
    ///
    /// When the weights leave no room.
    pub fn kv_capacity_tokens(&self) -> Result<u64, DoesNotFit> {
        let usable = self.hardware.memory * self.gpu_memory_utilization;
        let room = usable - self.reserve - self.weight_bytes();
        if room >= self.kv_bytes_per_token() {
            return Ok((room / self.kv_bytes_per_token()) as u64);
        }
        let default = Self::new(self.hardware, self.model).gpu_memory_utilization;
        let cure = if self.weight_bytes() + self.reserve < self.hardware.memory * default {
            "let the server fill more of the memory (GPU memory utilization)".to_owned()
        } else {
            let fitting = [2, 4, 8].into_iter().find(|&ranks| {
                ranks > self.tensor_parallel
                    && self.model.divides_over(ranks)
                    && Self { tensor_parallel: ranks, ..self.clone() }.weight_bytes() + self.reserve < usable
            });
            fitting.map_or_else(
                || "take a larger accelerator, a smaller model or fewer bits".to_owned(),
                |ranks| format!("share it over {ranks} (tensor parallel), or take fewer bits"),
            )
        };
        Err(DoesNotFit {
            model: self.model.name,
            hardware: self.hardware.name,
            accelerators: self.tensor_parallel,
            needed_gb: (self.weight_bytes() + self.reserve) / 1e9,
            usable_gb: usable / 1e9,
            cure,
        })
    }

    pub(crate) fn ranks(&self) -> f64 {
        f64::from(self.tensor_parallel.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deployment(hardware: &str, model: &str) -> Deployment {
        Deployment::new(hardware.parse().unwrap(), model.parse().unwrap())
    }

    #[test]
    fn kv_capacity_is_what_the_weights_leave() {
        // python3 -c "print((21.99 * 2**30 * .92 - 1.5e9 - 16.06e9) // 131072)"
        let tokens = deployment("a10g", "llama-3.1-8b").kv_capacity_tokens().unwrap();
        assert_eq!(tokens, 31_758);
    }

    #[test]
    fn a_model_too_large_is_refused_with_a_cure() {
        let error = deployment("h100", "llama-3.1-70b").kv_capacity_tokens().unwrap_err().to_string();
        assert_eq!(
            error,
            "llama-3.1-70b does not fit on 1 × h100: 142.6 GB of weights and buffers on each, 78.1 GB usable; \
             share it over 2 (tensor parallel), or take fewer bits"
        );
        let error = deployment("a10g", "llama-3.1-405b").kv_capacity_tokens().unwrap_err().to_string();
        assert!(error.ends_with("take a larger accelerator, a smaller model or fewer bits"), "{error}");
        let tight = Deployment { gpu_memory_utilization: 0.5, ..deployment("a10g", "llama-3.1-8b") };
        let error = tight.kv_capacity_tokens().unwrap_err().to_string();
        assert!(error.ends_with("let the server fill more of the memory (GPU memory utilization)"), "{error}");
    }
}
