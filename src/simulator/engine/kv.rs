//! The pool of KV-cache blocks: allocated as sequences grow, shared by prefix, evicted by age.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

/// The memory of keys and values. It has a fixed number of blocks, and knows which of them a later prompt finds again.
///
/// What each cache must do is count blocks; one that finds no prefix leaves the rest as it is here.
pub trait PrefixCache {
    /// All blocks.
    fn total(&self) -> u64;

    /// Blocks without an owner, findable ones included.
    fn free(&self) -> u64;

    /// Takes `count` blocks; takes none and returns false if there are too few.
    fn take(&mut self, count: u64) -> bool;

    /// Returns a sequence's blocks to the pool. `hashes` are those of its shared ones, `full` and `begun` its private
    /// full and partial ones.
    fn release(&mut self, hashes: &[u64], full: u32, begun: u32);

    /// The number of leading `hashes` that are in the cache.
    fn found(&self, _hashes: &[u64]) -> u32 {
        0
    }

    /// The number of these blocks without a user, which count as free.
    fn idle(&self, _hashes: &[u64]) -> u64 {
        0
    }

    /// References blocks that were found.
    fn refer(&mut self, _hashes: &[u64]) {}

    /// Makes a full block findable; returns whether no equal one was.
    fn name(&mut self, _hash: u64) -> bool {
        false
    }

    /// Forgets every block without a user.
    fn forget(&mut self) {}
}

/// A fixed number of blocks, as vLLM's block pool:
///
/// - a full block with a hash stays findable after its last user has left, until it is needed;
/// - blocks are taken from the front of one queue and come back to its end, a sequence's last block first, so the
///   least recently used go first and a chain is eaten from its tail; a block that is not full comes back to the front;
/// - full blocks that no other sequence can want wait in the same queue, so they age the others, but are only counted.
///
/// One difference: when two sequences have computed equal blocks side by side, vLLM can find either; here the second is
/// only its owner's, until the first is gone.
#[derive(Clone, Debug)]
pub struct BlockPool {
    total: u64,
    /// Blocks without an owner, findable ones included.
    free: u64,
    findable: HashMap<u64, Findable>,
    /// Free blocks by age. An entry for a findable block counts only while its turn matches the block's.
    queue: VecDeque<Free>,
    turns: u64,
}

#[derive(Clone, Copy, Debug)]
struct Findable {
    users: u32,
    /// Turn of the queue entry that is this block's, while it has no user.
    turn: u64,
}

#[derive(Clone, Copy, Debug)]
enum Free {
    Unnamed(u64),
    Named { hash: u64, turn: u64 },
}

impl PrefixCache for BlockPool {
    fn total(&self) -> u64 {
        self.total
    }

    fn free(&self) -> u64 {
        self.free
    }

    /// Takes the oldest blocks first.
    fn take(&mut self, count: u64) -> bool {
        if count > self.free {
            return false;
        }
        self.free -= count;
        let mut missing = count;
        while missing > 0 {
            match self.queue.pop_front() {
                Some(Free::Unnamed(run)) if run > missing => {
                    self.queue.push_front(Free::Unnamed(run - missing));
                    missing = 0;
                }
                Some(Free::Unnamed(run)) => missing -= run,
                Some(Free::Named { hash, turn }) if waits(&self.findable, hash, turn) => {
                    self.findable.remove(&hash);
                    missing -= 1;
                }
                Some(Free::Named { .. }) => {} // found again since
                None => break,
            }
        }
        true
    }

    /// Puts partial blocks, which are of no use to others, where they are reused first.
    fn release(&mut self, hashes: &[u64], full: u32, begun: u32) {
        if begun > 0 {
            self.free += u64::from(begun);
            self.queue.push_front(Free::Unnamed(u64::from(begun)));
        }
        self.give_back_unnamed(u64::from(full));
        for &hash in hashes.iter().rev() {
            if let Some(block) = self.findable.get_mut(&hash) {
                block.users -= 1;
                if block.users == 0 {
                    self.turns += 1;
                    block.turn = self.turns;
                    self.queue.push_back(Free::Named { hash, turn: self.turns });
                    self.free += 1;
                }
            }
        }
        self.sweep();
    }

    fn found(&self, hashes: &[u64]) -> u32 {
        hashes.iter().take_while(|hash| self.findable.contains_key(hash)).count() as u32
    }

    fn idle(&self, hashes: &[u64]) -> u64 {
        hashes.iter().filter(|hash| self.findable.get(hash).is_some_and(|block| block.users == 0)).count() as u64
    }

    fn refer(&mut self, hashes: &[u64]) {
        for hash in hashes {
            if let Some(block) = self.findable.get_mut(hash) {
                self.free -= u64::from(block.users == 0);
                block.users += 1;
            }
        }
    }

    fn name(&mut self, hash: u64) -> bool {
        let Entry::Vacant(place) = self.findable.entry(hash) else { return false };
        place.insert(Findable { users: 1, turn: 0 });
        true
    }

    fn forget(&mut self) {
        self.findable.retain(|_, block| block.users > 0);
        self.queue = VecDeque::from([Free::Unnamed(self.free)]);
    }
}

impl BlockPool {
    /// Returns a pool of so many blocks, all of them free.
    pub fn new(total: u64) -> Self {
        let queue = VecDeque::from([Free::Unnamed(total)]);
        Self { total, free: total, findable: HashMap::new(), queue, turns: 0 }
    }

    /// Drops stale entries of blocks that are in use again, once they outnumber the others.
    fn sweep(&mut self) {
        if self.queue.len() > 64 + 2 * self.findable.len() + self.total.min(1 << 20) as usize / 8 {
            self.queue.retain(|free| match free {
                Free::Unnamed(run) => *run > 0,
                Free::Named { hash, turn } => waits(&self.findable, *hash, *turn),
            });
        }
    }

    fn give_back_unnamed(&mut self, count: u64) {
        self.free += count;
        if let Some(Free::Unnamed(run)) = self.queue.back_mut() {
            *run += count;
        } else if count > 0 {
            self.queue.push_back(Free::Unnamed(count));
        }
    }
}

/// Whether this entry of the queue is that of a block without a user.
fn waits(findable: &HashMap<u64, Findable>, hash: u64, turn: u64) -> bool {
    findable.get(&hash).is_some_and(|block| block.users == 0 && block.turn == turn)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sequence of blocks with these hashes comes, fills them, and leaves.
    fn pass_through(pool: &mut BlockPool, hashes: &[u64]) {
        assert!(pool.take(hashes.len() as u64));
        for &hash in hashes {
            assert!(pool.name(hash));
        }
        pool.release(hashes, 0, 0);
    }

    #[test]
    fn blocks_are_counted_out_and_come_back() {
        let mut pool = BlockPool::new(10);
        assert!(pool.take(7));
        assert!(!pool.take(4), "only three are left");
        assert_eq!(pool.free(), 3);
        pool.release(&[], 5, 2);
        assert_eq!(pool.free(), 10);
    }

    #[test]
    fn a_prefix_is_found_until_its_blocks_are_needed() {
        let mut pool = BlockPool::new(4);
        pass_through(&mut pool, &[1, 2]);
        assert_eq!((pool.free(), pool.found(&[1, 2, 3]), pool.found(&[9, 2])), (4, 2, 0));
        // Two blocks were never used and go first; then the chain's tail, then its head.
        assert!(pool.take(2));
        assert_eq!(pool.found(&[1, 2]), 2);
        assert!(pool.take(1));
        assert_eq!(pool.found(&[1, 2]), 1);
        assert!(pool.take(1));
        assert_eq!(pool.found(&[1, 2]), 0);
    }

    #[test]
    fn the_least_recently_used_goes_first() {
        let mut pool = BlockPool::new(2);
        pass_through(&mut pool, &[1]);
        pass_through(&mut pool, &[2]);
        pool.refer(&[1]);
        pool.release(&[1], 0, 0);
        assert!(pool.take(1));
        assert_eq!((pool.found(&[1]), pool.found(&[2])), (1, 0));
    }

    #[test]
    fn a_block_in_use_is_never_evicted() {
        let mut pool = BlockPool::new(3);
        pass_through(&mut pool, &[1]);
        assert_eq!(pool.idle(&[1]), 1);
        pool.refer(&[1]);
        assert_eq!((pool.free(), pool.idle(&[1])), (2, 0));
        assert!(pool.take(2) && !pool.take(1));
        assert_eq!(pool.found(&[1]), 1);
    }

    #[test]
    fn of_equal_blocks_the_first_is_found() {
        let mut pool = BlockPool::new(2);
        assert!(pool.take(2));
        assert!(pool.name(1) && !pool.name(1));
        assert_eq!(pool.free(), 0);
        pool.release(&[], 1, 0);
        pool.release(&[1], 0, 0);
        assert_eq!((pool.free(), pool.found(&[1])), (2, 1));
    }

    #[test]
    fn blocks_that_were_only_begun_are_taken_first() {
        let mut pool = BlockPool::new(3);
        pass_through(&mut pool, &[1, 2, 3]);
        pool.refer(&[1, 2]);
        assert!(pool.take(1)); // evicts 3
        pool.release(&[1, 2], 0, 1);
        assert!(pool.take(1));
        assert_eq!(pool.found(&[1, 2]), 2);
    }

    #[test]
    fn the_queue_does_not_grow_with_use() {
        let mut pool = BlockPool::new(8);
        pass_through(&mut pool, &[1, 2, 3]);
        for _ in 0..10_000 {
            pool.refer(&[1, 2, 3]);
            pool.release(&[1, 2, 3], 0, 0);
        }
        assert!(pool.queue.len() < 200, "{}", pool.queue.len());
        assert!(pool.take(8) && !pool.take(1));
        assert_eq!(pool.found(&[1, 2, 3]), 0);
    }

    #[test]
    fn forgetting_spares_what_is_in_use() {
        let mut pool = BlockPool::new(4);
        pass_through(&mut pool, &[1, 2]);
        pool.refer(&[1]);
        pool.forget();
        assert_eq!((pool.found(&[1]), pool.found(&[1, 2]), pool.free()), (1, 1, 3));
        assert!(pool.take(3));
    }
}
