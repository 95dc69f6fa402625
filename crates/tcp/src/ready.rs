//! Waiting for several connections at once.

use std::net::TcpStream;
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};

/// Number of connections that can be polled together: the result has one bit for each.
pub const PATHS_MAX: usize = 64;

/// Waits up to `limit` until at least one connection is readable, or writable if that was requested. Bit n of the
/// result is connection n. `interest` returns the stream of connection n and whether to poll it for writing, or `None`
/// if the connection need not be polled.
pub fn wait<'s>(
    count: usize,
    interest: impl Fn(usize) -> Option<(&'s TcpStream, bool)>,
    limit: Duration,
) -> u64 {
    // The array is on the stack and filling it costs time; most runs have few connections.
    match count {
        0..=4 => wait_for::<4>(count, interest, limit),
        5..=16 => wait_for::<16>(count, interest, limit),
        _ => wait_for::<PATHS_MAX>(count, interest, limit),
    }
}

fn wait_for<'s, const N: usize>(
    count: usize,
    interest: impl Fn(usize) -> Option<(&'s TcpStream, bool)>,
    limit: Duration,
) -> u64 {
    let mut interested = (0..count.min(N)).filter_map(|index| Some((index, interest(index)?)));
    let Some(first) = interested.next() else {
        std::thread::sleep(limit);
        return 0;
    };
    let mut indexes = [first.0; N];
    let mut fds: [PollFd<'_>; N] = std::array::from_fn(|_| poll_fd(first.1));
    let mut used = 1;
    for (index, interest) in interested {
        (fds[used], indexes[used]) = (poll_fd(interest), index);
        used += 1;
    }
    let limit = Timespec {
        tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: limit.subsec_nanos().into(),
    };
    // An interrupted or failed poll counts as empty; the next turn polls again.
    if rustix::event::poll(&mut fds[..used], Some(&limit)).unwrap_or(0) == 0 {
        return 0;
    }
    let ready = fds[..used].iter().zip(&indexes).filter(|(fd, _)| !fd.revents().is_empty());
    ready.fold(0, |mask, (_, index)| mask | 1 << index)
}

fn poll_fd((stream, writes): (&TcpStream, bool)) -> PollFd<'_> {
    let writable = if writes { PollFlags::OUT } else { PollFlags::empty() };
    PollFd::from_borrowed_fd(stream.as_fd(), PollFlags::IN | writable)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn each_ready_connection_sets_its_bit_whatever_their_number() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let open = || {
            let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            (ours, listener.accept().unwrap().0)
        };
        for count in [1, 4, 5, 17, PATHS_MAX] {
            let mut pairs: Vec<_> = (0..count).map(|_| open()).collect();
            let ours: Vec<_> = pairs.iter().map(|(ours, _)| ours.try_clone().unwrap()).collect();
            let last = count - 1;
            let reading = |index: usize| (index != 0 || count == 1).then(|| (&ours[index], false));
            assert_eq!(wait(count, reading, Duration::ZERO), 0, "nothing came");
            pairs[last].1.write_all(b"x").unwrap();
            assert_eq!(wait(count, reading, Duration::from_secs(10)), 1 << last);
            let writing = |index: usize| Some((&ours[index], index == 0));
            assert_eq!(wait(count, writing, Duration::from_secs(10)), 1 | 1 << last);
        }
        assert_eq!(wait(3, |_| None, Duration::from_millis(1)), 0);
    }
}
