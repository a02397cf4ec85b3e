//! What a workload asks of the server beyond load: models, priorities, a prefix cache in a known state.

use super::Setup;
use crate::cli::golden;
use crate::cli::session::{Asked, Session};
use crate::generator::{PlannedRequest, Prompt, PromptBuilder, RequestSpec, prefixes_of};
use crate::record::{CachePreparation, SharedPrefix};
use crate::session::{Printer, Stop};
use crate::units::count;
use crate::workload::{SharedPrefixes, WorkloadSpec};

/// What requests ask for, held against what was typed.
pub(super) fn asked(setup: Setup<'_>, spec: &WorkloadSpec) -> Result<Asked, Stop> {
    let models = golden::models(spec, setup.server)?;
    let dialect = setup.server.dialect();
    if setup.run.send_priority && dialect.traits().priority.is_none() {
        return Err(Stop::usage(format!(
            "--send-priority: `{dialect}` has no field for the priority of a request\n\
             hint: leave it out, or choose --engine vllm or sglang if that is what serves"
        )));
    }
    if setup.share.shard.is_some() && setup.run.salt.is_none() && shared(spec) {
        return Err(Stop::usage(format!(
            "the requests of `{}` share prefixes, and generators with salts of their own would share none\n\
             hint: give all of them the same --salt, a new one for each run",
            spec.name
        )));
    }
    Ok(Asked { models, priority: setup.run.priority_field(), answers: golden::answers(spec, setup.server)? })
}

/// Says what no answer of the server tells: whether the priorities that it is sent count.
pub(super) fn advise(setup: Setup<'_>, printer: Printer) {
    if setup.run.send_priority {
        printer.words(
            "note: a server that does not schedule by priority (vLLM without --scheduling-policy priority, SGLang \
             without --enable-priority-scheduling) passes over the field; the table by priority shows whether it counts",
        );
    }
}

fn shared(spec: &WorkloadSpec) -> bool {
    spec.classes.iter().any(|class| class.shared_prefix.is_some())
}

/// Empties the cache if that is wished, and sends the prefixes that the workload wants warm.
pub(super) fn prepare_cache(
    setup: Setup<'_>,
    spec: &WorkloadSpec,
    session: &Session,
    prompts: &PromptBuilder,
    printer: Printer,
) -> Result<Option<CachePreparation>, Stop> {
    if setup.run.reset_cache {
        session.runtime.block_on(session.engine.reset_cache()).map_err(Stop::impossible)?;
    }
    let warmed = warmed(spec);
    if !warmed.is_empty() {
        let models = spec.models.as_ref().map_or(1, |mix| mix.names.len());
        printer.words(&format!("sending {} to warm the prefix cache", count((warmed.len() * models) as u64)));
        let requests = warmed.iter().flat_map(|&(class, prefix)| {
            (0..models).map(move |model| alone(class, prefix, model as u16, spec, prompts))
        });
        // Each under a number of its own: some servers refuse two of one name at a time.
        let requests = (0..).zip(requests).map(|(index, mut request)| {
            request.planned.index = index;
            request
        });
        session.runtime.block_on(session.engine.warm_cache(requests)).map_err(Stop::impossible)?;
    }
    let preparation =
        CachePreparation { emptied: setup.run.reset_cache, warmed_prefixes: warmed.len() as u64 };
    Ok((preparation != CachePreparation::default()).then_some(preparation))
}

/// The prefixes that are to be warm, each with the number of its class.
fn warmed(spec: &WorkloadSpec) -> Vec<(u16, SharedPrefix)> {
    let of_class = |(number, class)| {
        let warmed =
            spec.classes[usize::from(number)].shared_prefix.as_ref().map_or(0, SharedPrefixes::warmed);
        prefixes_of(spec, class).into_iter().take(warmed as usize).map(move |prefix| (number, prefix))
    };
    (0..).zip(&spec.classes).flat_map(of_class).collect()
}

/// A request that says a prefix and nothing else.
fn alone(
    class: u16,
    prefix: SharedPrefix,
    model: u16,
    spec: &WorkloadSpec,
    prompts: &PromptBuilder,
) -> RequestSpec {
    let model = spec.models.as_ref().map(|_| model);
    let planned = PlannedRequest { class, model, input_tokens: prefix.tokens, ..PlannedRequest::default() };
    planned.saying(Prompt::Text(prompts.prefix(class, prefix)))
}
