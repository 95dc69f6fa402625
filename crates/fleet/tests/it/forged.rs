//! What a stolen key can do: ten attempts on a real nats-server with the configuration of `assay hosts init`.

use std::path::Path;
use std::time::Duration;

use assay_fleet::{Agent, BusOptions, FleetError, InitOptions, hosts, init};
use assay_testkit::nats::{self, Nats};
use async_nats::{Client, ConnectOptions};
use tokio::sync::mpsc;

use super::runs::{Hearing, READS, go, order_on, store};
use super::{Running, names, options};

/// A server by that configuration, and the options of each of its users.
struct Secured {
    nats: Nats,
    folder: tempfile::TempDir,
}

impl Secured {
    fn start() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let hosts = vec!["a".into(), "b".into()];
        let listen = "127.0.0.1:4222".into();
        let options =
            InitOptions { folder: folder.path().into(), hosts, server: vec!["localhost".into()], listen };
        let done = init(&options).unwrap();
        let text = std::fs::read_to_string(&done.config).unwrap();
        // The port and the folder of a test are its own.
        let kept = |line: &&str| !line.starts_with("listen") && !line.starts_with("jetstream");
        let config: Vec<&str> = text.lines().filter(kept).collect();
        Some(Self { nats: nats::start(&config.join("\n"))?, folder })
    }

    fn user(&self, name: &str) -> BusOptions {
        let file = |name: String| Some(self.folder.path().join(name));
        let url = self.nats.url().replace("nats://127.0.0.1", "tls://localhost");
        BusOptions { url, nkey: file(format!("{name}.nkey")), ca: file("server.pem".into()) }
    }

    /// A connection with a key, as somebody who has stolen it makes one. The channel has what the server refuses.
    async fn stolen(&self, name: &str) -> (Client, mpsc::UnboundedReceiver<String>) {
        let (refused, refusals) = mpsc::unbounded_channel();
        let user = self.user(name);
        let seed = std::fs::read_to_string(user.nkey.unwrap()).unwrap();
        let connect = ConnectOptions::with_nkey(seed.trim().to_owned())
            .custom_inbox_prefix(format!("_INBOX_{name}"))
            .add_root_certificates(user.ca.unwrap())
            .event_callback(move |event| {
                let _ = refused.send(event.to_string());
                std::future::ready(())
            });
        (connect.connect(&user.url).await.unwrap(), refusals)
    }
}

/// Waits until the server says that it refuses something.
async fn refusal(refusals: &mut mpsc::UnboundedReceiver<String>) -> String {
    let find = async {
        loop {
            let said = refusals.recv().await.unwrap();
            if said.to_lowercase().contains("permission") {
                return said;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), find).await.expect("the server refused nothing")
}

#[test]
fn a_stolen_key_of_an_agent_commands_nobody_and_reads_nothing_of_others() {
    let Some(secured) = Secured::start() else { return };
    assert!(hosts(&secured.user("coordinator")).unwrap().hosts.is_empty());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let refused = runtime.block_on(async {
        let (client, mut refusals) = secured.stolen("a").await;
        let mut refused = Vec::new();
        for subject in [
            "assay.ask.b",                                   // commands b
            "$KV.assay_hosts.b",                             // announces itself as b
            "assay.run.261124-2222.b",                       // says results in b's name
            "assay.plan.261124-2222",                        // decides in the coordinator's name
            "$JS.API.STREAM.CREATE.COPY",                    // has the messages of others copied
            "$JS.API.STREAM.DELETE.ASSAY_RUN_261124-2222",   // removes a run
            "$JS.API.CONSUMER.CREATE.ASSAY_RUN_261124-2222", // reads a run
        ] {
            client.publish(subject, "{}".into()).await.unwrap();
            client.flush().await.unwrap();
            refused.push((subject, refusal(&mut refusals).await));
        }
        for subject in ["assay.ask.b", "assay.run.>", "_INBOX.>"] {
            let _heard = client.subscribe(subject).await.unwrap();
            client.flush().await.unwrap();
            refused.push((subject, refusal(&mut refusals).await));
        }
        refused
    });
    assert_eq!(refused.len(), 10);
    for (subject, said) in refused {
        assert!(said.contains(subject.trim_end_matches(".>")), "{subject}: {said}");
    }
}

/// With that configuration a run works, over TLS, and nobody without a key takes part.
#[test]
fn a_run_works_with_keys_and_tls() {
    let Some(secured) = Secured::start() else { return };
    assert!(hosts(&secured.user("coordinator")).unwrap().hosts.is_empty(), "this makes the list of hosts");
    let agents = ["a", "b"].map(|name| Running::start(name, secured.user(name), 0));
    assert_eq!(names(&hosts(&secured.user("coordinator")).unwrap()), ["a", "b"]);
    let nobody = BusOptions { nkey: None, ..secured.user("a") };
    assert!(hosts(&nobody).is_err());
    let folder = tempfile::tempdir().unwrap();
    let (store, mut hearing) = (store(folder.path()), Hearing::new());
    let order = order_on(secured.user("coordinator"), READS, &[], &["null:"]);
    let done = go(&order, &store, &mut hearing).unwrap();
    assert!(done.failures.is_empty(), "{:?}", done.failures);
    agents.into_iter().for_each(Running::stop);
}

/// It was silent for 17 s, and then it was said that the server has no JetStream.
#[test]
fn an_agent_with_the_key_of_another_one_is_told_so_at_once() {
    let Some(secured) = Secured::start() else { return };
    let started = |name: &str, key: &str| {
        let began = std::time::Instant::now();
        let refused = Agent::start(&options(name, secured.user(key), "", 0)).unwrap_err();
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
        assert!(matches!(&refused, FleetError::Forbidden { name: of, .. } if of == name), "{refused:?}");
        refused.to_string()
    };
    assert!(started("a", "a").contains("run assay hosts once"), "there is no list yet");
    assert!(hosts(&secured.user("coordinator")).unwrap().hosts.is_empty(), "this makes it");
    let says = started("b", "a");
    assert!(says.contains("Permissions Violation") && says.contains("--nkey"), "{says}");
    let b = Running::start("b", secured.user("b"), 0);
    b.stop();
}

/// A host that is added later gets a key, and the others keep theirs.
#[test]
fn keys_stay_and_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let set_up = |hosts: &[&str]| {
        let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
        let (folder, listen) = (folder.path().join("bus"), "0.0.0.0:4222".into());
        init(&InitOptions { folder, hosts, server: vec![], listen })
    };
    let read = |path: &Path| std::fs::read_to_string(path).unwrap();
    let first = set_up(&["a"]).unwrap();
    let key = read(&first.agents[0]);
    let second = set_up(&["a", "b"]).unwrap();
    assert_eq!(read(&second.agents[0]), key);
    for secret in second.agents.iter().chain([&second.coordinator]) {
        assert_eq!(std::fs::metadata(secret).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!read(&second.config).contains(read(secret).trim()), "a seed is in the configuration");
    }
    assert!(set_up(&["a b"]).is_err() && set_up(&["coordinator"]).is_err());
}
