//! Files of the Hugging Face hub, by way of the cache that all its clients share.

mod access;
mod cache;
mod fetch;
mod repository;
#[cfg(test)]
pub(super) mod test_hub;

pub(super) use access::Hub;
pub(super) use repository::Repository;
