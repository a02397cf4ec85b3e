//! The guide: one file a topic, shown by `skyline guide` and on these pages.

/// A topic of the guide.
#[derive(Clone, Copy, Debug)]
pub struct Topic {
    /// The word that opens it.
    pub name: &'static str,
    /// Contents of the topic, in one line.
    pub about: &'static str,
    /// Other words that open it: verbs first.
    pub also: &'static [&'static str],
    /// Its file.
    pub path: &'static str,
    /// The chapter, as Markdown.
    pub text: &'static str,
}

/// Description in the front matter of the chapter for coding agents.
const SKILL: &str = "Measure the latency, throughput and capacity of an OpenAI-compatible LLM server (vLLM, SGLang, \
                     TensorRT-LLM, TGI, llama.cpp) with the load generator skyline, and read its reports without \
                     misreading them. Use it to benchmark a server, check an SLO, compare two builds, find the highest \
                     load, or judge a result that exists.";

/// Declares the topics of the guide. Each has its module here, its folder if that is another, the name of its file,
/// what it is about and other words for it.
macro_rules! topics {
    ($($module:ident $($folder:ident /)? $name:literal $about:literal [$($also:literal)*];)*) => {
        /// All topics, in the order in which a newcomer may read them.
        pub const TOPICS: &[Topic] = &[$(Topic {
            name: $name,
            about: $about,
            also: &[$($also),*],
            path: concat!("src/guide/", $(stringify!($folder), "/",)? $name, ".md"),
            text: include_str!(concat!("guide/", $(stringify!($folder), "/",)? $name, ".md")),
        }),*];

        $(
            #[doc = include_str!(concat!("guide/", $(stringify!($folder), "/",)? $name, ".md"))]
            #[allow(clippy::doc_markdown, reason = "chapters are read as they stand, in a terminal")]
            pub mod $module {}
        )*
    };
}

topics! {
    first_run "first-run" "check a server, run a workload, change its load; addresses and proxies"
        ["bench" "check" "url" "proxy" "wait"];
    report "report" "what each line of a report means, and the page of a run" ["page" "names"];
    metrics generated / "metrics" "every figure: its name, unit, formula, and its name in other tools" ["figures" "glossary"];
    validity "validity" "what each verdict means, every check, and how sure a figure is"
        ["audit" "verdict" "checklist" "invalid" "overloaded" "intervals" "repeats" "smoke"];
    faults generated / "faults" "what goes wrong with servers, networks, disks and people: result, exit code, words"
        ["errors" "troubleshooting"];
    objectives automation / "objectives" "bounds on figures, exit codes, and jobs of CI" ["ci" "exit-codes" "slo"];
    terminal "terminal" "the dashboard, progress, pipes and colours; settings, completions, man pages"
        ["dashboard" "live" "guide" "completions" "man" "settings" "config" "environment"];
    server "server" "the server's own metrics, GPUs, and a diagnosis of the figures"
        ["telemetry" "diagnosis" "gpu"];
    workloads "workloads" "write a workload: arrivals, lengths, classes, tenants, priorities"
        ["workload" "arrivals" "bursts" "tenants" "adapters" "priorities" "tokenizer"];
    prompts "prompts" "datasets, token ids, images, shared prefixes; checks of answers"
        ["dataset" "datasets" "images" "prefixes" "prefix-cache" "answers" "checks" "tools"];
    conversations "conversations" "turns with a history, and closed loops of users"
        ["closed-loop" "users" "sessions"];
    agents models / "agents" "sessions as graphs: tool loops, agents side by side, joins"
        ["agent" "graphs" "steps"];
    traces "traces" "replay a trace, make one, or fit a workload to it"
        ["trace" "fitting" "workloads-fit" "servegen"];
    sweep "sweep" "the highest rate within an objective; the GPUs that a rate needs, and their cost"
        ["capacity" "knee" "cost"];
    ab "ab" "is B better than A? Paired rounds, one verdict" ["a-b"];
    compare "compare" "did this build regress? Stored runs beside a baseline" ["regression"];
    matrix "matrix" "a table of experiments, variants of a server, a contract; which flags serve most"
        ["tune" "experiments" "flags"];
    simulate "simulate" "predict a deployment in virtual time; fit an engine to runs" ["engine-fit" "fit"];
    overload models / "overload" "refusals, retries and hedges; does a server recover from a spike of the load?"
        ["retries" "metastable" "admission" "hedges" "backoff"];
    mock models / "mock" "a server of known behaviour, with faults and a truth log" ["mock-faults"];
    machine machines / "machine" "what this machine can measure, and its measured accuracy"
        ["calibrate" "accuracy" "calibration" "realtime"];
    shards machines / "shards" "one plan over several machines: shares, a common start, clocks, merging"
        ["merge" "distributed" "shard"];
    cluster machines / "cluster" "several workers and their merge, on Kubernetes or Slurm; results to an object store"
        ["launch" "kubernetes" "k8s" "slurm"];
    versions automation / "versions" "what a new version keeps: options, exit codes, JSON, run logs, plans"
        ["versioning" "semver" "compatibility" "msrv"];
    skill automation / "skill" "Skyline for a coding agent, on one page" ["coding-agents" "llms"];
    formats "formats" "CSV, JSON, Parquet, JUnit, OpenMetrics and others; the schemas" ["csv" "json" "schema" "otlp"];
    other_tools "other-tools" "commands and results of vLLM, SGLang, GuideLLM, AIPerf"
        ["vllm" "sglang" "guidellm" "aiperf" "k6" "translate" "from-vllm" "from-guidellm" "from-aiperf"];
    peers generated / "peers" "what Skyline has, and what four other tools have of it" ["features" "alternatives"];
}

impl Topic {
    /// The topic that `word` opens, by its name or another word for it.
    pub fn find(word: &str) -> Option<&'static Self> {
        let word = word.trim().trim_end_matches(".md").to_lowercase().replace([' ', '_'], "-");
        TOPICS
            .iter()
            .find(|topic| topic.name == word)
            .or_else(|| TOPICS.iter().find(|topic| topic.also.contains(&word.as_str())))
    }

    /// Chapter for coding agents, behind its front matter.
    pub fn skill() -> Option<String> {
        let text = Self::find("skill")?.text;
        Some(format!("---\nname: skyline\ndescription: {SKILL}\n---\n\n{text}"))
    }

    /// Its heading.
    pub fn title(&self) -> &'static str {
        self.text.lines().next().unwrap_or_default().trim_start_matches("# ")
    }

    /// Its sections, each a heading and the lines below it. A line that begins with `#` inside a block of code is no
    /// heading.
    pub fn sections(&self) -> Vec<(&'static str, Vec<&'static str>)> {
        let mut sections: Vec<(&str, Vec<&str>)> = Vec::new();
        let mut in_code = false;
        for line in self.text.lines() {
            in_code ^= line.starts_with("```");
            if !in_code && line.starts_with('#') {
                sections.push((line.trim_start_matches(['#', ' ']), Vec::new()));
            } else if let Some((_, lines)) = sections.last_mut() {
                lines.push(line);
            }
        }
        sections
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_opens_one_topic() {
        let mut words: Vec<&str> =
            TOPICS.iter().flat_map(|topic| std::iter::once(topic.name).chain(topic.also.iter().copied())).collect();
        words.sort_unstable();
        assert!(words.windows(2).all(|two| two[0] != two[1]), "{words:?}");
        assert_eq!(Topic::find("Closed loop").map(|topic| topic.name), Some("conversations"));
        assert_eq!(Topic::find("first_run").map(|topic| topic.name), Some("first-run"));
        assert!(Topic::find("nothing").is_none());
    }

    #[test]
    fn every_file_is_a_topic() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut files: Vec<String> = ["", "/automation", "/generated", "/machines", "/models"]
            .iter()
            .flat_map(|folder| std::fs::read_dir(root.join(format!("src/guide{folder}"))).unwrap())
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_file())
            .map(|path| path.strip_prefix(root).unwrap().display().to_string())
            .collect();
        let mut topics: Vec<String> = TOPICS.iter().map(|topic| topic.path.to_owned()).collect();
        files.sort_unstable();
        topics.sort_unstable();
        assert_eq!(files, topics);
    }

    #[test]
    fn a_comment_in_code_is_no_heading() {
        let sections = Topic::find("first-run").map(Topic::sections).unwrap_or_default();
        assert_eq!(sections[0].0, "Your first run against a server");
        assert!(sections.iter().all(|(heading, _)| !heading.starts_with("ready?")), "{sections:?}");
    }
}
