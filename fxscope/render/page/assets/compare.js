// Recordings side by side: which kernels stayed, which became which, and what that won or lost.

const CHANGE = {
  same: '=',
  moved: '↕',
  replaced: '↔',
  regrouped: '↔',
  fused: '⇥',
  merged: '⇥',
  split: '⇤',
  new: '+',
  gone: '−',
};

class Compare {
  constructor(host) {
    this.host = host;
  }
  build() {
    const all = PAGE.all;
    if (all.length < 2) return;
    const rows = PAGE.comparison ? this.aligned() : this.unaligned();
    const most = Math.max(
      ...rows.flatMap((row) => row.cells.flatMap((cell) => cell.uses.map((u) => u.time_us || 0))),
      1e-9,
    );
    const columns = { style: { gridTemplateColumns: `repeat(${all.length}, minmax(240px, 1fr))` } };
    clear(
      this.host,
      el(
        'div',
        { class: 'page wide' },
        el(
          'header',
          { class: 'hero' },
          el('h1', {}, 'Side by side'),
          el(
            'p',
            { class: 'muted' },
            PAGE.comparison
              ? `Kernels of a step, aligned with ${all[0].title} by name, source line, module and op. ` +
                  'Bars are to one scale.' +
                  (PAGE.overview.some((o) => /median/.test(o.each)) ? ' Times are medians over steps.' : '')
              : 'No alignment was made: each column lists its own kernels in order.',
          ),
        ),
        PAGE.beside ? stripOf(PAGE.beside) : null,
        el(
          'div',
          { class: 'versus', role: 'table', 'aria-label': 'Kernels side by side' },
          el(
            'div',
            { class: 'versus-row head', role: 'row', ...columns },
            all.map((r, k) =>
              el(
                'div',
                { role: 'columnheader' },
                el('b', {}, r.title),
                k && PAGE.comparison
                  ? this.verdict(PAGE.comparison[k - 1].step || PAGE.comparison[k - 1].wall)
                  : el('span', { class: 'muted small' }, PAGE.comparison ? 'the one compared with' : ''),
              ),
            ),
          ),
          rows.map((row) =>
            el(
              'div',
              { class: 'versus-row', role: 'row', ...columns },
              row.cells.map((cell, k) => this.cell(cell, k, most)),
            ),
          ),
        ),
        this.totals(),
        el(
          'div',
          { class: 'cards' },
          (PAGE.comparison || []).flatMap((c, k) => [this.ops(c), this.decisions(c, k)]),
          this.notes(),
        ),
      ),
    );
  }
  verdict(time) {
    if (!time) return el('span', { class: 'muted small' }, 'times not compared');
    const [style, glyph] = { faster: ['won', '▼'], slower: ['lost', '▲'] }[time.verdict] || ['muted', '≈'];
    return el('span', { class: `delta ${style}`, title: time.reason }, `${glyph} ${time.words}`);
  }
  totals() {
    const sets = PAGE.comparison;
    if (!sets?.length) return null;
    const subjects = [...new Set(sets.flatMap((c) => c.totals.map(([s]) => s)))];
    return el(
      'table',
      { class: 'plain-table totals' },
      el(
        'thead',
        {},
        el(
          'tr',
          {},
          el('th', { scope: 'col' }, 'per step'),
          PAGE.all.map((r) => el('th', { scope: 'col' }, r.title)),
        ),
      ),
      el(
        'tbody',
        {},
        subjects.map((subject) => {
          const found = sets.map((c) => c.totals.find(([s]) => s === subject));
          const cell = (value) => el('td', {}, known(value) ? value : '–');
          return el(
            'tr',
            {},
            el('th', { scope: 'row' }, subject),
            cell((found.find(Boolean) || [])[1]),
            found.map((f) => cell(f ? f[2] : null)),
          );
        }),
      ),
    );
  }
  /** One row per group of kernels of the first recording; what is only in another stands where it ran. */
  aligned() {
    const sets = PAGE.comparison,
      groupOf = new Map(),
      groups = [];
    const merge = (positions) => {
      const found = [...new Set(positions.map((p) => groupOf.get(p)).filter(Boolean))];
      const into = found[0] || { a: new Map(), others: sets.map(() => []), order: Infinity };
      if (!found.length) groups.push(into);
      for (const other of found.slice(1)) {
        for (const [p, u] of other.a) {
          into.a.set(p, u);
          groupOf.set(p, into);
        }
        other.others.forEach((list, k) => into.others[k].push(...list));
        groups.splice(groups.indexOf(other), 1);
      }
      return into;
    };
    sets.forEach((set, k) => {
      let last = -1;
      set.kernels.forEach((match) => {
        const group = merge(match.a.map((u) => u.position));
        for (const u of match.a) {
          group.a.set(u.position, u);
          groupOf.set(u.position, group);
        }
        if (match.a.length) {
          group.order = Math.min(group.order, ...match.a.map((u) => u.position));
          last = Math.max(...match.a.map((u) => u.position));
        } else group.order = Math.min(group.order, last + 0.5);
        group.others[k].push(match);
      });
    });
    groups.sort((a, b) => a.order - b.order);
    return groups.map((group) => ({
      cells: [
        { uses: [...group.a.values()].sort((x, y) => x.position - y.position) },
        ...group.others.map((matches) => ({
          uses: matches.flatMap((m) => m.b),
          matches,
          kind: matches.length === 1 ? matches[0].kind : null,
          change: matches[0]?.change,
          by: matches[0]?.by,
          time: matches.length === 1 ? matches[0].time : null,
          saved: matches.length === 1 ? matches[0].saved : null,
        })),
      ],
    }));
  }
  unaligned() {
    const lists = PAGE.overview.map((o) => o.kernels);
    const rows = Math.max(...lists.map((list) => list.length));
    const use = (segment) => ({
      kernel: segment.kernel || segment.label,
      time_us: segment.time_us,
      ops: [segment.label],
      call: segment.ref && segment.ref[0] === 'call' ? segment.ref[1] : -1,
      sources: [],
      modules: [],
      category: 'kernel',
    });
    return [...Array(rows).keys()].map((i) => ({
      cells: lists.map((list) => ({ uses: list[i] ? [use(list[i])] : [] })),
    }));
  }
  style(use, k) {
    if (use.category === 'gpu_memset' || use.category === 'gpu_memcpy') return 'input';
    const r = PAGE.all[k];
    if (use.call >= 0) return PAGE.theme.extern.includes(r.calls.type[use.call]) ? 'kernel' : 'fused';
    return 'kernel';
  }
  cell(cell, k, most) {
    const r = PAGE.all[k];
    if (!cell.uses.length)
      return el(
        'div',
        { class: 'versus-cell none', role: 'cell', 'data-of': r.title },
        cell.kind === 'gone' ? el('span', { class: 'change gone' }, '− gone') : null,
      );
    return el(
      'div',
      { class: `versus-cell ${cell.kind || ''}`, role: 'cell', 'data-of': r.title },
      cell.kind
        ? el(
            'div',
            { class: 'change-row' },
            el('span', { class: `change ${cell.kind}` }, `${CHANGE[cell.kind]} ${cell.change}`),
            cell.by && cell.by !== 'name' ? el('span', { class: 'muted small' }, `by ${cell.by}`) : null,
            el('span', { class: 'spring' }),
            cell.time ? this.verdict(cell.time) : null,
            cell.saved && cell.uses.some((u) => u.category !== 'gpu_memset')
              ? el(
                  'span',
                  { class: 'muted small' },
                  cell.saved > 0 ? `−${words(cell.saved, 'bytes')}` : `+${words(-cell.saved, 'bytes')}`,
                )
              : null,
          )
        : k === 0 && PAGE.comparison
          ? el('div', { class: 'change-row' }, el('span', { class: 'change' }, '\u00a0'))
          : null,
      cell.uses.map((use) =>
        el(
          'button',
          {
            type: 'button',
            class: `use kind-${this.style(use, k)}${/^gpu_mem(set|cpy)$/.test(use.category) ? ' slim' : ''}`,
            title: use.kernel,
            onclick: () => {
              if (use.call >= 0) choose('call', use.call, { recording: k });
              else choose('kernel', use.kernel, { recording: k });
            },
          },
          el(
            'span',
            { class: 'use-ops' },
            use.category === 'gpu_memset'
              ? `memset${use.ops.length ? ` of ${use.ops[0]}` : ''}`
              : use.ops.length
                ? use.ops.slice(0, 5).join(' · ')
                : 'kernel',
          ),
          el('span', { class: 'use-us' }, microseconds(use.time_us)),
          el('span', { class: 'use-name' }, shorten(r.short(use.kernel), 48)),
          el(
            'span',
            { class: 'use-bar', 'aria-hidden': 'true' },
            el('i', { style: { width: `${Math.max(0.5, (100 * (use.time_us || 0)) / most)}%` } }),
          ),
          el(
            'span',
            { class: 'use-more' },
            [
              use.sources
                .slice(0, 2)
                .map((s) => s.split('/').pop())
                .join(', '),
              known(use.bytes) ? words(use.bytes, 'bytes') : null,
              known(use.share_of_roof) ? ofRoof(use.share_of_roof, 'roof') : null,
              known(use.registers) ? `${use.registers} registers` : null,
            ]
              .filter(Boolean)
              .join(' · '),
          ),
        ),
      ),
    );
  }
  ops(c) {
    if (!c.ops.length) return null;
    return el(
      'section',
      { class: 'card' },
      el('h2', {}, `CPU ops of a step, ${c.a} → ${c.b}`),
      el(
        'ul',
        { class: 'notes' },
        c.ops
          .slice(0, 24)
          .map(([name, a, b]) =>
            el(
              'li',
              {},
              el('b', { class: b > a ? 'lost' : 'won' }, b > a ? '+' : '−'),
              ' ',
              el('code', {}, name),
              ` ${a} → ${b}`,
            ),
          ),
        c.ops.length > 24 ? el('li', { class: 'muted' }, `and ${c.ops.length - 24} more`) : null,
      ),
    );
  }
  decisions(c) {
    if (!c.decisions.length) return null;
    return el(
      'section',
      { class: 'card' },
      el('h2', {}, `Decisions that changed, ${c.a} → ${c.b}`),
      el(
        'ul',
        { class: 'notes' },
        c.decisions
          .slice(0, 12)
          .map(([title, av, bv, ar, br]) =>
            el(
              'li',
              {},
              el('b', {}, title),
              ` ${av} → ${bv}`,
              el('p', { class: 'muted small' }, `${ar || '–'} → ${br || '–'}`),
            ),
          ),
      ),
    );
  }
  notes() {
    const notes = [...new Set((PAGE.comparison || []).flatMap((c) => c.notes))];
    return notes.length
      ? el(
          'section',
          { class: 'card' },
          el('h2', {}, 'What could not be compared'),
          el(
            'ul',
            { class: 'notes' },
            notes.map((n) => el('li', {}, n)),
          ),
        )
      : null;
  }
}
