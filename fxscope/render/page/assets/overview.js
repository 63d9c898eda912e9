// The first page: the strip with at most three numbers, kernels, missed fusions, and what is not known.

/** Choose what a part of the first page stands for, and show it in the graph. */
function openRef(ref) {
  choose(...ref, { from: 'overview' });
  show('graph');
}
/** The element that a part of the strip stands for: "call:0/0:3", "node:GRAPH/NAME", "kernel:NAME", "line:FILE:17". */
function stripRef(r, ref) {
  const cut = ref.indexOf(':');
  const [type, key] = [ref.slice(0, cut), ref.slice(cut + 1)];
  if (type === 'call') {
    const call = r.calls.id.indexOf(key);
    return call < 0 ? null : ['call', call];
  }
  if (type === 'kernel' || type === 'line') return [type, key];
  const end = key.lastIndexOf('/');
  const graph = r.graphs.findIndex((g) => g.id === key.slice(0, end));
  const node = graph < 0 ? -1 : r.graphs[graph].nodes.name.indexOf(key.slice(end + 1));
  return node < 0 ? null : ['node', [graph, node]];
}
const STRIP_PARTS = '[data-row]:not([data-row=launch]), [data-decision]';
const STRIP_HOW =
  'Point at a part to read it, also where it is too narrow for a label; a click opens it. Keys: arrows, Enter.';
/** The strip of a recording, or of several, which name theirs; a click or Enter chooses what is drawn there. */
function stripOf(drawn, recording) {
  const says = el('p', { class: 'strip-says small muted', role: 'status' }, STRIP_HOW);
  const host = el('div', { class: 'strip-host', tabindex: 0, role: 'region', 'aria-label': 'The step, to scale' });
  host.append(document.importNode(new DOMParser().parseFromString(drawn, 'image/svg+xml').documentElement, true));
  const owner = (part) => Number(part.closest('[data-recording]')?.dataset.recording ?? recording);
  const open = (part) => {
    if (!part) return;
    const { ref, decision } = part.dataset;
    const found = decision ? ['decision', Number(decision)] : ref ? stripRef(PAGE.all[owner(part)], ref) : null;
    if (!found) return;
    choose(...found, { recording: owner(part), from: 'overview' });
    show('graph');
  };
  const point = (part) => {
    host.querySelector('.at')?.classList.remove('at');
    part?.classList.add('at');
    says.textContent = part ? stripWords(part, PAGE.all[owner(part)]) : STRIP_HOW;
  };
  host.addEventListener('click', (event) => open(event.target.closest('[data-ref], [data-decision]')));
  host.addEventListener('pointerover', (event) => point(event.target.closest(STRIP_PARTS)));
  host.addEventListener('pointerleave', () => point(null));
  host.addEventListener('keydown', (event) => {
    if (!/^(Arrow.+|Enter)$/.test(event.key) || event.shiftKey) return;
    event.preventDefault(); // the graph that Enter opens does not take the key, too
    const at = host.querySelector('.at');
    if (event.key === 'Enter') {
      open(at);
      return;
    }
    const next = stripNext([...host.querySelectorAll(STRIP_PARTS)], at, event.key);
    if (!next) return;
    point(next);
    next.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  });
  return [host, says];
}
/** What a part of the strip says: its tip, or its words. */
function stripWords(part, r) {
  const k = part.dataset.decision;
  if (k !== undefined)
    return ['not fused', r.decisions.title[k], r.decisions.price[k], r.decisions.reason[k]].filter(Boolean).join(' · ');
  return (part.querySelector('title') || part).textContent.trim().replaceAll('\n', ' · ');
}
/** The part of the strip that an arrow key leads to: the next one of its row, or the nearest one of the next row. */
function stripNext(parts, at, key) {
  if (!at) return parts[0];
  const middle = (part) => {
    const box = (part.querySelector('rect, circle') || part).getBoundingClientRect();
    return [box.x + box.width / 2, box.y + box.height / 2];
  };
  const [x, y] = middle(at);
  const across = key === 'ArrowLeft' || key === 'ArrowRight';
  const sign = key === 'ArrowRight' || key === 'ArrowDown' ? 1 : -1;
  let best = null;
  for (const part of parts) {
    const [px, py] = middle(part);
    const [dx, dy] = [Math.abs(px - x), Math.abs(py - y)];
    const [ahead, aside] = across ? [sign * (px - x), dy] : [sign * (py - y), dx];
    if (part === at || ahead <= 0.01 || (across ? dy > 4 : dy < 5)) continue;
    const far = across ? [ahead, aside] : [Math.round(ahead / 4), aside];
    if (!best || far[0] < best[0][0] || (far[0] === best[0][0] && far[1] < best[0][1])) best = [far, part];
  }
  return best?.[1];
}

/** The switch that a hint is about. */
const switchOf = (config) => (config ? [' ', el('code', {}, `torch._inductor.config.${config}`)] : []);
const ONCE = 'This is what these pairs save together.';
const EXCLUDED = 'Counted above: a kernel joins one of these pairs.';

/** Pairs kept apart, one entry for all of the same ops and reason: the sum they cost a step, why, what to try. */
function missedList(items) {
  const open = (item) => {
    choose('decision', item.decisions[0], { from: 'overview' });
    if (PAGE.view === 'overview') show('graph');
  };
  const entry = (item) => {
    const times = item.count > 1 ? ` ×${item.count}` : '';
    return el(
      'li',
      {},
      el(
        'button',
        { type: 'button', class: 'pair', onclick: () => open(item) },
        `${item.producer} → ${item.consumer}${times}${item.or || ''}`,
        item.price ? [': ', el('span', { class: 'price' }, `${item.price} per step`)] : null,
      ),
      el('p', {}, capital(item.reason)),
      known(item.bracket) ? el('p', { class: 'muted' }, item.price ? ONCE : EXCLUDED) : null,
      item.hint ? el('p', { class: 'hint' }, `Hint: ${item.hint}`) : null,
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
          o.figures.map(([value, label]) => el('li', {}, el('b', {}, value), el('span', {}, label))),
        ),
        o.strip ? stripOf(o.strip, r.position) : null,
        el('div', { class: 'first' }, this.kernels(o) || el('div', {}), this.next(r, o)),
        this.breaks('Graph breaks: nothing is fused across one', o.breaks),
        this.breaks('Recompiles', o.recompiles),
        el(
          'div',
          { class: 'cards' },
          this.coverage(o),
          this.list('Problems', o.problems),
          this.list('Assumptions', o.assumptions),
          this.compiles(o),
          this.memory(o),
          o.bound === 'cpu' ? null : this.gaps(o),
        ),
        el(
          'p',
          { class: 'muted small foot' },
          e.fxscope ? `Recorded by fxscope ${e.fxscope}. ` : '',
          'This page shows the recording and computes nothing; what was not matched is left blank.',
        ),
      ),
    );
  }

  /** What to try first, what the CPU did in a CPU-bound step, and the most expensive pairs kept apart. */
  next(r, o) {
    const known_ = r.decisions.n && !o.unknown.includes('what was not fused');
    const nothing = known_
      ? 'No pair that could be fused was left apart at a cost.'
      : 'Which pairs were not fused is not known.';
    return el(
      'section',
      { class: 'next' },
      o.advice.length
        ? [
            el('h2', {}, 'Try first'),
            el(
              'ol',
              { class: 'advice' },
              o.advice.map(([what, why]) => el('li', {}, el('b', {}, what), `: ${why}`)),
            ),
          ]
        : null,
      o.bound === 'cpu' ? this.gaps(o) : null,
      el('h2', {}, o.missed.some((item) => item.price) ? 'Missed fusions, most expensive first' : 'Missed fusions'),
      o.missed.length ? missedList(o.missed) : el('p', { class: 'muted' }, nothing),
      r.decisions.n
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
            'All fusion decisions',
          )
        : null,
    );
  }
  kernels(o) {
    if (!o.kernels.length) return null;
    const roofs = o.kernels.some((item) => known(item.roof));
    const heads = ['Kernel', 'Launches', o.times, 'Share'];
    if (roofs) heads.push('Of the roof');
    const ops = (item) => (item.phase ? `${item.label} (${item.phase})` : item.label);
    const row = (item) =>
      el(
        'tr',
        item.ref ? { class: 'opens', onclick: () => openRef(item.ref) } : {},
        el(
          'th',
          { scope: 'row' },
          el(
            item.ref ? 'button' : 'span',
            {
              type: item.ref ? 'button' : null,
              title: item.kernel,
            },
            el(
              'span',
              { class: 'ops' },
              el('b', {}, shorten(ops(item), 44)),
              item.count > 1 ? ` ×${item.count}` : null,
            ),
            item.module ? el('span', { class: 'mono' }, shorten(item.module, 44)) : null,
          ),
        ),
        el('td', {}, words(item.launches, 'int')),
        el('td', {}, microseconds(item.time_us)),
        el('td', {}, words(item.share, 'share')),
        roofs ? el('td', {}, known(item.roof) ? [gauge(item.roof), words(item.roof, 'roof')] : '–') : null,
      );
    return el(
      'section',
      { class: 'top-kernels' },
      el('h2', {}, `Kernels with the most time${o.each}`),
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
      o.note ? el('p', { class: 'small muted' }, o.note) : null,
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
  /** Graph breaks or recompiles: where, how often, why. */
  breaks(title, rows) {
    if (!rows.length) return null;
    const open = (place) => {
      const found = current().files.find(({ file }) => file.endsWith(place.replace(/:\d+$/, '')));
      choose('line', `${found ? found.file : ''}:${place.split(':').pop()}`);
      show('code');
    };
    const entry = (row) =>
      el(
        'li',
        {},
        /:\d+$/.test(row.where)
          ? el('button', { type: 'button', class: 'pair mono', onclick: () => open(row.where) }, row.where)
          : el('b', {}, row.where),
        ` ×${row.count}${known(row.cost_us) ? `, ${microseconds(row.cost_us)}` : ''}`,
        el('p', {}, row.reason),
        row.hints.slice(0, 2).map((hint) => el('p', { class: 'hint' }, `Try: ${hint}`)),
      );
    return el('section', { class: 'breaks' }, el('h2', {}, title), el('ol', { class: 'missed' }, rows.map(entry)));
  }
  compiles(o) {
    if (!o.compiles.length) return null;
    const facts = (c) => [
      known(c.duration_us) ? microseconds(c.duration_us) : null,
      c.cache ? `cache ${c.cache}` : null,
      c.dynamic ? 'dynamic shapes' : null,
      c.cudagraph_skip ? 'CUDA graphs skipped' : c.cudagraphs ? 'CUDA graphs' : null,
      c.cudagraph_rerecords ? `re-recorded ${plural(c.cudagraph_rerecords, 'time')}` : null,
      c.num_guards ? plural(c.num_guards, 'guard') : null,
      known(c.guard_us) ? `first check ${microseconds(c.guard_us)} (cold caches)` : null,
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
              el('b', {}, c.compile_id),
              ' ',
              facts(c).filter(Boolean).join(' · '),
              c.guards.length ? guards(c) : null,
            ),
          ),
      ),
    );
  }
  /** Live ranges of each compiled graph's memory over its kernels; a line marks the peak. */
  memory(o) {
    if (!o.memory.length) return null;
    const at = (end, place) => `${(100 * place) / end}%`;
    const range = (m, end, [{ buffer, bytes, first, last }, owner]) =>
      el(
        'li',
        { title: `${buffer}: kernels ${first + 1} to ${last + 1}` },
        el('span', {}, `${buffer} ${words(bytes, 'bytes')} `, el('span', { class: 'muted' }, owner)),
        el(
          'span',
          { class: 'range', 'aria-hidden': 'true' },
          el('i', { style: { left: at(end, first), width: at(end, last - first + 1) } }),
          el('b', { style: { left: at(end, m.position + 0.5) } }),
        ),
      );
    const graph = (m, place) => {
      const end = 1 + Math.max(m.position, ...m.ranges.map(([{ last }]) => last));
      return el(
        'details',
        place ? {} : { open: '' },
        el('summary', {}, `${m.graph}: ${words(m.bytes, 'bytes')} at ${shorten(m.call || 'an unknown kernel', 40)}`),
        el(
          'ul',
          { class: 'ranges' },
          m.ranges.map((item) => range(m, end, item)),
        ),
      );
    };
    return el(
      'section',
      { class: 'card' },
      el('h2', {}, 'Memory peak ', el('small', {}, 'Inductor\u2019s estimate')),
      o.memory.slice(0, 8).map(graph),
    );
  }
  gaps(o) {
    if (!o.gaps.length) return null;
    const r = current();
    const name = (kernel, else_) => shorten(kernel ? r.short(kernel) : else_, 34);
    return el(
      'section',
      { class: 'card' },
      el('h2', {}, 'Longest idle times of a step'),
      el(
        'ul',
        { class: 'notes' },
        o.gaps.map((gap) =>
          el(
            'li',
            {},
            el('b', {}, microseconds(gap.duration_ns / 1e3)),
            ` between ${name(gap.before, 'start of the step')} and ${name(gap.after, 'end of the step')}`,
            gap.during ? el('span', { class: 'muted' }, ` · the CPU was in ${shorten(gap.during, 60)}`) : null,
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
/** A sentence's first letter; "cuBLAS" stays. */
const capital = (text) => (/^[a-z]+\b/.test(text) ? text.slice(0, 1).toUpperCase() + text.slice(1) : text);
