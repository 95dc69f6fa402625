//! The core with one path and a target whose answers the test gives one by one.

use std::time::{Duration, Instant};

use super::{Action, Command, Completion, Core, Input, Kind};
use crate::config::{Config, UnitWatch};
use crate::error::IoError;
use crate::events::EventKind;
use crate::login::Negotiated;
use crate::pdu::{Bhs, NO_TAG, opcode};
use crate::scsi::cdb::Fua;
use crate::scsi::status;

struct Bench {
    core: Core<Vec<u8>>,
    now: Instant,
    stat_sn: u32,
    /// SCSI commands without an answer.
    open: Vec<Bhs>,
    next_tag: u64,
    done: Vec<Completion<Vec<u8>>>,
}

impl Bench {
    /// Returns a core whose only path is up, and that has written.
    fn new(path_depth: u16, watch: UnitWatch) -> Self {
        let config = Config {
            path_depth,
            watch,
            depth: 8,
            ..Config::new(vec!["a:3260".into()], "iqn.2026-11.a:b", 0)
        };
        let now = Instant::now();
        let core = Core::new(config, [1, 2, 3], now).expect("the configuration is valid");
        let mut bench = Self { core, now, stat_sn: 100, open: Vec::new(), next_tag: 0, done: Vec::new() };
        bench.core.on(Input::Tick, now);
        assert!(std::iter::from_fn(|| bench.core.next_action()).any(|a| matches!(a, Action::Connect { .. })));
        bench.core.on(Input::Connected { path: 0 }, now);
        let agreed = Negotiated { max_cmd_sn: 64, ..crate::session::tests::agreed() };
        bench.core.on(Input::Up { path: 0, agreed: Box::new(agreed) }, now);
        bench.turn();
        while let Some(command) = bench.open.pop() {
            bench.answer(&command, status::GOOD);
        }
        assert!(bench.core.is_up(0));
        bench.submit(Kind::Write);
        let write = bench.open.pop().expect("it was sent");
        bench.answer(&write, status::GOOD);
        bench
    }

    fn submit(&mut self, kind: Kind) {
        let (tag, buf) = (self.next_tag, vec![0; 512]);
        self.next_tag += 1;
        let command = Command { tag, kind, offset_bytes: 512 * tag, data_bytes: 512, fua: Fua::Off, buf };
        self.core.submit(command).expect("there is room");
        self.turn();
    }

    /// Sends what is to be sent. What is no command is answered at once.
    fn turn(&mut self) {
        self.core.completed(&mut self.done);
        self.core.assign(self.now);
        while let Some(pdu) = self.core.next_pdu(0, self.now) {
            match pdu.bhs.opcode() {
                opcode::SCSI_COMMAND => self.open.push(pdu.bhs),
                opcode::TASK_MANAGEMENT => {
                    self.respond(header(opcode::TASK_MANAGEMENT_RESPONSE, pdu.bhs.itt()), &[]);
                }
                _ => self.respond(header(opcode::NOP_IN, pdu.bhs.itt()), &[]),
            }
        }
    }

    fn respond(&mut self, mut bhs: Bhs, data: &[u8]) {
        bhs.set_word(20, NO_TAG).set_word(24, self.stat_sn).set_word(28, 1).set_word(32, 64);
        bhs.set_data_bytes(u32::try_from(data.len()).expect("a block"));
        self.stat_sn += 1;
        self.core.deliver(0, [(&bhs, data)], self.now).expect("it is no violation");
    }

    /// Answers a command with a status, and with the data of a disk of 64 blocks of zeros.
    fn answer(&mut self, command: &Bhs, status: u8) {
        let (response, mut data) = (header(opcode::SCSI_RESPONSE, command.itt()), Vec::new());
        let cdb = &command.0[32..48];
        match (cdb[0], cdb[1]) {
            _ if status != status::GOOD => {}
            (0x12, 0) => data = vec![0, 0, 5, 2, 31, 0, 0, 2].into_iter().chain([b' '; 28]).collect(),
            (0x28, _) => data = vec![0; 512],
            (0x9e, _) => {
                data = vec![0; 32];
                (data[7], data[10]) = (63, 2);
            }
            (0x00 | 0x2a, _) => {}
            _ => return self.refuse(response),
        }
        if data.is_empty() {
            let mut response = response;
            response.0[3] = status;
            self.respond(response, &[]);
        } else {
            let mut data_in = header(opcode::DATA_IN, command.itt());
            data_in.0[1] = 0x81;
            self.respond(data_in, &data);
        }
        self.turn();
    }

    /// Answers that the command is not known.
    fn refuse(&mut self, mut response: Bhs) {
        let mut sense = [0; 20];
        (sense[1], sense[2], sense[4], sense[9], sense[14]) = (18, 0x70, 5, 10, 0x20);
        response.0[3] = status::CHECK_CONDITION;
        self.respond(response, &sense);
        self.turn();
    }

    fn wait(&mut self, time: Duration) {
        self.now += time;
        self.core.on(Input::Tick, self.now);
        self.turn();
    }

    /// Answers the first command that is, or is not, a check.
    fn answer_one(&mut self, is_check: bool, status: u8) {
        let at = self.open.iter().position(|command| (command.0[32] == 0) == is_check).expect("one is open");
        let command = self.open.remove(at);
        self.answer(&command, status);
    }

    /// Returns how many I/Os and how many checks the target has.
    fn held(&self) -> (usize, usize) {
        let checks = self.open.iter().filter(|command| command.0[32] == 0).count();
        (self.open.len() - checks, checks)
    }
}

fn header(opcode: u8, itt: u32) -> Bhs {
    let mut bhs = Bhs::default();
    (bhs.0[0], bhs.0[1]) = (opcode, 0x80);
    bhs.set_word(16, itt);
    bhs
}

/// Runs a test that is no matter of threads.
fn alone(test: impl Fn() + Send + Sync + 'static) {
    shuttle::check_random(test, 1);
}

/// On a slow target a check was always in flight, and took one of the two places.
#[test]
fn a_check_has_a_place_of_its_own_beside_the_ios() {
    alone(|| {
        let mut bench = Bench::new(2, UnitWatch::Closely);
        bench.wait(Duration::from_millis(5));
        (0..4).for_each(|_| bench.submit(Kind::Read));
        assert_eq!(bench.held(), (2, 1));
        bench.answer_one(false, status::GOOD);
        assert_eq!(bench.held(), (2, 1));
        bench.answer_one(true, status::GOOD);
        assert_eq!(bench.held(), (2, 0), "its place is not for an I/O");
    });
}

#[test]
fn task_set_full_counts_the_checks_and_counts_in_their_answers() {
    alone(|| {
        for is_check in [false, true] {
            let mut bench = Bench::new(3, UnitWatch::Closely);
            bench.wait(Duration::from_millis(5));
            (0..5).for_each(|_| bench.submit(Kind::Read));
            assert_eq!(bench.held(), (3, 1));
            bench.answer_one(is_check, status::TASK_SET_FULL);
            assert_eq!(bench.held(), if is_check { (3, 0) } else { (2, 1) });
            for _ in 0..10 {
                bench.wait(Duration::from_millis(5));
                assert!(bench.open.len() <= 3, "the target has room for three: {:?}", bench.held());
                bench.answer_one(false, status::GOOD);
                bench.submit(Kind::Read);
            }
            assert_eq!(bench.held(), (2, 1), "checks and I/Os share what there is room for");
        }
    });
}

/// The path was said to have taken longer than the limit of an I/O, although it had answered everything else.
#[test]
fn a_path_is_not_blamed_for_all_of_the_time_of_an_io() {
    alone(|| {
        let mut bench = Bench::new(2, UnitWatch::OnNews);
        bench.submit(Kind::Read);
        // The abort after 30 s is answered, and the command sent again.
        (0..122).for_each(|_| bench.wait(Duration::from_millis(500)));
        let cause = bench.core.events().into_iter().find_map(|event| match event.kind {
            EventKind::PathDown { cause, .. } => Some(cause),
            _ => None,
        });
        let words = "connection to a:3260 closed because an I/O on it was not completed 60000 ms after its submission";
        assert_eq!(cause.as_deref(), Some(words));
        assert!(!bench.core.paths[0].was_silent);
        let result = bench.done.pop().expect("the read has ended").result;
        let last = "the target keeps the connection open but does not respond".into();
        assert_eq!(result, Err(IoError::Expired { waited_s: 60, attempts: 2, last }));
    });
}
