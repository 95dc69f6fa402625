//! Values taken in sequence from the bytes of an input; zeros once it is used up, so that short inputs are meaningful
//! too.

/// The rest of an input.
#[derive(Debug, Clone)]
pub(crate) struct Input<'i> {
    rest: &'i [u8],
}

impl<'i> Input<'i> {
    pub(crate) fn new(bytes: &'i [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.rest.split_first() else { return 0 };
        self.rest = rest;
        *first
    }

    pub(crate) fn word(&mut self) -> u32 {
        u32::from_be_bytes([self.byte(), self.byte(), self.byte(), self.byte()])
    }

    /// Returns a number below `end`, which is at most 256.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end
    }

    /// Returns at most this many of the next bytes.
    pub(crate) fn bytes(&mut self, most: usize) -> &'i [u8] {
        let (taken, rest) = self.rest.split_at(most.min(self.rest.len()));
        self.rest = rest;
        taken
    }

    /// Returns bytes preceded by a length byte.
    pub(crate) fn piece(&mut self) -> &'i [u8] {
        let length = usize::from(self.byte());
        self.bytes(length)
    }

    /// Returns the rest.
    pub(crate) fn rest(self) -> &'i [u8] {
        self.rest
    }
}

/// Returns the bytes as text; `None` if they are not UTF-8.
pub(crate) fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}
