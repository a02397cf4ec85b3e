//! Opens the datasets of a workload, before anything else is done with it.

use std::sync::Arc;

use super::exit::Stop;
use super::printer::Printer;
use crate::engine::Endpoint;
use crate::generator::{Datasets, TokenCounter, Wire};
use crate::units::count;
use crate::workload::{PromptSource, WorkloadSpec};

/// The workload with what was found in the files that it names, and these files opened. Lengths are counted by the
/// tokenizer, or estimated where there is none.
pub(super) fn open(
    spec: WorkloadSpec,
    tokenizer: Option<&str>,
    printer: Printer,
) -> Result<(WorkloadSpec, Arc<Datasets>), Stop> {
    let takes = |spec: &WorkloadSpec| {
        spec.classes.iter().any(|class| class.images.is_some() || class.prompt.is_taken())
    };
    if !takes(&spec) {
        return Ok((spec, Arc::default()));
    }
    let counter = TokenCounter::open(tokenizer).map_err(Stop::usage)?;
    let (spec, datasets) = Datasets::open(spec, &counter).map_err(Stop::usage)?;
    for class in &spec.classes {
        let PromptSource::Dataset(dataset) = &class.prompt else { continue };
        let Some(found) = dataset.found.as_ref().filter(|found| found.bad_rows > 0) else { continue };
        printer.words(&format!(
            "{}: {} rows passed over that cannot be used, {} left",
            dataset.path,
            count(found.bad_rows),
            count(found.rows)
        ));
    }
    Ok((spec, Arc::new(datasets)))
}

/// Refuses prompts that the endpoint cannot carry.
pub(super) fn fit(spec: &WorkloadSpec, datasets: &Datasets, endpoint: Endpoint) -> Result<(), Stop> {
    for (class, wire) in spec.classes.iter().zip(datasets.wires()) {
        let (what, other) = match (wire, endpoint) {
            (Wire::Completions, Endpoint::Chat) => ("the prompts are token ids", Endpoint::Completions),
            (Wire::ChatForMessages, Endpoint::Completions) => {
                ("the dataset has messages of chats", Endpoint::Chat)
            }
            (Wire::ChatForImages, Endpoint::Completions) => ("images go along", Endpoint::Chat),
            _ => continue,
        };
        return Err(Stop::usage(format!(
            "class `{}`: {what}, which the endpoint {endpoint} cannot carry\nhint: give --endpoint {other}",
            class.name
        )));
    }
    Ok(())
}
