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
    /// Variables with the first process's number, the distance to the next, and the last. Absent: from 0 on, each.
    numbering: Option<[&'static str; 3]>,
    /// The variable with the number of processes.
    count: &'static str,
    /// The variable without which the number is not that of one of several processes.
    only_with: Option<&'static str>,
    /// Whether it numbers jobs. Each of them may start processes, which another kind numbers.
    numbers_jobs: bool,
}

/// The kinds of jobs, in the order in which they count. `mpirun` in a Slurm job starts processes of one Slurm task.
///
/// Kubernetes tells a pod its index alone, so whoever writes the Job sets the count.
const JOB_KINDS: [JobKind; 5] = [
    JobKind { numbers_jobs: true, ..job("Kubernetes Indexed Job", "JOB_COMPLETION_INDEX", "SKYLINE_SHARDS") },
    JobKind {
        numbering: Some(["SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_STEP", "SLURM_ARRAY_TASK_MAX"]),
        numbers_jobs: true,
        ..job("Slurm array", "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT")
    },
    job("Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    job("MPICH, PMI", "PMI_RANK", "PMI_SIZE"),
    // A batch script has a number too, though it is the only process.
    JobKind { only_with: Some("SLURM_STEP_ID"), ..job("tasks of srun", "SLURM_PROCID", "SLURM_NTASKS") },
];

const fn job(name: &'static str, index: &'static str, count: &'static str) -> JobKind {
    JobKind { name, index, numbering: None, count, only_with: None, numbers_jobs: false }
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
            _ => Some(Self::given(count).ok_or_else(|| {
                format!("`{text}` names no number of shares; write {AUTO}/8; there are {} at most", Shard::MOST)
            })?),
        };
        let job = self.job().ok_or_else(|| {
            let kinds = JOB_KINDS.iter().map(|job| format!("{} ({})", job.index, job.name));
            format!(
                "the environment names no rank: none of {} is set\n\
                 hint: give the share by its number, such as --shard 1/8",
                joined(kinds, ", ")
            )
        })?;
        match self.several().find(|other| job.numbers_jobs && other.index != job.index) {
            Some(JobKind { name, index, .. }) => Err(format!(
                "this process has two numbers, {} ({}) and {index} ({name}), so others have its share too\n\
                 hint: start one process in each job, or give each its share, such as --shard 1/8",
                job.index, job.name
            )),
            None => self.shard_in(job, given),
        }
    }

    fn given(count: &str) -> Option<u64> {
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
        self.several().next().or_else(|| self.there().next())
    }

    fn several(&self) -> impl Iterator<Item = &'static JobKind> {
        self.there().filter(|job| self.number(job.count) != Ok(Some(1)))
    }

    fn there(&self) -> impl Iterator<Item = &'static JobKind> {
        let is_there = |name| self.text(name).is_some();
        JOB_KINDS.iter().filter(move |job| is_there(job.index) && job.only_with.is_none_or(is_there))
    }

    /// The share of this process in `job`. There are as many as the environment says, or `given` where it does not.
    fn shard_in(&self, job: &JobKind, given: Option<u64>) -> Result<Shard, String> {
        let JobKind { name, index, numbering, count, .. } = job;
        let named = self.number(index)?.unwrap_or_default();
        let of = match (given, self.number(count)?) {
            (Some(given), Some(known)) if given != known => {
                return Err(format!(
                    "{AUTO}/{given} wants {given} processes, and {count}={known} ({name}) is another number of them\n\
                     hint: start all of them together; or give the share by its number, such as --shard 1/{given}"
                ));
            }
            (given, known) => given.or(known).ok_or_else(|| {
                format!(
                    "{index}={named} ({name}) is a rank, and {count}, the number of processes, is not set\n\
                     hint: set it, or give the number of shares, such as --shard {AUTO}/8"
                )
            })?,
        };
        let [first, step, last] = match numbering {
            Some([first, step, last]) => [self.number(first)?, self.number(step)?, self.number(last)?],
            None => [None; 3],
        };
        let (first, step) = (first.unwrap_or(0), step.unwrap_or(1));
        let place = |number: u64| {
            let above = number.checked_sub(first).filter(|above| above.checked_rem(step) == Some(0))?;
            Some(above / step).filter(|place| *place < of)
        };
        // An array of one that is not the first, or of several at odd distances, is a part that is run once more.
        let is_whole = last.is_none_or(|last| last.saturating_sub(first).checked_div(step) == of.checked_sub(1));
        match place(named) {
            _ if !is_whole || of == 1 && first > 1 => Err(format!(
                "{index}={named} is of {of} in a {name} that begins at {first}, which is no whole run\n\
                 hint: start all shards as one array without gaps, such as 0-7; or give the share by its number, such \
                 as --shard 1/8"
            )),
            Some(place) if of <= Shard::MOST => Ok(Shard { number: place + 1, of }),
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

    /// A step of a job, which `srun` starts.
    const STEP: (&str, &str) = ("SLURM_STEP_ID", "0");

    #[test]
    fn a_rank_is_that_of_the_job_that_starts_several() {
        let array = |id| [&ARRAY[..], &[("SLURM_ARRAY_TASK_ID", id)]].concat();
        let stepped = [
            ("SLURM_ARRAY_TASK_ID", "5"),
            ("SLURM_ARRAY_TASK_MIN", "1"),
            ("SLURM_ARRAY_TASK_STEP", "2"),
            ("SLURM_ARRAY_TASK_MAX", "7"),
            ("SLURM_ARRAY_TASK_COUNT", "4"),
        ];
        let mpi_in_slurm = [
            ("SLURM_PROCID", "0"),
            ("SLURM_NTASKS", "2"),
            STEP,
            ("OMPI_COMM_WORLD_RANK", "5"),
            ("OMPI_COMM_WORLD_SIZE", "16"),
        ];
        for (variables, text, shard) in [
            (&[("JOB_COMPLETION_INDEX", "0"), ("SKYLINE_SHARDS", "8")][..], "auto", "1/8"),
            (&[("JOB_COMPLETION_INDEX", "7")], "auto/8", "8/8"),
            (&array("4"), "auto", "4/4"),
            (&stepped, "auto", "3/4"),
            (&[("SLURM_PROCID", "3"), ("SLURM_NTASKS", "4"), STEP], " auto ", "4/4"),
            (&mpi_in_slurm, "auto", "6/16"),
            (&[("PMI_RANK", "1"), ("PMI_SIZE", "2"), ("SLURM_PROCID", "")], "auto", "2/2"),
            (&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "1"), STEP], "auto", "1/1"),
            (&[("SLURM_PROCID", "3"), ("SLURM_NTASKS", "4")], "2/3", "2/3"),
        ] {
            let found = environment(variables, |environment| environment.shard(text));
            assert_eq!(found.map(|shard| shard.to_string()), Ok(shard.to_owned()), "{variables:?}");
        }
    }

    #[test]
    fn a_part_of_an_array_that_runs_once_more_is_not_taken_for_the_whole() {
        let array = |id, [first, step, last, count]: [&'static str; 4]| {
            [("ID", id), ("MIN", first), ("STEP", step), ("MAX", last), ("COUNT", count)]
                .map(|(name, number)| (format!("SLURM_ARRAY_TASK_{name}"), number))
        };
        for (id, numbers, text, problem) in [
            (
                "3",
                ["3", "1", "3", "1"],
                "auto/8",
                "auto/8 wants 8 processes, and SLURM_ARRAY_TASK_COUNT=1 (Slurm array)",
            ),
            ("3", ["3", "1", "3", "1"], "auto", "is of 1 in a Slurm array that begins at 3, which is no whole run"),
            ("3", ["1", "1", "7", "3"], "auto", "is of 3 in a Slurm array that begins at 1, which is no whole run"),
            ("7", ["1", "1", "7", "3"], "auto", "SLURM_ARRAY_TASK_ID=7 is of 3 in a Slurm array"),
            ("4", ["1", "2", "7", "4"], "auto", "SLURM_ARRAY_TASK_ID=4 (Slurm array) is no rank among 4"),
        ] {
            let variables = array(id, numbers);
            let variables: Vec<_> = variables.iter().map(|(name, number)| (name.as_str(), *number)).collect();
            let refusal = environment(&variables, |environment| environment.shard(text)).unwrap_err();
            assert!(refusal.contains(problem), "{variables:?}: {refusal}");
        }
    }

    #[test]
    fn several_processes_of_one_job_do_not_share_its_number() {
        let nested =
            [&ARRAY[1..2], &[("SLURM_ARRAY_TASK_ID", "1"), ("SLURM_PROCID", "1"), ("SLURM_NTASKS", "4")]].concat();
        // A batch script is the only process of its job, however many tasks it may start.
        assert_eq!(environment(&nested, |environment| environment.shard("auto")).unwrap().to_string(), "2/4");
        let nested = [&nested[..], &[STEP]].concat();
        let refusal = environment(&nested, |environment| environment.shard("auto")).unwrap_err();
        assert!(refusal.contains("SLURM_ARRAY_TASK_ID (Slurm array) and SLURM_PROCID (tasks of srun)"), "{refusal}");
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
            (&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "20000"), STEP], "auto", "there are 10000 shares at most"),
            (&[&ARRAY[..], &[("SLURM_ARRAY_TASK_ID", "0")]].concat(), "auto", "among 4, counted from 1 on"),
        ] {
            let refusal = environment(variables, |environment| environment.shard(text)).unwrap_err();
            assert!(refusal.contains(problem), "{variables:?}: {refusal}");
        }
    }

    #[test]
    #[allow(clippy::redundant_closure_for_method_calls, reason = "the method is of one lifetime only")]
    fn one_of_several_that_sends_everything_is_warned() {
        let warned = |variables: &[_]| environment(variables, |environment| environment.warning_of_whole_plan());
        let warning = warned(&[("SLURM_PROCID", "2"), ("SLURM_NTASKS", "4"), STEP]).unwrap();
        assert!(warning.contains("number 3 of 4 (tasks of srun)") && warning.contains("--shard auto"), "{warning}");
        for alone in [&[][..], &[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "4")], &[("JOB_COMPLETION_INDEX", "3")]] {
            assert_eq!(warned(alone), None, "{alone:?}");
        }
    }
}
