/* Counts what a program does to files in a folder, and fails it from the n-th time on. For tests, by LD_PRELOAD.
 *
 * FAILING_FOLDER  the folder, absolute, with a slash at its end
 * FAILING_FROM    number of the first operation that fails, from 1
 * FAILING_ERRNO   what it fails with
 * FAILING_WHAT    "writes" (write, sync, cut, rename) or "reads"
 * FAILING_COUNT   file that gets the number of operations when the program ends
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static long seen;

static int is_below(const char *path)
{
    const char *folder = getenv("FAILING_FOLDER");
    return folder && strncmp(path, folder, strlen(folder)) == 0;
}

/* Counts an operation on such a path, and returns whether it fails. */
static int fails_at(const char *path, const char *what)
{
    const char *wanted = getenv("FAILING_WHAT"), *from = getenv("FAILING_FROM"), *error = getenv("FAILING_ERRNO");
    if (!wanted || !from || !error || strcmp(wanted, what) != 0 || !is_below(path))
        return 0;
    if (__atomic_add_fetch(&seen, 1, __ATOMIC_SEQ_CST) < atol(from))
        return 0;
    errno = atoi(error);
    return 1;
}

static int fails(int fd, const char *what)
{
    char link[64], path[4096];
    int before = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    errno = before;
    if (length < 0)
        return 0;
    path[length] = 0;
    return fails_at(path, what);
}

#define REAL(type, name, ...) ((type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name))

#define ON_FD(type, name, what, parameters, arguments, ...)     \
    type name parameters                                        \
    {                                                           \
        static type (*real)(__VA_ARGS__);                       \
        if (!real)                                              \
            real = REAL(type, #name, __VA_ARGS__);              \
        return fails(fd, what) ? -1 : real arguments;           \
    }

ON_FD(ssize_t, write, "writes", (int fd, const void *data, size_t bytes), (fd, data, bytes), int, const void *, size_t)
ON_FD(ssize_t, pwrite, "writes", (int fd, const void *data, size_t bytes, off_t at), (fd, data, bytes, at), int,
      const void *, size_t, off_t)
ON_FD(ssize_t, pwrite64, "writes", (int fd, const void *data, size_t bytes, off64_t at), (fd, data, bytes, at), int,
      const void *, size_t, off64_t)
ON_FD(ssize_t, writev, "writes", (int fd, const struct iovec *parts, int count), (fd, parts, count), int,
      const struct iovec *, int)
ON_FD(int, fsync, "writes", (int fd), (fd), int)
ON_FD(int, fdatasync, "writes", (int fd), (fd), int)
ON_FD(int, ftruncate, "writes", (int fd, off_t bytes), (fd, bytes), int, off_t)
ON_FD(int, ftruncate64, "writes", (int fd, off64_t bytes), (fd, bytes), int, off64_t)
ON_FD(ssize_t, read, "reads", (int fd, void *data, size_t bytes), (fd, data, bytes), int, void *, size_t)
ON_FD(ssize_t, pread, "reads", (int fd, void *data, size_t bytes, off_t at), (fd, data, bytes, at), int, void *,
      size_t, off_t)
ON_FD(ssize_t, pread64, "reads", (int fd, void *data, size_t bytes, off64_t at), (fd, data, bytes, at), int, void *,
      size_t, off64_t)

int rename(const char *from, const char *to)
{
    return fails_at(to, "writes") ? -1 : REAL(int, "rename", const char *, const char *)(from, to);
}

__attribute__((destructor)) static void tell(void)
{
    const char *name = getenv("FAILING_COUNT");
    FILE *file = name ? fopen(name, "w") : NULL;
    if (file) {
        fprintf(file, "%ld", seen);
        fclose(file);
    }
}
