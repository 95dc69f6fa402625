//! The connection to NATS: subjects, requests, the bucket of hosts.

use std::path::Path;
use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, PullConsumer, pull};
use async_nats::jetstream::context::{
    CreateStreamErrorKind, GetStreamErrorKind, PublishError, PublishErrorKind,
};
use async_nats::jetstream::{self, ErrorCode, kv, stream};
use async_nats::{Client, ConnectOptions, Event, HeaderMap, ServerError, header};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use crate::error::FleetError;
use crate::nats::wire::{Answer, Ask, Noted, json, parsed};
use crate::order::{BusOptions, LEASE};

/// The coordinator of a thousand hosts may take so long to answer. The server knows of one that has ended.
const FOLLOWER_LIMIT: Duration = Duration::from_secs(5);
/// Bucket with the announcements of agents.
const BUCKET: &str = "assay_hosts";
/// Most that all announcements may occupy on the disk of the server, bytes: 10,000 hosts of 1.6 KiB.
const BUCKET_BYTES_MAX: i64 = 16 << 20;
/// Most that the messages of a run may occupy on the disk of the server, bytes: 100 hosts for an hour.
const RUN_BYTES_MAX: i64 = 1 << 30;
/// A message that is sent again within this is recognised by the server; the coordinator recognises it always.
const DUPLICATE_WINDOW: Duration = Duration::from_secs(120);
/// The server forgets who has not asked for messages for so long.
const CONSUMER_LIFE: Duration = Duration::from_secs(30);
/// A server that does not answer within this is not there.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// What the server says where a user is not allowed something.
const VIOLATION: &str = "Permissions Violation";

/// Why the stream of a run does not have a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unsaid {
    /// It is not there: the run is stored or called off, or the server has lost it.
    NoStream,
    /// The server is away, or has no room.
    NotNow,
}

/// What the stream of a run says to who wants to follow it.
#[derive(Debug)]
pub(crate) enum Claimed {
    /// The note has this number.
    Noted(u64),
    /// Another coordinator was earlier.
    Late,
    /// The server has no room for the note, which it says so.
    NoRoom(String),
}

/// A connection. It reconnects by itself.
#[derive(Debug, Clone)]
pub(crate) struct Bus {
    client: Client,
    jetstream: jetstream::Context,
    /// Changes whenever the connection is there again.
    pub(crate) connected: watch::Receiver<u64>,
    /// The last thing that the server did not allow.
    violation: watch::Receiver<Option<String>>,
}

impl Bus {
    /// Connects; `name` is what the server lists the connection as.
    pub(crate) async fn connect(options: &BusOptions, name: &str) -> Result<Self, FleetError> {
        Self::connect_with(options, name, ConnectOptions::new()).await
    }

    /// The same for an agent.
    pub(crate) async fn connect_agent(options: &BusOptions, agent: &str) -> Result<Self, FleetError> {
        let connect = ConnectOptions::new().custom_inbox_prefix(inbox(agent));
        Self::connect_with(options, &format!("assay agent {agent}"), connect).await
    }

    async fn connect_with(
        options: &BusOptions,
        name: &str,
        connect: ConnectOptions,
    ) -> Result<Self, FleetError> {
        BusOptions::check_url(&options.url)?;
        let (notify, mut connected) = watch::channel(0);
        let mut connect = connect.name(name).connection_timeout(CONNECT_LIMIT);
        let (violated, violation) = watch::channel(None);
        connect = connect.event_callback(move |event| {
            match event {
                Event::Connected => notify.send_modify(|times| *times += 1),
                Event::ServerError(ServerError::Other(says)) if says.contains(VIOLATION) => {
                    violated.send_replace(Some(says));
                }
                _ => {}
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
        connected.mark_unchanged();
        Ok(Self { jetstream: jetstream::new(client.clone()), client, connected, violation })
    }

    /// Whether the server is there now.
    pub(crate) fn is_connected(&self) -> bool {
        self.client.connection_state() == async_nats::connection::State::Connected
    }

    /// Does something that an agent has to be allowed to do. The server says beside the requests what it does not
    /// allow, and answers nothing: that would be waited for.
    pub(crate) async fn allowed<T>(
        &self,
        name: &str,
        work: impl Future<Output = Result<T, FleetError>>,
    ) -> Result<T, FleetError> {
        let mut violation = self.violation.clone();
        let violated = async move {
            // Its sender lives as long as the connection.
            let violated = violation.wait_for(Option::is_some).await;
            violated.ok().and_then(|says| says.clone()).unwrap_or_default()
        };
        tokio::select! {
            done = work => done,
            why = violated => Err(FleetError::Forbidden { name: name.to_owned(), why }),
        }
    }

    /// Receives what the agent of that name is asked.
    pub(crate) async fn asked(&self, name: &str) -> Result<async_nats::Subscriber, FleetError> {
        // Only a client that was closed cannot subscribe.
        self.client.subscribe(subject(name)).await.map_err(|_| FleetError::Closed)
    }

    /// Says something to the agents of that name, and expects no answer.
    pub(crate) async fn tell(&self, name: &str, ask: &Ask) {
        let _ = self.client.publish(subject(name), json(ask).into()).await;
    }

    /// Answers a request. An answer that does not arrive is asked for again.
    pub(crate) async fn reply(&self, reply: async_nats::Subject, answer: &impl Serialize) {
        let _ = self.client.publish(reply, json(answer).into()).await;
    }

    /// Sends a request to an agent; `None` if it does not answer in time.
    pub(crate) async fn ask(&self, name: &str, ask: &Ask, limit: Duration) -> Option<Answer> {
        self.request(subject(name), json(ask), limit).await
    }

    async fn request<T: DeserializeOwned>(
        &self,
        subject: String,
        payload: Vec<u8>,
        limit: Duration,
    ) -> Option<T> {
        // The limit of the caller is the only one: the client would give up after 10 s by itself.
        let request = async_nats::Request::new().payload(payload.into()).timeout(None);
        let request = self.client.send_request(subject, request);
        let answer = tokio::time::timeout(limit, request).await.ok()?.ok()?;
        parsed(&answer.payload)
    }

    /// Receives questions who follows a run. The server knows of it when this returns.
    pub(crate) async fn followers(&self, run: &str) -> Result<async_nats::Subscriber, FleetError> {
        let asked = self.client.subscribe(follower_of(run)).await.map_err(|_| FleetError::Closed)?;
        self.client.flush().await.map_err(|_| FleetError::Closed)?;
        Ok(asked)
    }

    /// Returns who follows a run; `None` where nobody says so in time.
    pub(crate) async fn follower(&self, run: &str) -> Option<String> {
        self.request(follower_of(run), Vec::new(), FOLLOWER_LIMIT).await
    }

    /// Tells who answers for a run that another coordinator has claimed it.
    pub(crate) async fn tell_followers(&self, run: &str, notice: &impl Serialize) {
        let _ = self.client.publish(follower_of(run), json(notice).into()).await;
    }

    /// Returns the number of the last note of a coordinator in the stream of a run.
    pub(crate) async fn last_note(&self, run: &str) -> Result<u64, FleetError> {
        let failed =
            |error: &dyn std::error::Error| FleetError::Stream { run: run.to_owned(), why: chain(error) };
        let stream = self.jetstream.get_stream(stream_of(run)).await.map_err(|error| failed(&error))?;
        let last = stream.get_last_raw_message_by_subject(&notes_of(run)).await;
        last.map(|last| last.sequence).map_err(|error| failed(&error))
    }

    /// Notes that this process follows a run, unless a coordinator has noted anything behind `last`.
    pub(crate) async fn claim(&self, run: &str, by: &str, last: u64) -> Result<Claimed, FleetError> {
        let mut headers = HeaderMap::new();
        headers.insert(header::NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, last.to_string());
        let noted = json(&Noted::Follows { by: by.to_owned() });
        let added =
            async { self.jetstream.publish_with_headers(notes_of(run), headers, noted.into()).await?.await };
        match added.await {
            Ok(added) => Ok(Claimed::Noted(added.sequence)),
            Err(error) if error.kind() == PublishErrorKind::WrongLastSequence => Ok(Claimed::Late),
            Err(error) if is_lack_of_room(&error) => Ok(Claimed::NoRoom(chain(&error))),
            Err(error) => Err(FleetError::Stream { run: run.to_owned(), why: chain(&error) }),
        }
    }

    /// Creates the stream that keeps the messages of a run until they are stored.
    pub(crate) async fn create_stream(&self, run: &str) -> Result<(), FleetError> {
        let config = stream::Config {
            name: stream_of(run),
            description: Some("A run of Assay over several hosts".to_owned()),
            subjects: vec![format!("assay.run.{run}.*"), notes_of(run)],
            max_bytes: RUN_BYTES_MAX,
            storage: stream::StorageType::File,
            // Agents keep what the stream does not take: nothing old may go for it.
            discard: stream::DiscardPolicy::New,
            duplicate_window: DUPLICATE_WINDOW,
            ..stream::Config::default()
        };
        let created = self.jetstream.create_stream(config).await;
        created.map(|_| ()).map_err(|error| {
            let next = if is_no_store(error.kind()) { NO_STORE } else { "" };
            FleetError::Stream { run: run.to_owned(), why: chain(&error) + next }
        })
    }

    /// Removes the stream of a run that is stored.
    pub(crate) async fn delete_stream(&self, run: &str) -> Result<(), FleetError> {
        let deleted = self.jetstream.delete_stream(stream_of(run)).await;
        deleted.map(|_| ()).map_err(|error| FleetError::Stream { run: run.to_owned(), why: chain(&error) })
    }

    /// Adds a message of an agent to the stream of a run. One that the stream has already is not added again.
    pub(crate) async fn say(&self, run: &str, name: &str, number: u64, said: Vec<u8>) -> Result<(), Unsaid> {
        let id = format!("{run}.{name}.{number}");
        let added = self.add(format!("assay.run.{run}.{name}"), &id, said).await;
        let Err(error) = added else { return Ok(()) };
        // The client says so whenever nobody answers. A server whose disk is full keeps nothing either, and still has
        // the stream when it is started again.
        if error.kind() != PublishErrorKind::StreamNotFound {
            return Err(Unsaid::NotNow);
        }
        match self.jetstream.get_stream(stream_of(run)).await {
            Ok(_) => Err(Unsaid::NotNow),
            Err(error) => Err(unsaid(&error.kind())),
        }
    }

    /// Adds a message of the coordinator to the stream of a run.
    pub(crate) async fn note(&self, run: &str, id: &str, noted: &Noted) -> Result<(), FleetError> {
        let added = self.add(notes_of(run), &format!("{run}.{id}"), json(noted)).await;
        added.map_err(|error| FleetError::Stream { run: run.to_owned(), why: chain(&error) })
    }

    async fn add(&self, subject: String, id: &str, payload: Vec<u8>) -> Result<(), PublishError> {
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Msg-Id", id);
        self.jetstream.publish_with_headers(subject, headers, payload.into()).await?.await.map(|_| ())
    }

    /// Returns a consumer of the messages of a run behind the first `known`, as the stream has them. The server forgets
    /// it when nobody asks it any more.
    pub(crate) async fn consumer(&self, run: &str, known: u64) -> Result<PullConsumer, Unsaid> {
        let stream = self.jetstream.get_stream(stream_of(run)).await;
        let stream = stream.map_err(|error| unsaid(&error.kind()))?;
        let consumer = stream.create_consumer(pull::Config {
            deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: known + 1 },
            ack_policy: AckPolicy::None,
            inactive_threshold: CONSUMER_LIFE,
            memory_storage: true,
            num_replicas: 1,
            ..pull::Config::default()
        });
        consumer.await.map_err(|_| Unsaid::NotNow)
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

    /// Takes an announcement back.
    pub(crate) async fn leave(&self, name: &str) {
        let mut headers = HeaderMap::new();
        headers.insert("KV-Operation", "DEL");
        // Where the server does not hear it, the lease ends by itself.
        if let Ok(ack) =
            self.jetstream.publish_with_headers(format!("$KV.{BUCKET}.{name}"), headers, "".into()).await
        {
            let _ = ack.await;
        }
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
            // It stays when the server is started anew: an agent's key may not be allowed to create it.
            storage: stream::StorageType::File,
            discard: stream::DiscardPolicy::New,
            allow_rollup: true,
            allow_direct: true,
            deny_delete: true,
            ..stream::Config::default()
        };
        // First: a server whose storage is reserved by streams refuses to create one that it has, too.
        if let Ok(bucket) = self.jetstream.get_key_value(BUCKET).await {
            return Ok(bucket);
        }
        let failed = |error: &dyn std::error::Error| FleetError::JetStream { why: chain(error) };
        self.jetstream.create_stream(config).await.map_err(|error| match is_no_store(error.kind()) {
            true => FleetError::NoRoom { why: chain(&error) + NO_STORE },
            false => failed(&error),
        })?;
        self.jetstream.get_key_value(BUCKET).await.map_err(|error| failed(&error))
    }
}

/// What it means for the messages of a run that its stream cannot be asked about.
fn unsaid(why: &GetStreamErrorKind) -> Unsaid {
    match why {
        GetStreamErrorKind::JetStream(error) if error.error_code() == ErrorCode::STREAM_NOT_FOUND => {
            Unsaid::NoStream
        }
        _ => Unsaid::NotNow,
    }
}

/// What to do about a server that has no place for a stream.
const NO_STORE: &str = "; see that the disk of its store (nats-server --store_dir) is there, writable and not full, \
                        and what its limits allow (max_file_store, the account's storage)";

/// Whether a server answers that it has no place for a stream: its disk, its folder or its limits.
fn is_no_store(kind: CreateStreamErrorKind) -> bool {
    let codes = [
        ErrorCode::STREAM_STORE_FAILED,
        ErrorCode::STREAM_CREATE,
        ErrorCode::STORAGE_RESOURCES_EXCEEDED,
        ErrorCode::ACCOUNT_RESOURCES_EXCEEDED,
        ErrorCode::INSUFFICIENT_RESOURCES,
    ];
    matches!(kind, CreateStreamErrorKind::JetStream(error) if codes.contains(&error.error_code()))
}

/// Whether a server answers that it has no room for a message. The stream, its disk or the account may be full.
fn is_lack_of_room(error: &PublishError) -> bool {
    let full = [
        ErrorCode::STREAM_STORE_FAILED,
        ErrorCode::STORAGE_RESOURCES_EXCEEDED,
        ErrorCode::ACCOUNT_RESOURCES_EXCEEDED,
        ErrorCode::INSUFFICIENT_RESOURCES,
    ];
    let says = std::error::Error::source(error).and_then(|source| source.downcast_ref::<jetstream::Error>());
    says.is_some_and(|says| full.contains(&says.error_code()))
}

pub(crate) fn first_line(path: &Path) -> Result<String, FleetError> {
    let read = std::fs::read_to_string(path);
    let text = read.map_err(|source| FleetError::File { path: path.to_owned(), source })?;
    Ok(text.lines().next().unwrap_or_default().trim().to_owned())
}

/// Returns the subject of requests to an agent.
fn subject(name: &str) -> String {
    format!("assay.ask.{name}")
}

/// Returns the subject of what coordinators note of a run.
fn notes_of(run: &str) -> String {
    format!("assay.plan.{run}")
}

/// Returns the subject on which the coordinator of a run is asked who it is.
fn follower_of(run: &str) -> String {
    format!("assay.follow.{run}")
}

/// Returns where an agent receives answers: its key may subscribe to nobody else's.
pub(crate) fn inbox(name: &str) -> String {
    format!("_INBOX_{name}")
}

fn stream_of(run: &str) -> String {
    format!("ASSAY_RUN_{run}")
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

#[cfg(test)]
mod tests {
    use super::*;

    /// "error creating store for stream" said nothing of the disk that was missing.
    #[test]
    fn a_server_without_a_place_for_a_stream_is_shown_what_to_look_at() {
        let kind = |code: u64| {
            let error =
                serde_json::json!({ "code": 500, "err_code": code, "description": "error creating store" });
            CreateStreamErrorKind::JetStream(serde_json::from_value(error).unwrap())
        };
        for code in [10_049, 10_077, 10_047, 10_002, 10_023] {
            assert!(is_no_store(kind(code)), "{code}");
        }
        // The name is in use with another configuration.
        assert!(!is_no_store(kind(10_058)));
        assert!(!is_no_store(CreateStreamErrorKind::TimedOut));
    }

    /// A server with a full disk disables JetStream: the loads go on. Only a stream that is not there ends them.
    #[test]
    fn only_a_stream_that_the_server_does_not_know_is_gone() {
        let says = |code: u64| {
            let error = serde_json::json!({ "code": 503, "err_code": code, "description": "" });
            unsaid(&GetStreamErrorKind::JetStream(serde_json::from_value(error).unwrap()))
        };
        assert_eq!(says(10_059), Unsaid::NoStream);
        // Not enabled for the account; unavailable; no room; the stream is offline.
        for code in [10_039, 10_008, 10_047, 10_118, 0] {
            assert_eq!(says(code), Unsaid::NotNow, "{code}");
        }
        assert_eq!(unsaid(&GetStreamErrorKind::Request), Unsaid::NotNow, "nobody answers, or not in time");
    }
}
