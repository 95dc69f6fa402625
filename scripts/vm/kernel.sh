# Sourced: unpacks Debian's kernel package into ./kernel, where it is not yet. Nothing is installed.
if ! ls kernel/boot/vmlinuz-* >/dev/null 2>&1; then
    package=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -1)
    apt-get download -q "$package"
    dpkg-deb -x linux-image-*.deb kernel
fi
