//! Reads from a socket with the time at which the kernel received the bytes.

use std::io;
use std::time::Duration;

use mio::net::{TcpListener, TcpStream};

#[cfg(target_os = "linux")]
pub(super) use linux::Stamps;
#[cfg(not(target_os = "linux"))]
pub(super) use unstamped::Stamps;

#[cfg(target_os = "linux")]
mod linux {
    use std::io::IoSliceMut;
    use std::os::fd::AsRawFd as _;

    use nix::sys::socket::sockopt::ReceiveTimestampns;
    use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt};
    use nix::sys::time::TimeSpec;

    use super::{Duration, TcpListener, TcpStream, io};

    /// The kernel takes a moment to begin with stamps where no socket had them before.
    const BEGINS: Duration = Duration::from_millis(100);

    /// Room for the kernel's stamps.
    pub(crate) struct Stamps(Vec<u8>);

    impl Stamps {
        /// Asks the kernel to stamp what comes over the connections of `listener`: they inherit that.
        pub(crate) fn ask_for(listener: &TcpListener) -> Self {
            setsockopt(listener, ReceiveTimestampns, &true).unwrap();
            std::thread::sleep(BEGINS);
            Self(nix::cmsg_space!(TimeSpec))
        }

        /// Reads once: the number of bytes, and how long after 1970 the last packet of them came.
        pub(crate) fn receive(
            &mut self,
            socket: &TcpStream,
            buffer: &mut [u8],
        ) -> io::Result<(usize, Option<Duration>)> {
            let (mut slices, flags) = ([IoSliceMut::new(buffer)], MsgFlags::empty());
            let message = recvmsg::<()>(socket.as_raw_fd(), &mut slices, Some(&mut self.0), flags)?;
            let stamp = message.cmsgs()?.find_map(|message| match message {
                ControlMessageOwned::ScmTimestampns(stamp) => Some(stamp.into()),
                _ => None,
            });
            Ok((message.bytes, stamp))
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod unstamped {
    use std::io::Read as _;

    use super::{Duration, TcpListener, TcpStream, io};

    /// No stamps here.
    pub(crate) struct Stamps;

    impl Stamps {
        pub(crate) fn ask_for(_listener: &TcpListener) -> Self {
            Self
        }

        pub(crate) fn receive(
            &mut self,
            mut socket: &TcpStream,
            buffer: &mut [u8],
        ) -> io::Result<(usize, Option<Duration>)> {
            Ok((socket.read(buffer)?, None))
        }
    }
}
