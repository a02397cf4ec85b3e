//! The start of a server, watched until it listens.

use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Time limit of a connection that finds out whether an address is taken.
const TRIAL: Duration = Duration::from_secs(1);
/// Between two looks at whether it is.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The start of a server, from its command on.
pub(super) struct StartWatch {
    /// Moment of the command.
    pub(super) began: Instant,
    found: Receiver<Instant>,
    over: Arc<AtomicBool>,
}

impl StartWatch {
    /// Begins to watch hosts and ports at which a server is about to listen. The watch ends with the value.
    pub(super) fn begin(places: Vec<(String, u16)>) -> Self {
        let began = Instant::now();
        let (listens, found) = channel();
        let over = Arc::<AtomicBool>::default();
        let is_over = Arc::clone(&over);
        std::thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                if places.iter().any(|(host, port)| answering(host, *port).is_some()) {
                    // Nobody may be there to hear of it.
                    let _ = listens.send(Instant::now());
                    return;
                }
                std::thread::sleep(LOOK_EVERY);
            }
        });
        Self { began, found, over }
    }

    /// Returns the moment at which it was found to listen.
    pub(super) fn listens(&self) -> Option<Instant> {
        self.found.try_recv().ok()
    }
}

impl Drop for StartWatch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// The address at which something answers there, if something does.
pub(super) fn answering(host: &str, port: u16) -> Option<SocketAddr> {
    let mut addresses = (host, port).to_socket_addrs().into_iter().flatten();
    addresses.find(|address| TcpStream::connect_timeout(address, TRIAL).is_ok())
}
