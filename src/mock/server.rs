//! The mock as an HTTP server on its own thread.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use axum::extract::Extension;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use super::engine_thread::EngineThread;
use super::faults::FaultChances;
use super::http::{ConnectionLog, LoggedSocket, ResetStream, router};
use super::options::{Backend, MockOptions};
use super::state::Mock;
use super::truth::{MockStatistics, TruthLog};
use crate::clock::{RunClock, start_thread};
use crate::engine::BaseUrl;
use crate::random::RandomStream;

/// Reason why a mock did not start.
#[derive(Debug, thiserror::Error)]
pub enum MockStartError {
    /// The address is taken, not this machine's or not allowed.
    #[error(
        "the mock cannot listen on {address}: {error}\nhint: port 0 takes a free port; 127.0.0.1 and 0.0.0.0 are \
         addresses of every machine"
    )]
    Address {
        /// The address.
        address: SocketAddr,
        /// The operating system's error.
        error: io::Error,
    },
    /// The file for the truth log cannot be created.
    #[error("the truth log {} cannot be written: {error}\nhint: name a file in a folder that exists", path.display())]
    TruthLog {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        error: io::Error,
    },
    /// Its path is none.
    #[error("the mock cannot serve below that path: {0}")]
    BasePath(String),
    /// No thread could be started.
    #[error("the mock cannot start a thread: {0}")]
    Thread(#[from] io::Error),
}

/// A running mock. Dropping it stops it.
#[derive(Debug)]
pub struct MockServer {
    address: SocketAddr,
    url: BaseUrl,
    truth: Arc<TruthLog>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl MockServer {
    /// Starts a mock of `backend` at `address`; port 0 takes a free one.
    ///
    /// # Errors
    ///
    /// When the address cannot be bound, the truth log cannot be created or no thread can be started.
    pub fn start(backend: Backend, options: MockOptions, address: SocketAddr) -> Result<Self, MockStartError> {
        let (listener, address) = listen(address).map_err(|error| MockStartError::Address { address, error })?;
        let url: BaseUrl =
            format!("http://{address}{}", options.base_path).parse().map_err(MockStartError::BasePath)?;
        let clock = RunClock::starting_in(Duration::ZERO);
        let truth = TruthLog::new(clock, backend.model.clone());
        if let Some(path) = &options.truth {
            truth.write_to(path).map_err(|error| MockStartError::TruthLog { path: path.clone(), error })?;
        }
        let truth = Arc::new(truth);
        let pacing = options.pacing;
        let mock = Arc::new(Mock {
            url: url.clone(),
            model: backend.model,
            max_model_len: backend.max_model_len,
            engine: EngineThread::start(backend.server, clock, pacing)?,
            clock,
            truth: Arc::clone(&truth),
            chances: FaultChances::new(options.faults.clone(), options.seed),
            stop_lengths: RandomStream::named(options.seed, "mock stop length"),
            options,
            requests: AtomicU64::new(0),
            jobs: AtomicU64::new(0),
            receiving: AtomicUsize::new(0),
            profiles: AtomicBool::new(false),
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = start_thread("mock", move || {
            let _raised = pacing.raise();
            let served = runtime.block_on(async {
                let listener = TcpListener::from_std(listener)?;
                tokio::select! {
                    served = serve(listener, mock) => served,
                    _ = stopped => Ok(()),
                }
            });
            if let Err(error) = served {
                tracing::error!("the mock server stopped: {error}");
            }
        })?;
        Ok(Self { address, url, truth, stop: Some(stop), thread: Some(thread) })
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its address for clients, with its path.
    pub fn url(&self) -> &BaseUrl {
        &self.url
    }

    /// Stops it and returns its statistics. Requests under way are cut off and count as left by their
    /// clients.
    pub fn stop(mut self) -> MockStatistics {
        self.end();
        self.truth.statistics()
    }

    fn end(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        self.truth.close();
    }
}

impl Drop for MockServer {
    fn drop(&mut self) {
        self.end();
    }
}

fn listen(address: SocketAddr) -> io::Result<(std::net::TcpListener, SocketAddr)> {
    let listener = std::net::TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

async fn serve(listener: TcpListener, mock: Arc<Mock>) -> io::Result<()> {
    let router = router(&mock);
    for number in 0.. {
        let socket = match listener.accept().await {
            Ok((socket, _)) => socket,
            Err(error) => {
                // Most likely out of file descriptors; other connections will close.
                tracing::warn!("the mock cannot accept a connection: {error}");
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            }
        };
        if mock.chances.refuses(number) {
            let _ = socket.set_zero_linger();
            continue;
        }
        tokio::spawn(converse(socket, router.clone(), ConnectionLog::new(Arc::clone(&mock.truth), mock.clock)));
    }
    Ok(())
}

/// Bytes that a connection holds unread, which a head must fit into.
const LARGEST_READ: usize = 64 << 10;

/// Serves one connection until either side ends it. A client that begins with the preface of HTTP/2 gets HTTP/2.
async fn converse(socket: TcpStream, router: Router, log: ConnectionLog) {
    // Without this, Nagle's algorithm would delay small events.
    let _ = socket.set_nodelay(true);
    let answers = TowerToHyperService::new(router.layer(Extension(log.clone())));
    let service = service_fn(move |request| {
        let answer = answers.call(request);
        async move { ResetStream::of_answer(answer.await.unwrap_or_else(|never| match never {})) }
    });
    let line = TokioIo::new(LoggedSocket::new(socket, log.clone()));
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().max_buf_size(LARGEST_READ);
    let connection = builder.serve_connection(line, service);
    tokio::select! {
        // A client that goes away is no error of the mock.
        _ = connection => {}
        () = log.resets() => {}
    }
}
