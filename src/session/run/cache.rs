//! Brings the prefix cache of the server into the state that the workload declares.

use super::connect::ServerConnection;
use crate::engine::PriorityField;
use crate::generator::{PlannedRequest, Prompt, PromptBuilder, RequestSpec, prefixes_of};
use crate::live::StepLine;
use crate::record::{CachePreparation, SharedPrefix};
use crate::session::console::{Printer, Stop};
use crate::session::settings::RunSettings;
use crate::workload::{CacheState, SharedPrefixes, WorkloadSpec};

/// Notes that no answer of a server shows whether it heeds priorities.
pub(super) fn advise(settings: &RunSettings, printer: Printer) {
    if settings.requests.priority() == PriorityField::Sent {
        let option =
            settings.server.common.dialect.start_options().priority.map(|option| format!(" (without {option})"));
        printer.words(&format!(
            "note: a server that does not schedule by priority{} ignores the field; the table by priority shows \
             whether it counts",
            option.unwrap_or_default()
        ));
    }
}

/// Empties the cache if that is wished. Sends the prefixes that the workload wants warm. A cold run whose texts are new
/// does without the first, and says why.
pub(super) fn prepare(
    settings: &RunSettings,
    spec: &WorkloadSpec,
    server: &ServerConnection,
    prompts: &PromptBuilder,
    printer: Printer,
) -> Result<Option<CachePreparation>, Stop> {
    let is_wished = settings.requests.reset_cache;
    let mut emptied = is_wished || spec.cache == Some(CacheState::Cold);
    if emptied {
        for engine in server.router.targets().iter() {
            match server.runtime.block_on(engine.reset_cache()) {
                Ok(()) => {}
                Err(error) if is_wished => return Err(Stop::impossible(error)),
                Err(error) => {
                    let said = error.to_string();
                    let said = said.lines().next().unwrap_or_default();
                    if settings.requests.salt.is_some() {
                        return Err(Stop::impossible(format!(
                            "--cache cold cannot be kept: --salt may repeat texts of earlier runs, and {said}\n\
                             hint: leave --salt out, which makes all texts new"
                        )));
                    }
                    printer.words(&format!("note: {said}; the texts of this run are new, so no cache has them"));
                    emptied = false;
                }
            }
        }
    }
    let warmed = warmed(spec);
    if !warmed.is_empty() {
        let models = spec.models.as_ref().map_or(1, |mix| mix.names.len());
        let requests = warmed.iter().flat_map(|&(class, prefix)| {
            (0..models).map(move |model| alone(class, prefix, model as u16, spec, prompts))
        });
        // Each under a number of its own: some servers refuse two of one name at a time.
        let requests = (0..).zip(requests).map(|(index, mut request)| {
            request.planned.index = index;
            request
        });
        for engine in server.router.targets().iter() {
            let line = StepLine::counting(settings.screen, "warming the prefix cache", (warmed.len() * models) as u64);
            let warming = engine.warm_cache(line.count(requests.clone()));
            server.runtime.block_on(warming).map_err(Stop::impossible)?;
        }
    }
    let preparation = CachePreparation { emptied, warmed_prefixes: warmed.len() as u64 };
    Ok((preparation != CachePreparation::default()).then_some(preparation))
}

/// The prefixes that are to be warm, each with the number of its class.
fn warmed(spec: &WorkloadSpec) -> Vec<(u16, SharedPrefix)> {
    let of_class = |(number, class)| {
        let warmed = spec.classes[usize::from(number)].shared_prefix.as_ref().map_or(0, SharedPrefixes::warmed);
        prefixes_of(spec, class).into_iter().take(warmed as usize).map(move |prefix| (number, prefix))
    };
    (0..).zip(&spec.classes).flat_map(of_class).collect()
}

/// A request that says a prefix and nothing else.
fn alone(class: u16, prefix: SharedPrefix, model: u16, spec: &WorkloadSpec, prompts: &PromptBuilder) -> RequestSpec {
    let model = spec.models.as_ref().map(|_| model);
    let planned = PlannedRequest { class, model, input_tokens: prefix.tokens, ..PlannedRequest::default() };
    planned.into_spec(prompts.sent(Prompt::Text(prompts.prefix(class, prefix))))
}
