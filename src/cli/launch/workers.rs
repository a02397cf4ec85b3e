//! The workers that run one plan together: what they run, what they need, and what a launched bench may not say.

use std::path::Path;
use std::time::Duration;

use clap::Args;

use super::BenchReader;
use crate::cli::args::{AROUND_ALL, PROFILED, size, some_time, variables, whole};
use crate::cli::bench::{BenchArgs, BenchPlan};
use crate::engine::{BaseUrl, Secret, Secrets, Target, without_secrets};
use crate::experiment::InvalidRuns;
use crate::record::Shard;
use crate::report::{Extent, Format};
use crate::session::exits::Undecided;
use crate::session::run::{CheckedWorkload, PlannedLoad, public_load};
use crate::session::settings::RunSettings;
use crate::session::{PlannedRun, Printer, Stop, all};

/// Time of a worker beside its load. It is for its node and image, calibration, the server, the others, and its files.
const MARGIN: Duration = Duration::from_secs(15 * 60);

/// Time of the merge beside that of a worker.
pub(super) const MERGE: Duration = Duration::from_secs(60 * 60);

/// The variable of a token for the hub, from which workers fetch their tokenizer.
const HUB_TOKEN: &str = "HF_TOKEN";

/// The workers, and the bench that they run.
#[derive(Debug, Args)]
pub(super) struct WorkerArgs {
    /// Number of workers, each of which runs its share of the plan
    #[arg(long, value_name = "N", value_parser = shards, allow_negative_numbers = true)]
    shards: u64,

    /// Name of all that is created, a new one each time [default: WORKLOAD-TIME]
    #[arg(long, value_name = "NAME", value_parser = name)]
    name: Option<String>,

    /// Cores of a worker: one reads and stamps, the other does the rest
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = whole::<u64>(1..=1_024))]
    cpus: u64,

    /// Memory of a worker, whose records take 1 GiB of it at most
    #[arg(long, value_name = "SIZE", default_value = "2GiB", value_parser = size)]
    memory: u64,

    /// How long each worker waits for all others [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = some_time)]
    start_wait: Option<Duration>,

    /// Most time of a worker [default: load, drain, typed waits, and 15 min more]
    #[arg(long, value_name = "TIME", value_parser = some_time)]
    time: Option<Duration>,

    /// The bench, as it would be typed here: `bench short_chat 600 --url http://host:8000`
    #[arg(last = true, required = true, value_name = "BENCH")]
    command: Vec<String>,
}

/// Workers that are ready to be described.
pub(super) struct Workers<'a> {
    args: &'a WorkerArgs,
    pub(super) name: String,
    /// The salt of their prompts, which another launch of this name has not.
    salt: u64,
    pub(super) bench: Box<BenchArgs>,
    pub(super) plan: BenchPlan,
    /// Words of the bench after its verb. Those that name the place of its results are not among them.
    words: Vec<String>,
    /// Environment variables that it reads.
    pub(super) variables: Vec<String>,
    pub(super) time: Duration,
}

impl Workers<'_> {
    /// Values of every template.
    pub(super) fn values(&self) -> Vec<(&'static str, String)> {
        let WorkerArgs { shards, cpus, memory, .. } = self.args;
        let numbers =
            [("shards", *shards), ("last", shards - 1), ("cpus", *cpus), ("memory", memory.div_ceil(1 << 20))];
        let texts = [("name", self.name.clone()), ("version", env!("CARGO_PKG_VERSION").to_owned())];
        numbers.map(|(name, number)| (name, number.to_string())).into_iter().chain(texts).collect()
    }

    /// The folder of this launch, below the one of all results.
    pub(super) fn folder(&self, results: &str) -> String {
        format!("{results}/{}/{}", self.name, self.salt)
    }

    /// Words of a worker's bench after its verb, but for --out. Its results and those of the others are in `folder`.
    pub(super) fn bench(&self, folder: &str) -> Vec<String> {
        let start = self.bench.beside.share.start_at.is_none().then(|| format!("--start-together={folder}/start"));
        let wait = self.args.start_wait.map(|limit| format!("--start-wait={}s", limit.as_secs_f64()));
        start.into_iter().chain(wait).chain(self.words.iter().cloned()).collect()
    }

    /// Words of the merge of what the workers leave in `folder`. Where nothing else waits for them, `wait` does.
    pub(super) fn merge(&self, folder: &str, wait: Option<Duration>) -> Vec<String> {
        let wait = wait.map(|limit| format!("--wait={}s", limit.as_secs()));
        let BenchPlan { rules, outputs, .. } = &self.plan;
        let shown = [("--json", Format::Json), ("--full", Format::Text(Extent::Full))].into_iter();
        let shown = shown.filter(|(_, form)| outputs.shown() == Some(*form)).map(|(option, _)| option);
        let counted = (rules.invalid == InvalidRuns::Counted).then_some("--allow-invalid");
        let undecided = (rules.undecided == Some(Undecided::Pass)).then_some("--undecided=pass");
        let words = ["merge", "--out", folder].into_iter().chain(shown).chain(counted).chain(undecided);
        let shards = (0..self.args.shards).map(|shard| format!("{folder}/shard-{shard}"));
        words.map(str::to_owned).chain(wait).chain(shards).collect()
    }
}

/// A number of workers.
fn shards(text: &str) -> Result<u64, String> {
    let read = whole(2..=Shard::MOST)(text);
    read.map_err(|error| format!("{error}; one worker runs the whole plan: skyline bench without launch"))
}

/// A name for every platform, with room for what is added to it.
pub(super) fn name(text: &str) -> Result<String, String> {
    let is_inner = |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == '-';
    let is_name = (1..=52).contains(&text.len()) && text.chars().all(is_inner) && !text.starts_with('-');
    (is_name && !text.ends_with('-')).then(|| text.to_owned()).ok_or_else(|| {
        format!("`{text}` is not a name: up to 52 small letters, digits and hyphens, with no hyphen at an end")
    })
}

impl WorkerArgs {
    /// Checks the bench as if it were run here as one of the workers.
    pub(super) fn checked(&self, read: BenchReader, printer: Printer) -> Result<Workers<'_>, Stop> {
        let words = &self.command[usize::from(self.command[0] == "skyline")..];
        if words.first().is_none_or(|verb| verb != "bench") {
            return Err(Stop::usage(format!(
                "`{}` has no shares; only a bench has\n\
                 hint: what follows -- is such as bench short_chat 600 --url http://host:8000",
                self.command.join(" ")
            )));
        }
        let (mut bench, effect) = read(words, printer)?;
        // Results of a file of settings are in a folder of this machine.
        let filed = effect.settings.iter().find(|(argument, _)| argument.starts_with("--out="));
        let arguments = effect.arguments.iter().skip(2).filter_map(|word| word.to_str());
        let arguments = arguments.filter(|word| filed.is_none_or(|(argument, _)| argument != word));
        let mut words: Vec<String> = arguments.map(str::to_owned).collect();
        let has_out = words.iter().any(|word| matches!(word.split('=').next(), Some("--out" | "--result-dir")));
        let is_stdin = bench.workload.what.named().0 == Some("-");
        let waits_in_vain = self.start_wait.is_some() && bench.beside.share.start_at.is_some();
        let refused = [
            (waits_in_vain, "--start-wait: with --start-at no worker waits for another\nhint: leave one of them out"),
            (bench.beside.profile.is_some(), PROFILED),
            (bench.beside.has_commands(), AROUND_ALL),
            (bench.beside.share.shard.is_some(), "--shard: each worker has its own share\nhint: leave it out"),
            (bench.workload.repeats > 1, "--repeats: shares are of one run\nhint: launch one for each --seed"),
            (bench.dry_run, "--dry-run: workers would send nothing\nhint: type the bench without launch"),
            (has_out, "--out: launch says where results are\nhint: leave it out; see --claim and --shared-dir"),
            (is_stdin, "`-`: workers have no standard input\nhint: write the workload to a file, and name that"),
        ];
        all(refused.map(|(is_refused, why)| if is_refused { Err(Stop::usage(why)) } else { Ok(()) }))?;
        let server = &mut bench.target.server;
        let (mut headers, mut key) = (std::mem::take(&mut server.headers), server.api_key_env.take());
        for own in &mut server.own_headers {
            headers.push(own.clone());
            // Its value may be in the environment of the workers alone.
            if let Some((name, _)) = own.split_once(':') {
                *own = format!("{name}: 0");
            }
        }
        // What follows the verb stands before a `--` that was typed.
        let mut own = vec![format!("--shard=auto/{}", self.shards)];
        if key.is_none() {
            // A key that a bench would send from here.
            key = server.api_key()?.and_then(|key| key.variable().map(str::to_owned));
            own.extend(key.iter().map(|name| format!("--api-key-env={name}")));
        }
        let mut variables = variables(&headers, key).map_err(Stop::usage)?;
        // The last share is the smallest.
        bench.beside.share.shard = Some(Shard { number: self.shards, of: self.shards });
        let typed = bench.target.requests.salt;
        let salt = *bench.target.requests.salt.get_or_insert_with(rand::random);
        if typed.is_none() {
            // Prefixes that requests share are the same in all shares.
            own.push(format!("--salt={salt}"));
        }
        let plan = bench.plan(printer)?;
        plan.checked.check_begin()?;
        plan.outputs.check_shares()?;
        refuse_secrets(&words, &plan.checked.settings)?;
        announce(&bench.load(&plan), &plan.checked.settings, printer)?;
        let tokenizer = plan.checked.settings.requests.tokenizer.as_ref();
        if tokenizer.is_some_and(|id| !Path::new(id).exists()) && Secret::of_variable(HUB_TOKEN).is_some() {
            variables.push(HUB_TOKEN.to_owned());
        }
        words.splice(0..0, own);
        Ok(Workers {
            name: self.name.clone().unwrap_or_else(|| name_of(&plan.checked.spec.name)),
            salt,
            variables,
            time: self.time.unwrap_or_else(|| longest(&plan) + self.start_wait.unwrap_or_default()),
            args: self,
            bench,
            plan,
            words,
        })
    }
}

/// A name that no launch had.
fn name_of(workload: &str) -> String {
    let plain = workload.to_ascii_lowercase().replace('_', "-");
    let short: String = plain.chars().take(30).collect();
    format!("{}-{}", short.trim_matches('-'), jiff::Timestamp::now().strftime("%Y%m%dt%H%M%Sz"))
}

/// Refuses a secret in what is printed.
fn refuse_secrets(words: &[String], settings: &RunSettings) -> Result<(), Stop> {
    let server = &settings.server;
    let target = |(place, url): (usize, &BaseUrl)| Target {
        common: server.of_server(place),
        ..Target::new(url.clone(), server.common.dialect)
    };
    let secrets = (0..).zip(server.address.urls()).map(|of| Secrets::from_target(&target(of)));
    let secrets = Secrets::joined(secrets);
    let is_secret = |word: &&String| without_secrets(&secrets.hide((*word).clone())) != **word;
    match words.iter().find(is_secret) {
        None => Ok(()),
        Some(word) => Err(Stop::usage(format!(
            "{} may hold a secret, and would stand in what is printed\nhint: --api-key-env NAME and --header 'Name: \
             env:NAME' take secrets from the environment of the workers",
            without_secrets(&secrets.hide(word.clone()))
        ))),
    }
}

/// Says what load there will be. One that a run asks about is refused, for nobody can answer a worker.
fn announce(load: &PlannedLoad, settings: &RunSettings, printer: Printer) -> Result<(), Stop> {
    printer.words(&format!("{}: {load}", load.label()));
    let mut at_once = settings.clone();
    at_once.server.wait = None;
    match public_load(load, [&at_once]) {
        Ok(Some(what)) => Err(Stop::usage(format!(
            "{what}\nhint: nobody can be asked on a cluster; if you may do that, give the bench --yes"
        ))),
        // The cluster may know a name that this machine does not.
        Ok(None) | Err(_) => Ok(()),
    }
}

/// Returns how long a worker may take, if all goes as it should.
fn longest(plan: &BenchPlan) -> Duration {
    let CheckedWorkload { spec, settings, .. } = &plan.checked;
    let load = plan.runs.first().map(PlannedRun::length).unwrap_or_default();
    let until_start = settings.share.start_at.map(|moment| moment.duration_since(jiff::Timestamp::now()));
    let until_start = until_start.and_then(|time| Duration::try_from(time).ok()).unwrap_or_default();
    until_start + settings.server.wait.unwrap_or_default() + load + Duration::from_secs_f64(spec.drain_s) + MARGIN
}
