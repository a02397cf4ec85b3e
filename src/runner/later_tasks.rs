//! Tasks of a reader that nobody is woken for.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;

/// Tasks that nobody is woken for.
///
/// The answer to a request that is on the wire already wakes its reader. To wake it for the request too would double
/// the task switches of a short one.
#[derive(Clone, Default)]
pub(super) struct LaterTasks(Arc<Mutex<TaskQueue>>);

#[derive(Default)]
struct TaskQueue {
    tasks: Vec<BoxFuture<'static, ()>>,
    looks: u64,
    /// A mark that nobody begins tasks any more.
    is_closed: bool,
}

impl LaterTasks {
    /// The number of times that its reader has looked for bytes.
    pub(super) fn looks(&self) -> u64 {
        self.queue().looks
    }

    /// Adds a task, or drops it where its reader is gone. Returns it where that has looked for bytes since so many
    /// `looks`: it may have seen those that the task waits for.
    pub(super) fn add(&self, task: BoxFuture<'static, ()>, looks: u64) -> Option<BoxFuture<'static, ()>> {
        let mut queue = self.queue();
        if queue.looks != looks {
            return Some(task);
        }
        if !queue.is_closed {
            queue.tasks.push(task);
        }
        None
    }

    /// Begins them in the runtime of the calling thread, which has looked for bytes. Returns whether there were any.
    pub(super) fn begin(&self) -> bool {
        let mut queue = self.queue();
        queue.looks += 1;
        let tasks = std::mem::take(&mut queue.tasks);
        drop(queue);
        let has_any = !tasks.is_empty();
        for task in tasks {
            _ = tokio::spawn(task);
        }
        has_any
    }

    /// Drops what has not begun, and what comes later. A task holds on to its reader.
    pub(super) fn close(&self) {
        let mut queue = self.queue();
        queue.is_closed = true;
        let left = std::mem::take(&mut queue.tasks);
        drop(queue);
        drop(left);
    }

    fn queue(&self) -> MutexGuard<'_, TaskQueue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
