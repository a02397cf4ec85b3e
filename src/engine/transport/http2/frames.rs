//! Finds the frames in the bytes of one direction of an HTTP/2 connection (RFC 9113, section 4.1).

/// Bytes before the payload of a frame.
const HEAD: usize = 9;
/// Kinds of frames that matter here (section 6).
pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const SETTINGS: u8 = 4;
pub(super) const GO_AWAY: u8 = 7;
pub(super) const CONTINUATION: u8 = 9;
/// Flag of DATA and HEADERS: the last frame of its side of the stream.
const END_STREAM: u8 = 0x1;
/// Flag of SETTINGS: the receipt for the peer's.
pub(super) const ACK: u8 = 0x1;
/// Flag of DATA: a byte before the data says how many of padding follow it.
const PADDED: u8 = 0x8;

/// The part of one frame that lies in the bytes at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FramePart {
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
    /// Bytes of data in it, without padding.
    pub(super) data: usize,
    /// Whether the frame is whole with it.
    pub(super) is_last: bool,
}

impl FramePart {
    /// Whether the frame ends its side of the stream.
    pub(super) fn ends_stream(self) -> bool {
        matches!(self.kind, DATA | HEADERS) && self.flags & END_STREAM != 0
    }
}

/// Walks over frames, however the bytes are cut. It checks nothing: who decodes them does.
#[derive(Debug, Default)]
pub(super) struct FrameWalk {
    /// Bytes to pass over before the first frame.
    preface: usize,
    head: [u8; HEAD],
    /// Bytes of the head that have come.
    came: usize,
    /// Bytes of the payload to come.
    left: usize,
    /// Bytes of padding at its end.
    padding: usize,
    /// Whether the next byte says how many those are.
    awaits_padding: bool,
}

impl FrameWalk {
    /// A walk that begins behind `preface` bytes.
    pub(super) fn behind(preface: usize) -> Self {
        Self { preface, ..Self::default() }
    }

    /// Takes the next part of a frame off the front of `bytes`. `None` when they are used up.
    pub(super) fn next(&mut self, bytes: &mut &[u8]) -> Option<FramePart> {
        self.preface -= take(bytes, self.preface).len();
        if self.came < HEAD {
            let came = take(bytes, HEAD - self.came);
            self.head[self.came..self.came + came.len()].copy_from_slice(came);
            self.came += came.len();
            if self.came < HEAD {
                return None;
            }
            let [high, middle, low, kind, flags, ..] = self.head;
            self.left = u32::from_be_bytes([0, high, middle, low]) as usize;
            self.padding = 0;
            self.awaits_padding = kind == DATA && flags & PADDED != 0 && self.left > 0;
        } else if bytes.is_empty() {
            return None;
        }
        if self.awaits_padding {
            let &padding = take(bytes, 1).first()?;
            (self.padding, self.awaits_padding) = (usize::from(padding), false);
            self.left -= 1;
        }
        let data = self.left.saturating_sub(self.padding);
        let passed = take(bytes, self.left).len();
        self.left -= passed;
        let is_last = self.left == 0;
        if is_last {
            self.came = 0;
        }
        let [_, _, _, kind, flags, stream @ ..] = self.head;
        Some(FramePart {
            kind,
            flags,
            // Its first bit is reserved.
            stream: u32::from_be_bytes(stream) & (u32::MAX >> 1),
            data: if kind == DATA { passed.min(data) } else { 0 },
            is_last,
        })
    }
}

/// Takes up to `most` bytes off the front.
fn take<'a>(bytes: &mut &'a [u8], most: usize) -> &'a [u8] {
    let (taken, rest) = bytes.split_at(most.min(bytes.len()));
    *bytes = rest;
    taken
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A frame as it is on the wire.
    pub(in super::super) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let length = (payload.len() as u32).to_be_bytes();
        [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
    }

    /// The data of each stream, and the kinds of whole frames. The bytes come in pieces of `size`.
    fn walked(bytes: &[u8], size: usize) -> (Vec<(u32, usize)>, Vec<u8>) {
        let (mut walk, mut data, mut kinds) = (FrameWalk::behind(3), Vec::<(u32, usize)>::new(), Vec::new());
        for mut piece in bytes.chunks(size) {
            while let Some(part) = walk.next(&mut piece) {
                match data.iter_mut().find(|(stream, _)| *stream == part.stream) {
                    Some((_, sum)) => *sum += part.data,
                    None => data.push((part.stream, part.data)),
                }
                kinds.extend(part.is_last.then_some(part.kind));
            }
        }
        (data, kinds)
    }

    #[test]
    fn frames_are_found_however_they_are_cut() {
        let bytes = [
            b"PRI".to_vec(),
            frame(4, 0, 0, &[0; 12]),
            frame(4, 1, 0, &[]),
            frame(1, 4, 1, b"head"),
            frame(0, 0, 1, b"hello"),
            frame(0, PADDED, 3, &[&[4][..], b"abc", &[0; 4]].concat()),
            frame(0, PADDED | END_STREAM, 3, &[0]),
            frame(0, END_STREAM, (1 << 31) | 1, b""),
            frame(9, 4, 1, b"more"),
            frame(7, 0, 0, &[0; 8]),
        ]
        .concat();
        for size in 1..=bytes.len() {
            let (data, kinds) = walked(&bytes, size);
            assert_eq!(data, [(0, 0), (1, 5), (3, 3)], "by {size}");
            let kinds_sent = [SETTINGS, SETTINGS, HEADERS, DATA, DATA, DATA, DATA, CONTINUATION, GO_AWAY];
            assert_eq!(kinds, kinds_sent, "by {size}");
        }
    }
}
