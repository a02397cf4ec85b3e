//! Cuts a byte stream into server-sent events.

use bytes::{Buf, Bytes, BytesMut};

/// One dispatched event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SseEvent {
    /// The `event:` field, where there was one.
    pub name: Option<Bytes>,
    /// The `data:` lines, joined with line feeds.
    pub data: Bytes,
}

/// An incremental parser of `text/event-stream` (WHATWG HTML, 9.2.6): bytes go in as they come, whole events
/// come out. `id:` and `retry:` are of no use to one answer and are passed over.
///
/// An event in one piece with one `data:` line, the usual kind, is a slice of the bytes pushed: nothing is
/// copied.
#[derive(Debug, Default)]
pub(crate) struct SseFramer {
    /// Bytes that no line has been made of yet.
    pending: Bytes,
    /// How many of them are known to hold no line end.
    scanned: usize,
    /// The last line ended with a carriage return, so a line feed now belongs to it.
    after_carriage_return: bool,
    /// The place where a byte order mark may stand has been passed.
    begun: bool,
    name: Option<Bytes>,
    data: EventData,
}

/// The `data:` lines of the event in the making.
#[derive(Debug, Default)]
enum EventData {
    #[default]
    None,
    One(Bytes),
    Many(BytesMut),
}

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

impl SseFramer {
    /// Takes bytes as they arrived.
    pub(crate) fn push(&mut self, bytes: Bytes) {
        if self.pending.is_empty() {
            self.pending = bytes;
        } else {
            let pending = std::mem::take(&mut self.pending);
            let mut joined = pending.try_into_mut().unwrap_or_else(|shared| BytesMut::from(&shared[..]));
            joined.extend_from_slice(&bytes);
            self.pending = joined.freeze();
        }
    }

    /// The next whole event, if there is one.
    pub(crate) fn next_event(&mut self) -> Option<SseEvent> {
        while let Some(line) = self.next_line() {
            if !line.is_empty() {
                self.field(&line);
            } else if let Some(event) = self.dispatch() {
                return Some(event);
            }
        }
        None
    }

    /// Bytes held for an event that is not whole yet.
    pub(crate) fn held(&self) -> usize {
        let data = match &self.data {
            EventData::None => 0,
            EventData::One(line) => line.len(),
            EventData::Many(lines) => lines.len(),
        };
        data + self.pending.len()
    }

    /// The event that the end of the stream left without its empty line, if any: the standard has it thrown
    /// away, so the caller must decide whether it can be trusted.
    pub(crate) fn unterminated(&mut self) -> Option<SseEvent> {
        let line = std::mem::take(&mut self.pending);
        if !line.is_empty() {
            self.field(&line);
        }
        self.dispatch()
    }

    fn next_line(&mut self) -> Option<Bytes> {
        if !self.begun {
            let length = self.pending.len().min(BYTE_ORDER_MARK.len());
            if self.pending[..length] == BYTE_ORDER_MARK[..length] {
                if length < BYTE_ORDER_MARK.len() {
                    return None;
                }
                self.pending.advance(length);
            }
            self.begun = true;
        }
        if self.after_carriage_return {
            if *self.pending.first()? == b'\n' {
                self.pending.advance(1);
            }
            self.after_carriage_return = false;
        }
        let unseen = &self.pending[self.scanned..];
        let Some(found) = unseen.iter().position(|&byte| byte == b'\n' || byte == b'\r') else {
            self.scanned = self.pending.len();
            return None;
        };
        self.after_carriage_return = unseen[found] == b'\r';
        let line = self.pending.split_to(self.scanned + found);
        self.pending.advance(1);
        self.scanned = 0;
        Some(line)
    }

    fn field(&mut self, line: &Bytes) {
        let colon = line.iter().position(|&byte| byte == b':').unwrap_or(line.len());
        let after = (colon + 1).min(line.len());
        let value_at = if line.get(after) == Some(&b' ') { after + 1 } else { after };
        match &line[..colon] {
            b"data" => self.append(line.slice(value_at..)),
            b"event" => self.name = Some(line.slice(value_at..)),
            _ => {}
        }
    }

    fn append(&mut self, line: Bytes) {
        self.data = match std::mem::take(&mut self.data) {
            EventData::None => EventData::One(line),
            EventData::One(first) => {
                let mut lines = BytesMut::with_capacity(first.len() + 1 + line.len());
                lines.extend_from_slice(&first);
                lines.extend_from_slice(b"\n");
                lines.extend_from_slice(&line);
                EventData::Many(lines)
            }
            EventData::Many(mut lines) => {
                lines.extend_from_slice(b"\n");
                lines.extend_from_slice(&line);
                EventData::Many(lines)
            }
        };
    }

    fn dispatch(&mut self) -> Option<SseEvent> {
        let name = self.name.take();
        match std::mem::take(&mut self.data) {
            EventData::None => None,
            EventData::One(data) => Some(SseEvent { name, data }),
            EventData::Many(lines) => Some(SseEvent { name, data: lines.freeze() }),
        }
    }
}

#[cfg(test)]
mod tests;
