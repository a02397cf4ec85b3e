//! The file of a tuning: requests, objectives, a server, and the axes of its flags.

use std::path::Path;

use super::axes::{self, TuneAxis, TuneCandidate};
use crate::analysis::Objective;
use crate::experiment::matrix::{Settings, VariantServer, objectives};
use crate::workload::reading::{Fields, Mistakes, Node, parse_toml, read_file, read_whole, spec_table};
use crate::workload::{SpecError, WorkloadSpec};

/// The text of the file inside the program.
const EXAMPLE: &str = include_str!("../../../workloads/experiments/tune_seqs.toml");
/// Name of the file inside the program.
const EXAMPLE_NAME: &str = "tune_seqs";

spec_table! {
    /// What is asked of a tuning.
    pub struct TuneSpec = "a tuning" {
        /// Its name.
        name: String = required(|place| place.name()),
        /// What it is for.
        #[serde(skip_serializing_if = "String::is_empty")]
        description: String = optional(String::new(), |place| place.text()),
        /// The requests; the rate is that of the first run, per accelerator.
        requests: Settings = required(|place| place.table("the requests", requests)),
        /// What a variant must meet at a load: at least one.
        objectives: Vec<Objective> = required(objectives),
        /// What is common to all variants.
        server: VariantServer = optional(VariantServer::default(), VariantServer::read),
        /// The flags that differ.
        axes: Vec<TuneAxis> = required(axes::read),
    }
    then(check)
}

fn check(fields: &Fields<'_>, tuning: &TuneSpec) -> Option<()> {
    // Throughput says which load is served, and not whether it is served well.
    let odd = |one: &&Objective| one.most_over().is_none() && !one.comparison.is_upper();
    if let Some(odd) = tuning.objectives.iter().find(odd) {
        let said =
            format!("has `{odd}`, which no load decides; use percentiles of latencies, such as `p95 ttft < 500ms`");
        return fields.reject_of("objectives", &said);
    }
    if tuning.server.serve.is_some() && tuning.server.url.is_none() {
        return fields.reject_of("server", "has a `serve` command and no `url`; say where it will serve");
    }
    let commands = [&tuning.server.serve, &tuning.server.start];
    if commands.into_iter().flatten().any(|command| !command.contains("{flags}")) {
        let said = "has a command without `{flags}`, so that all variants would be one; write {flags} where they go";
        return fields.reject_of("server", said);
    }
    Some(())
}

impl TuneSpec {
    /// Text of the embedded file, comments and all: the best start for one's own.
    pub const fn example() -> &'static str {
        EXAMPLE
    }

    /// Loads the embedded file by its name, or one by its path. Such a one ends in `.toml` or `.json`.
    ///
    /// # Errors
    ///
    /// When there is no such file, or with every mistake in it.
    pub fn load(name_or_path: &str) -> Result<Self, SpecError> {
        if name_or_path == EXAMPLE_NAME {
            return Self::from_toml(EXAMPLE, EXAMPLE_NAME);
        }
        let path = Path::new(name_or_path);
        let mut spec = Self::from_node(read_file(path, "skyline tune --example")?, name_or_path)?;
        spec.requests.anchor(path.parent().unwrap_or(Path::new("")));
        Ok(spec)
    }

    /// Reads TOML. `origin` names the text in the error.
    ///
    /// # Errors
    ///
    /// Every mistake in it.
    pub fn from_toml(text: &str, origin: &str) -> Result<Self, SpecError> {
        Self::from_node(parse_toml(text), origin)
    }

    fn from_node(node: Result<Node, Mistakes>, origin: &str) -> Result<Self, SpecError> {
        read_whole(node, origin, None, Self::read)
    }

    /// Returns every combination of the values of its axes.
    pub fn candidates(&self) -> Vec<TuneCandidate> {
        axes::candidates(&self.axes, self.server.gpus.unwrap_or(1))
    }

    /// The requests as a workload, at the first rate for one accelerator.
    ///
    /// # Errors
    ///
    /// When something is missing or does not fit together: what, and what to do.
    pub fn workload(&self) -> Result<WorkloadSpec, String> {
        let spec = self.requests.spec(&self.name)?;
        match spec.arrival.users() {
            None => Ok(spec),
            Some(users) => Err(format!(
                "`{}` is a closed loop of {users} users, so its rate depends on the server; tune with open arrivals",
                spec.name
            )),
        }
    }
}

/// The requests of a tuning: settings of a row without those that the search chooses.
fn requests(fields: &mut Fields<'_>) -> Option<Settings> {
    let read = Settings::read_fields(fields)?;
    let chosen =
        [("users", read.users.is_some()), ("repeats", read.repeats.is_some()), ("horizon_s", read.horizon_s.is_some())];
    for (name, _) in chosen.iter().filter(|(_, given)| *given) {
        fields.complain_of(name, "is given, and the search chooses loads and lengths of runs; leave it out");
    }
    let alike = read.workload.is_none() && read.rate_per_s.is_none();
    let rate_per_s = if alike { Some(1.0) } else { read.rate_per_s };
    chosen.iter().all(|(_, given)| !given).then_some(Settings { rate_per_s, ..read })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
        name = "t"
        objectives = ["p95 ttft < 500ms"]
        [requests]
        input_tokens = 64
        output_tokens = 16
        [server]
        url = "http://127.0.0.1:9"
        serve = "exec vllm serve m {flags}"
        flags = "--port 9"
        [axes]
        max_num_seqs = [64, 256]
        tensor_parallel_size = [1, 2]
        enable_prefix_caching = [true, false]
        quantization = { none = "", fp8 = { flags = "--quantization fp8", gpus = 1 } }
    "#;

    #[test]
    fn every_combination_has_its_flags_and_accelerators() {
        let spec = TuneSpec::from_toml(FILE, "t.toml").unwrap();
        let all = spec.candidates();
        assert_eq!(all.len(), 16);
        assert_eq!(all[0].name, "64-1-on-none");
        let last = all.last().unwrap();
        assert_eq!((last.name.as_str(), last.gpus), ("256-2-off-fp8", 2));
        let served = last.variant(&spec.server);
        assert_eq!(
            served.server.with_flags(served.server.serve.as_deref().unwrap()),
            "exec vllm serve m --port 9 --max-num-seqs 256 --tensor-parallel-size 2 --no-enable-prefix-caching \
             --quantization fp8"
        );
        assert_eq!(all[0].differs_in(&all[1]), Some(3));
        assert_eq!(all[0].differs_in(last), None);
        assert_eq!(spec.workload().unwrap().arrival.mean_rate_per_s(), 1.0);
    }

    #[test]
    fn mistakes_say_what_to_write() {
        for (from, to, said) in [
            ("[64, 256]", "[64]\nx = [1]", ""),
            ("[64, 256]", "64", "no list of values"),
            ("[64, 256]", "[[1]]", "a number, a text, true or false"),
            ("[1, 2]", "[0]", "a whole number"),
            ("[1, 2]", "[\"a b\", \"a_b\"]", "a whole number"),
            ("fp8\", gpus = 1", "fp8\", gpu = 1", "write the flags in quotes"),
            ("serve m {flags}", "serve m", "write {flags} where they go"),
            ("p95 ttft < 500ms", "goodput > 5/s", "which no load decides"),
            ("input_tokens = 64", "users = 4", "leave it out"),
            ("url = \"http://127.0.0.1:9\"", "", "say where it will serve"),
        ] {
            let read = TuneSpec::from_toml(&FILE.replacen(from, to, 1), "t.toml");
            match read {
                Ok(_) => assert_eq!(said, "", "{to} is accepted"),
                Err(error) => assert!(!said.is_empty() && error.to_string().contains(said), "{error}"),
            }
        }
        let one = FILE.split("[axes]").next().unwrap().to_owned() + "[axes]\nmax_num_seqs = [64]";
        assert!(TuneSpec::from_toml(&one, "t").unwrap_err().to_string().contains("a second value"));
        let twice = one.replace("[64]", "[\"a b\", \"a_b\"]");
        assert!(TuneSpec::from_toml(&twice, "t").unwrap_err().to_string().contains("two variants called"));
    }

    #[test]
    fn the_example_is_sound() {
        let spec = TuneSpec::from_toml(TuneSpec::example(), "example").unwrap();
        assert!(spec.candidates().len() >= 4 && spec.workload().is_ok());
        assert_eq!(TuneSpec::load("tune_seqs").unwrap(), spec);
    }
}
