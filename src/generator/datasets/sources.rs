//! Opens the sources of a workload's prompts.

use std::sync::Arc;

use super::answer_key::AnswerKey;
use super::error::DatasetError;
use super::images::ImageFolder;
use super::rows::{Index, RowDraws};
use super::survey::Survey;
use super::wav::AudioClip;
use crate::generator::tokens::tokenizer::{TokenCounter, TokenIdVocabulary};
use crate::random::RandomStream;
use crate::workload::{Dataset, Distribution, PromptSource, RequestClass, WorkloadSpec};

/// The opened sources of a workload's prompts. They are empty by default, for workloads whose prompts are all written.
#[derive(Clone, Debug, Default)]
pub struct Datasets {
    classes: Vec<ClassSource>,
}

#[derive(Clone, Debug, Default)]
struct ClassSource {
    source: PromptOrigin,
    images: Option<Arc<ImageFolder>>,
    has_messages: bool,
}

/// Origin of the prompts of one class.
#[derive(Clone, Debug, Default)]
pub(crate) enum PromptOrigin {
    /// Prompts that are written for the run.
    #[default]
    Written,
    /// Rows of a file; `salted` ones get unique leading words.
    Rows { index: Arc<Index>, salted: bool },
    /// Token ids.
    TokenIds(TokenIdVocabulary),
    /// Audio.
    Audio(Arc<AudioClip>),
}

/// Need of a class's prompts, which not every endpoint carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptNeed {
    /// Nothing but text.
    Nothing,
    /// Chat messages of a dataset.
    Messages,
    /// Images.
    Images,
    /// Token ids.
    TokenIds,
    /// Audio.
    Audio,
}

impl Datasets {
    /// Opens and reads every source that `workload` names, and returns the workload with the findings.
    ///
    /// # Errors
    ///
    /// What is wrong with a file, with its position and the cure.
    pub fn open(mut workload: WorkloadSpec, counter: &TokenCounter) -> Result<(WorkloadSpec, Self), DatasetError> {
        let mut classes = Vec::with_capacity(workload.classes.len());
        for class in &mut workload.classes {
            let (source, has_messages) = match class.audio {
                Some(audio) => {
                    let stream = RandomStream::named(workload.seed, &format!("audio/{}", class.name));
                    (PromptOrigin::Audio(Arc::new(AudioClip::made(audio, stream))), false)
                }
                None => open_source(class, counter)?,
            };
            let images = match &mut class.images {
                None => None,
                Some(images) => {
                    let stream = RandomStream::named(workload.seed, &format!("images/{}", class.name));
                    let (folder, findings) = ImageFolder::open(images, &stream)?;
                    images.found = Some(findings);
                    Some(Arc::new(folder))
                }
            };
            classes.push(ClassSource { source, images, has_messages });
        }
        Ok((workload, Self { classes }))
    }

    pub(crate) fn source(&self, class: u16) -> &PromptOrigin {
        self.classes.get(usize::from(class)).map_or(&PromptOrigin::Written, |class| &class.source)
    }

    /// Expected answers of the rows of each class, where these are scored.
    pub fn answer_keys(&self) -> Vec<Option<Arc<AnswerKey>>> {
        let key = |class: &ClassSource| match &class.source {
            PromptOrigin::Rows { index, .. } => index.key.clone(),
            PromptOrigin::Written | PromptOrigin::TokenIds(_) | PromptOrigin::Audio(_) => None,
        };
        self.classes.iter().map(key).collect()
    }

    pub(crate) fn images(&self, class: u16) -> Option<&ImageFolder> {
        self.classes.get(usize::from(class))?.images.as_deref()
    }

    /// The rows of every class in sending order, where it has a dataset.
    pub(crate) fn rows(&self, workload: &WorkloadSpec) -> Vec<Option<RowDraws>> {
        let rows = |(class, number): (&RequestClass, u16)| {
            let PromptOrigin::Rows { index, .. } = self.source(number) else { return None };
            let stream = RandomStream::named(workload.seed, &format!("rows/{}", class.name));
            Some(RowDraws::new(Arc::clone(index), class.prompt.dataset()?.order, stream))
        };
        workload.classes.iter().zip(0..).map(rows).collect()
    }

    /// Whether some class has prompts, or leading words, whose tokens must be counted.
    pub fn writes_words(&self) -> bool {
        let words = |class: &ClassSource| match &class.source {
            PromptOrigin::Written => true,
            PromptOrigin::Rows { index, salted } => *salted || index.sessions().is_some(),
            PromptOrigin::TokenIds(_) | PromptOrigin::Audio(_) => false,
        };
        self.classes.is_empty() || self.classes.iter().any(words)
    }

    /// Needs of the prompts of each class.
    pub fn needs(&self) -> impl Iterator<Item = PromptNeed> {
        self.classes.iter().map(|class| match class {
            ClassSource { source: PromptOrigin::TokenIds(_), .. } => PromptNeed::TokenIds,
            ClassSource { source: PromptOrigin::Audio(_), .. } => PromptNeed::Audio,
            ClassSource { images: Some(_), .. } => PromptNeed::Images,
            ClassSource { has_messages: true, .. } => PromptNeed::Messages,
            _ => PromptNeed::Nothing,
        })
    }
}

/// Opens the source of a class's prompts; the flag says whether it has chat messages.
fn open_source(class: &mut RequestClass, counter: &TokenCounter) -> Result<(PromptOrigin, bool), DatasetError> {
    match &class.prompt {
        PromptSource::Templates { .. } | PromptSource::Retrieval { .. } => Ok((PromptOrigin::Written, false)),
        PromptSource::RandomTokens { vocabulary } => {
            let below = || vocabulary.map(TokenIdVocabulary::Below);
            let vocabulary = counter.vocabulary(*vocabulary).or_else(below);
            let vocabulary = vocabulary.ok_or_else(|| DatasetError::NoVocabulary { class: class.name.clone() })?;
            Ok((PromptOrigin::TokenIds(vocabulary), false))
        }
        PromptSource::Dataset(dataset) => {
            let Survey { index, findings, has_messages } = Survey::new(dataset, class, counter)?;
            let salted = dataset.salt;
            let found = Some(Box::new(findings.clone()));
            class.prompt = PromptSource::Dataset(Dataset { found, ..dataset.clone() });
            class.input_tokens = Distribution::Dataset { mean: Some(findings.mean_input_tokens) };
            if class.output_tokens.is_of_rows() {
                class.output_tokens = Distribution::Dataset { mean: findings.mean_output_tokens };
            }
            Ok((PromptOrigin::Rows { index: Arc::new(index), salted }, has_messages))
        }
    }
}
