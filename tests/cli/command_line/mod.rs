//! What is typed, and what comes from settings: flags, mistakes, shells.

mod flags;
mod launch;
mod mistakes;
mod settings;
mod shell;
