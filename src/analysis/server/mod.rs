//! What the server and its devices reported, beside what the client measured.

pub(super) mod costs;
pub(super) mod devices;
pub(super) mod histogram;
pub(super) mod leaving;
pub(super) mod pages;
pub(super) mod prefix_cache;
pub(super) mod reported;
pub(super) mod settings;
pub(super) mod slowdown;
pub(super) mod speculation;
pub(super) mod track;
