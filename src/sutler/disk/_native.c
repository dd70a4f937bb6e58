/* Several system calls in one step, and a look at what they bring, for the loops in which a scan and a pack spend their
   time.

   Optional: where it cannot be built, disk/calls.py and others do the same in Python. A file that is out of the ordinary
   is not dealt with here but answered by None; the caller then goes the long way, which knows what to say of it. */

#define _GNU_SOURCE
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#ifndef __linux__
#error "Linux only: elsewhere the package does without this module"
#endif

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

#define OPENAT2 437 /* the same on every architecture since the tables were unified */
#define NO_MAGICLINKS 0x02
#define NO_SYMLINKS 0x04
#define BENEATH 0x08
#define SNIFF 8192
#define DENTS (1 << 15)

struct how {
    uint64_t flags, mode, resolve;
};

static PyObject *nanoseconds(struct timespec time) {
    return PyLong_FromLongLong((long long)time.tv_sec * 1000000000LL + time.tv_nsec);
}

/* A new tuple of `count` values, each a new reference; NULL when any of them is. */
static PyObject *tuple_of(Py_ssize_t count, PyObject **values) {
    PyObject *made = PyTuple_New(count);
    int whole = made != NULL;
    for (Py_ssize_t at = 0; at < count; at++) {
        whole = whole && values[at] != NULL;
        if (made != NULL)
            PyTuple_SET_ITEM(made, at, values[at]);
        else
            Py_XDECREF(values[at]);
    }
    if (!whole)
        Py_CLEAR(made);
    return made;
}

/* A descriptor for what lies at the path beneath a directory, through no link, and its state; or -1. */
static int opened(int below, const char *path, struct stat *state) {
    struct how how = {O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0,
                      BENEATH | NO_MAGICLINKS | NO_SYMLINKS};
    int fd = (int)syscall(OPENAT2, below, path, &how, sizeof how);
    if (fd >= 0 && fstat(fd, state) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* How many bytes the file has, if it is `size` or less; one that has grown is seen to have one more. */
static ssize_t filled(int fd, char *data, size_t size) {
    char more;
    struct iovec parts[2] = {{data, size}, {&more, 1}};
    return readv(fd, parts, 2);
}

#define STEP 64

/* How many bytes of ASCII come first. In steps of so many that a compiler makes a few wide instructions of each. */
static size_t ascii_in(const unsigned char *data, size_t size) {
    size_t at = 0;
    for (unsigned char any = 0; at + STEP <= size; at += STEP) {
        for (size_t next = 0; next < STEP; next++)
            any |= data[at + next];
        if (any & 0x80)
            break;
    }
    while (at < size && data[at] < 0x80)
        at++;
    return at;
}

/* Is this text in UTF-8, without a mark and without a NUL at its beginning? */
static int is_plain(const unsigned char *data, size_t size) {
    if (memchr(data, 0, size < SNIFF ? size : SNIFF) != NULL || (size > 2 && memcmp(data, "\xef\xbb\xbf", 3) == 0))
        return 0;
    for (size_t at = 0; at < size;) {
        unsigned char lead = data[at];
        if (lead < 0x80) {
            at += ascii_in(data + at, size - at);
            continue;
        }
        size_t more = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
        if (lead < 0xc2 || lead > 0xf4 || size - at <= more)
            return 0;
        /* What may follow at once: no overlong form, no surrogate, nothing beyond Unicode. */
        unsigned char next = data[at + 1];
        if ((next & 0xc0) != 0x80 || (more > 1 && (data[at + 2] & 0xc0) != 0x80) ||
            (more > 2 && (data[at + 3] & 0xc0) != 0x80) || (lead == 0xe0 && next < 0xa0) ||
            (lead == 0xed && next > 0x9f) || (lead == 0xf0 && next < 0x90) || (lead == 0xf4 && next > 0x8f))
            return 0;
        at += 1 + more;
    }
    return 1;
}

/* Are these as many NULs as there are in the upper halves of UTF-16, and hardly any in the lower? */
static int is_wide(size_t upper, size_t lower, size_t pairs) { return upper * 5 >= pairs * 2 && lower * 50 <= pairs; }

/* Is this no text at all? A NUL at its beginning, and neither a mark of UTF-16 or UTF-32 nor NULs as there are in
   UTF-16. What is neither plain nor this is for others to find out. */
static int is_no_text(const unsigned char *data, size_t size) {
    size_t head = size < SNIFF ? size : SNIFF, pairs = head / 2, zeros[2] = {0, 0};
    if (memchr(data, 0, head) == NULL || (size > 1 && memcmp(data, "\xff\xfe", 2) == 0) ||
        (size > 1 && memcmp(data, "\xfe\xff", 2) == 0) || (size > 2 && memcmp(data, "\xef\xbb\xbf", 3) == 0) ||
        (size > 3 && memcmp(data, "\0\0\xfe\xff", 4) == 0))
        return 0;
    for (size_t at = 0; at < head; at++)
        zeros[at % 2] += data[at] == 0;
    return size % 2 || !pairs || !(is_wide(zeros[0], zeros[1], pairs) || is_wide(zeros[1], zeros[0], pairs));
}

/* The longest run of backticks. */
static size_t ticks_in(const char *data, size_t size) {
    size_t longest = 0;
    const char *end = data + size, *at = data;
    while (at < end && (at = memchr(at, '`', (size_t)(end - at))) != NULL) {
        const char *start = at;
        while (at < end && *at == '`')
            at++;
        if ((size_t)(at - start) > longest)
            longest = (size_t)(at - start);
    }
    return longest;
}

/* SHA-256 (FIPS 180-4), block by block: by the processor's own instructions where it has them. */

static const uint32_t ROUND[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t turned(uint32_t word, int bits) { return word >> bits | word << (32 - bits); }

static void blocks_plainly(uint32_t state[8], const unsigned char *data, size_t blocks) {
    for (; blocks > 0; blocks--, data += 64) {
        uint32_t w[64], v[8];
        for (int t = 0; t < 16; t++)
            w[t] = (uint32_t)data[4 * t] << 24 | data[4 * t + 1] << 16 | data[4 * t + 2] << 8 | data[4 * t + 3];
        for (int t = 16; t < 64; t++) {
            uint32_t a = w[t - 15], b = w[t - 2];
            w[t] = w[t - 16] + (turned(a, 7) ^ turned(a, 18) ^ a >> 3) + w[t - 7] +
                   (turned(b, 17) ^ turned(b, 19) ^ b >> 10);
        }
        memcpy(v, state, sizeof v);
        for (int t = 0; t < 64; t++) {
            uint32_t a = v[0], e = v[4];
            uint32_t one = v[7] + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & v[5]) ^ (~e & v[6])) +
                           ROUND[t] + w[t];
            uint32_t two = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
            memmove(v + 1, v, 7 * sizeof *v);
            v[4] += one;
            v[0] = one + two;
        }
        for (int at = 0; at < 8; at++)
            state[at] += v[at];
    }
}

#ifdef __x86_64__
__attribute__((target("sha,sse4.1"))) static void blocks_by_processor(uint32_t state[8], const unsigned char *data,
                                                                      size_t blocks) {
    const __m128i order = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
    /* The instructions want the words as (f e b a) and (h g d c). */
    __m128i badc = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)state), 0xb1);
    __m128i hgfe = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(state + 4)), 0x1b);
    __m128i feba = _mm_alignr_epi8(badc, hgfe, 8), hgdc = _mm_blend_epi16(hgfe, badc, 0xf0);
    for (; blocks > 0; blocks--, data += 64) {
        __m128i w[4], feba_before = feba, hgdc_before = hgdc;
        for (int at = 0; at < 4; at++)
            w[at] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(data + 16 * at)), order);
#pragma GCC unroll 16
        for (int t = 0; t < 16; t++) {
            __m128i sum = _mm_add_epi32(w[t % 4], _mm_loadu_si128((const __m128i *)(ROUND + 4 * t)));
            hgdc = _mm_sha256rnds2_epu32(hgdc, feba, sum);
            feba = _mm_sha256rnds2_epu32(feba, hgdc, _mm_shuffle_epi32(sum, 0x0e));
            if (t < 12) {
                __m128i last = w[(t + 3) % 4], middle = _mm_alignr_epi8(last, w[(t + 2) % 4], 4);
                w[t % 4] = _mm_sha256msg1_epu32(w[t % 4], w[(t + 1) % 4]);
                w[t % 4] = _mm_sha256msg2_epu32(_mm_add_epi32(w[t % 4], middle), last);
            }
        }
        feba = _mm_add_epi32(feba, feba_before);
        hgdc = _mm_add_epi32(hgdc, hgdc_before);
    }
    __m128i abef = _mm_shuffle_epi32(feba, 0x1b), dchg = _mm_shuffle_epi32(hgdc, 0xb1);
    _mm_storeu_si128((__m128i *)state, _mm_blend_epi16(abef, dchg, 0xf0));
    _mm_storeu_si128((__m128i *)(state + 4), _mm_alignr_epi8(dchg, abef, 8));
}
#endif

typedef void (*Blocks)(uint32_t state[8], const unsigned char *data, size_t blocks);

static Blocks fastest = blocks_plainly;

static void choose_blocks(void) {
#ifdef __x86_64__
    unsigned int a, b, c, d;
    int sse41 = __get_cpuid(1, &a, &b, &c, &d) && c & bit_SSE4_1;
    if (sse41 && __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & bit_SHA)
        fastest = blocks_by_processor;
#endif
}

/* The digest in hexadecimal digits. */
static void digest_of(char digits[64], const unsigned char *data, size_t size, Blocks blocks_of) {
    uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    unsigned char last[128] = {0};
    size_t rest = size % 64, end = rest < 56 ? 64 : 128;
    blocks_of(state, data, size / 64);
    memcpy(last, data + (size - rest), rest);
    last[rest] = 0x80;
    for (int at = 0; at < 8; at++)
        last[end - 1 - (size_t)at] = (unsigned char)((uint64_t)size * 8 >> 8 * at);
    blocks_of(state, last, end / 64);
    for (int at = 0; at < 64; at++)
        digits[at] = "0123456789abcdef"[state[at / 8] >> (28 - at % 8 * 4) & 15];
}

/* A file's bytes and its state, as disk/calls.py has them. */
static PyObject *contents_of(PyObject *data, const struct stat *state) {
    PyObject *values[] = {data,
                          PyLong_FromLongLong(state->st_size),
                          nanoseconds(state->st_mtim),
                          nanoseconds(state->st_ctim),
                          PyLong_FromUnsignedLongLong(state->st_ino),
                          PyLong_FromUnsignedLong(state->st_mode),
                          PyLong_FromUnsignedLong(state->st_nlink)};
    return tuple_of(7, values);
}

PyDoc_STRVAR(contents_doc,
             "contents(fd, path, limit)\n--\n\n"
             "A regular file beneath the directory `fd`, of at most so many bytes; see disk/calls.py.");

static PyObject *contents(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    if (count != 3) {
        PyErr_SetString(PyExc_TypeError, "contents takes a descriptor, a path and a limit");
        return NULL;
    }
    int below = (int)PyLong_AsLong(args[0]), fd, had = 0;
    long long limit = PyLong_AsLongLong(args[2]);
    struct stat state;
    PyObject *path, *data = NULL;
    if (PyErr_Occurred() || !PyUnicode_FSConverter(args[1], &path))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    fd = opened(below, PyBytes_AS_STRING(path), &state);
    Py_END_ALLOW_THREADS;
    Py_DECREF(path);
    if (fd >= 0 && S_ISREG(state.st_mode) && state.st_size <= limit)
        data = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)state.st_size);
    Py_BEGIN_ALLOW_THREADS;
    if (data != NULL)
        had = filled(fd, PyBytes_AS_STRING(data), (size_t)state.st_size) == state.st_size;
    if (fd >= 0)
        close(fd);
    Py_END_ALLOW_THREADS;
    if (had)
        return contents_of(data, &state);
    Py_XDECREF(data);
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}

/* Files between their frames. What stands around a file is a form: bytes in which a NUL and a letter are a place for
   something that is only known of each file. */

#define NAME 'n'   /* its path */
#define LENGTH 'l' /* its size in bytes */
#define DIGEST 'd' /* of its content */
#define BRIEF 'b'  /* the first digits of that, which must not stand in the content */
#define ENDED 'e'  /* a newline, where the content does not end in one */
#define DIGITS 64
#define BRIEF_DIGITS 16

struct form {
    const char *data;
    size_t size;
};

struct wanted {
    const char *path;
    size_t named; /* how long the path is */
    Py_ssize_t size; /* what it is said to have */
    struct form head, tail, line;
    Py_ssize_t ticks; /* how many backticks in a row its frame can take; any, if less than 0 */
    enum { ODD, NO_TEXT, PLAIN } found;
    size_t text, frames, lines; /* where what comes after it begins */
    char digest[DIGITS];
};

/* Has the path plain letters only, such as every format spells as they are? */
static int is_simple(const char *path, size_t size) {
    for (size_t at = 0; at < size; at++)
        if (path[at] < ' ' || path[at] > '~' || strchr("\"\\`&<>", path[at]) != NULL)
            return 0;
    return size > 0 && path[0] != ' ' && path[size - 1] != ' ';
}

/* How much room a filled form takes at most. */
static size_t room_of(const struct form *form, const struct wanted *one) {
    size_t room = form->size;
    for (size_t at = 0; at + 1 < form->size; at++)
        if (form->data[at] == 0)
            room += form->data[at + 1] == NAME ? one->named : DIGITS;
    return room;
}

static int has_place(const struct form *form, char kind) {
    for (size_t at = 0; at + 1 < form->size; at++)
        if (form->data[at] == 0 && form->data[at + 1] == kind)
            return 1;
    return 0;
}

/* Writes the form with everything in its place; returns where it ends. */
static char *fill(char *to, const struct form *form, const struct wanted *one, const char *content) {
    const char *at = form->data, *end = at + form->size, *place;
    while ((place = memchr(at, 0, (size_t)(end - at))) != NULL && place + 1 < end) {
        memcpy(to, at, (size_t)(place - at));
        to += place - at;
        switch (place[1]) {
        case NAME:
            memcpy(to, one->path, one->named);
            to += one->named;
            break;
        case LENGTH:
            to += sprintf(to, "%zd", one->size);
            break;
        case DIGEST:
            memcpy(to, one->digest, DIGITS);
            to += DIGITS;
            break;
        case BRIEF:
            memcpy(to, one->digest, BRIEF_DIGITS);
            to += BRIEF_DIGITS;
            break;
        case ENDED:
            if (one->size > 0 && content[one->size - 1] != '\n')
                *to++ = '\n';
        }
        at = place + 2;
    }
    memcpy(to, at, (size_t)(end - at));
    return to + (end - at);
}

/* Reads a file to where it is wanted, and looks at it. */
static void look(struct wanted *one, int below, char *to) {
    struct stat state;
    int fd = one->size >= 0 ? opened(below, one->path, &state) : -1, had = 0;
    if (fd < 0)
        return;
    size_t size = (size_t)one->size;
    if (S_ISREG(state.st_mode) && state.st_size == one->size)
        had = filled(fd, to, size) == one->size;
    close(fd);
    if (had && is_plain((unsigned char *)to, size)) {
        if (one->ticks >= 0 && ticks_in(to, size) > (size_t)one->ticks)
            return;
        digest_of(one->digest, (unsigned char *)to, size, fastest);
        if (!has_place(&one->head, BRIEF) || memmem(to, size, one->digest, BRIEF_DIGITS) == NULL)
            one->found = PLAIN;
    } else if (had && is_no_text((unsigned char *)to, size))
        one->found = NO_TEXT;
}

/* A growing text, of which `end` is where it goes on. */
struct run {
    PyObject *bytes;
    char *start, *end;
};

static int begin(struct run *run, size_t room) {
    run->bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)room);
    run->start = run->end = run->bytes == NULL ? NULL : PyBytes_AS_STRING(run->bytes);
    return run->bytes != NULL;
}

/* What was written, as bytes; NULL when memory is short. */
static PyObject *ended(struct run *run) {
    if (run->bytes != NULL)
        _PyBytes_Resize(&run->bytes, run->end - run->start);
    return run->bytes;
}

/* One file after the other: its frame and content, its frame alone, its line. */
static void frame_all(struct wanted *files, Py_ssize_t many, int below, struct run *text, struct run *frames,
                      struct run *lines) {
    for (Py_ssize_t at = 0; at < many; at++) {
        struct wanted *one = &files[at];
        /* The digest that a head may hold is not known before the content is there, but how long it is. */
        memset(one->digest, '0', DIGITS);
        char *content = fill(text->end, &one->head, one, NULL);
        look(one, below, content);
        if (one->found == PLAIN) {
            fill(text->end, &one->head, one, NULL);
            char *after = content + one->size, *end = fill(after, &one->tail, one, content);
            memcpy(frames->end, text->end, (size_t)(content - text->end));
            frames->end += content - text->end;
            memcpy(frames->end, after, (size_t)(end - after));
            frames->end += end - after;
            lines->end = fill(lines->end, &one->line, one, content);
            text->end = end;
        }
        one->text = (size_t)(text->end - text->start);
        one->frames = (size_t)(frames->end - frames->start);
        one->lines = (size_t)(lines->end - lines->start);
    }
}

/* What was asked for, from Python's values; 0 when they are of another kind. The path in bytes is kept. */
static int asked(struct wanted *one, PyObject *path, PyObject *size, PyObject *form, PyObject **kept) {
    const char *parts[3];
    Py_ssize_t sizes[3], ticks;
    if (!PyTuple_Check(form)) {
        PyErr_SetString(PyExc_TypeError, "a form is a tuple");
        return 0;
    }
    if (!PyUnicode_FSConverter(path, kept) ||
        !PyArg_ParseTuple(form, "y#y#y#n", &parts[0], &sizes[0], &parts[1], &sizes[1], &parts[2], &sizes[2], &ticks))
        return 0;
    one->path = PyBytes_AS_STRING(*kept);
    one->named = (size_t)PyBytes_GET_SIZE(*kept);
    one->size = PyLong_AsSsize_t(size);
    one->ticks = ticks;
    struct form *forms[] = {&one->head, &one->tail, &one->line};
    for (int at = 0; at < 3; at++)
        *forms[at] = (struct form){parts[at], (size_t)sizes[at]};
    if (!is_simple(one->path, one->named) || one->size < 0)
        one->size = -1; /* not ours to read */
    return !PyErr_Occurred();
}

/* What came of each file: its digest, "" for one that is no text, or where in the three texts it belongs. */
static PyObject *outcome(const struct wanted *one) {
    if (one->found != ODD)
        return PyUnicode_FromStringAndSize(one->digest, one->found == PLAIN ? DIGITS : 0);
    return Py_BuildValue("nnn", (Py_ssize_t)one->text, (Py_ssize_t)one->frames, (Py_ssize_t)one->lines);
}

PyDoc_STRVAR(framed_doc,
             "framed(fd, paths, sizes, forms)\n--\n\n"
             "Files beneath the directory `fd`, each of which should have the size that is said, between their frames; "
             "see disk/calls.py.");

static PyObject *framed(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    int lists = count == 4;
    for (Py_ssize_t at = 1; lists && at < 4; at++)
        lists = PyList_Check(args[at]) && PyList_GET_SIZE(args[at]) == PyList_GET_SIZE(args[1]);
    if (!lists) {
        PyErr_SetString(PyExc_TypeError, "framed takes a descriptor and lists of paths, sizes and forms");
        return NULL;
    }
    int below = (int)PyLong_AsLong(args[0]);
    Py_ssize_t many = PyList_GET_SIZE(args[1]);
    struct wanted *files = PyErr_Occurred() ? NULL : PyMem_Calloc((size_t)many + 1, sizeof *files);
    PyObject **paths = files == NULL ? NULL : PyMem_Calloc((size_t)many + 1, sizeof *paths);
    int whole = paths != NULL;
    if (!whole && !PyErr_Occurred())
        PyErr_NoMemory();
    size_t room = 0, line_room = 0, frame_room = 0;
    for (Py_ssize_t at = 0; whole && at < many; at++) {
        whole = asked(&files[at], PyList_GET_ITEM(args[1], at), PyList_GET_ITEM(args[2], at),
                      PyList_GET_ITEM(args[3], at), &paths[at]);
        if (whole) {
            size_t around = room_of(&files[at].head, &files[at]) + room_of(&files[at].tail, &files[at]);
            frame_room += around;
            room += around + (files[at].size > 0 ? (size_t)files[at].size : 0);
            line_room += room_of(&files[at].line, &files[at]);
        }
    }
    struct run text = {0}, frames = {0}, lines = {0};
    whole = whole && begin(&text, room) && begin(&frames, frame_room) && begin(&lines, line_room);
    if (whole) {
        Py_BEGIN_ALLOW_THREADS;
        frame_all(files, many, below, &text, &frames, &lines);
        Py_END_ALLOW_THREADS;
    }
    PyObject *found = whole ? PyList_New(many) : NULL;
    for (Py_ssize_t at = 0; found != NULL && at < many; at++) {
        PyObject *one = outcome(&files[at]);
        if (one == NULL)
            Py_CLEAR(found);
        else
            PyList_SET_ITEM(found, at, one);
    }
    for (Py_ssize_t at = 0; paths != NULL && at < many; at++)
        Py_XDECREF(paths[at]);
    PyMem_Free(paths);
    PyMem_Free(files);
    PyObject *values[] = {ended(&text), ended(&frames), ended(&lines), found};
    return tuple_of(4, values);
}

PyDoc_STRVAR(digest_doc,
             "digest(data, plainly)\n--\n\n"
             "The SHA-256 digest as `framed` makes it; plainly: as it does where the processor has no instructions for it.");

static PyObject *digest(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    if (count != 2 || !PyBytes_Check(args[0])) {
        PyErr_SetString(PyExc_TypeError, "digest takes bytes and a flag");
        return NULL;
    }
    char digits[64];
    Blocks blocks = args[1] == Py_True ? blocks_plainly : fastest;
    digest_of(digits, (unsigned char *)PyBytes_AS_STRING(args[0]), (size_t)PyBytes_GET_SIZE(args[0]), blocks);
    return PyUnicode_FromStringAndSize(digits, sizeof digits);
}

/* What getdents64 gives. */
struct dent {
    uint64_t inode;
    int64_t next;
    unsigned short length;
    unsigned char type;
    char name[];
};

struct row {
    size_t name; /* where it stands in `names` */
    struct stat state;
    int error;
};

struct list {
    char *names;
    size_t used, room;
    struct row *rows;
    size_t count, space;
    size_t folders, dotted; /* how many there are of them */
};

static int has_room(struct list *list, size_t length) {
    if (list->used + length > list->room) {
        size_t room = 2 * (list->room + length) + DENTS;
        char *names = realloc(list->names, room);
        if (names == NULL)
            return 0;
        list->names = names;
        list->room = room;
    }
    if (list->count == list->space) {
        size_t space = 2 * list->space + 64;
        struct row *rows = realloc(list->rows, space * sizeof *rows);
        if (rows == NULL)
            return 0;
        list->rows = rows;
        list->space = space;
    }
    return 1;
}

static int add(struct list *list, int fd, const struct dent *dent) {
    size_t length = strlen(dent->name) + 1;
    if (dent->name[0] == '.' && (length == 2 || (length == 3 && dent->name[1] == '.')))
        return 1;
    if (!has_room(list, length))
        return 0;
    struct row *row = &list->rows[list->count++];
    row->name = list->used;
    row->error = 0;
    memcpy(list->names + list->used, dent->name, length);
    list->used += length;
    if (dent->type == DT_DIR)
        row->state.st_mode = S_IFDIR;
    else if (fstatat(fd, dent->name, &row->state, AT_SYMLINK_NOFOLLOW) < 0)
        row->error = errno;
    list->dotted += dent->name[0] == '.';
    list->folders += !row->error && S_ISDIR(row->state.st_mode);
    return 1;
}

/* Everything in the directory; 0 or an error's number. */
static int gather(struct list *list, int fd) {
    _Alignas(struct dent) char dents[DENTS];
    long got;
    int error = 0;
    while (!error && (got = syscall(SYS_getdents64, fd, dents, sizeof dents)) != 0) {
        if (got < 0)
            error = errno;
        for (long at = 0; !error && at < got; at += ((struct dent *)(dents + at))->length)
            if (!add(list, fd, (struct dent *)(dents + at)))
                error = ENOMEM;
    }
    return error;
}

static PyObject *row_of(PyObject *name, const struct row *row) {
    static const struct stat unknown;
    const struct stat *state = row->error ? &unknown : &row->state;
    Py_INCREF(name);
    PyObject *values[] = {name,
                          PyLong_FromUnsignedLong(state->st_mode),
                          PyLong_FromLongLong(row->error ? row->error : state->st_size),
                          nanoseconds(state->st_mtim),
                          nanoseconds(state->st_ctim),
                          PyLong_FromUnsignedLongLong(state->st_ino),
                          PyLong_FromUnsignedLong(state->st_nlink),
                          PyLong_FromUnsignedLong(state->st_uid)};
    return tuple_of(8, values);
}

static int append(PyObject *list, PyObject *value) {
    int failed = value == NULL || PyList_Append(list, value) < 0;
    Py_XDECREF(value);
    return !failed;
}

/* Puts what was gathered into three lists; 0 when that fails. */
static int sorted_out(const struct list *list, PyObject *folders, PyObject *files, PyObject *dotted) {
    for (size_t at = 0; at < list->count; at++) {
        const struct row *row = &list->rows[at];
        PyObject *name = PyUnicode_DecodeFSDefault(list->names + row->name);
        if (name == NULL)
            return 0;
        int whole = list->names[row->name] != '.' || PyList_Append(dotted, name) == 0;
        if (whole && !row->error && S_ISDIR(row->state.st_mode))
            whole = PyList_Append(folders, name) == 0;
        else if (whole)
            whole = append(files, row_of(name, row));
        Py_DECREF(name);
        if (!whole)
            return 0;
    }
    return 1;
}

/* What was gathered, for Python; NULL with an error when that fails, or gathering did. */
static PyObject *lists_of(struct list *list, int error) {
    PyObject *made = NULL;
    if (error) {
        errno = error;
        PyErr_SetFromErrno(PyExc_OSError);
    } else {
        PyObject *lists[] = {PyList_New(0), PyList_New(0), PyList_New(0)};
        made = tuple_of(3, lists);
        if (made != NULL && !sorted_out(list, lists[0], lists[1], lists[2]))
            Py_CLEAR(made);
    }
    free(list->names);
    free(list->rows);
    return made;
}

PyDoc_STRVAR(listed_doc, "listed(fd)\n--\n\nWhat lies in the directory `fd`, in the kernel's order; see disk/calls.py.");

static PyObject *listed(PyObject *module, PyObject *arg) {
    (void)module;
    int fd = (int)PyLong_AsLong(arg), error;
    if (PyErr_Occurred())
        return NULL;
    struct list list = {0};
    Py_BEGIN_ALLOW_THREADS;
    error = gather(&list, fd);
    lseek(fd, 0, SEEK_SET); /* as os.scandir does: who lists it next begins at the beginning */
    Py_END_ALLOW_THREADS;
    return lists_of(&list, error);
}

PyDoc_STRVAR(entered_doc,
             "entered(fd, name, device)\n--\n\n"
             "The directory of this name in the directory `fd`, opened and listed; see disk/calls.py.");

static PyObject *entered(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    if (count != 3) {
        PyErr_SetString(PyExc_TypeError, "entered takes a descriptor, a name and a device");
        return NULL;
    }
    int above = (int)PyLong_AsLong(args[0]), fd, error = 0;
    long long device = PyLong_AsLongLong(args[2]);
    PyObject *name, *lists;
    if (PyErr_Occurred() || !PyUnicode_FSConverter(args[1], &name))
        return NULL;
    struct list list = {0};
    struct stat state;
    int here = 0;
    Py_BEGIN_ALLOW_THREADS;
    fd = openat(above, PyBytes_AS_STRING(name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &state) < 0)
        error = errno;
    else if ((here = device < 0 || (unsigned long long)state.st_dev == (unsigned long long)device))
        error = gather(&list, fd);
    if (!error && (list.folders || list.dotted))
        lseek(fd, 0, SEEK_SET);
    else if (fd >= 0) {
        close(fd);
        fd = -1;
    }
    Py_END_ALLOW_THREADS;
    Py_DECREF(name);
    lists = here || error ? lists_of(&list, error) : Py_NewRef(Py_None);
    if (lists == NULL) { /* always so after an error */
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    PyObject *values[] = {PyLong_FromLong(fd), PyLong_FromUnsignedLongLong(state.st_dev),
                          PyLong_FromUnsignedLongLong(state.st_ino), lists};
    PyObject *made = tuple_of(4, values);
    if (made == NULL && fd >= 0)
        close(fd);
    return made;
}

static PyMethodDef methods[] = {
    {"contents", (PyCFunction)(void (*)(void))contents, METH_FASTCALL, contents_doc},
    {"digest", (PyCFunction)(void (*)(void))digest, METH_FASTCALL, digest_doc},
    {"entered", (PyCFunction)(void (*)(void))entered, METH_FASTCALL, entered_doc},
    {"framed", (PyCFunction)(void (*)(void))framed, METH_FASTCALL, framed_doc},
    {"listed", listed, METH_O, listed_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "sutler.disk._native", NULL, 0, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__native(void) {
    choose_blocks();
    return PyModule_Create(&definition);
}
