//! Writes that were sent twice, because their connection was lost: the storage is not blamed for what the first copy
//! does when the server executes it late.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use assay_testkit::ganesha;
use assay_testkit::nfs_proxy::{Act, NfsProxy, WRITE};
use assay_testkit::story::{DONE, Story, count, rules};

use super::VERIFY;

/// A WRITE of 4 KiB and its head; the fill writes larger ones.
const SMALL_BYTES: usize = 8192;

/// A server thread stalls with a write, its client goes away, repeats it and writes newer data; then the thread wakes.
#[test]
fn a_write_that_lands_late_is_not_blamed_on_the_storage() {
    let Some(server) = ganesha::start() else { return };
    let writes = AtomicU32::new(0);
    let proxy = NfsProxy::start(server.port, move |call| {
        let is_measured = call.procedure == WRITE && call.bytes < SMALL_BYTES;
        match is_measured.then(|| writes.fetch_add(1, Ordering::SeqCst)) {
            Some(number) if number % 100 == 99 && number < 2000 => Act::Late(Duration::from_millis(200)),
            _ => Act::Pass,
        }
    });
    let story = Story::new();
    story.write("verify.toml", VERIFY.replace("500ms", "4s").replace("4MiB", "256KiB"));
    let file =
        format!("nfs://127.0.0.1:{}/rw/t.dat?mountport={}&connections=2", proxy.port, server.mount_port);
    let document = story.assay(&["run", "verify.toml", &file, "--json"]).ends(DONE).json();
    let test = &document["tests"][0];
    assert!(proxy.late_count() > 0, "the fault was there");
    assert_eq!(test["mismatch_count"], 0, "{}", test["mismatches"]);
    assert_eq!(test["errors"], 0, "{test:#}");
    assert!(count(&document, "/tests/0/late_blocks") > 0, "seen, counted and not blamed");
    assert!(count(&document, "/tests/0/writes/0/moved") > 0);
    assert!(rules(&document).contains(&"moved-writes"), "{:?}", rules(&document));
}
