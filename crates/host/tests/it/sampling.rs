//! The sampler reports the real I/O of a disk.

use std::fs::File;
use std::io::Read;
use std::time::{Duration, Instant};

use assay_host::{Sampler, Watched};

use assay_testkit::loop_device::{CAPACITY_BYTES, LoopDevice};

#[test]
fn samples_report_the_bytes_read_from_a_device() {
    let Some(device) = LoopDevice::new() else { return };
    // Take the sampler's first reading before any I/O.
    let watched = Watched { devices: vec![device.name()], ..Watched::default() };
    let sampler = Sampler::start(watched, Instant::now(), Duration::from_millis(100));
    std::thread::sleep(Duration::from_millis(50));
    let mut read = Vec::new();
    File::open(&device.path).unwrap().read_to_end(&mut read).unwrap();
    assert_eq!(read.len() as u64, CAPACITY_BYTES);
    std::thread::sleep(Duration::from_millis(200));
    let samples = sampler.stop();
    let bytes: u64 = samples.iter().flat_map(|sample| &sample.disks).map(|disk| disk.read_bytes).sum();
    assert_eq!(bytes, CAPACITY_BYTES, "{samples:?}");
    assert!(samples.iter().all(|sample| sample.disks.len() == 1 && sample.disks[0].device == device.name()));
}
