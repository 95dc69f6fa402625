//! Messages from the network: iSCSI PDUs, keys, SCSI data; RPC replies, port mapper, MOUNT, NFS.

use assay_iscsi::pdu::{Bhs, Response};
use assay_iscsi::scsi::{
    BlockLimits, BlockProvisioning, Capacity, DeviceIds, Inquiry, ModeFacts, Sense, lun_from_wire,
    parse_lba_status, parse_luns, parse_port_groups, parse_reservation, parse_reservation_keys,
    parse_rotation, parse_serial, parse_supported_pages,
};
use assay_nfs::{mount, nfs3, portmap, rpc, xdr};

pub(crate) fn pdu(bytes: &[u8]) {
    let mut header = [0; 48];
    let length = bytes.len().min(48);
    header[..length].copy_from_slice(&bytes[..length]);
    let bhs = Bhs(header);
    let _ = (bhs.ahs_bytes(), bhs.data_bytes());
    if let Ok(response) = Response::decode(&bhs) {
        let _ = (response.numbers(), response.advances_stat_sn());
    }
}

pub(crate) fn login_text(bytes: &[u8]) {
    let Ok(pairs) = assay_iscsi::text::parse(bytes) else { return };
    let mut again = Vec::new();
    for (key, value) in &pairs {
        assay_iscsi::text::push(&mut again, key, value);
        let _ = assay_iscsi::text::shorten(value);
        if let Ok(binary) = assay_iscsi::text::decode_binary(key, value) {
            let encoded = assay_iscsi::text::encode_binary(&binary);
            assert_eq!(assay_iscsi::text::decode_binary(key, &encoded), Ok(binary));
        }
    }
    assert_eq!(assay_iscsi::text::parse(&again), Ok(pairs), "pairs read back as they were");
}

pub(crate) fn scsi(bytes: &[u8]) {
    let _ = parse_supported_pages(bytes);
    let _ = parse_serial(bytes);
    let _ = DeviceIds::parse(bytes).map(|ids| (ids.wwid(), ids.target_port_group()));
    let _ = BlockLimits::parse(bytes);
    let _ = parse_rotation(bytes);
    let _ = BlockProvisioning::parse(bytes);
    let _ = Inquiry::parse(bytes);
    for capacity in [Capacity::parse_10(bytes).ok().flatten(), Capacity::parse_16(bytes).ok()] {
        let _ = capacity.map(|capacity| capacity.bytes());
    }
    if let Ok(luns) = parse_luns(bytes) {
        let _ = luns.into_iter().map(lun_from_wire).max();
    }
    let _ = (ModeFacts::parse_6(bytes), ModeFacts::parse_10(bytes));
    let _ = (parse_lba_status(bytes), parse_reservation_keys(bytes), parse_reservation(bytes));
    let _ = parse_port_groups(bytes);
    let _ = Sense::parse(bytes).map(|sense| (sense.action(), sense.to_string()));
}

pub(crate) fn rpc(bytes: &[u8]) {
    if let Ok(head) = rpc::read_reply(bytes) {
        match head.results {
            Ok(at) => assert!(at <= bytes.len(), "results begin within the message"),
            Err(refusal) => drop(refusal.to_string()),
        }
    }
    let _ = (portmap::port(bytes), mount::exports(bytes));
    if let Ok(Err(status)) = mount::mounted(bytes) {
        let _ = mount::status_words(status);
    }
}

pub(crate) fn nfs_results(bytes: &[u8]) {
    if let Ok(Ok(head)) = nfs3::read_head(bytes) {
        assert!(head.data_at <= bytes.len(), "data begin within the results");
    }
    let _ = (nfs3::attributes(bytes), nfs3::size_set(bytes), nfs3::looked_up(bytes), nfs3::accessed(bytes));
    let _ = (nfs3::created(bytes), nfs3::removed(bytes), nfs3::fsstat(bytes), nfs3::fsinfo(bytes));
    let _ = (nfs3::path_limits(bytes), nfs3::written(bytes), nfs3::committed(bytes));
    let mut reader = xdr::Reader::new(bytes);
    while let Ok(piece) = reader.opaque(64, "a piece") {
        assert!(piece.len() <= 64, "what is announced is bounded");
    }
}
