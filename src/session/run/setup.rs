//! Checks a workload against the settings before anything is sent, then connects and makes all ready for runs.

use std::sync::Arc;

use super::cache;
use super::connect::{GiveUp, RequestNeeds, ServerConnection};
use super::context::{Conditions, RunContext};
use super::golden;
use super::machine;
use super::pages;
use super::prompts;
use super::start;
use crate::engine::PriorityField;
use crate::generator::{Datasets, PromptBuilder};
use crate::record::Calibration;
use crate::session::datasets;
use crate::session::exit::{Mistakes, Stop};
use crate::session::interrupts::Interrupts;
use crate::session::printer::Printer;
use crate::session::settings::{RunSettings, ServerAddress};
use crate::session::stored::save;
use crate::workload::WorkloadSpec;

/// A workload that can be executed, as far as can be known before the server is asked.
#[derive(Clone)]
pub(crate) struct CheckedWorkload {
    needs: RequestNeeds,
    /// Makes prompts, where a tokenizer here counts them.
    exact: Option<PromptBuilder>,
    /// Varies the texts of the first run.
    salt: u64,
}

impl RunSettings {
    /// Finds all that is wrong with executing `spec`, whose datasets are these, before anything is sent.
    pub(crate) fn check(&self, spec: &WorkloadSpec, datasets: &Datasets) -> Result<CheckedWorkload, Stop> {
        let Self { server, requests, .. } = self;
        let salt = requests.salt.unwrap_or_else(rand::random);
        let mut mistakes = Mistakes::default();
        mistakes.note(datasets::fit(spec, datasets, server.endpoint));
        mistakes.note(golden::fit(spec, server.endpoint));
        mistakes.note(save::check_objectives(&self.objectives, spec));
        let exact = mistakes.note(prompts::exact(spec, salt, requests.tokenizer.as_deref()));
        mistakes.note(self.check_shard(spec));
        mistakes.note(self.check_priority());
        let needs = mistakes.note(golden::needs(spec, server));
        match (exact, needs, mistakes.found()) {
            (Some(exact), Some(needs), None) => Ok(CheckedWorkload {
                needs: RequestNeeds { priority: requests.priority, ..needs },
                exact,
                salt,
            }),
            (.., found) => Err(found.unwrap_or_else(|| Stop::usage("the workload cannot be executed"))),
        }
    }

    /// Several generators are one run only against one server, and with one salt where prompts share prefixes.
    fn check_shard(&self, spec: &WorkloadSpec) -> Result<(), Stop> {
        let Some(shard) = self.share.shard else { return Ok(()) };
        if self.server.address == ServerAddress::EmbeddedMock {
            return Err(Stop::usage(format!(
                "--shard {shard} needs a server that all generators share\n\
                 hint: name it with --url; `skyline mock` starts one"
            )));
        }
        if self.requests.salt.is_none() && spec.classes.iter().any(|class| class.shared_prefix.is_some()) {
            return Err(Stop::usage(format!(
                "the requests of `{}` share prefixes, and generators with salts of their own would share none\n\
                 hint: give all of them the same --salt, a new one for each run",
                spec.name
            )));
        }
        Ok(())
    }

    fn check_priority(&self) -> Result<(), Stop> {
        let dialect = self.server.dialect;
        if self.requests.priority == PriorityField::Sent && dialect.traits().priority.is_none() {
            return Err(Stop::usage(format!(
                "--send-priority: `{dialect}` has no field for the priority of a request\n\
                 hint: leave it out, or choose --engine vllm or sglang if that is what serves"
            )));
        }
        Ok(())
    }

    /// Calibrates this machine, waits for the server and sends it a test request, so that runs of `spec`, which was
    /// checked, can begin.
    pub(crate) fn connect(
        &self,
        spec: &WorkloadSpec,
        datasets: Arc<Datasets>,
        checked: CheckedWorkload,
        interrupts: &Interrupts,
        printer: Printer,
    ) -> Result<RunContext, Stop> {
        self.connect_unless(&|| None, spec, datasets, checked, interrupts, printer)
    }

    /// The same, unless `give_up` knows a reason why the server will never be ready.
    pub(crate) fn connect_unless(
        &self,
        give_up: GiveUp<'_>,
        spec: &WorkloadSpec,
        datasets: Arc<Datasets>,
        checked: CheckedWorkload,
        interrupts: &Interrupts,
        printer: Printer,
    ) -> Result<RunContext, Stop> {
        self.announce(printer)?;
        let calibration = machine::calibrated(self.machine, printer);
        machine::check_load(self, calibration.as_ref(), spec)?;
        self.open(give_up, (spec, datasets, checked), calibration, interrupts, printer)
    }

    /// The same under the conditions of other runs: this machine is not calibrated again, and prompts are those of the
    /// others.
    pub(crate) fn connect_under(
        &self,
        conditions: Conditions,
        spec: &WorkloadSpec,
        datasets: Arc<Datasets>,
        checked: CheckedWorkload,
        interrupts: &Interrupts,
        printer: Printer,
    ) -> Result<RunContext, Stop> {
        self.announce(printer)?;
        let context = self.open(&|| None, (spec, datasets, checked), None, interrupts, printer)?;
        Ok(RunContext { conditions, ..context })
    }

    fn announce(&self, printer: Printer) -> Result<(), Stop> {
        cache::advise(self, printer);
        start::in_time(self.share.start_at)
    }

    fn open(
        &self,
        give_up: GiveUp<'_>,
        (spec, datasets, checked): (&WorkloadSpec, Arc<Datasets>, CheckedWorkload),
        calibration: Option<Calibration>,
        interrupts: &Interrupts,
        printer: Printer,
    ) -> Result<RunContext, Stop> {
        let CheckedWorkload { needs, exact, salt } = checked;
        let server = ServerConnection::open_unless(give_up, &self.server, needs, printer)?;
        let pages = pages::find(&self.requests.telemetry, &server, printer)?;
        let prompts = match exact {
            Some(exact) => exact,
            None if datasets.writes_words() => prompts::counted(spec, salt, &server, printer)?,
            None => PromptBuilder::with_word_list(&spec.classes, salt),
        };
        let prompts = prompts.with_datasets(datasets);
        let template_tokens = prompts::template_tokens(&server, &prompts, printer);
        Ok(RunContext {
            settings: self.clone(),
            server,
            pages,
            interrupts: interrupts.clone(),
            conditions: Conditions { calibration, prompts, salt },
            template_tokens,
            printer,
        })
    }
}
