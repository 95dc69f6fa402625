//! Agents on a real nats-server, as their users see them.

use std::io::{BufRead as _, BufReader};

use assay_testkit::nats;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::story::{BAD_INPUT, DONE, Story};

#[test]
fn an_agent_is_listed_until_a_signal_ends_it() {
    let Some(nats) = nats::start("") else { return };
    let (story, url) = (Story::new(), nats.url());
    let nobody = story.assay(&["hosts", "--nats", &url]);
    assert!(nobody.code == Some(DONE) && nobody.out.contains("No agent is on"), "{nobody:?}");

    // A thread that resolved the name of the server took the signal, and the agent did not leave.
    let by_name = url.replace("127.0.0.1", "localhost");
    let mut agent = story.start(&["agent", "--nats", &by_name, "--name", "esx1-vm3"]);
    let mut said = String::new();
    BufReader::new(agent.child().stderr.take().unwrap()).read_line(&mut said).unwrap();
    assert!(said.starts_with("agent esx1-vm3 is on"), "{said}");
    let listed = story.assay(&["hosts", "--nats", &url]);
    assert!(listed.out.contains("esx1-vm3  ready"), "{listed:?}");
    let listed = story.assay(&["hosts", "--nats", &url, "--json"]).json();
    let host = &listed["hosts"][0];
    assert_eq!((&listed["schema"], &host["state"]), (&"assay.hosts/1".into(), &"ready".into()));
    assert!(host["clock_error_ns"].is_u64() && host["facts"]["kernel"].is_string(), "{host}");

    let taken = story.assay(&["agent", "--nats", &url, "--name", "esx1-vm3"]);
    assert!(taken.code == Some(BAD_INPUT) && taken.err.contains("--name"), "{taken:?}");

    let pid = Pid::from_raw(i32::try_from(agent.child().id()).unwrap());
    kill(pid, Signal::SIGTERM).unwrap();
    assert_eq!(agent.child().wait().unwrap().code(), Some(DONE));
    let nobody = story.assay(&["hosts", "--nats", &url]);
    assert!(nobody.out.contains("No agent is on"), "{nobody:?}");
}
