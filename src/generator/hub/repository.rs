//! Names of a repository: on the hub, and in its cache.

use reqwest::Url;

/// A repository of the hub at a revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::generator) struct Repository {
    /// Word that stands before the ids of its kind: none, or `datasets`.
    kind: &'static str,
    id: String,
    /// A branch, a tag or a commit.
    pub(in crate::generator) revision: String,
}

impl Repository {
    /// The main branch of a model.
    pub(in crate::generator) fn model(id: &str) -> Self {
        Self { kind: "", id: id.to_owned(), revision: "main".to_owned() }
    }

    /// A dataset at this revision.
    pub(in crate::generator) fn dataset(id: &str, revision: &str) -> Self {
        Self { kind: "datasets", id: id.to_owned(), revision: revision.to_owned() }
    }

    /// Returns the repository at another revision.
    pub(in crate::generator) fn at(&self, revision: &str) -> Self {
        Self { revision: revision.to_owned(), ..self.clone() }
    }

    /// Whether this is `owner/name` or `name` in the letters that the hub allows.
    pub(in crate::generator) fn is_id(text: &str) -> bool {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let part = |part: &str| part.starts_with(|c: char| c.is_ascii_alphanumeric()) && part.chars().all(allowed);
        text.split('/').count() <= 2 && text.split('/').all(part)
    }

    /// Whether this can name a revision, and a file of the cache.
    pub(in crate::generator) fn is_revision(text: &str) -> bool {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        text.split('/').all(|part| !part.is_empty() && !part.starts_with('.') && part.chars().all(allowed))
    }

    /// The name of its folder in the cache.
    pub(super) fn folder(&self) -> String {
        let kind = if self.kind.is_empty() { "models" } else { self.kind };
        format!("{kind}--{}", self.id.replace('/', "--"))
    }

    /// The address of one of its files.
    pub(super) fn file_url(&self, endpoint: &str, file: &str) -> Result<Url, String> {
        let parts = [self.kind].into_iter().chain(self.id.split('/')).chain(["resolve", &self.revision]);
        url(endpoint, parts.chain(file.split('/')))
    }

    /// The address of its commit and the list of its files.
    pub(super) fn list_url(&self, endpoint: &str) -> Result<Url, String> {
        let kind = if self.kind.is_empty() { "models" } else { self.kind };
        url(endpoint, ["api", kind].into_iter().chain(self.id.split('/')).chain(["revision", &self.revision]))
    }
}

fn url<'p>(endpoint: &str, parts: impl Iterator<Item = &'p str>) -> Result<Url, String> {
    let mut url = Url::parse(endpoint).map_err(|error| format!("{endpoint}: {error}"))?;
    url.path_segments_mut()
        .map_err(|()| format!("{endpoint}: no address of a hub"))?
        .pop_if_empty()
        .extend(parts.filter(|part| !part.is_empty()));
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_hub() {
        let model = Repository::model("owner/name");
        assert_eq!(model.folder(), "models--owner--name");
        let url = model.file_url("http://h/", "tokenizer.json").unwrap();
        assert_eq!(url.as_str(), "http://h/owner/name/resolve/main/tokenizer.json");
        assert_eq!(model.list_url("http://h").unwrap().as_str(), "http://h/api/models/owner/name/revision/main");
        let rows = Repository::dataset("squad", "refs/convert/parquet");
        assert_eq!(rows.folder(), "datasets--squad");
        let url = rows.file_url("http://h/mirror", "a b/50%#1.parquet").unwrap();
        assert_eq!(
            url.as_str(),
            "http://h/mirror/datasets/squad/resolve/refs%2Fconvert%2Fparquet/a%20b/50%25%231.parquet"
        );
        assert_eq!(
            rows.list_url("http://h").unwrap().as_str(),
            "http://h/api/datasets/squad/revision/refs%2Fconvert%2Fparquet"
        );
        assert_eq!(rows.at("0a1b").revision, "0a1b");
        for revision in ["", "..", "a/../b", "/a", "a/", "a b", ".git"] {
            assert!(!Repository::is_revision(revision), "{revision}");
        }
    }
}
