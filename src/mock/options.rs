//! The mock's options.

use std::path::PathBuf;
use std::str::FromStr;

use super::faults::FaultChance;
use super::request::PromptTokens;
use crate::clock::Pacing;
use crate::random::RandomStream;
use crate::simulator::{
    BatchingConfig, BatchingEngine, Delay, Deployment, DoesNotFit, Efficiency, FixedQueue, SimulatedServer,
};

/// The simulated server behind the mock, and what its clients see of it.
pub struct Backend {
    /// The server that makes the tokens.
    pub server: Box<dyn SimulatedServer + Send>,
    /// Name of the model served.
    pub model: String,
    /// Longest prompt plus answer, tokens.
    pub max_model_len: u32,
    /// A description for the user.
    pub claim: String,
}

impl Backend {
    /// Longest prompt plus answer of a server that sets no limit, tokens.
    pub const PLAIN_MODEL_LEN: u32 = 131_072;

    /// Returns Llama-3.1-8B in 16 bits on one NVIDIA A10G, with vLLM's defaults. It is the smallest accelerator that a
    /// team is likely to rent, and a model that it is likely to try first.
    ///
    /// # Errors
    ///
    /// Never with the built-in figures; the type leaves it to the caller.
    pub fn preset() -> Result<Self, DoesNotFit> {
        let (Ok(hardware), Ok(model)) = ("a10g".parse(), "llama-3.1-8b".parse()) else {
            unreachable!("both are built in")
        };
        Self::new(&Deployment::new(hardware, model), None)
    }

    /// Model of a deployment, with vLLM's defaults where asynchronous scheduling is not switched.
    ///
    /// # Errors
    ///
    /// The model does not fit into the memory of the accelerators.
    pub fn new(deployment: &Deployment, async_scheduling: Option<bool>) -> Result<Self, DoesNotFit> {
        let mut config = BatchingConfig::vllm(deployment, Efficiency::default())?;
        config.limits.async_scheduling = async_scheduling.unwrap_or(config.limits.async_scheduling);
        let limits = config.limits;
        Ok(Self {
            server: Box::new(BatchingEngine::new(config)),
            model: deployment.model.name.to_owned(),
            max_model_len: limits.max_model_len,
            claim: format!("a model of vLLM with {deployment}, {} sequences at once", limits.max_num_seqs),
        })
    }

    /// Returns a server without physics. It has so many slots, first come first served, a drawn time to the first token
    /// and drawn gaps after it.
    pub fn fixed(slots: usize, ttft: Delay, gap: Delay, seed: u64) -> Self {
        Self {
            server: Box::new(FixedQueue::new(slots, ttft, gap, seed)),
            model: "mock".to_owned(),
            max_model_len: Self::PLAIN_MODEL_LEN,
            claim: format!("a queue with {slots} slots and declared latencies"),
        }
    }
}

/// Options of how the mock answers, whatever server is behind it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MockOptions {
    /// Names of adapters served beside the model; each has its own prefixes.
    pub adapters: Vec<String>,
    /// Lengths of answers that may end by themselves.
    pub stop_length: StopLength,
    /// Rounds of calls of tools after a message of the user. They go on without end when absent.
    pub tool_rounds: Option<u32>,
    /// The words of answers.
    pub words: AnswerWords,
    /// Answers to prompts with certain words; these come first.
    pub answers: Vec<CannedAnswer>,
    /// Whether usage says how much of a prompt was in the prefix cache.
    pub prompt_details: PromptDetails,
    /// Faults and their probabilities.
    pub faults: Vec<FaultChance>,
    /// File for the truth log; `None` keeps it in memory only.
    pub truth: Option<PathBuf>,
    /// Seed of lengths and faults.
    pub seed: u64,
    /// Path of its address, such as `/gate` or `/v1beta/openai`; empty: none.
    pub base_path: String,
    /// Whether there is no list of models, as at some gateways.
    pub lists_no_models: bool,
    /// Pacing by which its clock waits for the moments of tokens. It knows no timer of a runtime, and takes that for
    /// precise.
    pub pacing: Pacing,
}

/// The words of answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AnswerWords {
    /// A few words, repeated.
    #[default]
    Stock,
    /// The prompt's own words, repeated.
    Echo,
}

/// Whether usage has `prompt_tokens_details` (vLLM's `--enable-prompt-tokens-details`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PromptDetails {
    /// Left out, as vLLM does by default.
    #[default]
    Hidden,
    /// Details with `cached_tokens` in the usage at the end of an answer.
    Shown,
}

/// Lengths at which a model would stop by itself. They are log-normal, much like the lengths of chat answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StopLength {
    /// Median, tokens.
    pub median: f64,
    /// Standard deviation of the logarithm; 0 makes every answer as long as the median.
    pub sigma: f64,
}

/// An estimate close to the answers in `ShareGPT`. vLLM's filtered set has a mean of about 200 tokens.
impl Default for StopLength {
    fn default() -> Self {
        Self { median: 150.0, sigma: 0.8 }
    }
}

impl StopLength {
    /// Draws one length, at least one token.
    pub(super) fn draw(&self, stream: &mut RandomStream) -> u32 {
        (self.median * libm::exp(self.sigma * stream.normal())).round().max(1.0) as u32
    }
}

/// A canned answer for prompts that contain certain words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CannedAnswer {
    /// Words that stand in the prompt one after another.
    pub to: String,
    /// The whole answer.
    pub say: String,
}

impl CannedAnswer {
    /// Whether the prompt contains the words.
    pub(crate) fn is_to(&self, prompt: &PromptTokens) -> bool {
        let words: Vec<_> = prompt.words().collect();
        let wanted: Vec<_> = self.to.split_whitespace().collect();
        words.windows(wanted.len()).any(|run| run == wanted)
    }
}

impl FromStr for CannedAnswer {
    type Err = String;

    /// `WORDS=ANSWER`, such as `capital of France?=Paris`.
    fn from_str(text: &str) -> Result<Self, String> {
        let read = || {
            let (to, say) = text.split_once('=')?;
            let given = !to.trim().is_empty() && !say.is_empty();
            given.then(|| Self { to: to.trim().to_owned(), say: say.to_owned() })
        };
        read().ok_or_else(|| {
            format!(
                "`{text}` is not WORDS=ANSWER: words of a prompt and what is answered, as in 'capital of \
                France?=Paris'"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn stop_lengths_have_the_declared_median() {
        let mut stream = RandomStream::named(0, "test");
        let below = (0..2_000).filter(|_| StopLength::default().draw(&mut stream) < 150).count();
        // Half of 2,000 with a standard deviation of 22.4.
        assert!((900..=1_090).contains(&below), "{below}");
        assert_eq!(StopLength { median: 7.0, sigma: 0.0 }.draw(&mut stream), 7);
    }

    #[test]
    fn the_preset_fits() {
        let backend = Backend::preset().unwrap();
        assert_eq!((backend.model.as_str(), backend.max_model_len), ("llama-3.1-8b", 31_744));
    }

    #[test]
    fn an_answer_is_given_to_the_prompts_that_have_its_words() {
        let given: CannedAnswer = "capital of France?=Paris = yes".parse().unwrap();
        assert_eq!((given.to.as_str(), given.say.as_str()), ("capital of France?", "Paris = yes"));
        let is_to = |text: &str| given.is_to(&PromptTokens::of_texts(&json!(text)));
        assert!(is_to("What is the capital\nof  France? Say."));
        assert!(!is_to("What is the capital of Italy?") && !is_to("capital"));
        for text in ["Paris", "=Paris", "to="] {
            assert!(text.parse::<CannedAnswer>().unwrap_err().contains("WORDS=ANSWER"), "{text}");
        }
    }
}
