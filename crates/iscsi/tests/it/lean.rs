//! The target of the benches keeps what is written, however commands, data and responses are cut.

use assay_iscsi::login::Offer;
use assay_iscsi::{Config, Initiator};
use assay_testkit::lean::{LeanTarget, NAME};

use crate::work::{Buffer, write_and_verify};

#[test]
fn the_lean_target_returns_what_was_written() {
    let target = LeanTarget::start(8 << 20, None);
    for (generation, (block_bytes, max_recv_segment_bytes)) in
        [(4096, 262_144), (65_536, 262_144), (589_824, 262_144), (65_536, 4096)].into_iter().enumerate()
    {
        let offer = Offer { max_recv_segment_bytes, ..Offer::default() };
        let config = Config { offer, depth: 32, ..Config::new(vec![target.portal.clone()], NAME, 0) };
        let mut initiator = Initiator::<Buffer>::connect(config).unwrap();
        let before = target.work().commands;
        let blocks = (8 << 20) / block_bytes;
        write_and_verify(&mut initiator, blocks, block_bytes as usize, 32, generation as u64 + 1);
        assert!(target.work().commands - before >= 2 * blocks);
    }
}
