//! The lies of the NFS server, one per row.

use std::time::Duration;

use super::nfs::{Asked, HEAD_BYTES, LAST, Message, Procedure, record};
use super::{Act, Kept};
use Kept::{Either, Fails, Right, RightAndSaid};
use Procedure::{
    Access, Commit, Create, Exports, FsInfo, FsStat, GetAttr, GetPort, Lookup, Mount, Null, Read, SetAttr,
    Write,
};

/// One lie.
#[derive(Debug)]
pub struct Lie {
    /// Description of the lie for messages.
    pub name: &'static str,
    /// Calls to which it applies, all calls for `Other`; the rest is answered correctly.
    pub of: Procedure,
    /// What must hold for the client.
    pub kept: Kept,
    tell: fn(&Asked<'_>, Vec<u8>) -> Vec<Act>,
}

impl Lie {
    /// Returns the acts for a call: the lie if it applies.
    pub fn tell(&self, asked: &Asked<'_>, honest: Vec<u8>) -> Vec<Act> {
        let is_meant = self.of == Procedure::Other || self.of == asked.procedure;
        if is_meant { (self.tell)(asked, honest) } else { good(&honest) }
    }
}

const fn lie(
    name: &'static str,
    of: Procedure,
    kept: Kept,
    tell: fn(&Asked<'_>, Vec<u8>) -> Vec<Act>,
) -> Lie {
    Lie { name, of, kept, tell }
}

const SECOND: Duration = Duration::from_secs(1);
const JUKEBOX: u32 = 10_008;
/// Position of the length of a READ's data in a correct answer: after status, attributes, count and end.
const READ_COUNT_AT: usize = HEAD_BYTES + 4 + 4 + 84;

fn good(honest: &[u8]) -> Vec<Act> {
    vec![Act::Bytes(record(honest))]
}

/// Returns the correct answer with a word changed.
fn word(mut honest: Vec<u8>, at: usize, word: u32) -> Vec<Act> {
    honest[at..at + 4].copy_from_slice(&word.to_be_bytes());
    good(&honest)
}

/// Returns other results instead of the correct ones.
fn results(asked: &Asked<'_>, words: &[u32]) -> Vec<Act> {
    good(&asked.accepted().words(words).0)
}

/// Returns an error status with empty attributes.
fn refused(asked: &Asked<'_>, status: u32) -> Vec<Act> {
    let empty: &[u32] = match asked.procedure {
        GetAttr | Mount => &[],
        Read | Lookup | Access | FsInfo | FsStat | Procedure::PathConf => &[0],
        _ => &[0, 0],
    };
    good(&asked.accepted().words(&[status]).words(empty).0)
}

/// Returns a reply that was refused by RPC itself.
fn denied(asked: &Asked<'_>, words: &[u32]) -> Vec<Act> {
    good(&Message::default().words(&[asked.xid, 1]).words(words).0)
}

/// Returns a record in fragments of that many bytes.
fn pieces(honest: &[u8], bytes: usize) -> Vec<u8> {
    let count = honest.len().div_ceil(bytes);
    let piece = |(index, piece): (usize, &[u8])| {
        let last = if index + 1 == count { LAST } else { 0 };
        let mark = u32::try_from(piece.len()).unwrap() | last;
        [&mark.to_be_bytes()[..], piece].concat()
    };
    honest.chunks(bytes).enumerate().flat_map(piece).collect()
}

/// Returns the results of a READ with this data, and a separate count.
fn read_results(asked: &Asked<'_>, count: u32, is_end: u32, data: &[u8]) -> Vec<Act> {
    good(&asked.accepted().words(&[0, 0, count, is_end]).opaque(data).0)
}

/// Returns the data of a correct READ.
fn data_of(honest: &[u8]) -> Option<&[u8]> {
    let length = honest.get(READ_COUNT_AT + 8..READ_COUNT_AT + 12)?;
    let length = u32::from_be_bytes(length.try_into().unwrap()) as usize;
    honest.get(READ_COUNT_AT + 12..READ_COUNT_AT + 12 + length)
}

/// Returns the results of a WRITE or COMMIT with the verifier of another server.
fn other_verifier(mut honest: Vec<u8>, with: u32) -> Vec<Act> {
    let at = honest.len() - 8;
    honest[at..at + 4].copy_from_slice(&with.to_be_bytes());
    good(&honest)
}

/// Every lie.
pub const LIES: &[&[Lie]] = &[RPC, MAPPER, MOUNT, FILES, READ, WRITE];

const RPC: &[Lie] = &[
    lie("says nothing at all", Procedure::Other, Fails(&["in time"]), |_, _| vec![Act::Mute]),
    lie("hangs up at every call", Procedure::Other, Fails(&["closed"]), |_, _| vec![Act::HangUp]),
    lie("answers at a byte a second", Procedure::Other, Fails(&["in time"]), |_, honest| {
        vec![Act::Drip(record(&honest), SECOND)]
    }),
    lie("hangs up in the middle of an answer", Procedure::Other, Fails(&["closed"]), |_, honest| {
        vec![Act::Bytes(record(&honest)[..20].to_vec()), Act::HangUp]
    }),
    lie(
        "answers other calls only",
        Procedure::Other,
        Fails(&["was not sent", "in time"]),
        |asked, honest| {
            let mut acts = Vec::new();
            for n in 0..200 {
                let mut other = honest.clone();
                other[..4].copy_from_slice(&(asked.xid ^ 0x4000_0000 ^ n << 8).to_be_bytes());
                acts.push(Act::Bytes(record(&other)));
            }
            acts
        },
    ),
    lie(
        "answers other calls for ever",
        Procedure::Other,
        Fails(&["was not sent", "in time"]),
        |asked, mut honest| {
            honest[..4].copy_from_slice(&(asked.xid ^ 0x4000_0000).to_be_bytes());
            vec![Act::Endless(record(&honest).repeat(16))]
        },
    ),
    lie(
        "sends empty fragments for ever",
        Procedure::Other,
        Fails(&["too many fragments", "in time"]),
        |_, _| vec![Act::Endless(vec![0; 4096])],
    ),
    lie("sends empty fragments before every answer", Procedure::Other, Right, |_, honest| {
        vec![Act::Bytes([vec![0; 40], record(&honest)].concat())]
    }),
    lie("sends answers byte by byte in fragments", Procedure::Other, Right, |_, honest| {
        vec![Act::Bytes(pieces(&honest, if honest.len() > 2000 { 1000 } else { 1 }))]
    }),
    lie("announces 2 GiB", Procedure::Other, Fails(&["implausibly large"]), |_, _| {
        vec![Act::Bytes(vec![0xff; 64])]
    }),
    lie(
        "announces 3 MiB and sends nothing",
        Procedure::Other,
        Fails(&["in time", "implausibly large"]),
        |_, _| vec![Act::Bytes((3 << 20 | LAST).to_be_bytes().to_vec())],
    ),
    lie(
        "sends noise",
        Procedure::Other,
        Fails(&["is malformed", "implausibly large", "in time", "was not sent"]),
        |_, _| vec![Act::Bytes((0..255_u8).map(|n| n.wrapping_mul(73) ^ 0x5a).collect())],
    ),
    lie("sends empty records", Procedure::Other, Fails(&["ends in the middle"]), |_, _| {
        vec![Act::Bytes(LAST.to_be_bytes().to_vec())]
    }),
    lie("sends calls instead of replies", Procedure::Other, Fails(&["is malformed"]), |_, honest| {
        word(honest, 4, 0)
    }),
    lie("sends everything twice", Procedure::Other, Right, |_, honest| {
        vec![Act::Bytes(record(&honest).repeat(2))]
    }),
    lie("speaks another RPC", Procedure::Other, Fails(&["RPC versions 9 to 9"]), |asked, _| {
        denied(asked, &[1, 0, 9, 9])
    }),
    lie("refuses every credential", Procedure::Other, Fails(&["credentials"]), |asked, _| {
        denied(asked, &[1, 1, 5])
    }),
    lie("refuses credentials for no known reason", Procedure::Other, Fails(&["credentials"]), |asked, _| {
        denied(asked, &[1, 1, 77])
    }),
    lie("denies for no known reason", Procedure::Other, Fails(&["is malformed"]), |asked, _| {
        denied(asked, &[1, 9])
    }),
    lie("replies in no known way", Procedure::Other, Fails(&["is malformed"]), |asked, _| {
        denied(asked, &[7])
    }),
    lie("serves no such program", Procedure::Other, Fails(&["program is not available"]), |asked, _| {
        denied(asked, &[0, 0, 0, 1])
    }),
    lie("serves other versions", Procedure::Other, Fails(&["version"]), |asked, _| {
        denied(asked, &[0, 0, 0, 2, 4, 4])
    }),
    lie("knows no procedure", Procedure::Other, Fails(&[""]), |asked, _| denied(asked, &[0, 0, 0, 3])),
    lie("calls every call garbage", Procedure::Other, Fails(&[""]), |asked, _| denied(asked, &[0, 0, 0, 4])),
    lie("has an error of its system for ever", Procedure::Other, Fails(&[""]), |asked, _| {
        denied(asked, &[0, 0, 0, 5])
    }),
    lie("sends a verifier of 4 GiB", Procedure::Other, Fails(&["exceeds the limit"]), |asked, _| {
        denied(asked, &[0, 0, 0xffff_fff0, 0])
    }),
    lie("sends a verifier of 400 bytes", Procedure::Other, Right, |asked, honest| {
        let head = Message::default().words(&[asked.xid, 1, 0, 6]).opaque(&[9; 400]).words(&[0]);
        good(&head.raw(&honest[HEAD_BYTES..]).0)
    }),
    lie("answers no ping", Null, Either, |_, _| Vec::new()),
    lie("is honest", Null, Right, |_, honest| good(&honest)),
];

/// Messages of the client if it found no server: the port mapper was silent, or the known port is not served.
const NOT_FOUND: Kept =
    Fails(&["the port mapper of 127.0.0.1 does not respond", "cannot connect to NFS", "refused to mount"]);

const MAPPER: &[Lie] = &[
    lie("maps nothing", GetPort, Fails(&["serves no NFS version 3"]), |asked, _| results(asked, &[0])),
    lie("maps NFS without MOUNT", GetPort, Fails(&["serves no MOUNT version 3"]), |asked, honest| {
        if asked.count == 1 { good(&honest) } else { results(asked, &[0]) }
    }),
    lie("maps a port above 65535", GetPort, Fails(&["is malformed"]), |asked, _| results(asked, &[70_000])),
    lie("maps no port at all", GetPort, Fails(&["is malformed"]), |asked, _| results(asked, &[])),
    lie("maps two ports at once", GetPort, Fails(&["is malformed"]), |asked, _| {
        results(asked, &[2049, 2049])
    }),
    lie("maps MOUNT to nonsense", GetPort, Fails(&["is malformed"]), |asked, honest| {
        if asked.count == 1 { good(&honest) } else { results(asked, &[u32::MAX]) }
    }),
    lie("maps a port where nobody listens", GetPort, Fails(&["cannot connect to NFS"]), |asked, _| {
        results(asked, &[1])
    }),
    lie("maps nobody without credentials", GetPort, NOT_FOUND, |asked, _| denied(asked, &[1, 1, 5])),
    lie("never maps", GetPort, NOT_FOUND, |_, _| vec![Act::Mute]),
    lie("maps at a byte a second", GetPort, NOT_FOUND, |_, honest| vec![Act::Drip(record(&honest), SECOND)]),
    lie("hangs up instead of mapping", GetPort, NOT_FOUND, |_, _| vec![Act::HangUp]),
    lie("maps everything twice", GetPort, Right, |_, honest| vec![Act::Bytes(record(&honest).repeat(2))]),
];

const MOUNT: &[Lie] = &[
    lie("refuses the mount", Mount, Fails(&["MNT3ERR_ACCES"]), |asked, _| refused(asked, 13)),
    lie("refuses the mount for no known reason", Mount, Fails(&["does not define"]), |asked, _| {
        refused(asked, 4242)
    }),
    lie("mounts without a handle", Mount, Fails(&["file handle"]), |asked, _| results(asked, &[0, 0, 0])),
    lie("mounts with a handle of 65 bytes", Mount, Fails(&["65 bytes"]), |asked, _| {
        good(&asked.accepted().words(&[0]).opaque(&[1; 65]).words(&[0]).0)
    }),
    lie("mounts with 2^32 flavours", Mount, Fails(&["flavours"]), |asked, _| {
        good(&asked.accepted().words(&[0]).opaque(&[1; 8]).words(&[u32::MAX, 1]).0)
    }),
    lie("mounts with Kerberos only", Mount, Either, |asked, _| {
        good(&asked.accepted().words(&[0]).opaque(&1_u64.to_be_bytes()).words(&[1, 390_003]).0)
    }),
    lie("mounts a handle of its own invention", Mount, Fails(&["STALE"]), |asked, _| {
        good(&asked.accepted().words(&[0]).opaque(&[9; 8]).words(&[1, 1]).0)
    }),
    lie("exports for ever", Exports, Fails(&["exports", "implausibly large"]), |asked, _| {
        let mut list = asked.accepted();
        for _ in 0..100_000 {
            list = list.words(&[1]).opaque(b"/e").words(&[0]);
        }
        good(&list.0)
    }),
    lie(
        "exports to a million groups",
        Exports,
        Fails(&["groups", "implausibly large", "in time"]),
        |asked, _| {
            let mut list = asked.accepted().words(&[1]).opaque(b"/e");
            for _ in 0..100_000 {
                list = list.words(&[1]).opaque(b"g");
            }
            good(&list.0)
        },
    ),
    lie("exports a path of 2 KiB", Exports, Fails(&["path of an export"]), |asked, _| {
        good(&asked.accepted().words(&[1]).opaque(&[b'/'; 2048]).words(&[0, 0]).0)
    }),
    lie("exports names that are none", Exports, Right, |asked, _| {
        good(&asked.accepted().words(&[1]).opaque(&[0xff, 0x1b, b'[', 0]).words(&[0, 0]).0)
    }),
    lie("cuts the list of exports off", Exports, Fails(&["ends in the middle"]), |_, honest| {
        good(&honest[..honest.len() - 4])
    }),
];

const FILES: &[Lie] = &[
    lie("says later to every look-up", Lookup, Fails(&["JUKEBOX", "later", "in time"]), |asked, _| {
        refused(asked, JUKEBOX)
    }),
    lie("has a status that nobody knows", Lookup, Fails(&["4242"]), |asked, _| refused(asked, 4242)),
    lie("finds files without a handle", Lookup, Fails(&["file handle"]), |asked, _| {
        results(asked, &[0, 0, 0, 0])
    }),
    lie("finds what it then does not know", GetAttr, Fails(&["STALE"]), |asked, _| refused(asked, 70)),
    lie("has a file of no known type", GetAttr, Fails(&["type of a file"]), |_, honest| {
        word(honest, HEAD_BYTES + 4, 99)
    }),
    lie("has a file of 2^64 bytes", GetAttr, Either, |_, mut honest| {
        honest[HEAD_BYTES + 24..HEAD_BYTES + 32].fill(0xff);
        good(&honest)
    }),
    lie("cuts attributes off", GetAttr, Fails(&["ends in the middle"]), |_, honest| {
        good(&honest[..honest.len() - 8])
    }),
    lie("adds bytes to attributes", GetAttr, Fails(&["unexpected bytes"]), |_, honest| {
        good(&[honest, vec![0; 8]].concat())
    }),
    lie("creates without a handle", Create, Right, |asked, _| results(asked, &[0, 0, 0, 0, 0])),
    lie("creates what exists", Create, Fails(&["EXIST"]), |asked, _| refused(asked, 17)),
    lie("is read-only", Create, Fails(&["ROFS"]), |asked, _| refused(asked, 30)),
    lie("has no space", SetAttr, Fails(&["NOSPC"]), |asked, _| refused(asked, 28)),
    lie("allows nothing", Access, Either, |_, honest| {
        let at = honest.len() - 4;
        word(honest, at, 0)
    }),
    lie("takes READs of no bytes", FsInfo, Either, |_, honest| word(honest, HEAD_BYTES + 4 + 88, 0)),
    lie("takes WRITEs of 4 GiB", FsInfo, Either, |_, honest| {
        word(honest, HEAD_BYTES + 4 + 88 + 12, u32::MAX)
    }),
    lie("has less than no space", FsStat, Either, |_, mut honest| {
        honest[HEAD_BYTES + 92..HEAD_BYTES + 116].fill(0xff);
        good(&honest)
    }),
];

const READ: &[Lie] = &[
    // Of the longest read that there may be, the record is too long already.
    lie(
        "reads more than was asked for",
        Read,
        Fails(&["were requested", "implausibly large"]),
        |asked, honest| {
            let data = data_of(&honest).unwrap_or_default();
            let more = [data, &[7; 4096]].concat();
            read_results(asked, u32::try_from(more.len()).unwrap(), 0, &more)
        },
    ),
    lie(
        "reads nothing, and not the end",
        Read,
        Fails(&["READ", "no data", "nothing", "failed"]),
        |asked, _| read_results(asked, 0, 0, &[]),
    ),
    lie("reads one byte at a time", Read, Either, |asked, honest| {
        read_results(asked, 1, 0, &data_of(&honest).unwrap_or(&[0])[..1])
    }),
    lie("ends the file before its end", Read, Fails(&["short"]), |asked, honest| {
        let data = data_of(&honest).unwrap_or_default();
        let half = &data[..data.len() / 2];
        read_results(asked, u32::try_from(half.len()).unwrap(), 1, half)
    }),
    lie("counts other bytes than it sends", Read, Fails(&["announced", "length"]), |_, honest| {
        word(honest, READ_COUNT_AT, 17)
    }),
    lie(
        "announces more data than the record has",
        Read,
        Fails(&["length", "in time", "announced"]),
        |asked, _| good(&asked.accepted().words(&[0, 0, 8192, 0, 8192]).raw(&[7; 100]).0),
    ),
    lie("sends less than the record announces", Read, Fails(&["not answered", "no answer"]), |_, honest| {
        let whole = record(&honest);
        vec![Act::Bytes(whole[..whole.len() - 4].to_vec()), Act::Mute]
    }),
    lie(
        "goes mute in the middle of data",
        Read,
        Fails(&["no answer", "timed out", "attempts"]),
        |_, honest| vec![Act::Bytes(record(&honest)[..2000].to_vec()), Act::Mute],
    ),
    lie(
        "hangs up in the middle of data",
        Read,
        Fails(&["no answer", "timed out", "attempts"]),
        |_, honest| vec![Act::Bytes(record(&honest)[..2000].to_vec()), Act::HangUp],
    ),
    lie(
        "sends data at a byte a second",
        Read,
        Fails(&["no answer", "timed out", "attempts"]),
        |_, honest| vec![Act::Drip(record(&honest), SECOND)],
    ),
    lie("never answers a READ, but pings", Read, Fails(&["no answer", "timed out", "attempts"]), |_, _| {
        Vec::new()
    }),
    lie("says later to every READ", Read, Fails(&["JUKEBOX"]), |asked, _| refused(asked, JUKEBOX)),
    lie("says later once to every READ", Read, RightAndSaid(&["Jukebox"]), |asked, honest| {
        if asked.count.is_multiple_of(2) { good(&honest) } else { refused(asked, JUKEBOX) }
    }),
    lie("has lost the file", Read, Fails(&["STALE"]), |asked, _| refused(asked, 70)),
    lie("has a broken disk", Read, Fails(&["NFS3ERR_IO"]), |asked, _| refused(asked, 5)),
    lie(
        "answers a READ with the status alone",
        Read,
        Fails(&["ends in the middle", "timed out", "attempts"]),
        |asked, _| results(asked, &[0]),
    ),
    lie(
        "answers every READ with the answer to another",
        Read,
        Fails(&["timed out", "attempts", "no answer"]),
        |asked, mut honest| {
            honest[..4].copy_from_slice(&(asked.xid.wrapping_add(1)).to_be_bytes());
            good(&honest)
        },
    ),
    lie("sends odd attributes with data", Read, Right, |asked, honest| {
        let data = data_of(&honest).unwrap_or_default();
        let is_end = u32::from_be_bytes(honest[READ_COUNT_AT + 4..READ_COUNT_AT + 8].try_into().unwrap());
        let head = asked.accepted().words(&[0, 1]).raw(&[0xff; 84]);
        good(&head.words(&[u32::try_from(data.len()).unwrap(), is_end]).opaque(data).0)
    }),
];

const WRITE: &[Lie] = &[
    lie("writes nothing", Write, Fails(&["WRITE", "no bytes", "nothing", "broke"]), |_, honest| {
        let at = honest.len() - 16;
        word(honest, at, 0)
    }),
    lie("writes more than it got", Write, Fails(&["more", "timed out", "attempts", "count"]), |_, honest| {
        let at = honest.len() - 16;
        word(honest, at, 1 << 20)
    }),
    lie("keeps writes in no known way", Write, Fails(&["way to keep a write"]), |_, honest| {
        let at = honest.len() - 12;
        word(honest, at, 7)
    }),
    lie("forgets every write", Write, Either, |asked, honest| other_verifier(honest, asked.count)),
    lie("has another verifier at the COMMIT", Commit, RightAndSaid(&["Restarted"]), |_, honest| {
        other_verifier(honest, 0xdead)
    }),
    lie("has no space for a WRITE", Write, Fails(&["NOSPC"]), |asked, _| refused(asked, 28)),
    lie("has no quota for a WRITE", Write, Fails(&["DQUOT"]), |asked, _| refused(asked, 69)),
    lie("becomes read-only", Write, Fails(&["ROFS"]), |asked, _| refused(asked, 30)),
    lie("says later to every WRITE", Write, Fails(&["JUKEBOX"]), |asked, _| refused(asked, JUKEBOX)),
    lie("never answers a WRITE", Write, Fails(&["no answer", "timed out", "attempts"]), |_, _| Vec::new()),
    lie("hangs up at every WRITE", Write, Fails(&["no answer", "timed out", "attempts"]), |_, _| {
        vec![Act::HangUp]
    }),
    lie("answers every WRITE twice", Write, Right, |_, honest| vec![Act::Bytes(record(&honest).repeat(2))]),
    lie("never answers a COMMIT", Commit, Fails(&["answer"]), |_, _| Vec::new()),
    lie("says later to every COMMIT", Commit, Fails(&["JUKEBOX", "Jukebox"]), |asked, _| {
        refused(asked, JUKEBOX)
    }),
    lie("fails every COMMIT", Commit, Fails(&["NFS3ERR_IO"]), |asked, _| refused(asked, 5)),
    lie("cuts a COMMIT off", Commit, Fails(&["ends in the middle", "timed out", "attempts"]), |_, honest| {
        good(&honest[..honest.len() - 4])
    }),
];
