//! An agent: announces its host on the bus, and answers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_nats::{Message, Subscriber};
use futures_util::StreamExt as _;
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::bus::{Bus, BusOptions, LEASE, check_name};
use crate::clock::unix_ns;
use crate::error::FleetError;
use crate::hosts::ASK_LIMIT;
use crate::wire::{Announcement, Answer, Ask, json, parsed, version};

/// An announcement is renewed this often: two may be lost before the lease ends.
const RENEW_EVERY: Duration = Duration::from_secs(5);

/// Which agent it is, and where.
#[derive(Debug, Clone, Default)]
pub struct AgentOptions {
    /// Its name on the bus.
    pub name: String,
    /// How the bus is reached.
    pub bus: BusOptions,
    /// Added to the wall clock in every answer, ns. Tests plant an offset with it; otherwise 0.
    pub clock_ahead_ns: i64,
}

/// Ends an agent from another thread.
#[derive(Debug, Clone, Default)]
pub struct AgentStop(Arc<Notify>);

impl AgentStop {
    /// Ends the agent, at once or as soon as it serves.
    pub fn stop(&self) {
        self.0.notify_one();
    }
}

/// An agent that is on the bus.
#[derive(Debug)]
pub struct Agent {
    runtime: Runtime,
    serving: Serving,
    asked: Subscriber,
}

#[derive(Debug)]
struct Serving {
    options: AgentOptions,
    bus: Bus,
    announcement: Vec<u8>,
    /// When the announcement was sent that the server has.
    renewed: Instant,
}

impl Agent {
    /// Connects and announces this host.
    ///
    /// # Errors
    /// If the bus cannot be reached or keeps no announcements, and if the name is another agent's.
    pub fn start(options: AgentOptions) -> Result<Self, FleetError> {
        check_name(&options.name)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(FleetError::Runtime)?;
        let (serving, asked) = runtime.block_on(Serving::begin(options))?;
        Ok(Self { runtime, serving, asked })
    }

    /// Answers until it is stopped, and waits for a server that is away.
    ///
    /// # Errors
    /// If the connection was closed for good.
    pub fn serve(mut self, stop: &AgentStop) -> Result<(), FleetError> {
        self.runtime.block_on(self.serving.serve(self.asked, stop))
    }
}

impl Serving {
    async fn begin(options: AgentOptions) -> Result<(Self, Subscriber), FleetError> {
        let bus = Bus::connect(&options.bus, &format!("assay agent {}", options.name)).await?;
        if bus.ask(&options.name, &Ask::Time, ASK_LIMIT).await.is_some() {
            return Err(FleetError::NameTaken(options.name));
        }
        let asked = bus.asked(&options.name).await?;
        let announcement = json(&Announcement::new(&options.name, &assay_host::host_facts()));
        let renewed = Instant::now();
        bus.announce(&options.name, announcement.clone()).await?;
        Ok((Self { options, bus, announcement, renewed }, asked))
    }

    async fn serve(&mut self, mut asked: Subscriber, stop: &AgentStop) -> Result<(), FleetError> {
        let connected = Arc::clone(&self.bus.connected);
        let mut renew = tokio::time::interval(RENEW_EVERY);
        // The server may be away for long: requests are answered all the same, and one renewal waits at most.
        let mut renewing: JoinSet<Option<Instant>> = JoinSet::new();
        loop {
            tokio::select! {
                message = asked.next() => {
                    let Some(message) = message else { return Err(FleetError::Closed) };
                    self.answer(message).await;
                }
                Some(renewed) = renewing.join_next() => {
                    self.renewed = renewed.ok().flatten().unwrap_or(self.renewed);
                }
                // A server that was started anew knows of nobody.
                () = connected.notified() => self.renew(&mut renewing),
                _ = renew.tick(), if renewing.is_empty() => self.renew(&mut renewing),
                () = stop.0.notified() => break,
            }
        }
        // Where the server does not hear it, the lease ends by itself.
        let leave = async { self.bus.bucket().await.ok()?.delete(&self.options.name).await.ok() };
        let _ = tokio::time::timeout(ASK_LIMIT, leave).await;
        Ok(())
    }

    fn renew(&self, renewing: &mut JoinSet<Option<Instant>>) {
        let (bus, name, announcement) =
            (self.bus.clone(), self.options.name.clone(), self.announcement.clone());
        renewing.spawn(async move {
            let sent = Instant::now();
            bus.announce(&name, announcement).await.ok().map(|()| sent)
        });
    }

    async fn answer(&self, message: Message) {
        // First of all, as the time until the answer is sent counts as an error of the clock.
        let unix_ns = unix_ns().saturating_add(self.options.clock_ahead_ns);
        let Some(reply) = message.reply else { return };
        let answer = match parsed(&message.payload) {
            Some(Ask::Time) => {
                let left = LEASE.saturating_sub(self.renewed.elapsed());
                Answer::Time { unix_ns, lease_left_ms: u64::try_from(left.as_millis()).unwrap_or(u64::MAX) }
            }
            None => Answer::Refused(format!(
                "agent {} ({}) does not know the request",
                self.options.name,
                version()
            )),
        };
        self.bus.answer(reply, &answer).await;
    }
}
