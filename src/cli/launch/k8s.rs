//! `skyline launch k8s`: manifests of a Job of workers, of the Job that merges their runs, and of what both need.

use std::path::{Component, Path, PathBuf};

use clap::Args;
use serde_json::Value;

use super::files::{named, unreadable};
use super::template::filled;
use super::workers::{MERGE, WorkerArgs, Workers};
use crate::session::Stop;
use crate::units::count;

const MANIFESTS: &str = include_str!("k8s.yaml");
const CONFIG_MAP: &str = include_str!("config_map.yaml");

/// Where the manifests mount the volume of the results.
const RESULTS: &str = "/results";

/// Most bytes of the files in a `ConfigMap`.
const MOST: u64 = 1 << 20;
/// Most bytes that `kubectl apply` can note in an annotation. It does unless the server applies.
const MOST_NOTED: usize = 200 << 10;

/// Manifests for Kubernetes.
#[derive(Debug, Args)]
pub(super) struct K8sArgs {
    #[command(flatten)]
    pub(super) workers: WorkerArgs,

    /// Image that runs skyline, such as a release has, or `.packaging/container.sh` builds
    #[arg(long, value_name = "IMAGE")]
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
        let files = contents(&named(&workers.bench, &workers.plan)?)?;
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
        let results = workers.folder(RESULTS);
        let mut values = workers.values();
        values.extend([
            ("namespace", self.namespace.as_ref().map(|own| format!("namespace: {}", quoted(own))).unwrap_or_default()),
            ("seconds", time.as_secs().to_string()),
            ("merge_seconds", (*time + MERGE).as_secs().to_string()),
            ("image", quoted(&self.image)),
            ("claim", quoted(&self.claim)),
            ("bench", listed(&workers.bench(&results))),
            ("merge", listed(&workers.merge(&results, Some(*time)))),
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
        let along = files.iter().map(|(path, _)| format!("goes along: {path}\n")).collect::<Vec<_>>().concat();
        values.extend([("config_map", if_files(filled(CONFIG_MAP, &values))), ("results", results)]);
        Ok((filled(MANIFESTS, &values), along + &self.words(workers, secret, texts.join("").len())))
    }

    /// Words on how to use the manifests, whose files have so many bytes.
    fn words(&self, workers: &Workers<'_>, secret: &str, bytes: usize) -> String {
        let Workers { name, variables, .. } = workers;
        let namespace = self.namespace.as_ref().map(|name| format!(" -n {name}")).unwrap_or_default();
        let keys =
            variables.iter().map(|name| format!(" --from-literal={name}=\"${name}\"")).collect::<Vec<_>>().concat();
        let create = format!("the secret: kubectl{namespace} create secret generic {secret}{keys}\n");
        let create = if variables.is_empty() { "" } else { &create };
        let server = if bytes > MOST_NOTED { " --server-side" } else { "" };
        format!(
            "{create}to run them: pipe this into kubectl{namespace} apply{server} -f -\n\
             the report: kubectl{namespace} logs -f job/{name}-merge\n\
             the runs: {} on the volume of the claim {}",
            workers.folder(RESULTS),
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
        let Some(Ok(text)) = (found.is_file() && bytes <= MOST).then(|| std::fs::read_to_string(path)) else {
            return Err(Stop::usage(format!(
                "{} does not fit: a ConfigMap takes files that are read as UTF-8, {} bytes in all, and no folders\n\
                 hint: put it on the volume, as {RESULTS}/… there and here; a tokenizer can be an id of the hub",
                path.display(),
                count(MOST)
            )));
        };
        files.push((below(path)?, text));
    }
    Ok(files)
}
