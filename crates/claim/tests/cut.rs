//! A connection that fails at any step of marking a file must not cost the file its mark. It did: the mark was emptied
//! before it was written again, and a failure in between left a file that was "not created by Assay".
#![expect(clippy::unwrap_used, reason = "a panic in a test is a test that failed")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use assay_claim::Marker;
use assay_claim::nfs::{NfsLocation, credentials, locate, mark};
use assay_spec::{Address, NfsAddress};
use assay_target::nfs::NfsMember;
use assay_target::{AccessMode, Durability, OpenError};
use assay_testkit::ganesha::{self, Ganesha};

/// More calls than any of these sequences makes.
const CALLS_MAX: usize = 60;

fn address(server: &Ganesha, port: u16, name: &str) -> NfsAddress {
    let text = format!("nfs://127.0.0.1:{port}/rw/{name}?mountport={}&timeout=2", server.mount_port);
    match text.parse().unwrap() {
        Address::Nfs(address) => *address,
        other => panic!("{other}"),
    }
}

/// Returns one record of ONC RPC over TCP, unchanged; `None` at the end of the stream.
fn record(from: &mut TcpStream) -> Option<Vec<u8>> {
    let mut head = [0; 4];
    from.read_exact(&mut head).ok()?;
    let bytes = usize::try_from(u32::from_be_bytes(head) & 0x7FFF_FFFF).unwrap();
    let mut all = vec![0; 4 + bytes];
    all[..4].copy_from_slice(&head);
    from.read_exact(&mut all[4..]).ok()?;
    Some(all)
}

/// Forwards this many calls and their answers, over all connections, and one more whose answer is lost; then the server
/// is unreachable.
fn cut_after(calls: usize, server: u16) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut left = calls;
        loop {
            let Ok((mut client, _)) = listener.accept() else { return };
            let mut upstream = TcpStream::connect(("127.0.0.1", server)).unwrap();
            while let Some(call) = record(&mut client) {
                upstream.write_all(&call).unwrap();
                let Some(answer) = record(&mut upstream) else { break };
                if left == 0 {
                    return;
                }
                left -= 1;
                client.write_all(&answer).unwrap();
            }
        }
    });
    at
}

fn member(place: &NfsLocation, server: SocketAddr, address: &NfsAddress) -> NfsMember {
    NfsMember {
        mark_id: None,
        address: address.clone(),
        server,
        mount_port: place.mount_port(),
        handle: place.file.unwrap().handle,
        credentials: credentials(address),
        access: AccessMode::ReadWrite,
        durability: Durability::Device,
        span_bytes: 4096,
        read_bytes_max: 4096,
        write_bytes_max: 4096,
        moved: Vec::new(),
    }
}

#[test]
fn a_cut_at_any_step_of_marking_leaves_the_file_ours() {
    let Some(server) = ganesha::start() else { return };
    for calls in 0..CALLS_MAX {
        let name = format!("mark{calls}.dat");
        let direct = address(&server, server.port, &name);
        let mut place = locate(&direct).unwrap();
        let mut marker = Marker::new(true);
        place.create().unwrap();
        std::fs::write(server.file(&format!("rw/{name}")), [7; 4096]).unwrap();
        place.mark(&mut marker, true).unwrap();
        let cut = cut_after(calls, server.port);
        let marked = mark(&member(&place, cut, &address(&server, cut.port(), &name)), &mut marker, false);
        let found = locate(&direct).unwrap().marker().unwrap();
        assert!(found.is_some_and(|found| found.created), "cut after {calls} calls: {marked:?}");
        if marked.is_ok() {
            assert!(calls > 5, "{calls}");
            return;
        }
    }
    panic!("more calls than {CALLS_MAX}");
}

#[test]
fn a_cut_at_any_step_of_creating_a_file_leaves_nothing_that_is_not_ours() {
    let Some(server) = ganesha::start() else { return };
    for calls in 0..CALLS_MAX {
        let name = format!("new{calls}.dat");
        let cut = cut_after(calls, server.port);
        let made = locate(&address(&server, cut.port(), &name)).and_then(|mut place| {
            place.create()?;
            place.mark(&mut Marker::new(true), true)?;
            Ok::<(), OpenError>(())
        });
        let mut left = locate(&address(&server, server.port, &name)).unwrap();
        let found = left.marker().unwrap();
        assert!(left.file.is_none() || found.is_some(), "cut after {calls} calls: {made:?}");
        if made.is_ok() {
            assert!(calls > 8 && left.file.is_some(), "{calls}");
            return;
        }
    }
    panic!("more calls than {CALLS_MAX}");
}
