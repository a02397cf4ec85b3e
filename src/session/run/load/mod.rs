//! The load that is planned, in one line, before it is sent.

use std::fmt;
use std::time::Duration;

use crate::experiment::Load;
use crate::record::Shard;
use crate::session::planned::{self, PlannedRun};
use crate::session::settings::RunSettings;
use crate::units::{count, counted, spoken, three_digits};
use crate::workload::{ClientBehaviour, WorkloadSpec};

/// The load of a run, or of all runs of an experiment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "what one line says or leaves out, each by itself")]
pub(crate) struct PlannedLoad {
    /// Whether less may be enough: what the runs find decides.
    pub(crate) at_most: bool,
    /// Whether what the runs find decides how many there are.
    pub(crate) about: bool,
    /// Whether what they find raises the rate.
    pub(crate) rises: bool,
    /// Whether some of the runs may have been stored before.
    pub(crate) resumed: bool,
    runs: u64,
    /// How many generators each send as much.
    generators: u64,
    /// Requests, those of closed loops apart; infinite where what is found decides.
    requests: f64,
    /// Requests among them that are warm-up.
    warm_up: f64,
    /// Whether more load follows, until the last of them is answered.
    goes_on: bool,
    /// Whether all of them are known.
    exact: bool,
    /// Requests of closed loops, as if each user sent one a second.
    of_users: f64,
    /// Requests per second at the peak, those of closed loops apart.
    per_s: f64,
    /// Most requests that leave together, of loads that end with their requests.
    at_once: u64,
    /// Requests per second of closed loops, as if each user sent one a second.
    of_users_per_s: f64,
    /// Infinite where a load ends with its requests.
    seconds: f64,
    /// Mean tokens of a prompt and of an answer. Each is not a number where a file decides.
    tokens: [f64; 2],
    /// Tokens beyond that, on average: later turns of a conversation repeat the earlier ones.
    history: f64,
    /// Most requests in flight; absent: no limit.
    in_flight: Option<u64>,
    /// Most times that a request is sent, again and as a hedge.
    most_sent: u64,
}

impl PlannedLoad {
    /// Returns the load of these runs.
    pub(crate) fn of_all<'a>(runs: impl IntoIterator<Item = &'a PlannedRun>, settings: &RunSettings) -> Self {
        let (cap, shard) = (settings.requests.caps().max_concurrency, settings.share.shard);
        let loads = runs.into_iter().map(|run| Self::new(run, cap, shard));
        loads.reduce(Self::and).unwrap_or_default()
    }

    /// Returns the load of a run, or of one generator's share of it.
    pub(super) fn new(run: &PlannedRun, cap: Option<u64>, shard: Option<Shard>) -> Self {
        let PlannedRun { workload, plan, .. } = run;
        let exact = workload.requests.is_some() && shard.is_none();
        let seconds = if plan.is_open_ended() { f64::INFINITY } else { run.length().as_secs_f64() };
        let generators = shard.map_or(1, |shard| shard.of);
        let lasting = |load| Self::lasting(seconds, load, workload, cap).with_lengths_of(run);
        let Some(users) = workload.arrival.users() else {
            let turns = workload.mean_turns();
            let requests = (plan.warmup_requests + plan.measured_requests) as f64 * turns;
            let per_s = workload.arrival.peak_rate_per_s() * turns / generators as f64;
            let load = lasting(Load::Rate(0.0));
            let (warm_up, exact) = (plan.warmup_requests as f64 * turns, exact && turns <= 1.0);
            return Self { generators, requests, warm_up, exact, per_s, ..load };
        };
        let own = shard.map_or(users, |shard| shard.among_first(users));
        let load = Self { generators, exact, ..lasting(Load::Users(own)) };
        match workload.requests {
            Some(requests) => Self { requests: requests as f64, at_once: own.min(requests), of_users: 0.0, ..load },
            None => load,
        }
    }

    /// Returns the load with the lengths of the planned requests, where a file has them.
    pub(crate) fn with_lengths_of(self, run: &PlannedRun) -> Self {
        if self.tokens.iter().all(|tokens| tokens.is_finite()) {
            return self;
        }
        let [mut requests, mut prompts, mut answers] = [0.0; 3];
        for request in planned::sample(&run.schedule, &run.plan, SAMPLE) {
            requests += 1.0;
            prompts += f64::from(request.input_tokens);
            answers += f64::from(request.output_tokens);
        }
        let tokens = [prompts / requests, answers / requests];
        Self { tokens, history: history(tokens, &run.workload), ..self }
    }

    /// Returns the load of a run of `workload` under `load` for so many seconds.
    pub(crate) fn lasting(seconds: f64, load: Load, workload: &WorkloadSpec, cap: Option<u64>) -> Self {
        let users = load.users();
        let rate = if users.is_none() { load.amount() } else { 0.0 };
        let per_s = rate * workload.mean_turns();
        let (mean, peak) = (workload.arrival.mean_rate_per_s(), workload.arrival.peak_rate_per_s());
        let of_users_per_s = users.unwrap_or(0) as f64;
        Self {
            runs: 1,
            generators: 1,
            goes_on: workload.load_after_s() > 0.0,
            requests: if users.is_none() { per_s * seconds } else { 0.0 },
            warm_up: if users.is_none() { per_s * workload.warmup_s.min(seconds) } else { 0.0 },
            of_users: if users.is_some() { of_users_per_s * seconds } else { 0.0 },
            per_s: if mean > 0.0 { per_s * peak / mean } else { per_s },
            of_users_per_s,
            seconds,
            tokens: workload.mean_tokens(),
            history: history(workload.mean_tokens(), workload),
            in_flight: users.map(|users| workload.most_in_flight_of(users)).into_iter().chain(cap).min(),
            most_sent: workload.clients.as_ref().map_or(1, ClientBehaviour::most_sent),
            ..Self::default()
        }
    }

    /// Returns the load of so many runs of it.
    pub(crate) fn times(self, runs: u64) -> Self {
        self.in_runs(self.runs * runs)
    }

    /// Load of so many runs in all.
    pub(crate) fn in_runs(self, runs: u64) -> Self {
        let times = runs as f64 / self.runs.max(1) as f64;
        let (requests, of_users) = (self.requests * times, self.of_users * times);
        let (warm_up, seconds) = (self.warm_up * times, self.seconds * times);
        Self { runs, requests, warm_up, of_users, seconds, ..self }
    }

    /// The two, one after the other.
    pub(crate) fn and(self, next: Self) -> Self {
        let (one, other) = (self.requests + self.of_users, next.requests + next.of_users);
        let mean = |place: usize| (self.tokens[place] * one + next.tokens[place] * other) / (one + other);
        Self {
            generators: self.generators.max(next.generators),
            runs: self.runs + next.runs,
            requests: self.requests + next.requests,
            warm_up: self.warm_up + next.warm_up,
            goes_on: self.goes_on || next.goes_on,
            exact: self.exact && next.exact,
            of_users: self.of_users + next.of_users,
            per_s: self.per_s.max(next.per_s),
            at_once: self.at_once.max(next.at_once),
            of_users_per_s: self.of_users_per_s.max(next.of_users_per_s),
            seconds: self.seconds + next.seconds,
            tokens: [mean(0), mean(1)],
            history: self.history.max(next.history),
            in_flight: self.in_flight.zip(next.in_flight).map(|(one, other)| one.max(other)),
            most_sent: self.most_sent.max(next.most_sent),
            ..self
        }
    }

    /// Returns the load with so many requests before the first run.
    pub(crate) fn warmed_with(self, requests: u64) -> Self {
        let more = requests as f64;
        let (users, others) = if self.of_users > 0.0 { (more, 0.0) } else { (0.0, more) };
        let (requests, warm_up) = (self.requests + others, self.warm_up + others);
        Self { requests, warm_up, of_users: self.of_users + users, ..self }
    }

    /// Returns the load with rates and requests that a search finds.
    pub(crate) fn searched(self) -> Self {
        Self { requests: f64::INFINITY, per_s: f64::INFINITY, ..self }
    }

    /// Returns the requests per second of all generators at the peak. Each counts as often as it may be sent, as if a
    /// user sent one a second. Infinite where a search finds it.
    pub(super) fn all_per_s(&self) -> f64 {
        self.per_s.max(self.of_users_per_s) * self.times_sent()
    }

    /// How many requests, and how fast.
    pub(super) fn requests_in_words(&self) -> String {
        let users = "as many requests as users get answered";
        let counted = match self.requests {
            f64::INFINITY => "as many requests as the search needs".to_owned(),
            requests if self.exact => counted(requests.ceil() as u64, "request"),
            requests => format!("about {} requests", count(requests.ceil() as u64)),
        };
        let is_paced = self.per_s > 0.0 && self.per_s.is_finite();
        let rate = match three_digits(self.per_s) {
            _ if !is_paced => String::new(),
            from if self.rises => format!(" from {from}/s on"),
            most if self.at_once > 0 => format!(" at up to {most}/s or {} at once", count(self.at_once)),
            most => format!(" at up to {most}/s"),
        };
        let share = match self.generators {
            0 | 1 => String::new(),
            of => format!(" from each of {of} generators"),
        };
        let again = match self.most_sent {
            0 | 1 => String::new(),
            most => format!(", each sent up to {most} times"),
        };
        match (self.requests > 0.0, self.of_users > 0.0) {
            (true, true) => format!("{counted}{rate} and {users}{share}{again}"),
            (true, false) => counted + &rate + &share + &again,
            (false, _) => format!("{users}{share}{again}"),
        }
    }

    /// Returns in words what of it does not count, such as `; 30 for warm-up`.
    fn beside(&self) -> String {
        let mut said = String::new();
        if self.warm_up > 0.0 && self.requests.is_finite() {
            let whole = |requests: f64| count(requests.round() as u64);
            said = format!("; {} count, {} for warm-up", whole(self.requests - self.warm_up), whole(self.warm_up));
        }
        if self.goes_on {
            said.push_str("; uncounted load follows until the last answer");
        }
        said
    }

    /// How many requests are planned, those of closed loops apart.
    pub(crate) fn counted(&self) -> u64 {
        self.requests.round() as u64
    }

    /// Returns the number of all requests of all generators. Each counts as often as it may be sent, as if a user sent
    /// one a second.
    pub(super) fn all_requests(&self) -> f64 {
        (self.requests + self.of_users) * self.times_sent()
    }

    /// Returns the tokens of all requests of all generators. An answer has `of_answers` where so many are planned. Not
    /// a number where a file decides how many.
    pub(super) fn all_tokens(&self, of_answers: impl Fn(f64) -> f64) -> f64 {
        let [prompt, answer] = self.tokens;
        self.all_requests() * (prompt + self.history + of_answers(answer))
    }

    fn times_sent(&self) -> f64 {
        (self.generators * self.most_sent.max(1)) as f64
    }

    /// Returns the name of the load before a colon.
    pub(crate) fn label(&self) -> &'static str {
        match (self.at_most, self.resumed) {
            (false, false) => "load",
            (true, false) => "load at most",
            (false, true) => "load, with the runs stored before",
            (true, true) => "load at most, with the runs stored before",
        }
    }
}

impl fmt::Display for PlannedLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.requests_in_words())?;
        if self.runs > 1 {
            write!(f, " in {}{} runs", if self.about { "about " } else { "" }, count(self.runs))?;
        }
        if self.seconds.is_finite() {
            write!(f, " over {}", spoken(Duration::from_secs_f64(self.seconds)))?;
        }
        let is_counted = self.of_users == 0.0 && self.requests.is_finite();
        let each = if is_counted { self.requests } else { 1.0 };
        let [prompt, answer] = self.tokens.map(|tokens| tokens * each);
        if prompt.is_finite() && answer.is_finite() {
            let least = if self.history > 0.0 { "at least " } else { "" };
            let end = if is_counted { "" } else { " each" };
            match rounded(answer) {
                _ if answer == 0.0 => write!(f, ", {least}{} prompt tokens{end}", rounded(prompt))?,
                answer => write!(f, ", {least}{} prompt + {answer} answer tokens{end}", rounded(prompt))?,
            }
        }
        let most = self.in_flight.map_or("no limit".to_owned(), |most| format!("at most {}", count(most)));
        write!(f, ", {most} in flight{}", self.beside())
    }
}

/// Requests of users whose lengths are taken.
const SAMPLE: usize = 1_000;

/// Tokens that later turns repeat, on average.
fn history(tokens: [f64; 2], workload: &WorkloadSpec) -> f64 {
    tokens.iter().sum::<f64>() * (workload.mean_turns() - 1.0) / 2.0
}

/// A large number with three digits.
pub(super) fn rounded(number: f64) -> String {
    match number {
        1e6.. => format!("{}M", three_digits(number / 1e6)),
        1e4.. => format!("{}k", three_digits(number / 1e3)),
        _ => count(number.round() as u64),
    }
}

#[cfg(test)]
mod tests;
