//! A server that stops answering though it takes connections: a relay that swallows everything from some moment on.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::story::{ERRORS, Story};
use assay_testkit::ganesha;

/// Hands everything on to a port on this host until it is mute; counts connections from then on. Ends with the test
/// program.
struct Relay {
    port: u16,
    is_mute: Arc<AtomicBool>,
    taken_mute: Arc<AtomicUsize>,
}

impl Relay {
    fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let relay = Self {
            port: listener.local_addr().unwrap().port(),
            is_mute: Arc::default(),
            taken_mute: Arc::default(),
        };
        let (is_mute, taken_mute) = (relay.is_mute.clone(), relay.taken_mute.clone());
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if is_mute.load(Ordering::SeqCst) {
                    taken_mute.fetch_add(1, Ordering::SeqCst);
                }
                let server = TcpStream::connect(("127.0.0.1", port)).unwrap();
                let ways = [(client.try_clone().unwrap(), server.try_clone().unwrap()), (server, client)];
                for (from, to) in ways {
                    let is_mute = is_mute.clone();
                    std::thread::spawn(move || hand_on(from, to, &is_mute));
                }
            }
        });
        relay
    }
}

fn hand_on(mut from: TcpStream, mut to: TcpStream, is_mute: &AtomicBool) {
    let mut bytes = [0; 1 << 16];
    while let Ok(got @ 1..) = from.read(&mut bytes) {
        if !is_mute.load(Ordering::SeqCst) && to.write_all(&bytes[..got]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

/// Each target's mark and each removal would wait for the same silent server again: Assay waits once, and still prints
/// the results.
#[test]
fn a_server_that_is_silent_at_the_end_is_waited_for_once() {
    let Some(server) = ganesha::start() else { return };
    let (nfs, mount) = (Relay::to(server.port), Relay::to(server.mount_port));
    let story = Story::new();
    let job = |target| {
        format!(
            "[[test.job]]\ntargets = [{target}]\naccess = [{{ size = \"8KiB\", read = 0, random = 100 }}]\n"
        )
    };
    story.write("two.toml", format!("[[test]]\nname = \"t\"\nrun = \"60s\"\n{}{}", job(0), job(1)));
    let file = |name| format!("nfs://127.0.0.1:{}/rw/{name}?mountport={}&timeout=2", nfs.port, mount.port);
    let running = story.start(&["run", "two.toml", &file("a"), &file("b"), "--size", "1MiB", "--remove"]);
    story.wait_for(|run| run["tests"][0]["series"].as_array().is_some_and(|series| !series.is_empty()));
    [&nfs, &mount].iter().for_each(|relay| relay.is_mute.store(true, Ordering::SeqCst));
    let reported = running.end().ends(ERRORS);
    let reported = reported.says(&[
        "its mark could not be closed",
        "kept nfs://",
        "the server did not answer after the run",
    ]);
    assert!(reported.out.contains("IOPS"), "the results: {}\n{}", reported.out, reported.err);
    assert_eq!(reported.err.matches("could not be closed").count(), 2, "{}", reported.err);
    assert_eq!(mount.taken_mute.load(Ordering::SeqCst), 1, "{}", reported.err);
}
