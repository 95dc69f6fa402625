//! Who follows a run: one coordinator at a time, as its stream says.
//!
//! Two that follow one run would count the same, and still be in each other's way: who comes to the end first removes
//! the stream. So whoever attaches asks whether the coordinator of the run is there, and *claims* the run by a note
//! that the server takes only if no other coordinator has noted anything meanwhile. A coordinator that did not answer
//! because it was frozen or cut off reads that note when it is back, and leaves the run to the other one. It gets a
//! message besides: who has followed the run to its end by then has removed the stream with the note.

use std::sync::{Arc, Mutex, PoisonError};

use assay_record::Warning;
use assay_store::Process;
use async_nats::Subscriber;
use futures_util::StreamExt as _;
use serde::{Deserialize, Serialize};

use crate::error::FleetError;
use crate::nats::bus::{Bus, Claimed};
use crate::nats::wire::parsed;

/// A run that this process follows. Who asks is answered from the claim on, for as long as the runtime lives.
pub(crate) struct Claim {
    /// Number of the claim in the stream; 0 for who has begun the run. Who claims it later has it.
    pub(crate) sequence: u64,
    /// Why the stream does not have the claim.
    pub(crate) unnoted: Option<String>,
    later: Later,
}

/// What the last one to claim a run said of it.
type Later = Arc<Mutex<Option<Notice>>>;

/// What whoever claims a run tells the coordinator that did not answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Notice {
    by: String,
    sequence: u64,
}

impl Claim {
    /// Claims a run that begins.
    pub(crate) async fn first(bus: &Bus, run: &str) -> Result<Self, FleetError> {
        let later = Later::default();
        tokio::spawn(hold(bus.clone(), bus.followers(run).await?, Arc::clone(&later)));
        Ok(Self { sequence: 0, unnoted: None, later })
    }

    /// Claims a run that has no coordinator any more, which `may_follow` may still forbid.
    pub(crate) async fn next(
        bus: &Bus,
        run: &str,
        may_follow: impl FnOnce() -> Result<(), FleetError>,
    ) -> Result<Self, FleetError> {
        let followed = |by| FleetError::Followed { run: run.to_owned(), by };
        let last = bus.last_note(run).await?;
        if let Some(by) = bus.follower(run).await {
            return Err(followed(by));
        }
        // A store on a server has a runtime of its own, which is started in none.
        tokio::task::block_in_place(may_follow)?;
        // Before the claim, so that one who attaches now gets its answer.
        let later = Later::default();
        let holding = tokio::spawn(hold(bus.clone(), bus.followers(run).await?, Arc::clone(&later)));
        let (sequence, unnoted) = match bus.claim(run, &this_process(), last).await? {
            Claimed::Noted(sequence) => (sequence, None),
            // What the stream still has can be stored all the same. A claim that finds room later is behind this.
            Claimed::NoRoom(why) => (last, Some(why)),
            Claimed::Late => {
                holding.abort();
                let _ = holding.await;
                return Err(followed(
                    bus.follower(run).await.unwrap_or_else(|| "another process".to_owned()),
                ));
            }
        };
        bus.tell_followers(run, &Notice { by: this_process(), sequence }).await;
        Ok(Self { sequence, unnoted, later })
    }

    /// Returns who has said that it claimed the run later.
    pub(crate) fn later(&self) -> Option<String> {
        let claimed = self.later.lock().unwrap_or_else(PoisonError::into_inner);
        claimed.as_ref().filter(|claimed| claimed.sequence > self.sequence).map(|claimed| claimed.by.clone())
    }

    /// Returns the warning about a run that is followed without a note of it.
    pub(crate) fn warning(&self) -> Option<Warning> {
        let why = self.unnoted.as_ref()?;
        Some(Warning {
            rule: "not-claimed".to_owned(),
            says: format!(
                "The NATS server has no room to note that {} follows this run ({why}). A coordinator that was frozen \
                 or cut off may not learn of it when it is back.",
                this_process()
            ),
            next: "Check that no other assay follows the run. What the server keeps of it is stored."
                .to_owned(),
        })
    }
}

/// Answers who asks, and keeps what the last one to claim the run tells.
async fn hold(bus: Bus, mut asked: Subscriber, later: Later) {
    while let Some(message) = asked.next().await {
        match (message.reply, parsed::<Notice>(&message.payload)) {
            (Some(reply), _) => bus.reply(reply, &this_process()).await,
            (None, Some(claimed)) => *later.lock().unwrap_or_else(PoisonError::into_inner) = Some(claimed),
            (None, None) => {}
        }
    }
}

/// How this process is called on other hosts.
fn this_process() -> String {
    match Process::this() {
        Some(Process { pid, host, .. }) => format!("process {pid} on {host}"),
        None => format!("process {} of a host without /proc", std::process::id()),
    }
}
