// The first page: what this is, where the time of a step goes, what to do next, and what is not known.

const OF_STEP = {
  plan: 'The plan, to scale',
  mean: 'A step in order, to scale',
  first: 'The first step in order, to scale',
};

/** Choose what a part of the first page stands for, and show it in the graph. */
function openRef(ref, recording = chosen.recording) {
  if (!ref) return;
  const r = PAGE.all[recording];
  const [type, key] = ref;
  if (type === 'module') {
    const order = [r.opening, r.default, ...r.graphs.keys()].filter((g) => g >= 0);
    for (const g of order) {
      const { groups } = r.graphs[g];
      const found = (groups.kind || []).findIndex((kind, i) => kind === 'module' && groups.path[i] === key);
      if (found >= 0) {
        choose('group', [g, found], { recording, from: 'overview' });
        break;
      }
    }
  } else choose(type, key, { recording, from: 'overview' });
  show('graph');
}
/** Open a segment of a strip: the launch itself where there is one. */
function openSegment(segment, recording = chosen.recording) {
  const r = PAGE.all[recording];
  const launch = known(segment.launch) ? (r.launches.id || []).indexOf(segment.launch) : -1;
  if (launch >= 0) choose('launch', launch, { recording });
  else if (segment.ref) choose(...segment.ref, { recording });
}

/** How near to the roof: a class from far (0) to near (3). */
function heat(share) {
  if (!known(share)) return 'heat-none';
  return `heat-${[0.3, 0.6, 0.8].filter((limit) => share >= limit).length}`;
}
const HEATS = [
  ['heat-0', 'under 30 % of the roof'],
  ['heat-1', '30–60 % of the roof'],
  ['heat-2', '60–80 % of the roof'],
  ['heat-3', 'over 80 % of the roof'],
  ['heat-none', 'roof not known'],
];

/** A step as segments to scale; those too narrow for a word are told by their name and their tooltip. */
function stripOf(strip, recording, most = strip.total) {
  return el(
    'div',
    { class: 'strip', style: { width: `${(100 * strip.total) / most}%` } },
    strip.segments.map((segment) => {
      const wide = segment.us / most > 0.06;
      const open = segment.style !== 'rest';
      return el(
        open ? 'button' : 'span',
        {
          type: open ? 'button' : null,
          class: `segment kind-${segment.style}`,
          title: `${segment.label}\n${segment.kernel ? `${segment.kernel}\n` : ''}${microseconds(segment.us)}`,
          style: { flexGrow: segment.us, flexBasis: '0px' },
          'aria-label': open && !wide ? `${segment.label}, ${microseconds(segment.us)}, ${segment.kernel}` : null,
          onclick: open
            ? () => {
                openSegment(segment, recording);
                show('graph');
              }
            : null,
        },
        wide ? [el('b', {}, segment.label), el('span', {}, microseconds(segment.us))] : null,
      );
    }),
  );
}

/** The switch that a hint is about. */
const switchOf = (config) => (config ? [' ', el('code', {}, `torch._inductor.config.${config}`)] : []);
const ONCE = 'These pairs share kernels; a kernel joins one GEMM, so its time counts once.';

/** Pairs kept apart, one entry for all of the same ops and reason: the sum they cost a step, why, what to try. */
function missedList(items) {
  const open = (item) => {
    choose('decision', item.all[0], { from: 'overview' });
    if (PAGE.view === 'overview') show('graph');
  };
  const entry = (item) => {
    const times = item.all.length > 1 ? ` × ${item.all.length}` : '';
    return el(
      'li',
      {},
      el(
        'button',
        { type: 'button', class: 'pair', onclick: () => open(item) },
        `${item.pair}${times}`,
        item.price ? [': ', el('span', { class: 'price' }, `${item.price} a step`)] : null,
      ),
      el('p', {}, capital(item.reason)),
      item.once ? el('p', { class: 'muted' }, ONCE) : null,
      item.hint ? el('p', { class: 'hint' }, `Try: ${item.hint}`, ...switchOf(item.config)) : null,
    );
  };
  return el('ol', { class: 'missed' }, items.map(entry));
}

class Overview {
  constructor(host) {
    this.host = host;
  }
  openRecording() {
    const r = current();
    const o = PAGE.overview[r.position];
    const e = r.environment;
    const versions = [
      ['torch', e.torch],
      ['triton', e.triton],
      ['CUDA', e.cuda],
      ['Python', e.python],
    ];
    const where = versions.filter(([, value]) => value).map((pair) => pair.join(' '));
    const blank = o.unknown.length
      ? el('p', { class: 'unknown' }, el('b', {}, 'Not known: '), `${o.unknown.join('; ')}.`)
      : null;
    clear(
      this.host,
      el(
        'div',
        { class: 'page' },
        el(
          'header',
          { class: 'hero' },
          el('h1', {}, r.title),
          el('p', { class: 'what' }, o.what, el('span', { class: 'muted' }, ` ${where.join(' · ')}`)),
          blank,
        ),
        el(
          'ul',
          { class: 'tiles', 'aria-label': 'Numbers' },
          o.tiles.map(([value, label, remark]) =>
            el('li', {}, el('b', {}, value), el('span', {}, label), el('small', {}, remark)),
          ),
        ),
        el('div', { class: 'first' }, el('div', {}, this.modules(o), this.kernels(o)), this.next(r, o)),
        this.strip(r, o),
        this.story(o),
        this.breaks(r, o),
        el(
          'div',
          { class: 'cards' },
          this.coverage(o),
          this.list('Problems', o.problems),
          this.list('Assumptions', o.assumptions),
          this.list('Predicted choices', o.choices),
          this.compiles(o),
          this.changes(o),
          this.gaps(o),
        ),
        el(
          'p',
          { class: 'muted small foot' },
          `Recorded by fxscope ${e.fxscope || ''}. `,
          'This page shows the recording and computes nothing; ',
          `what was not matched is left blank. Passes: ${(o.history || []).join(', ') || 'none'}.`,
        ),
      ),
    );
  }

  /** Modules and kernels as an icicle: width is time, colour is how near to the roof. */
  modules(o) {
    if (!o.modules) return null;
    const total = o.modules.us;
    const seen = new Set();
    const words_ = (item) => {
      const range = item.times > 1 ? ` × ${item.times} (${ranged(item.low, item.high)})` : '';
      return `${item.label}${range}`;
    };
    const draw = (item, depth) => {
      seen.add(heat(item.share));
      const share = item.us / total;
      const label = depth ? words_(item) : o.predicted ? 'all calls' : 'one step';
      const roof = known(item.share) ? `, ${ofRoof(item.share)}` : '';
      const type = item.type ? ` ${item.type}` : '';
      return el(
        'li',
        { class: 'block', style: { flexGrow: item.us, flexBasis: '0px' } },
        el(
          item.ref ? 'button' : 'div',
          {
            type: item.ref ? 'button' : null,
            class: `block-head ${heat(item.share)}`,
            title: `${label}${type}\n${microseconds(item.us)}, ${words(share, 'share')} of the step${roof}`,
            'aria-label': item.ref && share <= 0.06 ? `${label}${type}, ${microseconds(item.us)}${roof}` : null,
            onclick: item.ref ? () => openRef(item.ref) : null,
          },
          share > 0.06 ? [el('b', {}, label), el('span', {}, microseconds(item.us))] : null,
        ),
        item.children.length && depth < 6
          ? el(
              'ul',
              {},
              item.children.map((child) => draw(child, depth + 1)),
            )
          : null,
      );
    };
    const tree = el('ul', { class: 'icicle' }, draw(o.modules, 0));
    return el(
      'section',
      { class: 'where' },
      el('h2', {}, 'Where the time of a step goes'),
      tree,
      el(
        'div',
        { class: 'legend-row muted small' },
        HEATS.filter(([name]) => seen.size > 1 && seen.has(name)).map(([name, label]) =>
          el('span', {}, el('i', { class: `swatch ${name}` }), label),
        ),
      ),
    );
  }

  /** The most expensive pairs kept apart, each with the reason and the switch to try. */
  next(r, o) {
    if (!o.missed.length)
      return el(
        'section',
        { class: 'next' },
        el('h2', {}, 'What to do next'),
        el(
          'p',
          { class: 'muted' },
          o.unknown.includes('what was not fused') || !r.decisions.n
            ? 'Which pairs were not fused is not known.'
            : 'No pair that shares data was left apart at a cost.',
        ),
      );
    return el(
      'section',
      { class: 'next' },
      el(
        'h2',
        {},
        o.missed[0].price
          ? 'What to do next: the most expensive pairs kept apart'
          : 'What to do next: pairs kept apart, at a cost that is not known',
      ),
      missedList(o.missed.slice(0, 3)),
      o.num_missed > 3
        ? el(
            'button',
            {
              type: 'button',
              class: 'line-link small',
              onclick: () => {
                parts.tables.key = 'decisions';
                parts.tables.opened = null;
                show('tables');
              },
            },
            `${plural(o.num_missed - 3, 'more kind')} of pairs in the table of decisions`,
          )
        : null,
    );
  }
  strip(r, o) {
    const { strip } = o;
    if (!(strip.total > 0)) return null;
    const styles = new Set(strip.segments.map((segment) => segment.style));
    const legend = [
      ['fused', 'written by Inductor'],
      ['kernel', 'library or hand-written'],
      ['input', 'memset or copy'],
      ['rest', 'small ones, summed up'],
    ].filter(([kind]) => styles.has(kind));
    const sum = `${plural(strip.count, 'launch')}, ${microseconds(strip.total)}`;
    const mean = strip.of === 'mean' && strip.steps > 1 ? ` (mean of ${strip.steps} steps)` : '';
    const first = strip.of === 'first' ? ': steps differ, the tiles are means' : '';
    return el(
      'section',
      { class: 'strip-section' },
      el('h2', {}, OF_STEP[strip.of]),
      stripOf(strip, r.position),
      el(
        'div',
        { class: 'legend-row muted small' },
        legend.map(([kind, label]) => el('span', {}, el('i', { class: `swatch kind-${kind}` }), label)),
        el('span', { class: 'spring' }),
        el(
          'span',
          {},
          strip.of === 'plan' ? `${plural(strip.count, 'call')}, ≈ ${microseconds(strip.total)}` : sum + mean + first,
        ),
      ),
    );
  }

  kernels(o) {
    if (!o.kernels.length) return null;
    const roofs = o.kernels.some((item) => known(item.roof));
    const heads = ['Kernel', 'Calls', o.strip.of === 'plan' ? 'Planned' : 'Time a step', 'Share'];
    if (roofs) heads.push('Of the roof');
    const row = (item) =>
      el(
        'tr',
        {},
        el(
          'th',
          { scope: 'row' },
          el(
            'button',
            { type: 'button', title: item.kernel, onclick: () => openRef(item.ref) },
            el('b', {}, shorten(item.ops, 44)),
            item.ops === current().short(item.kernel)
              ? null // what a trace alone calls it
              : el('span', { class: 'mono' }, shorten(current().short(item.kernel), 44)),
          ),
        ),
        el('td', {}, words(item.calls, 'int')),
        el('td', {}, microseconds(item.us)),
        el('td', {}, words(item.share, 'share')),
        roofs ? el('td', {}, known(item.roof) ? [gauge(item.roof), words(item.roof, 'roof')] : '–') : null,
      );
    return el(
      'section',
      { class: 'top-kernels' },
      el('h2', {}, 'Kernels with the most time'),
      el(
        'div',
        { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Kernels with the most time' },
        el(
          'table',
          { class: 'plain-table wide' },
          el(
            'thead',
            {},
            el(
              'tr',
              {},
              heads.map((head) => el('th', { scope: 'col' }, head)),
            ),
          ),
          el('tbody', {}, o.kernels.map(row)),
        ),
      ),
    );
  }

  story(o) {
    const go = (ref) => {
      if (ref === 'compare' || ref === 'timeline') return show(ref);
      const cut = ref.indexOf('=');
      const type = ref.slice(0, cut);
      const value = ref.slice(cut + 1);
      choose(type, type === 'kernel' ? value : Number(value));
      return show('graph');
    };
    if (!o.lines.length) return null;
    return el(
      'ol',
      { class: 'story', 'aria-label': 'The story' },
      o.lines.map(([glyph, text, ref]) =>
        el(
          'li',
          {},
          el('b', { 'aria-hidden': 'true', class: glyph === '✗' ? 'cost' : null }, glyph),
          ref
            ? el('button', { type: 'button', class: 'line-link', onclick: () => go(ref) }, text)
            : el('span', {}, text),
        ),
      ),
    );
  }
  coverage(o) {
    const c = o.covered;
    const bar = (label, n) =>
      known(n) && c.device_events
        ? el(
            'div',
            { class: 'cover' },
            el('span', {}, label),
            gauge(n / c.device_events),
            el('span', {}, `${n} of ${c.device_events}`),
          )
        : null;
    return el(
      'section',
      { class: 'card' },
      el('h2', {}, 'Coverage'),
      c
        ? [
            bar('to an op', c.to_op),
            bar('to a kernel call', c.to_call),
            bar('to a node', c.to_node),
            el(
              'p',
              { class: c.unattributed ? 'warn' : 'muted' },
              c.unattributed
                ? `${c.unattributed} device events are not attributed.`
                : 'No device event is left unattributed.',
            ),
          ]
        : el('p', { class: 'muted' }, o.coverage),
    );
  }
  list(heading, rows) {
    if (!rows.length) return null;
    return el(
      'section',
      { class: 'card' },
      el('h2', {}, `${heading} `, el('small', {}, rows.length)),
      el(
        'ul',
        { class: 'notes' },
        rows
          .slice(0, 40)
          .map(([a, b, c]) => el('li', {}, el('b', {}, a), ' ', b, c ? el('span', { class: 'muted' }, ` ${c}`) : null)),
      ),
    );
  }
  /** Where a graph ended early, why, and what was compiled on each side. */
  breaks(r, o) {
    if (!o.breaks.length) return null;
    const side = (word, item) => {
      if (!item) return el('p', {}, el('b', {}, word), ' which graph goes on there is not known');
      const ops = item.ops.length > 8 ? [...item.ops.slice(0, 4), '…', ...item.ops.slice(-3)] : item.ops;
      const holds = `${ops.join(' · ') || 'no op'}${item.calls ? ` (${plural(item.calls, 'kernel call')})` : ''}`;
      const open = () => {
        show('graph');
        parts.graph.choose(item.graph);
      };
      const name = `graph ${item.id}`;
      return el(
        'p',
        {},
        el('b', {}, word),
        ' ',
        item.graph >= 0 ? el('button', { type: 'button', class: 'line-link', onclick: open }, name) : name,
        ': ',
        el('code', {}, holds),
      );
    };
    const entry = (item) => {
      const [file, line] = item.place || [];
      const where = file ? `${file.split('/').pop()}:${line}` : 'place not recorded';
      const open = () => {
        choose('line', `${file}:${line}`);
        show('code');
      };
      return el(
        'li',
        {},
        file ? el('button', { type: 'button', class: 'pair mono', onclick: open }, where) : el('b', {}, where),
        item.code ? [' ', el('code', {}, highlight(item.code))] : null,
        el('p', {}, item.reason),
        side('Before:', item.before),
        side('After:', item.after),
        item.hints.slice(0, 2).map((hint) => el('p', { class: 'hint' }, `Try: ${hint}`)),
      );
    };
    return el(
      'section',
      { class: 'breaks' },
      el('h2', {}, `${capital(plural(o.breaks.length, 'graph break'))}: each ends a graph, nothing is fused across it`),
      el('ol', { class: 'missed' }, o.breaks.map(entry)),
    );
  }
  compiles(o) {
    if (!o.compiles.length) return null;
    const facts = (c) => [
      known(c.us) ? microseconds(c.us) : null,
      c.cache ? `cache ${c.cache}` : null,
      c.dynamic ? 'dynamic shapes' : null,
      c.cudagraphs ? 'CUDA graphs' : null,
      c.num_guards ? plural(c.num_guards, 'guard') : null,
    ];
    const guards = (c) =>
      el(
        'details',
        {},
        el('summary', {}, 'Guards'),
        el(
          'ul',
          { class: 'guards', tabindex: 0 },
          c.guards.map((g) => el('li', {}, el('code', {}, g))),
        ),
      );
    return el(
      'section',
      { class: 'card' },
      el('h2', {}, 'Compiles'),
      el(
        'ul',
        { class: 'notes' },
        o.compiles
          .slice(0, 30)
          .map((c) =>
            el(
              'li',
              {},
              el('b', {}, c.id),
              ' ',
              facts(c).filter(Boolean).join(' · '),
              c.recompile ? el('p', { class: 'warn' }, `Recompiled: ${c.recompile}`) : null,
              c.guards.length ? guards(c) : null,
            ),
          ),
      ),
    );
  }
  changes(o) {
    if (!o.changes.length) return null;
    return el(
      'section',
      { class: 'card' },
      el('h2', {}, `Against ${PAGE.all[0].title}`),
      el(
        'dl',
        { class: 'facts' },
        o.changes.map(([a, b]) => el('div', { class: 'fact' }, el('dt', {}, a), el('dd', {}, b))),
      ),
    );
  }
  gaps(o) {
    if (!o.gaps.length) return null;
    const r = current();
    const name = (kernel, else_) => shorten(kernel ? r.short(kernel) : else_, 34);
    return el(
      'section',
      { class: 'card' },
      el('h2', {}, 'Longest idle times'),
      el(
        'ul',
        { class: 'notes' },
        o.gaps
          .slice(0, 5)
          .map(([us, before, after, during]) =>
            el(
              'li',
              {},
              el('b', {}, microseconds(us)),
              before || after ? ` between ${name(before, 'the start')} and ${name(after, 'the end')}` : '',
              during ? el('span', { class: 'muted' }, ` · the CPU was in ${during}`) : null,
            ),
          ),
      ),
    );
  }
}
const gauge = (share) =>
  el(
    'span',
    { class: 'bar', 'aria-hidden': 'true' },
    el('i', { style: { width: `${Math.min(100, 100 * (share || 0))}%` } }),
  );
const capital = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);
/** Least and most in one unit: "297–355 µs"; one number where they do not differ. */
function ranged(low, high) {
  const [a, b] = [microseconds(low), microseconds(high)];
  const unit = b.slice(b.indexOf(' '));
  return a === b ? a : `${a.endsWith(unit) ? a.slice(0, -unit.length) : a}–${b}`;
}
