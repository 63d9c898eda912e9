// The first page: numbers, the story in five lines, a step to scale, and what is not known.

class Overview {
  constructor(host) {
    this.host = host;
  }
  openRecording() {
    const r = current(),
      o = PAGE.overview[r.position],
      e = r.environment;
    const where = [
      e.target ? `planned for ${e.target}` : e.device,
      e.torch && `torch ${e.torch}`,
      e.triton && `triton ${e.triton}`,
      e.cuda && `CUDA ${e.cuda}`,
      e.python && `Python ${e.python}`,
    ].filter(Boolean);
    clear(
      this.host,
      el(
        'div',
        { class: 'page' },
        el('header', { class: 'hero' }, el('h1', {}, r.title), el('p', { class: 'muted' }, where.join(' · '))),
        el(
          'ul',
          { class: 'tiles', 'aria-label': 'Numbers' },
          o.tiles.map(([value, label, remark]) =>
            el('li', {}, el('b', {}, value), el('span', {}, label), el('small', {}, remark)),
          ),
        ),
        this.strip(r, o),
        this.story(o),
        el(
          'div',
          { class: 'cards' },
          this.coverage(o),
          this.list(
            'Problems',
            o.problems.map(([w, m, remedy]) => [w, m, remedy]),
          ),
          this.list(
            'Assumptions',
            o.assumptions.map(([s, a, b]) => [s, a, b]),
          ),
          this.compiles(o),
          this.changes(r, o),
          this.gaps(o),
        ),
        el(
          'p',
          { class: 'muted small foot' },
          `Recorded by fxscope${e.fxscope ? ` ${e.fxscope}` : ''}. This page shows the recording and computes nothing; what was not matched is left blank. Passes: ${(o.history || []).join(', ') || 'none'}.`,
        ),
      ),
    );
  }
  strip(r, o) {
    if (!o.strip.length) return null;
    const total = o.strip.reduce((sum, [, us]) => sum + us, 0),
      planned = o.strip[0][2] === 'planned';
    if (!total) return null;
    return el(
      'section',
      { class: 'strip-section' },
      el(
        'h2',
        {},
        planned
          ? 'The plan, to scale'
          : o.tiles.some(([, label]) => label === 'CPU kernel time')
            ? 'The kernels of the first step, to scale'
            : 'What the device ran in the first step, to scale',
      ),
      el(
        'div',
        { class: `strip${o.strip.length > 40 ? ' many' : ''}` },
        o.strip.map(([name, us, kind, call, label, id]) =>
          el(
            'button',
            {
              type: 'button',
              class: `kind-${planned ? 'fused' : kind}`,
              title: `${name}\n${microseconds(us)}`,
              style: { flexGrow: us, flexBasis: '0px' },
              'aria-label': `${label}, ${name}, ${microseconds(us)}`,
              onclick: () => {
                const launch = known(id) ? (r.launches.id || []).indexOf(id) : -1;
                if (launch >= 0) choose('launch', launch);
                else if (call >= 0) choose('call', call);
                show('graph');
              },
            },
            us / total > 0.05 ? [el('b', {}, label), el('span', {}, microseconds(us))] : null,
          ),
        ),
      ),
      el(
        'div',
        { class: 'strip-legend muted small' },
        planned
          ? null
          : [
              [`kind-fused`, 'generated or fused kernel'],
              ['kind-kernel', 'library kernel'],
              ['kind-input', 'memset or copy'],
            ].map(([k, label]) => el('span', {}, el('i', { class: `swatch ${k}` }), label)),
        el('span', { class: 'spring' }),
        `${plural(o.strip.length, 'launch')}, ${microseconds(total)}`,
      ),
    );
  }
  story(o) {
    const go = (ref) => {
      if (ref === 'compare' || ref === 'timeline') return show(ref);
      const cut = ref.indexOf('='),
        type = ref.slice(0, cut),
        value = ref.slice(cut + 1);
      choose(type, type === 'kernel' ? value : Number(value));
      return show('graph');
    };
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
    const c = o.covered,
      bar = (label, n) =>
        known(n) && c.device_events
          ? el(
              'div',
              { class: 'cover' },
              el('span', {}, label),
              el(
                'span',
                { class: 'bar', 'aria-hidden': 'true' },
                el('i', { style: { width: `${(100 * n) / c.device_events}%` } }),
              ),
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
  compiles(o) {
    if (!o.compiles.length) return null;
    return el(
      'section',
      { class: 'card' },
      el('h2', {}, 'Compiles'),
      el(
        'ul',
        { class: 'notes' },
        o.compiles.slice(0, 30).map((c) =>
          el(
            'li',
            {},
            el('b', {}, c.id),
            ' ',
            [
              known(c.us) ? microseconds(c.us) : null,
              c.cache ? `cache ${c.cache}` : null,
              c.dynamic ? 'dynamic shapes' : null,
              c.cudagraphs ? 'CUDA graphs' : null,
              c.num_guards ? plural(c.num_guards, 'guard') : null,
            ]
              .filter(Boolean)
              .join(' · '),
            c.recompile ? el('p', { class: 'warn' }, `Recompiled: ${c.recompile}`) : null,
            c.break ? el('p', { class: 'warn' }, `Graph break${c.where ? ` at ${c.where}` : ''}: ${c.break}`) : null,
            c.guards.length
              ? el(
                  'details',
                  {},
                  el('summary', {}, 'Guards'),
                  el(
                    'ul',
                    { class: 'guards' },
                    c.guards.map((g) => el('li', {}, el('code', {}, g))),
                  ),
                )
              : null,
          ),
        ),
      ),
    );
  }
  changes(r, o) {
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
              before || after
                ? ` between ${shorten(before || 'the start', 34)} and ${shorten(after || 'the end', 34)}`
                : '',
              during ? el('span', { class: 'muted' }, ` · the CPU was in ${during}`) : null,
            ),
          ),
      ),
    );
  }
}
