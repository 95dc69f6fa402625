//! Complete clients, over sockets, against servers whose correct answers the input changes: it flips bytes of headers,
//! duplicates, drops, truncates and delays answers, and closes connections.
//!
//! A client completes every command once and in bounded time; its results are not judged here (the lies of `testkit` do
//! that). Once the input is used up the server answers correctly, so a conversation can succeed.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use assay_iscsi::{Command, Config, Initiator, Kind, scsi::cdb::Fua};
use assay_nfs::nfs3::Stable;
use assay_nfs::rpc::Credentials;
use assay_nfs::{File, FileConfig, Server, ServerConfig};
use assay_testkit::lying::Act;
use assay_testkit::lying::nfs::{EXPORT, LyingNfs, record};
use assay_testkit::lying::target::{Digests, LyingTarget, NAME, Pdu};

use crate::input::Input;

/// Longest duration of a conversation.
const LIMIT: Duration = Duration::from_secs(8);
const COMMANDS: u64 = 4;
const COMMAND_BYTES: usize = 16_384;

/// The rest of the input, for the threads of a server.
type Script = Arc<Mutex<std::collections::VecDeque<u8>>>;

/// Returns the next few bytes of the script.
fn next(script: &Script) -> Vec<u8> {
    let mut script = script.lock().expect("no thread panics with it");
    let count = script.len().min(8);
    script.drain(..count).collect()
}

fn play(bytes: &[u8]) -> Script {
    Arc::new(Mutex::new(bytes.iter().copied().collect()))
}

fn changed(pdus: &mut [Pdu], input: &mut Input<'_>) {
    if let Some(pdu) = pdus.first_mut() {
        let at = input.below(48);
        pdu.header[at] = pdu.header[at].wrapping_add(input.byte());
    }
}

/// Returns the acts for correct answers, as bytes, according to the next bytes of a script.
fn acts(mut answers: Vec<Vec<u8>>, input: &mut Input<'_>) -> Vec<Act> {
    let all = |answers: Vec<Vec<u8>>| answers.into_iter().map(Act::Bytes).collect::<Vec<_>>();
    match input.byte() % 16 {
        0 => vec![Act::HangUp],
        1 => Vec::new(),
        2 => [all(answers.clone()), all(answers)].concat(),
        3 => {
            answers.reverse();
            all(answers)
        }
        4 => {
            let at = input.below(256);
            if let Some(first) = answers.first_mut() {
                first.truncate(at);
            }
            all(answers)
        }
        5 => {
            let noise = vec![input.byte(); input.below(64)];
            [vec![Act::Bytes(noise)], all(answers)].concat()
        }
        6 => [all(answers), vec![Act::HangUp]].concat(),
        7..=11 => {
            if let Some(first) = answers.first_mut().filter(|first| !first.is_empty()) {
                let at = input.below(256) % first.len();
                first[at] = first[at].wrapping_add(input.byte());
            }
            all(answers)
        }
        _ => all(answers),
    }
}

pub(crate) fn iscsi(bytes: &[u8]) {
    let script = play(bytes);
    let target = LyingTarget::start(Digests::None, move |asked, mut honest| {
        let taken = next(&script);
        let mut input = Input::new(&taken);
        if input.is_empty() {
            return asked.all(&honest);
        }
        if input.byte() & 1 == 0 {
            changed(&mut honest, &mut input);
        }
        acts(honest.iter().map(Pdu::bytes).collect(), &mut input)
    });
    let mut config = Config::new(vec![target.portal.clone()], NAME, 0);
    config.depth = 8;
    let times = &mut config.timeouts;
    (times.connect, times.login) = (Duration::from_millis(500), Duration::from_millis(80));
    (times.command, times.task_management) = (Duration::from_millis(60), Duration::from_millis(40));
    (times.ping_interval, times.ping) = (Duration::from_millis(50), Duration::from_millis(80));
    (times.no_path, times.busy) = (Duration::from_millis(100), Duration::from_millis(50));
    times.io = Duration::from_millis(400);
    (times.retry_min, times.retry_max) = (Duration::from_millis(1), Duration::from_millis(4));
    times.retry_alone = Duration::from_millis(4);
    let began = Instant::now();
    let Ok(mut initiator) = Initiator::<Vec<u8>>::connect(config) else { return };
    for tag in 0..COMMANDS {
        let kind = if tag % 2 == 0 { Kind::Write } else { Kind::Read };
        let (offset_bytes, buf) = (tag * COMMAND_BYTES as u64, vec![1; COMMAND_BYTES]);
        let data_bytes = u32::try_from(COMMAND_BYTES).expect("a few KiB");
        let _ = initiator.submit(Command { tag, kind, offset_bytes, data_bytes, fua: Fua::Off, buf });
    }
    let (mut done, mut ended) = (Vec::new(), Ended::default());
    while initiator.outstanding() > 0 {
        assert!(began.elapsed() < LIMIT, "the conversation hangs: {:?}", initiator.events());
        let _ = initiator.poll(Some(Duration::from_millis(50)), &mut done);
        done.drain(..).for_each(|completion| ended.note(completion.tag));
    }
}

/// Completed commands.
#[derive(Default)]
struct Ended(std::collections::BTreeSet<u64>);

impl Ended {
    fn note(&mut self, tag: u64) {
        assert!(self.0.insert(tag), "command {tag} ended twice");
    }
}

pub(crate) fn nfs(bytes: &[u8]) {
    let script = play(bytes);
    let server = LyingNfs::start(move |_, honest| {
        let taken = next(&script);
        let mut input = Input::new(&taken);
        match input.is_empty() {
            true => vec![Act::Bytes(record(&honest))],
            false => acts(vec![record(&honest)], &mut input),
        }
    });
    server.put("t.dat", &vec![3; COMMAND_BYTES * 4]);
    let credentials = Credentials { machine: "fuzz".into(), uid: 0, gid: 0, groups: Vec::new() };
    let config = ServerConfig {
        host: "127.0.0.1".into(),
        port: Some(server.port),
        mount_port: Some(server.port),
        mapper_port: server.port,
        credentials: credentials.clone(),
        patience: Duration::from_millis(80),
    };
    let began = Instant::now();
    let Ok(mut asked) = Server::connect(config) else { return };
    let _ = asked.exports();
    let Ok(mounted) = asked.mount(EXPORT) else { return };
    let Ok(Some((handle, _))) = asked.lookup(&mounted.handle, "t.dat") else { return };
    let _ = (asked.fsinfo(&handle), asked.fsstat(&handle), asked.path_limits(&handle), asked.access(&handle));
    assert!(began.elapsed() < LIMIT, "the questions hang");
    let mut config = FileConfig {
        address: asked.address(),
        handle,
        credentials,
        connections: 2,
        depth: 8,
        read_bytes_max: 8192,
        write_bytes_max: 8192,
        stable: Stable::Unstable,
        timeouts: assay_nfs::Timeouts::default(),
    };
    let times = &mut config.timeouts;
    (times.connect, times.call) = (Duration::from_millis(500), Duration::from_millis(60));
    (times.commit, times.ping_interval) = (Duration::from_millis(60), Duration::from_millis(50));
    (times.ping, times.no_server) = (Duration::from_millis(80), Duration::from_millis(150));
    (times.busy, times.retry_min) = (Duration::from_millis(50), Duration::from_millis(1));
    times.retry_max = Duration::from_millis(4);
    let Ok(mut file) = File::open(config) else { return };
    for tag in 0..COMMANDS {
        let kind = if tag % 2 == 0 { assay_nfs::Kind::Write } else { assay_nfs::Kind::Read };
        let (offset_bytes, buf) = (tag * COMMAND_BYTES as u64, vec![1; COMMAND_BYTES]);
        let data_bytes = u32::try_from(COMMAND_BYTES).expect("a few KiB");
        let _ = file.submit(assay_nfs::Command { tag, kind, offset_bytes, data_bytes, buf });
    }
    let (mut done, mut ended) = (Vec::new(), Ended::default());
    let began = Instant::now();
    while file.outstanding() > 0 {
        assert!(began.elapsed() < LIMIT, "the conversation hangs: {:?}", file.events());
        let _ = file.poll(Some(Duration::from_millis(50)), &mut done);
        done.drain(..).for_each(|completion| ended.note(completion.tag));
    }
    let _ = file.commit(&|| false);
}
