//! Calls whose connection is lost again and again, while another works.

use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use assay_nfs::{File, FileConfig, Kind};
use assay_testkit::nfs_proxy::{Act, NfsProxy};

use crate::faults::config;
use crate::scripted::{Answer, Scripted};
use crate::work::command;

/// One port is accepted, pinged and reset at each call, for ever; all calls complete over the other.
#[test]
fn a_call_is_not_bound_to_a_connection_that_is_accepted_and_reset() {
    let server = Scripted::start(|_, _| Answer::Good);
    let bad_port = AtomicU16::new(0);
    let proxy = NfsProxy::start(server.address.port(), move |call| {
        if call.procedure == 0 {
            return Act::Pass;
        }
        // The connection of the first call is the bad one.
        let _ = bad_port.compare_exchange(0, call.client_port, Ordering::SeqCst, Ordering::SeqCst);
        let is_bad = bad_port.load(Ordering::SeqCst) == call.client_port;
        if is_bad { Act::Cut } else { Act::Pass }
    });
    let address = ([127, 0, 0, 1], proxy.port).into();
    let mut file = File::open(FileConfig { address, connections: 2, ..config(&server) }).unwrap();
    let (mut done, began) = (Vec::new(), Instant::now());
    for tag in 0..64 {
        let kind = if tag % 2 == 0 { Kind::Read } else { Kind::Write };
        file.submit(command(tag, kind, tag * 8192, vec![1; 8192])).unwrap();
    }
    while done.len() < 64 {
        assert!(began.elapsed() < Duration::from_secs(8), "{} of 64 ended", done.len());
        file.poll(Some(Duration::from_millis(100)), &mut done).unwrap();
    }
    let failed = done.iter().filter(|completion| completion.result != Ok(8192)).count();
    assert_eq!(failed, 0, "of 64, {:?}", done.iter().find(|c| c.result.is_err()).map(|c| &c.result));
}
