//! Mistakes of a workload once it has been changed: out of range, or not fitting together in a run.

use super::arrival::pattern::ArrivalPattern;
use super::arrival::scenario::Scenario;
use super::arrival::stages::RATE_OR_NONE;
use super::class::request_change::RequestChange;
use super::class::request_class::RequestClass;
use super::clients::behaviour::ClientBehaviour;
use super::prompt::cache::CacheState;
use super::prompt::dataset::Dataset;
use super::prompt::source::PromptSource;
use super::reading::mistakes::{Mistakes, SpecError};
use super::reading::value::{Allowed, RATE, SECONDS};
use super::spec::WorkloadSpec;

/// Share of the warm-up over which agents begin to prime the cache. The rest is for the last answers.
const PRIMING_SHARE: f64 = 0.75;

impl WorkloadSpec {
    /// Finds what a change can put out of range. It also finds what stands beside something it does not go with.
    pub(super) fn misfits(&self) -> impl Iterator<Item = String> {
        let horizon = SECONDS.mistake("horizon_s", self.horizon_s);
        let rates = self.arrival.rates().into_iter();
        let rates = rates.filter_map(|(field, rate, allowed)| allowed.mistake(&format!("arrival.{field}"), rate));
        let classes = self.classes.iter().zip(0..).flat_map(|(class, i)| {
            let dataset = class.prompt.dataset().into_iter().flat_map(Dataset::misfits);
            let dataset = dataset.map(|(field, sentence)| (format!("prompt.{field}"), sentence));
            let own = class.misfits().map(|(field, sentence)| (field.to_owned(), sentence));
            dataset.chain(own).map(move |(field, sentence)| format!("`classes[{i}].{field}` {sentence}"))
        });
        let waits = self.clients.as_ref().and_then(ClientBehaviour::misfit);
        let waits = waits.map(|(field, sentence)| format!("`clients.{field}` {sentence}"));
        horizon.into_iter().chain(rates).chain(classes).chain(waits)
    }

    /// Plans the longest idle time and the state of the prefix cache, as typed. Where agents prime it that
    /// were typed, they begin over most of the warm-up.
    pub(super) fn prepare_agents(&mut self, typed: &RequestChange, agents_typed: bool) {
        self.cache = typed.cache.or(self.cache);
        self.system_idle_cap_s = typed.system_idle_cap_s.or(self.system_idle_cap_s);
        if matches!(self.cache, Some(CacheState::Warm | CacheState::Primed)) {
            self.classes.iter_mut().filter_map(|class| class.shared_prefix.as_mut()).for_each(|all| all.warm = 1.0);
        }
        if let (Some(CacheState::Primed), ArrivalPattern::Users { ramp_s, .. }) = (self.cache, &mut self.arrival)
            && (agents_typed || *ramp_s >= self.warmup_s)
        {
            *ramp_s = PRIMING_SHARE * self.warmup_s;
        }
    }

    /// The workload with all sessions from their beginning, whatever a cache holds.
    pub(crate) fn with_whole_sessions(&self) -> Self {
        let mut spec = Self { cache: None, ..self.clone() };
        let prompts = spec.classes.iter_mut().map(|class| &mut class.prompt);
        for prompt in prompts {
            if let PromptSource::Dataset(Dataset { sessions: Some(rules), .. }) = prompt {
                rules.start = None;
            }
        }
        spec
    }

    /// Checks that the scenario, the agents and the cache of a run go together. Options and a search may change any of
    /// them after the file was read.
    ///
    /// # Errors
    ///
    /// The misfit, with its cure.
    pub fn check_run(&self) -> Result<(), SpecError> {
        let mistakes = Mistakes::default();
        let found = self.scenario_misfit().into_iter().chain(self.cache_misfit()).chain(self.idle_misfit());
        found.for_each(|(field, sentence)| mistakes.add(None, format!("`{field}` {sentence}")));
        if mistakes.is_empty() { Ok(()) } else { Err(mistakes.into_error(&format!("`{}`", self.name))) }
    }

    /// Why the workload cannot be one of its scenario.
    fn scenario_misfit(&self) -> Option<(&'static str, String)> {
        let Scenario::Agentx = self.scenario?;
        let other = self.classes.iter().find(|class| !class.has_session_file())?;
        let sentence = format!(
            "is agentx, which plays recorded sessions, and class `{}` has none; give a recording (--trace FILE), or \
             leave it out",
            other.name
        );
        Some(("scenario", sentence))
    }

    /// Why the clock of agents cannot jump.
    fn idle_misfit(&self) -> Option<(&'static str, String)> {
        let cap_s = self.system_idle_cap_s?;
        let what = if self.arrival.users().is_none() || !self.classes.iter().all(RequestClass::has_graphs) {
            "only agents that play sessions have pauses that can be cut while nothing is in flight; give them \
             (--agents N)"
        } else if self.requests.is_some() {
            "a number of requests ends the run; give [SECONDS]"
        } else {
            return None;
        };
        Some(("system_idle_cap_s", format!("is {cap_s}, and {what}, or leave it out")))
    }

    /// Why the cache cannot be in its state, or sessions not begin in their middle.
    fn cache_misfit(&self) -> Option<(&'static str, String)> {
        let begins_in_the_middle =
            |class: &RequestClass| class.session_rules().is_some_and(|rules| rules.start.is_some());
        let ramp_s = match self.arrival {
            ArrivalPattern::Users { ramp_s, .. } => ramp_s,
            _ if self.classes.iter().any(begins_in_the_middle) => {
                let sentence = "bring sessions one by one, and `start` puts the first session of each agent in its \
                    middle; give agents (--agents N), or leave `start` out";
                return Some(("arrival", sentence.to_owned()));
            }
            _ => 0.0,
        };
        let sentence = match self.cache? {
            CacheState::Primed => {
                if let Some(class) = self.classes.iter().find(|class| !begins_in_the_middle(class)) {
                    format!(
                        "is primed, and no history comes before the requests of class `{}`; give its sessions a \
                         `start` (--start-window 0.25..0.75), or choose warm or cold",
                        class.name
                    )
                } else if self.warmup_s <= ramp_s {
                    format!(
                        "is primed in the warm-up, and {} s of it leave no time for that, since agents begin within \
                         {ramp_s} s (`ramp_s`); lengthen it (--warmup 300s)",
                        self.warmup_s
                    )
                } else {
                    return None;
                }
            }
            CacheState::Warm if self.classes.iter().all(|class| class.shared_prefix.is_none()) => {
                "is warm, and no prompts begin with a text that is known before the run; give a class a \
                 `shared_prefix` (--shared-prefix), or leave it out"
                    .to_owned()
            }
            CacheState::Warm => return None,
            CacheState::Cold => self.classes.iter().find_map(|class| {
                let (what, cure) = class.shares_texts()?;
                Some(format!("is cold, and {what} of class `{}`; {cure}, or leave it out", class.name))
            })?,
        };
        Some(("cache", sentence))
    }
}

impl ArrivalPattern {
    /// Returns the rates that a factor multiplies. Each has its place in a spec and its range.
    fn rates(&self) -> Vec<(String, f64, Allowed)> {
        let listed = |list: &str, place: usize, field: &str| format!("{list}[{place}].{field}");
        match self {
            Self::Bursts { base_rate_per_s: base, burst_rate_per_s: burst, .. } => {
                vec![("base_rate_per_s".to_owned(), *base, RATE_OR_NONE), ("burst_rate_per_s".to_owned(), *burst, RATE)]
            }
            Self::Stages { stages } => (stages.iter().enumerate())
                .flat_map(|(i, stage)| {
                    let ends = [("from_rate_per_s", stage.from_rate_per_s), ("to_rate_per_s", stage.to_rate_per_s)];
                    ends.map(|(field, rate)| (listed("stages", i, field), rate, RATE_OR_NONE))
                })
                .collect(),
            Self::Markov { states } => (states.iter().enumerate())
                .map(|(i, state)| (listed("states", i, "rate_per_s"), state.rate_per_s, RATE_OR_NONE))
                .collect(),
            Self::Spikes { base_rate_per_s, spikes } => (spikes.iter().enumerate())
                .map(|(i, spike)| (listed("spikes", i, "rate_per_s"), spike.rate_per_s, RATE_OR_NONE))
                .chain([("base_rate_per_s".to_owned(), *base_rate_per_s, RATE)])
                .collect(),
            Self::ByClass { classes } => (classes.iter().enumerate())
                .flat_map(|(i, class)| {
                    let rates = class.rates().into_iter();
                    rates.map(move |(field, rate, allowed)| (listed("classes", i, &field), rate, allowed))
                })
                .collect(),
            Self::Clients { .. } => vec![("clients".to_owned(), self.mean_rate_per_s(), RATE)],
            Self::Trace(_) | Self::Users { .. } => Vec::new(),
            even => vec![("rate_per_s".to_owned(), even.mean_rate_per_s(), RATE)],
        }
    }
}
