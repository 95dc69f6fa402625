//! Must show: a body of 10 MB, 1,000 connections, requests that never end. After each of them a visitor is answered.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use assay_web::{Limits, RequestRate};

use crate::client::read;
use crate::served::{Reach, Served};

#[test]
fn a_body_of_10_mb_is_refused() {
    let served = Served::start(Reach::Loopback);
    let (cookie, csrf) = served.sign_in();
    let body = format!("csrf={csrf}&text={}", "x".repeat(10_000_000));
    for path in ["/login", "/runs/261121-k7f2/note", "/new"] {
        // It is answered before all of it was read, so that the rest cannot always be sent.
        let mut stream = served.connect();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\n{cookie}\r\nContent-Type: application/x-www-form-urlencoded\r\n\
             Content-Length: {}\r\n\r\n",
            served.host(),
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        let _ = stream.write_all(&body.as_bytes()[..200_000]);
        let answer = read(&mut *stream);
        assert!(answer.is_none_or(|answer| answer.status == 413), "{path}");
    }
    assert_eq!(served.get("/runs", &[]).status, 200);
}

#[test]
fn a_thousand_silent_connections_keep_nobody_out() {
    let served = Served::start(Reach::Loopback);
    let silent: Vec<TcpStream> =
        (0..1000).filter_map(|_| TcpStream::connect(served.address()).ok()).collect();
    assert_eq!(silent.len(), 1000, "the kernel accepts them");
    for _ in 0..20 {
        assert_eq!(served.get("/runs", &[]).status, 200);
    }
    drop(silent);
    assert_eq!(served.get("/runs", &[]).status, 200);
}

/// Streams of the page *Now* have no end: whoever asked for as many as there may be connections locked everybody out.
#[test]
fn streams_that_do_not_end_keep_nobody_out() {
    let served = Served::start(Reach::Loopback);
    let head = format!("GET /live HTTP/1.1\r\nHost: {}\r\n\r\n", served.host());
    let streams: Vec<TcpStream> = (0..600)
        .map(|_| {
            let mut stream = TcpStream::connect(served.address()).unwrap();
            // One that gave way to another cannot be written to.
            let _ = stream.write_all(head.as_bytes());
            stream
        })
        .collect();
    for _ in 0..20 {
        assert_eq!(served.get("/runs", &[]).status, 200);
    }
    drop(streams);
}

#[test]
fn a_request_that_does_not_end_is_given_up() {
    let limits = Limits {
        head_time: Duration::from_millis(300),
        request_time: Duration::from_millis(300),
        ..Limits::default()
    };
    for reach in [Reach::Loopback, Reach::Network] {
        let served = Served::with(reach, limits);
        // A head that never ends; the connection is closed.
        let mut stream = served.connect();
        stream
            .write_all(format!("GET /runs HTTP/1.1\r\nHost: {}\r\nX-Slow: ", served.host()).as_bytes())
            .unwrap();
        stream.flush().unwrap();
        assert!(read(&mut *stream).is_none_or(|answer| answer.status == 408));
        // A body that never comes.
        let mut stream = served.connect();
        let head = format!(
            "POST /login HTTP/1.1\r\nHost: {}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: \
             100\r\n\r\ntoken=",
            served.host()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.flush().unwrap();
        assert_eq!(read(&mut *stream).map(|answer| answer.status), Some(408));
    }
    // No TLS handshake at all.
    let served = Served::with(Reach::Network, limits);
    let mut stream: Box<dyn crate::client::Stream> = Box::new(TcpStream::connect(served.address()).unwrap());
    assert!(read(&mut *stream).is_none());
}

#[test]
fn a_flood_of_requests_is_refused() {
    let limits = Limits { requests: RequestRate { per_s: 0.001, at_once: 5.0 }, ..Limits::default() };
    let served = Served::with(Reach::Loopback, limits);
    let statuses: Vec<u16> = (0..7).map(|_| served.get("/login", &[]).status).collect();
    assert_eq!(statuses, [200, 200, 200, 200, 200, 429, 429]);
}

#[test]
fn a_head_without_bounds_is_refused() {
    let served = Served::start(Reach::Loopback);
    let mut stream = served.connect();
    let _ = stream.write_all(format!("GET /runs HTTP/1.1\r\nHost: {}\r\n", served.host()).as_bytes());
    let line = format!("X-Long: {}\r\n", "x".repeat(1000));
    for _ in 0..200 {
        if stream.write_all(line.as_bytes()).is_err() {
            break;
        }
    }
    let answer = read(&mut *stream);
    assert!(answer.is_none_or(|answer| answer.status == 431));
    assert_eq!(served.get("/runs", &[]).status, 200);
}

/// It was an error of the server, which is what a fault is.
#[test]
fn a_fifth_run_is_refused_while_four_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("slow");
    std::fs::write(&program, "#!/bin/sh\nexec sleep 20\n").unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let served = Served::with_program(Reach::Loopback, Limits::default(), program);
    let (cookie, csrf) = served.sign_in();
    let start = || served.send("POST", "/new", &[&cookie], &format!("csrf={csrf}&target=0&plan=vmware"));
    for number in 1..=4 {
        assert_eq!(start().header("location"), Some(format!("/started/{number}").as_str()));
    }
    let fifth = start();
    assert_eq!(fifth.status, 409, "{}", fifth.body);
    assert!(fifth.body.contains("wait until one ends"), "{}", fifth.body);
}

/// 60 connections that asked for thousands of pages each and read none kept everybody waiting for 8.6 s, and half a
/// gigabyte of memory.
#[test]
fn answers_that_nobody_reads_are_given_up_and_keep_nobody_out() {
    // No limit of requests helps here.
    let requests = RequestRate { per_s: 1e6, at_once: 1e6 };
    let limits = Limits { stall_time: Duration::from_millis(300), requests, ..Limits::default() };
    let served = Served::with(Reach::Loopback, limits);
    let (cookie, _) = served.sign_in();
    let requests = format!("GET /runs/{} HTTP/1.1\r\nHost: {}\r\n\r\n", crate::served::RUN, served.host())
        .repeat(20_000);
    let mut unread: Vec<TcpStream> = Vec::new();
    for _ in 0..60 {
        let mut stream = narrow(served.address());
        stream.set_write_timeout(Some(Duration::from_secs(5))).unwrap();
        // The server takes no more requests than it has answered.
        let _ = stream.write_all(requests.as_bytes());
        unread.push(stream);
    }
    for _ in 0..20 {
        assert_eq!(served.get("/runs", &[&cookie]).status, 200, "whoever is signed in is not kept out");
    }
    // Each is closed by itself, before a byte is read; what fitted into the sockets is there then.
    let began = Instant::now();
    for stream in &mut unread {
        stream.set_nonblocking(true).unwrap();
        let is_open = |error: &std::io::Error| error.kind() == std::io::ErrorKind::WouldBlock;
        while stream.write(b"G").map_or_else(|error| is_open(&error), |_| true) {
            assert!(began.elapsed() < Duration::from_secs(60), "it is open although nobody reads");
            std::thread::sleep(Duration::from_millis(20));
        }
        stream.set_nonblocking(false).unwrap();
    }
    let answers: Vec<usize> = unread.into_iter().map(answers_of).collect();
    assert!(answers.iter().all(|answers| *answers < 20_000), "{answers:?}");
    assert_eq!(served.get("/runs", &[&cookie]).status, 200);
}

/// Connects with a buffer of 64 KiB for what is received: by itself the kernel of a host takes up to its `tcp_rmem`, in
/// which all answers may fit.
fn narrow(address: SocketAddr) -> TcpStream {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(64 << 10).unwrap();
    let stream = runtime.block_on(socket.connect(address)).unwrap().into_std().unwrap();
    stream.set_nonblocking(false).unwrap();
    stream
}

/// Returns how many answers come until the connection ends.
fn answers_of(mut stream: TcpStream) -> usize {
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut bytes = Vec::new();
    // A connection that the server gave up ends with an error where requests were under way.
    let _ = stream.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).matches("HTTP/1.1 ").count()
}

/// What is asked for a hundred times at once is made once, and what was changed is seen at once.
#[test]
fn an_answer_is_sent_again_for_a_second_and_never_after_a_change() {
    let served = Served::start(Reach::Loopback);
    let (cookie, csrf) = served.sign_in();
    let before = served.get("/runs", &[]);
    let same = served.get("/runs", &[]);
    assert_eq!((before.status, same.status, before.body == same.body), (200, 200, true));
    let head = served.send("HEAD", "/runs", &[], "");
    assert_eq!((head.status, head.body.as_str()), (200, ""), "and the same is said of its length");
    let length = before.header("content-length").map(str::to_owned);
    assert_eq!(head.header("content-length"), length.as_deref());
    assert_eq!(length, Some(before.body.len().to_string()));
    let path = format!("/runs/{}/label", crate::served::RUN);
    let changed = served.send("POST", &path, &[&cookie], &format!("csrf={csrf}&text=after-the-change"));
    assert_eq!(changed.status, 303, "{}", changed.body);
    assert!(served.get("/runs", &[]).body.contains("after-the-change"));
}
