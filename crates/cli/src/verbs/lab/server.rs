//! The real server in front of the simulated array: tgt or nfs-ganesha, a child of the serving process.

use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use assay_model::array::Array;

use super::shell::{command, run};
use super::state::{Lab, Names, write_whole};
use crate::args::LabProtocol;

/// A server answers its control port or listens within this.
const START_LIMIT: Duration = Duration::from_secs(20);
/// The file of the LUN.
pub(super) const LUN_FILE: &str = "lun1";

/// Starts the server and returns once it serves. It ends with the process that started it.
pub(super) fn start(lab: &Lab, array: &Array) -> anyhow::Result<Child> {
    match lab.protocol {
        LabProtocol::Iscsi => start_tgt(lab, array),
        LabProtocol::Nfs => start_ganesha(lab),
    }
}

fn spawn(names: &Names, line: &str) -> anyhow::Result<Child> {
    let log = std::fs::File::options().create(true).append(true).open(names.log_file())?;
    let line = format!("setpriv --pdeathsig KILL {line}");
    command(&line)
        .stdout(Stdio::from(log.try_clone()?))
        .stderr(Stdio::from(log))
        .spawn()
        .with_context(|| format!("cannot run `{line}`"))
}

fn wait(child: &mut Child, names: &Names, is_up: impl Fn() -> bool) -> anyhow::Result<()> {
    let deadline = Instant::now() + START_LIMIT;
    while !is_up() {
        if let Some(status) = child.try_wait()? {
            bail!("the server ended with {status}; its messages are in {}", names.log_file().display());
        }
        if Instant::now() > deadline {
            let _ = child.kill();
            bail!("the server does not answer; its messages are in {}", names.log_file().display());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

fn start_tgt(lab: &Lab, array: &Array) -> anyhow::Result<Child> {
    let names = lab.names();
    // A tgtd that crashed leaves its socket, and the next one would not start.
    remove_socket(&names);
    let portals: Vec<String> =
        (1..=lab.links).map(|link| format!("portal={}:3260", names.server_address(link))).collect();
    let mut child =
        spawn(&names, &format!("tgtd -f -C {} --iscsi {}", names.control_port, portals.join(",")))?;
    let admin = format!("tgtadm -C {} --lld iscsi", names.control_port);
    wait(&mut child, &names, || run(&format!("{admin} --op show --mode target")).is_ok())?;
    let lun = names.mount_point().join(LUN_FILE);
    run(&format!("{admin} --op new --mode target --tid 1 -T {}", names.target()))?;
    // One thread that submits asynchronously keeps the order of I/Os and the whole queue depth; the usual backing store
    // has 16 threads.
    run(&format!("{admin} --op new --mode logicalunit --tid 1 --lun 1 --bstype aio -b {}", lun.display()))?;
    let (serial, product) = (names.serial(), product(&lab.array));
    run(&format!(
        "{admin} --op update --mode logicalunit --tid 1 --lun 1 --params \
         vendor_id=ASSAY,product_id={product},scsi_sn={serial},scsi_id={serial}"
    ))?;
    for (key, value) in negotiated(array) {
        run(&format!("{admin} --op update --mode target --tid 1 --name {key} --value {value}"))?;
    }
    run(&format!("{admin} --op bind --mode target --tid 1 -I ALL"))?;
    Ok(child)
}

/// Removes the control socket of a tgtd that has ended; one that somebody listens on is left.
pub(super) fn remove_socket(names: &Names) {
    let socket = format!("/var/run/tgtd/socket.{}", names.control_port);
    if UnixStream::connect(&socket).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused) {
        for suffix in ["", ".lock"] {
            let _ = std::fs::remove_file(format!("{socket}{suffix}"));
        }
    }
}

/// A product name of SCSI has 16 characters.
fn product(array: &str) -> String {
    array.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(16).collect()
}

/// The parameters of the session as the array file has them.
fn negotiated(array: &Array) -> Vec<(&'static str, String)> {
    let protocol = &array.protocol;
    let yes_no = |yes: bool| if yes { "Yes" } else { "No" }.to_owned();
    let bytes = |value: f64| format!("{value:.0}");
    vec![
        ("InitialR2T", yes_no(protocol.initial_r2t)),
        ("ImmediateData", yes_no(protocol.immediate_data)),
        ("FirstBurstLength", bytes(protocol.first_burst.value)),
        ("MaxBurstLength", bytes(protocol.max_burst.value)),
        ("MaxRecvDataSegmentLength", bytes(protocol.max_recv_data_segment.value)),
    ]
}

/// nfs-ganesha insists on registering with an rpcbind: both get a /run of their own. It must not keep attributes, or it
/// would answer without asking the array.
fn start_ganesha(lab: &Lab) -> anyhow::Result<Child> {
    let names = lab.names();
    let folder = names.folder.display();
    let mount = names.mount_point();
    let config = format!(
        "NFS_CORE_PARAM {{ NFS_Port = 2049; MNT_Port = 20048; Protocols = 3; Enable_NLM = false; \
         Enable_RQUOTA = false; Enable_UDP = false; mount_path_pseudo = true; }}\n\
         EXPORT_DEFAULTS {{ Attr_Expiration_Time = 0; }}\n\
         NFSV4 {{ Graceless = true; RecoveryBackend = fs; }}\n\
         EXPORT {{ Export_Id = 1; Filesystem_Id = 198.18; Path = {}; Pseudo = /array; Protocols = 3; \
         Transports = TCP; SecType = sys; Access_Type = RW; Squash = No_Root_Squash; FSAL {{ Name = VFS; }} }}\n",
        mount.display()
    );
    write_whole(&names.folder.join("ganesha.conf"), &config)?;
    let script = format!(
        "mount -t tmpfs tmpfs /run\n\
         mkdir -p /run/rpcbind /run/ganesha /run/sendsigs.omit.d\n\
         setpriv --pdeathsig KILL rpcbind -f &\n\
         tries=0\n\
         until [ -S /run/rpcbind.sock ] || [ $tries -gt 100 ]; do tries=$((tries + 1)); sleep 0.05; done\n\
         exec ganesha.nfsd -F -L {folder}/ganesha.log -f {folder}/ganesha.conf -p /run/ganesha/pid\n"
    );
    write_whole(&names.folder.join("ganesha.sh"), &script)?;
    let mut child = spawn(&names, &format!("unshare -m sh {folder}/ganesha.sh"))?;
    let address = names.server_address(1);
    wait(&mut child, &names, || {
        [2049_u16, 20_048].iter().all(|port| std::net::TcpStream::connect((address.as_str(), *port)).is_ok())
    })?;
    Ok(child)
}
