//! What the command line of an A/B test means, found free of mistakes before anything is sent.

use sha2::{Digest as _, Sha256};

use super::args::{AbArgs, SideArgs};
use crate::cli::args::FiledServer;
use crate::engine::{AnswerForm, BaseUrl};
use crate::experiment::AbDesign;
use crate::record::DeploymentFacts;
use crate::session::campaign::ab::{AbManifest, AbPlan, AbQuestion};
use crate::session::run::check_plan;
use crate::session::settings::{LoadOption, RunSettings, ServerAddress};
use crate::session::{PlannedRun, Printer, ServerManifest, Stop, all, both, datasets};
use crate::units::hexadecimal;
use crate::workload::WorkloadSpec;

/// Figures that decide where none was chosen.
const USUAL: [&str; 4] = ["p50 ttft", "p95 ttft", "p50 tpot", "p95 e2e"];
/// The same where answers come in one piece.
const WHOLE: [&str; 2] = ["p50 e2e", "p95 e2e"];
/// What a closed loop tells beside them: its users ask a fast server for more.
const CLOSED: &str = "output_tokens_per_s";

/// A test that can begin, as far as can be known before a server is asked.
pub(super) struct PlannedAb {
    pub(super) runs: AbPlan,
    pub(super) design: AbDesign,
    pub(super) manifest: AbManifest,
}

impl AbArgs {
    /// What is executed, what decides, and the manifest of both, or the mistakes in it.
    pub(super) fn plan(&self, printer: Printer) -> Result<PlannedAb, Stop> {
        let begun = self.campaign.resume.as_deref().and_then(AbQuestion::read);
        let salt = self.target.salt().or(begun.map(|question| question.salt)).unwrap_or_else(rand::random);
        let (spec, [a, b]) = both(self.work.spec(&self.load.overrides(), printer), self.settings(salt))?;
        let (workload, datasets) = datasets::open(spec, a.requests.tokenizer.as_deref(), printer)?;
        let design = design(self, &workload)?;
        let manifest = self.manifest([&a, &b], &workload, &design, salt)?;
        let (a, b) = both(a.check(&workload, &datasets), b.check(&workload, &datasets))?;
        let rounds = PlannedRun::all(&workload, &datasets, design.rounds())?;
        rounds.iter().try_for_each(check_plan)?;
        let runs = AbPlan {
            sides: [a, b],
            rounds,
            pause: self.campaign.pause,
            warmup_requests: self.design.warmup_requests,
            switch: self.sides.switch_cmd.clone(),
            reset: self.sides.reset_cmd.clone(),
        };
        Ok(PlannedAb { runs, design, manifest })
    }

    fn manifest(
        &self,
        [a, b]: [&RunSettings; 2],
        workload: &WorkloadSpec,
        design: &AbDesign,
        salt: u64,
    ) -> Result<AbManifest, Stop> {
        let hashed =
            |command: &Option<String>| command.as_ref().map(|line| hexadecimal(&Sha256::digest(line)));
        Ok(AbManifest {
            question: AbQuestion::new(workload.clone(), design, self.require, salt),
            a: side(a)?,
            b: side(b)?,
            warmup_requests: self.design.warmup_requests,
            pause_s: self.campaign.pause.as_secs_f64(),
            switch_cmd_sha256: hashed(&self.sides.switch_cmd),
            reset_cmd_sha256: hashed(&self.sides.reset_cmd),
        })
    }

    /// How runs of A and of B are executed, whose prompts vary by this salt.
    fn settings(&self, salt: u64) -> Result<[RunSettings; 2], Stop> {
        let SideArgs { a, b, b_engine, b_model, a_labels, b_labels, .. } = &self.sides;
        all([("--a", a), ("--b", b)].map(|(name, url)| {
            let parsed = url.as_ref().map(|url| url.parse::<BaseUrl>()).transpose();
            parsed.map(drop).map_err(|error| Stop::usage(format!("{name}: {error}")))
        }))?;
        let at_b =
            FiledServer { url: b.as_deref(), engine: *b_engine, model: b_model.as_deref(), wait: None };
        let at_a = FiledServer { url: a.as_deref(), ..FiledServer::default() };
        let settings = |server, labels: &[(String, String)]| {
            let target = self.target.with(
                server,
                DeploymentFacts { labels: labels.iter().cloned().collect(), ..DeploymentFacts::default() },
            );
            let screen = self.campaign.live.screen();
            let mut settings = target.settings(&[], LoadOption::OfAllRuns, screen)?;
            settings.requests.salt = Some(salt);
            Ok::<_, Stop>(settings)
        };
        let server = &self.target.server;
        Ok([settings(server.at(at_a), a_labels)?, settings(server.at(at_b), b_labels)?])
    }
}

impl SideArgs {
    /// Whether A and B are one address, however each is written.
    pub(super) fn are_one_address(&self) -> bool {
        let address = |url: &Option<String>| url.as_ref()?.parse::<BaseUrl>().ok();
        address(&self.a).is_some_and(|a| address(&self.b) == Some(a))
    }
}

/// What is requested of one side.
fn side(settings: &RunSettings) -> Result<ServerManifest, Stop> {
    match settings.server.address {
        ServerAddress::At(_) => Ok(ServerManifest::of(settings)),
        // The embedded mock lives with one connection: there is nothing to compare.
        ServerAddress::EmbeddedMock => Err(Stop::usage(
            "there are no two servers to compare\nhint: name them with --a and --b, or with --switch-cmd the one address \
             with --url; `skyline mock` starts one",
        )),
    }
}

/// What decides, before the first round: what was chosen, else the usual.
fn design(args: &AbArgs, workload: &WorkloadSpec) -> Result<AbDesign, Stop> {
    let mut metrics = args.design.metrics.clone();
    if metrics.is_empty() {
        let usual = match args.target.server.form() {
            AnswerForm::Streamed => &USUAL[..],
            AnswerForm::Whole => &WHOLE[..],
        };
        let closed = workload.arrival.users().map(|_| &CLOSED);
        let usual = usual.iter().chain(closed).map(|metric| metric.parse());
        metrics = usual.collect::<Result<_, _>>().map_err(Stop::usage)?;
    }
    metrics.iter().try_for_each(|metric| metric.check(workload)).map_err(Stop::usage)?;
    let design = AbDesign::new(args.design.rounds, metrics, args.design.margin);
    design.map_err(Stop::usage)
}
