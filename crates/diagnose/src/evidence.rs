//! The evidence for a cause in one sentence: what was measured that says so, as a colleague would put it.

use assay_analysis::whole;
use assay_record::Experiment as E;

use crate::cause::Cause;
use crate::number::number;
use crate::quantity::Quantity as Q;

/// More connections that gave less than this gave nothing.
const MORE_LEAST: f64 = 1.3;
/// A round trip that takes this share of the latency is most of it.
const WHOLE_LATENCY: f64 = 0.5;
/// One I/O at a time that reaches this share of the rate shows that others only wait.
const ALONE_LEAST: f64 = 0.8;

/// Returns the sentence for a cause from the numbers that were measured; `None` where none of those it speaks of was.
pub(crate) fn evidence(cause: Cause, of: &dyn Fn(Q) -> Option<f64>) -> Option<String> {
    let all = sentences(cause, of);
    all.into_iter().flatten().next()
}

/// Percent of a share.
fn percent(share: f64) -> String {
    match share * 100.0 {
        percent if percent < 0.5 => "less than 1 %".to_owned(),
        percent => format!("{percent:.0} %"),
    }
}

/// The sentences for a cause, the one that says most first.
fn sentences(cause: Cause, of: &dyn Fn(Q) -> Option<f64>) -> Vec<Option<String>> {
    match cause {
        Cause::TesterCpu | Cause::HostCpu | Cause::PageCache => of_host(cause, of),
        Cause::Link
        | Cause::PathPolicy
        | Cause::SlowPath
        | Cause::NetworkFault
        | Cause::Interface
        | Cause::Neighbour => of_way(cause, of),
        Cause::IopsCap
        | Cause::BytesCap
        | Cause::BurstCredit
        | Cause::TargetPerIo
        | Cause::TargetPerByte
        | Cause::TargetSerial
        | Cause::FewOutstanding => of_limit(cause, of),
        Cause::NoneOfThese => Vec::new(),
        Cause::Rebuild
        | Cause::RoundTrip
        | Cause::ServerThreads
        | Cause::FileLock
        | Cause::FirstWrite
        | Cause::Crypt
        | Cause::PowerState
        | Cause::LinkDowngraded
        | Cause::Thermal
        | Cause::Fragmented => of_state(cause, of),
        _ => of_media(cause, of),
    }
}

fn of_host(cause: Cause, of: &dyn Fn(Q) -> Option<f64>) -> Vec<Option<String>> {
    let rate = |experiment| of(Q::Rate(experiment)).map(number);
    match cause {
        Cause::TesterCpu => vec![
            of(Q::StoppedByQuota).filter(|share| *share > 0.1).map(|share| {
                format!(
                    "For {} of the time a control group stopped Assay for its limit on CPU time.",
                    percent(share)
                )
            }),
            of(Q::TesterBusy).map(|busy| {
                format!("Assay's own workers used {} of the CPU time that they can have.", percent(busy))
            }),
            rate(E::MoreWorkers).map(|times| {
                format!("Twice the workers with as many I/Os in flight did {times} times the IOPS.")
            }),
        ],
        Cause::HostCpu => vec![
            of(Q::WaitForOthers).map(|waits| {
                format!(
                    "For {} of the time Assay's workers waited for a CPU that other programs or the hypervisor had.",
                    percent(waits)
                )
            }),
            of(Q::OthersBusy).map(|busy| {
                format!("Other programs and the hypervisor used {} of this host's CPUs.", percent(busy))
            }),
        ],
        _ => vec![of(Q::DeviceBytes).map(|share| {
            format!("The device moved only {} of the bytes that the load got.", percent(share))
        })],
    }
}

fn of_way(cause: Cause, of: &dyn Fn(Q) -> Option<f64>) -> Vec<Option<String>> {
    let rate = |experiment| of(Q::Rate(experiment)).map(number);
    match cause {
        Cause::Link => {
            vec![
                of(Q::LinkShare)
                    .map(|share| format!("The load moves {} of what the links sustain.", percent(share))),
            ]
        }
        Cause::PathPolicy => vec![
            rate(E::EvenPaths)
                .map(|times| format!("Spreading the I/Os over all paths gave {times} times the IOPS.")),
            of(Q::PathShare)
                .map(|share| format!("The busiest path has {} times its share of the I/Os.", number(share))),
        ],
        Cause::SlowPath => vec![
            of(Q::PathDelays).map(|times| {
                format!("A round trip on the slowest path takes {} times as long.", number(times))
            }),
            rate(E::OnePath).map(|times| format!("One path alone did {times} times the IOPS of all.")),
        ],
        Cause::NetworkFault => vec![
            of(Q::LostFrames)
                .filter(|lost| *lost > 0.5)
                .map(|_| "Full-sized frames do not arrive at the target.".to_owned()),
            of(Q::Resent)
                .filter(|resent| *resent > 0.5)
                .map(|resent| format!("TCP sent {} segments again for every 1,000 I/Os.", number(resent))),
            of(Q::OutOfOrder).map(|count| {
                format!(
                    "{} segments for every 1,000 I/Os arrived out of order, as after a loss.",
                    number(count)
                )
            }),
        ],
        Cause::Interface => vec![of(Q::BusMatch).map(|share| {
            format!("The throughput is {} of what the device's interface sustains.", percent(share))
        })],
        _ => vec![
            of(Q::DeviceBytes)
                .filter(|share| *share > 1.1)
                .map(|share| format!("The device moved {} times the bytes of this load.", number(share))),
            of(Q::Rate(E::Base))
                .map(|times| format!("The same load repeated gave {} times the IOPS.", number(times))),
        ],
    }
}

fn of_limit(cause: Cause, of: &dyn Fn(Q) -> Option<f64>) -> Vec<Option<String>> {
    let rate = |experiment| of(Q::Rate(experiment)).map(number);
    let bytes = |cause_says: &str| {
        rate(E::LargerIo)
            .map(|times| format!("I/Os of eight times the size gave {times} times the IOPS{cause_says}"))
    };
    match cause {
        Cause::IopsCap => vec![
            of(Q::PacedLatency).map(|latency| {
                format!(
                    "At half the rate an I/O takes {} of its latency: the rest is waiting at a limit.",
                    percent(latency)
                )
            }),
            bytes(": the number of operations is what counts."),
        ],
        Cause::BytesCap => vec![bytes(": the number of bytes is what counts.")],
        Cause::BurstCredit => vec![
            rate(E::AfterIdle).map(|times| format!("After a pause the load did {times} times the IOPS.")),
            of(Q::Trend).map(|trend| {
                format!("The last third of the load did {} times the IOPS of the first.", number(trend))
            }),
        ],
        Cause::TargetPerIo => vec![bytes(": the target pays for each I/O.")],
        Cause::TargetPerByte => vec![bytes(": the target pays for each byte.")],
        Cause::TargetSerial => vec![
            of(Q::Rate(E::OneOutstanding)).filter(|times| *times >= ALONE_LEAST).map(|times| {
                let times = number(times);
                format!("One I/O at a time did {times} times the IOPS of the load: more in flight only wait.")
            }),
            rate(E::MoreOutstanding).map(|times| {
                format!("Four times the queue depth gave {times} times the IOPS: more in flight only wait.")
            }),
        ],
        _ => vec![
            rate(E::MoreOutstanding)
                .map(|times| format!("Four times the queue depth gave {times} times the IOPS.")),
            rate(E::OneOutstanding).map(|times| {
                format!("One I/O at a time did {times} times the IOPS: the rate follows the depth.")
            }),
        ],
    }
}

fn of_state(cause: Cause, of: &dyn Fn(Q) -> Option<f64>) -> Vec<Option<String>> {
    let rate = |experiment| of(Q::Rate(experiment)).map(number);
    let is_shown = of(Q::Shown(cause)).is_some();
    let shown = |says: &str| is_shown.then(|| says.to_owned());
    match cause {
        Cause::Rebuild => vec![shown("This host says that the array or its file system is at work beside the load.")],
        Cause::RoundTrip => vec![
            // Where the window of a connection is the limit, I/Os wait for more than a round trip.
            of(Q::Rate(E::MoreConnections))
                .filter(|times| *times > MORE_LEAST && of(Q::RoundTripShare).is_some_and(|s| s < WHOLE_LATENCY))
                .map(|times| format!("Four times the connections gave {} times the IOPS.", number(times))),
            of(Q::RoundTripShare).map(|share| {
                format!("A round trip to the idle target takes {} of the latency of an I/O.", percent(share))
            }),
        ],
        Cause::ServerThreads => vec![rate(E::OneOutstanding).map(|times| {
            format!("One I/O at a time did {times} times the IOPS, a whole part of it, and more in flight add nothing.")
        })],
        Cause::FileLock => vec![
            rate(E::ReadsOnly).map(|times| format!("Reads of the same file gave {times} times the IOPS.")),
            rate(E::OneOutstanding).map(|times| format!("One write at a time did {times} times the IOPS.")),
        ],
        Cause::FirstWrite => vec![
            rate(E::HotSpan).map(|times| {
                format!("The same few MiB written again and again gave {times} times the IOPS.")
            }),
            of(Q::Rate(E::Base)).map(|times| {
                format!("The same load repeated gave {} times the IOPS.", number(times))
            }),
        ],
        Cause::Crypt => vec![
            of(Q::HelpersBusy).map(|cpus| {
                format!("Beside the tester {} CPUs of this host are busy while the load runs.", number(cpus))
            }),
            shown("A device under the target is of dm-crypt."),
        ],
        Cause::PowerState => vec![
            of(Q::PacedLatency).map(|times| {
                format!("At half the rate an I/O takes {} times as long as under the load.", number(times))
            }),
            rate(E::MoreOutstanding).map(|times| format!("Four times the queue depth gave {times} times the IOPS.")),
        ],
        Cause::LinkDowngraded => vec![of(Q::BusMatch).map(|share| {
            format!("The throughput is {} of what the link sustains at the speed that it has now.", percent(share))
        })],
        Cause::Thermal => vec![
            shown("The drive is at its own temperature limit."),
            of(Q::Rate(E::Base)).map(|times| {
                format!("The same load repeated gave {} times the IOPS.", number(times))
            }),
        ],
        _ => vec![
            rate(E::Random).map(|times| format!("The same I/Os at random places gave {times} times the IOPS.")),
            shown("The file lies in many pieces."),
        ],
    }
}

fn of_media(cause: Cause, of: &dyn Fn(Q) -> Option<f64>) -> Vec<Option<String>> {
    let rate = |experiment| of(Q::Rate(experiment)).map(number);
    let alone = of(Q::LatencyOne).map(|us| format!("{} µs", whole(us)));
    match cause {
        Cause::ReadCache => vec![
            rate(E::HotSpan).map(|times| format!("A span of a few MiB gave {times} times the IOPS.")),
            alone.map(|us| format!("One I/O at a time takes {us}: that is memory.")),
        ],
        Cause::RotatingRandom => vec![
            rate(E::Sequential).map(|times| format!("The same I/Os in sequence gave {times} times the IOPS.")),
            rate(E::TenthSpan).map(|times| format!("A tenth of the span gave {times} times the IOPS: shorter seeks.")),
        ],
        Cause::RotatingSequential => vec![
            rate(E::Random).map(|times| format!("The same I/Os at random places gave {times} times the IOPS.")),
        ],
        Cause::FlashParallelism => vec![
            rate(E::OneOutstanding).map(|times| {
                format!("One I/O at a time did {times} times the IOPS, and more in flight than now add little.")
            }),
            alone.map(|us| format!("One I/O at a time takes {us}: that is a read of flash.")),
        ],
        Cause::SlowMember | Cause::WeakRegion => vec![of(Q::MedianToMean).map(|share| {
            format!(
                "The median latency is {} of the mean: a small part of the I/Os takes nearly all of the time.",
                percent(share)
            )
        })],
        Cause::WriteCacheAbsorbing | Cause::WriteCacheFull => vec![
            rate(E::ReadsOnly).map(|times| format!("Reads alone gave {times} times the IOPS.")),
            of(Q::Trend).map(|trend| {
                format!("The last third of the load did {} times the IOPS of the first.", number(trend))
            }),
        ],
        Cause::SlcExhausted => {
            vec![rate(E::AfterIdle).map(|times| format!("After a pause the drive wrote {times} times as fast."))]
        }
        Cause::GarbageCollection => vec![
            rate(E::Sequential).map(|times| format!("Sequential writes gave {times} times the IOPS.")),
            rate(E::ReadsOnly).map(|times| format!("Reads alone gave {times} times the IOPS.")),
        ],
        Cause::ReadModifyWrite => vec![
            rate(E::Aligned).map(|times| format!("Writes of whole blocks gave {times} times the IOPS.")),
            of(Q::PartialBlocks)
                .map(|share| format!("{} of the writes begin or end within a block.", percent(share))),
        ],
        Cause::Flush => vec![
            rate(E::WithoutSync).map(|times| format!("Writes that need not be durable gave {times} times the IOPS.")),
        ],
        Cause::ReducibleData => vec![
            rate(E::UniqueData).map(|times| format!("Data that cannot be reduced gave {times} times the IOPS.")),
            rate(E::RepeatingData).map(|times| format!("Data that repeat gave {times} times the IOPS.")),
        ],
        _ => vec![
            of(Q::Unwritten).map(|share| format!("{} of the span was never written.", percent(share))),
            of(Q::OnlyZeros)
                .map(|share| format!("{} of the blocks read before the run hold only zeros.", percent(share))),
            alone.map(|us| format!("One I/O at a time takes {us}, and nobody knows what the blocks hold.")),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hypotheses::ALL;

    #[test]
    fn every_cause_has_a_sentence_for_what_is_always_or_mostly_measured() {
        for hypothesis in ALL {
            let says = evidence(hypothesis.cause, &|_| Some(0.97));
            assert!(
                says.is_some_and(|says| says.ends_with('.')
                    && says.starts_with(|c: char| c.is_uppercase() || c.is_numeric())),
                "{:?}",
                hypothesis.cause
            );
            assert_eq!(evidence(hypothesis.cause, &|_| None), None);
        }
    }

    /// Twelve causes that the program names stood in no table.
    #[test]
    fn the_guide_has_every_cause_by_its_name() {
        let guide = include_str!("../../../docs/guide/diagnose.md");
        for hypothesis in ALL {
            let row = format!("| `{}` | {} |", hypothesis.cause.name(), hypothesis.name);
            assert!(guide.contains(&row), "{row}");
        }
    }

    /// "One I/O at a time did 0.67 times the IOPS of the load: more in flight only wait" contradicts itself.
    #[test]
    fn a_serial_target_is_shown_by_the_number_that_shows_it() {
        let says = |alone: f64| {
            let of = move |asked: Q| match asked {
                Q::Rate(E::OneOutstanding) => Some(alone),
                Q::Rate(E::MoreOutstanding) => Some(1.0),
                _ => None,
            };
            evidence(Cause::TargetSerial, &of).unwrap()
        };
        assert!(says(0.97).starts_with("One I/O at a time did 0.97 times"), "{}", says(0.97));
        assert!(says(0.67).starts_with("Four times the queue depth gave 1.00 times"), "{}", says(0.67));
    }

    #[test]
    fn of_several_numbers_the_one_that_says_most_is_told() {
        let with = |quantity: Q, value: f64| {
            move |asked: Q| (asked == quantity).then_some(value).or((asked == Q::LatencyOne).then_some(91.0))
        };
        let says = |quantity, value| evidence(Cause::UnmappedBlocks, &with(quantity, value)).unwrap();
        assert_eq!(says(Q::OnlyZeros, 1.0), "100 % of the blocks read before the run hold only zeros.");
        assert_eq!(
            says(Q::Trend, 1.0),
            "One I/O at a time takes 91 µs, and nobody knows what the blocks hold."
        );
    }
}
