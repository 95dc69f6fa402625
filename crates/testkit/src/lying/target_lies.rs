//! The lies of the target, one per row.

use std::time::Duration;

use super::target::{Asked, Digests, NO_TAG, Pdu, SEGMENT_BYTES, When};
use super::{Act, Kept};
use crate::unit::{BLOCK_BYTES, sense};
use Kept::{Either, Fails, Right, RightAndSaid};

/// One lie.
#[derive(Debug)]
pub struct Lie {
    /// Description of the lie for messages.
    pub name: &'static str,
    /// Requests to which it applies; the rest is answered correctly.
    pub when: When,
    /// What must hold for the client.
    pub kept: Kept,
    /// Digests that the target negotiates.
    pub digests: Digests,
    tell: fn(&Asked<'_>, Vec<Pdu>) -> Vec<Act>,
}

impl Lie {
    /// Returns the acts for a request: the lie if it applies.
    pub fn tell(&self, asked: &Asked<'_>, honest: Vec<Pdu>) -> Vec<Act> {
        // No command has the operation code 0xff: here it means every examining command.
        let is_meant = match (self.when, asked.when) {
            (When::Look(0xff), When::Look(_)) | (When::Other, _) => true,
            (meant, is) => meant == is,
        };
        if is_meant { (self.tell)(asked, honest) } else { asked.all(&honest) }
    }
}

const fn lie(name: &'static str, when: When, kept: Kept, tell: fn(&Asked<'_>, Vec<Pdu>) -> Vec<Act>) -> Lie {
    Lie { name, when, kept, digests: Digests::None, tell }
}

const fn digested(mut lie: Lie) -> Lie {
    lie.digests = Digests::Crc32c;
    lie
}

const SECOND: Duration = Duration::from_secs(1);
const ANY_LOOK: When = When::Look(0xff);
const INQUIRY: When = When::Look(0x12);
const CAPACITY: When = When::Look(0x9e);
const READY: When = When::Look(0x00);

/// Returns all correct PDUs, each changed.
fn changed(asked: &Asked<'_>, honest: Vec<Pdu>, change: impl Fn(usize, &mut Pdu)) -> Vec<Act> {
    let change = |(index, mut pdu): (usize, Pdu)| {
        change(index, &mut pdu);
        asked.send(&pdu)
    };
    honest.into_iter().enumerate().map(change).collect()
}

/// Returns an unsolicited PDU of an opcode, with the next status number.
fn stray(asked: &Asked<'_>, opcode: u8) -> Pdu {
    let mut pdu = Pdu::new(opcode);
    let exp_cmd_sn = asked.request.word(24).wrapping_add(1);
    pdu.set(16, NO_TAG).set(20, NO_TAG).set(24, asked.stat_sn);
    pdu.set(28, exp_cmd_sn).set(32, exp_cmd_sn.wrapping_add(31));
    pdu
}

/// Returns a stray PDU before the correct answer, whose status numbers advance.
fn first(asked: &Asked<'_>, stray: &Pdu, honest: Vec<Pdu>) -> Vec<Act> {
    let mut acts = vec![asked.send(stray)];
    acts.extend(changed(asked, honest, |_, pdu| {
        let next = pdu.word(24).wrapping_add(1);
        pdu.set(24, next);
    }));
    acts
}

/// Returns a status instead of the correct answer.
fn status(asked: &Asked<'_>, status: u8, sense: &[u8]) -> Vec<Act> {
    let mut pdu = stray(asked, 0x21).with(16, asked.request.word(16)).with(20, 0);
    pdu.header[3] = status;
    if !sense.is_empty() {
        let length = u16::try_from(sense.len()).unwrap().to_be_bytes();
        pdu.data = [&length[..], sense].concat();
    }
    vec![asked.send(&pdu)]
}

/// Returns the answer with other data.
fn data(asked: &Asked<'_>, honest: Vec<Pdu>, data: &[u8]) -> Vec<Act> {
    let asked_for = asked.request.word(20);
    changed(asked, honest, |_, pdu| {
        pdu.data = data[..data.len().min(asked_for as usize)].to_vec();
        let left = asked_for - u32::try_from(pdu.data.len()).unwrap();
        pdu.header[1] = if left > 0 { 0x83 } else { 0x81 };
        pdu.set(44, left);
    })
}

/// Returns the answer with another login text, in the operational stage.
fn keys(asked: &Asked<'_>, honest: Vec<Pdu>, text: &[u8]) -> Vec<Act> {
    let is_operational = asked.request.header[1] >> 2 & 3 == 1;
    changed(asked, honest, |_, pdu| {
        if is_operational {
            pdu.data.extend_from_slice(text);
        }
    })
}

fn capacity(last: u64, block_bytes: u32) -> Vec<u8> {
    let mut data = vec![0; 32];
    data[..8].copy_from_slice(&last.to_be_bytes());
    data[8..12].copy_from_slice(&block_bytes.to_be_bytes());
    data
}

/// Closes the connection at the first WRITE; later connections behave differently.
fn after_hang_up(
    asked: &Asked<'_>,
    honest: Vec<Pdu>,
    tell: fn(&Asked<'_>, Vec<Pdu>) -> Vec<Act>,
) -> Vec<Act> {
    match (asked.connection, asked.when) {
        (0, When::Write) => vec![Act::HangUp],
        (0, _) => asked.all(&honest),
        _ => tell(asked, honest),
    }
}

/// Returns the answer with another capacity.
fn other_size(asked: &Asked<'_>, honest: Vec<Pdu>, capacity: &[u8]) -> Vec<Act> {
    if asked.when == CAPACITY { data(asked, honest, capacity) } else { asked.all(&honest) }
}

/// Returns page 83 with another name.
fn other_unit(asked: &Asked<'_>, honest: Vec<Pdu>) -> Vec<Act> {
    if asked.when == INQUIRY && asked.request.header[33] == 1 && asked.request.header[34] == 0x83 {
        return data(asked, honest, &[0, 0x83, 0, 12, 1, 3, 0, 8, 0x60, 0, 0, 0, 0, 0, 0, 2]);
    }
    asked.all(&honest)
}

/// Returns an R2T for part of a WRITE, instead of the correct answer to the command.
fn r2t(asked: &Asked<'_>, offset: u32, bytes: u32) -> Pdu {
    let mut pdu = stray(asked, 0x31).with(16, asked.request.word(16)).with(20, 0x7777);
    pdu.set(40, offset).set(44, bytes);
    pdu
}

fn is_command(asked: &Asked<'_>) -> bool {
    asked.request.opcode() == 0x01
}

/// Every lie.
pub const LIES: &[&[Lie]] = &[LOGIN, LOOK, READ, STRAY, WRITE, LATER, DISCOVERY];

const LOGIN: &[Lie] = &[
    lie("says nothing to a login", When::Login, Fails(&["login"]), |_, _| vec![Act::Mute]),
    lie("hangs up at the login", When::Login, Fails(&["closed the connection"]), |_, _| vec![Act::HangUp]),
    lie("answers the login at one byte a second", When::Login, Fails(&["login"]), |asked, honest| {
        vec![Act::Drip(honest[0].bytes(), SECOND), asked.all(&honest)[0].clone()]
    }),
    lie(
        "hangs up in the middle of a login answer",
        When::Login,
        Fails(&["closed the connection"]),
        |_, honest| vec![Act::Bytes(honest[0].bytes()[..50].to_vec()), Act::HangUp],
    ),
    lie(
        "refuses the login with a class of its own",
        When::Login,
        Fails(&["unknown login status"]),
        |asked, honest| changed(asked, honest, |_, pdu| pdu.header[36] = 9),
    ),
    lie("answers a login with a SCSI response", When::Login, Fails(&["opcode 0x21"]), |asked, honest| {
        changed(asked, honest, |_, pdu| pdu.header[0] = 0x21)
    }),
    lie("answers a login with a reject", When::Login, Fails(&["opcode 0x3f"]), |asked, honest| {
        changed(asked, honest, |_, pdu| pdu.header[0] = 0x3f)
    }),
    lie("answers for another login stage", When::Login, Fails(&["stage"]), |asked, honest| {
        changed(asked, honest, |_, pdu| pdu.header[1] = 0x80 | 2 << 2 | 3)
    }),
    lie("sets transit and continue", When::Login, Fails(&["T with C"]), |asked, honest| {
        changed(asked, honest, |_, pdu| pdu.header[1] |= 0xc0)
    }),
    lie("goes on for ever with continued login text", When::Login, Fails(&["login"]), |asked, honest| {
        changed(asked, honest, |_, pdu| {
            pdu.header[1] = pdu.header[1] & 0x0c | 0x40;
            pdu.data = vec![b'x'; 4000];
        })
    }),
    lie("never leaves the login stage", When::Login, Fails(&["rounds"]), |asked, honest| {
        changed(asked, honest, |_, pdu| pdu.header[1] &= 0x0c)
    }),
    lie("sends a piece of text without a value", When::Login, Fails(&["without '='"]), |asked, honest| {
        keys(asked, honest, b"nonsense\0")
    }),
    lie("sends text that is none", When::Login, Fails(&["not UTF-8"]), |asked, honest| {
        keys(asked, honest, &[0xff, 0xfe, b'=', 0x80, 0])
    }),
    lie("agrees on bursts of 0 bytes", When::Login, Fails(&["MaxBurstLength=0"]), |asked, honest| {
        keys(asked, honest, b"MaxBurstLength=0\0")
    }),
    lie(
        "agrees on segments beyond 24 bits",
        When::Login,
        Fails(&["MaxRecvDataSegmentLength"]),
        |asked, honest| keys(asked, honest, b"MaxRecvDataSegmentLength=4294967296\0"),
    ),
    lie("agrees on a digest nobody offered", When::Login, Fails(&["HeaderDigest=MD5"]), |asked, honest| {
        keys(asked, honest, b"HeaderDigest=MD5\0")
    }),
    lie("agrees on no R2T at all", When::Login, Fails(&["MaxOutstandingR2T=0"]), |asked, honest| {
        keys(asked, honest, b"MaxOutstandingR2T=0\0")
    }),
    lie(
        "has a portal group beyond 16 bits",
        When::Login,
        Fails(&["TargetPortalGroupTag"]),
        |asked, honest| keys(asked, honest, b"TargetPortalGroupTag=99999\0"),
    ),
    lie("offers ten thousand keys", When::Login, Either, |asked, honest| {
        let keys: String = (0..9000).map(|n| format!("X{n}=1\0")).collect();
        changed(asked, honest, |_, pdu| pdu.data.extend_from_slice(keys.as_bytes()))
    }),
    lie("redirects to itself", When::Login, Fails(&["redirects the login too often"]), |asked, honest| {
        let text = format!("TargetAddress={}\0", asked.portal);
        changed(asked, honest, |_, pdu| {
            (pdu.header[36], pdu.header[37]) = (1, 1);
            pdu.data.clear();
            pdu.data.extend_from_slice(text.as_bytes());
        })
    }),
    lie("redirects to nowhere", When::Login, Fails(&["TargetAddress"]), |asked, honest| {
        changed(asked, honest, |_, pdu| {
            (pdu.header[36], pdu.header[37]) = (1, 2);
            pdu.data.clear();
        })
    }),
    lie(
        "announces 16 MiB of login text and sends none",
        When::Login,
        Fails(&["implausibly large"]),
        |asked, honest| {
            changed(asked, honest, |_, pdu| {
                pdu.announced = Some(0x00ff_ffff);
                pdu.data.clear();
            })
        },
    ),
    lie("demands a CHAP name", When::Login, Fails(&["authentication (CHAP)"]), |asked, honest| {
        changed(asked, honest, |_, pdu| pdu.data = b"AuthMethod=CHAP\0".to_vec())
    }),
    lie(
        "sends the last login answer twice",
        When::Login,
        Fails(&["not allowed in the full feature phase"]),
        |asked, honest| {
            let twice = [honest.clone(), honest].concat();
            if asked.request.header[1] & 3 == 3 { asked.all(&twice) } else { asked.all(&twice[..1]) }
        },
    ),
    lie("sends additional headers with a login answer", When::Login, Right, |asked, honest| {
        changed(asked, honest, |_, pdu| pdu.more = vec![7; 1020])
    }),
    lie("hangs up after the login", When::Login, Fails(&["closed", "ended"]), |asked, honest| {
        let mut acts = asked.all(&honest);
        acts.extend((asked.request.header[1] & 3 == 3).then_some(Act::HangUp));
        acts
    }),
];

const LOOK: &[Lie] = &[
    lie("says nothing to INQUIRY", INQUIRY, Fails(&["identity of the LUN", "was aborted"]), |_, _| {
        Vec::new()
    }),
    lie("hangs up at READ CAPACITY", CAPACITY, Fails(&["ended"]), |_, _| vec![Act::HangUp]),
    lie(
        "sends 3 bytes of INQUIRY data",
        INQUIRY,
        Fails(&["INQUIRY", "too short", "ends"]),
        |asked, honest| data(asked, honest, &[0, 0, 5]),
    ),
    lie("has no such LUN", INQUIRY, Fails(&["no such LUN"]), |asked, honest| {
        let mut inquiry = honest[0].data.clone();
        inquiry[0] = 0x7f;
        data(asked, honest, &inquiry)
    }),
    lie("has a tape", INQUIRY, Fails(&["not a disk"]), |asked, honest| {
        let mut inquiry = honest[0].data.clone();
        inquiry[0] = 1;
        data(asked, honest, &inquiry)
    }),
    lie("has blocks of 0 bytes", CAPACITY, Fails(&["block"]), |asked, honest| {
        data(asked, honest, &capacity(4095, 0))
    }),
    lie("has blocks of 2 GiB", CAPACITY, Fails(&["block"]), |asked, honest| {
        data(asked, honest, &capacity(4095, 0x8000_0000))
    }),
    lie("has blocks of 513 bytes", CAPACITY, Fails(&["block"]), |asked, honest| {
        data(asked, honest, &capacity(4095, 513))
    }),
    lie("has 2^64 blocks", CAPACITY, Fails(&["last LBA"]), |asked, honest| {
        data(asked, honest, &capacity(u64::MAX, 512))
    }),
    lie("sends 7 bytes of capacity", CAPACITY, Fails(&["at least 16 are needed"]), |asked, honest| {
        data(asked, honest, &[0; 7])
    }),
    lie("names itself beyond the end of the page", INQUIRY, Either, |asked, honest| {
        match asked.request.header[34] {
            0x83 => data(asked, honest, &[0, 0x83, 0xff, 0xff, 1, 3, 0, 255, 0x60]),
            _ => asked.all(&honest),
        }
    }),
    lie("attends to units for ever", READY, Right, |asked, _| status(asked, 2, &sense(6, 0x29, 0))),
    lie("is busy for ever at first", READY, Fails(&["busy"]), |asked, _| status(asked, 8, &[])),
    lie(
        "sends 64 KiB of sense data",
        READY,
        Fails(&["MaxRecvDataSegmentLength", "segment", "ended"]),
        |asked, _| {
            let mut pdu = stray(asked, 0x21).with(16, asked.request.word(16));
            pdu.header[3] = 2;
            pdu.data = vec![0x70; 300_000];
            vec![asked.send(&pdu)]
        },
    ),
    lie("answers every look twice", ANY_LOOK, Fails(&["not outstanding"]), |asked, honest| {
        [asked.all(&honest), asked.all(&honest)].concat()
    }),
];

const READ: &[Lie] = &[
    lie(
        "sends data beyond the end of a READ",
        When::Read,
        Fails(&["beyond the end", "out of order"]),
        |asked, honest| {
            changed(asked, honest, |index, pdu| {
                if index > 0 {
                    pdu.data.extend([7; BLOCK_BYTES]);
                }
            })
        },
    ),
    lie("sends data at 4 GiB", When::Read, Fails(&["beyond the end"]), |asked, honest| {
        changed(asked, honest, |_, pdu| {
            pdu.set(40, 0xffff_ff00);
        })
    }),
    lie("sends data out of order", When::Read, Fails(&["out of order"]), |asked, mut honest| {
        honest.reverse();
        let status_first = honest.len() > 1;
        changed(asked, honest, |index, pdu| {
            if status_first {
                pdu.header[1] = if index == 0 { 0 } else { 0x81 };
            }
        })
    }),
    lie("sends data twice", When::Read, Fails(&["out of order", "sent twice"]), |asked, honest| {
        changed(asked, honest, |_, pdu| {
            pdu.set(40, 0);
        })
    }),
    lie("leaves the first data out", When::Read, Fails(&["out of order"]), |asked, honest| {
        asked.all(&honest[1..])
    }),
    lie(
        "ends a READ with half of its data, as complete",
        When::Read,
        Fails(&["short transfer"]),
        |asked, honest| {
            let last = honest.len() - 1;
            let mut half = honest[0].clone().with(24, honest[last].word(24));
            half.header[1] = 0x81;
            vec![asked.send(&half)]
        },
    ),
    lie("ends a READ without data, as complete", When::Read, Fails(&["short transfer"]), |asked, _| {
        status(asked, 0, &[])
    }),
    lie("reports a residual that is not left", When::Read, Either, |asked, honest| {
        changed(asked, honest, |_, pdu| {
            if pdu.header[1] & 1 != 0 {
                pdu.header[1] |= 2;
                pdu.set(44, 4096);
            }
        })
    }),
    lie("reports an overflow of a READ", When::Read, Either, |asked, honest| {
        changed(asked, honest, |_, pdu| {
            if pdu.header[1] & 1 != 0 {
                pdu.header[1] |= 4;
                pdu.set(44, u32::MAX);
            }
        })
    }),
    lie("sends data for another task", When::Read, Fails(&["not outstanding"]), |asked, honest| {
        changed(asked, honest, |_, pdu| {
            pdu.set(16, 0x0bad_0bad);
        })
    }),
    lie("sends data for no task", When::Read, Fails(&["not outstanding"]), |asked, honest| {
        changed(asked, honest, |_, pdu| {
            pdu.set(16, NO_TAG);
        })
    }),
    lie("answers every READ twice", When::Read, Either, |asked, honest| {
        [asked.all(&honest), asked.all(&honest)].concat()
    }),
    lie("leaves many status numbers out", When::Read, Fails(&["StatSN"]), |asked, honest| {
        changed(asked, honest, |_, pdu| {
            let next = pdu.word(24) + 500;
            pdu.set(24, next);
        })
    }),
    lie("steps back by a thousand status numbers", When::Read, Either, |asked, honest| {
        changed(asked, honest, |_, pdu| {
            let before = pdu.word(24).wrapping_sub(1000);
            pdu.set(24, before);
        })
    }),
    lie(
        "sends segments longer than agreed",
        When::Read,
        Fails(&["MaxRecvDataSegmentLength"]),
        |asked, honest| changed(asked, honest, |_, pdu| pdu.announced = Some(0x00ff_ffff)),
    ),
    lie("sends empty data for ever", When::Read, Fails(&[""]), |asked, honest| {
        let mut empty = honest[0].clone();
        empty.header[1] = 0;
        empty.data.clear();
        vec![Act::Endless(empty.with(24, asked.stat_sn).bytes().repeat(32))]
    }),
    lie("never answers a READ, but pings", When::Read, Fails(&[""]), |_, _| Vec::new()),
    lie("sends the data of a READ at a byte a second", When::Read, Fails(&[""]), |_, honest| {
        vec![Act::Drip(honest[0].bytes(), SECOND)]
    }),
    lie("hangs up in the middle of data", When::Read, Fails(&["ended", "closed"]), |_, honest| {
        vec![Act::Bytes(honest[0].bytes()[..SEGMENT_BYTES / 2].to_vec()), Act::HangUp]
    }),
    lie("goes mute in the middle of data", When::Read, Fails(&[""]), |_, honest| {
        vec![Act::Bytes(honest[0].bytes()[..SEGMENT_BYTES / 2].to_vec()), Act::Mute]
    }),
    lie("sends sense data that are noise", When::Read, Fails(&[""]), |asked, _| {
        let noise: Vec<u8> = (0..250_u8).map(|n| n.wrapping_mul(73) ^ 0x5a).collect();
        status(asked, 2, &noise)
    }),
    lie("sends sense data shorter than they say", When::Read, Fails(&[""]), |asked, _| {
        let mut pdu = stray(asked, 0x21).with(16, asked.request.word(16));
        pdu.header[3] = 2;
        pdu.data = vec![0xff, 0xff, 0x72];
        vec![asked.send(&pdu)]
    }),
    lie("reports a CHECK CONDITION without sense data", When::Read, Fails(&[""]), |asked, _| {
        status(asked, 2, &[])
    }),
    lie("is busy for ever", When::Read, Fails(&["BUSY", "busy"]), |asked, _| status(asked, 8, &[])),
    lie("has a full task set for ever", When::Read, Fails(&["full", "FULL"]), |asked, _| {
        status(asked, 0x28, &[])
    }),
    lie("is reserved for somebody else", When::Read, Fails(&["reserv"]), |asked, _| status(asked, 0x18, &[])),
    lie("has a status that nobody knows", When::Read, Fails(&["status"]), |asked, _| {
        status(asked, 0x77, &[])
    }),
    lie("reports a power-on with every READ", When::Read, Fails(&[""]), |asked, _| {
        status(asked, 2, &sense(6, 0x29, 0))
    }),
    lie("is becoming ready for ever", When::Read, Fails(&["ready"]), |asked, _| {
        status(asked, 2, &sense(2, 4, 1))
    }),
    lie("fails inside of iSCSI", When::Read, Fails(&[""]), |asked, _| {
        let mut pdu = stray(asked, 0x21).with(16, asked.request.word(16));
        pdu.header[2] = 1;
        vec![asked.send(&pdu)]
    }),
    lie("asks a READ for data", When::Read, Fails(&["reads nothing", "writes nothing"]), |asked, _| {
        vec![asked.send(&r2t(asked, 0, 512))]
    }),
    lie("sends status without the final bit", When::Read, Fails(&["F with S"]), |asked, honest| {
        changed(asked, honest, |_, pdu| pdu.header[1] &= 0x7f)
    }),
    lie("sends additional headers with data", When::Read, Right, |asked, honest| {
        changed(asked, honest, |_, pdu| pdu.more = vec![7; 1020])
    }),
    lie("sends noise", When::Read, Fails(&["opcode"]), |_, _| vec![Act::Bytes(vec![0x5a; 512])]),
    digested(lie("sends a wrong header digest", When::Read, Fails(&["digest mismatch"]), |asked, honest| {
        let Act::Bytes(mut bytes) = asked.send(&honest[0]) else { return Vec::new() };
        bytes[49] ^= 1;
        vec![Act::Bytes(bytes)]
    })),
    digested(lie(
        "sends wrong data under a digest",
        When::Read,
        Fails(&["digest mismatch"]),
        |asked, honest| {
            let Act::Bytes(mut bytes) = asked.send(&honest[0]) else { return Vec::new() };
            bytes[1000] ^= 1;
            vec![Act::Bytes(bytes)]
        },
    )),
    digested(lie("is honest, with digests", When::Read, Right, |asked, honest| asked.all(&honest))),
    lie("is honest", When::Read, Right, |asked, honest| asked.all(&honest)),
];

const STRAY: &[Lie] = &[
    lie("pings for ever", When::Read, Fails(&[""]), |asked, _| {
        let ping = stray(asked, 0x20).with(20, 0x55);
        vec![Act::Endless(ping.bytes().repeat(32))]
    }),
    lie("pings before every answer", When::Read, Right, |asked, honest| {
        let mut acts = vec![asked.send(&stray(asked, 0x20).with(20, 0x55))];
        acts.extend(asked.all(&honest));
        acts
    }),
    lie("answers pings that nobody sent", When::Read, Fails(&["not outstanding"]), |asked, honest| {
        first(asked, &stray(asked, 0x20).with(16, 0x0000_1234), honest)
    }),
    lie("asks to log out with every answer", When::Read, Either, |asked, honest| {
        let mut message = stray(asked, 0x32);
        message.header[36] = 1;
        first(asked, &message, honest)
    }),
    lie("says that it drops the session, and does not", When::Read, Either, |asked, honest| {
        let mut message = stray(asked, 0x32);
        message.header[36] = 3;
        first(asked, &message, honest)
    }),
    lie("sends a message of its vendor", When::Read, Right, |asked, honest| {
        let mut message = stray(asked, 0x32);
        message.header[36] = 255;
        first(asked, &message, honest)
    }),
    lie("sends a message that nobody knows", When::Read, Right, |asked, honest| {
        let mut message = stray(asked, 0x32);
        message.header[36] = 77;
        message.data = vec![0xff; 3];
        first(asked, &message, honest)
    }),
    lie("sends messages for ever", When::Read, Fails(&[""]), |asked, _| {
        let mut message = stray(asked, 0x32);
        message.header[36] = 255;
        // Its numbers are correct for the first one only.
        vec![Act::Endless(message.bytes().repeat(32))]
    }),
    lie("rejects every READ", When::Read, Fails(&["rejected PDU 0x01"]), |asked, _| {
        let mut reject = stray(asked, 0x3f);
        reject.header[2] = 4;
        reject.data = asked.request.header.to_vec();
        vec![asked.send(&reject)]
    }),
    lie("rejects nothing in particular", When::Read, Fails(&["rejected PDU"]), |asked, _| {
        let mut reject = stray(asked, 0x3f);
        reject.header[2] = 0xff;
        vec![asked.send(&reject)]
    }),
    lie("sends a PDU of no known kind", When::Read, Fails(&["opcode 0x3e"]), |asked, _| {
        vec![asked.send(&stray(asked, 0x3e))]
    }),
    lie("sends a PDU that only initiators send", When::Read, Fails(&["opcode 0x01"]), |asked, _| {
        vec![asked.send(&stray(asked, 0x01))]
    }),
    lie("answers a question that nobody asked", When::Read, Fails(&["0x24 is not allowed"]), |asked, _| {
        vec![asked.send(&stray(asked, 0x24))]
    }),
    lie("answers a logout that nobody asked for", When::Read, Either, |asked, honest| {
        first(asked, &stray(asked, 0x26), honest)
    }),
    lie("answers an abort that nobody asked for", When::Read, Right, |asked, honest| {
        first(asked, &stray(asked, 0x22).with(16, 0x8000_0777), honest)
    }),
    lie(
        "never opens the command window again",
        When::Other,
        RightAndSaid(&["command window"]),
        |asked, honest| {
            changed(asked, honest, |_, pdu| {
                pdu.set(32, 12);
            })
        },
    ),
    lie("takes the command window back", When::Other, Right, |asked, honest| {
        changed(asked, honest, |_, pdu| {
            if asked.io_count > 0 {
                let closed = pdu.word(28).wrapping_sub(1);
                pdu.set(32, closed);
            }
        })
    }),
    lie("opens the command window by 2^31", When::Read, Either, |asked, honest| {
        changed(asked, honest, |_, pdu| {
            let open = pdu.word(28).wrapping_add(0x7fff_ffff);
            pdu.set(32, open);
        })
    }),
    lie("expects commands that were not sent", When::Read, Either, |asked, honest| {
        changed(asked, honest, |_, pdu| {
            let next = pdu.word(28).wrapping_add(1000);
            pdu.set(28, next).set(32, next + 31);
        })
    }),
];

const WRITE: &[Lie] = &[
    lie("asks for data beyond the end of a WRITE", When::Write, Fails(&["beyond the end"]), |asked, _| {
        vec![asked.send(&r2t(asked, 0, asked.request.word(20) + 512))]
    }),
    lie("asks for data at 4 GiB", When::Write, Fails(&["beyond the end"]), |asked, _| {
        vec![asked.send(&r2t(asked, 0xffff_fe00, 512))]
    }),
    lie("asks for no data", When::Write, Fails(&["DesiredDataTransferLength"]), |asked, _| {
        vec![asked.send(&r2t(asked, 0, 0))]
    }),
    lie("asks for data without a tag", When::Write, Fails(&["TargetTransferTag"]), |asked, _| {
        vec![asked.send(&r2t(asked, 0, 512).with(20, NO_TAG))]
    }),
    lie("asks for data of another task", When::Write, Fails(&["not outstanding"]), |asked, _| {
        vec![asked.send(&r2t(asked, 0, 512).with(16, 0x0bad_0bad))]
    }),
    lie("asks twice at once", When::Write, Either, |asked, honest| match is_command(asked) {
        true => [asked.all(&honest), asked.all(&honest)].concat(),
        false => asked.all(&honest),
    }),
    lie("asks for the same data for ever", When::Write, Fails(&[""]), |asked, _| {
        vec![asked.send(&r2t(asked, 8192, 8192))]
    }),
    lie("never asks for the data of a WRITE", When::Write, Fails(&[""]), |_, _| Vec::new()),
    lie(
        "ends a WRITE before it has its data",
        When::Write,
        Fails(&["short transfer: 8192 of 16384"]),
        |asked, _| status(asked, 0, &[]),
    ),
    lie(
        "says that half of a WRITE was left over",
        When::Write,
        Fails(&["short transfer"]),
        |asked, honest| {
            changed(asked, honest, |_, pdu| {
                if pdu.opcode() == 0x21 {
                    pdu.header[1] |= 2;
                    pdu.set(44, 8192);
                }
            })
        },
    ),
    lie(
        "says that more than all of a WRITE was left over",
        When::Write,
        Fails(&["short transfer"]),
        |asked, honest| {
            changed(asked, honest, |_, pdu| {
                if pdu.opcode() == 0x21 {
                    pdu.header[1] |= 2;
                    pdu.set(44, u32::MAX);
                }
            })
        },
    ),
    lie("ends another WRITE", When::Write, Fails(&["not outstanding"]), |asked, honest| {
        changed(asked, honest, |_, pdu| {
            pdu.set(16, 0x0bad_0bad);
        })
    }),
    // Each attempt is right if its end arrives before the second one is read.
    lie("ends every WRITE twice", When::Write, Either, |asked, honest| {
        [asked.all(&honest), asked.all(&honest)].concat()
    }),
    lie("hangs up after it asked for data", When::Write, Fails(&["ended", "closed"]), |asked, honest| {
        let mut acts = asked.all(&honest);
        acts.push(Act::HangUp);
        acts
    }),
    lie("sends data to a WRITE", When::Write, Fails(&["reads nothing"]), |asked, _| {
        let mut data = stray(asked, 0x25).with(16, asked.request.word(16));
        data.data = vec![1; 512];
        vec![asked.send(&data)]
    }),
    lie("is write-protected", When::Write, Fails(&["rotect"]), |asked, _| {
        status(asked, 2, &sense(7, 0x27, 0))
    }),
    lie("has no space left", When::Write, Fails(&[""]), |asked, _| status(asked, 2, &sense(7, 0x27, 7))),
    lie("has a broken medium", When::Write, Fails(&["edium"]), |asked, _| {
        status(asked, 2, &sense(3, 0x0c, 0))
    }),
    lie("has no LUN any more", When::Write, Fails(&[""]), |asked, _| status(asked, 2, &sense(5, 0x25, 0))),
];

/// Lies that start after the first I/O, or with the second connection.
const LATER: &[Lie] = &[
    lie("is another LUN after a hang-up", When::Other, Fails(&["different unit"]), |asked, honest| {
        after_hang_up(asked, honest, other_unit)
    }),
    lie("is smaller after a hang-up", When::Other, Fails(&["size differs"]), |asked, honest| {
        after_hang_up(asked, honest, |asked, honest| other_size(asked, honest, &capacity(1000, 512)))
    }),
    lie("has larger blocks after a hang-up", When::Other, Fails(&["size differs"]), |asked, honest| {
        after_hang_up(asked, honest, |asked, honest| other_size(asked, honest, &capacity(511, 4096)))
    }),
    lie(
        "is another LUN after a change of its LUNs",
        When::Other,
        Fails(&["different unit", "changed"]),
        |asked, honest| match (asked.io_count, asked.when) {
            (0..=1, _) => asked.all(&honest),
            (2, When::Write) if is_command(asked) => status(asked, 2, &sense(6, 0x3f, 0x0e)),
            _ => other_unit(asked, honest),
        },
    ),
    lie(
        "is smaller after a change of its capacity",
        When::Other,
        Fails(&["size differs", "changed"]),
        |asked, honest| match (asked.io_count, asked.when) {
            (0..=1, _) => asked.all(&honest),
            (2, When::Write) if is_command(asked) => status(asked, 2, &sense(6, 0x2a, 9)),
            _ => other_size(asked, honest, &capacity(1000, 512)),
        },
    ),
    lie("refuses the second login", When::Other, Fails(&["no such target"]), |asked, honest| {
        after_hang_up(asked, honest, |asked, honest| {
            changed(asked, honest, |_, pdu| (pdu.header[36], pdu.header[37]) = (2, 3))
        })
    }),
    lie("answers no ping", When::Ping, Either, |_, _| Vec::new()),
    lie("answers pings with other tags", When::Ping, Either, |asked, honest| {
        changed(asked, honest, |_, pdu| {
            pdu.set(16, 0x8000_7777);
        })
    }),
    lie("reports a change of its LUNs once", When::Write, Either, |asked, honest| {
        match (asked.io_count, is_command(asked)) {
            (2, true) => status(asked, 2, &sense(6, 0x3f, 0x0e)),
            _ => asked.all(&honest),
        }
    }),
    lie("reports a change of its capacity once", When::Write, Either, |asked, honest| {
        match (asked.io_count, is_command(asked)) {
            (2, true) => status(asked, 2, &sense(6, 0x2a, 9)),
            _ => asked.all(&honest),
        }
    }),
    lie("never answers a logout", When::Logout, Right, |_, _| Vec::new()),
    lie("answers a logout with an error", When::Logout, Right, |asked, honest| {
        changed(asked, honest, |_, pdu| pdu.header[2] = 3)
    }),
];

const DISCOVERY: &[Lie] = &[
    lie("says nothing to SendTargets", When::Text, Fails(&["SendTargets"]), |_, _| vec![Act::Mute]),
    lie("hangs up at SendTargets", When::Text, Fails(&["ended"]), |_, _| vec![Act::HangUp]),
    lie("lists targets for ever", When::Text, Fails(&["does not end"]), |asked, honest| {
        changed(asked, honest, |_, pdu| {
            pdu.header[1] = 0x40;
            pdu.set(20, 5);
            pdu.data = format!("TargetName=iqn.2026-11.example:{}\0", "x".repeat(4000)).into_bytes();
        })
    }),
    lie("lists no targets for ever", When::Text, Fails(&["does not end", "took longer"]), |asked, honest| {
        changed(asked, honest, |_, pdu| {
            pdu.header[1] = 0x40;
            pdu.set(20, 5);
            pdu.data.clear();
        })
    }),
    lie("goes on with a list without a tag", When::Text, Fails(&["to request the rest"]), |asked, honest| {
        changed(asked, honest, |_, pdu| pdu.header[1] = 0x40)
    }),
    lie("lists noise", When::Text, Fails(&["not UTF-8"]), |asked, honest| {
        changed(asked, honest, |_, pdu| pdu.data = vec![0xff; 100])
    }),
    lie("lists pieces without values", When::Text, Fails(&["without '='"]), |asked, honest| {
        changed(asked, honest, |_, pdu| pdu.data = b"TargetName\0".to_vec())
    }),
    lie("answers SendTargets with data", When::Text, Fails(&["not a text response"]), |asked, honest| {
        changed(asked, honest, |_, pdu| pdu.header[0] = 0x25)
    }),
    lie("lists targets at a byte a second", When::Text, Fails(&["SendTargets"]), |_, honest| {
        vec![Act::Drip(honest[0].bytes(), SECOND)]
    }),
    lie("announces 16 MiB of targets", When::Text, Fails(&["implausibly large"]), |asked, honest| {
        changed(asked, honest, |_, pdu| {
            pdu.announced = Some(0x00ff_ffff);
            pdu.data.clear();
        })
    }),
];
