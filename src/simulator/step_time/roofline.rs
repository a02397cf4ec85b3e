//! The time of a forward pass from physics: the slower of compute and memory traffic.

use crate::simulator::deployment::placement::Deployment;

/// Shares of the datasheet that real kernels reach, and the overhead of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Efficiency {
    /// Share of the peak FLOP/s. Default 0.6 (an estimate): bf16 matrix products reach about 0.73 of the datasheet on
    /// H100, 720 TFLOP/s, and 0.47 on MI300X, 620 (`SemiAnalysis`, *MI300X vs H100 vs H200*, 2024, as others quote
    /// it); a whole layer reaches less.
    pub compute: f64,
    /// Share of the memory and link bandwidth. Default 0.85 (an estimate): vLLM's blog on V1 (2025) gives
    /// "as low as ~5ms" on the GPU for a decode step of an 8B model on H100, where the weights alone take 4.8 ms at
    /// the full bandwidth; long-running decode is a little slower. Checked against lone streams of Llama-3.1-8B that
    /// others measured (`skyline guide simulate`) the whole step comes out 4 to 5 % short.
    pub bandwidth: f64,
    /// Seconds that every step costs on top: scheduling, launching, sampling. Default 0.5 ms (an estimate for V1,
    /// which hides most of that behind the pass before; vLLM 0.5.3 spent 33 % of its time on an 8B model on H100 in
    /// the HTTP server and 29 % in scheduling, by its blog on 0.6.0).
    pub step_overhead: f64,
    /// Seconds that every sequence of a step costs on top: input rows, sampling, output handling. Default 10 µs
    /// (an estimate).
    pub sequence_overhead: f64,
}

impl Default for Efficiency {
    fn default() -> Self {
        Self { compute: 0.6, bandwidth: 0.85, step_overhead: 0.5e-3, sequence_overhead: 10e-6 }
    }
}

/// A deployment's roofline.
///
/// With n new tokens in s sequences on t tensor-parallel ranks,
///
/// - compute = (2 · active parameters · n + 4 · layers · attention width · attended pairs) / t / (peak · efficiency)
/// - memory = (parameters read · bytes / t + KV bytes per token · (KV tokens read + n)) / (bandwidth · efficiency)
/// - communication = 2 · layers · (latency + 2 (t − 1)/t · n · hidden · 2 bytes / (link bandwidth · efficiency)),
///   two ring all-reduces of 16-bit activations a layer; none when t = 1
/// - time = max(compute, memory) + communication + overhead + s · sequence overhead
///
/// [`ServingModel::parameters_read`](crate::simulator::deployment::model::ServingModel::parameters_read)
/// gives the part of a mixture of experts that a batch touches.
#[derive(Clone, Debug, PartialEq)]
pub struct Roofline {
    deployment: Deployment,
    efficiency: Efficiency,
    /// Seconds per unit of work, computed once.
    per_token: f64,
    per_pair: f64,
    per_parameter_read: f64,
    per_kv_token: f64,
    per_all_reduced_token: f64,
    all_reduce_latency: f64,
}

/// The parts of a step's time, seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepParts {
    /// Multiplying matrices.
    pub compute: f64,
    /// Reading weights and KV, writing KV.
    pub memory: f64,
    /// All-reduces between ranks.
    pub communication: f64,
    /// Overhead of the step and of its sequences.
    pub overhead: f64,
}

impl Roofline {
    /// Roofline of `deployment` by its datasheet alone, with nothing lost.
    pub fn by_datasheet(deployment: Deployment) -> Self {
        let lossless = Efficiency { compute: 1.0, bandwidth: 1.0, step_overhead: 0.0, sequence_overhead: 0.0 };
        Self::new(deployment, lossless)
    }

    /// The roofline of `deployment`.
    pub fn new(deployment: Deployment, efficiency: Efficiency) -> Self {
        let Deployment { hardware, model, .. } = &deployment;
        let ranks = deployment.ranks();
        let flops = deployment.weights.peak_flops(hardware) * efficiency.compute * ranks;
        // Attention is computed in 16 bits whatever the weights' format.
        let attention_flops = hardware.bf16_flops * efficiency.compute * ranks;
        let bandwidth = hardware.memory_bandwidth * efficiency.bandwidth;
        let layers = f64::from(model.layers);
        let all_reduces = if deployment.tensor_parallel > 1 { 2.0 * layers } else { 0.0 };
        let moved = 2.0 * (ranks - 1.0) / ranks * f64::from(model.hidden) * 2.0;
        Self {
            efficiency,
            per_token: 2.0 * model.active_parameters / flops,
            per_pair: 4.0 * layers * f64::from(model.attention_width) / attention_flops,
            per_parameter_read: deployment.weights.bytes() / ranks / bandwidth,
            per_kv_token: deployment.kv_bytes_per_token() / bandwidth,
            per_all_reduced_token: all_reduces * moved / (hardware.link_bandwidth * efficiency.bandwidth),
            all_reduce_latency: all_reduces * hardware.link_latency,
            deployment,
        }
    }

    /// Deployment under this roofline.
    pub const fn deployment(&self) -> &Deployment {
        &self.deployment
    }

    /// Roofline of another deployment, which reaches as much of its datasheet.
    #[must_use]
    pub fn on(&self, deployment: Deployment) -> Self {
        Self::new(deployment, self.efficiency)
    }

    /// The parts of the time of a pass over `work`, without drafting.
    pub fn parts(&self, work: &StepWork) -> StepParts {
        let tokens = work.new_tokens as f64;
        StepParts {
            compute: tokens * self.per_token + work.attended_pairs as f64 * self.per_pair,
            memory: self.deployment.model.parameters_read(work.new_tokens) * self.per_parameter_read
                + (work.kv_tokens_read as f64 + tokens) * self.per_kv_token,
            communication: self.all_reduce_latency + tokens * self.per_all_reduced_token,
            overhead: self.efficiency.step_overhead + f64::from(work.sequences) * self.efficiency.sequence_overhead,
        }
    }

    /// The time of a pass over `work` without drafting, seconds.
    pub fn seconds(&self, work: &StepWork) -> f64 {
        self.parts(work).total()
    }

    /// Time of computing or reading in a step of one token, seconds.
    pub(super) fn single(&self) -> f64 {
        let parts = self.parts(&StepWork::decode(1, 1));
        parts.compute.max(parts.memory)
    }
}

impl StepParts {
    /// max(compute, memory) + communication + overhead, seconds.
    pub fn total(&self) -> f64 {
        self.compute.max(self.memory) + self.communication + self.overhead
    }
}

/// The work of a forward pass. It is the sums over its sequences that every step-time model uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepWork {
    /// Sequences in the batch.
    pub sequences: u32,
    /// Tokens computed, prompts' and answers' together.
    pub new_tokens: u64,
    /// Prompt tokens among them (and tokens recomputed after a preemption).
    pub prefill_tokens: u64,
    /// Pairs of a new token and a token that it attends to, itself included.
    pub attended_pairs: u64,
    /// Tokens whose KV is read: each sequence's context, once.
    pub kv_tokens_read: u64,
    /// Draft tokens proposed per decoding sequence.
    pub draft_tokens: u32,
}

impl StepWork {
    /// Adds a sequence that computes `new` tokens on top of `computed` ones.
    pub fn add(&mut self, computed: u32, new: u32) {
        let (computed, new) = (u64::from(computed), u64::from(new));
        self.sequences += 1;
        self.new_tokens += new;
        self.attended_pairs += new * computed + new * (new + 1) / 2;
        self.kv_tokens_read += computed + new;
    }

    /// The work of one decode step of `sequences` sequences with `context` tokens each.
    pub fn decode(sequences: u32, context: u32) -> Self {
        let tokens = u64::from(sequences) * u64::from(context.max(1));
        Self {
            sequences,
            new_tokens: u64::from(sequences),
            attended_pairs: tokens,
            kv_tokens_read: tokens,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulator::step_time::model::StepTime;

    fn roofline(hardware: &str, model: &str, ranks: u32) -> Roofline {
        let mut deployment = Deployment::new(hardware.parse().unwrap(), model.parse().unwrap());
        deployment.tensor_parallel = ranks;
        Roofline::new(deployment, Efficiency::default())
    }

    fn assert_close(actual: f64, expected: f64) {
        assert!((actual / expected - 1.0).abs() < 1e-9, "{actual} is not {expected}");
    }

    // By hand in Python, from the formulas above and the presets' figures:
    //   python3 -c 'print(256*2*8.03e9/(70e12*.6) + 4*32*4096*256*257/2/(70e12*.6))'  and so on.
    #[test]
    fn a_prompt_is_bound_by_compute() {
        let mut work = StepWork::default();
        work.add(0, 256);
        let parts = roofline("a10g", "llama-3.1-8b", 1).parts(&work);
        assert_close(parts.compute, 256.0 * 2.0 * 8.03e9 / 42e12 + 4.0 * 32.0 * 4096.0 * 32_896.0 / 42e12);
        assert!(parts.compute > 3.0 * parts.memory);
        assert_eq!(parts.communication, 0.0);
    }

    #[test]
    fn a_decode_step_is_bound_by_memory() {
        let time = roofline("a10g", "llama-3.1-8b", 1);
        let parts = time.parts(&StepWork::decode(1, 1000));
        assert_close(parts.memory, (16.06e9 + 1001.0 * 131_072.0) / (600e9 * 0.85));
        assert!(parts.memory > 50.0 * parts.compute);
        assert_close(time.seconds(&StepWork::decode(1, 1000)), parts.memory + 0.5e-3 + 10e-6);
    }

    #[test]
    fn tensor_parallelism_divides_and_adds_communication() {
        let parts = roofline("h100", "llama-3.1-70b", 8).parts(&StepWork::decode(64, 500));
        // 80 layers, one of the eight KV heads on each rank: 80 × 2 × 128 × 2 bytes a token.
        assert_close(parts.memory, (141.1e9 / 8.0 + (32_000.0 + 64.0) * 40_960.0) / (3350e9 * 0.85));
        let bytes = 2.0 * 7.0 / 8.0 * 64.0 * 8192.0 * 2.0;
        assert_close(parts.communication, 160.0 * (10e-6 + bytes / (450e9 * 0.85)));
    }

    #[test]
    fn fp8_halves_the_weights_and_doubles_the_peak() {
        let mut deployment = Deployment::new("h100".parse().unwrap(), "llama-3.1-8b".parse().unwrap());
        let sixteen = Roofline::new(deployment.clone(), Efficiency::default());
        deployment.weights = "fp8".parse().unwrap();
        let eight = Roofline::new(deployment, Efficiency::default());
        let decode = StepWork::decode(1, 1);
        assert!((eight.parts(&decode).memory / sixteen.parts(&decode).memory - 0.5).abs() < 0.001);
        let prompt = StepWork { new_tokens: 4096, ..StepWork::default() };
        assert_close(eight.parts(&prompt).compute, sixteen.parts(&prompt).compute / 2.0);
    }

    #[test]
    fn drafting_costs_its_share_of_a_step_for_each_token() {
        let plain = roofline("h100", "llama-3.1-8b", 1);
        let work = StepWork { draft_tokens: 4, ..StepWork::decode(8, 100) };
        let single = plain.parts(&StepWork::decode(1, 1)).memory;
        let extra = StepTime::Roofline(plain.clone()).seconds(&work, 0.1) - plain.seconds(&work);
        assert_close(extra, 0.4 * single);
    }
}
