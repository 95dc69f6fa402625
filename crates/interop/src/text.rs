//! From bytes of unknown encoding to text.

use std::borrow::Cow;

use crate::{ImportError, complain};

/// The largest file that is imported, bytes. The largest Iometer results seen have 2 MB.
pub const TEXT_BYTES_MAX: u64 = 64 << 20;

/// Returns the bytes of a file as text: UTF-8, UTF-16 with its mark, or else Windows-1252, in which Iometer and
/// SQLIO wrote names.
///
/// # Errors
/// When the bytes are too many, or no text.
pub fn decode(origin: &str, bytes: &[u8]) -> Result<String, ImportError> {
    if bytes.len() as u64 > TEXT_BYTES_MAX {
        return Err(complain(
            origin,
            0,
            format!("is larger than {} MiB, the limit for a file of this kind", TEXT_BYTES_MAX >> 20),
        ));
    }
    let text = match bytes {
        [0xEF, 0xBB, 0xBF, rest @ ..] => latin_or_utf8(rest),
        [0xFF, 0xFE, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => utf16(rest, u16::from_be_bytes),
        _ => latin_or_utf8(bytes),
    };
    if text.contains('\0') {
        return Err(complain(origin, 0, "is not a text file: it contains zero bytes"));
    }
    Ok(text)
}

/// A text of a mail as it was written: without its encoding (quoted-printable), and without the signs of a quotation.
pub(crate) fn of_mail(text: &str) -> Cow<'_, str> {
    // An equals sign is not written as one then, and results have many.
    let has_soft_ends = text.contains("=\n") || text.contains("=\r\n");
    match text.contains("=3D") && (has_soft_ends || all_are_numbers(text)) {
        true => Cow::Owned(unquoted(&printable(text)).into_owned()),
        false => unquoted(text),
    }
}

/// Whether each equals sign is one that is written by its number: a text whose lines are all short.
fn all_are_numbers(text: &str) -> bool {
    let is_number = |after: &str| {
        after
            .get(..2)
            .is_some_and(|digits| digits.bytes().all(|c| c.is_ascii_digit() || (b'A'..=b'F').contains(&c)))
    };
    text.split('=').skip(1).all(is_number)
}

/// A quoted-printable text: `=3D` is a byte by its number, and a line that ends in `=` goes on with the next.
fn printable(text: &str) -> String {
    let whole = text.replace("=\r\n", "").replace("=\n", "");
    let (mut bytes, mut rest) = (Vec::with_capacity(whole.len()), whole.as_bytes());
    while let [first, after @ ..] = rest {
        let number = (*first == b'=').then(|| after.get(..2)).flatten().and_then(|digits| {
            let digits = std::str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'))?;
            u8::from_str_radix(digits, 16).ok()
        });
        bytes.push(number.unwrap_or(*first));
        rest = if number.is_some() { &after[2..] } else { after };
    }
    latin_or_utf8(&bytes)
}

/// A text without the signs of a quotation, where each of its lines has them, as in a post or a mail.
fn unquoted(text: &str) -> Cow<'_, str> {
    let is_quoted = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('>');
    if !text.trim_start().starts_with('>') || !text.lines().all(is_quoted) {
        return Cow::Borrowed(text);
    }
    let bare = |line: &str| {
        let line = line.trim_start().trim_start_matches("> >").trim_start_matches('>');
        format!("{}\n", line.strip_prefix(' ').unwrap_or(line))
    };
    Cow::Owned(text.lines().map(bare).collect())
}

fn latin_or_utf8(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_encoding_that_windows_tools_wrote_is_read() {
        for (bytes, expected) in [
            (&b"Worker 1"[..], "Worker 1"),
            (b"\xEF\xBB\xBFWorker", "Worker"),
            (b"\xFF\xFEW\0\xe9\0", "W\u{e9}"),
            (b"\xFE\xFF\0W\0\xe9", "W\u{e9}"),
            (b"Gr\xf6\xdfe", "Gr\u{f6}\u{df}e"),
        ] {
            assert_eq!(decode("f", bytes).unwrap(), expected);
        }
    }

    #[test]
    fn binary_files_are_refused() {
        let error = decode("a.icf", b"\x7fELF\0\0\0").unwrap_err();
        assert_eq!(error.to_string(), "a.icf: is not a text file: it contains zero bytes");
    }
}
