//! Makes prompts of a requested number of tokens.

use std::collections::HashMap;
use std::sync::Arc;

use tokenizers::Tokenizer;

use super::class_text::{self, ClassText};
use super::draft::{Draft, Leads};
use super::vocabulary::PromptVocabulary;
use crate::generator::datasets::messages::led_by;
use crate::generator::datasets::sources::{Datasets, PromptOrigin};
use crate::generator::request::{PlannedRequest, Prompt};
use crate::generator::tokens::costs::{ANCHOR, TokenCosts};
use crate::generator::tokens::tokenizer::{self, PromptError, TokenCounter};
use crate::generator::traces::requests::Blocks;
use crate::random::RandomStream;
use crate::record::{PromptFacts, PromptMethod};
use crate::workload::{InputBatch, RequestClass};

/// Number of times that a prompt is rewritten until its token count is right.
const ATTEMPTS: u64 = 8;
/// Number of words tried at the end of a prompt whose count is still wrong.
const CORRECTIONS: u32 = 64;

/// The branch that says where the walk over first token ids begins.
const FIRST_IDS: u64 = u64::MAX;

/// Makes the prompts of a workload's classes.
///
/// A written prompt depends only on the salt, the class, the requested tokens, the shared prefix and the request's
/// index. Prompts of a dataset come from the dataset.
#[derive(Clone, Debug)]
pub struct PromptBuilder {
    classes: Vec<ClassText>,
    inputs: Vec<Option<InputBatch>>,
    pub(super) names: Vec<String>,
    pub(super) vocabulary: PromptVocabulary,
    pub(super) leads: Leads,
    /// Leads that follow a shared text.
    following: Leads,
    /// Stream of the blocks that prompts of a trace share.
    blocks: RandomStream,
    stream: RandomStream,
    pub(super) salt: u64,
    method: PromptMethod,
    pub(super) tokenizer: Option<Arc<Tokenizer>>,
    /// Sources of prompts that are not written.
    pub(super) datasets: Arc<Datasets>,
    pub(super) sends_ids: bool,
}

impl PromptBuilder {
    /// Makes a builder of prompts by estimate. Filler words count as one token each, as in most vocabularies, and the
    /// classes' own texts by a rule of thumb. Over 300 prompts each of 64, 256 and 4,000 tokens, the true count is 0.0
    /// % to 1.0 % higher on average with Mistral's Tekken vocabulary (131,000 entries), and 3 % to 5 % with its first
    /// one (32,000), where an empty line is several tokens.
    pub fn with_word_list(classes: &[RequestClass], salt: u64) -> Self {
        Self::new(classes, salt, &TokenCosts::Estimated, PromptMethod::WordList)
    }

    /// Makes a builder of prompts of exactly the requested tokens. The tokenizer at `source` counts them: a
    /// `tokenizer.json`, a folder that holds one, or a Hugging Face id. Special tokens and the chat template do not
    /// count.
    pub fn with_tokenizer(classes: &[RequestClass], salt: u64, source: &str) -> Result<Self, PromptError> {
        let tokenizer = tokenizer::open(source)?;
        let texts = Self::texts_to_measure(classes);
        let counts = texts.iter().map(|text| (text.clone(), count_tokens(&tokenizer, text).unwrap_or(0)));
        let costs = TokenCosts::Counted { counts: counts.collect() };
        let method = PromptMethod::Tokenizer { source: source.to_owned() };
        let builder = Self::new(classes, salt, &costs, method);
        Ok(Self { tokenizer: Some(Arc::new(tokenizer)), ..builder })
    }

    /// The texts whose tokens a server must count for [`PromptBuilder::with_server_counts`].
    pub fn texts_to_measure(classes: &[RequestClass]) -> Vec<String> {
        class_text::texts_to_measure(classes)
    }

    /// Prompts by a server's counts of [`PromptBuilder::texts_to_measure`], in that order. Special tokens that the
    /// server counts in every text cancel out.
    pub fn with_server_counts(classes: &[RequestClass], salt: u64, counts: &[usize]) -> Result<Self, PromptError> {
        let unusable = |cause| Err(PromptError::UnusableCounts { cause });
        let texts = Self::texts_to_measure(classes);
        if texts.len() != counts.len() {
            return unusable(format!("{} texts were sent, {} counts came back", texts.len(), counts.len()));
        }
        let counts: HashMap<_, _> = texts.into_iter().zip(counts.iter().map(|&count| count as u32)).collect();
        let builder = Self::new(classes, salt, &TokenCosts::Counted { counts }, PromptMethod::Server);
        if builder.vocabulary.words.is_empty() || builder.vocabulary.starts.is_empty() {
            return unusable("a longer text does not count more tokens than a shorter one".to_owned());
        }
        Ok(builder)
    }

    fn new(classes: &[RequestClass], salt: u64, costs: &TokenCosts, method: PromptMethod) -> Self {
        let vocabulary = PromptVocabulary::new(costs);
        Self {
            classes: classes.iter().map(|class| ClassText::new(class, costs)).collect(),
            inputs: classes.iter().map(|class| class.inputs).collect(),
            names: classes.iter().map(|class| class.name.clone()).collect(),
            leads: Leads::opening(&vocabulary, salt),
            following: Leads::following(&vocabulary, salt),
            blocks: RandomStream::named(salt, "shared blocks"),
            stream: RandomStream::named(salt, "prompts"),
            vocabulary,
            salt,
            method,
            tokenizer: None,
            datasets: Arc::default(),
            sends_ids: false,
        }
    }

    /// Returns the builder with prompts or images from `datasets`.
    #[must_use]
    pub fn with_datasets(self, datasets: Arc<Datasets>) -> Self {
        let method = match self.method {
            PromptMethod::WordList if !datasets.writes_words() => PromptMethod::AsGiven,
            method => method,
        };
        Self { method, datasets, ..self }
    }

    /// Returns the builder with another salt.
    #[must_use]
    pub fn with_salt(self, salt: u64) -> Self {
        let leads = Leads::opening(&self.vocabulary, salt);
        let following = Leads::following(&self.vocabulary, salt);
        let (blocks, stream) = (RandomStream::named(salt, "shared blocks"), RandomStream::named(salt, "prompts"));
        Self { leads, following, blocks, stream, salt, ..self }
    }

    /// Returns the prompt of a request, with its images. It is a dataset row, ids, audio, or its shared prefix, if any,
    /// and its own text.
    pub fn prompt(&self, request: &PlannedRequest) -> Prompt {
        self.prompt_after(&Blocks::default(), request)
    }

    /// Returns the prompt of a trace's request. It is as [`PromptBuilder::prompt`], but a written text begins with the
    /// trace's blocks, if any. The text of a block depends on the salt and its id alone.
    pub fn prompt_after(&self, blocks: &Blocks, request: &PlannedRequest) -> Prompt {
        let PlannedRequest { index, class, input_tokens, images, .. } = *request;
        let mut stream = self.stream.branch(index);
        let prompt = match (self.datasets.source(class), request.row) {
            (PromptOrigin::Rows { index: rows, salted }, Some(row)) => match rows.sessions() {
                Some(sessions) => self.of_session(sessions, request, row),
                None if *salted => led_by(&self.lead(index), rows.prompt(row)),
                None => rows.prompt(row),
            },
            (PromptOrigin::TokenIds(vocabulary), _) => {
                let number = self.stream.branch(FIRST_IDS).bits().wrapping_add(index);
                Prompt::TokenIds(vocabulary.draw(input_tokens, number, &mut stream))
            }
            (PromptOrigin::Audio(clip), _) => clip.prompt(&mut stream),
            _ => match self.inputs.get(usize::from(class)).copied().flatten() {
                Some(inputs) if !inputs.is_one_text() => self.written_inputs(inputs, request),
                _ => self.written(blocks, request),
            },
        };
        match self.datasets.images(class) {
            Some(folder) => folder.beside(prompt, images, &mut stream),
            None => self.sent(prompt),
        }
    }

    /// Returns the user's message in a later turn of a conversation. It has the turn's new tokens, written to follow
    /// another text. Depends on the salt, the class, the tokens and the index alone.
    pub fn next_message(&self, request: &PlannedRequest) -> String {
        let PlannedRequest { index, class, .. } = *request;
        // Counted after a word, as it will follow other text.
        let mut text = self.text(ANCHOR.to_owned(), request.new_tokens(), (class, index), Onset::Following);
        text.drain(..ANCHOR.len());
        text
    }

    /// The shared blocks or prefix of a request, if any, and its own text.
    pub(super) fn written(&self, blocks: &Blocks, request: &PlannedRequest) -> Prompt {
        let PlannedRequest { index, class, input_tokens, .. } = *request;
        if !blocks.ids.is_empty() {
            let opening = Onset::Blocks(blocks);
            return Prompt::Text(self.text(String::new(), input_tokens, (class, index), opening));
        }
        let Some(prefix) = request.prefix else { return self.build(class, input_tokens, index) };
        let before = self.prefix(class, prefix);
        let own = input_tokens.saturating_sub(prefix.tokens);
        Prompt::Text(self.text(before, own, (class, index), Onset::Following))
    }

    /// The prompt of request `index` of class number `class`, with `input_tokens` tokens.
    ///
    /// With a tokenizer the count is checked and the prompt adjusted until it is exact; if a vocabulary makes that
    /// impossible, the closest prompt is returned.
    pub fn build(&self, class: u16, input_tokens: u32, index: u64) -> Prompt {
        Prompt::Text(self.text(String::new(), input_tokens, (class, index), Onset::Lead))
    }

    /// Appends a text of a class to `before`. It is for the request of this index, of so many tokens.
    pub(super) fn text(&self, before: String, tokens: u32, (class, index): (u16, u64), opening: Onset<'_>) -> String {
        self.fitted(before, tokens, index, |budget, attempt| self.write(class, budget, index, attempt, opening))
    }

    /// Appends `tokens` more tokens to `before`. `write` makes a text for a budget of tokens, a different one in each
    /// attempt. `number` distinguishes the adjustments of this builder's texts.
    pub(super) fn fitted(
        &self,
        before: String,
        tokens: u32,
        number: u64,
        write: impl Fn(u32, u64) -> String,
    ) -> String {
        let Some(tokenizer) = &self.tokenizer else { return before + &write(tokens, 0) };
        let whole = tokens + count_tokens(tokenizer, &before).unwrap_or(0);
        let mut budget = tokens;
        let mut closest: Option<(u32, String)> = None;
        for attempt in 0..ATTEMPTS {
            let text = format!("{before}{}", write(budget, attempt));
            let Some(counted) = count_tokens(tokenizer, &text) else { return text };
            budget = (budget + whole).saturating_sub(counted);
            let error = counted.abs_diff(whole);
            if error == 0 {
                return text;
            }
            if closest.as_ref().is_none_or(|(least, _)| error < *least) {
                closest = Some((error, text));
            }
        }
        match closest {
            Some((_, text)) => self.correct(tokenizer, text, before.len(), whole, number),
            None => before,
        }
    }

    /// Cuts the text until it is short enough, then adds words that fit. Words are removed from the end, but none of
    /// the first `kept` bytes, and added until the text is exact.
    fn correct(&self, tokenizer: &Tokenizer, mut text: String, kept: usize, tokens: u32, number: u64) -> String {
        let count = |text: &str| count_tokens(tokenizer, text).unwrap_or(tokens);
        while text.len() > kept && count(&text) > tokens {
            let last_word_at = text.rfind(char::is_whitespace).unwrap_or(0);
            text.truncate(text.get(..last_word_at).map_or(0, |kept| kept.trim_end().len()).max(kept));
        }
        let mut stream = self.stream.branch(number ^ (ATTEMPTS << 56));
        for _ in 0..CORRECTIONS {
            if count(&text) == tokens {
                break;
            }
            let place = stream.below(self.vocabulary.words.len() as u64) as usize;
            let longer = self.vocabulary.words.get(place).map(|word| format!("{text}{}", word.text));
            text = longer.filter(|longer| count(longer) <= tokens).unwrap_or(text);
        }
        text
    }

    /// Returns how these prompts are made, for the run log.
    pub fn facts(&self) -> PromptFacts {
        PromptFacts { method: self.method.clone(), salt: self.salt, template_tokens: None }
    }

    /// The local tokenizer that counts these prompts, if any.
    pub fn counter(&self) -> Option<TokenCounter> {
        self.tokenizer.clone().map(TokenCounter::Tokenizer)
    }

    /// Writes a text of the class that costs `tokens`. Every attempt uses other words after the lead, so that a
    /// budget that one set of words cannot meet is met by another.
    fn write(&self, class: u16, tokens: u32, index: u64, attempt: u64, opening: Onset<'_>) -> String {
        let mut stream = self.stream.branch(index ^ (attempt << 56));
        let mut draft = Draft::new(tokens);
        match opening {
            Onset::Lead => self.leads.write(index, &mut draft),
            Onset::Following => self.following.write(index, &mut draft),
            Onset::Blocks(blocks) => {
                draft.blocks(blocks, &self.vocabulary, &self.blocks);
                if draft.left() == 0 {
                    return draft.finish();
                }
                self.following.write(index, &mut draft);
            }
        }
        if let Some(class) = self.classes.get(usize::from(class)) {
            class.write(&mut draft, &self.vocabulary, &mut stream);
        }
        draft.finish()
    }
}

/// Text that precedes the class's own text.
#[derive(Clone, Copy)]
pub(super) enum Onset<'a> {
    /// The request's lead, at the very beginning.
    Lead,
    /// A lead that continues a shared text.
    Following,
    /// The blocks of a trace, then such a lead.
    Blocks(&'a Blocks),
}

fn count_tokens(tokenizer: &Tokenizer, text: &str) -> Option<u32> {
    tokenizer.encode_fast(text, false).ok().map(|encoding| encoding.len() as u32)
}

#[cfg(test)]
pub(super) mod test_classes;
#[cfg(test)]
mod tests;
