# `make run` and `make test` are the two commands; see README.md.
CARGO ?= cargo
# Where `make run` puts its test file; removed afterwards.
RUN_FOLDER ?= target/run
# What tests use besides Rust, gcc and make.
NEEDS = git losetup mount umount unshare wipefs mkswap swapon partx addpart sfdisk mkfs.ext4 mkfs.btrfs tgtd tgtadm istgt ip tc ganesha.nfsd rpcbind \
	mkfs.xfs mkfs.fat mkfs.exfat mkfs.ntfs mkfs.f2fs mkudffs mkfs.nilfs2 mkfs.jfs mkreiserfs mksquashfs mkfs.erofs mkfs.ocfs2 \
	mkfs.gfs2 cryptsetup veritysetup make-bcache genisoimage mkfs.minix mkfs.bfs mkfs.cramfs parted qemu-img fsfreeze fio chromium iostat nft setpriv \
	systemd-analyze prometheus-client nats-server postgres
# Gets a line for each test that is skipped.
SKIPPED = $(CURDIR)/target/skipped
# Most tests wait: for a window of measuring, a server, a link. So there are more at a time than CPUs.
TEST_THREADS ?= 8
# What `make lab` is asked to do: up, down, status, "mtu 2 1500", "cut 3", …
DO ?= up

.PHONY: run test check advisories bench dist docs fuzz lab soak soak-day soak-faults soak-targets soak-vm

run: ## build what it needs, and run the VMware forum suite, shortened, on a file of 1 GiB
	$(CARGO) build --profile quick --package assay-cli --no-default-features
	mkdir -p $(RUN_FOLDER)
	$${CARGO_TARGET_DIR:-target}/quick/assay run vmware $(RUN_FOLDER)/t.dat --size 1GiB --quick --remove

test: ## all tests, the slow ones too; installs what they need where it may; counts skips, with CI=true they fail
	@mkdir -p $(dir $(SKIPPED)) && rm -f $(SKIPPED)
	NEEDS="$(NEEDS)" RUST_TEST_THREADS=$(TEST_THREADS) ASSAY_SKIPPED=$(SKIPPED) CARGO="$(CARGO)" scripts/test.sh; \
		status=$$?; scripts/skipped.sh $(SKIPPED); exit $$status

check: ## fmt + clippy (warnings denied) + tidy + unit tests, for every commit
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings
	$(CARGO) clippy --package assay-cli --no-default-features --quiet -- -D warnings
	$(CARGO) test --package xtask --test tidy --quiet
	$(CARGO) test --workspace --lib --bins --quiet

bench: ## compare with fio, and time the model and lists of 10,000 runs; BENCH="--case tmpfs --rounds 3" for a part, FIO=PATH of another one: with libiscsi and libnfs for LUNs and NFS too, the newest for the I/Os of job files
	@scripts/need.sh fio taskset tgtd tgtadm
	$(if $(BENCH),,$(CARGO) bench --quiet --package assay-model --bench speed)
	$(if $(BENCH),,$(CARGO) bench --quiet --package assay-store --bench lists)
	$(if $(BENCH),,$(CARGO) bench --quiet --package assay-web --bench pages)
	$(if $(BENCH),,$(if $(FIO),SLOW_TESTS=1 $(CARGO) test --workspace --quiet --test it -- fio_and_assay_do_the_same --nocapture))
	$(CARGO) xtask bench $(BENCH)

advisories: ## check the crates of Cargo.lock against the advisories of RustSec; make dist does so first
	@scripts/need.sh git python3-venv
	@scripts/advisories.sh

dist: ## what is distributed, in target/packages: .deb, .rpm, .tar.gz, bill of materials, checksums; checked by lintian
	@scripts/need.sh git objdump lintian python3-venv
	@scripts/dist.sh

docs: ## the documentation as a site, in target/docs/site: searchable, without foreign hosts, every link followed
	@[ -x target/tools/bin/mdbook ] || $(CARGO) install --quiet --locked --root target/tools --target-dir target/tools/build mdbook@0.5.4
	$(CARGO) build --quiet --package assay-cli --package xtask
	cd $${CARGO_TARGET_DIR:-target}/debug && PROGRAMS="$$PWD" && cd "$(CURDIR)" && \
		PATH="$(CURDIR)/target/tools/bin:$$PATH" "$$PROGRAMS/xtask" site "$$PROGRAMS/assay"

fuzz: ## search for inputs that break a parser or a protocol, 2 s for each target; FUZZ="--seconds 600 session" for one, longer
	@scripts/need.sh g++
	$(CARGO) xtask fuzz $(FUZZ)

soak: soak-faults soak-targets ## soak-faults, then soak-targets; two hours

soak-faults: ## kill 1,000 runs, then play the fault matrix for an hour (root); FAULTS="kill/fill/lun" for a part, once
	@scripts/need.sh $(NEEDS) blockdev
	$(CARGO) xtask faults $(if $(FAULTS),$(FAULTS),--minutes 60 --kills 1000)

soak-day: ## two hours in verify mode over two paths that are cut in turns, then a day of intervals; MINUTES=20 for less
	@scripts/need.sh tgtd tgtadm
	$(CARGO) xtask soak-day --minutes $(or $(MINUTES),120)
	$(CARGO) xtask day

soak-vm: ## set-ups of a real kernel under QEMU (disks, mounts, clocks, what breaks, limits, every verb): a table; SETUPS="clocks" for a part
	@scripts/need.sh qemu-system-x86_64 busybox cpio depmod mdadm lvm dmsetup wipefs ip tc setpriv \
		rpcbind mount.nfs rpc.nfsd rpc.mountd exportfs tgtd tgtadm nft smbd nbd-server nbd-client make-bcache \
		mkfs.btrfs mkfs.xfs
	@$(CARGO) build --release --quiet --package assay-cli
	@ASSAY="$${CARGO_TARGET_DIR:-$$PWD/target}/release/assay" scripts/soak-vm.sh

soak-targets: ## run against targets that Debian does not package (gotgt, jSCSI, iscsi-target; go-nfs, nfsserve); needs Go, Maven and the network; SOAK="jscsi" for one
	@scripts/need.sh iscsi-inq
	$(CARGO) build --release --package assay-cli
	@CARGO="$(CARGO)" ASSAY="$${CARGO_TARGET_DIR:-$$PWD/target}/release/assay" scripts/soak-iscsi.sh $(SOAK)
	@CARGO="$(CARGO)" ASSAY="$${CARGO_TARGET_DIR:-$$PWD/target}/release/assay" scripts/soak-nfs.sh

lab: ## a storage network on this machine: four shaped links, tgt, NFS; make lab DO=down removes it (root)
	@scripts/need.sh ip tc tgtd tgtadm istgt mkfs.ext4
	@scripts/lab.sh $(DO)
