# Hosts that allow less: control groups, namespaces without /sys or parts of /proc, other users; and iSCSI over a network
# that loses, reorders and delays.
cat >/tmp/read.toml <<'END'
[[test]]
name = "t"
run = "3s"
outstanding = 8
access = [{ size = "4KiB", read = 100 }]
END
mkdir -p /cg && mount -t cgroup2 none /cg && echo "+io +cpu +memory +pids" >/cg/cgroup.subtree_control
number=$(cat "/sys/block/${A##*/}/dev")
grouped() { # "file value" command…: in a control group with that limit
    setting=$1
    shift
    mkdir -p /cg/limited
    for one in $(echo "$setting" | tr ' ' '~' | tr ',' ' '); do
        one=$(echo "$one" | tr '~' ' ')
        echo "${one#* }" >"/cg/limited/${one%% *}" || echo "no ${one%% *}"
    done
    sh -c 'echo $$ >/cg/limited/cgroup.procs; exec "$@"' sh "$@"
    ended=$?
    rmdir /cg/limited 2>/dev/null || { sleep 1; rmdir /cg/limited; }
    return $ended
}
in_group() { # set-up "codes" words "file value" command…
    name=$1 codes=$2 words=$3 setting=$4
    shift 4
    grouped "$setting" "$@" >/tmp/out.group 2>&1
    echo $? >/tmp/code.group
    tells "$name" "$codes" "$words" sh -c 'cat /tmp/out.group; exit $(cat /tmp/code.group)'
}
in_group "cgroup: io.max by IOPS" 0 "io.max" "io.max $number riops=100" assay run /tmp/read.toml "$A"
in_group "cgroup: io.max by bytes" 0 "io.max" "io.max $number rbps=500000" assay run /tmp/read.toml "$A"
in_group "cgroup: cpu.max" 0 "cpu.max\|throttled\|CPU" "cpu.max 20000 100000" assay run /tmp/read.toml "$A"
in_group "cgroup: memory.max of 24 MiB" "0 1 2" "" "memory.max 25165824,memory.swap.max 0" assay run /tmp/read.toml "$A"
in_group "cgroup: memory.max of 24 MiB, many I/Os" "1 2 137" "memory" "memory.max 25165824,memory.swap.max 0" assay run /tmp/read.toml "$A" --set outstanding=256 --set size=1MiB
# Without a limit the run takes 8 MB at its peak, and a part of that can be taken back: with 4 MiB it ends either way.
in_group "cgroup: memory.max of 2 MiB" "1 2 137" "" "memory.max 2097152,memory.swap.max 0" assay run /tmp/read.toml "$A"
in_group "cgroup: pids.max of 3" 1 "cannot start a thread" "pids.max 3" assay run /tmp/read.toml "$A"
in_group "cgroup: diagnose below io.max" 0 "io.max" "io.max $number riops=200" assay diagnose "$A" --budget 15s --read-only
in_group "cgroup: diagnose below cpu.max" 0 "CPU\|cpu" "cpu.max 15000 100000" assay diagnose "$A" --budget 15s --read-only
tells "runs, after runs that were killed" 0 "t" assay runs

chmod 1777 /tmp; chmod 644 /tmp/*.toml; mkdir -p /tmp/empty
unshared="/bin/unshare -m sh -c"
tells "no /sys" "0 2" "" $unshared "umount -l /sys; assay run /tmp/read.toml $A"
tells "an empty /sys/block" "0 2" "" $unshared "mount --bind /tmp/empty /sys/block; assay run /tmp/read.toml $A"
tells "an empty /sys/class" "0 2" "" $unshared "mount --bind /tmp/empty /sys/class; assay run /tmp/read.toml $A"
tells "an empty /proc/self/mountinfo: reading" "0 2" "" $unshared "mount --bind /dev/null /proc/self/mountinfo; exec assay run /tmp/read.toml $A"
# What is in use there is refused with what is left to see it by: here the disk below a mapped device, and one mounted.
identity=$(identity_of "$A")
write="exec assay run /tmp/plan.toml $A --overwrite $identity --not-blank --size 8MiB"
linear lin "$A"
for hidden in /sys/block /sys/class/block /sys/dev/block /sys; do
    tells "the disk below dm-linear, $hidden empty" 2 "" $unshared "mount --bind /tmp/empty $hidden; $write"
done
for hidden in mountinfo mounts; do
    tells "the disk below dm-linear, no /proc/self/$hidden" 2 "" $unshared "mount --bind /dev/null /proc/self/$hidden; $write"
done
mke2fs -q /dev/mapper/lin 2>/dev/null || mkfs.ext2 /dev/mapper/lin >/dev/null
mkdir -p /mnt; mount -t ext4 /dev/mapper/lin /mnt && {
    for hidden in mountinfo mounts; do
        tells "a mounted disk, no /proc/self/$hidden" 2 "" $unshared "mount --bind /dev/null /proc/self/$hidden; exec assay run /tmp/plan.toml /dev/mapper/lin --overwrite $(identity_of /dev/mapper/lin) --not-blank --size 8MiB"
    done
    umount /mnt
}
dmsetup remove lin; wipe "$A"
tells "swap space, no /proc/swaps" 2 "" $unshared "mkswap $A >/dev/null; swapon $A; mount --bind /dev/null /proc/swaps; $write"
swapoff "$A"; wipe "$A"
tells "no /proc/stat, no /proc/meminfo" "0 2" "" $unshared "mount --bind /dev/null /proc/stat; mount --bind /dev/null /proc/meminfo; assay run /tmp/read.toml $A"
tells "no /proc/cpuinfo, no /proc/diskstats" "0 2" "" $unshared "mount --bind /dev/null /proc/cpuinfo; mount --bind /dev/null /proc/diskstats; assay run /tmp/read.toml $A"
tells "no /proc, a file" "0 2" "" $unshared "umount -l /proc; assay run /tmp/read.toml /tmp/t.dat --size 4MiB --cached"
tells "no /proc, check" "0 2" "" $unshared "umount -l /proc; assay check $A"
tells "/dev of a container, check" 2 "no such device" $unshared "mount -t tmpfs d /dev; assay check $A"
tells "/dev of a container, run" 2 "no such device" $unshared "mount -t tmpfs d /dev; assay run /tmp/plan.toml $A --size 1MiB --cached"
tells "a read-only /tmp with the store" "0 1 2" "" $unshared "mount -o bind,ro /tmp /tmp; mount -o remount,bind,ro /tmp; assay run /tmp/read.toml $A"
user="/bin/setpriv --reuid 1000 --regid 1000 --clear-groups env ASSAY_STORE=/tmp/user.sqlite HOME=/tmp/user"
mkdir -p /tmp/user; chown 1000 /tmp/user
tells "another user: a device" 2 "permission\|root\|allowed" $user assay run /tmp/read.toml "$A"
tells "another user: check of a device" "0 2" "" $user assay check "$A"
tells "another user: a file" 0 "" $user assay run /tmp/read.toml /tmp/user/t.dat --size 4MiB --cached
tells "another user: diagnose a file" 0 "" $user assay diagnose /tmp/user/t.dat --budget 10s --cached
tells "another user: map of a file" 0 "" $user assay map /tmp/user/t.dat --budget 3s --cached
tells "another user: lab" "1 2" "root" $user assay lab up ix4-200d
tells "a user namespace, a file" "0" "" /bin/unshare -U -r -m assay run /tmp/read.toml /tmp/u.dat --size 4MiB --cached
tells "a user namespace of nobody's, a file" "0 2" "" /bin/unshare -U assay run /tmp/read.toml /tmp/u2.dat --size 4MiB --cached
tells "a pid namespace" 0 "" /bin/unshare -p -f --mount-proc assay run /tmp/read.toml "$A"
tells "a network namespace" 0 "" /bin/unshare -n assay run /tmp/read.toml "$A"
tells "runs of it all" 0 "" assay runs

serve_lun "$B" 10.9.0.1 10.9.1.1
mkdir -p /run/tgt /var/run/tgtd
tgtd --iscsi portal=10.9.0.1:3270,portal=10.9.1.1:3270 && {
    for try in $(seq 30); do tgtadm --lld iscsi --op show --mode target >/dev/null 2>&1 && break; sleep 0.5; done
    truncate -s 32M /tmp/tgt.img
    tgtadm --lld iscsi --op new --mode target --tid 1 -T iqn.2026-11.vm:tgt
    tgtadm --lld iscsi --op new --mode logicalunit --tid 1 --lun 1 -b /tmp/tgt.img
    tgtadm --lld iscsi --op bind --mode target --tid 1 -I ALL
}
cat >/tmp/wire.toml <<'END'
[[test]]
name = "t"
run = "8s"
outstanding = 16
verify = true
access = [{ size = "4KiB", read = 50 }]
END
lio="iscsi://10.9.0.1/iqn.2026-11.vm:lio/0" tgt="iscsi://10.9.0.1:3270/iqn.2026-11.vm:tgt/1"
for one in lio tgt; do
    eval lun=\$$one
    port=$(echo "$lun" | sed -n 's/^iscsi:..[^:/]*\(:[0-9]*\)\{0,1\}.*/\1/p')
    two="$lun?portal=10.9.1.1$port"
    identity=$(identity_of "$lun")
    for weather in "none" "loss 1%" "delay 50ms" "delay 20ms 15ms reorder 25%" "duplicate 1%" "corrupt 0.1%" "delay 50ms loss 1%"; do
        [ "$weather" = none ] || tc qdisc add dev lo root netem $weather || echo "RESULT FAILED | netem $weather | not set"
        tells "$one, two paths, $weather" 0 "" assay run /tmp/wire.toml "$two" --size 4MiB --overwrite "$identity" --not-blank
        tc qdisc del dev lo root 2>/dev/null
    done
    tc qdisc add dev lo root netem delay 50ms loss 1%
    tells "$one, one path, 50 ms and 1 % loss" 0 "" assay run /tmp/wire.toml "$lun" --size 4MiB --overwrite "$identity" --not-blank
    tells "$one, diagnose at 50 ms" 0 "network\|round trip\|few-outstanding\|outstanding" assay diagnose "$lun" --budget 30s --read-only
    tells "$one, check at 50 ms" 0 "" assay check "$two"
    tc qdisc del dev lo root
done
tgtadm --op delete --mode system --force 2>/dev/null
