//! Text keys: `key=value` pairs separated by NUL, and the encodings of binary values (RFC 7143 §6).

/// Largest number of pairs in one text; a login needs about 30, a discovery answer two per target.
pub(crate) const PAIRS_MAX: usize = 8192;

/// An error in a text data segment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// Not UTF-8.
    #[error("text from the target is not UTF-8")]
    NotUtf8,
    /// A piece without an equals sign.
    #[error("text from the target has a piece without '=': {0:?}")]
    NoEquals(String),
    /// Too many pairs.
    #[error("text from the target has more than {PAIRS_MAX} keys")]
    TooMany,
    /// A binary value that is neither 0x… nor 0b….
    #[error("value of {0} is not a 0x or 0b binary value")]
    NotBinary(String),
}

/// Key and value pairs in the order received.
pub type Pairs = Vec<(String, String)>;

/// Parses a text into pairs.
pub fn parse(data: &[u8]) -> Result<Pairs, TextError> {
    let text = std::str::from_utf8(data).map_err(|_| TextError::NotUtf8)?;
    let mut pairs = Pairs::new();
    for piece in text.split('\0').filter(|piece| !piece.is_empty()) {
        let (key, value) = piece.split_once('=').ok_or_else(|| TextError::NoEquals(shorten(piece)))?;
        if pairs.len() == PAIRS_MAX {
            return Err(TextError::TooMany);
        }
        pairs.push((key.to_owned(), value.to_owned()));
    }
    Ok(pairs)
}

/// Appends one pair with its NUL.
pub fn push(out: &mut Vec<u8>, key: &str, value: &str) {
    out.extend_from_slice(key.as_bytes());
    out.push(b'=');
    out.extend_from_slice(value.as_bytes());
    out.push(0);
}

/// Returns the text in a form that an error message can show: bounded, and without control characters.
pub fn shorten(text: &str) -> String {
    text.chars().take(80).map(|c| if c.is_control() { '.' } else { c }).collect()
}

/// Returns a binary value as hexadecimal text.
pub fn encode_binary(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold("0x".to_owned(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a String cannot fail");
        text
    })
}

/// Reads a binary value: `0x` hexadecimal or `0b` base64.
pub fn decode_binary(key: &str, value: &str) -> Result<Vec<u8>, TextError> {
    let bad = || TextError::NotBinary(shorten(key));
    match value.as_bytes() {
        [b'0', b'x' | b'X', digits @ ..] => decode_hex(digits).ok_or_else(bad),
        [b'0', b'b' | b'B', digits @ ..] => decode_base64(digits).ok_or_else(bad),
        _ => Err(bad()),
    }
}

fn decode_hex(digits: &[u8]) -> Option<Vec<u8>> {
    let nibble = |digit: &u8| char::from(*digit).to_digit(16).and_then(|n| u8::try_from(n).ok());
    // An odd number of digits means that the leading zero was omitted.
    let (lead, rest) = digits.split_at(digits.len() % 2);
    let mut bytes = lead.iter().map(nibble).collect::<Option<Vec<u8>>>()?;
    for pair in rest.chunks_exact(2) {
        bytes.push(nibble(&pair[0])? << 4 | nibble(&pair[1])?);
    }
    Some(bytes)
}

fn decode_base64(digits: &[u8]) -> Option<Vec<u8>> {
    let digits = digits.strip_suffix(b"==").or_else(|| digits.strip_suffix(b"=")).unwrap_or(digits);
    let mut bytes = Vec::with_capacity(digits.len() * 3 / 4);
    for group in digits.chunks(4) {
        let mut bits = 0u32;
        for &digit in group {
            let value = match digit {
                b'A'..=b'Z' => digit - b'A',
                b'a'..=b'z' => digit - b'a' + 26,
                b'0'..=b'9' => digit - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => return None,
            };
            bits = bits << 6 | u32::from(value);
        }
        let missing = 4 - group.len();
        if missing == 3 {
            return None;
        }
        let whole = (bits << (6 * missing)).to_be_bytes();
        bytes.extend_from_slice(&whole[1..4 - missing]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_keep_their_order() {
        let mut data = Vec::new();
        push(&mut data, "HeaderDigest", "CRC32C,None");
        push(&mut data, "TargetAlias", "a=b");
        assert_eq!(data, b"HeaderDigest=CRC32C,None\0TargetAlias=a=b\0");
        let pairs = parse(&data).unwrap();
        assert_eq!(pairs[0], ("HeaderDigest".into(), "CRC32C,None".into()));
        assert_eq!(pairs[1], ("TargetAlias".into(), "a=b".into()));
    }

    #[test]
    fn malformed_text_is_refused() {
        assert_eq!(parse(b"nonsense\0"), Err(TextError::NoEquals("nonsense".into())));
        assert_eq!(parse(&[0xff, b'=', 0]), Err(TextError::NotUtf8));
        assert_eq!(parse(&b"a=\0".repeat(PAIRS_MAX + 1)), Err(TextError::TooMany));
        assert_eq!(parse(b"\0\0").unwrap(), vec![]);
    }

    #[test]
    fn binary_values_are_decoded_in_both_encodings() {
        for (text, bytes) in [
            ("0x00ff10", &[0u8, 255, 16][..]),
            ("0XfF1", &[0x0f, 0xf1]),
            ("0x", &[]),
            ("0bTWFu", b"Man"),
            ("0bTWE=", b"Ma"),
            ("0BTQ==", b"M"),
            ("0bTQ", b"M"),
        ] {
            assert_eq!(decode_binary("CHAP_C", text).unwrap(), bytes, "{text}");
        }
        for text in ["00ff", "0xg0", "0b*", "0bA", ""] {
            assert!(decode_binary("CHAP_C", text).is_err(), "{text}");
        }
        assert_eq!(encode_binary(&[0, 171]), "0x00ab");
    }
}
