use proptest::prelude::*;

use super::*;

#[test]
fn reads_and_writes_use_the_shortest_sufficient_form() {
    assert_eq!(cdb::read(0x0102_0304, 8, cdb::Fua::Off)[..10], [0x28, 0, 1, 2, 3, 4, 0, 0, 8, 0]);
    assert_eq!(cdb::write(1, 0xffff, cdb::Fua::On)[..10], [0x2a, 8, 0, 0, 0, 1, 0, 0xff, 0xff, 0]);
    assert_eq!(cdb::read(1 << 32, 8, cdb::Fua::On), [0x88, 8, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0]);
    assert_eq!(cdb::write(0, 0x1_0000, cdb::Fua::Off)[0], 0x8a);
    assert_eq!(cdb::synchronize_cache_16(5, 6)[..], [0x91, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 6, 0, 0]);
    assert_eq!(cdb::unmap(24)[..9], [0x42, 0, 0, 0, 0, 0, 0, 0, 24]);
    let (list, bytes) = cdb::unmap_list(&[(7, 9), (0, 0)]);
    assert_eq!((bytes, list[1], list[3], list[15], list[19]), (24, 22, 16, 7, 9));
    let (list, bytes) = cdb::unmap_list(&[(7, 9), (11, 2)]);
    assert_eq!((bytes, list[1], list[3], list[15], list[31], list[35]), (40, 38, 32, 7, 11, 2));
    let (list, bytes) = cdb::unmap_list(&[(7, 0), (11, 2)]);
    assert_eq!((bytes, list[1], list[3], list[15], list[19]), (24, 22, 16, 11, 2));
    assert_eq!(cdb::unmap_list(&[(7, 0), (8, 0)]).1, 8, "no range: nothing is unmapped, and it is no error");
    assert_eq!(cdb::get_lba_status(1, 512)[..14], [0x9e, 0x12, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 2, 0]);
    assert_eq!(cdb::report_target_port_groups(256)[..10], [0xa3, 10, 0, 0, 0, 0, 0, 0, 1, 0]);
}

#[test]
fn luns_have_two_wire_forms() {
    for (lun, wire) in
        [(0, 0), (1, 0x0001 << 48), (255, 0x00ff << 48), (256, 0x4100 << 48), (0x3fff, 0x7fff << 48)]
    {
        assert_eq!(lun_to_wire(lun), wire, "{lun}");
        assert_eq!(lun_from_wire(wire), Some(lun));
    }
    assert_eq!(lun_from_wire(0xc101 << 48), None, "well-known units are not disks");
}

#[test]
fn inquiry_and_identification_are_parsed() {
    let mut data = [b' '; 36];
    data[..8].copy_from_slice(&[0, 0, 5, 2, 31, 0x10, 0, 2]);
    data[8..11].copy_from_slice(b"IET");
    data[16..28].copy_from_slice(b"VIRTUAL-DISK");
    data[32..36].copy_from_slice(b"0001");
    let inquiry = Inquiry::parse(&data).unwrap();
    assert_eq!(
        (inquiry.vendor.as_str(), inquiry.product.as_str(), inquiry.device_type),
        ("IET", "VIRTUAL-DISK", 0)
    );
    assert_eq!(inquiry.alua, AluaSupport::Reported);
    let page = [
        0, 0x83, 0, 24, 2, 1, 0, 4, b'I', b'E', b'T', b' ', 1, 0x93, 0, 0, 1, 0x15, 0, 4, 0, 0, 0, 9, 1, 3,
        0, 0,
    ];
    let ids = DeviceIds::parse(&page).unwrap();
    assert_eq!(ids.target_port_group(), Some(9));
    assert_eq!(ids.wwid(), None, "a T10 name that ends with the vendor names no unit");
    let page = [0, 0x83, 0, 12, 1, 3, 0, 8, 0x60, 0, 0, 0, 0, 0, 0, 1];
    assert_eq!(DeviceIds::parse(&page).unwrap().wwid().unwrap(), "naa.6000000000000001");
    assert_eq!(parse_serial(&[0, 0x80, 0, 4, b'b', b'e', b'a', b'f']).unwrap().as_deref(), Some("beaf"));
    assert!(parse_serial(&[0, 0x83, 0, 0]).is_err(), "the wrong page");
}

#[test]
fn limits_rotation_and_provisioning_are_parsed() {
    let mut page = [0; 64];
    page[..4].copy_from_slice(&[0, 0xb0, 0, 60]);
    page[7] = 8;
    page[10] = 0x20;
    page[22] = 1;
    let limits = BlockLimits::parse(&page).unwrap();
    let seen = (limits.optimal_granularity_blocks, limits.transfer_blocks_max, limits.unmap_blocks_max);
    assert_eq!(seen, (8, 0x2000, 0x100));
    assert_eq!(parse_rotation(&[0, 0xb1, 0, 60, 0, 1]).unwrap(), Rotation::None);
    assert_eq!(parse_rotation(&[0, 0xb1, 0, 60, 0x1c, 0x20]).unwrap(), Rotation::Rpm(7200));
    let thin = BlockProvisioning::parse(&[0, 0xb2, 0, 4, 0, 0x80, 2, 0]).unwrap();
    assert_eq!(thin, BlockProvisioning { provisioning: Provisioning::Thin, unmap: true });
}

#[test]
fn capacities_are_parsed_in_both_forms() {
    let small = Capacity::parse_10(&[0, 0, 0x0f, 0xff, 0, 0, 2, 0]).unwrap().unwrap();
    assert_eq!((small.blocks, small.block_bytes, small.bytes()), (4096, 512, 2 << 20));
    assert_eq!(Capacity::parse_10(&[0xff, 0xff, 0xff, 0xff, 0, 0, 2, 0]).unwrap(), None);
    let mut data = [0; 32];
    data[6..12].copy_from_slice(&[0xff, 0xff, 0, 0, 2, 0]);
    data[13] = 3;
    data[14] = 0xc0;
    let large = Capacity::parse_16(&data).unwrap();
    assert_eq!((large.blocks, large.physical_block_bytes, large.thin), (65_536, 4096, true));
    data[..8].copy_from_slice(&[0xff; 8]);
    assert!(Capacity::parse_16(&data).is_err(), "more bytes than 64 bits count");
    assert!(Capacity::parse_10(&[0, 0, 0, 1, 0, 0, 0, 3]).is_err(), "no such block size");
}

#[test]
fn mode_pages_mapping_reservations_and_groups_are_parsed() {
    let mode = ModeFacts::parse_6(&[23, 0, 0x90, 0, 0x88, 18, 0x04, 0]).unwrap();
    assert!(mode.write_protected && mode.fua_supported);
    assert_eq!((mode.write_cache, mode.read_cache), (Some(true), Some(true)));
    let mode = ModeFacts::parse_10(&[0, 26, 0, 0, 0, 0, 0, 0, 0x08, 18, 0x01]).unwrap();
    assert_eq!((mode.write_protected, mode.write_cache, mode.read_cache), (false, Some(false), Some(false)));

    let mut data = vec![0, 0, 0, 36, 0, 0, 0, 0];
    data.extend([0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 8, 1, 0, 0, 0]);
    data.extend([0, 0, 0, 0, 0, 0, 0, 13, 0, 0, 0, 0, 0, 0, 0, 0]);
    let status = parse_lba_status(&data).unwrap();
    assert_eq!(status, [LbaStatus { lba: 5, blocks: 8, mapping: Mapping::Deallocated }]);

    assert_eq!(parse_reservation_keys(&[0, 0, 0, 1, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 7]).unwrap(), [7]);
    assert_eq!(parse_reservation(&[0; 8]).unwrap(), None);
    let mut data = [0; 24];
    data[7] = 16;
    data[15] = 7;
    data[21] = 5;
    let held = parse_reservation(&data).unwrap().unwrap();
    assert_eq!((held.key, held.kind_words()), (7, "write exclusive, registrants only"));

    let data = [0, 0, 0, 24, 0x80, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0x02, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2];
    let groups = parse_port_groups(&data).unwrap();
    assert_eq!((groups[0].group, groups[0].state, groups[0].preferred), (1, AccessState::Optimized, true));
    assert_eq!((groups[1].state, &groups[1].ports[..]), (AccessState::Standby, &[2][..]));
    assert_eq!(parse_luns(&[0, 0, 0, 8, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]).unwrap(), [1 << 48]);
}

#[test]
fn sense_data_is_parsed_in_both_formats() {
    let fixed = [0xf0, 0, 3, 0, 0, 1, 0, 10, 0, 0, 0, 0, 0x11, 0, 0, 0, 0, 0];
    let sense = Sense::parse(&fixed).unwrap();
    assert_eq!(sense.to_string(), "medium error: unrecovered read error (sense 3/11/00) at block 256");
    assert_eq!(sense.action(), SenseAction::Fail);
    let descriptor = [0x72, 6, 0x29, 7, 0, 0, 0, 12, 0, 10, 0x80, 0, 0, 0, 0, 1, 0, 0, 0, 0];
    let sense = Sense::parse(&descriptor).unwrap();
    assert_eq!((sense.information, sense.action()), (Some(1 << 32), SenseAction::RetryNow));
    for (key, asc, ascq, action) in [
        (2, 4, 1, SenseAction::RetryLater),
        (2, 4, 0x0a, SenseAction::RetryLater),
        (2, 4, 0x0b, SenseAction::OtherPath),
        (2, 0x3a, 0, SenseAction::Fail),
        (5, 0x21, 0, SenseAction::Fail),
        (7, 0x27, 0, SenseAction::Fail),
        (0xb, 0x44, 0, SenseAction::RetryNow),
        (1, 0x17, 1, SenseAction::Succeed),
    ] {
        assert_eq!(Sense { key, asc, ascq, information: None }.action(), action, "{key:x}/{asc:x}/{ascq:x}");
    }
    assert!(Sense { key: 6, asc: 0x2a, ascq: 6, information: None }.tells_of_access_state());
    assert_eq!(Sense::parse(&[0x00; 18]), None);
}

proptest! {
    #[test]
    fn no_bytes_make_a_decoder_panic(data in proptest::collection::vec(any::<u8>(), 0..300), first in 0u8..0x90) {
        let mut data = data;
        if let Some(byte) = data.first_mut() {
            *byte = first;
        }
        let mut with_page = |page: u8| {
            if let Some(byte) = data.get_mut(1) {
                *byte = page;
            }
            data.clone()
        };
        let _ = parse_supported_pages(&with_page(0));
        let _ = parse_serial(&with_page(0x80));
        let _ = DeviceIds::parse(&with_page(0x83)).map(|ids| (ids.wwid(), ids.target_port_group()));
        let _ = BlockLimits::parse(&with_page(0xb0));
        let _ = parse_rotation(&with_page(0xb1));
        let _ = BlockProvisioning::parse(&with_page(0xb2));
        let _ = (Inquiry::parse(&data), Capacity::parse_10(&data), Capacity::parse_16(&data).map(|c| c.bytes()));
        let _ = (parse_luns(&data), ModeFacts::parse_6(&data), ModeFacts::parse_10(&data));
        let _ = (parse_lba_status(&data), parse_reservation_keys(&data), parse_reservation(&data));
        let _ = (parse_port_groups(&data), Sense::parse(&data).map(|sense| (sense.action(), sense.to_string())));
    }
}

fn length(bytes: &[u8]) -> u8 {
    u8::try_from(bytes.len()).unwrap()
}

/// Page 80 with this serial.
fn serial_page(serial: &str) -> Vec<u8> {
    [&[0, 0x80, 0, length(serial.as_bytes())][..], serial.as_bytes()].concat()
}

#[test]
fn a_serial_number_shared_by_many_units_is_no_identity() {
    for filler in ["00000000", "0", "", "        ", "0000-0000", "FFFFFFFF", "None", "unknown", "0123456789"]
    {
        assert_eq!(parse_serial(&serial_page(filler)).unwrap(), None, "{filler:?}");
    }
    for serial in ["00000001", "1", "beaf11", "gotgt-1000", "ISCSI00000000001", "0000 0000 0a"] {
        assert_eq!(parse_serial(&serial_page(serial)).unwrap().as_deref(), Some(serial));
    }
    let name = |code: u8, kind: u8, bytes: &[u8]| {
        let page = [&[0, 0x83, 0, 4 + length(bytes), code, kind, 0, length(bytes)][..], bytes].concat();
        DeviceIds::parse(&page).unwrap().wwid()
    };
    assert_eq!(name(1, 3, &[0x60, 0, 0, 0, 0, 0, 0, 0]), None, "an NAA name of its type alone");
    assert_eq!(name(1, 2, &[0; 8]), None);
    assert_eq!(name(2, 1, b"IET     00000000"), None, "a vendor, and a filler");
    assert_eq!(name(2, 1, b"IET     00010001").as_deref(), Some("t10.IET     00010001"));
    assert_eq!(name(1, 3, &[0x60, 0, 0, 0, 0, 0, 0, 1]).as_deref(), Some("naa.6000000000000001"));
}
