//! Programs of the system that know what no file says.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::machine::Machine;

/// Directories of system programs, also on merged-usr systems and NixOS. The caller's PATH is not used, because this
/// runs as root.
pub(crate) const FOLDERS: [&str; 5] =
    ["/usr/sbin", "/sbin", "/usr/bin", "/bin", "/run/current-system/sw/bin"];

/// The answer of a program.
pub(crate) struct Answer {
    pub(crate) succeeded: bool,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Returns a program of the system; `None` if it is not installed.
pub(crate) fn found(name: &str) -> Option<PathBuf> {
    FOLDERS.iter().map(|folder| Path::new(folder).join(name)).find(|program| program.is_file())
}

/// What has no answer within this time must not hold up what asks it.
const SAID_WITHIN: Duration = Duration::from_secs(3);

/// Returns what a program says; `None` if it is not installed, does not answer, or fails: not everybody may ask. On a
/// captured machine that is a file.
pub(crate) fn said(machine: &Machine, program: &str, words: &[&str]) -> Option<String> {
    if !machine.is_this() {
        return machine.text(format!("/programs/{program} {}", words.join(" "))).ok();
    }
    let mut command = Command::new(found(program)?);
    // The words that are parsed are those of no language.
    command.args(words).env("LC_ALL", "C");
    answer(command, SAID_WITHIN).ok().filter(|answer| answer.succeeded).map(|answer| answer.out)
}

/// Runs a command, and kills it where it does not answer in time.
pub(crate) fn answer(mut command: Command, within: Duration) -> Result<Answer, String> {
    let name = command.get_program().display().to_string();
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("{name} cannot be started: {error}"))?;
    // Both pipes are drained during the wait, or a long answer would block the program.
    let drained = drain(child.stdout.take()).and_then(|out| Ok((out, drain(child.stderr.take())?)));
    let (out, err) = drained.map_err(|error| {
        // Nobody reads what it says: it need not say more.
        let _ = child.kill().and_then(|()| child.wait());
        format!("no thread can be started to read what {name} says: {error}")
    })?;
    let succeeded = wait(&mut child, within).map_err(|error| error.to_string())?;
    let text = |reader: JoinHandle<String>| reader.join().unwrap_or_default();
    Ok(Answer { succeeded, out: text(out), err: text(err) })
}

fn drain(pipe: Option<impl Read + Send + 'static>) -> io::Result<JoinHandle<String>> {
    thread::Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        // Output read before an error is still parsed: a truncated answer is invalid JSON, and refuses writing.
        let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn wait(child: &mut Child, within: Duration) -> io::Result<bool> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        if started.elapsed() > within {
            child.kill()?;
            child.wait()?;
            let says = format!("no answer within {} s: the device does not respond", within.as_secs());
            return Err(io::Error::new(io::ErrorKind::TimedOut, says));
        }
        thread::sleep(Duration::from_millis(5));
    }
}
