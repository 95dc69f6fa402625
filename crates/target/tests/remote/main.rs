//! Design invariant 1 for remote targets: during a run no I/O allocates memory. Against a real nfs-ganesha and a real
//! tgt; skipped if they do not start.
#![expect(clippy::unwrap_used, reason = "a panic in a test is a test that failed")]

mod counting;

use std::time::{Duration, Instant};

use assay_claim::nfs::{credentials, locate};
use assay_spec::{Address, IscsiAddress, NfsAddress};
use assay_target::lun::LunMember;
use assay_target::nfs::NfsMember;
use assay_target::{
    AccessMode, AnyTarget, Completion, Durability, IoBuf, IoEngine, Member, Op, OpKind, OpenRequest, Target,
    Wait,
};
use assay_testkit::{ganesha, tgt};
use counting::allocations;

const DEPTH: u32 = 32;
const SPAN: u64 = 16 << 20;

fn address(server: &ganesha::Ganesha, more: &str) -> NfsAddress {
    let text = format!("nfs://127.0.0.1:{}/rw/t.dat?mountport={}{more}", server.port, server.mount_port);
    match text.parse().unwrap() {
        Address::Nfs(address) => *address,
        other => panic!("{other}"),
    }
}

fn open(address: &NfsAddress, call_bytes_max: u32) -> AnyTarget {
    let mut place = locate(address).unwrap();
    if place.file.is_none() {
        place.create().unwrap();
    }
    let member = NfsMember {
        mark_id: None,
        address: address.clone(),
        server: place.server_address(),
        mount_port: place.mount_port(),
        handle: place.file.unwrap().handle,
        credentials: credentials(address),
        access: AccessMode::ReadWrite,
        durability: Durability::Device,
        span_bytes: SPAN,
        read_bytes_max: call_bytes_max,
        write_bytes_max: call_bytes_max,
        moved: Vec::new(),
    };
    let request = OpenRequest {
        members: &[Member::Nfs(Box::new(member))],
        depth: DEPTH,
        engine: IoEngine::Uring,
        buffers: &[],
    };
    assay_target::open(&request).unwrap()
}

/// Keeps the queue full for some time. Returns the number of successful I/Os, and of allocations meanwhile.
fn drive(target: &mut AnyTarget, bufs: &mut Vec<IoBuf>, size: u32, time: Duration) -> (u64, u64) {
    let mut done: Vec<Completion> = Vec::with_capacity(64);
    let (mut submitted, mut ended, began) = (0_u64, 0, Instant::now());
    let before = allocations();
    loop {
        while began.elapsed() < time
            && let Some(buf) = bufs.pop()
        {
            let kind = if submitted.is_multiple_of(2) { OpKind::Write } else { OpKind::Read };
            let offset_bytes = submitted % (SPAN / u64::from(size)) * u64::from(size);
            let op = Op { tag: buf.slot(), member: 0, kind, size_bytes: size, offset_bytes, buf };
            target.submit(op).expect("as many as the target takes");
            submitted += 1;
        }
        if ended == submitted {
            return (ended, allocations() - before);
        }
        target.poll(Wait::AtMost(Duration::from_millis(50)), &mut done).unwrap();
        for completion in done.drain(..) {
            assert_eq!(completion.outcome, Ok(size));
            ended += 1;
            bufs.push(completion.buf);
        }
    }
}

/// Runs I/O of `size` on a target for longer than the interval of pings, and checks the number of allocations.
fn holds(mut target: AnyTarget, size: u32, what: &str) {
    let mut bufs: Vec<IoBuf> = IoBuf::many(DEPTH, size);
    // The whole span is written once, so that later reads find data everywhere.
    for offset_bytes in (0..SPAN).step_by(size as usize) {
        let buf = bufs.pop().unwrap();
        let op = Op { tag: 0, member: 0, kind: OpKind::Write, size_bytes: size, offset_bytes, buf };
        target.submit(op).unwrap();
        let mut done = Vec::new();
        while done.is_empty() {
            target.poll(Wait::One, &mut done).unwrap();
        }
        bufs.push(done.pop().unwrap().buf);
    }
    assert!(allocations() > 0, "the counter counts");
    drive(&mut target, &mut bufs, size, Duration::from_millis(100));
    let (ended, allocations) = drive(&mut target, &mut bufs, size, Duration::from_millis(1300));
    assert!(ended > 100, "{ended}");
    assert_eq!(allocations, 0, "{what} {size}: {ended} I/Os");
}

#[test]
fn no_io_over_nfs_allocates() {
    let Some(server) = ganesha::start() else { return };
    for (more, size, call_bytes_max) in
        [("", 4096, 1 << 20), ("&connections=3", 4096, 1 << 20), ("", 256 << 10, 64 << 10)]
    {
        holds(open(&address(&server, more), call_bytes_max), size, more);
    }
}

#[test]
fn no_io_over_iscsi_allocates() {
    let Some(server) = tgt::start(2) else { return };
    let both = format!("?portal={}", server.portals[1]);
    for (more, size) in [("", 4096), (both.as_str(), 4096), (both.as_str(), 256 << 10)] {
        let text = format!("{}/{}/1{more}", server.portals[0], server.name());
        let member = LunMember {
            address: IscsiAddress::parse(&text).unwrap(),
            credentials: None,
            access: AccessMode::ReadWrite,
            durability: Durability::Device,
            span_bytes: SPAN,
            block_bytes: 512,
            transfer_bytes_max: 1 << 20,
            proof: std::sync::Arc::default(),
            guard: None,
            watch: assay_target::lun::UnitWatch::Regularly,
            unmap: Err("not asked"),
            moved: Vec::new(),
        };
        let request = OpenRequest {
            members: &[Member::Lun(Box::new(member))],
            depth: DEPTH,
            engine: IoEngine::Uring,
            buffers: &[],
        };
        holds(assay_target::open(&request).unwrap(), size, more);
    }
}
