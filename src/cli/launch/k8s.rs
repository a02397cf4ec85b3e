//! `skyline launch k8s`: manifests of a Job of workers, of the Job that merges their runs, and of what both need.

use std::path::{Component, Path, PathBuf};

use clap::Args;
use serde_json::Value;

use super::files::unreadable;
use super::template::filled;
use super::workers::{WorkerArgs, Workers};
use crate::session::Stop;
use crate::units::count;

const MANIFESTS: &str = include_str!("k8s.yaml");
const CONFIG_MAP: &str = include_str!("config_map.yaml");

/// The image of the version that prints the manifests.
const IMAGE: &str = concat!("ghcr.io/skyline-bench/skyline:", env!("CARGO_PKG_VERSION"));

/// Where the manifests mount the volume of the results.
const RESULTS: &str = "/results";

/// Most bytes of the files in a ConfigMap.
const MOST: u64 = 1 << 20;
/// Most bytes that `kubectl apply` can note in an annotation. It does unless the server applies.
const MOST_NOTED: usize = 200 << 10;

/// Manifests for Kubernetes.
#[derive(Debug, Args)]
pub(super) struct K8sArgs {
    #[command(flatten)]
    pub(super) workers: WorkerArgs,

    /// Image of the workers and of the merge, which runs skyline
    #[arg(long, value_name = "IMAGE", default_value = IMAGE)]
    image: String,

    /// Namespace of all that is created [default: the one that kubectl uses]
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,

    /// PersistentVolumeClaim of the results, which all workers mount (ReadWriteMany)
    #[arg(long, value_name = "NAME", default_value = "skyline")]
    claim: String,

    /// Secret with the variables of --api-key-env and --header [default: the --name]
    #[arg(long, value_name = "NAME")]
    secret: Option<String>,
}

/// A text in YAML, of which JSON is a part. Signs are escaped that YAML refuses or takes for the end of a line.
fn quoted(text: &str) -> String {
    let is_special =
        |sign| matches!(sign, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}'..='\u{ffff}');
    let json = Value::from(text).to_string();
    let escaped = |sign| if is_special(sign) { format!("\\u{:04x}", u32::from(sign)) } else { String::from(sign) };
    json.chars().map(escaped).collect()
}

/// A list with one value a line. What looks like a variable of Kubernetes stays as it was typed.
fn listed(words: &[String]) -> String {
    words.iter().map(|word| format!("- {}", quoted(&word.replace('$', "$$")))).collect::<Vec<_>>().join("\n")
}

/// The path of a file below the working directory of the workers.
fn below(path: &Path) -> Result<String, Stop> {
    let part = |part: Component<'_>| match part {
        Component::Normal(name) => name.to_str().map(str::to_owned),
        _ => None,
    };
    path.components().map(part).collect::<Option<Vec<_>>>().map(|parts| parts.join("/")).ok_or_else(|| {
        Stop::usage(format!(
            "{} is not below this folder, and workers find files below their own alone\n\
             hint: launch where the file is; or put it on the volume, as {RESULTS}/… there and here",
            path.display()
        ))
    })
}

impl K8sArgs {
    /// Returns the manifests, and words on how to use them.
    pub(super) fn manifests(&self, workers: &Workers<'_>) -> Result<(String, String), Stop> {
        let Workers { name, time, .. } = workers;
        let files = contents(&workers.files)?;
        let secret = self.secret.as_ref().unwrap_or(name);
        let variable = |variable: &String| {
            let (secret, variable) = (quoted(secret), quoted(variable));
            format!("- {{name: {variable}, valueFrom: {{secretKeyRef: {{name: {secret}, key: {variable}}}}}}}\n")
        };
        let (mut places, mut texts) = (Vec::new(), Vec::new());
        for (number, (path, text)) in files.iter().enumerate() {
            places.push(format!("{{key: file-{number}, path: {}}}", quoted(path)));
            texts.push(format!("file-{number}: {}", quoted(text)));
        }
        let if_files = |text: String| if files.is_empty() { String::new() } else { text };
        let folder = format!("{RESULTS}/{name}");
        let mut values = workers.values();
        values.extend([
            ("namespace", self.namespace.iter().map(|name| format!("namespace: {}", quoted(name))).collect()),
            ("seconds", time.as_secs().to_string()),
            ("merge_seconds", (time.as_secs() + 3_600).to_string()),
            ("image", quoted(&self.image)),
            ("claim", quoted(&self.claim)),
            ("bench", listed(&workers.bench(&folder))),
            ("merge", listed(&workers.merge(&folder, Some(*time)))),
            ("secrets", workers.variables.iter().map(variable).collect()),
            ("folder", if files.is_empty() { "/tmp" } else { "/files" }.to_owned()),
            ("mount", if_files("- {name: files, mountPath: /files, readOnly: true}".to_owned())),
            (
                "volume",
                if_files(format!(
                    "- name: files\n  configMap: {{name: {}, items: [{}]}}",
                    quoted(name),
                    places.join(", ")
                )),
            ),
            ("data", texts.join("\n")),
        ]);
        values.push(("config_map", if_files(filled(CONFIG_MAP, &values))));
        Ok((filled(MANIFESTS, &values), self.words(workers, secret, texts.join("").len())))
    }

    /// Words on how to use the manifests, whose files have so many bytes.
    fn words(&self, Workers { name, variables, .. }: &Workers<'_>, secret: &str, bytes: usize) -> String {
        let namespace = self.namespace.iter().map(|name| format!(" -n {name}")).collect::<String>();
        let keys = variables.iter().map(|name| format!(" --from-literal={name}=\"${name}\"")).collect::<String>();
        let create = format!("the secret: kubectl{namespace} create secret generic {secret}{keys}\n");
        let create = if variables.is_empty() { "" } else { &create };
        let server = if bytes > MOST_NOTED { " --server-side" } else { "" };
        format!(
            "{create}to run them: pipe this into kubectl{namespace} apply{server} -f -\n\
             the report: kubectl{namespace} logs -f job/{name}-merge\n\
             the runs: {RESULTS}/{name} on the volume of the claim {}",
            self.claim
        )
    }
}

/// The files that go along, each with its path and text. Those on the volume stay there.
fn contents(paths: &[PathBuf]) -> Result<Vec<(String, String)>, Stop> {
    let (mut files, mut bytes) = (Vec::new(), 0);
    for path in paths.iter().filter(|path| !path.starts_with(RESULTS)) {
        let found = std::fs::metadata(path).map_err(|error| unreadable(path, &error))?;
        bytes += found.len();
        if found.is_dir() || bytes > MOST {
            return Err(Stop::usage(format!(
                "{} does not fit: a ConfigMap takes files of {} bytes in all, and no folders\n\
                 hint: put it on the volume, as {RESULTS}/… there and here; a tokenizer can be an id of the hub",
                path.display(),
                count(MOST)
            )));
        }
        files.push((below(path)?, std::fs::read_to_string(path).map_err(|error| unreadable(path, &error))?));
    }
    Ok(files)
}
