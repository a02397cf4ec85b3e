//! Holds the pool to counts, to the order of eviction, and to a bounded queue.

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
