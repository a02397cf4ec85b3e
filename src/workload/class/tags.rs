//! The tags of requests: what a class, or the row of a dataset, says of a request beside its text.

use super::request_class::RequestClass;
use crate::workload::prompt::source::PromptSource;
use crate::workload::spec::WorkloadSpec;

impl RequestClass {
    /// Returns the names of the tags that its requests can have. Its own come first, then those of its dataset.
    pub fn tag_keys(&self) -> impl Iterator<Item = &str> {
        let columns = self.prompt.dataset().into_iter().flat_map(|dataset| dataset.metadata.keys());
        self.metadata.keys().chain(columns).map(String::as_str)
    }

    /// Returns the tag `key` of a request of it. The request's row has the tags of this number; `None` where it has no
    /// such tag.
    fn tag(&self, row: Option<u16>, key: &str) -> Option<&str> {
        if let Some(own) = self.metadata.get(key) {
            return Some(own);
        }
        let dataset = self.prompt.dataset()?;
        let place = dataset.metadata.keys().position(|known| known == key)?;
        let value = dataset.found.as_ref()?.tags.get(usize::from(row?))?.get(place)?;
        Some(value.as_str()).filter(|value| !value.is_empty())
    }

    /// Returns the values of the tag `key` that its requests can have. Some come more than once.
    fn tag_values(&self, key: &str) -> impl Iterator<Item = &str> {
        let rows = self.prompt.dataset().and_then(|dataset| dataset.found.as_ref());
        let rows = rows.map_or(0, |found| found.tags.len() as u16);
        let of_class = self.metadata.get(key).map(String::as_str);
        let of_rows = (0..if of_class.is_some() { 0 } else { rows }).filter_map(move |row| self.tag(Some(row), key));
        of_class.into_iter().chain(of_rows.collect::<Vec<_>>())
    }

    /// Whether a request of it can have the tag `key` with this value.
    pub(crate) fn can_have_tag(&self, key: &str, value: &str) -> bool {
        self.tag_values(key).any(|known| known == value)
    }
}

impl WorkloadSpec {
    /// Returns the workload without tags of requests and slices of checks. It has all that decides what is sent.
    #[must_use]
    pub fn without_groups(mut self) -> Self {
        for class in &mut self.classes {
            class.metadata.clear();
            if let PromptSource::Dataset(dataset) = &mut class.prompt {
                dataset.metadata.clear();
                dataset.found.iter_mut().for_each(|found| found.tags.clear());
            }
        }
        self.checks.iter_mut().for_each(|check| check.slice = None);
        self
    }

    /// The names of the tags that its requests can have, each once, in alphabetical order.
    pub fn tag_keys(&self) -> Vec<&str> {
        let mut keys: Vec<_> = self.classes.iter().flat_map(RequestClass::tag_keys).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Returns the values of the tag `key` that its requests can have. Each comes once, in alphabetical order. Those of
    /// a dataset are known once it is read.
    pub(crate) fn tag_values(&self, key: &str) -> Vec<&str> {
        let occurring = self.classes.iter().filter(|class| self.occurs(class));
        let mut values: Vec<_> = occurring.flat_map(|class| class.tag_values(key)).collect();
        values.sort_unstable();
        values.dedup();
        values
    }

    /// Returns the tag `key` of a request of the class with this index. The request's row has the tags of this number;
    /// `None` where it has no such tag.
    pub fn tag_of(&self, class: u16, row: Option<u16>, key: &str) -> Option<&str> {
        self.classes.get(usize::from(class))?.tag(row, key)
    }
}
