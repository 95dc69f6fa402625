//! The TCP connections of this process, observed through the kernel, so that no worker is disturbed.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

use assay_record::{TcpPathFacts, TcpSample};
use assay_tcp::{TcpFacts, TcpFactsReader};
use netlink_packet_core::NLM_F_DUMP;

use super::netlink::{Message, Netlink};
use super::route::family;

/// linux/sock_diag.h, linux/inet_diag.h. A question is `struct inet_diag_req_v2`: family, protocol, extensions, a
/// byte of padding, states, and `struct inet_diag_sockid` of zeros, which stand for every connection.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const REQUEST_BYTES: usize = 56;
const IPPROTO_TCP: u8 = 6;
const INET_DIAG_INFO: u16 = 2;
const ESTABLISHED: u32 = 1 << 1;
/// An answer is `struct inet_diag_msg`: family at byte 0, ports at 4 and 6, addresses of 16 bytes at 8 and 24, the
/// interface at 40 and the inode at 68; ports and addresses are in the order of the network.
const RESPONSE_BYTES: usize = 72;
const RESPONSE_REMOTE_PORT: usize = 6;
const RESPONSE_REMOTE: usize = 24;
const RESPONSE_INTERFACE: usize = 40;
const RESPONSE_INODE: usize = 68;

/// Follows the connections to some addresses from sample to sample.
#[derive(Debug)]
pub(crate) struct TcpWatch {
    remotes: Vec<SocketAddr>,

    kernel: Netlink,
    /// Numbers of segments retransmitted and received out of order so far, by the inode of the connection's socket.
    counted: HashMap<u32, Counted>,
}

/// Segments retransmitted and segments received out of order.
type Counted = (u32, Option<u32>);

/// Facts about a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Connection {
    inode: u32,
    remote: SocketAddr,
    rtt_us: u32,
    counted: Counted,
    send_mss_bytes: u32,
    congestion_window_segments: u32,
}

impl TcpWatch {
    /// Starts following the connections; `None` if there is none, or if the kernel reports nothing.
    pub(crate) fn open(mut remotes: Vec<SocketAddr>) -> Option<Self> {
        remotes.sort_unstable();
        remotes.dedup();
        if remotes.is_empty() {
            return None;
        }
        let kernel = Netlink::open(Some(rustix::net::netlink::SOCK_DIAG)).ok()?;
        Some(Self { remotes, kernel, counted: HashMap::new() })
    }

    /// Returns one sample for each address, in the order of the addresses, since the call before.
    pub(crate) fn sample(&mut self) -> Vec<TcpSample> {
        let own = own_sockets();
        let mut connections = Vec::new();
        for is_v4 in [true, false] {
            if self.remotes.iter().any(|remote| remote.is_ipv4() == is_v4) {
                // Without an answer this second has no sample; the next one may have one.
                connections.extend(connections_of(&mut self.kernel, is_v4).unwrap_or_default());
            }
        }
        connections.retain(|one| own.contains(&one.inode));
        let before = std::mem::take(&mut self.counted);
        self.counted = connections.iter().map(|one| (one.inode, one.counted)).collect();
        self.remotes.iter().map(|remote| sum(*remote, &connections, &before)).collect()
    }
}

fn sum(remote: SocketAddr, connections: &[Connection], before: &HashMap<u32, Counted>) -> TcpSample {
    let here: Vec<&Connection> = connections.iter().filter(|one| one.remote == remote).collect();
    let count = u32::try_from(here.len()).unwrap_or(u32::MAX);
    let since = |one: &&Connection| {
        let (retransmits, out_of_order) = before.get(&one.inode).copied().unwrap_or_default();
        let out_of_order = one.counted.1.map(|now| now.saturating_sub(out_of_order.unwrap_or(0)));
        (one.counted.0.saturating_sub(retransmits), out_of_order)
    };
    let counted: Vec<Counted> = here.iter().map(since).collect();
    let rtt_sum: u64 = here.iter().map(|one| u64::from(one.rtt_us)).sum();
    let mean = rtt_sum.checked_div(u64::from(count)).unwrap_or(0);
    TcpSample {
        remote: remote.to_string(),
        connections: count,
        rtt_us: u32::try_from(mean).unwrap_or(u32::MAX),
        retransmits: counted.iter().map(|(retransmits, _)| retransmits).sum(),
        out_of_order: counted.iter().map(|(_, out_of_order)| *out_of_order).sum(),
        send_mss_bytes: here.iter().map(|one| one.send_mss_bytes).min().unwrap_or(0),
        congestion_window_segments: here.iter().map(|one| one.congestion_window_segments).min().unwrap_or(0),
    }
}

/// Returns the inodes of this process's sockets: other programs may use the same storage.
fn own_sockets() -> HashSet<u32> {
    let Ok(open) = fs::read_dir("/proc/self/fd") else { return HashSet::new() };
    let inode = |entry: fs::DirEntry| {
        let link = fs::read_link(entry.path()).ok()?;
        link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    };
    open.filter_map(Result::ok).filter_map(inode).collect()
}

fn connections_of(kernel: &mut Netlink, is_v4: bool) -> io::Result<Vec<Connection>> {
    let any = if is_v4 { IpAddr::V4(Ipv4Addr::UNSPECIFIED) } else { IpAddr::V6(Ipv6Addr::UNSPECIFIED) };
    let mut structure = [0; REQUEST_BYTES];
    structure[..3].copy_from_slice(&[family(any), IPPROTO_TCP, 1 << (INET_DIAG_INFO - 1)]);
    structure[4..8].copy_from_slice(&ESTABLISHED.to_ne_bytes());
    let answer = kernel.ask(Message::new(SOCK_DIAG_BY_FAMILY, &structure), NLM_F_DUMP)?;
    Ok(answer.iter().filter_map(connection).collect())
}

/// Returns the TCP parameters of the connection between these two addresses; `None` if there is none, or the kernel
/// does not report them.
pub fn tcp_path(local: SocketAddr, remote: SocketAddr) -> Option<TcpPathFacts> {
    TcpFactsReader::open().ok()?.between(local, remote).ok().map(tcp_facts)
}

/// Returns the facts that are kept in the record.
pub fn tcp_facts(of: TcpFacts) -> TcpPathFacts {
    TcpPathFacts {
        rtt_us: of.rtt_us,
        retransmits: of.retransmits_total,
        send_mss_bytes: of.send_mss_bytes,
        receive_mss_bytes: of.receive_mss_bytes,
        path_mtu_bytes: of.path_mtu_bytes,
        congestion_window_segments: of.congestion_window_segments,
        timestamps: of.timestamps,
    }
}

/// Returns the remote address, with its zone if it is link-local, as the connecting program wrote it.
fn remote(response: &Message) -> Option<SocketAddr> {
    let port =
        response.bytes().get(RESPONSE_REMOTE_PORT..)?.first_chunk().map(|port| u16::from_be_bytes(*port))?;
    let address = response.bytes().get(RESPONSE_REMOTE..)?;
    if response.byte(0)? == family(Ipv4Addr::UNSPECIFIED.into()) {
        return Some(SocketAddr::new(IpAddr::from(*address.first_chunk::<4>()?), port));
    }
    let v6 = Ipv6Addr::from(*address.first_chunk::<16>()?);
    let zone = if v6.is_unicast_link_local() { response.word(RESPONSE_INTERFACE)? } else { 0 };
    Some(SocketAddrV6::new(v6, port, 0, zone).into())
}

/// Returns what the kernel reports about a connection; `None` for a message of another kind.
pub(super) fn connection(response: &Message) -> Option<Connection> {
    let attributes = response.attributes(RESPONSE_BYTES);
    let info = attributes.value(INET_DIAG_INFO).filter(|_| response.kind == SOCK_DIAG_BY_FAMILY)?;
    let tcp = TcpFacts::parse(info)?;
    Some(Connection {
        inode: response.word(RESPONSE_INODE)?,
        remote: remote(response)?,
        send_mss_bytes: tcp.send_mss_bytes,
        rtt_us: tcp.rtt_us,
        congestion_window_segments: tcp.congestion_window_segments,
        counted: (tcp.retransmits_total, tcp.out_of_order_total),
    })
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn own_connections_to_an_address_are_followed_and_others_are_not() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let other = TcpListener::bind("127.0.0.1:0").unwrap();
        let remote = listener.local_addr().unwrap();
        let open = [TcpStream::connect(remote).unwrap(), TcpStream::connect(remote).unwrap()];
        let _elsewhere = TcpStream::connect(other.local_addr().unwrap()).unwrap();
        let mut watch = TcpWatch::open(vec![remote, remote]).unwrap();
        let sample = watch.sample();
        assert_eq!(sample.len(), 1, "{sample:?}");
        assert_eq!((sample[0].remote.as_str(), sample[0].connections), (&*remote.to_string(), 2));
        assert!(sample[0].send_mss_bytes >= 512 && sample[0].congestion_window_segments > 0, "{sample:?}");
        let local = open[0].local_addr().unwrap();
        let reported = tcp_path(local, remote).unwrap();
        assert_eq!(
            (reported.send_mss_bytes, reported.retransmits),
            (sample[0].send_mss_bytes, 0),
            "{reported:?}"
        );
        assert!(reported.path_mtu_bytes > reported.send_mss_bytes, "{reported:?}");
        drop(open);
        assert_eq!(tcp_path(local, other.local_addr().unwrap()), None, "no such connection");
        assert_eq!(watch.sample()[0].connections, 0);
        assert!(TcpWatch::open(Vec::new()).is_none());
    }

    #[test]
    fn retransmits_count_from_the_sample_before_and_a_new_connection_from_its_start() {
        let remote: SocketAddr = "10.0.0.1:3260".parse().unwrap();
        let one = |inode, retransmits, out_of_order| Connection {
            inode,
            remote,
            rtt_us: 100 * inode,
            counted: (retransmits, Some(out_of_order)),
            send_mss_bytes: 1448 * inode,
            congestion_window_segments: 10,
        };
        let before = HashMap::from([(1, (5, Some(10))), (2, (7, None))]);
        let sum = sum(remote, &[one(1, 8, 50), one(3, 2, 1)], &before);
        assert_eq!(sum.out_of_order, Some(41));
        assert_eq!((sum.retransmits, sum.connections, sum.rtt_us, sum.send_mss_bytes), (5, 2, 200, 1448));
    }
}
