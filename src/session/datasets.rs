//! Opens the datasets of a workload, before anything else is done with it.

use std::sync::Arc;

use crate::engine::Protocol;
use crate::generator::{Datasets, PromptNeed, TokenCounter};
use crate::live::{Screen, StepLine};
use crate::session::console::{Printer, Stop};
use crate::units::{count, counted};
use crate::workload::{RequestClass, WorkloadSpec};

/// Files that were opened for classes of requests. Each is opened once, however many workloads have the same.
#[derive(Default)]
pub(crate) struct Opened(Vec<(Vec<RequestClass>, Vec<RequestClass>, Arc<Datasets>)>);

impl Opened {
    /// Opens files as [`open`], where no workload with the same classes came before.
    pub(crate) fn open(
        &mut self,
        spec: WorkloadSpec,
        tokenizer: Option<&str>,
        screen: Screen,
        printer: Printer,
    ) -> Result<(WorkloadSpec, Arc<Datasets>), Stop> {
        if let Some((_, found, datasets)) = self.0.iter().find(|(asked, ..)| *asked == spec.classes) {
            return Ok((WorkloadSpec { classes: found.clone(), ..spec }, Arc::clone(datasets)));
        }
        let asked = spec.classes.clone();
        let (spec, datasets) = open(spec, tokenizer, screen, printer)?;
        self.0.push((asked, spec.classes.clone(), Arc::clone(&datasets)));
        Ok((spec, datasets))
    }
}

/// Refuses a tokenizer for a workload without rows that it would count.
pub(crate) fn check_tokenizer(spec: &WorkloadSpec, tokenizer: Option<&str>) -> Result<(), Stop> {
    if tokenizer.is_some() && !spec.classes.iter().any(|class| class.prompt.is_verbatim()) {
        return Err(Stop::usage(format!(
            "--tokenizer counts the rows of a dataset, and `{}` has none\nhint: leave it out",
            spec.name
        )));
    }
    Ok(())
}

/// Opens the files that a workload names. Returns the workload with what was found in them, and the files. Lengths are
/// counted by the tokenizer, or estimated where there is none.
pub(crate) fn open(
    spec: WorkloadSpec,
    tokenizer: Option<&str>,
    screen: Screen,
    printer: Printer,
) -> Result<(WorkloadSpec, Arc<Datasets>), Stop> {
    let is_opened =
        |class: &RequestClass| class.images.is_some() || class.audio.is_some() || class.prompt.is_verbatim();
    let takes = |spec: &WorkloadSpec| spec.classes.iter().any(is_opened);
    if !takes(&spec) {
        return Ok((spec, Arc::default()));
    }
    let line = StepLine::start(screen, "reading the files of the workload");
    let counter = TokenCounter::open(tokenizer).map_err(Stop::usage)?;
    let (spec, datasets) = Datasets::open(spec, &counter).map_err(Stop::usage)?;
    drop(line);
    for class in &spec.classes {
        let Some(dataset) = class.prompt.dataset() else { continue };
        let Some(found) = dataset.found.as_ref().filter(|found| found.bad_rows > 0) else { continue };
        printer.words(&format!(
            "{}: ignored {} that cannot be used, {} left",
            dataset.path,
            counted(found.bad_rows, "row"),
            count(found.rows)
        ));
    }
    Ok((spec, Arc::new(datasets)))
}

/// Refuses prompts that the endpoint cannot carry.
pub(crate) fn fit(spec: &WorkloadSpec, datasets: &Datasets, endpoint: &Protocol) -> Result<(), Stop> {
    let mut needs = spec.classes.iter().zip(datasets.needs());
    let Some((class, need)) = needs.find(|(_, need)| !endpoint.carries(*need)) else {
        return Ok(());
    };
    let what = match need {
        PromptNeed::TokenIds => "the prompts are token ids",
        PromptNeed::Messages => "the dataset has chat messages",
        PromptNeed::Audio => "the requests have audio",
        PromptNeed::Images | PromptNeed::Nothing => "the requests have images",
    };
    let other = endpoint.another(|protocol| protocol.carries(need));
    Err(Stop::usage(format!(
        "class `{}`: {what}, which the endpoint {endpoint} cannot carry\nhint: give --endpoint {other}",
        class.name
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_opened_once_for_all_workloads_that_ask_the_same_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d.jsonl");
        std::fs::write(&path, "{\"prompt\": \"hello there\"}\n").unwrap();
        let spec = |rate: f64, tokens: u32| {
            let text = format!(
                "name = \"t{rate:.0}\"\nhorizon_s = 5\narrival = \
                 {{ kind = \"poisson\", rate_per_s = {rate} }}\n[[classes]]\nname = \"all\"\noutput_tokens = \
                 {{ kind = \"constant\", value = {tokens} }}\nprompt = {{ kind = \"dataset\", path = {:?} }}\n",
                path.display().to_string()
            );
            WorkloadSpec::from_toml(&text, "t.toml").unwrap()
        };
        let mut opened = Opened::default();
        let mut open = |spec| opened.open(spec, None, Screen::Quiet, Printer).unwrap();
        let (first, one) = open(spec(1.0, 8));
        let (second, same) = open(spec(2.0, 8));
        let (_, other) = open(spec(1.0, 9));
        assert!(Arc::ptr_eq(&one, &same) && !Arc::ptr_eq(&one, &other));
        assert_eq!((&first.classes, second.name.as_str()), (&second.classes, "t2"));
        assert!(first.classes[0].prompt.dataset().unwrap().found.is_some());
    }
}
