//! An NFSv3 server with one export in memory, with MOUNT and a port mapper on the same port. It answers according to
//! the standard, or to a lie.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::nfs_wire::Arguments;
pub use super::nfs_wire::Message;
use super::{Act, Line, Listening, Over};

/// The only export.
pub const EXPORT: &str = "/export";
/// Largest READ and WRITE, bytes.
pub const IO_BYTES_MAX: u32 = 32_768;
/// The bit of a record mark that means "last fragment".
pub(crate) const LAST: u32 = 1 << 31;
/// Number of bytes before the results in a correct answer.
pub const HEAD_BYTES: usize = 24;

const ROOT: u64 = 1;
const NOENT: u32 = 2;
const EXIST: u32 = 17;
const INVAL: u32 = 22;
const STALE: u32 = 70;

/// Procedure of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of the standard")]
pub enum Procedure {
    Null,
    GetAttr,
    SetAttr,
    Lookup,
    Access,
    Read,
    Write,
    Create,
    Remove,
    FsStat,
    FsInfo,
    PathConf,
    Commit,
    Mount,
    Unmount,
    Exports,
    GetPort,
    Other,
}

impl Procedure {
    fn of(program: u32, number: u32) -> Self {
        match (program, number) {
            (_, 0) => Self::Null,
            (100_003, 1) => Self::GetAttr,
            (100_003, 2) => Self::SetAttr,
            (100_003, 3) => Self::Lookup,
            (100_003, 4) => Self::Access,
            (100_003, 6) => Self::Read,
            (100_003, 7) => Self::Write,
            (100_003, 8) => Self::Create,
            (100_003, 12) => Self::Remove,
            (100_003, 18) => Self::FsStat,
            (100_003, 19) => Self::FsInfo,
            (100_003, 20) => Self::PathConf,
            (100_003, 21) => Self::Commit,
            (100_005, 1) => Self::Mount,
            (100_005, 3) => Self::Unmount,
            (100_005, 5) => Self::Exports,
            (100_000, 3) => Self::GetPort,
            _ => Self::Other,
        }
    }
}

/// A call, with the facts about the conversation that a lie may need.
#[derive(Debug)]
pub struct Asked<'a> {
    /// Procedure.
    pub procedure: Procedure,
    /// Xid.
    pub xid: u32,
    /// Its arguments.
    pub arguments: &'a [u8],
    /// Number of the connection.
    pub connection: u32,
    /// Number of calls of this procedure so far, including this one.
    pub count: u32,
}

impl Asked<'_> {
    /// Returns the head of an answer to a call that was accepted and executed.
    pub fn accepted(&self) -> Message {
        Message::default().words(&[self.xid, 1, 0, 0, 0, 0])
    }
}

/// Returns a message as one record.
pub fn record(message: &[u8]) -> Vec<u8> {
    let mark = u32::try_from(message.len()).unwrap() | LAST;
    [&mark.to_be_bytes()[..], message].concat()
}

/// Function that turns the correct answer to a call into acts.
pub type Lie = dyn Fn(&Asked<'_>, Vec<u8>) -> Vec<Act> + Send + Sync;

#[derive(Debug, Clone)]
struct Stored {
    id: u64,
    data: Vec<u8>,
    /// Number of changes so far, used as its time.
    changes: u32,
}

#[derive(Debug, Default)]
struct Files {
    by_name: BTreeMap<String, Stored>,
    next: u64,
}

impl Files {
    fn by_id(&mut self, id: u64) -> Option<&mut Stored> {
        self.by_name.values_mut().find(|file| file.id == id)
    }
}

struct Shared {
    lie: Box<Lie>,
    files: Mutex<Files>,
    counts: Mutex<Vec<(Procedure, u32)>>,
}

/// A running server. Stops on drop.
pub struct LyingNfs {
    /// The port of NFS, MOUNT and the port mapper on loopback.
    pub port: u16,
    shared: Arc<Shared>,
    _listening: Listening,
}

impl std::fmt::Debug for LyingNfs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LyingNfs({})", self.port)
    }
}

impl LyingNfs {
    /// Starts a server.
    pub fn start(lie: impl Fn(&Asked<'_>, Vec<u8>) -> Vec<Act> + Send + Sync + 'static) -> Self {
        let files = Mutex::new(Files { next: ROOT + 1, ..Files::default() });
        let shared = Arc::new(Shared { lie: Box::new(lie), files, counts: Mutex::default() });
        let served = shared.clone();
        let listening = Listening::start(move |mut line, number| {
            let _ = serve(&mut line, number, &served);
        });
        Self { port: listening.address.port(), shared, _listening: listening }
    }

    /// Returns the content of a file; `None` if it does not exist.
    ///
    /// # Panics
    /// If a connection panicked.
    pub fn file(&self, name: &str) -> Option<Vec<u8>> {
        self.shared.files.lock().unwrap().by_name.get(name).map(|file| file.data.clone())
    }

    /// Puts a file onto the server.
    ///
    /// # Panics
    /// If a connection panicked.
    pub fn put(&self, name: &str, data: &[u8]) {
        let mut files = self.shared.files.lock().unwrap();
        let id = files.next;
        files.next += 1;
        files.by_name.insert(name.to_owned(), Stored { id, data: data.to_vec(), changes: 1 });
    }
}

fn serve(line: &mut Line, connection: u32, shared: &Shared) -> Result<(), Over> {
    loop {
        let mark = u32::from_be_bytes(line.read(4)?.try_into().unwrap());
        let call = line.read((mark & !LAST) as usize)?;
        let mut head = Arguments(&call);
        let (xid, _call, _rpc) = (head.word(), head.word(), head.word());
        let (program, _version, number) = (head.word(), head.word(), head.word());
        for _ in ["credentials", "verifier"] {
            head.word();
            head.opaque();
        }
        let procedure = Procedure::of(program, number);
        let count = counted(shared, procedure);
        let asked = Asked { procedure, xid, arguments: head.0, connection, count };
        let results = match procedure {
            Procedure::GetPort => Message::default().words(&[line.port().into()]),
            _ => answer(procedure, Arguments(head.0), &mut shared.files.lock().unwrap()),
        };
        let honest = asked.accepted().raw(&results.0).0;
        for act in (shared.lie)(&asked, honest) {
            line.act(act)?;
        }
    }
}

fn counted(shared: &Shared, procedure: Procedure) -> u32 {
    let mut counts = shared.counts.lock().unwrap();
    if let Some((_, count)) = counts.iter_mut().find(|(of, _)| *of == procedure) {
        *count += 1;
        return *count;
    }
    counts.push((procedure, 1));
    1
}

/// Returns the attributes of the export's root or of a file, 84 bytes.
fn attributes(id: u64, file: Option<&Stored>) -> Message {
    let (kind, mode, bytes, changes) = match file {
        Some(file) => (1, 0o644, file.data.len() as u64, file.changes),
        None => (2, 0o777, 4096, 1),
    };
    let message = Message::default().words(&[kind, mode, 1, 0, 0]).long(bytes).long(bytes);
    message.words(&[0, 0]).long(7).long(id).words(&[1000, 0, 1000 + changes, 0, 1000 + changes, 0])
}

fn post(id: u64, file: Option<&Stored>) -> Message {
    Message::default().words(&[1]).raw(&attributes(id, file).0)
}

fn failed(status: u32, empty: &[u32]) -> Message {
    Message::default().words(&[status]).words(empty)
}

fn handle(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_be_bytes)
}

/// Returns the results of a call according to the standard.
fn answer(procedure: Procedure, mut asked: Arguments<'_>, files: &mut Files) -> Message {
    let good = || Message::default().words(&[0]);
    match procedure {
        Procedure::Null | Procedure::Unmount => Message::default(),
        Procedure::Mount => match asked.opaque() == EXPORT.as_bytes() {
            true => good().opaque(&ROOT.to_be_bytes()).words(&[1, 1]),
            false => failed(NOENT, &[]),
        },
        Procedure::Exports => Message::default().words(&[1]).opaque(EXPORT.as_bytes()).words(&[0, 0]),
        Procedure::FsStat => {
            let space = good().raw(&post(ROOT, None).0);
            space
                .long(1 << 40)
                .long(1 << 39)
                .long(1 << 39)
                .long(1 << 20)
                .long(1 << 20)
                .long(1 << 20)
                .words(&[0])
        }
        Procedure::FsInfo => {
            let info = good().raw(&post(ROOT, None).0);
            let info = info.words(&[IO_BYTES_MAX, IO_BYTES_MAX, 512, IO_BYTES_MAX, IO_BYTES_MAX, 512, 4096]);
            info.long(1 << 50).words(&[0, 1, 0x1b])
        }
        Procedure::PathConf => good().raw(&post(ROOT, None).0).words(&[1024, 255, 1, 1, 0, 1]),
        Procedure::Lookup | Procedure::Create | Procedure::Remove => names(procedure, asked, files),
        Procedure::GetPort | Procedure::Other => Message::default(),
        _ => {
            let id = handle(asked.opaque());
            of_file(procedure, id, asked, files)
        }
    }
}

/// Handles LOOKUP, CREATE, REMOVE: a directory and a name.
fn names(procedure: Procedure, mut asked: Arguments<'_>, files: &mut Files) -> Message {
    let good = || Message::default().words(&[0]);
    if handle(asked.opaque()) != ROOT {
        return failed(STALE, &[0, 0]);
    }
    let name = String::from_utf8_lossy(asked.opaque()).into_owned();
    let found = files.by_name.get(&name).cloned();
    match (procedure, found) {
        (Procedure::Lookup, Some(file)) => {
            good().opaque(&file.id.to_be_bytes()).raw(&post(file.id, Some(&file)).0).words(&[0])
        }
        (Procedure::Create, Some(_)) => failed(EXIST, &[0, 0]),
        (Procedure::Create, None) => {
            let file = Stored { id: files.next, data: Vec::new(), changes: 1 };
            files.next += 1;
            files.by_name.insert(name, file.clone());
            good()
                .words(&[1])
                .opaque(&file.id.to_be_bytes())
                .raw(&post(file.id, Some(&file)).0)
                .words(&[0, 0])
        }
        (Procedure::Remove, Some(_)) => {
            files.by_name.remove(&name);
            good().words(&[0, 0])
        }
        (Procedure::Lookup, None) => failed(NOENT, &[0]),
        _ => failed(NOENT, &[0, 0]),
    }
}

/// Handles procedures whose first argument is a file, or the root if that is meaningful.
fn of_file(procedure: Procedure, id: u64, mut asked: Arguments<'_>, files: &mut Files) -> Message {
    let good = || Message::default().words(&[0]);
    let verifier = [0x5eed, 1];
    if id == ROOT {
        return match procedure {
            Procedure::GetAttr => good().raw(&attributes(ROOT, None).0),
            Procedure::Access => good().raw(&post(ROOT, None).0).words(&[asked.word()]),
            Procedure::Commit => good().words(&[0, 0]).words(&verifier),
            _ => failed(INVAL, &[0, 0]),
        };
    }
    let Some(file) = files.by_id(id) else { return failed(STALE, &[0, 0]) };
    match procedure {
        Procedure::GetAttr => good().raw(&attributes(id, Some(file)).0),
        Procedure::Access => good().raw(&post(id, Some(file)).0).words(&[asked.word()]),
        Procedure::SetAttr => {
            for _ in ["mode", "uid", "gid"] {
                if asked.word() == 1 {
                    asked.word();
                }
            }
            if asked.word() == 1 {
                let bytes = usize::try_from(asked.long()).unwrap_or(0).min(64 << 20);
                file.data.resize(bytes, 0);
                file.changes += 1;
            }
            good().words(&[0]).raw(&post(id, Some(file)).0)
        }
        Procedure::Read => {
            let from = usize::try_from(asked.long()).unwrap_or(usize::MAX).min(file.data.len());
            let to = from.saturating_add(asked.word() as usize).min(file.data.len());
            let data = &file.data[from..to];
            let count = u32::try_from(data.len()).unwrap();
            let is_end = u32::from(to == file.data.len());
            good().raw(&post(id, Some(file)).0).words(&[count, is_end]).opaque(data)
        }
        Procedure::Write => {
            let at = usize::try_from(asked.long()).unwrap_or(usize::MAX).min(64 << 20);
            let (count, stable) = (asked.word(), asked.word());
            let data = asked.opaque();
            if file.data.len() < at + data.len() {
                file.data.resize(at + data.len(), 0);
            }
            file.data[at..at + data.len()].copy_from_slice(data);
            file.changes += 1;
            good().words(&[0]).raw(&post(id, Some(file)).0).words(&[count, stable]).words(&verifier)
        }
        _ => good().words(&[0]).raw(&post(id, Some(file)).0).words(&verifier),
    }
}
