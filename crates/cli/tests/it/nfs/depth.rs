//! The queue depth that a server sees: calls without an answer, counted by a relay between the program and the server.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::story::{DONE, Story, number};
use assay_testkit::ganesha;

/// Calls in flight over all connections, now and at most.
#[derive(Default)]
struct Calls {
    now: AtomicI64,
    most: AtomicI64,
}

/// Passes on one direction record by record (RFC 5531, section 11), and calls `each` before the last fragment of a
/// record goes on.
fn relay(mut from: TcpStream, mut to: TcpStream, each: impl Fn()) {
    let mut mark = [0; 4];
    let mut body = Vec::new();
    while from.read_exact(&mut mark).is_ok() {
        let word = u32::from_be_bytes(mark);
        body.resize(usize::try_from(word & 0x7FFF_FFFF).unwrap(), 0);
        if from.read_exact(&mut body).is_err() {
            break;
        }
        if word >> 31 == 1 {
            each();
        }
        if to.write_all(&mark).and_then(|()| to.write_all(&body)).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

fn serve(listener: &TcpListener, port: u16, calls: &Arc<Calls>) {
    for client in listener.incoming() {
        let (client, server) = (client.unwrap(), TcpStream::connect(("127.0.0.1", port)).unwrap());
        for stream in [&client, &server] {
            stream.set_nodelay(true).unwrap();
        }
        let (asked, answered) = (Arc::clone(calls), Arc::clone(calls));
        let (to_server, to_client) = (server.try_clone().unwrap(), client.try_clone().unwrap());
        std::thread::spawn(move || {
            relay(client, to_server, || {
                let now = asked.now.fetch_add(1, Ordering::SeqCst) + 1;
                asked.most.fetch_max(now, Ordering::SeqCst);
            });
        });
        std::thread::spawn(move || {
            relay(server, to_client, || {
                answered.now.fetch_sub(1, Ordering::SeqCst);
            });
        });
    }
}

#[test]
fn a_file_over_nfs_reaches_its_queue_depth_at_the_server() {
    let Some(server) = ganesha::start() else { return };
    let (story, calls) = (Story::new(), Arc::new(Calls::default()));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, nfs_port) = (listener.local_addr().unwrap().port(), server.port);
    let counting = Arc::clone(&calls);
    std::thread::spawn(move || serve(&listener, nfs_port, &counting));
    let file = format!("nfs://127.0.0.1:{port}/rw/depth.dat?mountport={}", server.mount_port);
    let plan = |outstanding: u32| {
        format!(
            "size = \"16MiB\"\n[[test]]\nname = \"t\"\noutstanding = {outstanding}\nrun = \"1s\"\n\
             access = [{{ size = \"4KiB\", read = 100, random = 100 }}]\n"
        )
    };
    // Filling is no part of what is counted.
    story.write("plan.toml", plan(1));
    story.assay(&["run", "plan.toml", &file]).ends(DONE);
    calls.most.store(0, Ordering::SeqCst);
    story.write("plan.toml", plan(16));
    let document = story.assay(&["run", "plan.toml", &file, "--json"]).ends(DONE).json();
    assert_eq!(document["targets"][0]["member"]["engine"], "nfs");
    let said = number(&document, "/tests/0/outstanding_effective");
    assert!(said > 4.0 && said <= 16.01, "{said}");
    // The ping of each second comes on top.
    let most = calls.most.load(Ordering::SeqCst);
    assert!((12..=18).contains(&most), "the server had at most {most} calls in flight");
}
