//! The guide's page of faults.

use std::fmt::Write as _;
use std::path::Path;

use super::{Fault, in_one_line, table};

const HEAD: &str = "# Faults: what each does to a run

Each line is done to the program by a test, which compares the exit code and the
words. The data is in `tests/data/faults.toml`.
";
/// The groups in the order of the page.
const GROUPS: [(&str, &str); 6] = [
    ("server", "The server"),
    ("network", "The network"),
    ("machine", "This machine: disk, files, clock"),
    ("log", "What is stored"),
    ("signal", "Signals"),
    ("user", "What is typed"),
];
const COLUMNS: usize = 79;

fn line_of(fault: &Fault) -> String {
    let said = in_one_line(&fault.says[0]);
    format!("{}: {}, exit {}. \"{said}\"", fault.what, fault.result, fault.exit)
}

/// The page, with a fault an item.
fn page() -> String {
    let faults = table();
    let mut page = HEAD.to_owned();
    for (group, title) in GROUPS {
        let _ = write!(page, "\n## {title}\n\n");
        for fault in faults.iter().filter(|fault| fault.of == group) {
            let mut line = String::from("-");
            for word in line_of(fault).split(' ') {
                if line.chars().count() + word.chars().count() + 1 > COLUMNS {
                    let _ = writeln!(page, "{line}");
                    " ".clone_into(&mut line);
                }
                line.push(' ');
                line.push_str(word);
            }
            let _ = writeln!(page, "{line}");
        }
    }
    page
}

#[test]
fn the_guide_shows_the_table() {
    assert!(table().iter().all(|fault| GROUPS.iter().any(|(group, _)| fault.of == *group)));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/guide/generated/faults.md");
    if std::env::var("INSTA_UPDATE").is_ok_and(|how| how == "always") {
        std::fs::write(&path, page()).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), page(), "INSTA_UPDATE=always writes it");
}
