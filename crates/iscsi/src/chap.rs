//! CHAP, one-way and mutual (RFC 7143 §12.1.3, RFC 1994; algorithm numbers of IANA "PPP CHAP").

use std::fmt;

use md5::{Digest, Md5};
use sha1::Sha1;
use sha2::Sha256;
use zeroize::Zeroize as _;

/// A digest algorithm for CHAP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChapAlgorithm {
    /// Number 5, which every target supports.
    Md5,
    /// Number 6.
    Sha1,
    /// Number 7.
    Sha256,
}

impl ChapAlgorithm {
    /// All algorithms in the order in which they are offered. Number 7 comes last although it is the strongest: tgt and
    /// other descendants of the iSCSI Enterprise Target take it for SHA-1, and logins with it fail there.
    pub const ALL: [Self; 3] = [Self::Sha1, Self::Md5, Self::Sha256];

    /// Returns the algorithm number as sent in `CHAP_A`.
    pub fn number(self) -> &'static str {
        match self {
            Self::Md5 => "5",
            Self::Sha1 => "6",
            Self::Sha256 => "7",
        }
    }

    /// Returns the algorithm with this number.
    pub(crate) fn from_number(number: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.number() == number)
    }

    /// Returns the response: the digest of identifier, secret and challenge, in this order.
    pub fn response(self, identifier: u8, secret: &Secret, challenge: &[u8]) -> Vec<u8> {
        fn digest<D: Digest>(identifier: u8, secret: &[u8], challenge: &[u8]) -> Vec<u8> {
            D::new()
                .chain_update([identifier])
                .chain_update(secret)
                .chain_update(challenge)
                .finalize()
                .to_vec()
        }
        match self {
            Self::Md5 => digest::<Md5>(identifier, &secret.0, challenge),
            Self::Sha1 => digest::<Sha1>(identifier, &secret.0, challenge),
            Self::Sha256 => digest::<Sha256>(identifier, &secret.0, challenge),
        }
    }
}

/// A CHAP secret. It has no `Display` and cannot be serialised, `Debug` hides it, and its memory is overwritten on
/// drop.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

impl Secret {
    /// Returns a secret of these bytes.
    pub fn new(secret: impl Into<Vec<u8>>) -> Self {
        Self(secret.into())
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// A CHAP name and its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// CHAP name.
    pub name: String,
    /// CHAP secret.
    pub secret: Secret,
}

/// Credentials for CHAP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChapConfig {
    /// Account of the initiator, which the target checks.
    pub initiator: Account,
    /// Account that the target must authenticate as (mutual CHAP).
    pub target: Option<Account>,
}

/// Compares in constant time, so that the time taken does not reveal how many bytes match.
pub(crate) fn equal_in_constant_time(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differs, (x, y)| differs | (x ^ y)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::encode_binary;

    #[test]
    fn responses_are_digests_of_identifier_secret_challenge() {
        // Computed with: printf '\x01secretsecretabcd' | md5sum (sha1sum, sha256sum).
        let secret = Secret::new("secretsecret");
        for (algorithm, bytes) in
            [(ChapAlgorithm::Md5, 16), (ChapAlgorithm::Sha1, 20), (ChapAlgorithm::Sha256, 32)]
        {
            assert_eq!(algorithm.response(1, &secret, b"abcd").len(), bytes);
            assert_eq!(ChapAlgorithm::from_number(algorithm.number()), Some(algorithm));
        }
        assert_eq!(
            encode_binary(&ChapAlgorithm::Md5.response(1, &secret, b"abcd")),
            "0x5ea0525ce5a3993754c7808718c61e05"
        );
        assert_eq!(
            encode_binary(&ChapAlgorithm::Sha1.response(1, &secret, b"abcd")),
            "0x5143bc289f408a21d850cc774729cb7a3bde6b4c"
        );
        assert_eq!(
            encode_binary(&ChapAlgorithm::Sha256.response(1, &secret, b"abcd")),
            "0x682231f5425f33487bc627909876054ce2b11589029ec697c4834dbf9be18387"
        );
        assert_eq!(ChapAlgorithm::from_number("8"), None);
    }

    #[test]
    fn debug_output_hides_a_secret() {
        let account = Account { name: "user".into(), secret: Secret::new("hunter2hunter2") };
        assert!(!format!("{account:?}").contains("hunter2"));
    }

    #[test]
    fn comparison_covers_every_byte() {
        assert!(equal_in_constant_time(b"abc", b"abc"));
        assert!(!equal_in_constant_time(b"abc", b"abd") && !equal_in_constant_time(b"abc", b"ab"));
    }
}
