//! Behaviour against a real server: control calls, parallel I/O, splitting, durability, refusals, a crash.

use std::collections::BTreeSet;
use std::time::Duration;

use assay_nfs::nfs3::{FileKind, NfsStatus, Stable};
use assay_nfs::{CallError, EventKind, File, IoError, Kind, Server, ServerConfig};

use crate::ganesha;
use crate::work::{collect, command, connect, file_config, make, pattern, server_config};

#[test]
fn exports_files_and_space_of_a_server_are_read() {
    let Some(ganesha) = ganesha::start() else { return };
    let mut server = connect(&ganesha);
    let exports: Vec<String> = server.exports().unwrap().into_iter().map(|export| export.path).collect();
    assert!(
        ["/rw", "/ro", "/squash"].iter().all(|name| exports.iter().any(|path| path.ends_with(name))),
        "{exports:?}"
    );
    let root = server.mount("/rw").unwrap();
    assert!(root.flavors.contains(&1), "{:?}", root.flavors);
    let limits = server.fsinfo(&root.handle).unwrap();
    assert!(limits.read_max >= 65_536 && limits.write_max >= 65_536, "{limits:?}");
    let space = server.fsstat(&root.handle).unwrap();
    assert!(space.available_bytes > 0 && space.total_bytes >= space.free_bytes, "{space:?}");
    assert!(server.path_limits(&root.handle).unwrap().name_bytes_max >= 255);
    assert!(server.ping().unwrap() < Duration::from_secs(5));

    assert_eq!(server.lookup(&root.handle, "new").unwrap(), None);
    let handle = server.create(&root.handle, "new", 0o640).unwrap();
    let error = server.create(&root.handle, "new", 0o640).unwrap_err();
    assert_eq!(error.status(), Some(NfsStatus::EXIST), "a guarded create never takes what is there");
    assert!(server.access(&handle).unwrap().modify());
    let written = server.write(&handle, 0, b"twelve bytes", Stable::FileSync).unwrap();
    assert_eq!((written.bytes, written.stable), (12, Stable::FileSync));
    assert_eq!(server.commit(&handle).unwrap(), written.verifier);
    let found = server.lookup(&root.handle, "new").unwrap().unwrap();
    assert_eq!((found.1.kind, found.1.size_bytes, found.1.mode & 0o777), (FileKind::Regular, 12, 0o640));
    assert_eq!(server.read(&handle, 7, 100).unwrap(), b"bytes");
    server.set_size(&handle, 6).unwrap();
    assert_eq!(server.attributes(&handle).unwrap().size_bytes, 6);
    server.remove(&root.handle, "new").unwrap();
    assert_eq!(server.attributes(&handle).unwrap_err().status(), Some(NfsStatus::STALE));
    server.unmount("/rw").unwrap();
}

#[test]
fn refusals_name_the_call_and_the_reason() {
    let Some(ganesha) = ganesha::start() else { return };
    let mut server = connect(&ganesha);
    let refused =
        |result: Result<_, CallError>| result.map(|_: assay_nfs::mount::Mounted| ()).unwrap_err().to_string();
    for export in ["/none", "/denied"] {
        // Servers differ in which of the two errors they return; this one does not reveal to strangers what exists.
        let said = refused(server.mount(export));
        assert!(said.contains("MNT3ERR_ACCES") || said.contains("MNT3ERR_NOENT"), "{said}");
    }
    let root = server.mount("/ro").unwrap().handle;
    let read_only = server.create(&root, "x", 0o644).unwrap_err().to_string();
    assert!(read_only.contains("read-only (NFS3ERR_ROFS)"), "{read_only}");
    let root = server.mount("/squash").unwrap().handle;
    assert_eq!(server.create(&root, "x", 0o644).unwrap_err().status(), Some(NfsStatus::ACCES));

    let nothing = ServerConfig { port: Some(1), ..server_config(&ganesha) };
    assert!(
        Server::connect(nothing).unwrap_err().to_string().contains("cannot connect to NFS at 127.0.0.1:1")
    );
    let wrong = ServerConfig { port: Some(ganesha.mount_port), ..server_config(&ganesha) };
    let error = Server::connect(wrong).and_then(|mut server| server.ping()).unwrap_err();
    assert!(error.to_string().contains("program is not available"), "{error}");
}

/// Every I/O completes once with the correct bytes, whether it is smaller or larger than one call, over one connection
/// or several.
#[test]
fn data_written_in_parallel_is_read_back() {
    let Some(ganesha) = ganesha::start() else { return };
    let mut server = connect(&ganesha);
    for (connections, size, most) in
        [(1, 4096, 1 << 20), (3, 4096, 1 << 20), (2, 300_001, 65_536), (1, 700_000, 1 << 20)]
    {
        let handle = make(&mut server, "/rw", &format!("t{connections}-{size}"));
        let mut config = file_config(&server, handle);
        (config.connections, config.read_bytes_max, config.write_bytes_max) = (connections, most, most);
        let mut file = File::open(config).unwrap();
        let offset = |tag: u64| tag * size as u64;
        for tag in 0..60 {
            file.submit(command(tag, Kind::Write, offset(tag), pattern(offset(tag), size))).unwrap();
        }
        let tags: BTreeSet<u64> = collect(&mut file, 60)
            .iter()
            .map(|done| {
                assert_eq!(done.result, Ok(u32::try_from(size).unwrap()));
                done.tag
            })
            .collect();
        assert_eq!(tags.len(), 60);
        file.commit(&|| false).unwrap();
        for tag in 0..60 {
            file.submit(command(tag, Kind::Read, offset(tag), vec![0; size])).unwrap();
        }
        for done in collect(&mut file, 60) {
            assert_eq!(done.result, Ok(u32::try_from(size).unwrap()));
            assert!(done.buf == pattern(offset(done.tag), size), "{connections} {size}: tag {}", done.tag);
        }
        let stats = file.stats();
        let reads: u64 = stats.iter().map(|path| path.stats.reads).sum();
        let bytes: u64 = stats.iter().map(|path| path.stats.write_bytes).sum();
        assert_eq!((reads, bytes), (60, 60 * size as u64), "an I/O that is split counts once");
        assert!(stats.iter().all(|path| path.stats.reads > 0), "every connection has its share");
        let writes = file.writes();
        assert_eq!((writes.commits, writes.committed_bytes, writes.uncertain), (1, 60 * size as u64, 0));
        let calls = writes.unstable + writes.data_sync + writes.file_sync;
        assert_eq!(calls, 60 * (size as u64).div_ceil(u64::from(most).min(1 << 20)));
    }
}

#[test]
fn the_end_of_the_file_is_a_short_read_and_a_failure_keeps_its_status() {
    let Some(ganesha) = ganesha::start() else { return };
    let mut server = connect(&ganesha);
    let handle = make(&mut server, "/rw", "short");
    server.write(&handle, 0, &[7; 1000], Stable::FileSync).unwrap();
    let mut config = file_config(&server, handle);
    (config.read_bytes_max, config.stable) = (300, Stable::FileSync);
    let mut file = File::open(config).unwrap();
    file.submit(command(1, Kind::Read, 500, vec![0; 4096])).unwrap();
    let done = collect(&mut file, 1).pop().unwrap();
    assert_eq!(done.result, Ok(500));
    assert!(done.buf[..500].iter().all(|byte| *byte == 7));
    file.submit(command(2, Kind::Write, 0, vec![1; 512])).unwrap();
    assert_eq!(collect(&mut file, 1)[0].result, Ok(512));
    assert_eq!((file.writes().file_sync, file.writes().unstable), (1, 0));
    let root = server.mount("/rw").unwrap().handle;
    server.remove(&root, "short").unwrap();
    file.submit(command(3, Kind::Read, 0, vec![0; 100])).unwrap();
    assert_eq!(collect(&mut file, 1)[0].result, Err(IoError::Status(NfsStatus::STALE)));
    file.submit(command(4, Kind::Read, 0, vec![])).unwrap();
    assert!(matches!(collect(&mut file, 1)[0].result, Err(IoError::Invalid(_))));
}

/// A killed server may lose its unstable writes, and the client reports that; no I/O is lost or done twice.
#[test]
fn io_survives_a_server_crash_which_is_reported() {
    let Some(ganesha) = ganesha::start() else { return };
    let mut server = connect(&ganesha);
    let handle = make(&mut server, "/rw", "crash");
    let mut config = file_config(&server, handle);
    config.connections = 2;
    let mut file = File::open(config).unwrap();
    for tag in 0..32 {
        file.submit(command(tag, Kind::Write, tag * 4096, pattern(tag * 4096, 4096))).unwrap();
    }
    let before = collect(&mut file, 32);
    assert!(before.iter().all(|done| done.result == Ok(4096)));
    ganesha.kill();
    for tag in 32..64 {
        file.submit(command(tag, Kind::Write, tag * 4096, pattern(tag * 4096, 4096))).unwrap();
    }
    let mut done = Vec::new();
    // Longer than a second, because ganesha's verifier is the second of its start.
    file.poll(Some(Duration::from_millis(1100)), &mut done).unwrap();
    assert!(done.is_empty(), "nobody answers");
    ganesha.restart();
    let after = collect(&mut file, 32);
    let tags: BTreeSet<u64> = after.iter().map(|done| done.tag).collect();
    assert!(after.iter().all(|done| done.result == Ok(4096)) && tags.len() == 32);
    let (writes, unstable) = (file.writes(), file.writes().unstable);
    if unstable > 0 {
        assert_eq!((writes.restarts, writes.uncertain), (1, 32), "{writes:?}");
    }
    file.commit(&|| false).unwrap();
    let reported: Vec<EventKind> = file.events().into_iter().map(|event| event.kind).collect();
    assert!(reported.iter().any(|kind| matches!(kind, EventKind::Down { .. })), "{reported:?}");
    assert!(reported.iter().any(|kind| matches!(kind, EventKind::AllDown)), "{reported:?}");
    let ups = reported.iter().filter(|kind| matches!(kind, EventKind::Up)).count();
    assert!(ups >= 3, "two at the start, and again: {reported:?}");
    let content = std::fs::read(ganesha.file("rw/crash")).unwrap();
    assert!(content == pattern(0, 64 * 4096));
}

#[test]
fn waiting_commands_fail_when_the_server_stays_down_and_the_file_stays_lost() {
    let Some(ganesha) = ganesha::start() else { return };
    let mut server = connect(&ganesha);
    let handle = make(&mut server, "/rw", "gone");
    let mut config = file_config(&server, handle);
    config.timeouts.no_server = Duration::from_millis(600);
    let mut file = File::open(config).unwrap();
    ganesha.kill();
    for tag in 0..8 {
        file.submit(command(tag, Kind::Write, tag * 512, vec![1; 512])).unwrap();
    }
    for done in collect(&mut file, 8) {
        assert!(matches!(done.result, Err(IoError::NoServer { .. })), "{:?}", done.result);
    }
    assert!(file.poll(None, &mut Vec::new()).unwrap_err().to_string().contains("cannot connect"));
    assert!(file.submit(command(9, Kind::Read, 0, vec![0; 512])).is_err());
    assert!(file.commit(&|| false).is_ok() || file.commit(&|| false).is_err(), "and does not hang");
}
