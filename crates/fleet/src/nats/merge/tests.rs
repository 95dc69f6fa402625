use assay_record::{AccessStats, Interval, MemberFacts, OpStats, StepCpu, StepMoments, TurnStats};
use assay_record::{JobEnd, StatedMemory, StepReason};
use assay_spec::{Overrides, PlanFile};

use super::*;

const SECOND: u64 = 1_000_000_000;
const START: StepId = StepId { test: 0, step: 0 };
/// The run began then, ns since 1970.
const BEGAN: i64 = 1_000_000_000_000;

/// Two hosts; the clock of b is 3 s ahead.
fn placed() -> Placed {
    placed_on(&["a", "b"])
}

/// The same on these hosts; the clock of each is 3 s ahead of that of the one before.
fn placed_on(hosts: &[&str]) -> Placed {
    let text = "[[test]]\nname = \"t\"\naccess = [{ size = \"4KiB\" }]\nrun = \"2s\"\n";
    let plan = PlanFile::parse("p", text).unwrap().resolve(&Overrides::default()).unwrap();
    let clock = |(at, host): (i64, &&str)| {
        ((*host).to_owned(), ClockOffset { ahead_ns: at * 3 * SECOND as i64, error_ns: 50 })
    };
    Placed {
        version: String::new(),
        run: "r".into(),
        started_unix_ms: 1_000_000,
        plan,
        hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
        targets: 1,
        clocks: (0..).zip(hosts).map(clock).collect(),
        clocks_unix_ns: None,
        label: None,
        note: None,
        array: None,
        stated: StatedMemory::default(),
        setting: RunSetting::default(),
    }
}

/// What a host says in a run of two seconds, whose window begins `late_ns` after the stated moment.
fn said(placed: &Placed, host: usize, late_ns: u64) -> Vec<Said> {
    let of_a_second = |_| {
        let mut access = AccessStats::default();
        (0..10 * (host as u64 + 1)).for_each(|n| access.read.completed(4096, 1000 + n, 1000 + n));
        access
    };
    let whats = whats(placed, late_ns, of_a_second);
    let epoch_unix_ns = BEGAN + placed.clocks.values().nth(host).unwrap().ahead_ns;
    (1..).zip(whats).map(|(number, what)| Said { number, epoch_unix_ns, what: vec![what] }).collect()
}

fn whats(placed: &Placed, late_ns: u64, of_a_second: impl Fn(u64) -> AccessStats) -> Vec<What> {
    let header = RunHeader {
        run: "r".into(),
        version: "1".into(),
        started_unix_ms: 0,
        plan: placed.plan.clone(),
        targets: vec![TargetFacts { address: "null:".into(), member: Default::default() }],
        host: HostFacts { cpus: 4, cpus_online: 4, ..HostFacts::default() },
        array: None,
        stated: StatedMemory::default(),
        imported: None,
        setting: RunSetting::default(),
        diagnosis: None,
    };
    let window_ns = SECOND + late_ns;
    let interval = |second: u64| {
        RunEvent::Interval(Box::new(Interval {
            test: 0,
            step: 0,
            job: 0,
            start_ns: second * SECOND,
            end_ns: (second + 1) * SECOND,
            by_access: vec![of_a_second(second)],
            reconnects: 0,
            turns: TurnStats::default(),
        }))
    };
    let jobs = vec![JobEnd { measured_ns: 2 * SECOND, due: None, full_ns: None }];
    let mut end = StepEnd::new(START, StepReason::Done, jobs, StepCpu { tester_ns: 5, ..StepCpu::default() });
    end.moments = Some(StepMoments {
        load_ns: window_ns,
        first_io_ns: Some(window_ns + 7),
        first_due_ns: Some(window_ns + 5),
        window_ns: Some(window_ns),
    });
    let event = |at_ns, what| What::Event(Box::new(Event { at_ns, what }));
    vec![
        What::Inspected,
        event(0, RunEvent::Started(Box::new(header))),
        event(1, RunEvent::StepStarted(START)),
        What::Ready(START),
        event(window_ns, RunEvent::PhaseStarted { step: START, phase: Phase::Measure }),
        event(window_ns + SECOND, interval(0)),
        event(window_ns + 2 * SECOND, interval(1)),
        event(window_ns + 2 * SECOND, RunEvent::StepEnded(Box::new(end))),
        event(window_ns + 2 * SECOND, RunEvent::Ended(Outcome::Done)),
        What::Over { failures: vec![] },
    ]
}

fn begin() -> Noted {
    let clocks = placed().clocks;
    Noted::Begin { step: START, at_unix_ns: BEGAN + SECOND as i64, clocks, clocks_unix_ns: Some(BEGAN) }
}

/// Everything that both hosts say, one message of each in turn, and the word to begin when both are ready.
fn all(a: Vec<Said>, b: Vec<Said>) -> Vec<Event> {
    let mut merge = Merge::new(placed()).unwrap();
    let mut events = Vec::new();
    for (a, b) in a.into_iter().zip(b) {
        events.extend(merge.take("a", a));
        events.extend(merge.take("b", b));
        if merge.due().is_some() {
            events.extend(merge.note(begin()));
        }
    }
    assert!(merge.is_over());
    events
}

fn intervals(events: &[Event]) -> Vec<(u32, u64, u64)> {
    let of = |event: &Event| match &event.what {
        RunEvent::Interval(of) => Some((of.job, of.start_ns, of.sum().read.ops())),
        _ => None,
    };
    events.iter().filter_map(of).collect()
}

fn end_of(events: &[Event]) -> &StepEnd {
    let end = events.iter().find_map(|event| match &event.what {
        RunEvent::StepEnded(end) => Some(&**end),
        _ => None,
    });
    end.unwrap()
}

#[test]
fn two_hosts_are_two_jobs_of_one_run_whatever_their_clocks_show() {
    let placed = placed();
    let events = all(said(&placed, 0, 0), said(&placed, 1, 0));
    assert!(matches!(&events[0].what, RunEvent::Started(header) if header.host.cpus == 8));
    assert_eq!(intervals(&events), [(0, 0, 10), (1, 0, 20), (0, SECOND, 10), (1, SECOND, 20)]);
    let end = end_of(&events);
    assert_eq!((end.jobs.len(), end.cpu.tester_ns), (2, 10));
    let first: Vec<Option<i64>> = end.hosts.iter().map(|host| host.first_io_ns).collect();
    assert_eq!(first, [Some(7), Some(7)], "by the coordinator's clock");
    assert!(end.hosts.iter().all(|host| host.first_wait_ns == 5));
    assert!(matches!(events.last().unwrap().what, RunEvent::Ended(Outcome::Done)));
    assert!(events.iter().all(|event| event.at_ns < 4 * SECOND), "3 s of b's clock are in a time");
}

#[test]
fn a_message_that_comes_twice_counts_once() {
    let placed = placed();
    let twice = |said: Vec<Said>| said.into_iter().flat_map(|said| [said.clone(), said]).collect::<Vec<_>>();
    let once = all(said(&placed, 0, 0), said(&placed, 1, 0));
    assert_eq!(all(twice(said(&placed, 0, 0)), twice(said(&placed, 1, 0))), once);
}

/// Its last offset was taken without a word, with the error of the day before.
#[test]
fn a_host_whose_clock_did_not_answer_begins_by_its_last_offset_and_is_named() {
    // The list of hosts, which measures clocks, took five seconds.
    let placed = Placed { clocks_unix_ns: Some(BEGAN - 5 * SECOND as i64), ..placed() };
    let (a, b) = (said(&placed, 0, 0), said(&placed, 1, 0));
    let mut merge = Merge::new(placed).unwrap();
    let mut events = Vec::new();
    for (a, b) in a.into_iter().zip(b) {
        events.extend(merge.take("a", a));
        events.extend(merge.take("b", b));
        if merge.due().is_some() {
            let Noted::Begin { step, at_unix_ns, mut clocks, clocks_unix_ns } = begin() else {
                unreachable!()
            };
            clocks.remove("b");
            // 25 s after the clocks may have been measured.
            let at_unix_ns = at_unix_ns + 19 * SECOND as i64;
            events.extend(merge.note(Noted::Begin { step, at_unix_ns, clocks, clocks_unix_ns }));
        }
    }
    let clocks: Vec<ClockOffset> = end_of(&events).hosts.iter().map(|host| host.clock).collect();
    let of = |ahead_ns: u64, error_ns| ClockOffset { ahead_ns: ahead_ns as i64, error_ns };
    assert_eq!(clocks, [of(0, 50), of(3 * SECOND, 50 + 25_000_000)]);
    let warnings = events.iter().filter_map(|event| match &event.what {
        RunEvent::Warning(warning) => Some(warning.says.as_str()),
        _ => None,
    });
    let [says] = *warnings.collect::<Vec<_>>() else { panic!("one warning") };
    assert!(
        says.contains("clock of b was not measured before a step") && says.contains("within 25.0 ms"),
        "{says}"
    );
}

/// A host that was asked late began late, and its seconds are where they were.
#[test]
fn a_host_that_begins_late_is_shifted_by_as_much() {
    let placed = placed();
    let events = all(said(&placed, 0, 0), said(&placed, 1, SECOND / 2));
    assert_eq!(intervals(&events)[1], (1, SECOND / 2, 20));
    assert_eq!(end_of(&events).hosts[1].first_io_ns, Some(SECOND as i64 / 2 + 7));
}

/// It was said of a run of three hosts that "the wall clock" was set.
#[test]
fn a_gap_says_which_host_had_it_and_lies_where_its_intervals_are() {
    use assay_record::{Gap, GapKind, GapPlace};
    let placed = placed();
    let mut b = said(&placed, 1, SECOND / 2);
    for what in b.iter_mut().flat_map(|said| &mut said.what) {
        if let What::Event(event) = what
            && let RunEvent::StepEnded(end) = &mut event.what
        {
            end.gaps = vec![Gap {
                kind: GapKind::ClockBack,
                length_ns: 3 * SECOND,
                start_ns: 2 * SECOND,
                end_ns: 2 * SECOND,
                place: GapPlace::Window,
                since_window_ns: Some(SECOND as i64 / 2),
                host: None,
            }];
        }
    }
    let events = all(said(&placed, 0, 0), b);
    let gaps: Vec<_> = end_of(&events).gaps.iter().map(|gap| (gap.host, gap.since_window_ns)).collect();
    assert_eq!(gaps, [(Some(1), Some(SECOND as i64))]);
}

/// What happened to the paths of a late host is drawn where its intervals are.
#[test]
fn what_happened_to_paths_of_a_late_host_is_shifted_with_its_intervals() {
    let placed = placed();
    let moments = |late_ns, host| {
        let mut said = said(&placed, host, late_ns);
        for what in said.iter_mut().flat_map(|said| &mut said.what) {
            if let What::Event(event) = what
                && let RunEvent::StepEnded(end) = &mut event.what
            {
                let at = |since_window_ns| assay_record::PathMoment {
                    since_window_ns,
                    member: "m".into(),
                    says: "path 1 is up".into(),
                };
                end.path_moments = vec![at(5)];
            }
        }
        said
    };
    let events = all(moments(0, 0), moments(SECOND / 2, 1));
    let at: Vec<u64> = end_of(&events).path_moments.iter().map(|of| of.since_window_ns).collect();
    assert_eq!(at, [5, SECOND / 2 + 5]);
}

#[test]
fn a_lost_host_ends_nothing_and_what_it_sent_is_kept() {
    let placed = placed();
    let (a, b) = (said(&placed, 0, 0), said(&placed, 1, 0));
    let mut merge = Merge::new(placed).unwrap();
    let mut events = Vec::new();
    for (number, (a, b)) in a.into_iter().zip(b.clone()).enumerate() {
        events.extend(merge.take("a", a));
        if number < 6 {
            events.extend(merge.take("b", b));
        }
        if merge.due().is_some() {
            events.extend(merge.note(begin()));
        }
    }
    assert!(!merge.is_over(), "b may still come");
    events.extend(merge.note(Noted::Lost { host: "b".into(), why: "silent".into(), at_unix_ns: BEGAN }));
    assert!(merge.is_over() && merge.take("b", b[6].clone()).is_empty(), "it was given up");
    assert_eq!(intervals(&events), [(0, 0, 10), (1, 0, 20), (0, SECOND, 10)]);
    let end = end_of(&events);
    assert_eq!(end.jobs[1].measured_ns, 2 * SECOND, "its rate is over the whole window");
    assert_eq!(end.hosts[1].lost.as_deref(), Some("silent"));
    assert!(matches!(events.last().unwrap().what, RunEvent::Ended(Outcome::Failed)));
}

/// The wall clock of b is set 3 s ahead between two steps: b states its epoch anew by it at the gate.
#[test]
fn a_clock_that_is_set_between_two_steps_shifts_nothing() {
    let text = "[[test]]\nname = \"t\"\naccess = [{ size = \"4KiB\" }]\nrun = \"2s\"\n";
    let two = format!("{text}{}", text.replace("\"t\"", "\"u\""));
    let plan = PlanFile::parse("p", &two).unwrap().resolve(&Overrides::default()).unwrap();
    let second = StepId { test: 1, step: 0 };
    let go = |set_ns: i64| {
        let placed = Placed { plan: plan.clone(), ..placed() };
        let (mut a, mut b) = (said(&placed, 0, 0), said(&placed, 1, 0));
        for (host, set_ns) in [(&mut a, 0), (&mut b, set_ns)] {
            let (first, over) = (host.split_off(3), host.len());
            let over_at = first.len() - 2;
            let epoch_unix_ns = first[0].epoch_unix_ns + set_ns;
            let again = first[..over_at].iter().map(|said| later(said, second, 10 * SECOND, epoch_unix_ns));
            let again: Vec<Said> = again.collect();
            host.extend(first[..over_at].iter().cloned());
            host.extend(again);
            host.extend(first[over_at..].iter().cloned().map(|said| Said { epoch_unix_ns, ..said }));
            (1..).zip(host.iter_mut()).for_each(|(number, said)| said.number = number);
            assert_eq!(over, 3);
        }
        let mut merge = Merge::new(placed.clone()).unwrap();
        let mut events = Vec::new();
        for (a, b) in a.into_iter().zip(b) {
            events.extend(merge.take("a", a));
            events.extend(merge.take("b", b));
            if let Some((step, _)) = merge.due() {
                let mut clocks = placed.clocks.clone();
                let at_unix_ns = BEGAN + SECOND as i64 * if step == second { 11 } else { 1 };
                if step == second {
                    clocks.get_mut("b").unwrap().ahead_ns += set_ns;
                }
                events.extend(merge.note(Noted::Begin { step, at_unix_ns, clocks, clocks_unix_ns: None }));
            }
        }
        assert!(merge.is_over());
        events
    };
    let (steady, set) = (go(0), go(3 * SECOND as i64));
    assert_eq!(intervals(&steady).len(), 8);
    assert_eq!(intervals(&set), intervals(&steady));
    let times = |events: &[Event]| events.iter().map(|event| event.at_ns).collect::<Vec<_>>();
    assert_eq!(times(&set), times(&steady));
    assert_eq!(end_of(&set).hosts[1].first_io_ns, Some(7));
}

/// The same of a later step, by a clock that was set meanwhile.
fn later(said: &Said, step: StepId, by_ns: u64, epoch_unix_ns: i64) -> Said {
    let what = said.what.iter().cloned().map(|what| match what {
        What::Ready(_) => What::Ready(step),
        What::Event(mut event) => {
            event.at_ns += by_ns;
            match &mut event.what {
                RunEvent::PhaseStarted { step: of, .. } => *of = step,
                RunEvent::Interval(of) => of.test = step.test,
                RunEvent::StepEnded(end) => {
                    end.step = step;
                    let moments = end.moments.as_mut().unwrap();
                    moments.load_ns += by_ns;
                    moments.first_io_ns = moments.first_io_ns.map(|at| at + by_ns);
                }
                _ => {}
            }
            What::Event(event)
        }
        what => what,
    });
    Said { number: said.number, epoch_unix_ns, what: what.collect() }
}

/// Two hosts that run alone, one after the other, are ready at once, and measured at the same time.
#[test]
fn steps_of_different_hosts_follow_one_another() {
    let text = ["a", "b"].map(|host| {
        format!(
            "[[test]]\nname = \"{host} alone\"\naccess = [{{ size = \"4KiB\" }}]\n[[test.job]]\nname = \"x\"\nhosts = \
             [\"{host}\"]\n"
        )
    });
    let plan = PlanFile::parse("p", &text.concat()).unwrap().resolve(&Overrides::default()).unwrap();
    let placed = Placed { plan, ..placed() };
    let (a, b) = (said(&placed, 0, 0), said(&placed, 1, 0));
    let mut merge = Merge::new(placed).unwrap();
    for (a, b) in a.iter().zip(&b).take(4) {
        merge.take("a", a.clone());
        merge.take("b", b.clone());
    }
    let second = StepId { test: 1, step: 0 };
    assert_eq!(merge.due(), Some((START, vec![("a".to_owned(), START)])));
    let started = |events: Vec<Event>, id| events.iter().any(|event| event.what == RunEvent::StepStarted(id));
    assert!(started(merge.note(begin()), START));
    assert_eq!(merge.due(), None, "b is ready, and a measures");
    a.iter().skip(4).for_each(|said| drop(merge.take("a", said.clone())));
    assert_eq!(merge.due(), Some((second, vec![("b".to_owned(), START)])));
}

/// Service times and intended ones with a long tail, as many as four hosts do in two seconds; the same at every call.
fn recorded() -> Vec<(u64, u64)> {
    let mut at = 26;
    let mut random = || assay_spec::random::split_mix(&mut at);
    let one = |_| {
        let tail = random().leading_zeros();
        let service_ns = (20_000 + random() % 5_000) << tail.min(12);
        (service_ns, service_ns + random() % 1_000_000)
    };
    (0..20_000).map(one).collect()
}

/// What a summary is made of when the I/Os whose number has `rest` are those of the stream, of `of` streams.
fn share(rest: usize, of: usize, second: u64) -> AccessStats {
    let mut access = AccessStats { read: OpStats::with_response(), ..AccessStats::default() };
    let own = recorded().into_iter().enumerate().filter(|(number, _)| number % of == rest);
    let (first, last): (Vec<_>, Vec<_>) = own.partition(|(number, _)| *number < 9_000);
    let of_second = if second == 0 { first } else { last };
    of_second.iter().for_each(|(_, (service, intended))| access.read.completed(4096, *service, *intended));
    access
}

/// The same I/Os by one process and by four agents whose clocks are 9 s apart, over the bus' own form: the histograms
/// are equal bucket for bucket, and so is every percentile.
#[test]
fn four_agents_give_the_histogram_of_one_process_that_did_the_same_ios() {
    let alone = whats(&placed_on(&["a"]), 0, |second| share(0, 1, second));
    let alone: Vec<Event> = alone
        .into_iter()
        .filter_map(|what| match what {
            What::Event(event) => Some(*event),
            _ => None,
        })
        .collect();
    let hosts = ["a", "b", "c", "d"];
    let placed = placed_on(&hosts);
    let mut merge = Merge::new(placed.clone()).unwrap();
    let streams = (0..4).map(|host| whats(&placed, 0, move |second| share(host, 4, second)));
    let streams: Vec<Vec<What>> = streams.collect();
    let mut together = Vec::new();
    for number in 1..=streams[0].len() {
        for (host, clock) in placed.clocks.values().enumerate() {
            let what = vec![streams[host][number - 1].clone()];
            let said = Said { number: number as u64, epoch_unix_ns: BEGAN + clock.ahead_ns, what };
            let arrived: Said = crate::nats::wire::parsed(&crate::nats::wire::json(&said)).unwrap();
            together.extend(merge.take(hosts[host], arrived));
        }
        if merge.due().is_some() {
            let at_unix_ns = BEGAN + SECOND as i64;
            together.extend(merge.note(Noted::Begin {
                step: START,
                at_unix_ns,
                clocks: placed.clocks.clone(),
                clocks_unix_ns: None,
            }));
        }
    }
    let total = |events: &[Event]| {
        let RunEvent::Started(header) = &events[0].what else { panic!("no header") };
        let mut collector = assay_analysis::Collector::new(header);
        events.iter().for_each(|event| collector.add(event));
        collector.summary().steps[0].total.clone()
    };
    let (one, four) = (total(&alone), total(&together));
    assert_eq!((four.ops, four.bytes), (20_000, 20_000 * 4096));
    assert_eq!((one.ops, one.bytes), (four.ops, four.bytes));
    assert!(one.service == four.service && one.response == four.response, "a bucket differs");
    for share in [0.5, 0.99, 0.999] {
        assert_eq!(one.service.quantile_ns(share), four.service.quantile_ns(share));
    }
    let tail = four.service.quantile_ns(0.999).unwrap() / four.service.quantile_ns(0.5).unwrap();
    assert!(tail > 50.0, "the planted tail is there: {tail}");
}

/// Who is waited for is named in every phase, and nobody who has done it or is lost.
#[test]
fn what_is_waited_for_follows_the_hosts_through_the_run() {
    use crate::nats::waiting::Wait;

    let placed = placed();
    let mut merge = Merge::new(placed.clone()).unwrap();
    let lines = |host| said(&placed, host, 0).into_iter();
    let (mut a, mut b) = (lines(0), lines(1));
    assert_eq!(merge.inspecting(), ["a", "b"]);
    let at = Some(BEGAN + SECOND as i64);
    let end = Some(BEGAN + 3 * SECOND as i64);
    // After each message of a: b is waited for, and with the same message of b both are for what comes next.
    for (of_b, of_both) in [
        ((Wait::Open, None), (Wait::Open, None)),
        ((Wait::Open, None), (Wait::Ready(START), None)),
        ((Wait::Ready(START), None), (Wait::Ready(START), None)),
        ((Wait::Ready(START), None), (Wait::Begin(START), at)),
        ((Wait::Begin(START), at), (Wait::End(START), end)),
        ((Wait::End(START), end), (Wait::End(START), end)),
        ((Wait::End(START), end), (Wait::End(START), end)),
        ((Wait::End(START), end), (Wait::Close, None)),
        ((Wait::Close, None), (Wait::Close, None)),
    ] {
        merge.take("a", a.next().unwrap());
        let (wait, hosts, of, due) = merge.waits();
        assert_eq!(((wait, due), of), (of_b, 2));
        assert!(hosts.contains(&"b"), "{wait:?}: {hosts:?}");
        merge.take("b", b.next().unwrap());
        if merge.due().is_some() {
            merge.note(begin());
        }
        let (wait, hosts, _, due) = merge.waits();
        assert_eq!(((wait, due), hosts), (of_both, vec!["a", "b"]));
    }
    assert_eq!(merge.inspecting(), [""; 0]);
    merge.take("a", a.next().unwrap());
    assert_eq!(merge.waits().1, ["b"]);
    merge.note(Noted::Lost { host: "b".into(), why: "gone".into(), at_unix_ns: BEGAN });
    assert!(merge.waits().1.is_empty() && merge.is_over());
}

/// Its place had the facts of another host's target, which totals counted twice.
#[test]
fn a_host_that_did_not_begin_has_places_of_which_nothing_is_known() {
    let (a, placed) = (said(&placed(), 0, 0), placed());
    let mut merge = Merge::new(placed).unwrap();
    let mut events = Vec::new();
    for mut said in a.into_iter().take(2) {
        for what in &mut said.what {
            if let What::Event(event) = what
                && let RunEvent::Started(header) = &mut event.what
            {
                (header.targets[0].member.direct, header.targets[0].member.span_bytes) = (true, 7 << 30);
            }
        }
        events.extend(merge.take("a", said));
    }
    let refused = What::Refused { why: "no room".into(), has_begun: true };
    events.extend(merge.take("b", Said { number: 1, epoch_unix_ns: 0, what: vec![refused] }));
    let Some(RunEvent::Started(header)) = events.first().map(|event| &event.what) else {
        panic!("{events:?}")
    };
    let targets: Vec<_> = header
        .targets
        .iter()
        .map(|of| (of.address.as_str(), of.member == MemberFacts::default(), of.member.span_bytes))
        .collect();
    assert_eq!(targets, [("a:null:", false, 7 << 30), ("b:", true, 0)]);
    // Whoever reads the run later learns why its figures are those of one host.
    let says = |event: &Event| match &event.what {
        RunEvent::Warning(warning) => warning.says.clone(),
        _ => String::new(),
    };
    assert!(events.iter().any(|event| says(event) == "Host b did not begin: no room."), "{events:?}");
}
