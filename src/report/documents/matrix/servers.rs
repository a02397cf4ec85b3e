//! The variants of a table of experiments: their servers, flags and commands.

use crate::experiment::matrix::{Matrix, Variant};
use crate::report::document::Section;
use crate::units::three_digits;

pub(super) fn sections(matrix: &Matrix) -> impl Iterator<Item = Section> {
    matrix.variants.iter().map(|variant| {
        let mut section = Section::detail(format!("Variant {}", variant.name));
        add(&mut section, variant);
        section
    })
}

/// Adds what a variant is served with.
pub(super) fn add(section: &mut Section, variant: &Variant) {
    let server = &variant.server;
    let filled = |command: &Option<String>| command.as_ref().map(|command| server.filled(command));
    let settings = [
        ("at", server.url.clone()),
        ("flags", server.flags.clone()),
        ("serve", filled(&server.serve)),
        ("start", filled(&server.start)),
        ("reset before every run", filled(&server.reset)),
        ("stop", filled(&server.stop)),
        ("hardware", server.hardware.clone()),
        ("price per hour", server.cost_per_hour().map(three_digits)),
    ];
    for (label, said) in settings {
        match said.as_deref().map(str::trim) {
            None => {}
            Some(lines) if lines.contains('\n') => {
                section.text(format!("{label}:"));
                section.command(lines);
            }
            Some(line) => section.fact(label, line),
        }
    }
}
