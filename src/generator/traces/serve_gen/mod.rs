//! `ServeGen`'s pools of clients (github.com/alibaba/ServeGen, `data/`), which say at what rates clients send and how
//! long their requests are, but list no request: these are drawn.
//!
//! A pool is a folder with two files of each client. `chunk-N-trace.csv` has a line `t,rate,cv,pattern,shape,scale` for
//! every stretch of time: its beginning in seconds, requests per second, and the gaps' coefficient of variation, family
//! (`Gamma` or `Weibull`) and its parameters; a stretch without a pattern has no requests. `chunk-N-dataset.json` has
//! for every few hours the shares of token counts, written as Python writes dictionaries.
//!
//! Drawn is as `ServeGen` draws (`servegen/construct.py`), with three differences. It stretches the gaps of a client's
//! stretch so that rate × time requests fill it, of which the last is lost; here gaps have the mean 1/rate
//! and are never stretched, so that the rate holds on average and counts vary as they do. A client is under
//! way when a stretch begins. And prompt and answer are drawn apart: `ServeGen` takes one uniform number for
//! both, so that the longest prompt always has the longest answer, which its data does not say.

mod client;
pub(super) mod pool;
mod tables;

#[cfg(test)]
mod tests;
