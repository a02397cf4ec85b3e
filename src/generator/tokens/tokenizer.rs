//! A model's tokenizer: found by path or Hugging Face id, counting existing texts, and the ids that it has.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokenizers::{Encoding, Tokenizer};

use super::costs::estimate_tokens;
use super::ranks;
use crate::generator::hub::{Hub, Repository};
use crate::random::RandomStream;

/// Reason why prompts cannot be made as requested.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    #[error(
        "the folder `{folder}` holds no tokenizer.json, tekken.json or .tiktoken file; name the folder of a model, or \
         the file itself"
    )]
    NoTokenizerInFolder { folder: String },
    #[error(
        "no tokenizer at `{given}`: there is no such file or folder, and it is not a Hugging Face id such as \
         meta-llama/Llama-3.1-8B-Instruct"
    )]
    NoSuchTokenizer { given: String },
    #[error("`{}` cannot be read as a tokenizer: {cause}; give the tokenizer.json of the served model", file.display())]
    BadTokenizer { file: PathBuf, cause: String },
    #[error(
        "the tokenizer of `{id}` is neither a local path nor in the Hugging Face cache, and could not be fetched: \
         {cause}; give a local tokenizer.json, set HF_TOKEN if the model is gated, or leave the tokenizer out: prompts \
         are then counted by the server's /tokenize, else estimated, and 0 to 5 % longer than requested"
    )]
    HubUnavailable { id: String, cause: String },
    /// The server's counts do not fit the texts.
    #[error("the server's token counts cannot be used: {cause}; prompts can be made by estimate instead")]
    UnusableCounts { cause: String },
}

/// Counts the tokens of existing texts.
#[derive(Clone, Debug)]
pub enum TokenCounter {
    /// A rule of thumb for English text. It has up to twelve letters per token, up to three digits, punctuation
    /// together.
    Estimate,
    /// A local tokenizer: exact, without special tokens and the chat template.
    Tokenizer(Arc<Tokenizer>),
}

impl TokenCounter {
    /// The tokenizer at `source`, or the estimate without one. A source is a `tokenizer.json`, a folder that holds one,
    /// or a Hugging Face id.
    pub fn open(source: Option<&str>) -> Result<Self, PromptError> {
        source.map_or(Ok(Self::Estimate), |source| Ok(Self::Tokenizer(Arc::new(open(source)?))))
    }

    /// Tokens of `text`; at least one unless it is empty.
    pub fn count(&self, text: &str) -> u32 {
        self.encoded(text, |tokenizer| tokenizer.encode_fast(text, false))
    }

    /// Counts the tokens of `text` including the special ones that the tokenizer adds.
    pub(crate) fn count_with_special(&self, text: &str) -> u32 {
        self.encoded(text, |tokenizer| tokenizer.encode_fast(text, true))
    }

    fn encoded(&self, text: &str, encode: impl Fn(&Tokenizer) -> tokenizers::Result<Encoding>) -> u32 {
        match self {
            Self::Estimate => estimate_tokens(text),
            Self::Tokenizer(tokenizer) => {
                encode(tokenizer).map_or_else(|_| estimate_tokens(text), |ids| ids.len() as u32)
            }
        }
    }

    /// Tokens of each of `texts`, counted on all cores.
    pub fn count_all(&self, texts: &[&str]) -> Vec<u32> {
        let count = |texts: &[&str]| texts.iter().map(|text| self.count(text)).collect::<Vec<_>>();
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        std::thread::scope(|scope| {
            let start = |part| std::thread::Builder::new().spawn_scoped(scope, move || count(part)).ok();
            let parts = texts.chunks(texts.len().div_ceil(cores).max(1));
            let parts: Vec<_> = parts.map(|part| (part, start(part))).collect();
            // Where no thread starts, its part is counted here.
            let counted = parts
                .into_iter()
                .flat_map(|(part, thread)| thread.and_then(|thread| thread.join().ok()).unwrap_or_else(|| count(part)));
            counted.collect()
        })
    }

    /// Returns the tokenizer's ids without those of added tokens. They are below `size`, if that is given. Added tokens
    /// may have a meaning of their own whether they are marked as special or not. `None` without a tokenizer.
    pub(crate) fn vocabulary(&self, size: Option<u32>) -> Option<TokenIdVocabulary> {
        let Self::Tokenizer(tokenizer) = self else { return None };
        let added = tokenizer.get_added_tokens_decoder();
        let is_plain = |id: &u32| !added.contains_key(id) && size.is_none_or(|size| *id < size);
        let mut ids: Vec<u32> = tokenizer.get_vocab(true).into_values().filter(is_plain).collect();
        ids.sort_unstable();
        ids.dedup();
        (!ids.is_empty()).then_some(TokenIdVocabulary::Listed(ids))
    }
}

/// Ids to draw from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TokenIdVocabulary {
    /// Ids from 0 to one less than this.
    Below(u32),
    /// Ids of this list; at least one.
    Listed(Vec<u32>),
}

/// A prime above the size of every vocabulary. Steps of it come to every id before they come to one again.
const STEP: u64 = 2_654_435_761;

impl TokenIdVocabulary {
    /// Draws ids uniformly. The first is drawn by a walk over all of them, of which this is step `number`, so that no
    /// two prompts of a run begin alike before all ids have been first; the others independently.
    pub(crate) fn draw(&self, tokens: u32, number: u64, stream: &mut RandomStream) -> Vec<u32> {
        let size = match self {
            Self::Below(size) => u64::from(*size),
            Self::Listed(ids) => ids.len() as u64,
        };
        let id = |place: u64| match self {
            Self::Below(_) => place as u32,
            Self::Listed(ids) => ids.get(place as usize).copied().unwrap_or_default(),
        };
        let first = (number % size.max(1)) * STEP % size.max(1);
        (0..tokens).map(|place| id(if place == 0 { first } else { stream.below(size) })).collect()
    }
}

/// Reads the tokenizer at `source`. That is a `tokenizer.json`, a `tekken.json`, a `.tiktoken` file, a folder that
/// holds one of them, or a Hugging Face model id, which is looked up in the hub's cache and then fetched (`HF_HOME`,
/// `HF_ENDPOINT` and `HF_TOKEN` apply).
pub(in crate::generator) fn open(source: &str) -> Result<Tokenizer, PromptError> {
    let path = Path::new(source);
    let file = if path.is_dir() {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let name = vocabulary_among(names);
        path.join(name.ok_or_else(|| PromptError::NoTokenizerInFolder { folder: source.to_owned() })?)
    } else if path.is_file() {
        path.to_owned()
    } else {
        from_hub(source)?
    };
    let is_ranked = file.file_name().is_some_and(|name| ranks::is_ranked(&name.to_string_lossy()));
    let read =
        if is_ranked { ranks::read(&file) } else { Tokenizer::from_file(&file).map_err(|cause| cause.to_string()) };
    let mut tokenizer = read.map_err(|cause| PromptError::BadTokenizer { file, cause })?;
    // A tokenizer.json may truncate or pad; the true length is needed.
    tokenizer.with_padding(None);
    let _ = tokenizer.with_truncation(None);
    Ok(tokenizer)
}

fn from_hub(source: &str) -> Result<PathBuf, PromptError> {
    if !looks_like_hub_id(source) {
        return Err(PromptError::NoSuchTokenizer { given: source.to_owned() });
    }
    Hub::from_env()
        .and_then(|hub| of_model(&hub, &Repository::model(source)))
        .map_err(|cause| PromptError::HubUnavailable { id: source.to_owned(), cause })
}

/// The vocabulary of a model. It is in the cache, else the usual file, else the one that the hub lists.
fn of_model(hub: &Hub, model: &Repository) -> Result<PathBuf, String> {
    if let Some(name) = vocabulary_among(hub.cached_files(model)) {
        return hub.file(model, &name);
    }
    hub.file(model, TOKENIZER).or_else(|why| {
        let other = hub.files(model).ok().and_then(|(_, names)| vocabulary_among(names));
        other.filter(|name| name != TOKENIZER).map_or(Err(why), |name| hub.file(model, &name))
    })
}

/// The vocabulary that is read among files of these names. One by rank comes last.
fn vocabulary_among(names: impl IntoIterator<Item = String>) -> Option<String> {
    let fits = names.into_iter().filter(|name| name == TOKENIZER || ranks::is_ranked(name));
    fits.min_by_key(|name| (name != TOKENIZER, name.clone()))
}

/// The usual name of a vocabulary.
const TOKENIZER: &str = "tokenizer.json";

/// Whether this is an id of the hub and not the path of a file.
fn looks_like_hub_id(source: &str) -> bool {
    Repository::is_id(source) && Path::new(source).extension().is_none_or(|extension| extension != "json")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKENIZER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/tiny-tokenizer.json");

    #[test]
    fn a_tokenizer_counts_exactly_and_names_its_ids() {
        let counter = TokenCounter::open(Some(TOKENIZER)).unwrap();
        let tokenizer = Tokenizer::from_file(TOKENIZER).unwrap();
        let text = "Explain how photosynthesis works (in 1987).";
        assert_eq!(counter.count(text) as usize, tokenizer.encode(text, false).unwrap().len());
        let Some(TokenIdVocabulary::Listed(ids)) = counter.vocabulary(None) else { panic!("no ids") };
        let added: Vec<u32> = tokenizer.get_added_tokens_decoder().into_keys().collect();
        assert!(!added.is_empty() && !ids.iter().any(|id| added.contains(id)));
        assert_eq!(ids.len() + added.len(), tokenizer.get_vocab_size(true));
        let Some(TokenIdVocabulary::Listed(first)) = counter.vocabulary(Some(100)) else { panic!("no ids") };
        assert!(first.iter().all(|id| *id < 100) && !first.iter().any(|id| added.contains(id)));
        let texts = [text, "", "the river"];
        let each: Vec<_> = texts.iter().map(|text| counter.count(text)).collect();
        assert_eq!(counter.count_all(&texts), each);
        assert_eq!(TokenCounter::Estimate.count("the river"), 2);
        assert_eq!(TokenCounter::Estimate.vocabulary(None), None);
    }

    #[test]
    fn an_added_token_is_not_drawn_even_where_it_is_not_marked_as_special() {
        let mut tokenizer = Tokenizer::from_file(TOKENIZER).unwrap();
        tokenizer.add_tokens(&[tokenizers::AddedToken::from("<tool_call>", false)]);
        let added = tokenizer.token_to_id("<tool_call>").unwrap();
        let counter = TokenCounter::Tokenizer(Arc::new(tokenizer));
        let Some(TokenIdVocabulary::Listed(ids)) = counter.vocabulary(None) else { panic!("no ids") };
        assert!(!ids.contains(&added));
    }

    #[test]
    fn prompts_of_one_id_repeat_only_when_all_have_come() {
        let vocabulary = TokenIdVocabulary::Below(3_000);
        let mut ids: Vec<_> =
            (7..3_007).flat_map(|number| vocabulary.draw(1, number, &mut RandomStream::named(number, "ids"))).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 3_000);
    }

    #[test]
    fn every_id_comes_and_no_other() {
        let mut stream = RandomStream::named(1, "token_ids");
        let mut ids = TokenIdVocabulary::Below(5).draw(1_000, 0, &mut stream);
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids, [0, 1, 2, 3, 4]);
        let mut ids = TokenIdVocabulary::Listed(vec![7, 3, 1_000_000]).draw(1_000, 0, &mut stream);
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids, [3, 7, 1_000_000]);
    }

    #[test]
    fn hub_ids_are_distinguished_from_paths() {
        for id in ["gpt2", "meta-llama/Llama-3.1-8B-Instruct", "Qwen/Qwen2.5-0.5B"] {
            assert!(looks_like_hub_id(id), "{id}");
        }
        for path in ["./model", "/models/llama", "a/b/c", "tokenizer.json", "../x", "x/"] {
            assert!(!looks_like_hub_id(path), "{path}");
        }
    }

    #[test]
    fn a_tokenizer_json_is_read_before_a_vocabulary_by_rank() {
        let among = |names: &[&str]| vocabulary_among(names.iter().map(|name| (*name).to_owned()));
        assert_eq!(among(&["tekken.json", "config.json", "tokenizer.json"]).as_deref(), Some("tokenizer.json"));
        assert_eq!(among(&["tekken.json", "tokenizer.model"]).as_deref(), Some("tekken.json"));
        assert_eq!(among(&["config.json", "qwen.tiktoken"]).as_deref(), Some("qwen.tiktoken"));
        assert_eq!(among(&["config.json", "tokenizer.model"]), None);
    }

    #[test]
    fn a_wrong_path_says_what_was_looked_for() {
        let message = open("./no/such/tokenizer.json").unwrap_err().to_string();
        assert!(message.contains("./no/such/tokenizer.json") && message.contains("Hugging Face"), "{message}");
        let empty = tempfile::tempdir().unwrap();
        let message = open(empty.path().to_str().unwrap()).unwrap_err().to_string();
        assert!(message.contains("tokenizer.json"), "{message}");
        let broken = empty.path().join("tokenizer.json");
        std::fs::write(&broken, "{}").unwrap();
        assert!(matches!(open(broken.to_str().unwrap()), Err(PromptError::BadTokenizer { .. })));
    }
}
