//! The file that commands write to, and the end of what the latest of them wrote.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use crate::session::exit::Stop;

/// Most lines that are shown of what a command wrote.
const LINES: usize = 12;
/// Nothing before so many bytes from the end is looked at.
const BYTES: u64 = 16_384;

/// A file to which commands add what they have to say.
#[derive(Debug)]
pub(crate) struct Output {
    path: PathBuf,
    /// Where the latest command's part begins.
    from: u64,
}

impl Output {
    /// The file at `path`, which need not be there yet.
    pub(crate) fn to(path: PathBuf) -> Self {
        Self { path, from: 0 }
    }

    /// Notes that a command begins, which is `shown` where it may be, and gives it somewhere to write: for standard output and for standard error.
    pub(super) fn begin(&mut self, name: &str, shown: Option<&str>) -> Result<(File, File), Stop> {
        let moment = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ");
        let opened = (|| {
            let mut file = OpenOptions::new().create(true).append(true).open(&self.path)?;
            match shown {
                Some(command) => writeln!(file, "--- {moment} {name}: {command}")?,
                None => writeln!(file, "--- {moment} {name}")?,
            }
            self.from = file.metadata()?.len();
            Ok::<_, io::Error>((file.try_clone()?, file))
        })();
        opened.map_err(|error| {
            Stop::impossible(format!(
                "cannot write to {}, where the {name} command's output belongs: {error}",
                self.path.display()
            ))
        })
    }

    /// The last lines of the latest command, indented, with where all of them are.
    pub(super) fn end(&self) -> String {
        let path = self.path.display();
        match self.last_lines() {
            Ok(lines) if lines.is_empty() => "it wrote nothing".to_owned(),
            Ok(lines) => {
                format!("the end of what it wrote (all of it is in {path}):\n  {}", lines.join("\n  "))
            }
            Err(error) => format!("what it wrote should be in {path}, which cannot be read: {error}"),
        }
    }

    fn last_lines(&self) -> io::Result<Vec<String>> {
        let mut file = File::open(&self.path)?;
        let from = self.from.max(file.metadata()?.len().saturating_sub(BYTES));
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<_> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        Ok(lines[lines.len().saturating_sub(LINES)..].iter().map(|line| (*line).to_owned()).collect())
    }
}
