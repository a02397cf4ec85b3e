//! A terminal for the binary, whose other end a test holds.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::ioctl_fionbio;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::support::{Desk, PATIENCE};

/// What a user has before them. Dropped, it is lost: the program's writes fail.
pub(crate) struct Terminal {
    user: File,
    path: PathBuf,
}

impl Terminal {
    pub(crate) fn new() -> Self {
        let user = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&user).unwrap();
        unlockpt(&user).unwrap();
        ioctl_fionbio(&user, true).unwrap();
        let name = ptsname(&user, Vec::new()).unwrap();
        Self { user: user.into(), path: OsStr::from_bytes(name.to_bytes()).into() }
    }

    /// Starts the binary in the folder of `desk`, with this terminal, of this kind, for all that it reads and
    /// writes.
    pub(crate) fn start(&self, kind: &str, desk: &Desk, arguments: &[&str]) -> Child {
        // A test that has no terminal must not get this one: it would end with it.
        let flags = OpenptFlags::NOCTTY.bits().cast_signed();
        let end = || Stdio::from(File::options().read(true).write(true).custom_flags(flags).open(&self.path).unwrap());
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("skyline"));
        command.current_dir(desk.path()).args(arguments).env("TERM", kind);
        command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap()
    }

    /// Reads what is shown until `text` is.
    pub(crate) fn await_text(&mut self, text: &str) {
        let (mut shown, mut buffer) = (String::new(), [0; 4096]);
        let begin = Instant::now();
        while !shown.contains(text) {
            assert!(begin.elapsed() < PATIENCE, "`{text}` is not in {shown}");
            match self.user.read(&mut buffer) {
                Ok(count @ 1..) => shown.push_str(&String::from_utf8_lossy(&buffer[..count])),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    thread::sleep(Duration::from_millis(10));
                }
                _ => panic!("`{text}` is not in {shown}"),
            }
        }
    }

    pub(crate) fn types(&mut self, text: &str) {
        self.user.write_all(text.as_bytes()).unwrap();
    }
}
