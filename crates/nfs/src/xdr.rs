//! XDR (RFC 4506): big-endian words of four bytes. The reader never reads past its bytes and never allocates an
//! announced length.
//!
//! Published crates provide all types of NFSv3, but reads and writes need a codec that neither allocates nor copies,
//! and one codec for everything is simpler than two.

use thiserror::Error;

/// A malformed message.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the message of a variant says what its fields are")]
pub enum XdrError {
    /// The message ends too early.
    #[error("the reply ends in the middle of {what}")]
    Short {
        /// The missing element.
        what: &'static str,
    },
    /// The announced length exceeds the limit.
    #[error("{what} of {bytes} bytes exceeds the limit of {most}")]
    TooLong {
        /// The element.
        what: &'static str,
        bytes: u32,
        most: u32,
    },
    /// The value is not defined.
    #[error("{value} is not a valid {what}")]
    Value {
        /// The expected element.
        what: &'static str,
        value: u32,
    },
    /// Bytes are left after the end.
    #[error("{bytes} unexpected bytes at the end of the reply")]
    Trailing { bytes: usize },
}

type Result<T> = std::result::Result<T, XdrError>;

/// Returns the number of zeros that pad `bytes` to whole words.
pub fn padding(bytes: u32) -> u32 {
    bytes.wrapping_neg() % 4
}

/// Reads a message from its start.
#[derive(Debug, Clone)]
pub struct Reader<'m> {
    rest: &'m [u8],
}

impl<'m> Reader<'m> {
    /// Returns a reader at the start of `message`.
    pub fn new(message: &'m [u8]) -> Self {
        Self { rest: message }
    }

    /// Returns the bytes that were not read yet.
    pub fn rest(&self) -> &'m [u8] {
        self.rest
    }

    /// Returns exactly `bytes` bytes.
    pub fn fixed(&mut self, bytes: usize, what: &'static str) -> Result<&'m [u8]> {
        let (taken, rest) = self.rest.split_at_checked(bytes).ok_or(XdrError::Short { what })?;
        self.rest = rest;
        Ok(taken)
    }

    /// Returns a word.
    pub fn u32(&mut self, what: &'static str) -> Result<u32> {
        let (word, rest) = self.rest.split_first_chunk().ok_or(XdrError::Short { what })?;
        self.rest = rest;
        Ok(u32::from_be_bytes(*word))
    }

    /// Returns a double word.
    pub fn u64(&mut self, what: &'static str) -> Result<u64> {
        let (word, rest) = self.rest.split_first_chunk().ok_or(XdrError::Short { what })?;
        self.rest = rest;
        Ok(u64::from_be_bytes(*word))
    }

    /// Returns a boolean.
    pub fn bool(&mut self, what: &'static str) -> Result<bool> {
        match self.u32(what)? {
            0 => Ok(false),
            1 => Ok(true),
            value => Err(XdrError::Value { what, value }),
        }
    }

    /// Returns variable-length bytes, at most `most`: a length, the bytes, padding.
    pub fn opaque(&mut self, most: u32, what: &'static str) -> Result<&'m [u8]> {
        let bytes = self.u32(what)?;
        if bytes > most {
            return Err(XdrError::TooLong { what, bytes, most });
        }
        let taken = self.fixed(bytes as usize, what)?;
        self.fixed(padding(bytes) as usize, what)?;
        Ok(taken)
    }

    /// Returns a text; invalid UTF-8 is replaced.
    pub fn text(&mut self, most: u32, what: &'static str) -> Result<String> {
        Ok(String::from_utf8_lossy(self.opaque(most, what)?).into_owned())
    }

    /// Fails if bytes are left.
    pub fn end(self) -> Result<()> {
        match self.rest.len() {
            0 => Ok(()),
            bytes => Err(XdrError::Trailing { bytes }),
        }
    }
}

/// Writes a message.
#[derive(Debug, Clone, Default)]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// Returns an empty message.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a word.
    pub fn u32(&mut self, value: u32) -> &mut Self {
        self.bytes.extend_from_slice(&value.to_be_bytes());
        self
    }

    /// Appends a double word.
    pub fn u64(&mut self, value: u64) -> &mut Self {
        self.bytes.extend_from_slice(&value.to_be_bytes());
        self
    }

    /// Appends bytes without length or padding.
    pub fn fixed(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// Appends variable-length bytes: their length, the bytes, padding.
    pub fn opaque(&mut self, bytes: &[u8]) -> &mut Self {
        let length = u32::try_from(bytes.len()).expect("messages are far below 4 GiB");
        self.u32(length);
        self.bytes.extend_from_slice(bytes);
        self.bytes.resize(self.bytes.len() + padding(length) as usize, 0);
        self
    }

    /// Returns the bytes written.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the bytes written, by value.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_values_are_read_back() {
        let mut writer = Writer::new();
        writer.u32(7).u64(1 << 40).u32(1).opaque(b"abcde").opaque(b"").fixed(&[9; 4]);
        assert_eq!(writer.bytes().len() % 4, 0);
        let mut reader = Reader::new(writer.bytes());
        assert_eq!(reader.u32("a"), Ok(7));
        assert_eq!(reader.u64("b"), Ok(1 << 40));
        assert_eq!(reader.bool("c"), Ok(true));
        assert_eq!(reader.opaque(5, "d"), Ok(&b"abcde"[..]));
        assert_eq!(reader.text(5, "e"), Ok(String::new()));
        assert_eq!(reader.clone().end(), Err(XdrError::Trailing { bytes: 4 }));
        assert_eq!(reader.fixed(4, "f"), Ok(&[9; 4][..]));
        assert_eq!(reader.end(), Ok(()));
    }

    #[test]
    fn lengths_and_padding_follow_the_standard_to_the_byte() {
        for (bytes, expected) in [(0u32, 0u32), (1, 3), (2, 2), (3, 1), (4, 0), (u32::MAX, 1)] {
            assert_eq!(padding(bytes), expected, "{bytes}");
        }
        let mut writer = Writer::new();
        writer.opaque(b"nfs");
        assert_eq!(writer.into_bytes(), [0, 0, 0, 3, b'n', b'f', b's', 0]);
    }

    #[test]
    fn errors_name_the_malformed_element() {
        let message = |bytes: &[u8]| Reader::new(bytes).opaque(8, "a handle").unwrap_err().to_string();
        assert_eq!(message(&[0, 0]), "the reply ends in the middle of a handle");
        assert_eq!(message(&[0, 0, 0, 3, 1, 2, 3]), "the reply ends in the middle of a handle");
        assert_eq!(message(&[255; 8]), "a handle of 4294967295 bytes exceeds the limit of 8");
        assert_eq!(Reader::new(&[0, 0, 0, 2]).bool("flag").unwrap_err().to_string(), "2 is not a valid flag");
    }
}
