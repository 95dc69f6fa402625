//! Preparation as the program uses it, on real files, devices and servers: inspect, open, fill, close.
#![expect(clippy::unwrap_used, reason = "a panic in a test is a test that failed")]

mod making;
mod marks;
mod same;
mod signatures;
mod window;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;

use assay_prepare::{FillChoice, IoChoice, PrepareError, PrepareOptions, PreparedTargets};
use assay_spec::{Address, Overrides, Plan, PlanFile};
use assay_target::Caching;

/// Returns a plan in which one job writes to the first target, and another reads the second if there is one.
pub(crate) fn plan(size: &str, targets: usize) -> Plan {
    let reader = "[[test.job]]\ntargets = [1]\naccess = [{ size = 4096, read = 100 }]\n";
    let text = format!(
        "[[test]]\nname = \"t\"\nrun = \"1s\"\n[[test.job]]\ntargets = [0]\naccess = [{{ size = 4096, read = 0 }}]\n{}",
        if targets == 2 { reader } else { "" }
    );
    let mut overrides = Overrides::default();
    overrides.size = Some(size.parse().unwrap());
    PlanFile::parse("p", &text).unwrap().resolve(&overrides).unwrap()
}

pub(crate) fn options(overwrite: &[&str]) -> PrepareOptions {
    PrepareOptions {
        io: IoChoice::Psync,
        caching: Caching::Cached,
        overwrite: overwrite.iter().map(ToString::to_string).collect(),
        changes: assay_prepare::Changes::AsNeeded,
        fill: FillChoice::WhereNeeded,
        ..PrepareOptions::reading()
    }
}

pub(crate) fn address(text: &str) -> Address {
    text.parse().unwrap()
}

/// Inspects the targets, opens and fills them; `between` is called after they are open.
pub(crate) fn prepare(
    targets: &[&str],
    overwrite: &[&str],
    between: impl FnOnce(),
) -> Result<PreparedTargets, PrepareError> {
    prepare_with(targets, &options(overwrite), between)
}

pub(crate) fn prepare_with(
    targets: &[&str],
    options: &PrepareOptions,
    between: impl FnOnce(),
) -> Result<PreparedTargets, PrepareError> {
    let plan = plan("1MiB", targets.len());
    let addresses: Vec<Address> = targets.iter().map(|target| address(target)).collect();
    let open = assay_prepare::open(&plan, &addresses, options, &assay_host::host_facts(), &mut || true)?;
    between();
    open.fill(&|| false, &mut |_| {})
}

/// Creates a file of Assay's own, 1 MiB long.
pub(crate) fn own_file(path: &Path) {
    prepare(&[path.to_str().unwrap()], &[], || {}).unwrap().close().unwrap();
}

/// Forwards connections to a server. `first` is called before the first one is forwarded, so the client waits for it.
pub(crate) fn relay(server: String, first: impl FnOnce() + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap().to_string();
    let mut first = Some(first);
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            if let Some(first) = first.take() {
                first();
            }
            let upstream = TcpStream::connect(&server).unwrap();
            let pair = (client.try_clone().unwrap(), upstream.try_clone().unwrap());
            std::thread::spawn(move || pass_on(pair.0, pair.1));
            std::thread::spawn(move || pass_on(upstream, client));
        }
    });
    at
}

fn pass_on(mut from: TcpStream, mut to: TcpStream) {
    let mut buf = [0; 64 << 10];
    while let Ok(bytes @ 1..) = from.read(&mut buf) {
        if to.write_all(&buf[..bytes]).is_err() {
            return;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
}
