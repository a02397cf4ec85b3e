//! What the command line changes about datasets.

use super::{
    Dataset, DatasetFormat, Distribution, PromptSource, RequestClass, RowFilter, RowOrder, WorkloadSpec,
};

/// Another dataset, or another use of the one there is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DatasetChange {
    /// `--dataset`: the prompts of the workload's only class come from this file, and so do its lengths.
    pub path: Option<String>,
    /// `--dataset-format`.
    pub format: Option<DatasetFormat>,
    /// `--dataset-order`.
    pub order: Option<RowOrder>,
    /// `--dataset-filter`.
    pub filter: Option<RowFilter>,
    /// `--skip-bad`.
    pub skip_bad: bool,
}

impl DatasetChange {
    /// What forbids this change of `workload`, flag, value and cure.
    pub(super) fn mistake(&self, workload: &WorkloadSpec) -> Option<String> {
        let WorkloadSpec { name, classes, .. } = workload;
        let replays = workload.arrival.trace().is_some();
        if let Some(path) = &self.path {
            if replays {
                return Some(format!(
                    "`--dataset` cannot be given for a trace, which `{name}` replays: both say how long requests are"
                ));
            }
            if classes.len() > 1 {
                return Some(format!(
                    "`--dataset` takes the place of the prompts of one class, and `{name}` has {}; give each its \
                     dataset in a workload file",
                    classes.len()
                ));
            }
            return self.format_of(path).is_none().then(|| {
                format!(
                    "`--dataset` is {path:?}, whose ending does not tell the format; add --dataset-format: one of \
                     sharegpt, jsonl, csv"
                )
            });
        }
        let flags = [
            ("--dataset-format", self.format.is_some()),
            ("--dataset-order", self.order.is_some()),
            ("--dataset-filter", self.filter.is_some()),
            // Lines of the trace are meant, where there is one.
            ("--skip-bad", self.skip_bad && !replays),
        ];
        let (flag, _) = flags.into_iter().find(|(_, given)| *given)?;
        let has_dataset = classes.iter().any(|class| class.prompt.dataset().is_some());
        if has_dataset {
            return None;
        }
        Some(if flag == "--skip-bad" {
            format!(
                "`--skip-bad` is about a dataset or a trace, and `{name}` has neither; give one with --dataset or --trace"
            )
        } else {
            format!("`{flag}` is about a dataset, and `{name}` has none; give one with --dataset")
        })
    }

    /// Makes the change.
    pub(super) fn apply(&self, classes: &mut [RequestClass]) {
        for class in classes {
            let file = self.path.as_ref().and_then(|path| Some((path, self.format_of(path)?)));
            if let Some((path, format)) = file {
                class.prompt = PromptSource::Dataset(Dataset::new(path.clone(), format));
                class.input_tokens = Distribution::Dataset { mean: None };
                class.output_tokens = Distribution::Dataset { mean: None };
            }
            if let PromptSource::Dataset(dataset) = &mut class.prompt {
                dataset.format = self.format.unwrap_or(dataset.format);
                dataset.order = self.order.unwrap_or(dataset.order);
                dataset.filter = self.filter.or(dataset.filter);
                dataset.skip_bad |= self.skip_bad;
            }
        }
    }

    fn format_of(&self, path: &str) -> Option<DatasetFormat> {
        self.format.or_else(|| DatasetFormat::of_name(path))
    }
}
