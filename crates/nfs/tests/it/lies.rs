//! Runs the client against a server that sends false answers, one kind at a time (`testkit::lying`). It must finish in
//! bounded time with an error that names the fault or with correct data, complete every command once, and never accept
//! wrong data.

use std::sync::Arc;
use std::time::{Duration, Instant};

use assay_nfs::nfs3::{Handle, Stable};
use assay_nfs::rpc::Credentials;
use assay_nfs::{CallError, File, FileConfig, Kind, Server, ServerConfig, Timeouts};
use assay_testkit::lying::Kept;
use assay_testkit::lying::nfs::{EXPORT, LyingNfs, Procedure};
use assay_testkit::lying::nfs_lies::{LIES, Lie};
use assay_testkit::lying::story::{Ending, LIMIT, Story, all};

use crate::work::{command, pattern};

/// Number of commands in one story. Each is several calls long.
const BLOCKS: usize = 4;
const BLOCK: usize = 20_000;
/// Time limit of a call before the run. Some are long, and all stories run at once.
const LOOK_LIMIT: Duration = Duration::from_secs(5);
/// Lies that are not handled correctly yet: they run only by name (`ASSAY_LIE`).
const OPEN: [&str; 0] = [];

/// Limits that end a failing story soon. A successful one waits for none of them, so a busy machine has more time for
/// it.
fn quick(kept: Kept) -> Timeouts {
    Timeouts {
        io: Duration::from_secs(if ends_well(kept) { 15 } else { 3 }),
        connect: Duration::from_secs(1),
        call: Duration::from_millis(500),
        commit: Duration::from_millis(500),
        ping_interval: Duration::from_millis(300),
        ping: Duration::from_secs(1),
        no_server: Duration::from_millis(if ends_well(kept) { 15_000 } else { 1_500 }),
        busy: Duration::from_millis(500),
        retry_min: Duration::from_millis(10),
        retry_max: Duration::from_millis(50),
    }
}

fn ends_well(kept: Kept) -> bool {
    matches!(kept, Kept::Right | Kept::RightAndSaid(_))
}

fn credentials() -> Credentials {
    Credentials { machine: "test".into(), uid: 0, gid: 0, groups: Vec::new() }
}

/// How the client finds the ports of NFS and MOUNT.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ports {
    Given,
    Mapped,
}

/// Makes every call that precedes a run.
fn look(port: u16, ports: Ports) -> Result<(Server, Handle, Handle), CallError> {
    let given = (ports == Ports::Given).then_some(port);
    let mut server = Server::connect(ServerConfig {
        host: "127.0.0.1".into(),
        port: given,
        mount_port: given,
        mapper_port: port,
        credentials: credentials(),
        patience: LOOK_LIMIT,
    })?;
    server.ping()?;
    server.exports()?;
    let root = server.mount(EXPORT)?.handle;
    server.attributes(&root)?;
    server.fsinfo(&root)?;
    server.fsstat(&root)?;
    server.path_limits(&root)?;
    server.lookup(&root, "t.dat")?;
    let handle = server.create(&root, "t.dat", 0o644)?;
    server.access(&handle)?;
    server.set_size(&handle, (BLOCKS * BLOCK) as u64)?;
    server.attributes(&handle)?;
    Ok((server, root, handle))
}

fn story(lie: &'static Lie) -> Ending {
    let server = LyingNfs::start(move |asked, honest| lie.tell(asked, honest));
    let mut ending = Ending::default();
    let ports = if lie.of == Procedure::GetPort { Ports::Mapped } else { Ports::Given };
    let (mut asking, root, handle) = match look(server.port, ports) {
        Ok(found) => found,
        Err(error) => {
            ending.errors.push(error.to_string());
            return ending;
        }
    };
    let opened = File::open(FileConfig {
        address: asking.address(),
        handle,
        credentials: credentials(),
        connections: 2,
        depth: 8,
        read_bytes_max: 8192,
        write_bytes_max: 8192,
        stable: Stable::Unstable,
        timeouts: quick(lie.kept),
    });
    let mut file = match opened {
        Ok(file) => file,
        Err(error) => {
            ending.errors.push(error.to_string());
            return ending;
        }
    };
    let mut is_written = [false; BLOCKS];
    for kind in [Kind::Write, Kind::Read] {
        for block in 0..BLOCKS {
            let offset = (block * BLOCK) as u64;
            let buf = if kind == Kind::Write { pattern(offset, BLOCK) } else { vec![0xee; BLOCK] };
            if let Err(refused) = file.submit(command(block as u64, kind, offset, buf)) {
                ending.errors.push(format!("command {} was not taken", refused.tag));
            }
        }
        collect(lie, &mut file, kind, &mut is_written, &mut ending);
        let began = Instant::now();
        if let Err(error) = file.commit(&|| false) {
            ending.errors.push(error.to_string());
        }
        assert!(began.elapsed() < LIMIT, "{}: the commit hangs", lie.name);
    }
    ending.events.extend(file.events().into_iter().map(|event| format!("{:?}", event.kind)));
    let stored = server.file("t.dat").unwrap_or_default();
    for block in (0..BLOCKS).filter(|block| is_written[*block]) {
        let at = block * BLOCK;
        assert!(
            stored[at..at + BLOCK] == pattern(at as u64, BLOCK),
            "{}: block {block} is not there",
            lie.name
        );
    }
    drop(file);
    let _ = asking.remove(&root, "t.dat");
    ending
}

/// Waits until every command has completed, and checks its result.
fn collect(lie: &Lie, file: &mut File<Vec<u8>>, kind: Kind, is_written: &mut [bool], ending: &mut Ending) {
    let (mut done, began) = (Vec::new(), Instant::now());
    let mut ended = [false; BLOCKS];
    while file.outstanding() > 0 {
        assert!(began.elapsed() < LIMIT, "{}: {kind:?} hangs: {:?}", lie.name, file.events());
        if let Err(lost) = file.poll(Some(Duration::from_millis(200)), &mut done) {
            ending.errors.push(lost.to_string());
        }
        for completion in done.drain(..) {
            let block = usize::try_from(completion.tag).unwrap();
            assert!(!std::mem::replace(&mut ended[block], true), "{}: {kind:?} ended twice", lie.name);
            let expected = pattern(completion.tag * BLOCK as u64, BLOCK);
            match (completion.result, kind) {
                (Ok(bytes), Kind::Write) => is_written[block] = bytes as usize == BLOCK,
                (Ok(bytes), Kind::Read) if (bytes as usize) < BLOCK => {
                    ending.errors.push(format!("short: {bytes} bytes"));
                }
                (Ok(_), Kind::Read) if is_written[block] => {
                    assert!(completion.buf == expected, "{}: wrong data are taken for right", lie.name);
                }
                (Ok(_), Kind::Read) => {}
                (Err(error), _) => ending.errors.push(error.to_string()),
            }
        }
    }
}

#[test]
fn no_false_answer_hangs_the_client_or_passes_as_correct() {
    let lies = LIES.iter().flat_map(|group| group.iter());
    let stories = lies.map(|lie| Story { name: lie.name, kept: lie.kept, run: Arc::new(move || story(lie)) });
    all(&stories.collect::<Vec<_>>(), &OPEN);
}
