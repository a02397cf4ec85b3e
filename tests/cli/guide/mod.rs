//! README and the guide: how long they are, where their links lead, what their examples show, and every command in them.

mod commands;
mod desk;
mod examples;
mod pages;
mod peers;
mod running;
mod versions;
