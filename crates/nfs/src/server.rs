//! Single calls to a server, each awaited: what is exported, where a file is, how much space there is.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use assay_tcp::{connect_first, resolve_all};

use crate::config::ServerConfig;
use crate::error::CallError;
use crate::mount::{self, Export, Mounted};
use crate::nfs3::{
    self, Attributes, FsInfo, FsStat, Handle, NfsStatus, PathLimits, Rights, Stable, Verifier, Written,
    procedure,
};
use crate::portmap;
use crate::rpc::{Credentials, LAST_FRAGMENT, Procedure, read_reply, write_call};
use crate::xdr::{Reader, Writer, XdrError};

/// Largest answer accepted, bytes: a list of exports, or one read of 1 MiB, with room to spare.
const ANSWER_BYTES_MAX: usize = 4 << 20;
/// Number of answers to earlier calls, and of empty fragments, that are skipped in a row.
const SKIPPED_MAX: u32 = 64;
/// Time for which calls answered with NFS3ERR_JUKEBOX are retried, over all calls until another answer arrives.
const LATER_FOR: Duration = Duration::from_secs(5);
const LATER_PAUSE: Duration = Duration::from_millis(250);
/// Longest wait for the port mapper, which has very little to do; firewalls often block it.
const MAPPER_PATIENCE: Duration = Duration::from_secs(3);

/// A server: NFS, and MOUNT next to it.
#[derive(Debug)]
pub struct Server {
    config: ServerConfig,
    nfs: Channel,
    mount: Option<Channel>,
    /// True if the port mapper did not answer: default ports are used, and it is not asked again.
    is_mapper_silent: bool,
    /// Time of the first of a series of NFS3ERR_JUKEBOX answers.
    later_since: Option<Instant>,
}

impl Server {
    /// Finds NFS and connects to it.
    pub fn connect(config: ServerConfig) -> Result<Self, CallError> {
        let mut is_mapper_silent = false;
        let port = match config.port {
            Some(port) => port,
            None => match addresses(&config, config.mapper_port)
                .and_then(|all| ask_port(&config, &all, nfs3::PROGRAM, nfs3::VERSION))
            {
                Ok(Some(port)) => port,
                Ok(None) => {
                    let next = "enable NFS version 3 on it, or give the port: port=2049";
                    return Err(CallError::NotServed {
                        host: config.host,
                        what: "NFS version 3 over TCP",
                        next,
                    });
                }
                // It exists but its answer is invalid: with a default port the message would name another error.
                Err(error @ CallError::Answer { .. }) => return Err(error),
                // Servers without a port mapper use the well-known port.
                Err(error) => {
                    is_mapper_silent = error.is_silence();
                    nfs3::PORT
                }
            },
        };
        let opened = addresses(&config, port).and_then(|all| Channel::open(&config, "NFS", &all));
        match opened {
            Ok(nfs) => Ok(Self { config, nfs, mount: None, is_mapper_silent, later_since: None }),
            Err(error) if is_mapper_silent => {
                Err(CallError::MapperSilent { host: config.host, source: Box::new(error) })
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the address on which NFS listens.
    pub fn address(&self) -> SocketAddr {
        self.nfs.address
    }

    /// Returns the local address of the connection to NFS; `None` once it has failed.
    pub fn local_address(&self) -> Option<SocketAddr> {
        self.nfs.stream.local_addr().ok()
    }

    /// Returns the port on which MOUNT listens, once a call was made to it.
    pub fn mount_port(&self) -> Option<u16> {
        self.mount.as_ref().map(|mount| mount.address.port())
    }

    fn mount_channel(&mut self) -> Result<&mut Channel, CallError> {
        if self.mount.is_none() {
            let port = self.find_mount()?;
            self.mount = Some(Channel::open(&self.config, "MOUNT", &[self.beside(port)])?);
        }
        Ok(self.mount.as_mut().expect("it was made above"))
    }

    /// Returns another port of the address at which NFS was found: other addresses of the name may be other servers.
    fn beside(&self, port: u16) -> SocketAddr {
        let mut address = self.nfs.address;
        address.set_port(port);
        address
    }

    fn find_mount(&mut self) -> Result<u16, CallError> {
        // Some servers use one port for both and need no port mapper.
        let guess = self.nfs.address.port();
        match self.config.mount_port {
            Some(port) => return Ok(port),
            None if self.is_mapper_silent => return Ok(guess),
            None => {}
        }
        match ask_port(&self.config, &[self.beside(self.config.mapper_port)], mount::PROGRAM, mount::VERSION)
        {
            Ok(Some(port)) => Ok(port),
            Ok(None) => {
                let (host, next) = (self.config.host.clone(), "give its port: mountport=PORT");
                Err(CallError::NotServed { host, what: "MOUNT version 3 over TCP", next })
            }
            Err(error @ CallError::Answer { .. }) => Err(error),
            Err(error) => {
                self.is_mapper_silent = error.is_silence();
                Ok(guess)
            }
        }
    }

    /// Makes one call to MOUNT. If the port is only a default because the port mapper is silent, the error says so.
    fn call_mount(
        &mut self,
        what: &'static str,
        procedure: Procedure,
        arguments: &[u8],
    ) -> Result<Vec<u8>, CallError> {
        let results = self.mount_channel().and_then(|mount| mount.call(what, procedure, arguments));
        let is_guess = self.is_mapper_silent && self.config.mount_port.is_none();
        results.map_err(|error| match is_guess {
            true => CallError::MapperSilent { host: self.config.host.clone(), source: Box::new(error) },
            false => error,
        })
    }

    /// Returns the exports of the server.
    pub fn exports(&mut self) -> Result<Vec<Export>, CallError> {
        let what = "the list of exports";
        let results = self.call_mount(what, mount::EXPORT, &[])?;
        mount::exports(&results).map_err(|source| CallError::Answer { what, source })
    }

    /// Returns the handle of an export's root, or of a directory below it if the server allows that.
    pub fn mount(&mut self, path: &str) -> Result<Mounted, CallError> {
        let what = "the mount";
        let results = self.call_mount(what, mount::MNT, &mount::directory(path))?;
        let mounted = mount::mounted(&results).map_err(|source| CallError::Answer { what, source })?;
        mounted.map_err(|status| CallError::Mount { path: path.to_owned(), status })
    }

    /// Removes this client from the server's list of mounts, which is informational only.
    pub fn unmount(&mut self, path: &str) -> Result<(), CallError> {
        self.call_mount("the unmount", mount::UMNT, &mount::directory(path)).map(drop)
    }

    /// Sends a ping and returns the round-trip time.
    pub fn ping(&mut self) -> Result<Duration, CallError> {
        let began = Instant::now();
        self.nfs.call("the ping", procedure::NULL, &[])?;
        Ok(began.elapsed())
    }

    /// Calls one procedure; retries for a while on NFS3ERR_JUKEBOX.
    fn ask<T>(
        &mut self,
        what: &'static str,
        procedure: Procedure,
        arguments: &[u8],
        read: impl Fn(&[u8]) -> Result<Result<T, NfsStatus>, XdrError>,
    ) -> Result<T, CallError> {
        loop {
            let results = self.nfs.call(what, procedure, arguments)?;
            let read = read(&results).map_err(|source| CallError::Answer { what, source })?;
            if let Err(NfsStatus::JUKEBOX) = read {
                let since = *self.later_since.get_or_insert_with(Instant::now);
                if since.elapsed() < LATER_FOR {
                    std::thread::sleep(LATER_PAUSE);
                    continue;
                }
            } else {
                self.later_since = None;
            }
            return read.map_err(|status| CallError::Status { what, status });
        }
    }

    /// Returns the attributes of a file.
    pub fn attributes(&mut self, handle: &Handle) -> Result<Attributes, CallError> {
        self.ask("GETATTR", procedure::GETATTR, &nfs3::handle_only(handle), nfs3::attributes)
    }

    /// Sets the length of a file.
    pub fn set_size(&mut self, handle: &Handle, bytes: u64) -> Result<(), CallError> {
        self.ask("SETATTR", procedure::SETATTR, &nfs3::set_size(handle, bytes), nfs3::size_set)
    }

    /// Looks up a name; `None` if it does not exist.
    pub fn lookup(
        &mut self,
        directory: &Handle,
        name: &str,
    ) -> Result<Option<(Handle, Attributes)>, CallError> {
        let arguments = nfs3::directory_name(directory, name);
        let (handle, attributes) = match self.ask("LOOKUP", procedure::LOOKUP, &arguments, nfs3::looked_up) {
            Ok(found) => found,
            Err(error) if error.status() == Some(NfsStatus::NOENT) => return Ok(None),
            Err(error) => return Err(error),
        };
        let attributes = match attributes {
            Some(attributes) => attributes,
            None => self.attributes(&handle)?,
        };
        Ok(Some((handle, attributes)))
    }

    /// Returns the access rights to a file or directory.
    pub fn access(&mut self, handle: &Handle) -> Result<Rights, CallError> {
        self.ask("ACCESS", procedure::ACCESS, &nfs3::access(handle), nfs3::accessed)
    }

    /// Creates a file that must not exist yet.
    pub fn create(&mut self, directory: &Handle, name: &str, mode: u32) -> Result<Handle, CallError> {
        let arguments = nfs3::create(directory, name, mode);
        if let Some(handle) = self.ask("CREATE", procedure::CREATE, &arguments, nfs3::created)? {
            return Ok(handle);
        }
        let what = "CREATE";
        let found = self.lookup(directory, name)?;
        found.map(|(handle, _)| handle).ok_or(CallError::Status { what, status: NfsStatus::NOENT })
    }

    /// Removes a file.
    pub fn remove(&mut self, directory: &Handle, name: &str) -> Result<(), CallError> {
        let arguments = nfs3::directory_name(directory, name);
        self.ask("REMOVE", procedure::REMOVE, &arguments, nfs3::removed)
    }

    /// Reads up to `bytes` bytes with one call.
    pub fn read(&mut self, handle: &Handle, offset_bytes: u64, bytes: u32) -> Result<Vec<u8>, CallError> {
        let arguments = nfs3::read(handle, offset_bytes, bytes);
        self.ask("READ", procedure::READ, &arguments, |results| {
            let head = match nfs3::read_head(results)? {
                Ok(head) => head,
                Err(status) => return Ok(Err(status)),
            };
            let data =
                Reader::new(&results[head.data_at..]).fixed(head.bytes as usize, "the data of a read")?;
            Ok(Ok(data.to_vec()))
        })
    }

    /// Writes with one call.
    pub fn write(
        &mut self,
        handle: &Handle,
        offset_bytes: u64,
        data: &[u8],
        stable: Stable,
    ) -> Result<Written, CallError> {
        let arguments = nfs3::write(handle, offset_bytes, data, stable);
        self.ask("WRITE", procedure::WRITE, &arguments, nfs3::written)
    }

    /// Makes unstable writes to a file durable.
    pub fn commit(&mut self, handle: &Handle) -> Result<Verifier, CallError> {
        self.ask("COMMIT", procedure::COMMIT, &nfs3::commit(handle, 0, 0), nfs3::committed)
    }

    /// Returns the write verifier, which differs between restarts of a server and between servers. A
    /// COMMIT of one byte returns it and changes nothing.
    pub fn verifier(&mut self, handle: &Handle) -> Result<Verifier, CallError> {
        self.ask("COMMIT", procedure::COMMIT, &nfs3::commit(handle, 0, 1), nfs3::committed)
    }

    /// Returns the space of the file system.
    pub fn fsstat(&mut self, handle: &Handle) -> Result<FsStat, CallError> {
        self.ask("FSSTAT", procedure::FSSTAT, &nfs3::handle_only(handle), nfs3::fsstat)
    }

    /// Returns the limits of the server.
    pub fn fsinfo(&mut self, handle: &Handle) -> Result<FsInfo, CallError> {
        self.ask("FSINFO", procedure::FSINFO, &nfs3::handle_only(handle), nfs3::fsinfo)
    }

    /// Returns the limits of names.
    pub fn path_limits(&mut self, handle: &Handle) -> Result<PathLimits, CallError> {
        self.ask("PATHCONF", procedure::PATHCONF, &nfs3::handle_only(handle), nfs3::path_limits)
    }
}

/// Returns every address of the host.
fn addresses(config: &ServerConfig, port: u16) -> Result<Vec<SocketAddr>, CallError> {
    resolve_all(&config.host, port).map_err(|source| CallError::Resolve { host: config.host.clone(), source })
}

/// Asks the port mapper.
fn ask_port(
    config: &ServerConfig,
    addresses: &[SocketAddr],
    program: u32,
    version: u32,
) -> Result<Option<u16>, CallError> {
    let config = ServerConfig { patience: config.patience.min(MAPPER_PATIENCE), ..config.clone() };
    let mut mapper = Channel::open(&config, "the port mapper", addresses)?;
    mapper.credentials = None;
    let what = "the request to the port mapper";
    let results = mapper.call(what, portmap::GETPORT, &portmap::getport(program, version))?;
    portmap::port(&results).map_err(|source| CallError::Answer { what, source })
}

/// A connection that makes one call at a time.
#[derive(Debug)]
struct Channel {
    address: SocketAddr,
    stream: TcpStream,
    credentials: Option<Credentials>,
    patience: Duration,
    xid: u32,
}

impl Channel {
    fn open(config: &ServerConfig, what: &'static str, addresses: &[SocketAddr]) -> Result<Self, CallError> {
        let (address, stream) = connect_first(addresses, config.patience)
            .map_err(|said| CallError::connect(what, &config.host, said))?;
        let credentials = Some(config.credentials.clone());
        Ok(Self { address, stream, credentials, patience: config.patience, xid: std::process::id() << 8 })
    }

    /// Makes a call, waits for its answer, and returns the results.
    fn call(
        &mut self,
        what: &'static str,
        procedure: Procedure,
        arguments: &[u8],
    ) -> Result<Vec<u8>, CallError> {
        let deadline = Instant::now() + self.patience;
        self.xid = self.xid.wrapping_add(1);
        let mut writer = Writer::new();
        writer.u32(0);
        write_call(&mut writer, self.xid, procedure, self.credentials.as_ref());
        writer.fixed(arguments);
        let mut call = writer.into_bytes();
        let length = u32::try_from(call.len() - 4).expect("calls are far below 2 GiB");
        call[..4].copy_from_slice(&(length | LAST_FRAGMENT).to_be_bytes());
        let broken = |source| CallError::Io { what, source };
        self.stream.set_write_timeout(Some(self.patience)).map_err(broken)?;
        self.stream.write_all(&call).map_err(broken)?;
        for _ in 0..SKIPPED_MAX {
            let answer = self.record(deadline).map_err(broken)?;
            let head = read_reply(&answer).map_err(|source| CallError::Answer { what, source })?;
            if head.xid != self.xid {
                continue;
            }
            let at = head.results.map_err(|source| CallError::Refused { what, source })?;
            return Ok(answer[at..].to_vec());
        }
        Err(broken(io::Error::new(
            io::ErrorKind::InvalidData,
            "the server answered a call that was not sent",
        )))
    }

    fn record(&mut self, deadline: Instant) -> io::Result<Vec<u8>> {
        let invalid = |says| io::Error::new(io::ErrorKind::InvalidData, says);
        let (mut all, mut fragments) = (Vec::new(), 0);
        loop {
            let mut mark = [0; 4];
            self.fill(&mut mark, deadline)?;
            let mark = u32::from_be_bytes(mark);
            let length = (mark & !LAST_FRAGMENT) as usize;
            if all.len() + length > ANSWER_BYTES_MAX {
                return Err(invalid("the server announced an implausibly large reply"));
            }
            let from = all.len();
            all.resize(from + length, 0);
            self.fill(&mut all[from..], deadline)?;
            fragments += 1;
            if mark & LAST_FRAGMENT != 0 {
                return Ok(all);
            }
            if fragments > SKIPPED_MAX * 64 {
                return Err(invalid("the server split a reply into too many fragments"));
            }
        }
    }

    /// Fills `place` from the socket; the socket's own limit is short, so that the deadline is observed.
    fn fill(&mut self, place: &mut [u8], deadline: Instant) -> io::Result<()> {
        let mut filled = 0;
        while filled < place.len() {
            match self.stream.read(&mut place[filled..]) {
                Ok(0) => {
                    return Err(io::Error::new(
                        io::ErrorKind::UnexpectedEof,
                        "the server closed the connection",
                    ));
                }
                Ok(got) => filled += got,
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                Err(error) => return Err(error),
            }
            if filled < place.len() && Instant::now() >= deadline {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "the server did not answer in time"));
            }
        }
        Ok(())
    }
}
