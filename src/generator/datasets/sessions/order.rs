//! The requests of a session of a file in order, and what comes surely before what.

use std::collections::BTreeSet;
use std::time::Duration;

use super::blocks::{BlockTree, PromptBlocks};
use super::session::FileRequest;
use super::stored::StoredPrompt;
use crate::generator::graph::session::GraphNode;

/// The number of blocks that `own` and one `near` it begin with. With it is the place of that one in `says`.
pub(super) fn shared_with(
    tree: &BlockTree,
    own: PromptBlocks,
    says: &[StoredPrompt],
    near: &[u32],
) -> (u32, Option<u32>) {
    let theirs = |place: &u32| match says.get(*place as usize)? {
        StoredPrompt::Blocks { blocks, .. } => Some((tree.alike(*blocks, own), *place)),
        StoredPrompt::Messages { .. } | StoredPrompt::Words => None,
    };
    let (kept, base) = near.iter().filter_map(theirs).max().filter(|(kept, _)| *kept > 0).unzip();
    (kept.unwrap_or(0), base)
}

/// Whether the request at this place has surely ended once all `waits` have.
pub(super) fn ends_before(nodes: &[GraphNode], waits: &[(u32, Duration)], place: u32) -> bool {
    let mut left: Vec<u32> = waits.iter().map(|(on, _)| *on).collect();
    let mut seen = BTreeSet::new();
    while let Some(on) = left.pop() {
        if on == place {
            return true;
        }
        // Each waits for lower places only.
        if on > place && seen.insert(on) {
            left.extend(nodes.get(on as usize).into_iter().flat_map(|node| &node.waits).map(|(on, _)| *on));
        }
    }
    false
}

/// Lets every request but the first wait for something: a session has one beginning.
pub(super) fn one_beginning(requests: &mut [FileRequest]) {
    let Some(first) = requests.iter().position(|request| request.waits.is_empty()) else { return };
    for (at, request) in requests.iter_mut().enumerate() {
        if at != first && request.waits.is_empty() {
            request.waits.push((first, Duration::ZERO));
        }
    }
}

/// Returns the places of requests in order. Each comes after those that it waits for.
pub(super) fn in_order(requests: &[FileRequest]) -> Result<Vec<usize>, String> {
    let mut missing: Vec<usize> = requests.iter().map(|request| request.waits.len()).collect();
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); requests.len()];
    for (at, request) in requests.iter().enumerate() {
        for (on, _) in &request.waits {
            match after.get_mut(*on) {
                Some(after) => after.push(at),
                None => return Err(format!("{} waits for a request that is not there", request.name)),
            }
        }
    }
    let mut ready: BTreeSet<usize> = (0..requests.len()).filter(|at| missing[*at] == 0).collect();
    let mut order = Vec::with_capacity(requests.len());
    while let Some(at) = ready.pop_first() {
        order.push(at);
        for later in &after[at] {
            missing[*later] -= 1;
            if missing[*later] == 0 {
                ready.insert(*later);
            }
        }
    }
    if order.len() == requests.len() {
        return Ok(order);
    }
    let waiting = requests.iter().zip(&missing).filter(|(_, missing)| **missing > 0);
    let names: Vec<&str> = waiting.map(|(request, _)| request.name.as_str()).take(4).collect();
    Err(format!("its requests wait for one another in a circle, among them {}; leave one wait out", names.join(", ")))
}
