//! An agent: announces its host on the bus, answers, and runs what its configuration allows.

use std::cmp::Ordering;
use std::sync::Arc;
use std::time::{Duration, Instant};

use assay_record::HostFacts;
use async_nats::{Message, Subscriber};
use futures_util::StreamExt as _;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::error::FleetError;
use crate::nats::bus::{Bus, Unsaid, check_name};
use crate::nats::clock::Steady;
use crate::nats::errand::Errand;
use crate::nats::probe::ASK_LIMIT;
use crate::nats::wire::{Announcement, Answer, Ask, Task, json, parsed, version};
use crate::order::{AgentOptions, LEASE};

/// An announcement is renewed this often: two may be lost before the lease ends.
const RENEW_EVERY: Duration = Duration::from_secs(5);
/// A message that the bus did not take is sent again after this.
const SEND_AGAIN: Duration = Duration::from_millis(200);
/// An interval or a sample waits for so long for others that are sent with it.
const TOGETHER: Duration = Duration::from_millis(250);
/// Messages of a run that is over wait for so long for the bus, if another run is to begin.
const UNSENT_LIMIT: Duration = Duration::from_secs(60);
/// When an agent is ended, its run gets so long to stop and to say what it measured.
const LEAVE_LIMIT: Duration = Duration::from_secs(5);

/// Ends an agent from another thread.
#[derive(Debug, Clone, Default)]
pub struct AgentStop(Arc<watch::Sender<bool>>);

impl AgentStop {
    /// Ends the agent, at once or as soon as it serves.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

/// An agent that is on the bus, or several that share a connection.
#[derive(Debug)]
pub struct Agent {
    runtime: Runtime,
    serving: Vec<(Serving, Subscriber)>,
}

/// Whether an agent keeps its name.
#[derive(Debug, PartialEq, Eq)]
enum Stays {
    Yes,
    No,
}

#[derive(Debug)]
struct Serving {
    options: AgentOptions,
    bus: Bus,
    announcement: Vec<u8>,
    /// When it began, ns since 1970: of two agents with one name the later one goes.
    since_unix_ns: i64,
    /// When the announcement was sent that the server has.
    renewed: Instant,
    errand: Option<Errand>,
    /// When the present run was seen to be over.
    over: Option<Instant>,
    /// Carries the messages of the present run to the bus.
    sending: JoinSet<()>,
}

impl Agent {
    /// Connects and announces this host.
    ///
    /// # Errors
    /// If the bus cannot be reached or keeps no announcements, and if the name is another agent's.
    pub fn start(options: &AgentOptions) -> Result<Self, FleetError> {
        let names = vec![options.name.clone()];
        Self::swarm(options, &names)
    }

    /// The same for an agent of each name, all in one thread and with one connection: for rehearsals.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn swarm(options: &AgentOptions, names: &[String]) -> Result<Self, FleetError> {
        names.iter().try_for_each(|name| check_name(name))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(FleetError::Runtime)?;
        let serving = runtime.block_on(async {
            let bus = Bus::connect_agent(&options.bus, &options.name).await?;
            let facts = assay_runner::host_facts();
            let mut serving = Vec::new();
            for name in names {
                let options = AgentOptions { name: name.clone(), ..options.clone() };
                let begin = Serving::begin(bus.clone(), options, &facts);
                serving.push(bus.allowed(name, begin).await?);
            }
            Ok::<_, FleetError>(serving)
        })?;
        Ok(Self { runtime, serving })
    }

    /// Answers until it is stopped, and waits for a server that is away.
    ///
    /// # Errors
    /// If the connection was closed for good, and if another agent has the name. Of several the others go on until they
    /// end, and the first error is returned then.
    pub fn serve(self, stop: &AgentStop) -> Result<(), FleetError> {
        self.runtime.block_on(async {
            let mut all = JoinSet::new();
            for (mut serving, asked) in self.serving {
                let stop = stop.0.subscribe();
                all.spawn(async move { serving.serve(asked, stop).await });
            }
            let mut first = Ok(());
            while let Some(ended) = all.join_next().await {
                // One that panicked has said so, and the others go on: their runs know nothing of it.
                first = first.and(ended.unwrap_or(Ok(())));
            }
            first
        })
    }
}

impl Serving {
    async fn begin(
        bus: Bus,
        options: AgentOptions,
        facts: &HostFacts,
    ) -> Result<(Self, Subscriber), FleetError> {
        if bus.ask(&options.name, &Ask::Time, ASK_LIMIT).await.is_some() {
            return Err(FleetError::NameTaken(options.name));
        }
        let asked = bus.asked(&options.name).await?;
        let announcement = json(&Announcement::new(&options.name, facts, options.allowed.lines()));
        let renewed = Instant::now();
        bus.announce(&options.name, announcement.clone()).await?;
        let (errand, over, sending) = (None, None, JoinSet::new());
        let since_unix_ns = options.wall.unix_ns();
        let serving = Self { options, bus, announcement, since_unix_ns, renewed, errand, over, sending };
        serving.say_who().await;
        Ok((serving, asked))
    }

    async fn serve(
        &mut self,
        mut asked: Subscriber,
        mut stop: watch::Receiver<bool>,
    ) -> Result<(), FleetError> {
        let stopped = async move {
            // Its sender lives as long as whoever serves.
            let _ = stop.wait_for(|is_set| *is_set).await;
        };
        let mut stopped = std::pin::pin!(stopped);
        let mut connected = self.bus.connected.clone();
        let mut renew = tokio::time::interval(RENEW_EVERY);
        // The server may be away for long: requests are answered all the same, and one renewal waits at most.
        let mut renewing: JoinSet<Option<Instant>> = JoinSet::new();
        loop {
            tokio::select! {
                message = asked.next() => {
                    let Some(message) = message else { return Err(FleetError::Closed) };
                    if self.answer(message).await == Stays::No {
                        self.end_unsaid().await;
                        // The entry is that of the other one.
                        return Err(FleetError::NameTaken(self.options.name.clone()));
                    }
                }
                Some(renewed) = renewing.join_next() => {
                    self.renewed = renewed.ok().flatten().unwrap_or(self.renewed);
                }
                // A server that was started anew knows of nobody, and somebody may have taken the name meanwhile.
                Ok(()) = connected.changed() => {
                    self.renew(&mut renewing);
                    self.say_who().await;
                }
                _ = renew.tick(), if renewing.is_empty() => self.renew(&mut renewing),
                () = &mut stopped => break,
            }
        }
        self.end_errand().await;
        let _ = tokio::time::timeout(ASK_LIMIT, self.bus.leave(&self.options.name)).await;
        Ok(())
    }

    /// Stops the present run, and has it say what it measured.
    async fn end_errand(&mut self) {
        let Some(errand) = &self.errand else { return };
        errand.leave();
        wait(|| errand.is_said()).await;
    }

    /// Stops the present run without a word: the other agent of this name says what counts, with the same numbers.
    async fn end_unsaid(&mut self) {
        self.sending.shutdown().await;
        let Some(errand) = &self.errand else { return };
        errand.stop();
        wait(|| errand.is_over()).await;
    }

    fn renew(&self, renewing: &mut JoinSet<Option<Instant>>) {
        let (bus, name, announcement) =
            (self.bus.clone(), self.options.name.clone(), self.announcement.clone());
        renewing.spawn(async move {
            let sent = Instant::now();
            bus.announce(&name, announcement).await.ok().map(|()| sent)
        });
    }

    /// Two agents that begin at one moment, or one that was cut off while another one began, see nobody of their name:
    /// both would do what is asked of one.
    async fn say_who(&self) {
        let since_unix_ns = self.since_unix_ns;
        self.bus.tell(&self.options.name, &Ask::Agent { since_unix_ns }).await;
    }

    async fn answer(&mut self, message: Message) -> Stays {
        // First of all, as the time until the answer is sent counts as an error of the clock.
        let (wall, clock) = (&self.options.wall, self.errand.as_ref().map(|errand| errand.clock));
        let unix_ns = clock.map_or_else(|| wall.unix_ns(), |clock| clock.unix_ns());
        let Some(reply) = message.reply else { return self.hear(&message).await };
        let answer = match parsed(&message.payload) {
            Some(Ask::Time) => {
                let left = LEASE.saturating_sub(self.renewed.elapsed());
                let set_ns = clock.map_or(0, |clock| clock.set_ns(wall));
                let lease_left_ms = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
                Answer::Time { unix_ns, set_ns, lease_left_ms }
            }
            Some(ask) => self.obey(ask),
            None => Answer::Refused(format!(
                "agent {} ({}) does not know this request; install the same version of Assay on all hosts",
                self.options.name,
                version()
            )),
        };
        self.bus.reply(reply, &answer).await;
        Stays::Yes
    }

    /// Hears another agent of the same name, or itself.
    async fn hear(&self, message: &Message) -> Stays {
        let Some(Ask::Agent { since_unix_ns }) = parsed(&message.payload) else { return Stays::Yes };
        match since_unix_ns.cmp(&self.since_unix_ns) {
            Ordering::Less => Stays::No,
            Ordering::Equal => Stays::Yes,
            Ordering::Greater => {
                self.say_who().await;
                Stays::Yes
            }
        }
    }

    fn obey(&mut self, ask: Ask) -> Answer {
        match ask {
            Ask::Time | Ask::Agent { .. } => Answer::UnknownRun,
            Ask::Inspect(task) => self.begin_errand(*task),
            Ask::Open(run) => self.with(&run, |errand| errand.open(true)),
            Ask::CallOff(run) => self.with(&run, |errand| errand.open(false)),
            Ask::Begin { run, step, at_unix_ns } => {
                self.with(&run, |errand| errand.begin_step(step, at_unix_ns))
            }
            Ask::Enough { run, step } => self.with(&run, |errand| errand.enough(step)),
            Ask::Stop(run) => self.with(&run, Errand::stop),
            Ask::Knows(run) => self.with(&run, Errand::heard),
        }
    }

    fn with(&self, run: &str, obey: impl FnOnce(&Errand)) -> Answer {
        match self.errand.as_ref().filter(|errand| errand.run == run) {
            Some(errand) => {
                obey(errand);
                Answer::Accepted
            }
            None => Answer::UnknownRun,
        }
    }

    fn begin_errand(&mut self, task: Task) -> Answer {
        if let Some(errand) = &self.errand {
            if errand.run == task.run {
                return Answer::Accepted;
            }
            let over = self.over.or_else(|| errand.is_over().then(Instant::now));
            self.over = over;
            let is_free = errand.is_said()
                || errand.is_useless()
                || over.is_some_and(|over| over.elapsed() > UNSENT_LIMIT);
            if !is_free {
                return Answer::Refused(format!(
                    "it is busy with run {0}; wait for its end, or follow it with assay attach {0} if its coordinator \
                     has ended",
                    errand.run
                ));
            }
        }
        let allowed = match self.options.allowed.permit(&self.options.name, &task) {
            Ok(allowed) => allowed,
            Err(why) => return Answer::Refused(why),
        };
        let clock = Steady::begin(&self.options.wall);
        let errand = Errand::begin(task, allowed, Arc::clone(&self.options.run_here), clock);
        self.sending.abort_all();
        self.sending.spawn(send(self.bus.clone(), self.options.name.clone(), &errand));
        (self.errand, self.over) = (Some(errand), None);
        Answer::Accepted
    }
}

/// Waits for the end of a run as long as an agent that ends may.
async fn wait(is_done: impl Fn() -> bool) {
    let until = Instant::now() + LEAVE_LIMIT;
    while !is_done() && Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Carries the messages of a run to the bus, each until it is taken.
fn send(bus: Bus, name: String, errand: &Errand) -> impl Future<Output = ()> + use<> {
    let (run, outbox, mut kept) = (errand.run.clone(), Arc::clone(&errand.outbox), errand.kept());
    async move {
        loop {
            let Some((number, said)) = outbox.first() else {
                outbox.filled.notified().await;
                // What may wait waits for what comes soon: the interval and the sample of a second are one message.
                if !outbox.is_pressing() {
                    let _ = tokio::time::timeout(TOGETHER, outbox.pressing.notified()).await;
                }
                continue;
            };
            match bus.say(&run, &name, number, said).await {
                Ok(()) => {
                    outbox.taken();
                    kept(true);
                }
                Err(why) => {
                    kept(why != Unsaid::NoStream);
                    tokio::time::sleep(SEND_AGAIN).await;
                }
            }
        }
    }
}
