//! Vocabularies that list tokens by rank: `.tiktoken` files and Mistral's `tekken.json`.

use std::collections::HashMap;
use std::error::Error;
use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use tokenizers::models::bpe::{BPE, Vocab};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{SplitDelimiterBehavior, Tokenizer};

/// Patterns that cut texts into words, by the names of vocabularies. The files do not hold them: they are those of the
/// `tiktoken` package, of Qwen's tokenizer and of Kimi's.
const PATTERNS: [(&[&str], &str); 5] = [
    (
        &["r50k_base.tiktoken", "p50k_base.tiktoken", "p50k_edit.tiktoken", "gpt2.tiktoken"],
        r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
    ),
    (
        &["cl100k_base.tiktoken"],
        concat!(
            r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|",
            r"\s++$|\s*[\r\n]|\s+(?!\S)|\s",
        ),
    ),
    (
        &["o200k_base.tiktoken", "o200k_harmony.tiktoken"],
        concat!(
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+",
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*",
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
            r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ),
    ),
    (
        &["qwen.tiktoken"],
        concat!(
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|",
            r"\s*[\r\n]+|\s+(?!\S)|\s+",
        ),
    ),
    (
        &["tiktoken.model"],
        concat!(
            r"[\p{Han}]+|",
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+",
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*",
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
            r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ),
    ),
];

/// Whether the name of a file is that of a vocabulary by rank.
pub(super) fn is_ranked(name: &str) -> bool {
    is_tekken(name) || name.ends_with(".tiktoken") || name == "tiktoken.model"
}

fn is_tekken(name: &str) -> bool {
    name.strip_suffix(".json").is_some_and(|stem| stem.contains("tekken"))
}

/// Reads a vocabulary by rank. Its tokenizer knows no special tokens: texts hold none.
pub(super) fn read(file: &Path) -> Result<Tokenizer, String> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
    let ranked = if is_tekken(&name) { Ranked::tekken(&text) } else { Ranked::tiktoken(&name, &text) }?;
    ranked.tokenizer().map_err(|error| error.to_string())
}

/// Mistral's file.
#[derive(Deserialize)]
struct Tekken {
    config: TekkenConfig,
    vocab: Vec<TekkenToken>,
}

#[derive(Deserialize)]
struct TekkenConfig {
    pattern: String,
    default_vocab_size: u32,
    default_num_special_tokens: u32,
}

#[derive(Deserialize)]
struct TekkenToken {
    rank: u32,
    token_bytes: String,
}

/// The tokens of a vocabulary by rank, and the pattern that cuts texts into words.
struct Ranked {
    tokens: Vec<(Vec<u8>, u32)>,
    /// Difference between the id of a token and its rank: special tokens come first.
    first_id: u32,
    pattern: String,
}

impl Ranked {
    fn tekken(text: &str) -> Result<Self, String> {
        let Tekken { config, vocab } = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let first_id = config.default_num_special_tokens;
        let size = config.default_vocab_size.saturating_sub(first_id);
        let used = vocab.into_iter().filter(|token| token.rank < size);
        let token = |TekkenToken { rank, token_bytes }: TekkenToken| {
            let bytes = STANDARD.decode(&token_bytes).map_err(|error| format!("the token of rank {rank}: {error}"))?;
            Ok::<_, String>((bytes, rank))
        };
        Self::new(used.map(token).collect::<Result<_, _>>()?, first_id, &config.pattern)
    }

    fn tiktoken(name: &str, text: &str) -> Result<Self, String> {
        let known = PATTERNS.iter().find(|(names, _)| names.contains(&name));
        let (_, pattern) = known.ok_or_else(|| {
            let names: Vec<_> = PATTERNS.iter().flat_map(|(names, _)| *names).copied().collect();
            let names = names.join(", ");
            format!("it does not say how it cuts texts into words, and is not named as one that is known: {names}")
        })?;
        let token = |(line, number): (&str, usize)| {
            let (bytes, rank) = line.split_once(' ').unwrap_or_default();
            let read = STANDARD.decode(bytes).ok().zip(rank.trim().parse().ok());
            read.ok_or_else(|| format!("line {number}: it must be a token in base64 and its rank"))
        };
        let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
        Self::new(lines.map(token).collect::<Result<_, _>>()?, 0, pattern)
    }

    fn new(mut tokens: Vec<(Vec<u8>, u32)>, first_id: u32, pattern: &str) -> Result<Self, String> {
        tokens.sort_unstable_by_key(|(_, rank)| *rank);
        let bytes = tokens.iter().filter(|(token, _)| token.len() == 1).count();
        if bytes != 256 {
            return Err(format!("{bytes} of its tokens are single bytes, and it needs all 256; is it cut short?"));
        }
        Ok(Self { tokens, first_id, pattern: pattern.to_owned() })
    }

    fn tokenizer(&self) -> Result<Tokenizer, Box<dyn Error + Send + Sync>> {
        let ranks = self.tokens.iter().map(|(token, rank)| (token.as_slice(), *rank)).collect();
        let letters = byte_letters();
        let spelt = |token: &[u8]| token.iter().filter_map(|byte| letters.get(usize::from(*byte))).collect::<String>();
        let halves = |(token, rank): &(Vec<u8>, u32)| {
            let (first, second) = token.split_at_checked(last_cut(token, *rank, &ranks)?)?;
            Some((spelt(first), spelt(second)))
        };
        let merges = self.tokens.iter().filter_map(halves).collect();
        let id = |(token, rank): &(Vec<u8>, u32)| (spelt(token), rank + self.first_id);
        let vocabulary: Vocab = self.tokens.iter().map(id).collect();
        let model = BPE::builder().vocab_and_merges(vocabulary, merges).ignore_merges(true).build()?;
        let words = SplitPattern::Regex(self.pattern.clone());
        let words = Split::new(words, SplitDelimiterBehavior::Isolated, false)?;
        let mut tokenizer = Tokenizer::new(model);
        let bytes = ByteLevel::new(false, false, false);
        tokenizer.with_pre_tokenizer(Some(Sequence::new(vec![words.into(), bytes.into()])));
        Ok(tokenizer)
    }
}

/// The place at which pairs of lower ranks leave a token cut. `None` for a single byte, and for a token that no two
/// others make.
fn last_cut(token: &[u8], rank: u32, ranks: &HashMap<&[u8], u32>) -> Option<usize> {
    let mut cuts: Vec<usize> = (0..=token.len()).collect();
    while cuts.len() > 3 {
        let pairs = cuts.windows(3).zip(1..).filter_map(|(cut, place)| {
            let [begin, _, end] = cut else { return None };
            Some((*ranks.get(token.get(*begin..*end)?)?, place))
        });
        let (_, place) = pairs.filter(|(known, _)| *known < rank).min()?;
        cuts.remove(place);
    }
    cuts.get(1).copied().filter(|cut| *cut < token.len())
}

/// Letters that stand for bytes, as in every byte-level vocabulary. Printable bytes stand for themselves.
fn byte_letters() -> Vec<char> {
    let mut others = 256..;
    let is_printable = |byte: u32| matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    let letter = |byte| if is_printable(byte) { Some(byte) } else { others.next() };
    (0..256).filter_map(letter).filter_map(char::from_u32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tokens of a small vocabulary, trained on a few lines. Its ids of these texts are by `tiktoken` itself.
    const TOY: &str = include_str!("../../../tests/data/tokenizers/cl100k_base.tiktoken");
    const TEXTS: [(&str, &[u32]); 8] = [
        ("The river runs through the valley.", &[289, 68, 293, 267, 84, 77, 82, 257, 81, 78, 84, 70, 71, 258, 294, 13]),
        (
            "They'll say: don't, DON'T!",
            &[289, 266, 6, 264, 295, 64, 88, 25, 268, 78, 77, 6, 83, 11, 220, 35, 46, 45, 6, 51, 0],
        ),
        ("1987 and 12345", &[16, 24, 23, 22, 299, 77, 67, 220, 16, 17, 18, 19, 20]),
        (
            "  two spaces \n\n and lines\r\n",
            &[220, 220, 83, 86, 78, 295, 79, 64, 66, 68, 82, 220, 198, 198, 299, 77, 67, 297, 72, 77, 68, 82, 201, 198],
        ),
        ("日本語の川 is a river", &[273, 302, 161, 115, 251, 298, 299, 293]),
        ("Straße über", &[50, 83, 81, 64, 280, 68, 220, 127, 120, 65, 259]),
        ("", &[]),
        ("there\tthen", &[256, 259, 68, 197, 256, 68, 77]),
    ];

    fn ids(tokenizer: &Tokenizer, text: &str) -> Vec<u32> {
        tokenizer.encode(text, true).unwrap().get_ids().to_vec()
    }

    /// A file of this name and content.
    fn file(folder: &tempfile::TempDir, name: &str, content: &str) -> std::path::PathBuf {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        path
    }

    #[test]
    fn ids_are_those_of_tiktoken() {
        let folder = tempfile::tempdir().unwrap();
        let tokenizer = read(&file(&folder, "cl100k_base.tiktoken", TOY)).unwrap();
        for (text, expected) in TEXTS {
            assert_eq!(ids(&tokenizer, text), expected, "{text:?}");
        }
        assert_eq!(tokenizer.get_vocab_size(true), 316);
    }

    #[test]
    fn ids_of_tekken_begin_after_its_special_tokens() {
        let folder = tempfile::tempdir().unwrap();
        let tokens = TOY.lines().map(|line| {
            let (token, rank) = line.split_once(' ').unwrap();
            serde_json::json!({ "rank": rank.parse::<u32>().unwrap(), "token_bytes": token, "token_str": null })
        });
        let tekken = serde_json::json!({
            "config": { "pattern": PATTERNS[1].1, "default_vocab_size": 312, "default_num_special_tokens": 10 },
            "vocab": tokens.collect::<Vec<_>>(),
        });
        let tokenizer = read(&file(&folder, "tekken.json", &tekken.to_string())).unwrap();
        // By mistral_common's own reading: what is over the size is left out, here the rank 302.
        for (text, expected) in TEXTS {
            let expected = expected.iter().flat_map(|id| if *id == 302 { vec![311, 287] } else { vec![id + 10] });
            assert_eq!(ids(&tokenizer, text), expected.collect::<Vec<_>>(), "{text:?}");
        }
        assert_eq!(tokenizer.get_vocab_size(true), 302);
    }

    #[test]
    fn what_is_no_vocabulary_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        for (name, content, said) in [
            ("mine.tiktoken", TOY, "is not named as one that is known: r50k_base.tiktoken, "),
            ("qwen.tiktoken", "IQ== 0\nIg==\n", "line 2: it must be a token in base64 and its rank"),
            ("qwen.tiktoken", "IQ== 0\n", "1 of its tokens are single bytes, and it needs all 256; is it cut short?"),
            ("tekken.json", "{\"config\": {}}", "missing field `pattern`"),
        ] {
            let error = read(&file(&folder, name, content)).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }

    /// Vocabularies and texts with their ids, written by `tests/interop/clients/vocabularies.py` into the folder that
    /// `SKYLINE_VOCABULARIES` names.
    #[test]
    #[ignore = "it needs what tests/interop/clients/vocabularies.py writes"]
    fn ids_of_whole_vocabularies_are_those_of_their_own_programs() {
        let folder = std::env::var("SKYLINE_VOCABULARIES").unwrap();
        let known: HashMap<String, Vec<(String, Vec<u32>)>> =
            serde_json::from_slice(&fs::read(Path::new(&folder).join("ids.json")).unwrap()).unwrap();
        assert!(!known.is_empty());
        for (name, texts) in known {
            let tokenizer = read(&Path::new(&folder).join(&name)).unwrap();
            for (text, expected) in &texts {
                assert_eq!(ids(&tokenizer, text), *expected, "{name}: {text:?}");
            }
            println!("{name}: {} texts", texts.len());
        }
    }
}
