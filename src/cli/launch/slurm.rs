//! `skyline launch slurm`: a script that submits an array of workers, and the merge of their runs.

use clap::Args;

use super::template::filled;
use super::workers::{MERGE, WorkerArgs, Workers};
use crate::session::Stop;

const SCRIPT: &str = include_str!("slurm.sh");

/// A script for Slurm.
#[derive(Debug, Args)]
pub(super) struct SlurmArgs {
    #[command(flatten)]
    pub(super) workers: WorkerArgs,

    /// Partition of the jobs [default: Slurm's]
    #[arg(long, value_name = "NAME")]
    partition: Option<String>,

    /// Account that the jobs are charged to [default: Slurm's]
    #[arg(long, value_name = "NAME")]
    account: Option<String>,

    /// Folder that all nodes share; the results are in one of its own in it
    #[arg(long, value_name = "DIR", default_value = "results")]
    shared_dir: String,
}

impl SlurmArgs {
    /// Returns the script, and words on how to use it.
    pub(super) fn script(&self, workers: &Workers<'_>) -> Result<(String, String), Stop> {
        let folder = workers.folder(self.shared_dir.trim_end_matches('/'));
        let line = |words: &[String]| match words.iter().find(|word| word.contains(['\n', '\r'])) {
            None => shlex::try_join(words.iter().map(String::as_str)).map_err(Stop::usage),
            Some(word) => Err(Stop::usage(format!(
                "{word:?} has a line break, which the script cannot hold\nhint: write it in one line"
            ))),
        };
        let options = [("partition", &self.partition), ("account", &self.account)];
        let options = options.iter().filter_map(|(name, value)| Some(format!("--{name}={}", value.as_ref()?)));
        let options: Vec<_> = options.collect();
        let options = if options.is_empty() { String::new() } else { format!(" {}", line(&options)?) };
        let mut values = workers.values();
        values.extend([
            ("options", options),
            ("minutes", workers.time.as_secs().div_ceil(60).to_string()),
            ("merge_minutes", (workers.time + MERGE).as_secs().div_ceil(60).to_string()),
            ("folder", line(std::slice::from_ref(&folder))?),
            ("bench", line(&workers.bench(&folder))?),
            ("merge", line(&workers.merge(&folder, None))?),
        ]);
        let words = format!("to run it: pipe this into sh, where sbatch is\nthe report: {folder}/merge.log");
        Ok((filled(SCRIPT, &values), words))
    }
}
