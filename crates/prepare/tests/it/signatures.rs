//! The table of signatures: every image of `assay_testkit::images` on every kind of target that can be written. Nothing
//! is overwritten, whatever its content and position, and no byte of it changes.

use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::thread;

use assay_prepare::{IoChoice, PrepareError, PrepareOptions, TooSmall};
use assay_spec::{Address, Overrides, Plan, PlanFile};
use assay_target::Caching;
use assay_testkit::ganesha::{self, Ganesha};
use assay_testkit::images::{self, IMAGE_BYTES, Image};
use assay_testkit::loop_device::LoopDevice;
use assay_testkit::need;
use assay_testkit::tgt::Tgt;

/// Smallest number of images.
const IMAGES_MIN: usize = 90;
/// Number of parallel logins: one takes half a second, nearly all of it waiting.
const LUN_THREADS: usize = 3;

/// Starts tgtd with one thread for each LUN, not 16: each look at who has a file open for writing reads the descriptors
/// of all threads there are.
const FEW_THREADS: [&str; 4] = ["sh", "-c", "exec \"$@\" -t 1", "sh"];

/// Why a target was refused.
#[derive(Debug, Clone, PartialEq)]
enum Verdict {
    /// Because of a known signature, in these words.
    Signature(String),
    /// Because of data that Assay did not write.
    NotBlank,
    /// Not refused, or for another reason.
    Wrong(String),
}

fn plan() -> Plan {
    let text = format!(
        "size = \"{}MiB\"\n[[test]]\nname = \"w\"\naccess = [{{ size = 4096, read = 0 }}]\n",
        IMAGE_BYTES >> 20
    );
    PlanFile::parse("signatures", &text).unwrap().resolve(&Overrides::default()).unwrap()
}

fn options() -> PrepareOptions {
    PrepareOptions {
        io: IoChoice::Psync,
        caching: Caching::Cached,
        changes: assay_prepare::Changes::AsNeeded,
        too_small: TooSmall::Refuse,
        ..PrepareOptions::reading()
    }
}

fn open(address: &str) -> Result<(), PrepareError> {
    let (plan, options, host) = (plan(), options(), assay_host::host_facts());
    let address: Address = address.parse().unwrap();
    let opened = assay_prepare::open(&plan, &[address], &options, &host, &mut || true)?
        .fill(&|| false, &mut |_| {})?;
    opened.close().map(|_| ())
}

/// Tries to open a target for writing. A device or LUN that passes is still refused, because `--overwrite` does not
/// name it.
fn judge(address: &str) -> Verdict {
    match open(address) {
        Err(PrepareError::DeviceHeld { holds, .. }) => Verdict::Signature(holds.trim().to_owned()),
        Err(PrepareError::NotBlank { .. }) => Verdict::NotBlank,
        Err(PrepareError::UsedSince { holds, .. }) if holds.contains("did not write") => Verdict::NotBlank,
        Err(PrepareError::UsedSince { holds, .. }) => Verdict::Signature(holds),
        Err(error) => Verdict::Wrong(error.to_string()),
        Ok(()) => Verdict::Wrong("it was opened for writing".to_owned()),
    }
}

/// Judges a target that holds an image, given by its file at `path`, which must not have changed.
fn judge_unchanged(image: &Image, path: &Path, address: &str) -> Verdict {
    let verdict = judge(address);
    match image.is_on(path).unwrap() {
        true => verdict,
        false => Verdict::Wrong(format!("its bytes have changed; {verdict:?}")),
    }
}

fn on_devices(images: &[Image]) -> Vec<Verdict> {
    let on_device = |image: &Image| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("disk");
        image.put(&path).unwrap();
        let device = LoopDevice::over(folder, &path, &[]).unwrap();
        judge_unchanged(image, &path, &device.text())
    };
    images.iter().map(on_device).collect()
}

fn on_luns(images: &[Image], tgt: &Tgt, folder: &Path, first: usize) -> Vec<Verdict> {
    let on_lun = |(number, image): (usize, &Image)| {
        let address = format!("iscsi://{}/{}/{number}", tgt.portals[0], tgt.name());
        judge_unchanged(image, &lun_path(folder, number), &address)
    };
    (first..).zip(images).map(on_lun).collect()
}

fn lun_path(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("lun{number}"))
}

/// Judges files that Assay created and that another program then used without changing their length; the time of change
/// is reset, so that only the content can show it.
fn on_own_files(images: &[Image], path: &Path, address: &str) -> Vec<Verdict> {
    open(address).unwrap();
    open(address).expect("what Assay made it takes again");
    let modified = std::fs::metadata(path).unwrap().modified().unwrap();
    let on_file = |image: &Image| {
        image.put(path).unwrap();
        File::options().write(true).open(path).unwrap().set_modified(modified).unwrap();
        judge_unchanged(image, path, address)
    };
    images.iter().map(on_file).collect()
}

#[test]
fn every_image_is_refused_on_every_kind_of_target_and_stays_as_it_is() {
    if !need::root() || !images::programs() || !need::programs(&["tgtd", "tgtadm"]) {
        return;
    }
    let tgt = need::or_skip("tgt does not start", Tgt::start(1, IMAGE_BYTES, &FEW_THREADS));
    let (Some(mut tgt), Some(ganesha)) = (tgt, ganesha::start()) else { return };
    if LoopDevice::new().is_none() {
        return;
    }
    let images = images::all();
    let folder = tempfile::tempdir().unwrap();
    for (number, image) in (3..).zip(&images) {
        let path = lun_path(folder.path(), number);
        image.put(&path).unwrap();
        let path = path.display();
        tgt.set(&format!("--op new --mode logicalunit --tid 1 --lun {number} -b {path}")).unwrap();
    }
    let columns = judged_everywhere(&images, &tgt, &ganesha, folder.path());
    let (table, wrong) = table(&images, &columns);
    println!("{table}");
    assert!(images.len() >= IMAGES_MIN, "{} images", images.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the verdicts on devices, LUNs, files on an NFS server and local files.
fn judged_everywhere(images: &[Image], tgt: &Tgt, ganesha: &Ganesha, folder: &Path) -> [Vec<Verdict>; 4] {
    let share = images.len().div_ceil(LUN_THREADS);
    thread::scope(|scope| {
        let luns: Vec<_> = (3..)
            .step_by(share)
            .zip(images.chunks(share))
            .map(|(first, images)| scope.spawn(move || on_luns(images, tgt, folder, first)))
            .collect();
        let devices = scope.spawn(|| on_devices(images));
        let nfs = scope.spawn(|| {
            let (port, mount_port) = (ganesha.port, ganesha.mount_port);
            let address = format!("nfs://127.0.0.1:{port}/rw/own?mountport={mount_port}");
            on_own_files(images, &ganesha.file("rw/own"), &address)
        });
        let own = folder.join("own");
        let files = on_own_files(images, &own, own.to_str().unwrap());
        let luns = luns.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        [devices.join().unwrap(), luns, nfs.join().unwrap(), files]
    })
}

/// Returns the table of images and kinds of target, and its errors: images that were not refused, or not for the same
/// reason on all kinds.
fn table(images: &[Image], columns: &[Vec<Verdict>; 4]) -> (String, Vec<String>) {
    let mut text =
        format!("{:<42}{:>12}{:>12}{:>12}{:>12}\n", "image", "device", "LUN", "NFS file", "own file");
    let mut wrong = Vec::new();
    for (row, image) in images.iter().enumerate() {
        let verdicts = columns.each_ref().map(|column| &column[row]);
        write!(text, "{:<42}", image.name).unwrap();
        for verdict in verdicts {
            let word = match verdict {
                Verdict::Signature(_) => "signature",
                Verdict::NotBlank => "not blank",
                Verdict::Wrong(_) => "WRONG",
            };
            write!(text, "{word:>12}").unwrap();
        }
        text.push('\n');
        let by_signature = verdicts.map(|verdict| matches!(verdict, Verdict::Signature(_)));
        let is_wrong = verdicts.iter().any(|verdict| matches!(verdict, Verdict::Wrong(_)));
        if is_wrong || by_signature.iter().any(|by| *by != by_signature[0]) {
            wrong.push(format!("{}: {verdicts:?}", image.name));
        }
    }
    (text, wrong)
}
