//! Sessions from files: graphs of requests, with the texts or the blocks of their prompts.
//!
//! A file consists of items: its lines, the elements of its list, or the files of a folder. The reader of a format
//! turns them into sessions.
#![allow(dead_code, reason = "no class takes its sessions from files yet")]

mod blocks;
mod session;
