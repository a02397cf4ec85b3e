//! Checks that requests to an endpoint can carry what they are to carry.

use serde_json::Value;

use crate::engine::{CommonRequest, PriorityField, Protocol};
use crate::generator::PromptNeed;
use crate::session::console::{Printer, Stop};
use crate::session::settings::{RunSettings, ServerAddress};
use crate::units::seconds;
use crate::workload::{Audio, InputBatch, InputKind, Overrides, PromptSource, RequestClass, WorkloadSpec};

/// Ids of prompts for the embedded mock, which has no tokenizer.
const MOCK_VOCABULARY: u32 = 32_000;

/// Refuses parameters that the requests to an endpoint cannot carry, before any is sent.
pub(super) fn check(common: &CommonRequest, priority: PriorityField) -> Result<(), Stop> {
    let CommonRequest { endpoint, extra_body, sampling, .. } = common;
    let elsewhere = |option: &str, name: &str, what: &str| {
        let other = endpoint.another(|other| other.takes(name));
        Stop::usage(format!(
            "{option}: requests to the endpoint {endpoint} {what}\n\
             hint: leave it out, or give --endpoint {other}"
        ))
    };
    let typed = [
        ("--temperature", "temperature", sampling.temperature.is_some()),
        ("--top-p", "top_p", sampling.top_p.is_some()),
        ("--top-k", "top_k", sampling.top_k.is_some()),
    ];
    if let Some((option, name, _)) = typed.into_iter().find(|(_, name, typed)| *typed && !endpoint.takes(name)) {
        let what = if endpoint.template.is_some() { "have no place for it" } else { "sample no tokens" };
        return Err(elsewhere(option, name, what));
    }
    if sampling.seed.is_some() && !endpoint.takes("seed") {
        return Err(elsewhere("--sampling-seed", "seed", "carry no seed"));
    }
    if priority == PriorityField::Sent && !endpoint.takes("priority") {
        return Err(elsewhere("--send-priority", "priority", "carry no priority"));
    }
    let inner = endpoint.within.and_then(|name| Some((name, extra_body.0.get(name)?)));
    if let Some((name, value)) = inner.filter(|(_, value)| !value.is_object()) {
        return Err(Stop::usage(format!(
            "--extra-body: `{name}` is no object: {value}\nhint: write it like {{\"{name}\": {{\"top_p\": 0.9}}}}"
        )));
    }
    let is_input = |name: &&String| [endpoint.prompt_field, "documents", "text_2"].contains(&name.as_str());
    if let Some(name) = extra_body.0.keys().find(is_input).filter(|_| endpoint.inputs.is_some()) {
        return Err(Stop::usage(format!(
            "--extra-body: `{name}` would replace the inputs of every request, whose number then is not known\n\
             hint: leave it out; --batch says how many inputs a request has"
        )));
    }
    let is_set = |name: &str| {
        extra_body.0.contains_key(name)
            || inner.is_some_and(|(_, inner)| inner.get(name).is_some_and(|of| of != &Value::Null))
    };
    match ["n", "best_of"].into_iter().find(|name| !endpoint.takes(name) && is_set(name)) {
        Some(name) => Err(elsewhere("--extra-body", name, &format!("get one answer, and `{name}` asks for more"))),
        None => Ok(()),
    }
}

impl RunSettings {
    /// Returns the workload as requests to the endpoint carry it. At one that answers several inputs at once, answers
    /// have no tokens: nothing is left of their lengths, nor of a ready-made workload's bounds on TTFT and TPOT. Those
    /// of the user's own are refused.
    pub(crate) fn fitted(&self, spec: WorkloadSpec, is_own: bool, printer: Printer) -> Result<WorkloadSpec, Stop> {
        let CommonRequest { endpoint, batch, .. } = self.server.common;
        let other = |class: &&RequestClass| class.inputs.is_some_and(|own| Some(own.kind) != kind_of(endpoint));
        if let Some((class, inputs)) = spec.classes.iter().find(other).and_then(|class| Some((class, class.inputs?))) {
            let fits = endpoint.another(|other| kind_of(other) == Some(inputs.kind));
            return Err(Stop::usage(format!(
                "class `{}`: its `inputs` are {}, which the endpoint {endpoint} does not take\n\
                 hint: give --endpoint {fits}",
                class.name, inputs.kind
            )));
        }
        match endpoint.only {
            Some(PromptNeed::Audio) => return self.with_audio(spec, printer),
            Some(_) => return self.with_ids(spec, printer),
            None => {}
        }
        let Some(usual) = endpoint.inputs else { return Ok(spec) };
        self.check_tokenless(&spec, is_own, endpoint)?;
        if spec.bounds_tokens() {
            printer.words(&format!(
                "note: the bounds of `{}` on TTFT and TPOT are left out: answers of the endpoint {endpoint} have no \
                 tokens (--slo e2e=500ms bounds the latency that they have)",
                spec.name
            ));
        }
        let fitted = spec.with_inputs(|class| {
            let own = class.inputs.map(|inputs| inputs.size);
            InputBatch { size: batch.or(own).unwrap_or(usual.size), ..usual }
        });
        fitted.clone().with(&Overrides::default()).map_err(Stop::usage)?;
        Ok(fitted)
    }

    /// Returns the workload for an endpoint of token ids. Texts need a tokenizer. The embedded mock takes any ids.
    fn with_ids(&self, mut spec: WorkloadSpec, printer: Printer) -> Result<WorkloadSpec, Stop> {
        let endpoint = self.server.common.endpoint;
        if let Some(class) = spec.classes.iter().find(|class| class.continues()) {
            return Err(Stop::usage(format!(
                "class `{}`: its requests continue answers as texts, which the endpoint {endpoint} does not have\n\
                 hint: choose another workload, or give --endpoint {}",
                class.name,
                endpoint.another(|other| other.only.is_none())
            )));
        }
        let is_text = |class: &RequestClass| !matches!(class.prompt, PromptSource::RandomTokens { .. });
        let Some(class) = spec.classes.iter().find(|class| is_text(class)) else { return Ok(spec) };
        if self.requests.tokenizer.is_some() {
            return Ok(spec);
        }
        let is_plain = |class: &RequestClass| !class.prompt.is_verbatim() && class.shared_prefix.is_none();
        let is_mock = matches!(self.server.address, ServerAddress::EmbeddedMock(_));
        if !is_mock || spec.classes.iter().any(|class| is_text(class) && !is_plain(class)) {
            return Err(Stop::usage(format!(
                "class `{}`: the endpoint {endpoint} takes token ids, and its prompts are texts\n\
                 hint: give --tokenizer, whose ids are then sent, or prompts that are ids: \
                 prompt = {{ kind = \"random_tokens\", vocabulary = 32000 }}",
                class.name
            )));
        }
        printer
            .words(&format!("note: the prompts of `{}` are random token ids (--tokenizer sends its texts)", spec.name));
        for class in spec.classes.iter_mut().filter(|class| is_text(class)) {
            class.prompt = PromptSource::RandomTokens { vocabulary: Some(MOCK_VOCABULARY) };
        }
        spec.with(&Overrides::default()).map_err(Stop::usage)
    }

    /// Returns the workload for an endpoint of audio, which takes the place of plain texts.
    fn with_audio(&self, mut spec: WorkloadSpec, printer: Printer) -> Result<WorkloadSpec, Stop> {
        let endpoint = self.server.common.endpoint;
        let is_traced = spec.arrival.trace().is_some();
        let is_plain = |class: &RequestClass| {
            let has_more = class.images.is_some() || class.shared_prefix.is_some() || class.answer.is_some();
            !is_traced && !has_more && !class.continues() && !class.prompt.is_verbatim()
        };
        if spec.classes.iter().all(|class| class.audio.is_some()) {
            return Ok(spec);
        }
        if let Some(class) = spec.classes.iter().find(|class| class.audio.is_none() && !is_plain(class)) {
            return Err(Stop::usage(format!(
                "class `{}`: the endpoint {endpoint} takes audio, and its requests are more than plain texts\n\
                 hint: choose another workload, or give --endpoint {}",
                class.name,
                endpoint.another(|other| other.only.is_none())
            )));
        }
        let usual = Audio::USUAL;
        printer.words(&format!(
            "note: the requests of `{}` have {} of audio in place of texts (--audio says how much)",
            spec.name,
            seconds(usual.seconds)
        ));
        spec.classes.iter_mut().filter(|class| class.audio.is_none()).for_each(|class| class.set_audio(usual));
        spec.with(&Overrides::default()).map_err(Stop::usage)
    }

    /// Refuses the requests of another side of a comparison, where the endpoint takes others.
    pub(crate) fn check_requests(&self, workload: &WorkloadSpec, printer: Printer) -> Result<(), Stop> {
        let refused = || Stop::usage("--b: its endpoint takes other requests than that of --a\nhint: give both one");
        if self.fitted(workload.clone(), true, printer)? == *workload { Ok(()) } else { Err(refused()) }
    }

    /// Refuses what needs tokens of answers, where they have none.
    fn check_tokenless(&self, spec: &WorkloadSpec, is_own: bool, endpoint: &Protocol) -> Result<(), Stop> {
        let limits = self.requests.limits(spec.clients.as_ref());
        let limited = limits.first_token_timeout_s.or(limits.between_tokens_timeout_s).is_some();
        if limited {
            return Err(Stop::usage(format!(
                "a time limit is on tokens, and answers of the endpoint {endpoint} have none\n\
                 hint: leave --first-token-timeout and --between-tokens-timeout out; --timeout limits whole answers"
            )));
        }
        if is_own && spec.bounds_tokens() {
            return Err(Stop::usage(format!(
                "the SLO of `{}` bounds TTFT or TPOT, which answers of the endpoint {endpoint} do not have\n\
                 hint: bound e2e: slo = {{ e2e_ms = 500 }} in its classes, or --slo e2e=500ms",
                spec.name
            )));
        }
        Ok(())
    }
}

/// The kind of inputs that an endpoint takes; `None` where a prompt is one text.
fn kind_of(endpoint: &Protocol) -> Option<InputKind> {
    endpoint.inputs.map(|inputs| inputs.kind)
}
