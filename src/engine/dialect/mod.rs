//! The dialects of the OpenAI protocol.

mod table;
mod traits;

pub use table::Dialect;
pub use traits::{
    CacheReset, DialectTraits, IdleConnections, LengthForcing, MetricNames, PriorityOrder, SchemaField,
    TokenizeCall,
};
