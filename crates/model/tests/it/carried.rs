//! What hardware cannot carry: rates that nobody here had tried.

use assay_model::array::{Array, set};
use assay_model::predict::{Engines, Prediction, predict};
use assay_model::resolved::Tables;
use assay_model::workload::Workload;
use assay_spec::units::{Bytes, GIB, KIB};

use crate::array;

fn changed(base: &str, changes: &str) -> Array {
    let mut a = array(base);
    set(&mut a, changes).unwrap_or_else(|e| panic!("{base} {changes}: {e}"));
    a
}

fn expected(a: &Array, load: &Workload) -> Prediction {
    predict(a, load, Engines::Closed, &mut Tables::default())
}

fn load(size: u64, read_pct: f64, random_pct: f64, outstanding: u32) -> Workload {
    Workload::simple("row", size, read_pct, random_pct, outstanding)
}

/// Six disks as raidz1 were to take 255,000 random writes of 4 KiB per second where the file did not name ZFS: its
/// records were streamed as if each I/O were one.
#[test]
fn raidz_and_draid_write_their_records_whether_or_not_the_file_names_zfs() {
    for level in ["raid=raidz1 disks=6", "raid=raidz3 disks=8", "raid=draid2 disks=12 raid.width=6"] {
        let rate = |record: &str, random_pct: f64| {
            let array = changed("hdd-7200", &format!("link=none {level} chunk={record}"));
            let load = Workload { span: Bytes(1000 * GIB), ..load(4 * KIB, 0.0, random_pct, 32) };
            expected(&array, &load).closed.iops
        };
        // The root of 4 KiB and the record: 8 and 16 times what is written.
        for (record, factor) in [("256KiB", 8.0), ("1MiB", 16.0)] {
            let ratio = rate(record, 0.0) / rate(record, 100.0);
            assert!((ratio / factor - 1.0).abs() < 0.02, "{level} {record}: {ratio}");
        }
    }
}
