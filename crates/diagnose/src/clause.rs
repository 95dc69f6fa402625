//! A measured number as a clause of its own, written for each quantity, and what a cause needs it to be.

use assay_record::Experiment;

use crate::number::number;
use crate::quantity::Quantity;
use crate::range::Range;

/// Returns what was measured, a clause without a capital and without a full stop.
pub(crate) fn measured(quantity: Quantity, experiment: Experiment, value: f64) -> String {
    let v = figure(quantity, value);
    match quantity {
        Quantity::Rate(experiment) => rate(experiment, &v),
        Quantity::PacedLatency => {
            format!("at about half the rate an I/O takes {v} times as long as at the full rate")
        }
        Quantity::PacedToOne => {
            format!("at about half the rate an I/O takes {v} times as long as one that is alone")
        }
        Quantity::LatencyOne => format!("one I/O alone takes {v} µs"),
        Quantity::LatencyOfLoad => format!("an I/O of the load takes {v} µs"),
        Quantity::MedianToMean => format!("the median latency is {v} of the mean"),
        Quantity::LowToMean => format!("a fifth of the I/Os takes less than {v} of the mean latency"),
        Quantity::Trend => format!("the last third of the window has {v} times the rate of the first"),
        Quantity::CameBack => format!("the load rose by a factor of {v} again, without a rest before"),
        Quantity::SlowMember => {
            format!("the slowest member of a stripe takes {v} times as long as the others under the load")
        }
        Quantity::SlowRegion => {
            format!("the slowest part of the addresses takes {v} times as long as the rest")
        }
        Quantity::Unwritten if value <= 0.0 => "every block was written before".to_owned(),
        Quantity::Unwritten => format!("{v} of the blocks were never written"),
        Quantity::OnlyZeros if value <= 0.0 => "no block that was read holds only zeros".to_owned(),
        Quantity::OnlyZeros => format!("{v} of the blocks that were read hold only zeros"),
        Quantity::UnknownContent => "the content of the blocks is not known".to_owned(),
        Quantity::PartialBlocks if value <= 0.0 => "no write begins or ends within a block".to_owned(),
        Quantity::PartialBlocks => format!("{v} of the writes begin or end within a block"),
        Quantity::OfIopsLimit => format!("the rate is {v} of the limit on operations"),
        Quantity::OfBytesLimit => format!("the throughput is {v} of the limit on bytes"),
        Quantity::Shown(_) if value > 0.5 => "this host shows the state".to_owned(),
        Quantity::Shown(_) => format!("this host does not show the state during {}", experiment.name()),
        quantity => way(quantity, &v),
    }
}

/// Clauses about the host, its devices and the way to the target.
fn way(quantity: Quantity, v: &str) -> String {
    match quantity {
        Quantity::TesterBusy => format!("the workers use {v} of their CPU time"),
        Quantity::OthersBusy => format!("other programs take {v} of this host's CPU time"),
        Quantity::WaitForOthers => format!("for {v} of the time the workers wait for a CPU that others have"),
        Quantity::StoppedByQuota => {
            format!("for {v} of the time a control group stops the tester for its limit on CPU time")
        }
        Quantity::HelpersBusy => format!("the kernel uses {v} CPUs for the load"),
        Quantity::LinkShare => format!("the load moves {v} of what the links sustain"),
        Quantity::BusMatch => format!("the throughput is {v} of the nearest bus standard"),
        Quantity::DeviceBytes => format!("the devices of this host move {v} times the bytes of the load"),
        Quantity::RoundTripShare => format!("an idle round trip takes {v} of the latency"),
        Quantity::PingWait => format!("a ping under load takes longer by {v} of the latency"),
        Quantity::PathShare => format!("the busiest path has {v} times its share of the I/Os"),
        Quantity::PathDelays => format!("the slowest path takes {v} times as long as the fastest"),
        Quantity::Resent => format!("segments sent again for 1,000 I/Os: {v}"),
        Quantity::OutOfOrder => format!("segments out of order for 1,000 I/Os: {v}"),
        Quantity::LostFrames if v == "none" => "no frame is lost".to_owned(),
        Quantity::LostFrames => "frames are lost".to_owned(),
        quantity => format!("{} is {v}", quantity.words()),
    }
}

fn rate(experiment: Experiment, v: &str) -> String {
    match experiment {
        Experiment::Base => format!("the rate of the load itself changed by a factor of {v} meanwhile"),
        Experiment::MoreOutstanding => format!("four times the queue depth gives {v} times the IOPS"),
        Experiment::OneOutstanding => format!("one I/O at a time gives {v} times the IOPS"),
        Experiment::LargerIo => format!("I/Os of eight times the size give {v} times the IOPS"),
        Experiment::SmallerIo => format!("I/Os of an eighth of the size give {v} times the IOPS"),
        Experiment::HotSpan => format!("a span of 4 MiB gives {v} times the IOPS"),
        Experiment::TenthSpan => format!("a tenth of the span gives {v} times the IOPS"),
        Experiment::WholeSpan => format!("the whole target gives {v} times the IOPS"),
        Experiment::ReadsOnly => format!("reads alone give {v} times the IOPS"),
        Experiment::WritesOnly => format!("writes alone give {v} times the IOPS"),
        Experiment::Mixed => format!("half reads and half writes give {v} times the IOPS"),
        Experiment::Sequential => format!("sequential I/O gives {v} times the IOPS"),
        Experiment::Random => format!("random I/O gives {v} times the IOPS"),
        Experiment::Misaligned => format!("misaligned I/O gives {v} times the IOPS"),
        Experiment::Aligned => format!("I/O aligned to 4 KiB gives {v} times the IOPS"),
        Experiment::MoreWorkers => format!("twice the workers give {v} times the IOPS"),
        Experiment::OnePath => format!("one path gives {v} times the IOPS"),
        Experiment::MoreConnections => format!("four times the connections give {v} times the IOPS"),
        Experiment::EvenPaths => format!("every I/O on the next path gives {v} times the IOPS"),
        Experiment::WithoutSync => format!("writes that are not flushed give {v} times the IOPS"),
        Experiment::WithSync => format!("writes that are flushed each give {v} times the IOPS"),
        Experiment::RepeatingData => format!("repeating data gives {v} times the IOPS"),
        Experiment::UniqueData => format!("unique data gives {v} times the IOPS"),
        Experiment::AfterIdle => format!("the load after a pause gives {v} times the IOPS"),
        Experiment::HalfRate => format!("half the rate, as a pace, gives {v} times the IOPS"),
    }
}

/// Returns what a cause needs the number to be: `20 % or more`, `0.9 to 1.3`.
pub(crate) fn needed(quantity: Quantity, range: Range) -> String {
    let usual = quantity.stated_range(quantity.usual());
    let (lo, hi) = (figure(quantity, range.lo), figure(quantity, range.hi));
    match (range.lo <= usual.lo, range.hi >= usual.hi) {
        (false, true) => format!("{lo} or more"),
        (true, false) if range.hi <= 0.0 => "none".to_owned(),
        (true, false) => format!("{hi} or less"),
        _ => format!("{lo} to {hi}"),
    }
}

/// A share in percent, any other number as it is.
fn figure(quantity: Quantity, value: f64) -> String {
    use Quantity as Q;
    let is_share = matches!(
        quantity,
        Q::RoundTripShare
            | Q::MedianToMean
            | Q::LowToMean
            | Q::TesterBusy
            | Q::OthersBusy
            | Q::WaitForOthers
            | Q::StoppedByQuota
            | Q::LinkShare
            | Q::BusMatch
            | Q::PingWait
            | Q::Unwritten
            | Q::OnlyZeros
            | Q::PartialBlocks
            | Q::OfIopsLimit
            | Q::OfBytesLimit
    );
    match is_share {
        true if value >= 0.1 => format!("{:.0} %", value * 100.0),
        true => format!("{:.1} %", value * 100.0),
        false => number(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "Blocks that were never written: the load itself, never written was none, and 0.20 to 1.05 is expected."
    #[test]
    fn a_number_and_what_a_cause_needs_are_sentences() {
        let base = Experiment::Base;
        assert_eq!(measured(Quantity::Unwritten, base, 0.0), "every block was written before");
        assert_eq!(needed(Quantity::Unwritten, Range { lo: 0.2, hi: 1.05 }), "20 % or more");
        let paced = measured(Quantity::PacedToOne, Experiment::HalfRate, 22.1);
        assert_eq!(paced, "at about half the rate an I/O takes 22.1 times as long as one that is alone");
        assert_eq!(needed(Quantity::PacedToOne, Range { lo: 0.5, hi: 2.0 }), "0.50 to 2.00");
        let deeper = Quantity::Rate(Experiment::MoreOutstanding);
        assert_eq!(
            measured(deeper, Experiment::MoreOutstanding, 1.02),
            "four times the queue depth gives 1.02 times the IOPS"
        );
    }
}
