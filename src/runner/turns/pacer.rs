//! Lets later turns go at their moments, which are known only when the turns before them have ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::sleep_until;

use super::timer_queue::Due;
use super::writer::{News, Writer};
use crate::clock::{RunClock, SharpWait, Step};
use crate::engine::Engine;
use crate::runner::options::Pacing;
use crate::runner::release::{Order, Released};

/// Longest sleep of the precise pacer before it looks whether it should stop.
const NAP: Duration = Duration::from_millis(50);

/// Starts to write what `news` ask for and to let it go into `out`, until `news` end, or soon after `stop` is set.
pub(super) fn start<E: Engine>(
    pacing: Pacing,
    mut writer: Writer<E>,
    mut news: mpsc::UnboundedReceiver<News>,
    clock: RunClock,
    stop: Arc<AtomicBool>,
    out: mpsc::UnboundedSender<Released>,
) {
    match pacing {
        Pacing::Precise => {
            let (written, orders) = channel();
            // A writer that is busy with a long text holds nobody up whose text is written.
            std::thread::spawn(move || {
                while let Some(news) = news.blocking_recv() {
                    if !wrote(&mut writer, news, |order| written.send(order).is_ok()) {
                        return;
                    }
                }
            });
            std::thread::spawn(move || release_precisely(&orders, clock, &stop, &out));
        }
        Pacing::Timer => {
            tokio::spawn(release_by_timer(writer, news, clock, stop, out));
        }
    }
}

/// Writes what `news` ask for, hands it on and writes ahead; false when nobody takes it any more.
fn wrote<E: Engine>(writer: &mut Writer<E>, news: News, hand_on: impl FnOnce(Order) -> bool) -> bool {
    let begun = match &news {
        News::Began(opener, _) => Some(*opener),
        News::Ended { next, .. } => *next,
    };
    let taken = writer.take(news).is_none_or(hand_on);
    if let Some(request) = begun {
        writer.write_ahead(&request);
    }
    taken
}

fn release_precisely(
    orders: &Receiver<Order>,
    clock: RunClock,
    stop: &AtomicBool,
    out: &mpsc::UnboundedSender<Released>,
) {
    let mut wait = SharpWait::new(clock);
    let mut due = Due::default();
    while !stop.load(Relaxed) {
        let action = due.moment().map_or(Step::Sleep(NAP), |moment| wait.step_towards(moment));
        let came = match action {
            Step::Sleep(left) => match orders.recv_timeout(left.min(NAP)) {
                Ok(order) => Some(order),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            },
            Step::Spin => match orders.try_recv() {
                Ok(order) => Some(order),
                Err(TryRecvError::Empty) => {
                    std::hint::spin_loop();
                    None
                }
                Err(TryRecvError::Disconnected) => return,
            },
            Step::Over => {
                if let Some(order) = due.pop()
                    && out.send(Released { order, dispatched: clock.now() }).is_err()
                {
                    return;
                }
                None
            }
        };
        if let Some(order) = came {
            due.push(order);
        }
    }
}

async fn release_by_timer<E: Engine>(
    mut writer: Writer<E>,
    mut news: mpsc::UnboundedReceiver<News>,
    clock: RunClock,
    stop: Arc<AtomicBool>,
    out: mpsc::UnboundedSender<Released>,
) {
    let mut due = Due::default();
    loop {
        let moment = due.moment();
        let alarm = async {
            match moment {
                Some(moment) => sleep_until(clock.instant(moment)).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            told = news.recv() => {
                let Some(told) = told else { return };
                wrote(&mut writer, told, |order| {
                    due.push(order);
                    true
                });
            }
            () = alarm => {
                if stop.load(Relaxed) {
                    return;
                }
                if let Some(order) = due.pop()
                    && out.send(Released { order, dispatched: clock.now() }).is_err()
                {
                    return;
                }
            }
        }
    }
}
