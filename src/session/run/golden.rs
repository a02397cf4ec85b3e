//! Golden prompts of a workload, sent before its load and under it.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::connect::ServerConnection;
use crate::clock::RunClock;
use crate::engine::{AnswerForm, CommonRequest, OpenAiEngine, Protocol, Router, Targets};
use crate::generator::PromptNeed;
use crate::live::{Screen, StepLine};
use crate::record::{CheckRecord, CheckResult, PlanFacts, Shard};
use crate::runner::{AnswerJudge, CheckTimes, Checks, FinishedCheck, Interrupt};
use crate::session::console::{Printer, Stop};
use crate::session::settings::ServerSettings;
use crate::units::{counted, spoken};
use crate::workload::{AnswerEnding, AnswerShape, GoldenCheck, RequestClass, WorkloadSpec};

/// Refuses golden prompts that the endpoint cannot carry.
pub(crate) fn fit(spec: &WorkloadSpec, endpoint: &Protocol) -> Result<(), Stop> {
    let lacks_texts = |protocol: &Protocol| protocol.inputs.is_some() || protocol.only.is_some();
    if let Some(check) = spec.checks.first().filter(|_| lacks_texts(endpoint)) {
        return Err(Stop::usage(format!(
            "check `{}` says what an answer reads, and the endpoint {endpoint} does not answer texts with texts\n\
             hint: take `checks` out of the workload, or give --endpoint {}",
            check.name,
            endpoint.another(|protocol| !lacks_texts(protocol))
        )));
    }
    let carries = endpoint.carries(PromptNeed::Messages);
    let chat = spec.checks.iter().find(|check| !carries && check.messages.is_some());
    let Some(check) = chat else { return Ok(()) };
    Err(Stop::usage(format!(
        "check `{}` has chat messages, which the endpoint {endpoint} cannot carry\n\
         hint: give it a `prompt`, or give --endpoint {}",
        check.name,
        endpoint.another(|protocol| protocol.carries(PromptNeed::Messages))
    )))
}

/// Returns what requests have in common, with what a workload decides of it, checked against the server's settings.
pub(crate) fn common(spec: &WorkloadSpec, server: &ServerSettings) -> Result<CommonRequest, Stop> {
    if spec.lacks_texts() {
        return Err(Stop::usage(format!(
            "`{}` is a stored copy: its texts are hashes (sha256:…), and cannot be sent\n\
             hint: give the workload's own file, or that of a run with --save-text",
            spec.name
        )));
    }
    let counts = |class: &&RequestClass| class.cancel.is_some_and(|cancel| cancel.after_tokens.is_some());
    if let Some(class) = spec.classes.iter().find(counts).filter(|_| server.common.form == AnswerForm::Whole) {
        return Err(Stop::usage(format!(
            "clients of class `{}` leave after so many tokens, and an answer that is not streamed shows none\n\
             hint: {}let them leave after a time (--cancel 10%@2s)",
            class.name,
            if server.common.endpoint.streams() { "leave --no-stream out, or " } else { "" }
        )));
    }
    let (models, answers, endings) = (models(spec, server)?, answers(spec, server)?, endings(spec, server)?);
    let inputs = spec.inputs();
    let audio_tenths = spec.longest_audio().map_or(0, |audio| (audio.seconds * 10.0).ceil() as u16);
    Ok(CommonRequest { inputs, audio_tenths, models, answers, endings, ..server.common.clone() })
}

/// The forms of answers that classes ask for; none where all are free text.
fn answers(spec: &WorkloadSpec, server: &ServerSettings) -> Result<Vec<Option<AnswerShape>>, Stop> {
    let Some(class) = spec.classes.iter().find(|class| class.answer.is_some()) else { return Ok(Vec::new()) };
    if let Some(field) =
        ["response_format", "tools", "tool_choice"].into_iter().find(|field| server.common.fixes(field))
    {
        return Err(Stop::usage(format!(
            "--extra-body has `{field}`, and class `{}` asks for answers of a form\nhint: take one of them out",
            class.name
        )));
    }
    if server.common.endpoint.shapes_answers() {
        return Ok(spec.classes.iter().map(|class| class.answer.clone()).collect());
    }
    Err(Stop::usage(format!(
        "class `{}` asks for answers of a form, which the endpoint {} does not have\n\
         hint: give --endpoint {}, or take `answer` out of the class",
        class.name,
        server.common.endpoint,
        server.common.endpoint.another(Protocol::shapes_answers)
    )))
}

/// How the answers of classes end.
fn endings(spec: &WorkloadSpec, server: &ServerSettings) -> Result<Vec<AnswerEnding>, Stop> {
    let endings = spec.classes.iter().map(|class| class.length);
    let natural = spec.classes.iter().find(|class| class.length == AnswerEnding::Natural);
    let field = ["ignore_eos", "min_tokens"].into_iter().find(|field| server.common.fixes(field));
    let (Some(class), Some(field)) = (natural, field) else { return Ok(endings.collect()) };
    Err(Stop::usage(format!(
        "--extra-body has `{field}`, and the answers of class `{}` end by themselves\n\
         hint: take it out, or give --length forced",
        class.name
    )))
}

/// The models that requests of a workload ask for; none where all ask for one.
fn models(spec: &WorkloadSpec, server: &ServerSettings) -> Result<Vec<String>, Stop> {
    let models = spec.models.as_ref().map(|mix| mix.names.clone()).unwrap_or_default();
    if models.is_empty() {
        return Ok(models);
    }
    if let Some(model) = &server.common.model {
        return Err(Stop::usage(format!(
            "--model {model} and the `models` of `{}` both say which model is requested\nhint: leave --model out, or \
             take `models` out of the workload",
            spec.name
        )));
    }
    if server.common.fixes("model") {
        return Err(Stop::usage(format!(
            "--extra-body has a `model`, and so have the requests of `{}`\nhint: take one of them out",
            spec.name
        )));
    }
    Ok(models)
}

/// The golden prompts of one run.
pub(crate) struct Golden<'a> {
    server: &'a ServerConnection,
    checks: Checks<Router<OpenAiEngine>>,
    named: Vec<GoldenCheck>,
    judge: AnswerJudge,
}

impl<'a> Golden<'a> {
    /// Returns the golden prompts of a workload, each with `limit` for its answer. `shows_texts` is whether what is
    /// expected and what came may be shown. `None` where there are none, and on all generators but the first, so that
    /// they are as many however many run the plan.
    pub(crate) fn new(
        server: &'a ServerConnection,
        engine: &Router<OpenAiEngine>,
        spec: &WorkloadSpec,
        shard: Option<Shard>,
        limit: Option<Duration>,
        shows_texts: bool,
    ) -> Option<Self> {
        if spec.checks.is_empty() || shard.is_some_and(|shard| shard.number > 1) {
            return None;
        }
        let asked_alike = engine.targets().first();
        let prompts = (0..).zip(&spec.checks).map(|(index, check)| asked_alike.prepare_check(index, check)).collect();
        Some(Self {
            server,
            checks: Checks { engine: Arc::new(engine.map(OpenAiEngine::for_another_run)), prompts, limit },
            named: spec.checks.clone(),
            judge: AnswerJudge::new(spec, engine.secrets(), shows_texts),
        })
    }

    /// Sends each once to each server, without load. Gives the address of the server with what came.
    fn ask(&self, screen: Screen) -> Vec<(&str, FinishedCheck)> {
        let prompts = counted(self.named.len() as u64, "golden prompt");
        let _line =
            StepLine::start(screen, format!("sending {prompts}, each for up to {}", spoken(self.checks.patience())));
        let mut asked = Vec::new();
        for target in self.checks.engine.targets().iter() {
            let engine = Arc::new(Router::in_turn(Targets::one(target.clone())));
            let alone = Checks { engine, prompts: self.checks.prompts.clone(), limit: self.checks.limit };
            let finished = self.server.runtime.block_on(alone.before());
            asked.extend(finished.into_iter().map(|finished| (target.facts().url.as_str(), finished)));
        }
        asked
    }

    /// Sends each once and prints which do not pass. The run goes on; an objective may decide by them.
    pub(crate) fn before(&self, screen: Screen, printer: Printer) -> Vec<FinishedCheck> {
        let asked = self.ask(screen);
        let several = self.checks.engine.targets().count().get() > 1;
        for (url, finished) in &asked {
            if let Some(said) = in_words(&self.named, &self.judge.check(finished.clone())) {
                let of = if several { format!(" of {url}") } else { String::new() };
                printer.words(&format!("warning: check{of} {said}"));
            }
        }
        asked.into_iter().map(|(_, finished)| finished).collect()
    }

    /// Sends each once. Gives its name, and what happened where it did not pass.
    pub(crate) fn results(&self, screen: Screen) -> Vec<(String, Option<String>)> {
        let records = self.ask(screen).into_iter().map(|(_, asked)| self.judge.check(asked));
        let names = self.named.iter().map(|check| check.name.clone());
        names.zip(records.map(|record| in_words(&self.named, &record))).collect()
    }

    /// Sends them under load until `run` is over, by the clock.
    pub(crate) async fn beside<T>(
        self,
        run: impl Future<Output = T>,
        clock: RunClock,
        times: CheckTimes,
        interrupt: watch::Receiver<Interrupt>,
        keep: impl FnMut(FinishedCheck) + Send + 'static,
    ) -> T {
        let over = CancellationToken::new();
        // A task of its own, so that what wakes the run does not wake this.
        let asked = tokio::spawn(self.checks.under_load(clock, times, interrupt, over.clone(), keep));
        let ended = run.await;
        over.cancel();
        if let Err(error) = asked.await {
            tracing::error!("golden prompts were lost: {error}");
        }
        ended
    }

    /// Returns the times at which they are asked under load.
    pub(crate) fn times(spec: &WorkloadSpec, plan: &PlanFacts) -> CheckTimes {
        let every = spec.check_every_s.unwrap_or(GoldenCheck::DEFAULT_EVERY_S);
        CheckTimes { from: plan.window_start, until: plan.window_end, every: Duration::from_secs_f64(every) }
    }
}

/// Returns in words what became of a check that did not pass.
pub(crate) fn in_words(checks: &[GoldenCheck], record: &CheckRecord) -> Option<String> {
    let name = checks.get(usize::from(record.check)).map_or("?", |check| check.name.as_str());
    let excerpt = record.excerpt.as_ref().map(|excerpt| format!(": {excerpt:?}")).unwrap_or_default();
    match &record.result {
        CheckResult::Passed => None,
        CheckResult::Unmet { why } => Some(format!("`{name}` failed: the answer {why}{excerpt}")),
        CheckResult::Unanswered(failure) => Some(format!("`{name}` got no answer: {failure}")),
        CheckResult::CutOff => Some(format!("`{name}` was cut off by the end of the run")),
    }
}
