//! XDR for the lying NFS server: encoding and decoding.

/// A message under construction.
#[derive(Debug, Clone, Default)]
pub struct Message(pub Vec<u8>);

impl Message {
    /// Returns the message with words appended.
    #[must_use]
    pub fn words(mut self, words: &[u32]) -> Self {
        self.0.extend(words.iter().flat_map(|word| word.to_be_bytes()));
        self
    }

    /// Returns the message with a double word appended.
    #[must_use]
    pub fn long(mut self, value: u64) -> Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    /// Returns the message with bytes appended: their length, and padding to whole words.
    #[must_use]
    pub fn opaque(self, bytes: &[u8]) -> Self {
        let mut longer = self.words(&[u32::try_from(bytes.len()).unwrap()]);
        longer.0.extend_from_slice(bytes);
        longer.0.resize(longer.0.len().next_multiple_of(4), 0);
        longer
    }

    /// Returns the message with bytes appended without length or padding.
    #[must_use]
    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }
}

/// The arguments of a call; zeros beyond their end, because mistakes of a client are not tested here.
#[derive(Debug)]
pub(super) struct Arguments<'a>(pub &'a [u8]);

impl<'a> Arguments<'a> {
    pub(super) fn word(&mut self) -> u32 {
        let Some((word, rest)) = self.0.split_first_chunk() else { return 0 };
        self.0 = rest;
        u32::from_be_bytes(*word)
    }

    pub(super) fn long(&mut self) -> u64 {
        u64::from(self.word()) << 32 | u64::from(self.word())
    }

    pub(super) fn opaque(&mut self) -> &'a [u8] {
        let length = (self.word() as usize).min(self.0.len());
        let (taken, rest) = self.0.split_at(length);
        self.0 = &rest[rest.len().min(length.next_multiple_of(4) - length)..];
        taken
    }
}
