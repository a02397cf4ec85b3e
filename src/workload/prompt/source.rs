//! What the prompts of a class are made of: texts, shared prefixes, images, and the turns of conversations.

use serde::{Deserialize, Serialize};

use super::dataset::Dataset;
use super::image_size::ImageSize;
use crate::units::count;
use crate::workload::arrival::think_time::ThinkTime;
use crate::workload::lengths::{Distribution, TOKEN_LIMIT};
use crate::workload::reading::value::Allowed;
use crate::workload::reading::weights::SKEW;
use crate::workload::reading::{spec_kinds, spec_table};

/// Sizes of vocabularies: the largest known one has about 260,000 entries.
const VOCABULARY: Allowed = Allowed::from(2.0, 16_777_216.0);

spec_kinds! {
    /// Where prompts come from. Templates and retrieved passages are extended or cut to the requested length.
    pub enum PromptSource = "prompt" {
        /// One of these texts, drawn at random, continued with filler words.
        "templates" Templates {
            /// The opening texts; at least one.
            templates: Vec<String> = required(|value| value.list(|text| text.nonblank())),
        },
        /// Retrieval-augmented generation: retrieved passages (filler words) and then a question at the end.
        "retrieval" Retrieval {
            /// The questions; at least one.
            questions: Vec<String> = required(|value| value.list(|text| text.nonblank())),
        },
        /// Prompts from a file, unchanged.
        "dataset" Dataset(Dataset = Dataset::read_fields),
        /// Random token ids, sent as such (`prompt` of the completions endpoint). There are exactly as many as
        /// requested, and no text.
        "random_tokens" RandomTokens {
            /// Number below which ids are drawn, from 0 to this number − 1. Where it is absent, they are the run's
            /// tokenizer's ids without its special ones.
            #[serde(skip_serializing_if = "Option::is_none")]
            vocabulary: Option<u32> = option(|value| value.whole(VOCABULARY)),
        },
    }
}

impl PromptSource {
    /// The dataset of the prompts, if any.
    pub const fn dataset(&self) -> Option<&Dataset> {
        match self {
            Self::Dataset(dataset) => Some(dataset),
            _ => None,
        }
    }

    /// Whether prompts are taken as they are, instead of being written to a length.
    pub const fn is_verbatim(&self) -> bool {
        matches!(self, Self::Dataset(_) | Self::RandomTokens { .. })
    }
}

impl Default for PromptSource {
    /// Everyday questions to a chat server.
    fn default() -> Self {
        let templates = [
            "Explain in simple terms how a refrigerator keeps food cold.",
            "Write a polite message that moves Thursday's meeting to next week.",
            "What should I look at before I rent a flat in a city I do not know?",
            "Write a Python function that merges two sorted lists, and explain it.",
            "Suggest a week of dinners for two people who cook for half an hour a day.",
            "Summarise what made the printing press spread so quickly in Europe.",
            "My train was cancelled and I missed my flight. What can I claim, and how?",
            "Compare three ways of learning a language alone, with their weak points.",
        ];
        Self::Templates { templates: templates.map(str::to_owned).to_vec() }
    }
}

/// Most prefixes of a class.
const MOST: f64 = 100_000.0;

pub(in crate::workload) const PREFIXES: Allowed = Allowed::from(1.0, MOST);
const SHARE: Allowed = Allowed::from(0.0, 1.0);

spec_table! {
    /// Texts of which each request of a class begins with one. Its own text of `input_tokens` follows.
    pub struct SharedPrefixes = "shared prefixes" {
        /// How many there are.
        count: u32 = required(|value| value.whole(PREFIXES)),
        /// Tokens of each prefix, drawn once per prefix. A number in a file means a constant.
        tokens: Distribution = required(Distribution::read_or_constant),
        /// Popularity of the images (Zipf): the k-th is chosen with a probability proportional to k^−`zipf`. 0, the
        /// default, makes all equal.
        zipf: f64 = optional(0.0, |value| value.number(SKEW)),
        /// Share of the prefixes that are sent once before the run. They are the most popular, and a prefix cache then
        /// holds them. 0 by default: all are new to the server, since other runs have other texts.
        warm: f64 = optional(0.0, |value| value.number(SHARE)),
    }
}

impl SharedPrefixes {
    /// Prefixes of these lengths, all equally popular, of which a share is `warm`.
    pub(crate) const fn alike(count: u32, tokens: Distribution, warm: f64) -> Self {
        Self { count, tokens, zipf: 0.0, warm }
    }

    /// Number of prefixes, the most popular first, that are sent once before the run.
    pub fn warmed(&self) -> u32 {
        (self.warm * f64::from(self.count)).round() as u32
    }
}

/// Most images of one request.
pub(in crate::workload) const MOST_IMAGES: u32 = 64;

spec_table! {
    /// Images from a folder, or made for the run, in chat messages as data URLs.
    pub struct Images = "the images of a class" {
        /// The folder: PNG, JPEG, GIF and WebP files, recognised by their content. In a workload file a relative path
        /// begins at the folder of that file.
        folder: Option<String> = option(|value| value.path()),
        /// Size of images that are made, in place of those of a folder.
        size: Option<ImageSize> = option(ImageSize::read),
        /// Images per request; 1 when the file does not say, at most 64.
        per_request: Distribution = optional(Distribution::default(), Distribution::read_or_constant),
        /// Findings about the folder. They are absent until it is read.
        found: Option<ImageFindings> = option(|value| value.stored(ImageFindings::is_plausible)),
    }
    check(fields) {
        match (folder.as_ref()?, size.as_ref()?) {
            (Some(_), Some(_)) => {
                return fields.reject_of("size", "and `folder` both give images; leave one of them out");
            }
            (None, None) => fields.miss("folder"),
            _ => {}
        }
        let most = per_request.as_ref()?.bounds().1;
        if most > MOST_IMAGES {
            let given = if most == TOKEN_LIMIT { "has no bound".into() } else { format!("may be {most}") };
            let cure = format!("a request has at most {MOST_IMAGES} images, so give a `max` up to that");
            return fields.reject_of("per_request", &format!("{given}; {cure}"));
        }
    }
}

impl Images {
    /// Images of this size, so many in each request.
    pub(crate) fn made(size: ImageSize, per_request: u32) -> Self {
        let per_request = Distribution::Constant { value: per_request };
        Self { folder: None, size: Some(size), per_request, found: None }
    }

    /// The folder, or what is made in place of one.
    pub fn origin(&self) -> String {
        let made = || self.size.map(|size| format!("{size}, made for the run"));
        self.folder.clone().or_else(made).unwrap_or_default()
    }
}

/// Findings in a folder of images.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageFindings {
    /// Number of images.
    pub images: u64,
    /// Total size of the images, bytes.
    pub bytes: u64,
    /// SHA-256 of all of them, concatenated in the order of their names, hexadecimal.
    pub sha256: String,
}

impl ImageFindings {
    /// Whether they name what they were found in.
    fn is_plausible(&self) -> bool {
        !self.sha256.trim().is_empty()
    }
}

/// Most turns of a conversation, or requests of a session.
pub(crate) const MOST_TURNS: u32 = 10_000;

spec_table! {
    /// Continuation of a class's requests as conversations. Each arrival is the first turn of one. Each later turn
    /// leaves a think time after the end of the previous answer and repeats everything said so far, the server's own
    /// answers included.
    pub struct Conversation = "a conversation" {
        /// Turns of a conversation, each a user message with its answer; drawn once per conversation. A number in a
        /// file means a constant.
        turns: Distribution = required(Distribution::read_or_constant),
        /// Time from the end of an answer to the next turn. A number in a file means a constant.
        think_time_s: ThinkTime = required(ThinkTime::read_or_constant),
        /// Tokens of the opening turn. Absent: drawn as every other turn's, from the class's `input_tokens`, which are
        /// the *new* tokens of a turn. Those of a shared prefix come on top.
        first_input_tokens: Option<Distribution> = option(Distribution::read_or_constant),
        /// Most tokens of a turn's prompt and answer together. A conversation ends before the turn that would exceed
        /// them; absent: the server decides. The opening turn is always sent.
        max_context_tokens: Option<u32> = option(Distribution::tokens),
    }
    check(fields) {
        let most = turns.as_ref()?.bounds().1;
        if most > MOST_TURNS {
            let sentence = format!("may be {}; give a `max` of 10,000 at most", count(most.into()));
            return fields.reject_of("turns", &sentence);
        }
    }
}
