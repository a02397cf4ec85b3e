//! Stamps: those that cannot have been are refused, and those of HTTP/2 are its server's moments.

mod http2;
mod impossible;
