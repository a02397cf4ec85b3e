//! Fetches a tokenizer from the Hugging Face hub, by way of the cache that all its clients share.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use reqwest::Url;
use reqwest::blocking::{Client, Response};
use reqwest::redirect::Policy;
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};

use crate::clock::no_thread;

const FILE: &str = "tokenizer.json";
const REDIRECTS: usize = 10;
const CONNECT_LIMIT: Duration = Duration::from_secs(30);
const LIMIT: Duration = Duration::from_secs(10 * 60);

/// Place where tokenizers are looked for and fetched from.
#[derive(Debug)]
pub(super) struct Hub {
    endpoint: String,
    /// The folder of the cache, in which each model has a folder.
    cache: PathBuf,
    token: Option<String>,
    /// Whether nothing is fetched.
    offline: bool,
}

/// Values that turn a variable of the hub's own client on, in any case.
const ON: [&str; 4] = ["1", "on", "yes", "true"];

impl Hub {
    /// Reads the hub from the environment as its own client does. It reads `HF_ENDPOINT`; the cache of `HF_HUB_CACHE`,
    /// else below `HF_HOME`, else below `XDG_CACHE_HOME`; the token of `HF_TOKEN`, else the one that `hf auth login`
    /// stored; and `HF_HUB_OFFLINE`.
    pub(super) fn from_env() -> Result<Self, String> {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let home_folder = std::env::home_dir();
        let variable = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let folder = |name: &str| {
            let path = variable(name)?;
            let below_home = path.strip_prefix("~/").and_then(|rest| Some(home_folder.as_ref()?.join(rest)));
            Some(below_home.unwrap_or_else(|| PathBuf::from(&path)))
        };
        let usual = || folder("XDG_CACHE_HOME").or_else(|| Some(home_folder.as_ref()?.join(".cache")));
        let home = folder("HF_HOME").or_else(|| usual().map(|cache| cache.join("huggingface")));
        let cache = folder("HF_HUB_CACHE").or_else(|| folder("HUGGINGFACE_HUB_CACHE"));
        let cache = cache.or_else(|| Some(home.as_ref()?.join("hub")));
        let cache = cache.ok_or("this user has no home folder; set HF_HOME")?;
        let stored = || {
            let file = folder("HF_TOKEN_PATH").or_else(|| Some(home.as_ref()?.join("token")))?;
            fs::read_to_string(file).ok()
        };
        let token = variable("HF_TOKEN").or_else(|| variable("HUGGING_FACE_HUB_TOKEN")).or_else(stored);
        let token = token.map(|token| token.trim().to_owned()).filter(|token| !token.is_empty());
        let endpoint = variable("HF_ENDPOINT").unwrap_or_else(|| "https://huggingface.co".to_owned());
        let offline = ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"]
            .iter()
            .any(|name| variable(name).is_some_and(|value| ON.contains(&value.trim().to_ascii_lowercase().as_str())));
        Ok(Self { endpoint, cache, token, offline })
    }

    /// The `tokenizer.json` of the model `id`.
    pub(super) fn tokenizer(&self, id: &str) -> Result<PathBuf, String> {
        if let Some(file) = self.cached(id) {
            return Ok(file);
        }
        if self.offline {
            let folder = self.folder(id);
            return Err(format!("it is not in {}, and HF_HUB_OFFLINE lets nothing be fetched", folder.display()));
        }
        // The blocking client has a runtime of its own, which cannot start on a thread that drives another one.
        let fetched = std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().spawn_scoped(scope, || self.fetch(id));
            let thread = thread.map_err(|error| no_thread(&error).to_string())?;
            thread.join().map_err(|_| "the HTTP client broke off".to_owned())?
        })?;
        self.store(id, &fetched).map_err(|error| format!("{}: {error}", self.folder(id).display()))
    }

    fn folder(&self, id: &str) -> PathBuf {
        self.cache.join(format!("models--{}", id.replace('/', "--")))
    }

    fn cached(&self, id: &str) -> Option<PathBuf> {
        let folder = self.folder(id);
        let commit = fs::read_to_string(folder.join("refs/main")).ok()?;
        Some(folder.join("snapshots").join(commit.trim()).join(FILE)).filter(|file| file.exists())
    }

    /// Fetches a file and follows redirects itself. The hub's own answer names commit and content, and the token stays
    /// with the hub.
    fn fetch(&self, id: &str) -> Result<Fetched, String> {
        let client = client()?;
        let url = format!("{}/{id}/resolve/main/{FILE}", self.endpoint.trim_end_matches('/'));
        let mut url = Url::parse(&url).map_err(|error| format!("{url}: {error}"))?;
        let hub = url.origin();
        let mut named = None;
        for _ in 0..REDIRECTS {
            let mut request = client.get(url.clone());
            if let Some(token) = self.token.as_ref().filter(|_| url.origin() == hub) {
                request = request.bearer_auth(token);
            }
            let answer = request.send().map_err(|error| format!("{url}: {}", innermost(&error)))?;
            named = named.or_else(|| names(&answer));
            if let Some(location) = header(&answer, "location").filter(|_| answer.status().is_redirection()) {
                url = url.join(&location).map_err(|error| format!("{location}: {error}"))?;
            } else if answer.status().is_success() {
                let (commit, etag) = named.ok_or_else(|| format!("{url}: no commit and etag in the answer"))?;
                let content = answer.bytes().map_err(|error| format!("{url}: {}", innermost(&error)))?;
                return Ok(Fetched { commit, etag, content: content.to_vec() });
            } else {
                return Err(format!("{url}: {}", answer.status()));
            }
        }
        Err(format!("{url}: more than {REDIRECTS} redirects"))
    }

    /// Keeps the file as every client of the hub does. Its content is stored by etag, with a link to it in the snapshot
    /// of the commit.
    fn store(&self, id: &str, fetched: &Fetched) -> io::Result<PathBuf> {
        let Fetched { commit, etag, content } = fetched;
        let folder = self.folder(id);
        let (blobs, snapshot) = (folder.join("blobs"), folder.join("snapshots").join(commit));
        for folder in [&blobs, &folder.join("refs"), &snapshot] {
            fs::create_dir_all(folder)?;
        }
        // Two processes may fetch the same file: each writes a part of its own and moves it into place when
        // it is whole.
        let part = blobs.join(format!("{etag}.{}.part", std::process::id()));
        fs::write(&part, content)?;
        fs::rename(&part, blobs.join(etag))?;
        let file = snapshot.join(FILE);
        if !file.exists() {
            link(etag, &blobs, &file)?;
        }
        fs::write(folder.join("refs/main"), commit)?;
        Ok(file)
    }
}

/// A file as the hub gave it.
struct Fetched {
    commit: String,
    etag: String,
    content: Vec<u8>,
}

#[cfg(unix)]
fn link(etag: &str, _blobs: &Path, file: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(Path::new("../../blobs").join(etag), file)
}

#[cfg(not(unix))]
fn link(etag: &str, blobs: &Path, file: &Path) -> io::Result<()> {
    fs::copy(blobs.join(etag), file).map(drop)
}

fn client() -> Result<Client, String> {
    let failed = |error: &dyn std::error::Error| format!("the HTTP client cannot be set up: {error}");
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(&error))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Client::builder()
        .tls_backend_preconfigured(tls)
        .user_agent(concat!("skyline/", env!("CARGO_PKG_VERSION")))
        .redirect(Policy::none())
        .connect_timeout(CONNECT_LIMIT)
        .timeout(LIMIT)
        .build()
        .map_err(|error| failed(&error))
}

fn header(answer: &Response, name: &str) -> Option<String> {
    answer.headers().get(name)?.to_str().ok().map(str::to_owned)
}

/// Returns commit and content, where this answer is the hub's. The content of a large file is named by a header of its
/// own.
fn names(answer: &Response) -> Option<(String, String)> {
    let commit = header(answer, "x-repo-commit")?;
    let etag = header(answer, "x-linked-etag").or_else(|| header(answer, "etag"))?;
    let etag = etag.trim_start_matches("W/").replace('"', "");
    // Both become names of files.
    let plain = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    (plain(&commit) && plain(&etag)).then_some((commit, etag))
}

/// Returns what went wrong beneath the layers of the client.
fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    use super::*;

    /// Serves these answers, one a connection, and gives the requests that it saw.
    fn serve(listener: TcpListener, answers: Vec<String>) -> std::thread::JoinHandle<Vec<String>> {
        std::thread::spawn(move || {
            let answer = |text: String| {
                let mut socket = listener.accept().unwrap().0;
                let (mut request, mut byte) = (Vec::new(), [0]);
                while !request.ends_with(b"\r\n\r\n") && socket.read(&mut byte).unwrap() == 1 {
                    request.push(byte[0]);
                }
                socket.write_all(text.as_bytes()).unwrap();
                String::from_utf8(request).unwrap()
            };
            answers.into_iter().map(answer).collect()
        })
    }

    fn answer(head: &str, body: &str) -> String {
        format!("HTTP/1.1 {head}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
    }

    fn hub(cache: &Path, port: u16) -> Hub {
        let endpoint = format!("http://127.0.0.1:{port}");
        Hub { endpoint, cache: cache.join("hub"), token: Some("hf_secret".to_owned()), offline: false }
    }

    #[test]
    fn a_file_is_fetched_once_and_its_token_stays_with_the_hub() {
        let cache = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let names = "x-repo-commit: 0a1b\r\nx-linked-etag: \"c0ffee\"\r\netag: W/\"other\"";
        let server = serve(
            listener,
            vec![
                answer("307 Temporary Redirect\r\nlocation: /new/name/resolve/main/tokenizer.json", ""),
                answer(&format!("302 Found\r\n{names}\r\nlocation: http://localhost:{port}/content"), ""),
                answer("200 OK\r\netag: \"store\"", "{\"a\": 1}"),
            ],
        );
        let hub = hub(cache.path(), port);
        let file = hub.tokenizer("old/name").unwrap();
        let seen = server.join().unwrap();
        assert!(seen[0].starts_with("GET /old/name/resolve/main/tokenizer.json "), "{seen:?}");
        assert!(seen[1].starts_with("GET /new/name/resolve/main/tokenizer.json "), "{seen:?}");
        assert!(seen[1].contains("authorization: Bearer hf_secret"), "{seen:?}");
        assert!(seen[2].starts_with("GET /content ") && !seen[2].contains("hf_secret"), "{seen:?}");
        let folder = cache.path().join("hub/models--old--name");
        assert_eq!(file, folder.join("snapshots/0a1b/tokenizer.json"));
        assert_eq!(fs::read_to_string(&file).unwrap(), "{\"a\": 1}");
        assert_eq!(fs::read_to_string(folder.join("blobs/c0ffee")).unwrap(), "{\"a\": 1}");
        assert_eq!(fs::read_dir(folder.join("blobs")).unwrap().count(), 1);
        assert_eq!(hub.tokenizer("old/name").unwrap(), file, "from the cache: the server is gone");
    }

    #[test]
    fn the_environment_is_read_as_the_hubs_own_client_reads_it() {
        let hub = |set: &[(&str, &str)]| {
            Hub::from_variables(|name| {
                set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            })
            .unwrap()
        };
        for (set, cache) in [
            (&[("HF_HOME", "/h")][..], "/h/hub"),
            (&[("HF_HOME", "/h"), ("HF_HUB_CACHE", "/c")], "/c"),
            (&[("HF_HOME", "/h"), ("HF_HUB_CACHE", "")], "/h/hub"),
            (&[("XDG_CACHE_HOME", "/x")], "/x/huggingface/hub"),
            (&[("HF_HUB_CACHE", "/c"), ("HUGGINGFACE_HUB_CACHE", "/old")], "/c"),
        ] {
            assert_eq!(hub(set).cache, Path::new(cache), "{set:?}");
        }
        for (value, offline) in [("1", true), ("ON", true), ("yes", true), ("True", true), ("0", false), ("no", false)]
        {
            assert_eq!(hub(&[("HF_HUB_OFFLINE", value)]).offline, offline, "{value}");
        }
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path().to_str().unwrap();
        let offline = hub(&[("HF_HUB_OFFLINE", "1"), ("HF_HUB_CACHE", cache), ("HF_ENDPOINT", "http://127.0.0.1:1/")]);
        let error = offline.tokenizer("owner/name").unwrap_err();
        assert!(error.contains("HF_HUB_OFFLINE") && error.contains("models--owner--name"), "{error}");
        let stored = folder.path().join("models--owner--name");
        fs::create_dir_all(stored.join("refs")).unwrap();
        fs::create_dir_all(stored.join("snapshots/0a1b")).unwrap();
        fs::write(stored.join("refs/main"), "0a1b").unwrap();
        fs::write(stored.join("snapshots/0a1b").join(FILE), "{}").unwrap();
        assert_eq!(offline.tokenizer("owner/name").unwrap(), stored.join("snapshots/0a1b").join(FILE));
    }

    #[test]
    fn a_refusal_names_the_address_and_the_status() {
        let cache = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let hub = hub(cache.path(), listener.local_addr().unwrap().port());
        let server = serve(
            listener,
            vec![answer("401 Unauthorized", ""), answer("200 OK\r\nx-repo-commit: ../..\r\netag: \"x\"", "{}")],
        );
        let error = hub.tokenizer("owner/gated").unwrap_err();
        assert!(error.contains("/owner/gated/resolve/main/tokenizer.json: 401 Unauthorized"), "{error}");
        let error = hub.tokenizer("owner/gated").unwrap_err();
        assert!(error.contains("no commit and etag"), "{error}");
        server.join().unwrap();
        assert!(hub.tokenizer("owner/gated").unwrap_err().contains("refused"), "nobody listens any more");
    }
}
