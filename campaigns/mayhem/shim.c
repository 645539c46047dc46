/* Stands between a process and its C library: the n-th write below a folder fails, or comes out short, all of them are
 * written down, and the clock is what a file says. Loaded by LD_PRELOAD; does nothing until `shim_arm` or `shim_clock`.
 *
 * The log is a sequence of records, in the machine's byte order: kind (a letter), inode and parent's inode (8 bytes
 * each), offset (8), length of the name (4) and of the data (4), name, data. See campaigns/mayhem/power.py.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { WRITES = 1, SYNCS = 2, NAMES = 4, READS = 8 };

static char below[4096];
static size_t below_length;
static int wanted, failure, for_good, log_file = -1;
static int64_t first_failure, no_counter, *calls = &no_counter;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int64_t *clock_offset;

#define NEXT(name) ({ static __typeof__(&name) next; if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name); next; })

/* Eight bytes of a file, shared with whoever else has them. */
static int64_t *shared(const char *path, int access) {
    int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
    if (file < 0) return 0;
    void *place = mmap(0, 8, access, MAP_SHARED, file, 0);
    syscall(SYS_close, file);
    return place == MAP_FAILED ? 0 : place;
}

/* From now on of the calls of these kinds below a folder the n-th fails with an errno (0: half of it is written), and
 * all after it if that is for good; n = 0: none. They are counted in a file of eight bytes. Calls that change anything
 * are written into `log`. Either name may be empty. */
void shim_arm(const char *folder, int kinds, long n, int error, int good, const char *counter, const char *log) {
    snprintf(below, sizeof below, "%s/", folder);
    wanted = kinds, first_failure = n, failure = error, for_good = good;
    int64_t *place = *counter ? shared(counter, PROT_READ | PROT_WRITE) : 0;
    if (place) calls = place;
    if (*log) log_file = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    below_length = strlen(below);
}

static int is_below(const char *path) { return below_length && strncmp(path, below, below_length) == 0; }

static int descriptor_below(int descriptor, char *path) {
    if (!below_length) return 0;
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, 4095);
    if (length < 0) return 0;
    path[length] = 0;
    return is_below(path) || strncmp(path, below, below_length - 1) == 0;
}

static int path_below(int folder, const char *path, char *full) {
    if (!below_length) return 0;
    if (path[0] == '/') snprintf(full, 4096, "%s", path);
    else {
        char base[4096];
        if (folder == AT_FDCWD) { if (!getcwd(base, sizeof base)) return 0; }
        else if (!descriptor_below(folder, base)) return 0;
        if (snprintf(full, 4096, "%s/%s", base, path) >= 4096) return 0;
    }
    return is_below(full);
}

/* Whether this call is to fail; 2 where it is to come out short. */
static int fails(int kind) {
    if (!(wanted & kind)) return 0;
    int64_t number = __atomic_add_fetch(calls, 1, __ATOMIC_SEQ_CST);
    if (!first_failure || number < first_failure || (number > first_failure && !for_good)) return 0;
    errno = failure;
    return failure ? 1 : 2;
}

static uint64_t inode_of(const char *path) {
    struct stat found;
    return lstat(path, &found) ? 0 : found.st_ino;
}

static void note(char kind, uint64_t inode, uint64_t parent, int64_t offset, const char *name, const void *data, size_t length) {
    if (log_file < 0) return;
    int before = errno;
    uint32_t lengths[2] = {(uint32_t)strlen(name), (uint32_t)length};
    struct iovec parts[] = {{&kind, 1}, {&inode, 8}, {&parent, 8}, {&offset, 8}, {lengths, 8},
                            {(void *)name, lengths[0]}, {(void *)data, length}};
    syscall(SYS_writev, log_file, parts, 7);
    errno = before;
}

static void note_entry(char kind, const char *path, uint64_t inode) {
    char parent[4096];
    snprintf(parent, sizeof parent, "%s", path);
    char *slash = strrchr(parent, '/');
    *slash = 0;
    note(kind, inode, inode_of(parent), 0, slash + 1, "", 0);
}

/* A mark of the process's own, among the calls. */
void shim_mark(const char *text) { note('M', 0, 0, 0, text, "", 0); }

static void note_write(int descriptor, int64_t offset, const void *data, ssize_t length) {
    struct stat found;
    if (log_file < 0 || length <= 0 || fstat(descriptor, &found)) return;
    note(fcntl(descriptor, F_GETFL) & O_DSYNC ? 'D' : 'W', found.st_ino, 0, offset, "", data, (size_t)length);
}

static ssize_t write_at(int descriptor, const void *data, size_t length, int64_t offset, int seeks) {
    char path[4096];
    // IMPORTANT: without the lock, for a signal's handler may write in the midst of another write.
    if (!descriptor_below(descriptor, path))
        return seeks ? syscall(SYS_write, descriptor, data, length)
                     : syscall(SYS_pwrite64, descriptor, data, length, offset);
    int how = fails(WRITES);
    if (how == 1) return -1;
    if (how == 2 && length > 1) length /= 2;
    pthread_mutex_lock(&lock);
    int64_t place = offset;
    if (seeks) {
        struct stat found;
        place = fcntl(descriptor, F_GETFL) & O_APPEND && !fstat(descriptor, &found) ? found.st_size
                                                                                    : lseek(descriptor, 0, SEEK_CUR);
    }
    ssize_t written = seeks ? syscall(SYS_write, descriptor, data, length)
                            : syscall(SYS_pwrite64, descriptor, data, length, offset);
    note_write(descriptor, place, data, written);
    pthread_mutex_unlock(&lock);
    return written;
}

ssize_t write(int descriptor, const void *data, size_t length) { return write_at(descriptor, data, length, 0, 1); }
ssize_t pwrite(int descriptor, const void *data, size_t length, off_t offset) {
    return write_at(descriptor, data, length, offset, 0);
}
ssize_t pwrite64(int descriptor, const void *data, size_t length, off64_t offset) {
    return write_at(descriptor, data, length, offset, 0);
}

static ssize_t many(int descriptor, const struct iovec *parts, int count, int64_t offset, int seeks) {
    ssize_t all = 0;
    for (int part = 0; part < count; part++) {
        ssize_t written = write_at(descriptor, parts[part].iov_base, parts[part].iov_len, offset + all, seeks);
        if (written < 0) return all ? all : -1;
        all += written;
        if ((size_t)written < parts[part].iov_len) break;
    }
    return all;
}

ssize_t writev(int descriptor, const struct iovec *parts, int count) {
    char path[4096];
    if (!descriptor_below(descriptor, path)) return syscall(SYS_writev, descriptor, parts, count);
    return many(descriptor, parts, count, 0, 1);
}
ssize_t pwritev(int descriptor, const struct iovec *parts, int count, off_t offset) {
    return many(descriptor, parts, count, offset, 0);
}
ssize_t pwritev64(int descriptor, const struct iovec *parts, int count, off64_t offset) {
    return many(descriptor, parts, count, offset, 0);
}
// Python's `os.pwritev` calls these; their flags change nothing that is told here.
ssize_t pwritev2(int descriptor, const struct iovec *parts, int count, off_t offset, int flags) {
    (void)flags;
    return offset == -1 ? writev(descriptor, parts, count) : many(descriptor, parts, count, offset, 0);
}
ssize_t pwritev64v2(int descriptor, const struct iovec *parts, int count, off64_t offset, int flags) {
    return pwritev2(descriptor, parts, count, offset, flags);
}

static int allocated(int descriptor, int64_t offset, int64_t length) {
    char path[4096];
    if (descriptor_below(descriptor, path) && fails(WRITES) == 1) return errno;
    return syscall(SYS_fallocate, descriptor, 0, offset, length) ? errno : 0;
}
int posix_fallocate(int descriptor, off_t offset, off_t length) { return allocated(descriptor, offset, length); }
int posix_fallocate64(int descriptor, off64_t offset, off64_t length) { return allocated(descriptor, offset, length); }

static ssize_t read_at(int descriptor, void *data, size_t length, int64_t offset) {
    char path[4096];
    if (wanted & READS && descriptor_below(descriptor, path) && fails(READS) == 1) return -1;
    return syscall(SYS_pread64, descriptor, data, length, offset);
}
ssize_t pread(int descriptor, void *data, size_t length, off_t offset) { return read_at(descriptor, data, length, offset); }
ssize_t pread64(int descriptor, void *data, size_t length, off64_t offset) {
    return read_at(descriptor, data, length, offset);
}
ssize_t preadv2(int descriptor, const struct iovec *parts, int count, off_t offset, int flags) {
    char path[4096];
    if (wanted & READS && descriptor_below(descriptor, path) && fails(READS) == 1) return -1;
    return syscall(SYS_preadv2, descriptor, parts, count, offset, 0, flags);
}
ssize_t preadv64v2(int descriptor, const struct iovec *parts, int count, off64_t offset, int flags) {
    return preadv2(descriptor, parts, count, offset, flags);
}

static int synced(int descriptor, long number) {
    char path[4096];
    int ours = descriptor_below(descriptor, path);
    if (ours && fails(SYNCS)) {
        errno = failure ? failure : EIO;
        return -1;
    }
    int done = (int)syscall(number, descriptor);
    struct stat found;
    if (ours && !done && !fstat(descriptor, &found)) note('S', found.st_ino, 0, 0, "", "", 0);
    return done;
}
int fsync(int descriptor) { return synced(descriptor, SYS_fsync); }
int fdatasync(int descriptor) { return synced(descriptor, SYS_fdatasync); }

static int cut(int descriptor, int64_t length) {
    char path[4096];
    int ours = descriptor_below(descriptor, path);
    if (ours && fails(WRITES) == 1) return -1;
    int done = (int)syscall(SYS_ftruncate, descriptor, length);
    struct stat found;
    if (ours && !done && !fstat(descriptor, &found)) note('T', found.st_ino, 0, length, "", "", 0);
    return done;
}
int ftruncate(int descriptor, off_t length) { return cut(descriptor, length); }
int ftruncate64(int descriptor, off64_t length) { return cut(descriptor, length); }

static int cut_path(const char *path, int64_t length) {
    char full[4096];
    int ours = path_below(AT_FDCWD, path, full);
    if (ours && fails(WRITES) == 1) return -1;
    int done = (int)syscall(SYS_truncate, path, length);
    if (ours && !done) note('T', inode_of(full), 0, length, "", "", 0);
    return done;
}
int truncate(const char *path, off_t length) { return cut_path(path, length); }
int truncate64(const char *path, off64_t length) { return cut_path(path, length); }

static int opened(int folder, const char *path, int flags, int mode) {
    char full[4096];
    int makes = (flags & (O_CREAT | O_TRUNC)) && (flags & O_TMPFILE) != O_TMPFILE && path_below(folder, path, full);
    int is_new = makes && !inode_of(full);
    if (is_new && fails(NAMES) == 1) return -1;
    int descriptor = (int)syscall(SYS_openat, folder, path, flags, mode);
    if (makes && descriptor >= 0) {
        if (is_new) note_entry('C', full, inode_of(full));
        else if (flags & O_TRUNC) note('T', inode_of(full), 0, 0, "", "", 0);
    }
    return descriptor;
}
#define MODE(flags, last) ({ int mode = 0; if ((flags) & (O_CREAT | O_TMPFILE)) { va_list rest; va_start(rest, last); \
    mode = va_arg(rest, int); va_end(rest); } mode; })
int open(const char *path, int flags, ...) { return opened(AT_FDCWD, path, flags, MODE(flags, flags)); }
int open64(const char *path, int flags, ...) { return opened(AT_FDCWD, path, flags | O_LARGEFILE, MODE(flags, flags)); }
int openat(int folder, const char *path, int flags, ...) { return opened(folder, path, flags, MODE(flags, flags)); }
int openat64(int folder, const char *path, int flags, ...) {
    return opened(folder, path, flags | O_LARGEFILE, MODE(flags, flags));
}

int mkdir(const char *path, mode_t mode) {
    char full[4096];
    int ours = path_below(AT_FDCWD, path, full);
    if (ours && !inode_of(full) && fails(NAMES) == 1) return -1;
    int done = (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
    if (ours && !done) note_entry('F', full, inode_of(full));
    return done;
}

int rename(const char *old, const char *new) {
    char from[4096], to[4096];
    int ours = path_below(AT_FDCWD, old, from) && path_below(AT_FDCWD, new, to);
    if (ours && fails(NAMES) == 1) return -1;
    uint64_t inode = ours ? inode_of(from) : 0;
    int done = (int)syscall(SYS_renameat2, AT_FDCWD, old, AT_FDCWD, new, 0);
    if (ours && !done) {
        char *last = strrchr(from, '/'), *other = strrchr(to, '/'), names[8192];
        snprintf(names, sizeof names, "%s/%s", last + 1, other + 1);
        *last = *other = 0;
        note('R', inode, inode_of(from), (int64_t)inode_of(to), names, "", 0);
    }
    return done;
}

static int removed(int folder, const char *path, int flags) {
    char full[4096];
    int ours = path_below(folder, path, full);
    uint64_t inode = ours ? inode_of(full) : 0;
    int done = (int)syscall(SYS_unlinkat, folder, path, flags);
    if (ours && !done) note_entry('U', full, inode);
    return done;
}
int unlink(const char *path) { return removed(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return removed(AT_FDCWD, path, AT_REMOVEDIR); }
int unlinkat(int folder, const char *path, int flags) { return removed(folder, path, flags); }

/* The seconds in a file of eight bytes are added to the clock from now on, as they are at each moment. */
void shim_clock(const char *path) { clock_offset = shared(path, PROT_READ); }

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("MAYHEM_CLOCK");
    if (path) shim_clock(path);
}

int clock_gettime(clockid_t which, struct timespec *now) {
    int done = NEXT(clock_gettime)(which, now);
    if (!done && clock_offset && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE)) now->tv_sec += *clock_offset;
    return done;
}
int gettimeofday(struct timeval *now, void *zone) {
    int done = NEXT(gettimeofday)(now, zone);
    if (!done && clock_offset) now->tv_sec += *clock_offset;
    return done;
}
time_t time(time_t *where) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (where) *where = now.tv_sec;
    return now.tv_sec;
}
