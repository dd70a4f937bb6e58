/* Lets the n-th call that changes the disk fail: preloaded into a process, armed and disarmed by it through ctypes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/aio_abi.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum { FAIL = 0, SHORT = 1, EVER_AFTER = 2 };
static long at, seen, on;
static int number, kind;

void fault_arm(long n, int error, int how) { at = n; number = error; kind = how; seen = 0; on = 1; }
long fault_disarm(void) { on = 0; return seen; }

static int hit(void) {
    if (!on) return 0;
    seen++;
    return seen == at || (kind == EVER_AFTER && at && seen > at);
}
#define REAL(name) __typeof__(&name) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
#define FAILING(type, name, params, args) \
    type name params { REAL(name); if (hit() && kind != SHORT) { errno = number; return -1; } return real args; }
#define WRITING(name, params, args, cut) \
    ssize_t name params { REAL(name); if (hit()) { if (kind != SHORT) { errno = number; return -1; } \
        if (n > 1) return real cut; } return real args; }

WRITING(write, (int fd, const void *b, size_t n), (fd, b, n), (fd, b, n / 2))
WRITING(pwrite, (int fd, const void *b, size_t n, off_t o), (fd, b, n, o), (fd, b, n / 2, o))
WRITING(pwrite64, (int fd, const void *b, size_t n, off64_t o), (fd, b, n, o), (fd, b, n / 2, o))
FAILING(int, fsync, (int fd), (fd))
FAILING(int, fdatasync, (int fd), (fd))
FAILING(int, ftruncate, (int fd, off_t n), (fd, n))
FAILING(int, ftruncate64, (int fd, off64_t n), (fd, n))
FAILING(int, fchmod, (int fd, mode_t m), (fd, m))
FAILING(int, rename, (const char *a, const char *b), (a, b))
FAILING(int, renameat, (int d, const char *a, int e, const char *b), (d, a, e, b))
FAILING(int, renameat2, (int d, const char *a, int e, const char *b, unsigned f), (d, a, e, b, f))
FAILING(int, linkat, (int d, const char *a, int e, const char *b, int f), (d, a, e, b, f))
FAILING(int, unlink, (const char *a), (a))
FAILING(int, unlinkat, (int d, const char *a, int f), (d, a, f))
FAILING(int, mkdirat, (int d, const char *a, mode_t m), (d, a, m))

/* A sync in the background fails when it is waited for. */
long syscall(long number_, ...) {
    REAL(syscall);
    va_list all;
    va_start(all, number_);
    long a = va_arg(all, long), b = va_arg(all, long), c = va_arg(all, long);
    long d = va_arg(all, long), e = va_arg(all, long), f = va_arg(all, long);
    va_end(all);
    long found = real(number_, a, b, c, d, e, f);
    if (number_ == SYS_io_getevents && found == 1 && hit() && kind != SHORT) ((struct io_event *)d)->res = -number;
    return found;
}
