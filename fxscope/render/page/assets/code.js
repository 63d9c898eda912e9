// The user's source and the generated code, with the lines that belong to what is chosen.

const KEYWORDS = new Set(
  (
    'False None True and as assert async await break class continue def del elif else except finally for ' +
    'from global if import in is lambda nonlocal not or pass raise return try while with yield void const ' +
    'auto int float bool template typename struct namespace static inline'
  ).split(' '),
);
const TOKEN =
  /(#.*$|\/\/.*$)|("""|'''|"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?)|(@[\w.]+)|(\b\d[\w.]*)|([A-Za-z_]\w*)(?=(\s*\()?)/g;

/** The lines of a file with their numbers; lines that were not kept are empty, and left out. */
function keptLines(text) {
  const all = text.split('\n');
  return all.map((line, i) => [i + 1, line]).filter((_, i) => [i - 1, i, i + 1].some((k) => all[k]?.trim()));
}

/** A line of Python (or C++) in coloured spans; every part is a text node. */
function highlight(line) {
  if (line.length > 2000) return [line];
  const out = [];
  let last = 0;
  for (const match of line.matchAll(TOKEN)) {
    if (match.index > last) out.push(line.slice(last, match.index));
    last = match.index + match[0].length;
    const style = match[1]
      ? 'comment'
      : match[2]
        ? 'string'
        : match[3]
          ? 'decorator'
          : match[4]
            ? 'number'
            : KEYWORDS.has(match[5])
              ? 'keyword'
              : match[6]
                ? 'call'
                : null;
    out.push(style ? el('span', { class: `t-${style}` }, match[0]) : match[0]);
  }
  if (last < line.length) out.push(line.slice(last));
  return out;
}

/** A long path by its last two parts: "…/granitemoe/modeling_granitemoe.py". */
function tailOf(path) {
  const parts_ = path.split('/');
  return parts_.length > 3 ? `…/${parts_.slice(-2).join('/')}` : path;
}

class CodePane {
  constructor(host, { label, kind }) {
    this.kind = kind;
    this.pick = el('select', { 'aria-label': label, onchange: () => this.open(Number(this.pick.value)) });
    this.host = el('div', { class: 'code', tabindex: 0, role: 'listbox', 'aria-label': label });
    this.none = el('p', { class: 'empty' });
    host.append(el('div', { class: 'pane-head' }, el('h2', {}, label), this.pick, this.none), this.host);
    this.list = new LineList(this.host, 19, (i) => this.line(i));
    this.cursor = 0;
    this.host.addEventListener('keydown', (event) => {
      const move = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20 }[event.key];
      if (move) {
        event.preventDefault();
        this.cursor = Math.max(0, Math.min(this.lines.length - 1, this.cursor + move));
        this.list.reveal(this.cursor);
        this.list.refresh();
      } else if (event.key === 'Enter') this.pickLine(this.cursor);
    });
    on('chosen', (from) => this.follow(from));
    this.lines = [];
  }
  get recording() {
    return current();
  }
  texts() {
    const r = this.recording;
    if (this.kind === 'source')
      return r.files.map((f) => ({
        name: f.file,
        lines: f.text !== null ? keptLines(f.text) : f.lines,
        partial:
          f.text !== null
            ? null
            : f.lines.some(([, text]) => text)
              ? 'the lines that were recorded'
              : 'numbers of lines, without their text',
      }));
    return r.codes.map((code) => ({ name: code.id, lines: code.text.split('\n').map((text, i) => [i + 1, text]) }));
  }
  openRecording() {
    this.all = this.texts();
    clear(
      this.pick,
      // Folders that all files are in say nothing; the file's name is what a narrow pane must show.
      this.all.map((text, i) => el('option', { value: i, title: text.name }, tailOf(text.name))),
    );
    this.pick.hidden = this.all.length < 2;
    this.none.textContent = this.all.length
      ? ''
      : this.kind === 'source'
        ? 'No source line was recorded.'
        : this.recording.calls.n
          ? 'The generated code was not kept.'
          : 'Nothing was compiled: no generated code.';
    this.open(0);
  }
  open(i) {
    this.at = i;
    this.lines = this.all[i] ? this.all[i].lines : [];
    this.pick.value = String(i);
    if (this.all.length)
      this.none.textContent = [this.all.length < 2 && this.all[i].name.split('/').pop(), this.all[i].partial]
        .filter(Boolean)
        .join(' · ');
    this.none.title = this.all[i]?.name || '';
    this.cursor = 0;
    this.list.set(this.lines.length);
    // Start at the first line that something was made of, not at the imports.
    this.host.scrollTop = 0;
    const first = this.lines.findIndex(([number]) => this.isLive(number));
    if (first > 8) {
      this.host.scrollTop = (first - 2) * this.list.height;
      this.later = this.host.clientHeight ? null : first;
    }
  }
  line(i) {
    const [number, text] = this.lines[i],
      mark = this.marked(number),
      known_ = this.isLive(number);
    return el(
      'div',
      {
        class: `line${mark ? ` marked ${mark}` : ''}${known_ ? ' live' : ''}${i === this.cursor ? ' cursor' : ''}`,
        role: 'option',
        'aria-selected': String(Boolean(mark)),
        'data-line': number,
        onclick: () => this.pickLine(i),
      },
      el('span', { class: 'gutter' }, String(number)),
      el('span', { class: 'text' }, highlight(text)),
    );
  }
  isLive(number) {
    const r = this.recording,
      key = `${this.all[this.at].name}:${number}`;
    return this.kind === 'source' ? r.nodesOfLine.has(key) || r.callsOfLine.has(key) : this.callLines().has(number);
  }
  callLines() {
    if (this.liveFor === this.at && this.liveOf === this.recording) return this.live;
    const r = this.recording,
      live = new Set();
    for (let call = 0; call < r.calls.n; call += 1)
      if (r.codeOfCall(call) === this.at)
        for (const column of ['call_lines', 'kernel_lines']) {
          const range = at(r.calls, column, call);
          if (range) for (let n = range[0]; n <= range[1]; n += 1) live.add(n);
        }
    this.live = live;
    this.liveFor = this.at;
    this.liveOf = r;
    return live;
  }
  marked(number) {
    const { links } = chosen;
    if (!links || !this.all[this.at]) return null;
    if (this.kind === 'source') return links.lines.has(`${this.all[this.at].name}:${number}`) ? 'kernel' : null;
    const found = (links.code.get(this.at) || []).find(([a, b]) => number >= a && number <= b);
    return found ? found[2] : null;
  }
  pickLine(i) {
    this.cursor = i;
    const number = this.lines[i][0];
    if (this.kind === 'source') choose('line', `${this.all[this.at].name}:${number}`, { from: 'source' });
    else choose('code', [this.at, number], { from: 'code' });
  }
  follow(from) {
    if (this.opened !== chosen.recording) return;
    const { links } = chosen;
    if (links) {
      if (this.kind === 'source' && links.lines.size) {
        const first = [...links.lines][0],
          cut = first.lastIndexOf(':'),
          file = this.all.findIndex((t) => t.name === first.slice(0, cut));
        if (file >= 0 && from !== 'source') {
          if (file !== this.at) this.open(file);
          const line = Math.min(
            ...[...links.lines]
              .filter((l) => l.startsWith(`${first.slice(0, cut)}:`))
              .map((l) => Number(l.slice(cut + 1))),
          );
          this.reveal(chosen.type === 'line' ? Number(first.slice(cut + 1)) : line);
        }
      } else if (this.kind === 'code' && links.code.size && from !== 'code') {
        const [code, ranges] = [...links.code][0];
        if (code !== this.at) this.open(code);
        const wanted = ranges.find(([, , kind]) => kind === (chosen.type === 'code' ? 'here' : 'kernel')) || ranges[0];
        this.reveal(wanted[0]);
      }
    }
    this.list.refresh();
  }
  reveal(number) {
    const i = this.lines.findIndex(([n]) => n === number);
    if (i < 0) return;
    this.cursor = i;
    if (this.host.clientHeight) this.list.reveal(i);
    else this.later = i;
  }
  shown() {
    if (this.opened !== chosen.recording) return;
    if (known(this.later)) {
      this.host.scrollTop = Math.max(0, this.later - 2) * this.list.height;
      this.later = null;
    }
    this.list.refresh();
  }
}
