//! Helpers for tests with a server and a file.

use std::time::Duration;

use assay_nfs::nfs3::{Handle, Stable};
use assay_nfs::rpc::Credentials;
use assay_nfs::{Command, Completion, File, FileConfig, Kind, Server, ServerConfig, Timeouts};

use crate::ganesha::Ganesha;

pub fn server_config(server: &Ganesha) -> ServerConfig {
    ServerConfig {
        host: "127.0.0.1".into(),
        port: Some(server.port),
        mount_port: Some(server.mount_port),
        mapper_port: assay_nfs::portmap::PORT,
        credentials: Credentials::of_process(),
        patience: Duration::from_secs(5),
    }
}

pub fn connect(server: &Ganesha) -> Server {
    Server::connect(server_config(server)).unwrap()
}

/// Returns a new file in an export.
pub fn make(server: &mut Server, export: &str, name: &str) -> Handle {
    let root = server.mount(export).unwrap().handle;
    server.create(&root, name, 0o644).unwrap()
}

pub fn file_config(server: &Server, handle: Handle) -> FileConfig {
    FileConfig {
        address: server.address(),
        handle,
        credentials: Credentials::of_process(),
        connections: 1,
        depth: 64,
        read_bytes_max: 1 << 20,
        write_bytes_max: 1 << 20,
        stable: Stable::Unstable,
        timeouts: Timeouts::default(),
    }
}

/// Returns bytes that differ at every offset.
pub fn pattern(offset: u64, bytes: usize) -> Vec<u8> {
    (offset..).take(bytes).map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56).to_le_bytes()[0]).collect()
}

pub fn command(tag: u64, kind: Kind, offset_bytes: u64, buf: Vec<u8>) -> Command<Vec<u8>> {
    Command { tag, kind, offset_bytes, data_bytes: u32::try_from(buf.len()).unwrap(), buf }
}

/// Waits for `count` completions.
pub fn collect(file: &mut File<Vec<u8>>, count: usize) -> Vec<Completion<Vec<u8>>> {
    let mut done = Vec::new();
    while done.len() < count {
        file.poll(Some(Duration::from_secs(5)), &mut done).unwrap();
    }
    assert_eq!(done.len(), count);
    done
}
