/* Scans the events of a Kineto trace at memory speed, and nests host events. Optional: without it the same columns come
 * from `reader.py`, slower. It never decides anything: what it does not understand it hands back to Python.
 *
 *   scan(data, start, after) -> (position, status, after, rows, strings, threads)
 *     after: whether an element of the list ended just before, so that a comma or the end of the list is due
 *     status 0: the data ended before or inside the element at `position`; 1: a `]` stands there;
 *            2: what stands there is not what this scanner reads
 *     rows: n × 10 int64: category string, name string, thread, start ns, duration ns, correlation, external id,
 *           offset of args, length of args, 1 for "ph": "i"      (-1: none; only "X" with ts and dur, and "i" with ts)
 *     strings, threads: the distinct spans that rows refer to, as bytes, without quotes, escapes as written
 *   gather(data, start, length) -> bytes           spans of the data, one after the other; arrays of int64
 *   nest(order, thread, start, end) -> parent      all arrays of int64 as bytes; the result int32
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

typedef struct { const char *at; int64_t length; uint64_t hash; } Span;
typedef struct { Span *spans; int64_t used, room; int64_t *table; int64_t size; } Interned;

static uint64_t hash_bytes(const char *p, int64_t n) {
    uint64_t h = 1469598103934665603ULL;
    while (n >= 8) { uint64_t w; memcpy(&w, p, 8); h = (h ^ w) * 0x9E3779B97F4A7C15ULL; h ^= h >> 29; p += 8; n -= 8; }
    while (n-- > 0) h = (h ^ (unsigned char)*p++) * 1099511628211ULL;
    return h ^ (h >> 32);
}

static int interned_grow(Interned *t) {
    int64_t size = t->size ? t->size * 2 : 4096;
    int64_t *table = malloc(size * sizeof(int64_t));
    Span *spans = realloc(t->spans, size * sizeof(Span));
    if (!table || !spans) { free(table); if (spans) t->spans = spans; return -1; }
    memset(table, 0xff, size * sizeof(int64_t));
    t->spans = spans; t->room = size;
    for (int64_t i = 0; i < t->used; i++) {
        uint64_t slot = spans[i].hash & (size - 1);
        while (table[slot] >= 0) slot = (slot + 1) & (size - 1);
        table[slot] = i;
    }
    free(t->table); t->table = table; t->size = size;
    return 0;
}

static int64_t intern(Interned *t, const char *p, int64_t n) {
    if (t->used * 2 >= t->size && interned_grow(t) < 0) return -2;
    uint64_t h = hash_bytes(p, n), slot = h & (t->size - 1);
    while (t->table[slot] >= 0) {
        Span *s = &t->spans[t->table[slot]];
        if (s->hash == h && s->length == n && !memcmp(s->at, p, n)) return t->table[slot];
        slot = (slot + 1) & (t->size - 1);
    }
    t->spans[t->used] = (Span){p, n, h};
    t->table[slot] = t->used;
    return t->used++;
}

static const char *ws(const char *p, const char *end) {
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r')) p++;
    return p;
}

/* Of a word that was loaded from memory: its first byte that is not 0, or one before it. */
#if defined(__GNUC__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define FIRST_BYTE(word) (__builtin_ctzll(word) >> 3)
#else
#define FIRST_BYTE(word) 0
#endif

#define MORE ((const char *)0)
#define BAD ((const char *)1)
#define DEEPEST 200

static int is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

/* One character of two to four bytes, as strict as Python: no overlong form, no surrogate, nothing above U+10FFFF. */
static const char *utf8(const char *p, const char *end) {
    unsigned char c = (unsigned char)*p, low = 0x80, high = 0xBF;
    int more = c >= 0xC2 && c <= 0xDF ? 1 : (c & 0xF0) == 0xE0 ? 2 : c >= 0xF0 && c <= 0xF4 ? 3 : 0;
    if (!more) return BAD;
    if (c == 0xE0) low = 0xA0;
    else if (c == 0xED) high = 0x9F;
    else if (c == 0xF0) low = 0x90;
    else if (c == 0xF4) high = 0x8F;
    for (p++; more--; p++) {
        if (p >= end) return MORE;
        if ((unsigned char)*p < low || (unsigned char)*p > high) return BAD;
        low = 0x80; high = 0xBF;
    }
    return p;
}

/* After the opening quote; returns the closing one. Half a surrogate pair, written as an escape, is Python's business,
 * and so is a key with any escape. */
static inline const char *text_end(const char *p, const char *end, int is_key) {
    const uint64_t ones = 0x0101010101010101ULL, tops = 0x8080808080808080ULL;
    for (;;) {
        while (end - p >= 8) { /* eight at once, while none is a quote, a backslash, a control character or beyond ASCII */
            uint64_t w, quote, slash;
            memcpy(&w, p, 8);
            quote = w ^ (ones * '"');
            slash = w ^ (ones * '\\');
            w = (w | (w - ones * 0x20) | ((quote - ones) & ~quote) | ((slash - ones) & ~slash)) & tops;
            if (w) { p += FIRST_BYTE(w); break; }
            p += 8;
        }
        if (p >= end) return MORE;
        unsigned char c = (unsigned char)*p;
        if (c == '"') return p;
        if (c < 0x20) return BAD;
        if (c >= 0x80) {
            p = utf8(p, end);
            if (p == MORE || p == BAD) return p;
        } else if (c == '\\') {
            if (is_key) return BAD;
            if (end - p < 2) return MORE;
            if (p[1] == 'u') {
                if (end - p < 6) return MORE;
                if (!is_hex(p[2]) || !is_hex(p[3]) || !is_hex(p[4]) || !is_hex(p[5])) return BAD;
                if ((p[2] | 0x20) == 'd' && p[3] > '7') { /* a surrogate pair, whole */
                    int64_t n = end - p;
                    if (p[3] > '9' && (p[3] | 0x20) > 'b') return BAD;
                    if ((n > 6 && p[6] != '\\') || (n > 7 && p[7] != 'u') || (n > 8 && (p[8] | 0x20) != 'd')) return BAD;
                    if (n > 9 && (!is_hex(p[9]) || (p[9] | 0x20) < 'c')) return BAD;
                    if (n < 12) return MORE;
                    if (!is_hex(p[10]) || !is_hex(p[11])) return BAD;
                    p += 6;
                }
                p += 6;
            } else if (strchr("\"\\/bfnrt", p[1]) && p[1]) p += 2;
            else return BAD;
        } else p++;
    }
}

static const char *string_end(const char *p, const char *end) { return text_end(p, end, 0); }
static const char *key_end(const char *p, const char *end) { return text_end(p, end, 1); }

static const char *digits(const char *p, const char *end) {
    const char *q = p;
    while (q < end && *q >= '0' && *q <= '9') q++;
    return q >= end ? MORE : q == p ? BAD : q;
}

static const char *word(const char *p, const char *end, const char *text) {
    for (; *text; text++, p++) {
        if (p >= end) return MORE;
        if (*p != *text) return BAD;
    }
    return p;
}

/* Very long numbers are Python's business. */
static const char *number(const char *p, const char *end) {
    const char *first = p;
    if (*p == '-') p++;
    if (p < end && *p == 'I') return word(p, end, "Infinity");
    if (p < end && *p == '0') { p++; if (p < end && *p >= '0' && *p <= '9') return BAD; }
    else if ((p = digits(p, end)) == MORE || p == BAD) return p;
    if (p < end && *p == '.' && ((p = digits(p + 1, end)) == MORE || p == BAD)) return p;
    if (p - first > 200) return BAD;
    if (p < end && (*p == 'e' || *p == 'E')) {
        const char *exponent = ++p;
        if (p < end && (*p == '+' || *p == '-')) p++;
        if ((p = digits(p, end)) == MORE || p == BAD) return p;
        if (p - exponent > 3) return BAD;
    }
    return p >= end ? MORE : p;
}

/* Any value, held to the grammar of Python's json, which knows NaN and Infinity: what this accepts, Python accepts. */
static const char *skip(const char *p, const char *end, int depth) {
    if (p >= end) return MORE;
    char c = *p, closing = c == '{' ? '}' : ']';
    if (c == '"') {
        p = string_end(p + 1, end);
        return p == MORE || p == BAD ? p : p + 1;
    }
    if (c == 't') return word(p, end, "true");
    if (c == 'f') return word(p, end, "false");
    if (c == 'n') return word(p, end, "null");
    if (c == 'N') return word(p, end, "NaN");
    if (c == 'I') return word(p, end, "Infinity");
    if (c == '-' || (c >= '0' && c <= '9')) return number(p, end);
    if ((c != '{' && c != '[') || depth > DEEPEST) return BAD;
    p = ws(p + 1, end);
    if (p < end && *p == closing) return p + 1;
    for (;;) {
        p = ws(p, end);
        if (p >= end) return MORE;
        if (c == '{') {
            if (*p != '"') return BAD;
            p = string_end(p + 1, end);
            if (p == MORE || p == BAD) return p;
            p = ws(p + 1, end);
            if (p >= end) return MORE;
            if (*p != ':') return BAD;
            p = ws(p + 1, end);
        }
        p = skip(p, end, depth + 1);
        if (p == MORE || p == BAD) return p;
        p = ws(p, end);
        if (p >= end) return MORE;
        if (*p == closing) return p + 1;
        if (*p != ',') return BAD;
        p++;
    }
}

/* Microseconds as decimal text to nanoseconds, halves to the even one. Exponents and times that int64 cannot hold are
 * Python's business. */
static const char *nanoseconds(const char *p, const char *end, int64_t *out) {
    int negative = 0, count = 0;
    int64_t value = 0;
    if (p < end && *p == '-') { negative = 1; p++; }
    const char *first = p;
    while (p < end && *p >= '0' && *p <= '9') {
        if (++count > 16) return BAD;
        value = value * 10 + (*p++ - '0');
    }
    if (!count) return p >= end ? MORE : BAD;
    if ((count > 1 && *first == '0') || value > 4600000000000000LL) return BAD;
    value *= 1000;
    if (p < end && *p == '.') {
        int64_t scale = 100;
        int finer = 0, further = 0; /* the fourth digit, and whether any after it is not 0 */
        const char *point = ++p;
        for (; p < end && *p >= '0' && *p <= '9'; p++) {
            if (p - point < 3) { value += (*p - '0') * scale; scale /= 10; }
            else if (p - point == 3) finer = *p - '0';
            else further |= *p != '0';
        }
        if (p == point) return p >= end ? MORE : BAD;
        value += finer > 5 || (finer == 5 && (further || (value & 1)));
    }
    if (p >= end) return MORE;
    if (*p == 'e' || *p == 'E') return BAD;
    *out = negative ? -value : value;
    return p;
}

/* A correlation or external id; 0 and what is no whole number of int64 are none. Ids in quotes are Python's business. */
static const char *identifier(const char *p, const char *end, int64_t *out) {
    const char *q = p;
    int64_t value = 0;
    int count = 0;
    *out = -1;
    if (p < end && *p == '"') return BAD;
    for (; q < end && *q >= '0' && *q <= '9'; q++)
        if (++count <= 18) value = value * 10 + (*q - '0');
    if (q >= end) return MORE;
    if (count == 19) return BAD;
    if (!count || count > 18 || *p == '0' || *q == '.' || *q == 'e' || *q == 'E') return skip(p, end, 0);
    *out = value;
    return q;
}

#define KEY(text) (n == (int64_t)sizeof(text) - 1 && !memcmp(key, text, sizeof(text) - 1))

typedef struct { const char *cat, *name, *pid, *tid, *args, *stream, *device; int64_t cat_n, name_n, pid_n, tid_n, args_n, stream_n, device_n, ts, dur, correlation, external, old_external; char ph; int has_ts, has_dur, has_external; } Event;

static const char *args_object(const char *p, const char *end, Event *e) {
    e->correlation = e->external = e->old_external = -1; /* a second "args" replaces the first */
    e->stream = e->device = NULL;
    e->has_external = 0;
    p = ws(p + 1, end);
    if (p < end && *p == '}') return p + 1;
    for (;;) {
        p = ws(p, end);
        if (p >= end) return MORE;
        if (*p != '"') return BAD;
        const char *key = p + 1;
        p = key_end(key, end);
        if (p == MORE || p == BAD) return p;
        int64_t n = p - key;
        p = ws(p + 1, end);
        if (p >= end) return MORE;
        if (*p != ':') return BAD;
        p = ws(p + 1, end);
        if (p >= end) return MORE;
        const char *value = p;
        if (KEY("External id")) { e->has_external = *p != 'n'; p = identifier(p, end, &e->external); }
        else if (KEY("external id")) p = identifier(p, end, &e->old_external);
        else if (KEY("correlation")) p = identifier(p, end, &e->correlation);
        else p = skip(p, end, 0);
        if (p == MORE || p == BAD) return p;
        if (KEY("stream")) { e->stream = *value == 'n' ? NULL : value; e->stream_n = p - value; }
        else if (KEY("device")) { e->device = *value == 'n' ? NULL : value; e->device_n = p - value; }
        p = ws(p, end);
        if (p >= end) return MORE;
        if (*p == ',') { p++; continue; }
        if (*p == '}') return p + 1;
        return BAD;
    }
}

static const char *event_object(const char *p, const char *end, Event *e) {
    p = ws(p + 1, end);
    if (p < end && *p == '}') return p + 1;
    for (;;) {
        p = ws(p, end);
        if (p >= end) return MORE;
        if (*p != '"') return BAD;
        const char *key = p + 1;
        p = key_end(key, end);
        if (p == MORE || p == BAD) return p;
        int64_t n = p - key;
        p = ws(p + 1, end);
        if (p >= end) return MORE;
        if (*p != ':') return BAD;
        p = ws(p + 1, end);
        if (p >= end) return MORE;
        const char *value = p;
        if (KEY("ts") && *p != 'n') { p = nanoseconds(p, end, &e->ts); e->has_ts = 1; }
        else if (KEY("dur") && *p != 'n') { p = nanoseconds(p, end, &e->dur); e->has_dur = 1; }
        else if (KEY("ts") || KEY("dur") || (KEY("args") && *p != '{')) return BAD;
        else if (KEY("args")) p = args_object(p, end, e);
        else p = skip(p, end, 0);
        if (p == MORE || p == BAD) return p;
        int64_t length = p - value;
        if (KEY("ph")) {
            if (memchr(value, '\\', length)) return BAD;
            e->ph = *value == '"' && length == 3 ? value[1] : 0;
        } else if (KEY("cat")) {
            if (memchr(value, '\\', length)) return BAD;
            e->cat = *value == '"' ? value : NULL; e->cat_n = length;
        }
        else if (KEY("name")) { e->name = value; e->name_n = length; }
        else if (KEY("pid")) { e->pid = value; e->pid_n = length; if (memchr(value, '\n', length)) return BAD; }
        else if (KEY("tid")) { e->tid = value; e->tid_n = length; }
        else if (KEY("args")) { e->args = value; e->args_n = length; }
        p = ws(p, end);
        if (p >= end) return MORE;
        if (*p == ',') { p++; continue; }
        if (*p == '}') return p + 1;
        return BAD;
    }
}

static PyObject *span_list(const Interned *t) {
    PyObject *list = PyList_New(t->used);
    for (int64_t i = 0; list && i < t->used; i++) {
        PyObject *item = PyBytes_FromStringAndSize(t->spans[i].at, t->spans[i].length);
        if (!item) { Py_CLEAR(list); break; }
        PyList_SET_ITEM(list, i, item);
    }
    return list;
}

static PyObject *scan(PyObject *self, PyObject *arguments) {
    Py_buffer view; Py_ssize_t start; int after;
    if (!PyArg_ParseTuple(arguments, "y*np", &view, &start, &after)) return NULL;
    if (start < 0 || start > view.len) {
        PyBuffer_Release(&view);
        PyErr_SetString(PyExc_ValueError, "the start lies outside the data");
        return NULL;
    }
    const char *data = view.buf, *end = data + view.len, *p = data + start;
    Interned strings = {0}, threads = {0};
    int64_t *rows = NULL, used = 0, room = 0; int status = 0, failed = 0;
    char *joined = NULL; int64_t joined_room = 0, joined_used = 0, blocks = 0; char **kept = NULL;
    const char *event_start = p;
    for (;;) {
        p = event_start = ws(p, end);
        if (p >= end) break;
        if (*p == ']' && after) { status = 1; break; }
        if (after != (*p == ',')) { status = 2; break; }
        if (after) {
            after = 0;
            p = event_start = ws(p + 1, end);
            if (p >= end) break;
        }
        if (*p != '{') { status = 2; break; }
        Event e = {0};
        e.correlation = e.external = e.old_external = -1;
        p = event_object(p, end, &e);
        if (p == MORE) break;
        if (p == BAD) { status = 2; break; }
        int instant = e.ph == 'i';
        if (instant) { e.ph = 'X'; e.has_dur = 1; e.dur = 0; }
        if (e.ph == 'X' && e.cat && (!e.has_ts || !e.has_dur || !e.name)) { status = 2; break; }
        if ((e.pid && memchr(e.pid, '\n', e.pid_n)) || (e.device && memchr(e.device, '\n', e.device_n))) { status = 2; break; }
        after = 1;
        if (e.ph != 'X' || !e.cat) continue;
        if (used == room) {
            room = room ? room * 2 : 8192;
            int64_t *more = realloc(rows, room * 10 * sizeof(int64_t));
            if (!more) { failed = 1; break; }
            rows = more;
        }
        /* A thread is two spans side by side with a line break between; host and device differ by a letter. */
        int64_t need = e.pid_n + e.tid_n + e.device_n + e.stream_n + 4;
        if (joined_used + need > joined_room) {
            joined_room = need > (1 << 20) ? need : 1 << 20;
            char **grown = realloc(kept, (blocks + 1) * sizeof(char *));
            joined = malloc(joined_room);
            if (!grown || !joined) { if (grown) kept = grown; free(joined); failed = 1; break; }
            kept = grown; kept[blocks++] = joined; joined_used = 0;
        }
        char *key = joined + joined_used, *q = key;
        int64_t category = intern(&strings, e.cat, e.cat_n);
        int device_row = e.cat_n >= 6 && (!memcmp(e.cat + 1, "kernel", 6) || !memcmp(e.cat + 1, "Kernel", 6) ||
                         (e.cat_n > 9 && (!memcmp(e.cat + 1, "gpu_mem", 7))) || !memcmp(e.cat + 1, "Memset", 6) || !memcmp(e.cat + 1, "Memcpy", 6));
        *q++ = device_row ? 'd' : 'h';
        if (device_row && e.device) { *q++ = 'D'; memcpy(q, e.device, e.device_n); q += e.device_n; }
        else if (e.pid) { *q++ = 'P'; memcpy(q, e.pid, e.pid_n); q += e.pid_n; }
        *q++ = '\n';
        if (device_row && e.stream) { memcpy(q, e.stream, e.stream_n); q += e.stream_n; }
        else if (e.tid) { memcpy(q, e.tid, e.tid_n); q += e.tid_n; }
        int64_t before = threads.used, thread = intern(&threads, key, q - key);
        if (threads.used > before) joined_used += q - key;
        int64_t name = intern(&strings, e.name, e.name_n);
        if (category < 0 || name < 0 || thread < 0) { failed = 1; break; }
        int64_t *row = rows + used++ * 10;
        row[0] = category; row[1] = name; row[2] = thread; row[3] = e.ts; row[4] = e.dur; row[5] = e.correlation;
        row[6] = e.has_external ? e.external : e.old_external;
        row[7] = e.args ? e.args - data : -1; row[8] = e.args ? e.args_n : 0; row[9] = instant;
    }
    PyObject *result = NULL;
    if (failed) PyErr_NoMemory();
    else {
        PyObject *table = PyBytes_FromStringAndSize((const char *)rows, used * 10 * sizeof(int64_t));
        PyObject *first = table ? span_list(&strings) : NULL, *second = first ? span_list(&threads) : NULL;
        if (second) result = Py_BuildValue("niiNNN", (Py_ssize_t)(event_start - data), status, after, table, first, second);
        else { Py_XDECREF(table); Py_XDECREF(first); }
    }
    for (int64_t i = 0; i < blocks; i++) free(kept[i]);
    free(kept); free(rows); free(strings.spans); free(strings.table); free(threads.spans); free(threads.table);
    PyBuffer_Release(&view);
    return result;
}

static PyObject *nest(PyObject *self, PyObject *arguments) {
    Py_buffer order, thread, start, stop;
    if (!PyArg_ParseTuple(arguments, "y*y*y*y*", &order, &thread, &start, &stop)) return NULL;
    int64_t n = order.len / 8, total = start.len / 8, depth = 0, room = 1024, current = 0, failed = 0;
    const int64_t *o = order.buf, *t = thread.buf, *s = start.buf, *e = stop.buf;
    int64_t *stack = malloc(room * sizeof(int64_t));
    int sound = order.len % 8 == 0 && start.len % 8 == 0 && thread.len == start.len && stop.len == start.len && total <= INT32_MAX;
    for (int64_t i = 0; sound && i < n; i++) sound = o[i] >= 0 && o[i] < total;
    PyObject *result = sound ? PyBytes_FromStringAndSize(NULL, total * 4) : NULL;
    if (!sound) PyErr_SetString(PyExc_ValueError, "arrays of int64: three of one length, and rows of them");
    else if (stack && result) {
        int32_t *parent = (int32_t *)PyBytes_AS_STRING(result);
        memset(parent, 0xff, total * 4);
        for (int64_t i = 0; i < n; i++) {
            int64_t row = o[i];
            if (!(i & 0xfffff) && PyErr_CheckSignals() < 0) { Py_CLEAR(result); break; }
            if (t[row] != current) { current = t[row]; depth = 0; }
            while (depth && e[stack[depth - 1]] <= s[row] && !(e[row] == s[row] && s[row] == s[stack[depth - 1]])) depth--;
            if (depth) parent[row] = (int32_t)stack[depth - 1];
            if (depth == room) {
                int64_t *more = realloc(stack, (room *= 2) * sizeof(int64_t));
                if (!more) { failed = 1; break; }
                stack = more;
            }
            stack[depth++] = row;
        }
    } else failed = 1;
    free(stack);
    PyBuffer_Release(&order); PyBuffer_Release(&thread); PyBuffer_Release(&start); PyBuffer_Release(&stop);
    if (failed) { Py_XDECREF(result); return PyErr_Occurred() ? NULL : PyErr_NoMemory(); }
    return result;
}

static PyObject *gather(PyObject *self, PyObject *arguments) {
    Py_buffer data, start, length;
    if (!PyArg_ParseTuple(arguments, "y*y*y*", &data, &start, &length)) return NULL;
    const int64_t *s = start.buf, *l = length.buf;
    int64_t n = start.len / 8, total = 0;
    int sound = start.len % 8 == 0 && length.len == start.len;
    for (int64_t i = 0; sound && i < n; i++) {
        sound = s[i] >= 0 && l[i] >= 0 && s[i] <= data.len && l[i] <= data.len - s[i] && l[i] <= INT64_MAX - total;
        total += sound ? l[i] : 0;
    }
    PyObject *result = sound ? PyBytes_FromStringAndSize(NULL, total) : NULL;
    if (!sound) PyErr_SetString(PyExc_ValueError, "two arrays of int64 of one length: spans of the data");
    char *to = result ? PyBytes_AS_STRING(result) : NULL;
    for (int64_t i = 0; result && i < n; to += l[i++]) memcpy(to, (const char *)data.buf + s[i], l[i]);
    PyBuffer_Release(&data); PyBuffer_Release(&start); PyBuffer_Release(&length);
    return result;
}

static PyMethodDef methods[] = {
    {"scan", scan, METH_VARARGS, "Scan events; see the top of _scan.c."},
    {"gather", gather, METH_VARARGS, "Join spans; see the top of _scan.c."},
    {"nest", nest, METH_VARARGS, "Nest host events; see the top of _scan.c."},
    {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_scan", NULL, -1, methods};
PyMODINIT_FUNC PyInit__scan(void) {
    PyObject *made = PyModule_Create(&module);
    if (made && PyModule_AddIntConstant(made, "VERSION", 4) < 0) Py_CLEAR(made); /* reader.py asks for this one */
    return made;
}
