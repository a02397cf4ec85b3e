//! Access to the hub: what the environment says of it, its lists of files, and files.

use std::fs;
use std::io::Read;
use std::path::PathBuf;

use serde::Deserialize;

use super::cache::{Cache, is_inside};
use super::fetch::{FetchError, get, innermost, is_plain};
use super::repository::Repository;
use crate::clock::no_thread;

/// Place where files are looked for and fetched from.
#[derive(Debug)]
pub(in crate::generator) struct Hub {
    endpoint: String,
    cache: Cache,
    token: Option<String>,
    /// Whether nothing is fetched.
    offline: bool,
}

/// Values that turn a variable of the hub's own client on, in any case.
const ON: [&str; 4] = ["1", "on", "yes", "true"];

/// Longest list of files, bytes.
const LONGEST_LIST: u64 = 256 << 20;

/// The hub's facts about a repository.
#[derive(Deserialize)]
struct Listing {
    sha: String,
    #[serde(default)]
    siblings: Vec<Sibling>,
}

#[derive(Deserialize)]
struct Sibling {
    rfilename: String,
}

impl Hub {
    /// Reads the hub from the environment as its own client does. It reads `HF_ENDPOINT`; the cache of `HF_HUB_CACHE`,
    /// else below `HF_HOME`, else below `XDG_CACHE_HOME`; the token of `HF_TOKEN`, else the one that `hf auth login`
    /// stored; and `HF_HUB_OFFLINE`.
    pub(in crate::generator) fn from_env() -> Result<Self, String> {
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
        Ok(Self { endpoint, cache: Cache(cache), token, offline })
    }

    /// The commit of a repository and its files, as the hub names them. Where the hub may not or cannot be asked, they
    /// are those of the cache.
    pub(in crate::generator) fn files(&self, repository: &Repository) -> Result<(String, Vec<String>), String> {
        let cached = |why| self.cache.files(repository).ok_or_else(|| self.missing(repository, why));
        if self.offline {
            return cached(OFFLINE);
        }
        let url = repository.list_url(&self.endpoint)?;
        let asked = apart(|| {
            let answer = get(url, self.token.as_deref())?;
            let mut text = Vec::new();
            let read = answer.response.take(LONGEST_LIST).read_to_end(&mut text);
            let refused = |cause: String| FetchError::Refused(format!("{}: {cause}", answer.url));
            read.map_err(|error| refused(innermost(&error)))?;
            let list: Listing = serde_json::from_slice(&text).map_err(|error| refused(error.to_string()))?;
            if is_plain(&list.sha) { Ok(list) } else { Err(refused(format!("{:?} is no commit", list.sha))) }
        })?;
        match asked {
            Ok(list) => {
                let noted = self.cache.note(repository, &list.sha);
                noted.map_err(|error| format!("{}: {error}", self.cache.folder(repository).display()))?;
                let names = list.siblings.into_iter().map(|file| file.rfilename).filter(|name| is_inside(name));
                Ok((list.sha, names.collect()))
            }
            Err(FetchError::Unreachable(why)) => cached(&why),
            Err(FetchError::Refused(why)) => Err(why),
        }
    }

    /// A file of a repository: from the cache, else fetched.
    pub(in crate::generator) fn file(&self, repository: &Repository, name: &str) -> Result<PathBuf, String> {
        if let Some(file) = self.cached(repository, name) {
            return Ok(file);
        }
        if self.offline {
            return Err(self.missing(repository, OFFLINE));
        }
        let url = repository.file_url(&self.endpoint, name)?;
        let fetched = apart(|| {
            let mut answer = get(url, self.token.as_deref())?;
            let refused = |cause: String| FetchError::Refused(format!("{}: {cause}", answer.url));
            let names = answer.names.as_ref();
            let (commit, etag) = names.ok_or_else(|| refused("no commit and etag in the answer".to_owned()))?;
            let stored = self.cache.store(repository, name, (commit, etag), &mut answer.response);
            stored.map_err(|error| refused(innermost(&error)))
        })?;
        fetched.map_err(|error| match error {
            FetchError::Unreachable(why) | FetchError::Refused(why) => why,
        })
    }

    /// A file of a repository in the cache.
    pub(in crate::generator) fn cached(&self, repository: &Repository, name: &str) -> Option<PathBuf> {
        self.cache.file(repository, name)
    }

    /// Names of the files of a repository in the cache.
    pub(in crate::generator) fn cached_files(&self, repository: &Repository) -> Vec<String> {
        self.cache.files(repository).map(|(_, names)| names).unwrap_or_default()
    }

    fn missing(&self, repository: &Repository, why: &str) -> String {
        format!("it is not in {}, and {why}", self.cache.folder(repository).display())
    }
}

const OFFLINE: &str = "HF_HUB_OFFLINE lets nothing be fetched";

/// Runs `work` on a thread of its own. The blocking client has a runtime, which cannot start on a thread that drives
/// another one.
fn apart<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, String> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, work);
        let thread = thread.map_err(|error| no_thread(&error).to_string())?;
        thread.join().map_err(|_| "the HTTP client broke off".to_owned())
    })
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::path::Path;

    use super::super::test_hub::{answer, serve};
    use super::*;

    const FILE: &str = "tokenizer.json";

    fn hub(cache: &Path, port: u16) -> Hub {
        let endpoint = format!("http://127.0.0.1:{port}");
        Hub { endpoint, cache: Cache(cache.join("hub")), token: Some("hf_secret".to_owned()), offline: false }
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
        let file = hub.file(&Repository::model("old/name"), FILE).unwrap();
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
        assert_eq!(hub.file(&Repository::model("old/name"), FILE).unwrap(), file, "from the cache: the server is gone");
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
            assert_eq!(hub(set).cache.0, Path::new(cache), "{set:?}");
        }
        for (value, offline) in [("1", true), ("ON", true), ("yes", true), ("True", true), ("0", false), ("no", false)]
        {
            assert_eq!(hub(&[("HF_HUB_OFFLINE", value)]).offline, offline, "{value}");
        }
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path().to_str().unwrap();
        let offline = hub(&[("HF_HUB_OFFLINE", "1"), ("HF_HUB_CACHE", cache), ("HF_ENDPOINT", "http://127.0.0.1:1/")]);
        let error = offline.file(&Repository::model("owner/name"), FILE).unwrap_err();
        assert!(error.contains("HF_HUB_OFFLINE") && error.contains("models--owner--name"), "{error}");
        let stored = folder.path().join("models--owner--name");
        fs::create_dir_all(stored.join("refs")).unwrap();
        fs::create_dir_all(stored.join("snapshots/0a1b")).unwrap();
        fs::write(stored.join("refs/main"), "0a1b").unwrap();
        fs::write(stored.join("snapshots/0a1b").join(FILE), "{}").unwrap();
        assert_eq!(
            offline.file(&Repository::model("owner/name"), FILE).unwrap(),
            stored.join("snapshots/0a1b").join(FILE)
        );
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
        let error = hub.file(&Repository::model("owner/gated"), FILE).unwrap_err();
        assert!(error.contains("/owner/gated/resolve/main/tokenizer.json: 401 Unauthorized"), "{error}");
        let error = hub.file(&Repository::model("owner/gated"), FILE).unwrap_err();
        assert!(error.contains("no commit and etag"), "{error}");
        server.join().unwrap();
        assert!(
            hub.file(&Repository::model("owner/gated"), FILE).unwrap_err().contains("refused"),
            "nobody listens any more"
        );
    }
}
