//! Files that are written whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::report::Out;

/// Names are drawn anew so often at most.
const DRAWS: usize = 16;

/// Writes a file whole or not at all. What was there stays until all of it is written, and the new one keeps its
/// permissions. A link, a device and a pipe are written through. A folder that is not there is made in one that is.
pub(crate) fn whole_file(path: &Path, write: impl FnOnce(Out<'_>) -> io::Result<()>) -> io::Result<()> {
    let Some(found) = replaced(path)? else {
        let mut out = BufWriter::new(through(path)?);
        return write(&mut out).and_then(|()| out.flush());
    };
    missing_folder(path).map_or(Ok(()), fs::create_dir)?;
    let (temporary, file) = unfinished(path)?;
    let written = || {
        if let Found::File(permissions) = found {
            file.set_permissions(permissions)?;
        }
        let mut out = BufWriter::new(file);
        write(&mut out)?;
        out.flush()?;
        fs::rename(&temporary, path)
    };
    let finished = written();
    if finished.is_err() {
        // Half a file is of no use, and the error is returned.
        let _ = fs::remove_file(&temporary);
    }
    finished
}

/// Finds out whether a file can be written to `path`. Nothing is left of the attempt.
pub(crate) fn try_whole_file(path: &Path) -> io::Result<()> {
    if replaced(path)?.is_none() {
        return through_could_be_written(path);
    }
    let (temporary, _) = unfinished(missing_folder(path).unwrap_or(path))?;
    fs::remove_file(temporary)
}

/// The folder of a file that is not there.
fn missing_folder(path: &Path) -> Option<&Path> {
    path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists())
}

/// The thing that a whole file takes the place of.
enum Found {
    Nothing,
    File(fs::Permissions),
}

/// `None` of what is no file by itself, and is written through.
fn replaced(path: &Path) -> io::Result<Option<Found>> {
    match path.symlink_metadata() {
        Ok(found) if found.is_file() && found.permissions().readonly() => {
            Err(io::Error::new(ErrorKind::PermissionDenied, "it is kept from being written"))
        }
        Ok(found) if found.is_file() => Ok(Some(Found::File(found.permissions()))),
        Ok(_) => Ok(None),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Some(Found::Nothing)),
        Err(error) => Err(error),
    }
}

/// Opens what a link points to, or a device or pipe. What a link points to may have to be made.
fn through(path: &Path) -> io::Result<File> {
    let there = path.exists();
    OpenOptions::new().write(true).create(!there).truncate(true).open(path)
}

/// Finds out whether it could be, and leaves it as it is. A pipe is believed, for opening one waits for its reader.
fn through_could_be_written(path: &Path) -> io::Result<()> {
    match path.metadata() {
        Ok(target) if target.is_file() => OpenOptions::new().write(true).open(path).map(drop),
        Ok(_) => Ok(()),
        Err(_) => {
            let target = path.with_file_name(fs::read_link(path)?);
            unfinished(&target).and_then(|(temporary, _)| fs::remove_file(temporary))
        }
    }
}

/// Creates a file beside `path`, under a temporary name. It keeps the name until it is whole.
fn unfinished(path: &Path) -> io::Result<(PathBuf, File)> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut last = None;
    for _ in 0..DRAWS {
        let temporary = path.with_file_name(format!(".{name}.{:016x}.new", rand::random::<u64>()));
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            Ok(file) => return Ok((temporary, file)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => last = Some(error),
            Err(error) => return Err(error),
        }
    }
    Err(last.unwrap_or_else(|| ErrorKind::AlreadyExists.into()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn written(path: &Path, text: &str) {
        whole_file(path, |out| out.write_all(text.as_bytes())).unwrap();
    }

    #[test]
    fn what_cannot_be_written_is_found_before() {
        let folder = tempfile::tempdir().unwrap();
        let [kept, dangling, new] = ["kept", "dangling", "new"].map(|name| folder.path().join(name));
        written(&kept, "mine");
        fs::set_permissions(&kept, fs::Permissions::from_mode(0o444)).unwrap();
        assert_eq!(try_whole_file(&kept).unwrap_err().kind(), ErrorKind::PermissionDenied);
        assert_eq!(whole_file(&kept, |_| Ok(())).unwrap_err().kind(), ErrorKind::PermissionDenied);
        assert_eq!(fs::read_to_string(&kept).unwrap(), "mine");
        symlink("nowhere/at-all", &dangling).unwrap();
        assert_eq!(try_whole_file(&dangling).unwrap_err().kind(), ErrorKind::NotFound);
        symlink("to-be-made", &new).unwrap();
        try_whole_file(&new).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "nothing is left of it");
    }

    #[test]
    fn a_file_keeps_its_permissions() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine");
        written(&path, "old");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        try_whole_file(&path).unwrap();
        written(&path, "new");
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_stays_one() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        symlink(&target, &link).unwrap();
        for text in ["made", "and written to"] {
            try_whole_file(&link).unwrap();
            written(&link, text);
            assert!(link.symlink_metadata().unwrap().is_symlink());
            assert_eq!(fs::read_to_string(&target).unwrap(), text);
        }
        written(Path::new("/dev/null"), "gone");
        assert!(!Path::new("/dev/null").metadata().unwrap().is_file());
    }

    #[test]
    fn what_cannot_be_finished_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine");
        written(&path, "old");
        let broken = |out: Out<'_>| out.write_all(b"half").and(Err(io::Error::other("broken")));
        assert_eq!(whole_file(&path, broken).unwrap_err().to_string(), "broken");
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
