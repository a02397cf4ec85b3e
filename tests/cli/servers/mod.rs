//! Servers and proxies that are not there, refuse, break off, gather, or never end.

#[cfg(unix)]
mod addresses;
mod audio;
mod cases;
mod connecting;
mod connections;
mod described;
mod endpoints;
mod faults;
mod gathered;
#[cfg(target_os = "linux")]
mod hostile;
mod http2;
pub(crate) mod prometheus;
mod requested;
mod secrets;
mod several;
mod speculation;
