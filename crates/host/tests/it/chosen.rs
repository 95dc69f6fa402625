//! Hosts with several routes: the reported one is the one that the packets of the connection take.

use std::io::Write as _;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs as _};
use std::os::fd::AsRawFd as _;
use std::time::{Duration, Instant};

use assay_host::{Flow, NetProbe, Sampler, Watched, tcp_path};
use assay_record::{FrameOutcome, FrameProbe, NetPathFacts};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrStorage, bind, connect, socket};

use assay_testkit::namespace::Namespaces;
use assay_testkit::need;

use crate::look;

const SENT_BYTES: usize = 400_000;
const STORAGE: &str = "10.9.0.9";

/// `here` and `there` with two links, and a host behind both of them.
fn two_ways(of: &str) -> Option<Namespaces> {
    let spaces = Namespaces::new(of, &["here", "there"])?;
    for number in [1, 2] {
        spaces.all(&format!(
            "here: link add e{number} mtu 9000 type veth peer name f{number} mtu 9000 netns @there
             here: addr add 10.9.{number}.1/24 dev e{number}
             here: addr add fe80::{number}:1/64 dev e{number} nodad
             there: addr add 10.9.{number}.2/24 dev f{number}
             there: addr add fe80::{number}:2/64 dev f{number} nodad
             here: link set e{number} up
             there: link set f{number} up"
        ));
    }
    spaces.all(
        "there: addr add 10.9.0.9/32 dev lo
         here: route add default via 10.9.1.2 metric 100
         here: route add default via 10.9.2.2 metric 200",
    );
    for name in ["here", "there"] {
        for which in ["all", "e1", "e2", "f1", "f2"] {
            if which.starts_with('e') == (name == "here") || which == "all" {
                // Accept packets that arrive over another link than the one used for sending.
                spaces.set(name, &format!("ipv4/conf/{which}/rp_filter"), "0");
            }
        }
    }
    Some(spaces)
}

/// Returns a connection, from the given source address if there is one.
fn connected(to: SocketAddr, from: Option<&str>) -> TcpStream {
    let Some(from) = from else { return TcpStream::connect(to).unwrap() };
    let open = socket(AddressFamily::Inet, SockType::Stream, SockFlag::empty(), None).unwrap();
    let ours = SocketAddr::new(from.parse::<IpAddr>().unwrap(), 0);
    bind(open.as_raw_fd(), &SockaddrStorage::from(ours)).unwrap();
    connect(open.as_raw_fd(), &SockaddrStorage::from(to)).unwrap();
    TcpStream::from(open)
}

fn flow(of: &TcpStream) -> Flow {
    Flow { remote: of.peer_addr().unwrap(), local: Some(of.local_addr().unwrap()) }
}

/// Returns the number of bytes that an interface has sent.
fn sent(interface: &str) -> u64 {
    let all = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let line =
        all.lines().find_map(|line| line.trim().strip_prefix(&format!("{interface}:")).map(str::to_owned));
    line.unwrap().split_whitespace().nth(8).unwrap().parse().unwrap()
}

/// Returns the interface by which data sent on a connection really leaves.
fn really(stream: &mut TcpStream) -> &'static str {
    let before = [sent("e1"), sent("e2")];
    stream.write_all(&[0; SENT_BYTES]).unwrap();
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(20) {
        let by = [sent("e1") - before[0], sent("e2") - before[1]];
        if let Some(index) = by.iter().position(|bytes| *bytes >= SENT_BYTES as u64) {
            return ["e1", "e2"][index];
        }
    }
    panic!("{SENT_BYTES} bytes left by neither interface");
}

fn device(facts: &NetPathFacts) -> (&str, Option<&str>) {
    let route = facts.route.as_ref().unwrap();
    assert_eq!(facts.interface.as_ref().unwrap().name, route.device, "{facts:#?}");
    (&route.device, route.gateway.as_deref())
}

/// Accepts connections in `there`, and reads everything that arrives.
fn listening(spaces: &Namespaces) -> SocketAddr {
    let listener = spaces.inside("there", || TcpListener::bind((STORAGE, 0)).unwrap());
    let at = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            std::thread::spawn(move || std::io::copy(&mut stream, &mut std::io::sink()));
        }
    });
    at
}

#[test]
fn a_rule_by_source_address_is_followed() {
    let Some(spaces) = two_ways("rule-from") else { return };
    spaces.all(
        "here: route add default via 10.9.2.2 table 100
         here: rule add from 10.9.2.1 lookup 100",
    );
    let at = listening(&spaces);
    spaces.inside("here", || {
        for (from, expected, gateway, table) in
            [("10.9.1.1", "e1", "10.9.1.2", None), ("10.9.2.1", "e2", "10.9.2.2", Some(100))]
        {
            let mut stream = connected(at, Some(from));
            let facts = NetProbe::default().look(&[flow(&stream)]).remove(0);
            assert_eq!(device(&facts), (expected, Some(gateway)), "{facts:#?}");
            assert_eq!(facts.route.as_ref().unwrap().source.as_deref(), Some(from));
            assert_eq!(facts.route.as_ref().unwrap().table, table);
            assert_eq!((facts.frames.how, facts.frames.largest_bytes), (FrameProbe::Echo, Some(9000)));
            assert_eq!(really(&mut stream), expected);
        }
        let unmade = look(&[STORAGE]).remove(0);
        assert_eq!(device(&unmade), ("e1", Some("10.9.1.2")), "{unmade:#?}");
    });
}

#[test]
fn a_rule_by_port_is_followed_and_echoes_on_another_route_are_ignored() {
    let Some(spaces) = two_ways("rule-port") else { return };
    let at = listening(&spaces);
    let rule = format!("here: rule add ipproto tcp dport {} lookup 100", at.port());
    spaces.all("here: route add default via 10.9.2.2 table 100");
    if let Err(why) = spaces.ip(&rule) {
        need::skip_for_kernel("rules-by-port", why);
        return;
    }
    let looked = || {
        spaces.inside("here", || {
            let mut stream = connected(at, None);
            let facts = NetProbe::default().look(&[flow(&stream)]).remove(0);
            assert_eq!((device(&facts), really(&mut stream)), (("e2", Some("10.9.2.2")), "e2"));
            facts.frames
        })
    };
    let there_too = looked();
    assert_eq!(
        (there_too.how, there_too.largest_bytes),
        (FrameProbe::Echo, Some(9000)),
        "through e2 as well"
    );
    spaces.all("here: route del default via 10.9.2.2 metric 200");
    assert_eq!(looked().how, FrameProbe::OtherWay);
}

#[test]
fn the_next_hop_of_each_connection_is_reported() {
    let Some(spaces) = two_ways("several") else { return };
    spaces.all(
        "here: route del default via 10.9.1.2 metric 100
         here: route del default via 10.9.2.2 metric 200
         here: route add default nexthop via 10.9.1.2 nexthop via 10.9.2.2
         here: addr add 10.9.5.5/32 dev lo
         there: route add 10.9.5.5/32 via 10.9.1.1",
    );
    spaces.set("here", "ipv4/fib_multipath_hash_policy", "1");
    let at = listening(&spaces);
    let mut used: Vec<&str> = spaces.inside("here", || {
        let mut ways = NetProbe::default();
        // An address of a link would attract its connections to that link.
        let one = |_| {
            let mut stream = connected(at, Some("10.9.5.5"));
            let facts = ways.look(&[flow(&stream)]).remove(0);
            let really = really(&mut stream);
            assert_eq!(device(&facts).0, really, "{facts:#?}");
            really
        };
        (0..24).map(one).collect()
    });
    used.sort_unstable();
    used.dedup();
    assert_eq!(used, ["e1", "e2"], "of 24 ports the hash sends some each way");
}

#[test]
fn a_link_local_address_is_reached_on_the_link_of_its_zone() {
    let Some(spaces) = two_ways("zone") else { return };
    spaces.all("there: link set f2 mtu 1500");
    let listener = spaces.inside("there", || TcpListener::bind("[::]:0").unwrap());
    let port = listener.local_addr().unwrap().port();
    spaces.inside("here", || {
        for (number, largest) in [(1, 9000), (2, 1500)] {
            let to = (format!("fe80::{number}:2%e{number}"), port).to_socket_addrs().unwrap().next().unwrap();
            let stream = TcpStream::connect(to).unwrap();
            let flow = flow(&stream);
            let facts = NetProbe::default().look(&[flow]).remove(0);
            assert_eq!(device(&facts), (format!("e{number}").as_str(), None), "{facts:#?}");
            let ours = flow.local.unwrap().ip().to_string();
            assert_eq!(facts.route.as_ref().unwrap().source.as_deref(), Some(ours.as_str()));
            let passes = facts.frames.largest_bytes.unwrap();
            assert!((largest..largest + 10).contains(&passes), "{facts:#?}");
            let full = facts.frames.tried.iter().find(|one| one.bytes == 9000).unwrap().outcome;
            assert_eq!(full, if largest == 9000 { FrameOutcome::Passes } else { FrameOutcome::Lost });
            let tcp = tcp_path(flow.local.unwrap(), flow.remote).unwrap();
            assert_eq!(tcp.send_mss_bytes, largest - 40 - 20 - 12, "{tcp:?}");
            // It is also followed during a run.
            let watched = Watched { remotes: vec![to], ..Watched::default() };
            let sampler = Sampler::start(watched, Instant::now(), Duration::from_millis(60));
            std::thread::sleep(Duration::from_millis(150));
            let samples = sampler.stop();
            assert!(samples.iter().flat_map(|one| &one.tcp).all(|tcp| tcp.connections == 1), "{samples:#?}");
            assert!(samples.iter().any(|one| !one.tcp.is_empty()), "{samples:#?}");
        }
    });
}
