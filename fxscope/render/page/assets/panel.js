// The side panel: what is chosen, the chain of evidence from the source line to the microseconds, and the decisions.

const EVIDENCE_WORDS = {
  correlation: 'correlation id: the driver numbered the launch',
  external_id: 'external id: the profiler tied op and kernel',
  lowering: 'recorded while Inductor wrote the kernel',
  debug_handle: 'debug handle: Inductor numbered the call',
  origin_node: 'origin node: Inductor named it as the one it lowered',
  from_node: 'from_node: torch recorded where the node came from',
  origins: 'origins: Inductor listed it among the kernel’s origins',
  order: 'order: the same place in both sequences',
  name: 'name: only the name says so',
};

class Panel {
  constructor(host) {
    this.host = host;
    on('chosen', () => this.show());
  }
  link(type, key, text, style = '') {
    return el(
      'button',
      { type: 'button', class: `ref ${style}`, onclick: () => choose(type, key, { from: 'panel' }) },
      text,
    );
  }
  show() {
    const r = current(),
      { type, key, links } = chosen;
    if (!type) {
      clear(this.host);
      return;
    }
    const head = [
      el(
        'div',
        { class: 'panel-head' },
        el('span', { class: 'kind-word' }, this.typeWord()),
        el('span', { class: 'spring' }),
        el(
          'button',
          {
            type: 'button',
            class: 'plain',
            title: 'Copy a link that opens here (c)',
            id: 'copy-link',
            onclick: () => {
              writeHash();
              copy(location.href, 'Link');
            },
          },
          'Copy link',
        ),
        el(
          'button',
          {
            type: 'button',
            class: 'icon',
            title: 'Choose nothing (Esc)',
            'aria-label': 'Choose nothing',
            onclick: () => choose(null, null),
          },
          '✕',
        ),
      ),
      el('h2', { class: 'panel-title' }, title(r, type, key)),
    ];
    clear(this.host, head, this.badge(r), this.chain(r, links), this.facts(r), this.decisions(r, [...links.decisions]));
    this.host.scrollTop = 0;
  }
  typeWord() {
    return (
      {
        node: 'Node',
        call: 'Kernel call',
        launch: 'Launch',
        op: 'CPU event',
        opname: 'Op',
        kernel: 'Kernel',
        line: 'Source line',
        code: 'Line of generated code',
        decision: 'Decision',
        group: 'Module',
      }[chosen.type] || chosen.type
    );
  }
  badge(r) {
    if (chosen.type !== 'node') return null;
    const n = r.graphs[chosen.key[0]].nodes,
      i = chosen.key[1],
      style = PAGE.theme.kinds[n.kind[i]];
    return el(
      'p',
      { class: 'reason' },
      el('span', { class: `chip kind-${n.kind[i]}` }, el('b', { 'aria-hidden': 'true' }, style.glyph), style.label),
      ' ',
      at(n, 'reason', i) || style.meaning,
    );
  }

  /** Source line → node → kernel call → launch → µs, each step with how it is known. */
  chain(r, links) {
    const steps = [];
    const files = [...links.lines];
    if (files.length)
      steps.push({
        label: 'Source',
        items: files.slice(0, 4).map((line) => {
          const cut = line.lastIndexOf(':'),
            file = r.files.find((f) => f.file === line.slice(0, cut)),
            number = Number(line.slice(cut + 1));
          const text = file
            ? file.text !== null
              ? file.text.split('\n')[number - 1]
              : (file.lines.find(([n]) => n === number) || [])[1]
            : '';
          return [
            this.link('line', line, `${line.slice(0, cut).split('/').pop()}:${number}`),
            text ? el('code', {}, highlight(text.trim())) : null,
          ];
        }),
        more: files.length - 4,
      });
    const order = Object.keys(PAGE.stages),
      graphs = [...links.nodes.keys()].sort(
        (a, b) => order.indexOf(r.graphs[a].stage) - order.indexOf(r.graphs[b].stage),
      );
    const evidence = [];
    graphs.forEach((g, position) => {
      const nodes = [...links.nodes.get(g)].sort((a, b) => a - b),
        graph = r.graphs[g];
      let how = position === 0 ? (files.length ? 'recorded' : null) : null;
      if (position > 0) {
        const found = new Set();
        for (const earlier of graphs.slice(0, position).reverse()) {
          // the nearest graph that a link comes from
          for (const i of nodes)
            for (const link of r.linksTo.get(`${g}/${i}`) || [])
              if (r.links.a[link] === earlier && links.nodes.get(earlier).has(r.links.an[link]))
                found.add(at(r.links, 'evidence', link));
          if (found.size) break;
        }
        how = weakest([...found]);
      }
      const dim = nodes.filter((i) => !graph.dim[i]);
      const all = dim.length ? dim : nodes,
        shown = all.length > 8 ? [...all.slice(0, 5), all.at(-1)] : all.slice();
      if (chosen.type === 'node' && chosen.key[0] === g && !shown.includes(chosen.key[1])) shown.unshift(chosen.key[1]);
      steps.push({
        label: PAGE.stages[graph.stage],
        how,
        items: [
          [
            shown.map((i) =>
              this.link(
                'node',
                [g, i],
                graph.nodes.name[i],
                `kind-${graph.nodes.kind[i]}${isHere(g, i) ? ' here' : ''}`,
              ),
            ),
          ],
        ],
        more: nodes.length - shown.length,
      });
    });
    const calls = [...links.calls];
    if (calls.length) {
      const how = weakest(calls.map((call) => at(r.calls, 'evidence', call)).filter(known));
      if (graphs.length) evidence.push(how);
      steps.push({
        label: 'Kernel call',
        how: graphs.length ? how || 'unknown' : null,
        items: calls
          .slice(0, 3)
          .map((call) => [
            this.link(
              'call',
              call,
              r.calls.handle[call],
              PAGE.theme.extern.includes(r.calls.type[call]) ? 'kind-kernel' : 'kind-fused',
            ),
          ]),
        more: calls.length - 3,
      });
    }
    const launches = [...links.launches];
    if (launches.length) {
      const column = calls.length ? 'e_call' : 'e_op';
      const how = weakest(launches.map((x) => at(r.launches, column, x)).filter(known));
      evidence.push(how);
      const one =
        chosen.type === 'launch'
          ? [chosen.key]
          : launches.slice(0, new Set(launches.map((x) => r.launches.name[x])).size === 1 ? 6 : 3);
      steps.push({
        label: plural(launches.length, 'launch'),
        how: how || 'unknown',
        items:
          one.length > 1 && new Set(one.map((x) => r.launches.name[x])).size === 1
            ? [
                [
                  el('div', { class: 'mono' }, shorten(r.launchName(one[0]), 60)),
                  one.map((x) =>
                    this.link(
                      'launch',
                      x,
                      `${stepWords(at(r.launches, 'step', x))}: ${microseconds(r.launches.duration[x] / 1e3)}`,
                    ),
                  ),
                ],
              ]
            : one.map((x) => [
                this.link('launch', x, shorten(r.launchName(x), 52), 'mono'),
                el(
                  'span',
                  { class: 'muted' },
                  ` ${stepWords(at(r.launches, 'step', x))} · ${microseconds(r.launches.duration[x] / 1e3)}`,
                ),
              ]),
        more: launches.length - one.length,
      });
      const op = [...links.ops][0];
      if (known(op)) {
        const chain = r.name(index(r.launches, 'chain', one[0]));
        steps.splice(steps.length - 1, 0, {
          label: 'CPU op',
          how: null,
          items: [
            [
              this.link('op', op, shorten(r.opName(op), 52), 'mono'),
              chain ? el('div', { class: 'muted small' }, chain) : null,
            ],
          ],
        });
      }
    }
    const timing = calls.length === 1 ? at(r.calls, 'timing', calls[0]) : null;
    if (timing)
      steps.push({
        label: 'Time',
        items: [
          [
            el('b', {}, microseconds(timing[1])),
            el(
              'span',
              { class: 'muted' },
              ` median of ${timing[0]}, ${microseconds(timing[2])} to ${microseconds(timing[3])}`,
            ),
          ],
        ],
      });
    else if (chosen.type === 'kernel' && kernelTotals(r, chosen.key))
      steps.push({ label: 'Time', items: [[el('b', {}, kernelTotals(r, chosen.key))]] });
    else if (calls.length === 1 && known(at(r.calls, 'estimated', calls[0]))) {
      const [time, basis] = r.calls.estimated[calls[0]];
      steps.push({ label: 'Planned', items: [[el('b', {}, time), el('span', { class: 'muted' }, ` ${basis}`)]] });
    }
    if (!steps.length)
      return el('p', { class: 'empty' }, 'Nothing else is linked to this: not matched, rather than guessed.');
    const worst = weakest(evidence.filter(known));
    return el(
      'section',
      { class: 'chain', 'aria-label': 'Evidence' },
      el('h3', {}, 'Evidence'),
      el(
        'ol',
        {},
        steps.map((step) =>
          el(
            'li',
            {},
            step.how
              ? el('span', { class: 'how', title: EVIDENCE_WORDS[step.how] || '' }, `↓ ${step.how.replace('_', ' ')}`)
              : null,
            el(
              'div',
              { class: 'step' },
              el('span', { class: 'step-label' }, step.label),
              el(
                'div',
                {},
                step.items.map((item) => el('div', { class: 'item' }, item)),
                step.more > 0 ? el('div', { class: 'muted small' }, `and ${step.more} more`) : null,
              ),
            ),
          ),
        ),
      ),
      worst ? el('p', { class: 'muted small' }, `Weakest link: ${EVIDENCE_WORDS[worst]}.`) : null,
    );
  }

  facts(r) {
    const rows = [],
      { type, key, links } = chosen;
    const add = (label, value) => {
      if (known(value) && value !== '' && value !== '–')
        rows.push(el('div', { class: 'fact' }, el('dt', {}, label), el('dd', {}, value)));
    };
    if (type === 'node') {
      const [g, i] = key,
        graph = r.graphs[g],
        n = graph.nodes,
        place = r.place(index(n, 'place', i)),
        stride = at(n, 'stride', i);
      add('Target', el('code', {}, n.target[i]));
      add('Output', el('code', {}, at(n, 'shape', i) || '–'));
      if (stride) add('Stride', el('code', {}, `(${stride.join(', ')})`));
      add(
        'Inputs',
        graph.inputs[i].length
          ? graph.inputs[i].map((s) => this.link('node', [g, s], n.name[s], `kind-${n.kind[s]}`))
          : null,
      );
      add(
        'Used by',
        graph.users[i].length
          ? graph.users[i].slice(0, 12).map((s) => this.link('node', [g, s], n.name[s], `kind-${n.kind[s]}`))
          : null,
      );
      add('Nature', at(n, 'nature', i));
      add('Original op', at(n, 'aten', i));
      if (place && place[4]) add('Module', `${place[4]}${place[5] ? ` (${place[5]})` : ''}`);
      const aliases = at(n, 'aliases', i);
      if (aliases && aliases.length) add('Shares storage with', aliases.join(', '));
    }
    if (type === 'group') {
      const graph = r.graphs[key[0]];
      add('Path', at(graph.groups, 'path', key[1]));
      add('Holds', at(graph.groups, 'sub', key[1]));
      add('Kernels inside', at(graph.groups, 'meta', key[1]));
    }
    if (type === 'launch') {
      const x = r.launches,
        i = key;
      add('Duration', microseconds(x.duration[i] / 1e3));
      add('Stream', at(x, 'stream', i));
      add('Issued by', r.name(index(x, 'runtime', i)));
      add('Configuration', r.name(index(x, 'config', i)));
      add('The name says', r.name(index(x, 'decoded', i)));
      if (known(at(x, 'bytes', i))) add('Bytes', words(x.bytes[i], 'bytes'));
    }
    if (type === 'op') {
      const o = r.ops;
      add('Duration on the CPU', microseconds(o.duration[key] / 1e3));
      add('Inputs', r.name(index(o, 'shapes', key)));
      add('Category', r.names[o.category[key]]);
    }
    const calls = [...links.calls];
    if (calls.length === 1 && type !== 'decision') {
      const c = r.calls,
        i = calls[0],
        roof = at(c, 'roof', i);
      add('Kernel', el('code', {}, c.kernel[i]));
      add('Per step, equal kernels', at(c, 'step', i));
      add('Type', PAGE.theme.calls[c.type[i]]);
      if (known(at(c, 'read', i)) || known(at(c, 'written', i)))
        add('Traffic', `${words(at(c, 'read', i), 'bytes')} read, ${words(at(c, 'written', i), 'bytes')} written`);
      if (known(at(c, 'flops', i))) {
        const masked = roof && known(roof.flops) && roof.flops < c.flops[i];
        add('Work', words(c.flops[i], 'flop') + (masked ? `, under its causal mask ${words(roof.flops, 'flop')}` : ''));
      }
      if (roof) {
        if (known(roof.bytes_per_second)) add('Bandwidth', words(roof.bytes_per_second, 'rate'));
        if (known(roof.flops_per_second)) add('Rate', words(roof.flops_per_second, 'flops'));
        if (known(roof.share))
          add('Of the roof', [
            el(
              'span',
              { class: 'gauge', 'aria-hidden': 'true' },
              el('i', { style: { width: `${Math.min(100, roof.share * 100)}%` } }),
            ),
            words(roof.share, 'roof'),
            roof.bound ? ` · ${roof.bound}-bound` : '',
          ]);
        if (known(roof.floor_us))
          add(fasterThanLimit(roof.share) ? 'At the limit' : 'Floor', microseconds(roof.floor_us));
        if (roof.basis) add('Roof from', roof.basis);
      }
      for (const [heading, of, title] of [
        ['Adds the bias of', 'biases', 'Inductor leaves it out of the library’s call'],
        ['Named only', 'named', 'In the kernel’s name or origins, and not known to run in it'],
      ]) {
        const found = at(c, of, i) || [];
        const link = (s) => this.link('node', [c.graph[i], s], r.graphs[c.graph[i]].nodes.name[s], 'kind-unknown');
        if (found.length) add(heading, el('span', { title }, found.slice(0, 8).map(link)));
      }
    }
    return rows.length ? el('section', {}, el('h3', {}, 'Facts'), el('dl', { class: 'facts' }, rows)) : null;
  }
  decisions(r, list) {
    if (!list.length) return null;
    const d = r.decisions;
    const sorted = list.sort((a, b) => (at(d, 'bytes', b) || 0) - (at(d, 'bytes', a) || 0));
    return el(
      'section',
      {},
      el('h3', {}, 'Fusion decisions'),
      el(
        'ul',
        { class: 'decisions' },
        sorted.slice(0, 12).map((i) => this.decision(r, i)),
      ),
      sorted.length > 12 ? el('p', { class: 'muted small' }, `and ${sorted.length - 12} more in the table`) : null,
    );
  }
  decision(r, i) {
    const d = r.decisions,
      verdict = at(d, 'verdict', i),
      costly = verdict !== 'fused' && at(d, 'bytes', i);
    const price = costly ? at(d, 'price', i) : null;
    return el(
      'li',
      { class: `decision ${verdict || 'unknown'}${costly ? ' costly' : ''}` },
      el(
        'button',
        { type: 'button', class: 'ref bare', onclick: () => choose('decision', i, { from: 'panel' }) },
        el('b', { 'aria-hidden': 'true' }, PAGE.theme.verdicts[String(verdict)] || '?'),
        ' ',
        at(d, 'title', i),
      ),
      el(
        'div',
        { class: 'verdict' },
        PAGE.theme.verdict_words[String(verdict)],
        at(d, 'how', i) ? ` (${d.how[i]})` : '',
        price ? el('span', { class: 'price' }, ` · ${price}`) : null,
      ),
      el('p', {}, d.reason[i]),
      at(d, 'raw', i) ? el('p', { class: 'muted small' }, `Inductor: ${d.raw[i]}`) : null,
      at(d, 'hint', i) ? el('p', { class: 'hint' }, `Hint: ${d.hint[i]}`, ...switchOf(at(d, 'config', i))) : null,
    );
  }
}
const isHere = (g, i) => chosen.type === 'node' && chosen.key[0] === g && chosen.key[1] === i;
/** "512 µs over 9 launches", as the table of kernels has it. */
function kernelTotals(r, name) {
  const table = r.tables.find((item) => item.key === 'kernels');
  const row = table ? table.refs.findIndex(([, kernel]) => kernel === name) : -1;
  const cell = (column) => table.values[table.columns.findIndex(([key]) => key === column)][row];
  return row < 0 ? null : `${microseconds(cell('total'))} over ${plural(cell('count'), 'launch')}`;
}
function weakest(list) {
  let worst = null;
  for (const item of list)
    if (item && (worst === null || PAGE.evidence.indexOf(item) > PAGE.evidence.indexOf(worst))) worst = item;
  return worst;
}
