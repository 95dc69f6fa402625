//! The codec byte by byte, as RFC 1813 specifies it.

use super::*;
use crate::rpc::{Credentials, read_reply};
use crate::xdr::{Writer, XdrError};

fn handle() -> Handle {
    Handle::new(&[1, 2, 3, 4, 5]).unwrap()
}

fn credentials() -> Credentials {
    Credentials { machine: "ab".into(), uid: 3, gid: 4, groups: vec![] }
}

fn put_attributes(writer: &mut Writer, kind: u32) {
    writer.u32(kind).u32(0o644).u32(1).u32(1000).u32(100).u64(4096).u64(8192);
    writer.u32(0).u32(0).u64(77).u64(88).u32(1).u32(2).u32(5).u32(6).u32(7).u32(8);
}

#[test]
fn a_read_is_encoded_to_the_byte() {
    let mut place = [0xee; calls::CALL_BYTES_MAX];
    let length = Template::read(&credentials(), &handle()).fill(&mut place, 0x0102_0304, 0x1_0000_0002, 4096);
    let mut expected = Writer::new();
    expected.u32(0x8000_0000 | 88).u32(0x0102_0304).u32(0).u32(2).u32(100_003).u32(3).u32(6);
    expected.u32(1).u32(24).u32(0).opaque(b"ab").u32(3).u32(4).u32(0).u32(0).u32(0);
    expected.opaque(&[1, 2, 3, 4, 5]).u64(0x1_0000_0002).u32(4096);
    assert_eq!(&place[..length], expected.bytes());
    assert_eq!(length, 4 + 88);
}

#[test]
fn a_write_announces_its_data_and_their_padding() {
    let mut place = [0xee; calls::CALL_BYTES_MAX];
    let template = Template::write(&credentials(), &handle(), Stable::FileSync);
    let length = template.fill(&mut place, 9, 8192, 510);
    let mark = u32::from_be_bytes(place[..4].try_into().unwrap());
    assert_eq!(mark, 0x8000_0000 | u32::try_from(length - 4 + 512).unwrap());
    let tail = &place[length - 20..length];
    assert_eq!(
        tail,
        [0, 0, 0x20, 0, 0, 0, 1, 0xfe, 0, 0, 0, 2, 0, 0, 1, 0xfe].map(|b| b).iter().fold(
            vec![0, 0, 0, 0],
            |mut all, byte| {
                all.push(*byte);
                all
            }
        )
    );
}

#[test]
fn the_longest_call_fits_and_a_ping_carries_nothing() {
    let long = Credentials { machine: "m".repeat(99), uid: 0, gid: 0, groups: vec![1; 99] };
    let template = Template::write(&long, &Handle::new(&[7; 64]).unwrap(), Stable::Unstable);
    let mut place = [0; calls::CALL_BYTES_MAX];
    assert_eq!(template.fill(&mut place, 1, 2, 3), calls::CALL_BYTES_MAX);
    let length = Template::null().fill(&mut place, 5, 0, 0);
    let mut expected = Writer::new();
    expected.u32(0x8000_0000 | 40).u32(5).u32(0).u32(2).u32(100_003).u32(3).u32(0).u64(0).u64(0);
    assert_eq!(&place[..length], expected.bytes());
    assert!(Handle::new(&[]).is_none() && Handle::new(&[0; 65]).is_none());
}

#[test]
fn attributes_are_read_field_by_field() {
    let mut writer = Writer::new();
    writer.u32(0);
    put_attributes(&mut writer, 1);
    let read = attributes(writer.bytes()).unwrap().unwrap();
    assert_eq!(
        (read.kind, read.mode, read.uid, read.gid, read.size_bytes, read.used_bytes),
        (FileKind::Regular, 0o644, 1000, 100, 4096, 8192)
    );
    assert_eq!((read.fsid, read.fileid, read.modified_ns), (77, 88, 5_000_000_006));
    let mut odd = Writer::new();
    odd.u32(0);
    put_attributes(&mut odd, 9);
    assert!(matches!(attributes(odd.bytes()), Err(XdrError::Value { value: 9, .. })));
}

#[test]
fn a_read_head_gives_the_start_of_data_and_needs_no_further_bytes() {
    let mut writer = Writer::new();
    writer.u32(0).u32(1);
    put_attributes(&mut writer, 1);
    writer.u32(4096).u32(1).u32(4096);
    let head = ReadHead { bytes: 4096, is_end: true, data_at: 104 };
    assert_eq!(read_head(writer.bytes()), Ok(Ok(head)));
    for length in 0..104 {
        assert!(matches!(read_head(&writer.bytes()[..length]), Err(XdrError::Short { .. })), "{length}");
    }
    let mut lies = Writer::new();
    lies.u32(0).u32(0).u32(4096).u32(0).u32(8192);
    assert!(matches!(read_head(lies.bytes()), Err(XdrError::Value { value: 8192, .. })));
    assert_eq!(read_head(&[0, 0, 0, 70]), Ok(Err(NfsStatus::STALE)));
}

#[test]
fn a_write_says_how_durable_it_is() {
    let mut writer = Writer::new();
    writer.u32(0).u32(1).u64(0).u64(0).u64(0).u32(0).u32(512).u32(2).fixed(&[1, 2, 3, 4, 5, 6, 7, 8]);
    let expected = Written { bytes: 512, stable: Stable::FileSync, verifier: [1, 2, 3, 4, 5, 6, 7, 8] };
    assert_eq!(written(writer.bytes()), Ok(Ok(expected)));
    let mut commit = Writer::new();
    commit.u32(0).u32(0).u32(0).fixed(&[8; 8]);
    assert_eq!(committed(commit.bytes()), Ok(Ok([8; 8])));
    writer.u32(0);
    assert!(matches!(written(writer.bytes()), Err(XdrError::Trailing { bytes: 4 })));
}

#[test]
fn control_results_are_parsed() {
    let mut writer = Writer::new();
    writer.u32(0).opaque(&[6; 8]).u32(0).u32(0);
    assert_eq!(looked_up(writer.bytes()), Ok(Ok((Handle::new(&[6; 8]).unwrap(), None))));
    let mut writer = Writer::new();
    writer.u32(0).u32(0).u32(0x1f);
    let rights = accessed(writer.bytes()).unwrap().unwrap();
    assert!(rights.read() && rights.lookup() && rights.modify() && rights.extend() && rights.delete());
    let mut writer = Writer::new();
    writer.u32(0).u32(0).u64(100).u64(50).u64(40).u64(1).u64(1).u64(1).u32(0);
    let space = FsStat { total_bytes: 100, free_bytes: 50, available_bytes: 40 };
    assert_eq!(fsstat(writer.bytes()), Ok(Ok(space)));
    // Issue 28, D: a server that sends more than these.
    writer.u32(7);
    assert_eq!(fsstat(writer.bytes()), Ok(Ok(space)));
    let mut writer = Writer::new();
    writer.u32(0).u32(0);
    for n in 1..=7 {
        writer.u32(n);
    }
    writer.u64(1 << 50).u32(0).u32(1).u32(0x1b);
    let limits = fsinfo(writer.bytes()).unwrap().unwrap();
    assert_eq!((limits.read_max, limits.read_preferred, limits.read_multiple), (1, 2, 3));
    assert_eq!((limits.write_max, limits.write_preferred, limits.write_multiple), (4, 5, 6));
    assert_eq!(limits.file_max, 1 << 50);
    let mut writer = Writer::new();
    writer.u32(0).u32(0).u32(9).u32(255).u32(1).u32(1).u32(0).u32(1);
    let limits = PathLimits { name_bytes_max: 255, no_truncation: true };
    assert_eq!(path_limits(writer.bytes()), Ok(Ok(limits)));
    let mut writer = Writer::new();
    writer.u32(0).u32(1).opaque(&[5; 4]).u32(0).u32(0).u32(0);
    assert_eq!(created(writer.bytes()), Ok(Ok(Handle::new(&[5; 4]))));
    assert_eq!(removed(&[0, 0, 0, 2, 9, 9]), Ok(Err(NfsStatus::NOENT)));
}

#[test]
fn every_status_has_words_and_unknown_ones_their_number() {
    assert_eq!(NfsStatus::ROFS.to_string(), "the export is read-only (NFS3ERR_ROFS)");
    assert_eq!(NfsStatus(4711).to_string(), "status 4711, which RFC 1813 does not define");
}

/// Arbitrary bytes from a hostile server must lead to an error only.
#[test]
fn arbitrary_bytes_never_crash_the_decoders() {
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    for _ in 0..20_000 {
        let length = usize::try_from(next() % 200).unwrap();
        // Small words pass the first checks more often than random ones.
        let bytes: Vec<u8> = (0..length)
            .map(|at| if at % 4 == 3 || next() % 4 == 0 { next().to_be_bytes()[0] % 8 } else { 0 })
            .collect();
        let _ = (attributes(&bytes), looked_up(&bytes), accessed(&bytes), created(&bytes), removed(&bytes));
        let _ = (fsstat(&bytes), fsinfo(&bytes), path_limits(&bytes), read_head(&bytes), written(&bytes));
        let _ = (committed(&bytes), read_reply(&bytes), crate::mount::mounted(&bytes));
        let _ = (crate::mount::exports(&bytes), crate::portmap::port(&bytes), size_set(&bytes));
    }
}
