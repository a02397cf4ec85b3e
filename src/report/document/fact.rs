//! Facts of a document: names with statements, and who reported them.

/// A name with what is known under it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedFact {
    pub(crate) name: String,
    pub(crate) values: Vec<Statement>,
}

/// A value with the party that reported it, where that is not this client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Statement {
    pub(crate) text: String,
    pub(crate) source: Option<String>,
}

impl Statement {
    pub(crate) fn reported_by(text: impl Into<String>, source: impl Into<String>) -> Self {
        Self { text: text.into(), source: Some(source.into()) }
    }

    /// `bfloat16 (reported by the server)`.
    pub(crate) fn in_words(&self) -> String {
        match &self.source {
            Some(source) => format!("{} (reported by {source})", self.text),
            None => self.text.clone(),
        }
    }
}

impl From<String> for Statement {
    fn from(text: String) -> Self {
        Self { text, source: None }
    }
}

impl From<&str> for Statement {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}
