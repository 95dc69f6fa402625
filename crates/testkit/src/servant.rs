//! Servers that die with this process, however it ends: of a test that is killed nobody else would end them.

use std::io;
use std::process::{Child, Command};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock, PoisonError};

/// A program to be started, and where the result goes.
type Order = (Command, Sender<io::Result<Child>>);

/// Returns a command that runs a program of which the kernel kills the process when its parent dies. It must be started
/// by [`spawn`].
pub(crate) fn command() -> Command {
    // Directories of system programs are not in every user's search path.
    let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new("setpriv");
    command.env("PATH", path).args(["--pdeathsig", "KILL"]);
    command
}

/// Starts a program from a thread that lives as long as this process: to the kernel the thread is the parent, and that
/// of a test ends with the test.
pub(crate) fn spawn(command: Command) -> io::Result<Child> {
    static STARTER: OnceLock<Mutex<Sender<Order>>> = OnceLock::new();
    let starter = STARTER.get_or_init(|| {
        let (orders, taken) = channel::<Order>();
        std::thread::spawn(move || {
            for (mut command, result) in taken {
                let _ = result.send(command.spawn());
            }
        });
        Mutex::new(orders)
    });
    let (result, started) = channel();
    let sent = starter.lock().unwrap_or_else(PoisonError::into_inner).send((command, result));
    let is_gone = |_| io::Error::other("the thread that starts servers has ended");
    sent.map_err(|_| is_gone(())).and_then(|()| started.recv().map_err(|_| is_gone(())))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_outlives_the_thread_that_asked_for_it() {
        let started = std::thread::spawn(|| {
            let mut command = command();
            command.args(["--", "cat"]).stdin(std::process::Stdio::piped());
            spawn(command).unwrap()
        });
        let mut child = started.join().unwrap();
        drop(child.stdin.take());
        // It ends because its input does, and not by a signal.
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
}
