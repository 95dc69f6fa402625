# What the scripts of set-ups share; they run inside of the machine that boot.sh starts. Each set-up makes something of the
# disks and says what must become of a run that writes to a device, with its identity and --not-blank typed. One line each:
# RESULT verdict | set-up | outcome.
export DM_DISABLE_UDEV=1 NO_COLOR=1 ASSAY_STORE=/tmp/store.sqlite
cat >/tmp/plan.toml <<'END'
[[test]]
name = "t"
run = "500ms"
access = [{ size = "4KiB", read = 50 }]
END
cat >/tmp/verify.toml <<'END'
[[test]]
name = "t"
run = "1s"
verify = true
access = [{ size = "4KiB", read = 50 }]
END
cat >/tmp/long.toml <<'END'
[[test]]
name = "t"
run = "8s"
verify = true
access = [{ size = "4KiB", read = 50 }]
END

disk() { # serial: the SCSI or NVMe disk that has it
    for folder in /sys/block/*; do
        case $(cat "$folder/device/vpd_pg80" "$folder/device/serial" "$folder/serial" 2>/dev/null | tr -cd 'A-Z0-9') in
            *"$1") echo "/dev/${folder##*/}"; return ;;
        esac
    done
}
sectors() { blockdev --getsz "$1"; }
wipe() { for at in "$@"; do dd if=/dev/zero of="$at" bs=1M count=32 2>/dev/null; done; sync; }
said() { tr '\n' ' ' </tmp/out | sed 's/  */ /g' | cut -c1-150; }

# Types whatever identity the refusal offers, and the word for what is not blank.
attempt() { # device plan
    assay run "$2" "$1" --size 8MiB >/tmp/out 2>&1
    identity=$(tr '\n' ' ' </tmp/out | sed -n 's/.*--overwrite \([^ ]*\).*/\1/p')
    [ -n "$identity" ] || identity=$(assay check "$1" 2>/dev/null | sed -n 's/^ *identity *\([^ ]*\).*/\1/p')
    assay run "$2" "$1" --size 8MiB --overwrite "${identity:-none}" --not-blank >/tmp/out 2>&1
}
sum() { md5sum <"$1" | cut -c1-32; }

refused() { # set-up device [changing]: nothing may have changed, unless the kernel itself writes to it meanwhile
    before=$(sum "$2")
    attempt "$2" /tmp/plan.toml
    code=$?
    if [ $code = 2 ] && [ -b "$2" ] && { [ "${3:-}" = changing ] || [ "$(sum "$2")" = "$before" ]; }; then verdict=ok; else verdict=FAILED; fi
    echo "RESULT $verdict | $1 | refused ($code): $(said)"
}
measured() { # set-up device
    attempt "$2" /tmp/plan.toml
    code=$?
    if [ $code = 0 ]; then echo "RESULT ok | $1 | measured"; else echo "RESULT FAILED | $1 | ($code) $(said)"; fi
}
says() { # set-up device plan words: the run must say them
    attempt "$2" "$3"
    code=$?
    if grep -qi "$4" /tmp/out; then verdict=ok; else verdict=FAILED; fi
    echo "RESULT $verdict | $1 | ($code) $(grep -i "$4" /tmp/out | head -1 | cut -c1-120)$([ $verdict = ok ] || said)"
}
tells() { # set-up "codes" words command…: ends with one of the codes, says the words (a pattern), hangs and panics nowhere
    name=$1 codes=$2 words=$3
    shift 3
    timeout "${LIMIT_S:-180}" "$@" >/tmp/out 2>&1
    code=$?
    case " $codes " in *" $code "*) verdict=ok ;; *) verdict=FAILED ;; esac
    [ -z "$words" ] || grep -qi "$words" /tmp/out || verdict=FAILED
    grep -q panicked /tmp/out && verdict=FAILED
    line=$(tr '\n' ' ' </tmp/out | sed 's/  */ /g' | grep -io ".\{0,50\}\($words\).*" | head -1 | cut -c1-150)
    [ -n "$words" ] && [ -n "$line" ] || line=$(said)
    echo "RESULT $verdict | $name | ($code) $line"
    sed 's/^/    | /' /tmp/out
}
ends_with() { # set-up "codes" command…
    name=$1 codes=$2
    shift 2
    tells "$name" "$codes" "" "$@"
}
identity_of() { assay check "$1" 2>/dev/null | sed -n 's/^ *identity *\([^ ]*\).*/\1/p'; }
meanwhile() { # seconds command…: so long after the run that follows began to measure
    : >/tmp/out
    (for try in $(seq 300); do grep -q "^1 step\|steps, about" /tmp/out && break; sleep 0.2; done; sleep "$1"; shift; "$@") >/dev/null 2>&1 &
}
until_filled() { until grep -q "filled" /tmp/out; do sleep 0.3; done; sleep 2; }
linear() { dmsetup create "$1" --table "0 $(sectors "$2") linear $2 0"; }
A=$(disk SOAKA) B=$(disk SOAKB) K=$(disk SOAK4K) N=$(disk SOAKNVME)
