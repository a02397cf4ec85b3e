//! The share of a plan that the environment names: the rank of this process in its job.

use crate::record::Shard;
use crate::units::joined;

/// The word for the share of this process's rank. The number of shares may follow: `auto/8`.
const AUTO: &str = "auto";

/// Variables by which one kind of job numbers its processes.
struct JobKind {
    name: &'static str,
    /// The variable with this process's number.
    index: &'static str,
    /// Variables with the first process's number and the distance to the next. Absent: 0 and 1.
    first_and_step: Option<[&'static str; 2]>,
    /// The variable with the number of processes.
    count: &'static str,
}

/// The kinds of jobs, in the order in which they count. `mpirun` in a Slurm job starts processes of one Slurm task.
///
/// Kubernetes tells a pod its index alone, so whoever writes the Job sets the count.
const JOB_KINDS: [JobKind; 5] = [
    job("Kubernetes Indexed Job", "JOB_COMPLETION_INDEX", "SKYLINE_SHARDS"),
    JobKind {
        first_and_step: Some(["SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_STEP"]),
        ..job("Slurm array", "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT")
    },
    job("Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    job("MPICH, PMI", "PMI_RANK", "PMI_SIZE"),
    job("Slurm tasks", "SLURM_PROCID", "SLURM_NTASKS"),
];

const fn job(name: &'static str, index: &'static str, count: &'static str) -> JobKind {
    JobKind { name, index, first_and_step: None, count }
}

/// Reads a share of the plan: `1/2`, `auto` or `auto/8`.
pub(super) fn shard(text: &str) -> Result<Shard, String> {
    Environment(&|name| std::env::var(name).ok()).shard(text)
}

/// Returns a warning where this process is one of several. Each of them would send the whole plan.
pub(super) fn warning_of_whole_plan() -> Option<String> {
    Environment(&|name| std::env::var(name).ok()).warning_of_whole_plan()
}

/// The variables of a process.
struct Environment<'a>(&'a dyn Fn(&str) -> Option<String>);

impl Environment<'_> {
    fn shard(&self, text: &str) -> Result<Shard, String> {
        let Some(count) = text.trim().strip_prefix(AUTO) else {
            return text.parse().map_err(|error| format!("{error}; `{AUTO}` takes it from the environment"));
        };
        let given = match count {
            "" => None,
            _ => Some(self.given(count).ok_or_else(|| {
                format!("`{text}` names no number of shares; write {AUTO}/8; there are {} at most", Shard::MOST)
            })?),
        };
        match self.job() {
            Some(job) => self.shard_in(job, given),
            None => {
                let kinds = JOB_KINDS.iter().map(|job| format!("{} ({})", job.index, job.name));
                Err(format!(
                    "the environment names no rank: none of {} is set\n\
                     hint: give the share by its number, such as --shard 1/8",
                    joined(kinds, ", ")
                ))
            }
        }
    }

    fn given(&self, count: &str) -> Option<u64> {
        count.strip_prefix('/')?.parse().ok().filter(|of| (1..=Shard::MOST).contains(of))
    }

    fn warning_of_whole_plan(&self) -> Option<String> {
        let job = self.job()?;
        let Shard { number, of } = self.shard_in(job, None).ok().filter(|shard| shard.of > 1)?;
        Some(format!(
            "warning: this process is number {number} of {of} ({}), and sends the whole plan; --shard {AUTO} sends its \
             share",
            job.name
        ))
    }

    /// The job that this process is of: the first with several processes, else the first.
    fn job(&self) -> Option<&'static JobKind> {
        let there = || JOB_KINDS.iter().filter(|job| self.text(job.index).is_some());
        there().find(|job| self.number(job.count) != Ok(Some(1))).or_else(|| there().next())
    }

    /// The share of this process in `job`. There are `given` shares, or as many as the environment says.
    fn shard_in(&self, job: &JobKind, given: Option<u64>) -> Result<Shard, String> {
        let JobKind { name, index, first_and_step, count } = job;
        let named = self.number(index)?.unwrap_or_default();
        let of = match given {
            Some(of) => of,
            None => self.number(count)?.ok_or_else(|| {
                format!(
                    "{index}={named} ({name}) is a rank, and {count}, the number of processes, is not set\n\
                     hint: set it, or give the number of shares, such as --shard {AUTO}/8"
                )
            })?,
        };
        let [first, step] = match first_and_step {
            Some([first, step]) => [self.number(first)?.unwrap_or(0), self.number(step)?.unwrap_or(1)],
            None => [0, 1],
        };
        let rank = named.checked_sub(first).and_then(|above| above.checked_div(step));
        match rank {
            Some(rank) if rank < of && of <= Shard::MOST => Ok(Shard { number: rank + 1, of }),
            _ => Err(format!(
                "{index}={named} ({name}) is no rank among {of}, counted from {first} on; there are {} shares at \
                 most\nhint: start as many processes as there are shares ({AUTO}/N and {count} say how many)",
                Shard::MOST
            )),
        }
    }

    /// The number in a variable, where that is set.
    fn number(&self, name: &str) -> Result<Option<u64>, String> {
        let read = |text: String| {
            text.trim().parse().map_err(|_| {
                format!("{name} is `{text}`, which is no whole number\nhint: give the share, such as --shard 1/8")
            })
        };
        self.text(name).map(read).transpose()
    }

    fn text(&self, name: &str) -> Option<String> {
        (self.0)(name).filter(|text| !text.trim().is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment<T>(variables: &[(&str, &str)], of: impl FnOnce(&Environment<'_>) -> T) -> T {
        let value = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned());
        of(&Environment(&value))
    }

    const ARRAY: [(&str, &str); 4] =
        [("SLURM_ARRAY_TASK_MIN", "1"), ("SLURM_ARRAY_TASK_COUNT", "4"), ("SLURM_NTASKS", "1"), ("SLURM_PROCID", "0")];

    #[test]
    fn a_rank_is_that_of_the_job_that_starts_several() {
        let array = |id| [&ARRAY[..], &[("SLURM_ARRAY_TASK_ID", id)]].concat();
        let stepped = [
            ("SLURM_ARRAY_TASK_ID", "5"),
            ("SLURM_ARRAY_TASK_MIN", "1"),
            ("SLURM_ARRAY_TASK_STEP", "2"),
            ("SLURM_ARRAY_TASK_COUNT", "4"),
        ];
        let mpi_in_slurm = [
            ("SLURM_PROCID", "0"),
            ("SLURM_NTASKS", "2"),
            ("OMPI_COMM_WORLD_RANK", "5"),
            ("OMPI_COMM_WORLD_SIZE", "16"),
        ];
        for (variables, text, shard) in [
            (&[("JOB_COMPLETION_INDEX", "0"), ("SKYLINE_SHARDS", "8")][..], "auto", "1/8"),
            (&[("JOB_COMPLETION_INDEX", "7")], "auto/8", "8/8"),
            (&array("4"), "auto", "4/4"),
            (&stepped, "auto", "3/4"),
            (&[("SLURM_PROCID", "3"), ("SLURM_NTASKS", "4")], " auto ", "4/4"),
            (&mpi_in_slurm, "auto", "6/16"),
            (&[("PMI_RANK", "1"), ("PMI_SIZE", "2"), ("SLURM_PROCID", "")], "auto", "2/2"),
            (&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "1")], "auto", "1/1"),
            (&[("SLURM_PROCID", "3"), ("SLURM_NTASKS", "4")], "2/3", "2/3"),
        ] {
            let found = environment(variables, |environment| environment.shard(text));
            assert_eq!(found.map(|shard| shard.to_string()), Ok(shard.to_owned()), "{variables:?}");
        }
    }

    #[test]
    fn an_environment_that_names_no_share_learns_what_is_missing() {
        for (variables, text, problem) in [
            (&[][..], "auto", "none of JOB_COMPLETION_INDEX (Kubernetes Indexed Job), SLURM_ARRAY_TASK_ID"),
            (&[], "auto/0", "write auto/8"),
            (&[], "automatic", "write auto/8"),
            (&[], "3/2", "write 1/2 for the first of two, 2/2 for the second; there are 10000 at most; `auto` takes"),
            (&[("JOB_COMPLETION_INDEX", "3")], "auto", "JOB_COMPLETION_INDEX=3 (Kubernetes Indexed Job) is a rank,"),
            (&[("JOB_COMPLETION_INDEX", "8")], "auto/8", "JOB_COMPLETION_INDEX=8 (Kubernetes Indexed Job) is no rank"),
            (&[("PMI_RANK", "one"), ("PMI_SIZE", "2")], "auto", "PMI_RANK is `one`, which is no whole number"),
            (&[("PMI_RANK", "1"), ("PMI_SIZE", "-2")], "auto", "PMI_SIZE is `-2`"),
            (&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "20000")], "auto", "there are 10000 shares at most"),
            (&[&ARRAY[..], &[("SLURM_ARRAY_TASK_ID", "0")]].concat(), "auto", "among 4, counted from 1 on"),
        ] {
            let refusal = environment(variables, |environment| environment.shard(text)).unwrap_err();
            assert!(refusal.contains(problem), "{variables:?}: {refusal}");
        }
    }

    #[test]
    fn one_of_several_that_sends_everything_is_warned() {
        let warned = |variables: &[_]| environment(variables, |environment| environment.warning_of_whole_plan());
        let warning = warned(&[("SLURM_PROCID", "2"), ("SLURM_NTASKS", "4")]).unwrap();
        assert!(warning.contains("number 3 of 4 (Slurm tasks)") && warning.contains("--shard auto"), "{warning}");
        for alone in [&[][..], &[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "1")], &[("JOB_COMPLETION_INDEX", "3")]] {
            assert_eq!(warned(alone), None, "{alone:?}");
        }
    }
}
