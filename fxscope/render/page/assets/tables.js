// Tables: sorted by a column, filtered by words, copied as CSV or Markdown; rows choose what they stand for.

const barred = (unit) => unit === 'share' || unit === 'roof';

class Table {
  constructor(host, table) {
    this.table = table;
    this.sort = null;
    this.down = true;
    this.filter = '';
    this.order = [...table.refs.keys()];
    this.search = el('input', {
      type: 'search',
      placeholder: 'Filter rows',
      'aria-label': `Filter ${table.title}`,
      oninput: () => {
        this.filter = this.search.value.toLowerCase();
        this.refresh();
      },
    });
    this.count = el('span', { class: 'muted count', role: 'status' });
    this.head = el(
      'div',
      { class: 'tr th', role: 'row' },
      table.columns.map(([, heading, unit], i) =>
        el(
          'div',
          { role: 'columnheader', class: `td ${unit}`, 'aria-sort': 'none' },
          el('button', { type: 'button', onclick: () => this.sortBy(i) }, heading),
        ),
      ),
    );
    this.body = el(
      'div',
      { class: 'tbody', tabindex: 0, role: 'rowgroup', 'aria-label': `${table.title}: rows` },
      this.head,
    );
    this.grid = el(
      'div',
      { class: 'grid', role: 'grid', 'aria-label': table.title, 'aria-rowcount': table.refs.length + 1 },
      this.body,
    );
    host.append(
      el(
        'div',
        { class: 'toolbar', role: 'toolbar', 'aria-label': table.title },
        this.search,
        this.count,
        el('span', { class: 'spring' }),
        el('button', { type: 'button', class: 'plain', onclick: () => this.save() }, 'Save CSV'),
        el('button', { type: 'button', class: 'plain', onclick: () => copy(this.csv(), 'CSV') }, 'Copy CSV'),
        el(
          'button',
          { type: 'button', class: 'plain', onclick: () => copy(this.markdown(), 'Markdown') },
          'Copy Markdown',
        ),
      ),
      this.grid,
    );
    const widths = table.columns.map(([, heading, unit], i) => {
      const longest = Math.max(heading.length + 2, ...table.values[i].slice(0, 300).map((v) => words(v, unit).length));
      const least = Math.min(i ? 18 : 30, longest + 3); // the first column names the row: kernels differ late in theirs
      return unit === 'text'
        ? [`minmax(${least}ch, ${Math.min(64, longest + 2)}fr)`, least, 0]
        : [
            `calc(${Math.max(longest, 6)}ch + ${barred(unit) ? 68 : 24}px)`,
            Math.max(longest, 6),
            barred(unit) ? 68 : 24,
          ];
    });
    // Every row is a grid of its own: explicit widths, the same for all, keep headings over their columns.
    const sum = (k) => widths.reduce((total, width) => total + width[k], 0);
    this.grid.style.setProperty('--columns', widths.map(([width]) => width).join(' '));
    this.grid.style.setProperty('--least', `calc(${sum(1)}ch + ${sum(2)}px)`);
    this.cursor = 0;
    this.body.addEventListener('keydown', (event) => {
      const move = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15 }[event.key];
      if (move) {
        event.preventDefault();
        this.cursor = Math.max(0, Math.min(this.order.length - 1, this.cursor + move));
        this.list.reveal(this.cursor);
        this.list.refresh();
      } else if (event.key === 'Enter') this.pick(this.order[this.cursor]);
    });
    this.list = new LineList(this.body, 28, (i) => this.row(i));
    this.refresh();
  }
  row(position) {
    const i = this.order[position],
      { columns, values, refs } = this.table;
    const marked = Boolean(refs[i] && this.isChosen(refs[i]));
    return el(
      'div',
      {
        class: ['tr', marked && 'marked', position === this.cursor && 'cursor', refs[i] && 'link']
          .filter(Boolean)
          .join(' '),
        role: 'row',
        'aria-rowindex': position + 2,
        'aria-selected': String(marked),
        onclick: () => {
          this.cursor = position;
          this.pick(i);
        },
      },
      columns.map(([, , unit], c) => {
        const value = values[c][i],
          text = words(value, unit);
        return el(
          'div',
          { class: `td ${unit}`, role: 'gridcell', title: unit === 'text' && text.length > 18 ? text : null },
          barred(unit) && known(value)
            ? el(
                'span',
                { class: 'bar', 'aria-hidden': 'true' },
                el('i', { style: { width: `${Math.min(100, 100 * value)}%` } }),
              )
            : null,
          // Kernels of a family differ at the end of their names: the middle is what is cut.
          c || text.length <= 30
            ? el('span', {}, text)
            : el('span', {}, el('span', { class: 'head' }, text.slice(0, -12)), text.slice(-12)),
        );
      }),
    );
  }
  isChosen(ref) {
    if (!chosen.links || !chosen.type) return false;
    const [type, key] = ref;
    if (type === 'node') return Boolean(chosen.links.nodes.get(key[0])?.has(key[1]));
    if (type === 'call') return chosen.links.calls.has(key);
    const r = current();
    if (type === 'kernel') return (r.launchesOfName.get(key) || []).some((x) => chosen.links.launches.has(x));
    if (type === 'opname') return (r.opsOfName.get(key) || []).some((x) => chosen.links.ops.has(x));
    return false;
  }
  pick(i) {
    const ref = this.table.refs[i];
    if (ref) choose(ref[0], ref[1], { from: 'table' });
  }
  sortBy(column) {
    const unit = this.table.columns[column][2];
    if (this.sort === column) this.down = !this.down;
    else {
      this.sort = column;
      this.down = unit !== 'text';
    }
    [...this.head.children].forEach((cell, i) =>
      cell.setAttribute('aria-sort', i === column ? (this.down ? 'descending' : 'ascending') : 'none'),
    );
    this.refresh();
  }
  refresh() {
    const { columns, values, refs } = this.table,
      wanted = this.filter.split(/\s+/).filter(Boolean);
    this.order = [...refs.keys()].filter(
      (i) =>
        !wanted.length ||
        wanted.every((word) => columns.some(([, , unit], c) => words(values[c][i], unit).toLowerCase().includes(word))),
    );
    if (this.sort !== null) {
      const column = values[this.sort],
        sign = this.down ? -1 : 1;
      this.order.sort((a, b) => {
        const x = column[a],
          y = column[b];
        if (!known(x) || !known(y)) return Number(!known(x)) - Number(!known(y));
        return (typeof x === 'number' && typeof y === 'number' ? x - y : String(x).localeCompare(String(y))) * sign;
      });
    }
    this.cursor = Math.min(this.cursor, Math.max(0, this.order.length - 1));
    this.count.textContent =
      this.order.length === refs.length
        ? plural(refs.length, 'row')
        : `${words(this.order.length, 'int')} of ${plural(refs.length, 'row')}`;
    this.list.set(this.order.length);
  }
  follow() {
    const first = this.order.findIndex((i) => this.table.refs[i] && this.isChosen(this.table.refs[i]));
    if (first >= 0 && chosen.from !== 'table') this.list.reveal(first);
    this.list.refresh();
  }
  /** Values as they are, units in the headings; a text that a spreadsheet would run as a formula is quoted. */
  csv() {
    const cell = (value) => {
      let text = known(value) ? String(value) : '';
      if (typeof value === 'string' && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
      return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    };
    const { columns, values } = this.table,
      unit = {
        us: ' (µs)',
        bytes: ' (bytes)',
        rate: ' (bytes/s)',
        flops: ' (FLOP/s)',
        share: ' (0-1)',
        roof: ' (0-1)',
      };
    return [
      columns.map(([, heading, u]) => cell(heading + (unit[u] || ''))).join(','),
      ...this.order.map((i) => columns.map((_, c) => cell(values[c][i])).join(',')),
    ].join('\r\n');
  }
  save() {
    const name = `${current().title}-${this.table.key}.csv`.replace(/[^\w.-]+/g, '_');
    download(name, new Blob(['\ufeff', this.csv()], { type: 'text/csv' })); // the mark tells spreadsheets it is UTF-8
    say(`${name} saved`);
  }
  markdown() {
    const cell = (text) => text.replace(/[\\|`<>*_[\]]/g, '\\$&').replace(/\s+/g, ' ');
    const { columns, values } = this.table;
    return [
      `| ${columns.map(([, heading]) => cell(heading)).join(' | ')} |`,
      `|${columns.map(([, , unit]) => (unit === 'text' ? '---' : '--:')).join('|')}|`,
      ...this.order.map((i) => `| ${columns.map(([, , unit], c) => cell(words(values[c][i], unit))).join(' | ')} |`),
    ].join('\n');
  }
}

class Tables {
  constructor(host) {
    this.tabs = el('div', { class: 'segmented', role: 'tablist', 'aria-label': 'Table' });
    this.host = el('div', { class: 'table-host', role: 'tabpanel' });
    host.append(el('div', { class: 'toolbar tabs-only' }, this.tabs), this.host);
    on('chosen', () => this.follow());
  }
  follow() {
    if (this.opened === chosen.recording) this.table?.follow();
  }
  openRecording() {
    const { tables } = current();
    clear(
      this.tabs,
      tables.map((table, i) =>
        el(
          'button',
          { type: 'button', role: 'tab', 'data-table': table.key, onclick: () => this.open(i) },
          `${table.title} `,
          el('small', {}, words(table.refs.length, 'int')),
        ),
      ),
    );
    if (tables.length)
      this.open(
        Math.max(
          0,
          tables.findIndex((t) => t.key === this.key),
        ),
      );
    else clear(this.host, el('p', { class: 'empty' }, 'The recording has nothing to tabulate.'));
  }
  open(i) {
    const table = current().tables[i];
    this.key = table.key;
    [...this.tabs.children].forEach((tab, k) => tab.setAttribute('aria-selected', String(k === i)));
    clear(this.host);
    this.table = new Table(this.host, table);
    this.table.follow();
  }
}
