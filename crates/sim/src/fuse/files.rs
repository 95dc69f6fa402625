//! The files of the file system: one flat directory, whose files are ordinary files in another directory.
//!
//! Data is moved at once; only the answers to reads and writes wait for the clock. Everything else, a flush too, is
//! answered at once, as by an array whose cache keeps its content without power.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use assay_model::des::VirtualOp;
use assay_model::raid::Kind;
use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty,
    ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};

use super::clock::{Answer, Clock};

/// How long the kernel may rely on names and sizes; nothing else changes them.
const TTL: Duration = Duration::from_secs(1);
/// Number of the first file; 1 is the directory.
const FIRST: u64 = 2;
/// Files at most: a mistake must not fill the table.
const FILES_MAX: usize = 1024;
/// Requests that the kernel may have in flight on behalf of asynchronous I/O. Its default of 12 would be the queue
/// depth of the array.
const BACKGROUND_MAX: u16 = 1024;
/// The kernel reads without caching, and several writes to one file run at once.
const OPENED: FopenFlags = FopenFlags::FOPEN_DIRECT_IO.union(FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES);

/// The file system.
pub(super) struct Files {
    folder: PathBuf,
    capacity_bytes: u64,
    clock: Arc<Clock>,

    table: Mutex<Table>,
}

/// Files by number; a number is never used again.
struct Table {
    files: BTreeMap<u64, Entry>,
    next: u64,
}

struct Entry {
    /// None once it was removed; it is there as long as the kernel knows it.
    name: Option<OsString>,
    file: Arc<File>,
    mode: u16,
}

impl Table {
    fn add(&mut self, name: OsString, file: File, mode: u16) -> u64 {
        let number = self.next;
        self.next += 1;
        self.files.insert(number, Entry { name: Some(name), file: Arc::new(file), mode });
        number
    }

    fn named(&self, name: &OsStr) -> Option<u64> {
        let is_named = |entry: &Entry| entry.name.as_deref() == Some(name);
        self.files.iter().find(|(_, entry)| is_named(entry)).map(|(number, _)| *number)
    }
}

impl Files {
    /// Serves what is in a directory.
    pub(super) fn open(folder: &Path, capacity_bytes: u64, clock: Arc<Clock>) -> io::Result<Self> {
        let mut table = Table { files: BTreeMap::new(), next: FIRST };
        for found in std::fs::read_dir(folder)? {
            let found = found?;
            if found.file_type()?.is_file() {
                let file = File::options().read(true).write(true).open(found.path())?;
                table.add(found.file_name(), file, 0o666);
            }
        }
        Ok(Self { folder: folder.to_owned(), capacity_bytes, clock, table: Mutex::new(table) })
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn file(&self, number: INodeNo) -> Result<Arc<File>, Errno> {
        self.lock().files.get(&number.0).map(|entry| Arc::clone(&entry.file)).ok_or(Errno::ENOENT)
    }

    fn attributes(&self, number: INodeNo) -> Result<FileAttr, Errno> {
        if number == INodeNo::ROOT {
            let metadata = std::fs::metadata(&self.folder)?;
            return Ok(attributes(number, FileType::Directory, 0o777, &metadata));
        }
        let table = self.lock();
        let entry = table.files.get(&number.0).ok_or(Errno::ENOENT)?;
        let metadata = entry.file.metadata()?;
        Ok(attributes(number, FileType::RegularFile, entry.mode, &metadata))
    }

    fn look_up(&self, parent: INodeNo, name: &OsStr) -> Result<FileAttr, Errno> {
        // A server of NFS asks for the file itself, by its number.
        if name == "." {
            return self.attributes(parent);
        }
        if parent != INodeNo::ROOT {
            return Err(Errno::ENOTDIR);
        }
        if name == ".." {
            return self.attributes(INodeNo::ROOT);
        }
        let number = self.lock().named(name).ok_or(Errno::ENOENT)?;
        self.attributes(INodeNo(number))
    }

    fn make(&self, parent: INodeNo, name: &OsStr, mode: u32) -> Result<FileAttr, Errno> {
        let mut table = self.lock();
        if parent != INodeNo::ROOT || table.named(name).is_some() {
            return Err(if parent == INodeNo::ROOT { Errno::EEXIST } else { Errno::ENOTDIR });
        }
        if table.files.len() >= FILES_MAX {
            return Err(Errno::ENOSPC);
        }
        let path = self.folder.join(name);
        let file = File::options().read(true).write(true).create(true).truncate(true).open(path)?;
        let mode = u16::try_from(mode & 0o777).unwrap_or(0o666);
        let number = table.add(name.to_owned(), file, mode);
        drop(table);
        self.attributes(INodeNo(number))
    }

    fn remove(&self, name: &OsStr) -> Result<(), Errno> {
        let mut table = self.lock();
        let number = table.named(name).ok_or(Errno::ENOENT)?;
        std::fs::remove_file(self.folder.join(name))?;
        if let Some(entry) = table.files.get_mut(&number) {
            entry.name = None;
        }
        Ok(())
    }

    fn resize(&self, number: INodeNo, size: u64) -> Result<(), Errno> {
        let file = self.file(number)?;
        self.check_end(number, size)?;
        Ok(file.set_len(size)?)
    }

    /// All files together may have the capacity of the array.
    fn check_end(&self, number: INodeNo, end: u64) -> Result<(), Errno> {
        let table = self.lock();
        let size = |entry: &Entry| entry.file.metadata().map_or(0, |metadata| metadata.len());
        let others = table.files.iter().filter(|(other, entry)| **other != number.0 && entry.name.is_some());
        let others: u64 = others.map(|(_, entry)| size(entry)).sum();
        if others.saturating_add(end) > self.capacity_bytes { Err(Errno::ENOSPC) } else { Ok(()) }
    }

    fn read_at(&self, number: INodeNo, offset: u64, size: u32) -> Result<Vec<u8>, Errno> {
        let file = self.file(number)?;
        let mut data = vec![0; size as usize];
        let mut filled = 0;
        while filled < data.len() {
            match file.read_at(&mut data[filled..], offset + filled as u64)? {
                0 => break,
                count => filled += count,
            }
        }
        data.truncate(filled);
        Ok(data)
    }

    fn write_at(&self, number: INodeNo, offset: u64, data: &[u8]) -> Result<u32, Errno> {
        let file = self.file(number)?;
        let end = offset.saturating_add(data.len() as u64);
        if end > file.metadata()?.len() {
            self.check_end(number, end)?;
        }
        file.write_all_at(data, offset)?;
        u32::try_from(data.len()).map_err(|_| Errno::EINVAL)
    }

    fn begin(&self, number: INodeNo, kind: Kind, offset_bytes: u64, size_bytes: u64, answer: Answer) {
        let member = u32::try_from(number.0).unwrap_or(u32::MAX);
        self.clock.begin(VirtualOp { member, kind, offset_bytes, size_bytes, flush_every: None }, answer);
    }
}

fn attributes(ino: INodeNo, kind: FileType, perm: u16, metadata: &Metadata) -> FileAttr {
    let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    FileAttr {
        ino,
        size: metadata.len(),
        blocks: metadata.blocks(),
        atime: modified,
        mtime: modified,
        ctime: modified,
        crtime: modified,
        kind,
        perm,
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}

impl Filesystem for Files {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // Each is worth having alone; a kernel without one serves more slowly or not over NFS.
        for wanted in [
            InitFlags::FUSE_ASYNC_DIO,
            InitFlags::FUSE_EXPORT_SUPPORT,
            InitFlags::FUSE_PARALLEL_DIROPS,
            InitFlags::FUSE_ATOMIC_O_TRUNC,
        ] {
            let _ = config.add_capabilities(wanted);
        }
        let _ = config.set_max_background(BACKGROUND_MAX);
        Ok(())
    }

    fn lookup(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.look_up(parent, name) {
            Ok(attributes) => reply.entry(&TTL, &attributes, Generation(0)),
            Err(errno) => reply.error(errno),
        }
    }

    fn forget(&self, _request: &Request, number: INodeNo, _count: u64) {
        let mut table = self.lock();
        if table.files.get(&number.0).is_some_and(|entry| entry.name.is_none()) {
            table.files.remove(&number.0);
        }
    }

    fn getattr(&self, _request: &Request, number: INodeNo, _file: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(number) {
            Ok(attributes) => reply.attr(&TTL, &attributes),
            Err(errno) => reply.error(errno),
        }
    }

    fn setattr(
        &self,
        _request: &Request,
        number: INodeNo,
        mode: Option<u32>,
        _uid: Option<u32>,
        _gid: Option<u32>,
        size: Option<u64>,
        _read: Option<TimeOrNow>,
        _written: Option<TimeOrNow>,
        _changed: Option<SystemTime>,
        _file: Option<FileHandle>,
        _created: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        if let (Some(mode), Some(entry)) = (mode, self.lock().files.get_mut(&number.0)) {
            entry.mode = u16::try_from(mode & 0o777).unwrap_or(entry.mode);
        }
        let resized = size.map_or(Ok(()), |size| self.resize(number, size));
        match resized.and_then(|()| self.attributes(number)) {
            Ok(attributes) => reply.attr(&TTL, &attributes),
            Err(errno) => reply.error(errno),
        }
    }

    fn mknod(
        &self,
        _request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        _device: u32,
        reply: ReplyEntry,
    ) {
        match self.make(parent, name, mode) {
            Ok(attributes) => reply.entry(&TTL, &attributes, Generation(0)),
            Err(errno) => reply.error(errno),
        }
    }

    fn create(
        &self,
        _request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        _flags: i32,
        reply: ReplyCreate,
    ) {
        match self.make(parent, name, mode) {
            Ok(attributes) => reply.created(&TTL, &attributes, Generation(0), FileHandle(0), OPENED),
            Err(errno) => reply.error(errno),
        }
    }

    fn unlink(&self, _request: &Request, _parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        match self.remove(name) {
            Ok(()) => reply.ok(),
            Err(errno) => reply.error(errno),
        }
    }

    fn open(&self, _request: &Request, number: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let truncated = if flags.0 & nix::libc::O_TRUNC == 0 { Ok(()) } else { self.resize(number, 0) };
        match truncated.and_then(|()| self.file(number)) {
            Ok(_) => reply.opened(FileHandle(0), OPENED),
            Err(errno) => reply.error(errno),
        }
    }

    fn read(
        &self,
        _request: &Request,
        number: INodeNo,
        _file: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match self.read_at(number, offset, size) {
            Ok(data) => self.begin(number, Kind::Read, offset, u64::from(size), Answer::Data(reply, data)),
            Err(errno) => reply.error(errno),
        }
    }

    fn write(
        &self,
        _request: &Request,
        number: INodeNo,
        _file: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match self.write_at(number, offset, data) {
            Ok(bytes) => {
                self.begin(number, Kind::Write, offset, u64::from(bytes), Answer::Written(reply, bytes));
            }
            Err(errno) => reply.error(errno),
        }
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fsyncdir(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        reply.ok();
    }

    fn readdir(
        &self,
        _request: &Request,
        number: INodeNo,
        _file: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        if number != INodeNo::ROOT {
            return reply.error(Errno::ENOTDIR);
        }
        let table = self.lock();
        let named = table.files.iter().filter_map(|(number, entry)| Some((*number, entry.name.as_deref()?)));
        let dots = [".", ".."].map(|name| (INodeNo::ROOT.0, FileType::Directory, OsStr::new(name)));
        let files = named.map(|(number, name)| (number, FileType::RegularFile, name));
        let skipped = usize::try_from(offset).unwrap_or(usize::MAX);
        for (next, (number, kind, name)) in (1..).zip(dots.into_iter().chain(files)).skip(skipped) {
            if reply.add(INodeNo(number), next, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _request: &Request, _number: INodeNo, reply: ReplyStatfs) {
        let table = self.lock();
        let used: u64 =
            table.files.values().filter_map(|entry| Some(entry.file.metadata().ok()?.len())).sum();
        let (blocks, free) = (self.capacity_bytes / 4096, self.capacity_bytes.saturating_sub(used) / 4096);
        let files = FILES_MAX as u64;
        reply.statfs(blocks, free, free, files, files - table.files.len() as u64, 4096, 255, 4096);
    }
}
