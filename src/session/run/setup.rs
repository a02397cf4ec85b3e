//! Checks a workload against the settings before anything is sent, then connects and makes all ready for runs.

use std::cell::Cell;
use std::sync::Arc;

use super::answers::tokens;
use super::connect::ServerConnection;
use super::context::{Conditions, RunContext};
use super::{cache, carried, connect, embedded, golden, machine, pages};
use crate::analysis::{FigureKey, Objective};
use crate::engine::PriorityField;
use crate::generator::{Datasets, PromptBuilder, PromptNeed};
use crate::record::{Calibration, DeploymentFacts, Route};
use crate::runner::Breaker;
use crate::session::console::{Interrupts, Printer, Stop, all, both};
use crate::session::datasets;
use crate::session::settings::{LoadOption, RunSettings, ServerAddress};
use crate::workload::WorkloadSpec;

/// A workload that passes every check possible before the server is asked.
#[derive(Clone)]
pub(crate) struct CheckedWorkload {
    pub(crate) settings: RunSettings,
    pub(crate) spec: WorkloadSpec,
    pub(crate) datasets: Arc<Datasets>,
    /// Makes prompts, where a tokenizer here counts them.
    exact: Option<PromptBuilder>,
    /// Varies the texts of the first run.
    salt: u64,
}

impl RunSettings {
    /// Finds all that is wrong with executing `spec`, before anything is sent. `datasets` are those of `spec`.
    pub(crate) fn check(self, spec: &WorkloadSpec, datasets: &Arc<Datasets>) -> Result<CheckedWorkload, Stop> {
        let Self { server, requests, .. } = &self;
        let salt = requests.salt.unwrap_or_else(rand::random);
        let fits = all([
            datasets::fit(spec, datasets, server.common.endpoint),
            golden::fit(spec, server.common.endpoint),
            Objective::check_all(&self.objectives, spec).map_err(Stop::usage),
            self.check_figures("objective", self.objectives.iter().map(|objective| &objective.key)),
            self.check_shard(spec),
            self.check_route(spec),
            self.check_carried(),
            self.requests
                .caps()
                .check_classes(spec)
                .map_err(|error| Stop::usage(format!("--max-concurrency: {error}"))),
            // Rows of a file have caps of their own.
            if self.load_option == LoadOption::InFile { Ok(()) } else { self.check_breakers() },
        ]);
        let exact = tokens::exact(spec, salt, requests.tokenizer.as_deref(), self.screen);
        let embedded = match server.address {
            ServerAddress::EmbeddedMock(_) => embedded::facts(&self.deployment, spec).map(Some),
            ServerAddress::At(_) => Ok(None),
        };
        let (((), embedded), (exact, common)) = both(both(fits, embedded), both(exact, golden::common(spec, server)))?;
        let (spec, datasets) = (spec.clone(), Arc::clone(datasets));
        let mut settings = self;
        settings.server.common = common;
        if let Some(facts) = embedded {
            settings.deployment.clone_from(&facts);
            settings.server.address = ServerAddress::EmbeddedMock(facts);
        }
        Ok(CheckedWorkload { settings, spec, datasets, exact, salt })
    }

    /// Refuses figures that need what is not given of the deployment. An example is the price of a GPU hour. `noun`
    /// says what the figures are for.
    pub(crate) fn check_figures<'k>(
        &self,
        noun: &str,
        mut figures: impl Iterator<Item = &'k FigureKey>,
    ) -> Result<(), Stop> {
        // An embedded mock is one GPU unless more are typed.
        let mocked = matches!(self.server.address, ServerAddress::EmbeddedMock(_)).then_some(1);
        let facts = DeploymentFacts { gpus: self.deployment.gpus.or(mocked), ..self.deployment.clone() };
        figures.try_for_each(|figure| match figure.metric.lacks(&facts) {
            None => Ok(()),
            Some(why) => Err(Stop::usage(format!("the {noun} `{figure}` will not be known: {why}"))),
        })
    }

    /// Refuses a share of what would not be one run. Several generators are one run only against one server, and with
    /// one salt where prompts share prefixes.
    fn check_shard(&self, spec: &WorkloadSpec) -> Result<(), Stop> {
        let Some(shard) = self.share.shard else { return Ok(()) };
        if matches!(self.server.address, ServerAddress::EmbeddedMock(_)) {
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

    /// Refuses servers by tenants, of which there are none.
    fn check_route(&self, spec: &WorkloadSpec) -> Result<(), Stop> {
        if self.server.routing.route != Route::Tenant || !spec.tenants.is_empty() {
            return Ok(());
        }
        Err(Stop::usage(format!(
            "--route tenant: the requests of `{}` have no tenants\nhint: give the workload `tenants`, or choose \
             --route session",
            spec.name
        )))
    }

    /// Refuses a breaker that can never end a run.
    pub(crate) fn check_breakers(&self) -> Result<(), Stop> {
        let Self { requests, telemetry, .. } = self;
        let uncapped = !requests.caps().is_capped();
        let unread = !telemetry.reads_own_page && telemetry.urls.is_empty();
        let refusal = |breaker: &Breaker, why: &str| {
            Stop::usage(format!("--abort-on `{breaker}` can never end a run: {why}, or watch `in_flight`"))
        };
        requests.breakers().iter().try_for_each(|breaker| match breaker {
            queued if queued.is_about_queued() && uncapped => Err(refusal(
                queued,
                "without a cap no request waits to be sent\n\
                     hint: add --max-concurrency (with --rate inf it is the number of users, and none waits)",
            )),
            waiting if waiting.is_about_waiting() && unread => Err(refusal(
                waiting,
                "no page of metrics is read meanwhile\n\
                 hint: leave --no-metrics out (and --prometheus, which is asked later), name a page with --metrics-url",
            )),
            _ => Ok(()),
        })
    }

    fn check_carried(&self) -> Result<(), Stop> {
        let dialect = self.server.common.dialect;
        if self.requests.priority() == PriorityField::Sent && dialect.traits().priority.is_none() {
            return Err(Stop::usage(format!(
                "--send-priority: `{dialect}` has no field for the priority of a request\n\
                 hint: leave it out, or choose --engine vllm or sglang if that is what serves"
            )));
        }
        carried::check(&self.server.common, self.requests.priority())
    }
}

impl CheckedWorkload {
    /// Calibrates this machine, waits for the server and sends it a test request. Runs can begin then.
    pub(crate) fn connect(&self, interrupts: &Interrupts, printer: Printer) -> Result<RunContext, Stop> {
        self.connect_unless(&|| interrupts.in_vain(), interrupts, printer)
    }

    /// Connects as [`Self::connect`], until `give_up` knows a reason not to wait for the server.
    pub(crate) fn connect_unless(
        &self,
        give_up: &dyn Fn() -> Option<Stop>,
        interrupts: &Interrupts,
        printer: Printer,
    ) -> Result<RunContext, Stop> {
        self.announce(printer);
        self.check_begin()?;
        let calibration = machine::calibrated(&self.settings, &self.spec, printer)?;
        machine::check_load(&self.settings, calibration.as_ref(), &self.spec)?;
        let context = self.open(give_up, calibration, interrupts, printer)?;
        context.check_profiler().map(|()| context)
    }

    /// Connects as [`Self::connect`], under the conditions of other runs. This machine is not calibrated again, and
    /// prompts are those of the others.
    pub(crate) fn connect_under(
        &self,
        conditions: Conditions,
        interrupts: &Interrupts,
        printer: Printer,
    ) -> Result<RunContext, Stop> {
        self.announce(printer);
        connect::in_time(self.settings.share.start_at)?;
        let context = self.open(&|| interrupts.in_vain(), None, interrupts, printer)?;
        Ok(RunContext { conditions, ..context })
    }

    /// Refuses what neither time nor any machine allows. It does so before this machine and the server are looked at.
    pub(crate) fn check_begin(&self) -> Result<(), Stop> {
        connect::in_time(self.settings.share.start_at)?;
        machine::check_load(&self.settings, None, &self.spec)
    }

    fn announce(&self, printer: Printer) {
        cache::advise(&self.settings, printer);
        embedded::announce(&self.settings, &self.spec, printer);
    }

    fn open(
        &self,
        give_up: &dyn Fn() -> Option<Stop>,
        calibration: Option<Calibration>,
        interrupts: &Interrupts,
        printer: Printer,
    ) -> Result<RunContext, Stop> {
        let Self { settings, spec, datasets, salt, .. } = self;
        let server = ServerConnection::open(give_up, &settings.server, settings.pacing, settings.screen, printer)?;
        let pages = pages::find(settings, &server, printer)?;
        let prompts = match &self.exact {
            Some(exact) => exact.clone(),
            None if datasets.writes_words() => tokens::counted(spec, *salt, &server, settings.screen, printer)?,
            None => PromptBuilder::with_word_list(&spec.classes, *salt),
        };
        let prompts = prompts.with_datasets(Arc::clone(datasets));
        let is_of_ids = settings.server.common.endpoint.only == Some(PromptNeed::TokenIds);
        let prompts = if is_of_ids { prompts.sending_ids() } else { prompts };
        let template_tokens = tokens::template_tokens(&server, &prompts, printer);
        Ok(RunContext {
            settings: settings.clone(),
            server,
            pages,
            interrupts: interrupts.clone(),
            conditions: Conditions { calibration, prompts, salt: *salt },
            template_tokens,
            warmed: Cell::default(),
            cold_start: Cell::default(),
            printer,
        })
    }
}
