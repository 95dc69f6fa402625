//! The keys that may stand after the `?` of an address.

/// Those of `iscsi://…`.
pub(crate) const ISCSI_KEYS: [&str; 14] = [
    "portal", "portals", "sessions", "policy", "rr_ios", "rr_bytes", "header_digest", "data_digest",
    "initial_r2t", "immediate_data", "initiator", "chap_file", "timeout",
    // What `timeout` was called before it held for every I/O; stored addresses have it.
    "no_path",
];

/// Those of `nfs://…`.
pub(crate) const NFS_KEYS: [&str; 7] = ["port", "mountport", "connections", "sync", "uid", "gid", "timeout"];
