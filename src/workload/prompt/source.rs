//! What the prompts of a class are made of: texts, shared prefixes, images, and the turns of conversations.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::dataset::Dataset;
use crate::units::count;
use crate::workload::arrival::think_time::ThinkTime;
use crate::workload::lengths::{Distribution, SKEW, TOKEN_LIMIT};
use crate::workload::reading::value::{Allowed, SpecValue};

/// Sizes of vocabularies: the largest known one has about 260,000 entries.
const VOCABULARY: Allowed = Allowed::from(2.0, 16_777_216.0);

/// Where prompts come from. Templates and retrieved passages are extended or cut to the requested length.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PromptSource {
    /// One of these texts, drawn at random, continued with filler words.
    Templates {
        /// The opening texts; at least one.
        templates: Vec<String>,
    },
    /// Retrieval-augmented generation: retrieved passages (filler words) and then a question at the end.
    Retrieval {
        /// The questions; at least one.
        questions: Vec<String>,
    },
    /// Prompts from a file, unchanged.
    Dataset(Dataset),
    /// Random token ids, sent as such (`prompt` of the completions endpoint): exactly as many as requested, and no
    /// text.
    RandomTokens {
        /// Ids are drawn from 0 to this number − 1; absent: the run's tokenizer's ids without its special ones.
        #[serde(skip_serializing_if = "Option::is_none")]
        vocabulary: Option<u32>,
    },
}

impl PromptSource {
    pub(crate) fn read(value: SpecValue<'_>) -> Option<Self> {
        fn texts(value: SpecValue<'_>) -> Option<Vec<String>> {
            value.list(|text| text.nonblank())
        }
        value.tagged(
            "prompt",
            &[
                ("templates", |fields| {
                    Some(Self::Templates { templates: fields.required("templates", texts)? })
                }),
                ("retrieval", |fields| {
                    Some(Self::Retrieval { questions: fields.required("questions", texts)? })
                }),
                ("dataset", |fields| Dataset::read_fields(fields).map(Self::Dataset)),
                ("random_tokens", |fields| {
                    let vocabulary = fields.option("vocabulary", |value| value.whole(VOCABULARY));
                    Some(Self::RandomTokens { vocabulary: vocabulary?.map(|size| size as u32) })
                }),
            ],
        )
    }

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

    /// Default templates: everyday questions to a chat server.
    pub(crate) fn everyday() -> Self {
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

/// Texts of which each request of a class begins with one; its own text of `input_tokens` follows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SharedPrefixes {
    /// How many there are.
    pub count: u32,
    /// Tokens of each prefix, drawn once per prefix; a number in a file means a constant.
    pub tokens: Distribution,
    /// Popularity of the images (Zipf): the k-th is chosen with a probability proportional to k^−`zipf`. 0, the
    /// default, makes all equal.
    pub zipf: f64,
    /// Share of the prefixes, the most popular first, that are sent once before the run, so that a prefix cache holds
    /// them. 0 by default: all are new to the server, since other runs have other texts.
    pub warm: f64,
}

impl SharedPrefixes {
    pub(crate) fn read(value: SpecValue<'_>) -> Option<Self> {
        const COUNT: Allowed = Allowed::from(1.0, MOST);
        const SHARE: Allowed = Allowed::from(0.0, 1.0);
        value.table("shared prefixes", |fields| {
            let count = fields.required("count", |value| value.whole(COUNT));
            let tokens = fields.required("tokens", Distribution::read_or_constant);
            let zipf = fields.optional("zipf", 0.0, |value| value.number(SKEW));
            let warm = fields.optional("warm", 0.0, |value| value.number(SHARE));
            Some(Self { count: u32::try_from(count?).ok()?, tokens: tokens?, zipf: zipf?, warm: warm? })
        })
    }

    /// Number of prefixes, the most popular first, that are sent once before the run.
    pub fn warmed(&self) -> u32 {
        (self.warm * f64::from(self.count)).round() as u32
    }
}

/// Most images of one request.
const MOST_IMAGES: u32 = 64;

/// Images from a folder, sent inside chat messages as data URLs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Images {
    /// The folder: PNG, JPEG, GIF and WebP files, recognised by their content. In a workload file a relative path
    /// begins at the folder of that file.
    pub folder: String,
    /// Images per request; 1 when the file does not say, at most 64.
    pub per_request: Distribution,
    /// What the folder was found to hold; absent until it is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<ImageFindings>,
}

/// What a folder of images was found to hold.
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

impl Images {
    pub(crate) fn read(value: SpecValue<'_>) -> Option<Self> {
        value.table("the images of a class", |fields| {
            let folder = fields.need("folder", |value| value.nonblank());
            let one = Distribution::Constant { value: 1 };
            let per_request = fields.optional("per_request", one, Distribution::read_or_constant);
            let found = fields.maybe("found", |value| {
                value.stored(|found: &ImageFindings| !found.sha256.trim().is_empty())
            });
            let per_request = per_request?;
            let most = per_request.most();
            if most > MOST_IMAGES {
                let given =
                    if most == TOKEN_LIMIT { "has no bound".into() } else { format!("may be {most}") };
                return fields.reject_of(
                    "per_request",
                    &format!(
                        "{given}; a request has at most {MOST_IMAGES} images, so give a `max` up to that"
                    ),
                );
            }
            Some(Self { folder, per_request, found })
        })
    }

    /// Makes a relative path begin at `folder`.
    pub(crate) fn anchor(&mut self, folder: &Path) {
        self.folder = folder.join(&self.folder).display().to_string();
    }
}

/// Most turns of a conversation.
const MOST_TURNS: u32 = 10_000;

/// How the requests of a class continue as conversations: each arrival is the first turn of one. Each later turn
/// leaves a think time after the end of the previous answer and repeats everything said so far, the server's own
/// answers included.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Conversation {
    /// Turns of a conversation, each a user message with its answer; drawn once per conversation. A number in a file
    /// means a constant.
    pub turns: Distribution,
    /// Time from the end of an answer to the next turn; a number in a file means a constant.
    pub think_time_s: ThinkTime,
    /// Tokens of the opening turn; absent: drawn as every other turn's, from the class's `input_tokens`, which are the
    /// *new* tokens of a turn. Those of a shared prefix come on top.
    pub first_input_tokens: Option<Distribution>,
    /// A conversation ends before the turn whose prompt and answer together would exceed this many tokens; absent:
    /// the server decides. The opening turn is always sent.
    pub max_context_tokens: Option<u32>,
}

impl Conversation {
    pub(crate) fn read(value: SpecValue<'_>) -> Option<Self> {
        value.table("a conversation", |fields| {
            let turns = fields.required("turns", Distribution::read_or_constant);
            let think_time_s = fields.need("think_time_s", ThinkTime::read);
            let first_input_tokens = fields.maybe("first_input_tokens", Distribution::read_or_constant);
            let max_context_tokens = fields.maybe("max_context_tokens", Distribution::tokens);
            let turns = turns?;
            if turns.most() > MOST_TURNS {
                let most = count(turns.most().into());
                let sentence = format!("may be {most}; give a `max` of 10,000 at most");
                return fields.reject_of("turns", &sentence);
            }
            Some(Self { turns, think_time_s, first_input_tokens, max_context_tokens })
        })
    }

    /// Why requests with such prompts cannot continue as conversations; `None` if they can.
    pub(crate) fn refusal(prompt: &PromptSource) -> Option<&'static str> {
        match prompt {
            PromptSource::Dataset(_) => Some(
                "is given with a dataset, whose rows are whole requests; leave one of them out, or choose another \
                 `prompt`",
            ),
            PromptSource::RandomTokens { .. } => Some(
                "is given with token ids, and answers come as text, which cannot be put between them; choose another \
                 `prompt`",
            ),
            PromptSource::Templates { .. } | PromptSource::Retrieval { .. } => None,
        }
    }
}
