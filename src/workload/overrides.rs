//! What the command line changes in a workload.

use super::reading::value::{RATE, REQUESTS, SECONDS, USERS, WAIT};
use super::spec::WorkloadSpec;
use crate::workload::arrival::pattern::{ArrivalPattern, BURSTINESS};
use crate::workload::arrival::stages::{LoadSpike, RateStage};
use crate::workload::arrival::think_time::ThinkTime;
use crate::workload::class::dataset_change::DatasetChange;
use crate::workload::class::request_change::RequestChange;
use crate::workload::class::slo::Slo;
use crate::workload::clients::behaviour::RETRIES;
use crate::workload::clients::change::ClientChange;
use crate::workload::lengths::Distribution;
use crate::workload::reading::mistakes::{Mistakes, SpecError};
use crate::workload::reading::value::Allowed;

/// Changes to a spec; an absent field leaves the spec as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides {
    /// `[seconds]`: the run ends there, instead of after the spec's number of requests.
    pub horizon_s: Option<f64>,
    /// Requests of the run, in place of its horizon (`--requests`). Users of a closed loop send so many together.
    pub requests: Option<u64>,
    /// `--rate`: mean requests per second. All rates are multiplied so that [`ArrivalPattern::mean_rate_per_s`] is
    /// this one; the shape in time and the shares stay.
    pub rate_per_s: Option<f64>,
    /// Users of a closed loop that replaces the arrivals (`--users`). The rates of classes with their own arrivals
    /// become weights.
    pub users: Option<u64>,
    /// Whether those users begin at once, as for `--rate inf`. Those who send so many requests together always do.
    pub users_at_once: bool,
    /// `--think-time` in seconds: the wait of a closed-loop user after each answer.
    pub think_time_s: Option<f64>,
    /// `--seed`.
    pub seed: Option<u64>,
    /// `--warmup` in seconds. Without it a run that became shorter gets a shorter warm-up: at most a quarter of the
    /// run, or the spec's share if that is more; none if it would contain less than one request.
    pub warmup_s: Option<f64>,
    /// `--cooldown` in seconds.
    pub cooldown_s: Option<f64>,
    /// `--drain` in seconds.
    pub drain_s: Option<f64>,
    /// `--arrival`: another process of arrivals; its rate becomes that of `--rate`, else the workload's mean.
    pub arrival: Option<ArrivalPattern>,
    /// Shape of gamma gaps around the mean rate (`--burstiness`). They replace the workload's process.
    pub burstiness: Option<f64>,
    /// Ramps in place of the workload's process (`--ramp`). The run lasts as long, unless something else says how long.
    pub ramp: Vec<RateStage>,
    /// `--spike`: a Poisson process at the rate, and a spike over it.
    pub spike: Option<LoadSpike>,
    /// `--input-tokens`: the requested length of every prompt, whatever its class.
    pub input_tokens: Option<Distribution>,
    /// `--output-tokens`: the requested length of every answer, whatever its class.
    pub output_tokens: Option<Distribution>,
    /// `--slo`: the SLO of every request, in place of those of the workload.
    pub slo: Option<Slo>,
    /// Changes to what prompts share, and to how answers end.
    pub request: RequestChange,
    /// Changes to datasets.
    pub dataset: DatasetChange,
    /// Changes to the behaviour of clients.
    pub clients: ClientChange,
}

impl Overrides {
    fn check(&self, mistakes: &Mistakes) {
        let within = |flag: &str, value: Option<f64>, allowed: Allowed| {
            if let Some(value) = value.filter(|value| !allowed.has(*value)) {
                mistakes.add(None, format!("`{flag}` is {value}; it must be a number {allowed}"));
            }
        };
        within("[seconds]", self.horizon_s, SECONDS);
        within("--requests", self.requests.map(|requests| requests as f64), REQUESTS);
        within("--rate", self.rate_per_s, RATE);
        within("--burstiness", self.burstiness, BURSTINESS);
        within("--users", self.users.map(|users| users as f64), USERS);
        within("--think-time", self.think_time_s, WAIT);
        within("--warmup", self.warmup_s, WAIT);
        within("--cooldown", self.cooldown_s, WAIT);
        within("--drain", self.drain_s, WAIT);
        let clients = &self.clients;
        within("--timeout", clients.timeout_s, SECONDS);
        within("--first-token-timeout", clients.first_token_timeout_s, SECONDS);
        within("--retries", clients.retries.map(f64::from), RETRIES);
        within("--backoff", clients.backoff_s, WAIT);
        within("--backoff-max", clients.backoff_max_s, WAIT);
        within("--hedge-after", clients.hedge_after_s, SECONDS);
        if self.horizon_s.is_some() && self.requests.is_some() {
            mistakes.add(None, "`[seconds]` and `--requests` both say when the run ends; give one of them".to_owned());
        }
    }
}

impl WorkloadSpec {
    /// The spec with the command line's changes, checked by the same rules as a file.
    pub fn with(self, overrides: &Overrides) -> Result<Self, SpecError> {
        const ORIGIN: &str = "the command line";
        let mistakes = Mistakes::default();
        overrides.check(&mistakes);
        let Overrides { dataset, request, clients, input_tokens, .. } = overrides;
        let own = [dataset.mistake(&self), request.mistake(&self, input_tokens.is_some())];
        let own = own.into_iter().chain([clients.mistake(self.clients.as_ref())]);
        own.flatten().for_each(|mistake| mistakes.add(None, mistake));
        if mistakes.is_empty()
            && let Some(mistake) = self.refusal(overrides)
        {
            mistakes.add(None, mistake);
        }
        if !mistakes.is_empty() {
            return Err(mistakes.into_error(ORIGIN));
        }
        let mut spec = self.changed(overrides);
        overrides.request.apply(&mut spec).unwrap_or_else(|mistake| mistakes.add(None, mistake));
        spec.prepare_agents(&overrides.request, overrides.users.is_some() && !overrides.users_at_once);
        if let Some((field, sentence)) = spec.window().mistake(spec.warmup_s) {
            let flag = match field {
                "warmup_s" if overrides.warmup_s.is_some() => "--warmup",
                "horizon_s" if overrides.horizon_s.is_some() => "[seconds]",
                "requests" if overrides.requests.is_some() => "--requests",
                field => field,
            };
            mistakes.add(None, format!("`{flag}` {sentence}"));
            return Err(mistakes.into_error(ORIGIN));
        }
        spec.misfits().for_each(|mistake| mistakes.add(None, mistake));
        if mistakes.is_empty() {
            return Ok(spec);
        }
        Err(mistakes.into_error(&format!("`{}` as changed by {ORIGIN}", spec.name)))
    }

    /// Returns why this workload cannot take a change. The change is users, a think time, a rate or a number of tokens.
    fn refusal(&self, overrides: &Overrides) -> Option<String> {
        let (traced, closed) = (self.arrival.trace().is_some(), self.arrival.users().is_some());
        if let Some(sentence) = self.refusal_of_arrivals(overrides) {
            return Some(sentence);
        }
        let opens = !overrides.ramp.is_empty()
            || overrides.spike.is_some()
            || overrides.arrival.is_some()
            || overrides.burstiness.is_some();
        let dataset =
            overrides.dataset.path.is_some() || self.classes.iter().any(|class| class.input_tokens.is_of_rows());
        let sentence = match overrides {
            Overrides { input_tokens: Some(_), .. } if traced => {
                "`--input-tokens` cannot be given for a trace, which says how long prompts are"
            }
            Overrides { input_tokens: Some(_), .. } if dataset => {
                "`--input-tokens` cannot be given for a dataset, whose prompts have their own lengths"
            }
            Overrides { users: Some(_), .. } if traced => {
                "`--users` (or `--rate inf`) cannot be given for a trace, which says when requests leave"
            }
            Overrides { users: Some(_), rate_per_s: Some(_), .. } => {
                "`--users` and `--rate` both say what load there is; give one of them"
            }
            Overrides { users: None, rate_per_s: Some(_), .. } if closed && !opens => {
                "`--rate` cannot be given for users in a closed loop, who send as many requests as the server lets \
                 them; `--users` says how many they are, `--arrival poisson` takes their place"
            }
            Overrides { users: None, think_time_s: Some(_), .. } if !closed || opens => {
                "`--think-time` is what users in a closed loop wait, and there are none; leave it out, or give \
                 `--users`"
            }
            Overrides { rate_per_s: Some(_), .. } if traced => {
                "`--rate` cannot be given for a trace; `--rate-scale` replays more or fewer of its requests, \
                 `--time-scale` replays it slower or faster"
            }
            Overrides { output_tokens: Some(_), .. } if traced && !dataset => {
                "`--output-tokens` cannot be given for a trace, which says how long answers are"
            }
            _ => return None,
        };
        Some(sentence.to_owned())
    }

    /// Why this workload cannot take another process of arrivals.
    fn refusal_of_arrivals(&self, overrides: &Overrides) -> Option<String> {
        let Overrides { arrival, burstiness, ramp, spike, .. } = overrides;
        let given = [
            ("--spike", spike.is_some()),
            ("--ramp", !ramp.is_empty()),
            ("--arrival", arrival.is_some()),
            ("--burstiness", burstiness.is_some()),
        ];
        let (flag, _) = given.into_iter().find(|(_, given)| *given)?;
        if self.arrival.trace().is_some() {
            return Some(format!("`{flag}` cannot be given for a trace, which says when requests leave"));
        }
        if overrides.users.is_some() {
            let both = format!("`--users` (or `--rate inf`) and `{flag}` both say when requests leave");
            return Some(format!("{both}; give one of them"));
        }
        let sentence = match arrival {
            _ if spike.is_some() && (!ramp.is_empty() || arrival.is_some() || burstiness.is_some()) => {
                "`--spike` is over a Poisson process at one rate; leave `--ramp`, `--arrival` and `--burstiness` out"
            }
            _ if !ramp.is_empty() && (overrides.rate_per_s.is_some() || arrival.is_some() || burstiness.is_some()) => {
                "`--ramp` says both what rate there is and how requests arrive; leave `--rate`, `--arrival` and \
                 `--burstiness` out"
            }
            _ if !ramp.is_empty() => return None,
            Some(ArrivalPattern::Gamma { .. }) if burstiness.is_none() => {
                "`--arrival gamma` does not say how bursty; give `--burstiness` too, such as 0.5"
            }
            Some(other) if burstiness.is_some() && !matches!(other, ArrivalPattern::Gamma { .. }) => {
                "`--burstiness` is of gamma gaps; leave it out, or give `--arrival gamma`"
            }
            _ if self.arrival.users().is_some() && overrides.rate_per_s.is_none() => {
                return Some(format!(
                    "`{flag}` needs `--rate` here: the users of a closed loop have none to be spaced around"
                ));
            }
            _ => return None,
        };
        Some(sentence.to_owned())
    }

    /// The arrivals that the command line describes, if it does.
    fn typed_arrival(&self, overrides: &Overrides) -> Option<ArrivalPattern> {
        let rate_per_s = overrides.rate_per_s.unwrap_or_else(|| self.arrival.mean_rate_per_s());
        if let Some(spike) = overrides.spike {
            let spikes = vec![spike.over(rate_per_s)];
            return Some(ArrivalPattern::Spikes { base_rate_per_s: rate_per_s, spikes });
        }
        Some(match (overrides.burstiness, &overrides.arrival) {
            _ if !overrides.ramp.is_empty() => ArrivalPattern::Stages { stages: overrides.ramp.clone() },
            (Some(burstiness), _) => ArrivalPattern::Gamma { rate_per_s, burstiness },
            (None, Some(arrival)) => arrival.clone().with_mean_rate(rate_per_s),
            (None, None) => return None,
        })
    }

    /// Replaces arrivals by one process that all classes share.
    fn with_arrival(&mut self, arrival: ArrivalPattern) {
        if let ArrivalPattern::ByClass { classes: processes } = &self.arrival {
            for (class, process) in self.classes.iter_mut().zip(processes) {
                class.weight = process.mean_rate_per_s();
            }
        }
        self.arrival = arrival;
    }

    /// Replaces the arrivals by a closed loop of users.
    fn with_users(&mut self, users: u64, think_time_s: ThinkTime, at_once: bool) {
        self.with_arrival(if at_once {
            ArrivalPattern::Users { users, think_time_s, ramp_s: 0.0 }
        } else {
            ArrivalPattern::of_users(users, think_time_s)
        });
    }

    fn changed(&self, overrides: &Overrides) -> Self {
        let mut spec = self.clone();
        if let Some(horizon_s) = overrides.horizon_s {
            spec.horizon_s = horizon_s;
            spec.requests = None;
        }
        spec.requests = overrides.requests.or(spec.requests);
        spec.seed = overrides.seed.unwrap_or(spec.seed);
        spec.drain_s = overrides.drain_s.unwrap_or(spec.drain_s);
        spec.cooldown_s = overrides.cooldown_s.or(spec.cooldown_s);
        if let Some(arrival) = self.typed_arrival(overrides) {
            spec.with_arrival(arrival);
        } else if let Some(rate_per_s) = overrides.rate_per_s {
            spec.arrival = spec.arrival.with_mean_rate(rate_per_s);
        }
        if !overrides.ramp.is_empty() && overrides.horizon_s.is_none() && overrides.requests.is_none() {
            spec.horizon_s = overrides.ramp.iter().map(|stage| stage.duration_s).sum();
            spec.requests = None;
        }
        let declared = match &self.arrival {
            ArrivalPattern::Users { think_time_s, .. } => *think_time_s,
            _ => ThinkTime::default(),
        };
        let think_time_s = overrides.think_time_s.map_or(declared, |value| ThinkTime::Constant { value });
        if let Some(users) = overrides.users {
            spec.with_users(users, think_time_s, overrides.users_at_once || overrides.requests.is_some());
            // The server decides how many requests they send.
            spec.requests = overrides.requests;
        } else if let ArrivalPattern::Users { think_time_s: of_users, .. } = &mut spec.arrival {
            *of_users = think_time_s;
        }
        spec.clients = overrides.clients.applied(spec.clients);
        overrides.dataset.apply(&mut spec.classes);
        for class in &mut spec.classes {
            overrides.input_tokens.iter().for_each(|typed| class.input_tokens.clone_from(typed));
            overrides.output_tokens.iter().for_each(|typed| class.output_tokens.clone_from(typed));
            if let Some(slo) = overrides.slo {
                class.priorities.iter_mut().for_each(|share| share.slo = slo);
            }
        }
        if overrides.slo.is_some() {
            spec.tenants.iter_mut().for_each(|tenant| tenant.slo = None);
        }
        spec.warmup_s =
            overrides.warmup_s.unwrap_or_else(|| spec.window().adapted_warmup_s(&self.window(), self.warmup_s));
        spec
    }
}
