//! Finds a tokenizer by path or Hugging Face id.

use std::path::{Path, PathBuf};

use tokenizers::Tokenizer;

use super::error::PromptError;
use super::hub::Hub;

/// Reads the tokenizer at `source`: a `tokenizer.json`, a folder that holds one, or a Hugging Face model id, which is
/// looked up in the hub's cache and then fetched (`HF_HOME`, `HF_ENDPOINT` and `HF_TOKEN` apply).
pub(super) fn open(source: &str) -> Result<Tokenizer, PromptError> {
    let path = Path::new(source);
    let file = if path.is_dir() {
        let inside = path.join("tokenizer.json");
        if !inside.is_file() {
            return Err(PromptError::NoTokenizerInFolder { folder: source.to_owned() });
        }
        inside
    } else if path.is_file() {
        path.to_owned()
    } else {
        from_hub(source)?
    };
    let mut tokenizer = Tokenizer::from_file(&file)
        .map_err(|cause| PromptError::BadTokenizer { file, cause: cause.to_string() })?;
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
        .and_then(|hub| hub.tokenizer(source))
        .map_err(|cause| PromptError::HubUnavailable { id: source.to_owned(), cause })
}

/// Whether this is `owner/name` or `name` in the letters that the hub allows.
fn looks_like_hub_id(source: &str) -> bool {
    let part = |part: &str| {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        part.starts_with(|c: char| c.is_ascii_alphanumeric()) && part.chars().all(allowed)
    };
    source.split('/').count() <= 2
        && source.split('/').all(part)
        && Path::new(source).extension().is_none_or(|extension| extension != "json")
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_wrong_path_says_what_was_looked_for() {
        let message = open("./no/such/tokenizer.json").unwrap_err().to_string();
        assert!(
            message.contains("./no/such/tokenizer.json") && message.contains("Hugging Face"),
            "{message}"
        );
        let empty = tempfile::tempdir().unwrap();
        let message = open(empty.path().to_str().unwrap()).unwrap_err().to_string();
        assert!(message.contains("tokenizer.json"), "{message}");
        let broken = empty.path().join("tokenizer.json");
        std::fs::write(&broken, "{}").unwrap();
        assert!(matches!(open(broken.to_str().unwrap()), Err(PromptError::BadTokenizer { .. })));
    }
}
