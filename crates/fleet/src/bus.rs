//! The connection to NATS: subjects, requests, the bucket of hosts.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::{self, kv, stream};
use async_nats::{Client, ConnectOptions, Event};
use tokio::sync::Notify;

use crate::error::FleetError;
use crate::wire::{Answer, Ask, json, parsed};

/// Bucket with the announcements of agents.
const BUCKET: &str = "assay_hosts";
/// The server drops an announcement that was not renewed for so long.
pub const LEASE: Duration = Duration::from_secs(15);
/// Most that all announcements may occupy in the memory of the server, bytes: 10,000 hosts of 1.6 KiB.
const BUCKET_BYTES_MAX: i64 = 16 << 20;
/// A server that does not answer within this is not there.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// How the bus is reached.
#[derive(Debug, Clone, Default)]
pub struct BusOptions {
    /// Address: `nats://host:4222`, `tls://host:4222`.
    pub url: String,
    /// File with the seed of an `NKey`, on its first line.
    pub nkey: Option<PathBuf>,
    /// File with the certificate of the authority that signed the server's, PEM. With it only TLS is accepted.
    pub ca: Option<PathBuf>,
}

/// A connection. It reconnects by itself.
#[derive(Debug, Clone)]
pub(crate) struct Bus {
    client: Client,
    jetstream: jetstream::Context,
    /// Notified whenever the connection is there.
    pub(crate) connected: Arc<Notify>,
}

impl Bus {
    /// Connects; `name` is what the server lists the connection as.
    pub(crate) async fn connect(options: &BusOptions, name: &str) -> Result<Self, FleetError> {
        if options.url.contains('@') {
            return Err(FleetError::SecretInUrl);
        }
        let connected = Arc::new(Notify::new());
        let notify = Arc::clone(&connected);
        let mut connect = ConnectOptions::new().name(name).connection_timeout(CONNECT_LIMIT);
        connect = connect.event_callback(move |event| {
            if matches!(event, Event::Connected) {
                notify.notify_one();
            }
            std::future::ready(())
        });
        if let Some(path) = &options.nkey {
            connect = connect.nkey(first_line(path)?);
        }
        if let Some(path) = &options.ca {
            connect = connect.add_root_certificates(path.clone()).require_tls(true);
        }
        let client = connect.connect(&options.url).await;
        let client =
            client.map_err(|error| FleetError::Connect { url: options.url.clone(), why: chain(&error) })?;
        Ok(Self { jetstream: jetstream::new(client.clone()), client, connected })
    }

    /// Receives what the agent of that name is asked.
    pub(crate) async fn asked(&self, name: &str) -> Result<async_nats::Subscriber, FleetError> {
        // Only a client that was closed cannot subscribe.
        self.client.subscribe(subject(name)).await.map_err(|_| FleetError::Closed)
    }

    /// Answers a request. An answer that does not arrive is asked for again.
    pub(crate) async fn answer(&self, reply: async_nats::Subject, answer: &Answer) {
        let _ = self.client.publish(reply, json(answer).into()).await;
    }

    /// Sends a request to an agent; `None` if it does not answer in time.
    pub(crate) async fn ask(&self, name: &str, ask: &Ask, limit: Duration) -> Option<Answer> {
        let request = self.client.request(subject(name), json(ask).into());
        let answer = tokio::time::timeout(limit, request).await.ok()?.ok()?;
        parsed(&answer.payload)
    }

    /// Writes an announcement. The bucket is created if it is not there: the server may have been started anew.
    pub(crate) async fn announce(&self, name: &str, announcement: Vec<u8>) -> Result<(), FleetError> {
        let subject = format!("$KV.{BUCKET}.{name}");
        if let Ok(ack) = self.jetstream.publish(subject.clone(), announcement.clone().into()).await
            && ack.await.is_ok()
        {
            return Ok(());
        }
        self.bucket().await?;
        let failed = |error: &dyn std::error::Error| FleetError::JetStream { why: chain(error) };
        let ack =
            self.jetstream.publish(subject, announcement.into()).await.map_err(|error| failed(&error))?;
        ack.await.map_err(|error| failed(&error)).map(|_| ())
    }

    /// Returns the bucket of announcements, created if it is not there.
    pub(crate) async fn bucket(&self) -> Result<kv::Store, FleetError> {
        // `create_key_value` does the same, but first asks for the account, whose description it does not understand
        // where the server is 2.9, which is that of Debian 12.
        let config = stream::Config {
            name: format!("KV_{BUCKET}"),
            description: Some("Agents of Assay; an entry is a lease".to_owned()),
            subjects: vec![format!("$KV.{BUCKET}.>")],
            max_messages_per_subject: 1,
            max_age: LEASE,
            max_bytes: BUCKET_BYTES_MAX,
            // A lease is not worth a disk: after a restart of the server the agents announce themselves again.
            storage: stream::StorageType::Memory,
            discard: stream::DiscardPolicy::New,
            allow_rollup: true,
            allow_direct: true,
            deny_delete: true,
            ..stream::Config::default()
        };
        let failed = |error: &dyn std::error::Error| FleetError::JetStream { why: chain(error) };
        self.jetstream.create_stream(config).await.map_err(|error| failed(&error))?;
        self.jetstream.get_key_value(BUCKET).await.map_err(|error| failed(&error))
    }
}

fn first_line(path: &Path) -> Result<String, FleetError> {
    let read = std::fs::read_to_string(path);
    let text = read.map_err(|source| FleetError::File { path: path.to_owned(), source })?;
    Ok(text.lines().next().unwrap_or_default().trim().to_owned())
}

/// Returns the subject of requests to an agent.
fn subject(name: &str) -> String {
    format!("assay.ask.{name}")
}

/// Checks that a name can be a part of a subject.
pub(crate) fn check_name(name: &str) -> Result<(), FleetError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match (1..=40).contains(&name.len()) && name.chars().all(is_plain) {
        true => Ok(()),
        false => Err(FleetError::BadName(name.to_owned())),
    }
}

/// Returns an error with its causes, each once.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.map(ToString::to_string).fold(error.to_string(), |text, cause| {
        if text.contains(&cause) { text } else { format!("{text}: {cause}") }
    })
}
