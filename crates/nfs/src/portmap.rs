//! PORTMAP version 2 (RFC 1833): the port on which a program listens.

use crate::rpc::Procedure;
use crate::xdr::{Reader, Writer, XdrError};

/// Port of every port mapper.
pub const PORT: u16 = 111;
/// GETPORT.
pub(crate) const GETPORT: Procedure = Procedure { program: 100_000, version: 2, number: 3 };
const TCP: u32 = 6;

/// Returns the arguments of GETPORT for a program over TCP.
pub(crate) fn getport(program: u32, version: u32) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.u32(program).u32(version).u32(TCP).u32(0);
    writer.into_bytes()
}

/// Parses the result of GETPORT; `None` if the program is not registered.
pub fn port(results: &[u8]) -> Result<Option<u16>, XdrError> {
    let mut reader = Reader::new(results);
    let value = reader.u32("a port")?;
    reader.end()?;
    match u16::try_from(value) {
        Ok(0) => Ok(None),
        Ok(port) => Ok(Some(port)),
        Err(_) => Err(XdrError::Value { what: "port", value }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn getport_is_encoded_and_its_answers_are_parsed() {
        assert_eq!(getport(100_003, 3), [0, 1, 0x86, 0xa3, 0, 0, 0, 3, 0, 0, 0, 6, 0, 0, 0, 0]);
        assert_eq!(port(&[0, 0, 8, 1]), Ok(Some(2049)));
        assert_eq!(port(&[0, 0, 0, 0]), Ok(None));
        assert!(port(&[0, 1, 0, 0]).is_err() && port(&[0; 8]).is_err() && port(&[]).is_err());
    }
}
