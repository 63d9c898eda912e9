// The page: header, views, search, keys, downloads.

const VIEWS = [
  ['overview', 'Overview'],
  ['graph', 'Graph'],
  ['timeline', 'Timeline'],
  ['code', 'Code'],
  ['tables', 'Tables'],
  ['compare', 'Compare'],
];
const parts = {};
// The panes of each view. A pane opens the recording when it is first seen: a first page need not wait for a graph.
const PANES = {
  overview: [],
  graph: ['graph', 'source', 'code', 'timeline'],
  timeline: ['timeline'],
  code: ['source', 'code'],
  tables: ['tables'],
  compare: [],
};

/** Let the panes of a view show the recording that is looked at, and what is chosen in it. */
function prepare(view) {
  for (const name of PANES[view]) {
    const part = parts[name];
    if (part.opened === chosen.recording) continue;
    part.opened = chosen.recording;
    part.openRecording();
    part.follow('opened');
  }
}

function show(view, { keepHash = false } = {}) {
  if (!parts.tabs[view] || parts.tabs[view].hidden) view = 'overview';
  PAGE.view = view;
  $('app').dataset.view = view;
  prepare(view);
  for (const [name, tab] of Object.entries(parts.tabs)) {
    tab.setAttribute('aria-selected', String(name === view));
    tab.tabIndex = name === view ? 0 : -1;
  }
  requestAnimationFrame(() => {
    if (view === 'graph') parts.graph.both((pane) => pane.pending && pane.revealChosen());
    parts.graph.paint();
    parts.timeline.paint();
    parts.source.shown();
    parts.code.shown();
    parts.tables.table?.list.refresh();
  });
  if (!keepHash) writeHash();
}

function openRecording(position) {
  chosen.recording = position;
  chosen.type = chosen.key = chosen.links = null;
  for (const part of Object.values(PANES).flat()) parts[part].opened = null;
  const r = current();
  Object.assign($('app').dataset, {
    code: String(r.codes.length > 0 || r.files.length > 0),
    time: String(r.launches.n + r.ops.n > 0),
    graph: String(r.graphs.length > 0),
  });
  parts.tabs.timeline.hidden = r.launches.n + r.ops.n === 0; // a plan, a log
  if (parts.tabs[PAGE.view]?.hidden) show('overview', { keepHash: true });
  parts.overview.openRecording();
  parts.panel.show();
  if (parts.pick) parts.pick.value = String(position);
  if (PAGE.view) prepare(PAGE.view);
}

function build() {
  const app = $('app');
  app.dataset.chosen = 'no';
  const tabs = el('nav', { class: 'views', role: 'tablist', 'aria-label': 'View' });
  parts.tabs = {};
  for (const [name, label] of VIEWS) {
    const tab = el(
      'button',
      {
        type: 'button',
        role: 'tab',
        id: `tab-${name}`,
        'aria-controls': `view-${name}`,
        hidden: name === 'compare' && PAGE.all.length < 2,
        onclick: () => show(name),
      },
      label,
    );
    parts.tabs[name] = tab;
    tabs.append(tab);
  }
  tabs.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const names = VIEWS.map(([n]) => n).filter((n) => !parts.tabs[n].hidden);
    const next = names[(names.indexOf(PAGE.view) + step + names.length) % names.length];
    show(next);
    parts.tabs[next].focus();
  });
  parts.pick =
    PAGE.all.length > 1
      ? el(
          'select',
          {
            'aria-label': 'Recording',
            id: 'recording-pick',
            onchange: () => {
              openRecording(Number(parts.pick.value));
              writeHash();
            },
          },
          PAGE.all.map((r, i) => el('option', { value: i }, r.title)),
        )
      : null;
  const search = el('input', {
    type: 'search',
    id: 'search',
    placeholder: 'Search  /',
    role: 'combobox',
    'aria-expanded': 'false',
    'aria-controls': 'found',
    'aria-autocomplete': 'list',
    'aria-label': 'Search nodes, kernels, ops, lines and decisions',
    autocomplete: 'off',
    spellcheck: 'false',
  });
  const found = el('ul', { id: 'found', role: 'listbox', 'aria-label': 'Found', hidden: true });
  new Search(search, found);
  const menu = el(
    'details',
    { class: 'menu' },
    el('summary', { 'aria-label': 'Save a picture', title: 'Save a picture of this view' }, '⤓'),
    el(
      'div',
      {},
      el('button', { type: 'button', id: 'save-svg', onclick: () => savePicture('svg') }, 'SVG'),
      el('button', { type: 'button', id: 'save-png', onclick: () => savePicture('png') }, 'PNG'),
      el('button', { type: 'button', onclick: () => window.print() }, 'Print'),
    ),
  );
  const flip = el(
    'button',
    {
      type: 'button',
      class: 'icon',
      id: 'theme',
      title: 'Light or dark',
      'aria-label': 'Light or dark',
      onclick: () => {
        const next = isDark() ? 'light' : 'dark';
        document.documentElement.dataset.theme = next;
        memory.set('theme', next);
        emit('theme');
      },
    },
    el('i', { class: 'half', 'aria-hidden': 'true' }),
  );
  const widen = el(
    'button',
    {
      type: 'button',
      class: 'icon',
      id: 'maximise',
      title: 'This view alone (x)',
      'aria-label': 'This view alone',
      'aria-pressed': 'false',
      onclick: maximise,
    },
    el('i', { class: 'widen', 'aria-hidden': 'true' }),
  );
  const keys = el(
    'button',
    {
      type: 'button',
      class: 'icon',
      title: 'Keys and signs (?)',
      'aria-label': 'Keys and signs',
      onclick: () => help(),
    },
    '?',
  );
  app.replaceChildren(
    el(
      'a',
      {
        class: 'skip',
        href: '#main',
        onclick: (event) => {
          event.preventDefault();
          $('main').focus();
        },
      },
      'Skip to the content',
    ),
    el(
      'header',
      { class: 'top' },
      el('h1', { class: 'offscreen page-title' }, PAGE.all[0].title),
      el('span', { class: 'mark', 'aria-label': 'fxscope' }, el('i', { 'aria-hidden': 'true' }), 'fxscope'),
      parts.pick || el('span', { class: 'doc-title' }, PAGE.all[0].title),
      tabs,
      el('div', { class: 'searchbox' }, search, found),
      menu,
      widen,
      flip,
      keys,
    ),
    el(
      'main',
      { id: 'main', tabindex: -1 },
      el('section', { id: 'view-overview', class: 'region', role: 'tabpanel', 'aria-labelledby': 'tab-overview' }),
      el('section', { id: 'view-graph', class: 'region', role: 'tabpanel', 'aria-labelledby': 'tab-graph' }),
      el('section', { id: 'region-source', class: 'region', 'aria-label': 'Source' }),
      el('section', { id: 'view-code', class: 'region', 'aria-label': 'Generated code' }),
      el('section', { id: 'view-timeline', class: 'region', role: 'tabpanel', 'aria-labelledby': 'tab-timeline' }),
      el('section', { id: 'view-tables', class: 'region', role: 'tabpanel', 'aria-labelledby': 'tab-tables' }),
      el('section', { id: 'view-compare', class: 'region', role: 'tabpanel', 'aria-labelledby': 'tab-compare' }),
      splitter('panel', 'Width of the panel', true, 240, () => innerWidth * 0.6),
      splitter('code', 'Height of the code', false, 60, () => innerHeight * 0.5),
      splitter('time', 'Height of the timeline', false, 60, () => innerHeight * 0.5),
      el('aside', { id: 'panel', class: 'region', 'aria-label': 'What is chosen', tabindex: 0 }),
    ),
    el('div', { id: 'say', role: 'status' }),
    el('div', { id: 'announce', class: 'offscreen', 'aria-live': 'polite' }),
  );
  on('chosen', () => prepare(PAGE.view || 'overview'));
  parts.overview = new Overview($('view-overview'));
  parts.panel = new Panel($('panel'));
  parts.graph = new GraphView($('view-graph'));
  parts.source = new CodePane($('region-source'), { label: 'Source', kind: 'source' });
  parts.code = new CodePane($('view-code'), { label: 'Generated code', kind: 'code' });
  parts.timeline = new Timeline($('view-timeline'));
  parts.tables = new Tables($('view-tables'));
  parts.compare = new Compare($('view-compare'));
  parts.compare.build();
  on('chosen', () => {
    if (parts.pick && parts.pick.value !== String(chosen.recording)) {
      parts.pick.value = String(chosen.recording);
      parts.overview.openRecording();
    }
  });
}

class Search {
  constructor(input, list) {
    this.input = input;
    this.list = list;
    this.at = 0;
    this.hits = [];
    input.addEventListener('input', () => this.run());
    input.addEventListener('focus', () => this.run());
    input.addEventListener('blur', () => setTimeout(() => this.close(), 150));
    input.addEventListener('keydown', (event) => {
      if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
        event.preventDefault();
        this.at = (this.at + (event.key === 'ArrowDown' ? 1 : -1) + this.hits.length) % Math.max(1, this.hits.length);
        this.draw();
      } else if (event.key === 'Enter' && this.hits[this.at]) this.pick(this.at);
      else if (event.key === 'Escape') {
        input.value = '';
        this.close();
        input.blur();
        event.stopPropagation();
      }
    });
  }
  index() {
    if (this.of === chosen.recording) return this.entries;
    const r = current(),
      out = [];
    const add = (type, key, text, detail, label) =>
      out.push({
        type,
        key,
        text,
        low: text.toLowerCase(),
        detail: detail || '',
        lowDetail: (detail || '').toLowerCase(),
        label,
      });
    for (let i = 0; i < r.calls.n; i += 1)
      add('call', i, r.calls.handle[i], PAGE.theme.calls[r.calls.type[i]], 'kernel call');
    const order = [...r.graphs.keys()].sort((a, b) => (b === r.default) - (a === r.default));
    for (const g of order) {
      const { nodes, stage } = r.graphs[g];
      for (let i = 0; i < nodes.n; i += 1)
        add(
          'node',
          [g, i],
          nodes.name[i],
          `${nodes.target[i]} ${r.place(index(nodes, 'place', i))?.[4] || ''}`,
          PAGE.stages[stage].toLowerCase(),
        );
    }
    for (const g of order) {
      const { groups } = r.graphs[g];
      for (let i = 0; i < groups.n; i += 1)
        if (groups.kind[i] === 'module') add('group', [g, i], groups.path[i], at(groups, 'sub', i), 'module');
    }
    for (const name of r.launchesOfName.keys()) add('kernel', name, name, '', 'kernel');
    for (const name of r.opsOfName.keys()) add('opname', name, name, '', 'op');
    for (const file of r.files)
      for (const [n, text] of file.text !== null ? file.text.split('\n').map((t, i) => [i + 1, t]) : file.lines)
        if (text.trim()) add('line', `${file.file}:${n}`, text.trim(), `${file.file}:${n}`, 'line');
    for (let i = 0; i < r.decisions.n; i += 1)
      add('decision', i, at(r.decisions, 'title', i), r.decisions.reason[i], 'decision');
    this.of = chosen.recording;
    this.entries = out;
    return out;
  }
  run() {
    const wanted = this.input.value.trim().toLowerCase();
    if (!wanted) {
      this.close();
      return;
    }
    const scored = [];
    for (const entry of this.index()) {
      const place = entry.low.indexOf(wanted);
      if (place >= 0) scored.push([entry.low === wanted ? 0 : place === 0 ? 1 : 2, entry]);
      else if (entry.lowDetail.includes(wanted)) scored.push([3, entry]);
      if (scored.length > 3000) break;
    }
    this.hits = scored
      .sort((a, b) => a[0] - b[0])
      .slice(0, 40)
      .map(([, entry]) => entry);
    this.total = scored.length;
    this.at = 0;
    this.draw();
  }
  draw() {
    clear(
      this.list,
      this.hits.map((hit, i) =>
        el(
          'li',
          {
            role: 'option',
            id: `hit-${i}`,
            'aria-selected': String(i === this.at),
            onmousedown: (event) => {
              event.preventDefault();
              this.pick(i);
            },
          },
          el('small', {}, hit.label),
          el('span', {}, shorten(hit.text, 70)),
          hit.detail ? el('em', {}, shorten(hit.detail, 60)) : null,
        ),
      ),
      this.hits.length
        ? null
        : el('li', { class: 'empty', role: 'option', 'aria-selected': 'false' }, 'Nothing has that name.'),
    );
    this.list.hidden = false;
    this.input.setAttribute('aria-expanded', 'true');
    this.input.setAttribute('aria-activedescendant', this.hits.length ? `hit-${this.at}` : '');
    this.list.children[this.at]?.scrollIntoView({ block: 'nearest' });
  }
  pick(i) {
    const hit = this.hits[i];
    this.close();
    this.input.blur();
    choose(hit.type, hit.key, { from: 'search' });
    if (PAGE.view === 'overview' || PAGE.view === 'compare') show('graph');
  }
  close() {
    this.list.hidden = true;
    this.input.setAttribute('aria-expanded', 'false');
  }
}

/** What the current view draws, as SVG or PNG; the graph where the view is no picture. */
function savePicture(format) {
  const view = PAGE.view === 'timeline' ? parts.timeline : parts.graph;
  if (view === parts.graph && (!parts.graph.graph || parts.graph.of !== parts.graph.graph)) {
    say('There is no graph to save');
    return;
  }
  const picture = view.picture(),
    name = `${picture.name.replace(/[^\w.-]+/g, '_')}.${format}`;
  if (format === 'svg') {
    const context = new SvgContext(picture.width, picture.height);
    context.root.setAttribute('aria-label', picture.name);
    context.fillStyle = colours().paper;
    context.fillRect(0, 0, picture.width, picture.height);
    picture.draw(context);
    download(name, new Blob([new XMLSerializer().serializeToString(context.root)], { type: 'image/svg+xml' }));
  } else {
    const canvas = document.createElement('canvas'),
      scale = Math.min(2, 16000 / Math.max(picture.width, picture.height));
    canvas.width = Math.ceil(picture.width * scale);
    canvas.height = Math.ceil(picture.height * scale);
    const context = canvas.getContext('2d');
    context.scale(scale, scale);
    context.fillStyle = colours().paper;
    context.fillRect(0, 0, picture.width, picture.height);
    picture.draw(context);
    canvas.toBlob((blob) => {
      if (blob) download(name, blob);
      else say('The picture is too large for PNG: save SVG');
    }, 'image/png');
  }
  say(`${name} saved`);
}

function help() {
  const rows = [
    ['/', 'search'],
    ['1 … 6', 'views'],
    ['Esc', 'choose nothing'],
    ['Arrows', 'strip: part by part; graph: along the data; timeline: launch by launch'],
    ['Shift + arrows', 'move the picture'],
    ['Enter', 'open or close a frame'],
    ['+  −  0  f', 'larger, smaller, readable, all'],
    ['v  m  u  b', 'views, modules, unfused pairs, both directions'],
    ['l  d', 'graph as a list; what changed since an earlier stage'],
    ['a d w s', 'timeline: left, right, in, out, as in Perfetto'],
    [', .  f  m', 'timeline: launch before, after; zoom to what is chosen; its sums'],
    ['Shift + drag', 'timeline: sums of a range'],
    ['x', 'the view alone, and back'],
    ['c', 'copy a link to what is chosen'],
    ['Back', 'what was seen before'],
  ];
  const signs = [
    ...Object.values(PAGE.theme.kinds).map(({ glyph, label, meaning }) => [glyph, `${label}: ${meaning}`]),
    ['~', 'an estimate or a prediction'],
    ['roof', 'the least time that the peak bandwidth and rate of the GPU allow, as a share of the time taken'],
  ];
  const links = Object.entries(EVIDENCE_WORDS).map(([how, what]) => [how.replace('_', ' '), what]);
  const list = (title, items) => [
    el('h2', {}, title),
    el(
      'dl',
      { class: 'facts' },
      items.map(([key, what]) => el('div', { class: 'fact' }, el('dt', {}, el('kbd', {}, key)), el('dd', {}, what))),
    ),
  ];
  const dialog = el(
    'dialog',
    { 'aria-label': 'Keys and signs', class: 'help' },
    el('div', {}, list('Keys', rows)),
    el('div', {}, list('Signs', signs), list('How a link is known, strongest first', links)),
    el('button', { type: 'button', class: 'plain', onclick: () => dialog.close() }, 'Close'),
  );
  document.body.append(dialog);
  dialog.addEventListener('close', () => dialog.remove());
  dialog.showModal();
}

function keys(event) {
  if (event.target.closest('input, select, textarea, dialog') || event.ctrlKey || event.metaKey || event.altKey) return;
  const names = VIEWS.map(([name]) => name).filter((name) => !parts.tabs[name].hidden);
  if (event.key === '/') {
    event.preventDefault();
    $('search').focus();
    $('search').select();
  } else if (event.key === 'Escape') choose(null, null);
  else if (event.key === '?') help();
  else if (event.key === 'c' && chosen.type) copy(location.href, 'Link');
  else if (event.key === 'x') maximise();
  else if (event.key === 'd' && PAGE.view === 'graph') parts.graph.showAs('changes');
  else if (event.key === 'l') {
    show('graph');
    parts.graph.showAs('list');
  } else if (/^[1-6]$/.test(event.key) && names[event.key - 1]) show(names[event.key - 1]);
  else if (!event.defaultPrevented && !ownKeys(event)) {
    if (PAGE.view === 'graph' && !parts.graph.listing) parts.graph.key(event);
    else if (PAGE.view === 'timeline') parts.timeline.key(event);
  }
}

/** Whether what has the focus uses this key itself. */
function ownKeys(event) {
  if (event.target.closest('canvas, .code, .tbody, .splitter')) return true;
  const moves = /^(Enter| |Arrow\w+|Home|End)$/.test(event.key);
  return moves && Boolean(event.target.closest('button, summary, a, [role=tablist]'));
}

/** Give a view the whole window, or take it back. */
function maximise() {
  const app = $('app');
  app.dataset.max = app.dataset.max === 'yes' ? 'no' : 'yes';
  $('maximise').setAttribute('aria-pressed', String(app.dataset.max === 'yes'));
  show(PAGE.view, { keepHash: true });
}

/** A line between two panes that can be dragged, or moved with the arrow keys; its place is remembered. */
function splitter(name, label, upright, least, most) {
  const start = Number(memory.get(`pane.${name}`));
  const set = (px) => {
    const value = Math.round(Math.max(least, Math.min(most(), px)));
    $('main').style.setProperty(`--${name}`, `${value}px`);
    made.setAttribute('aria-valuenow', value);
    made.setAttribute('aria-valuemax', Math.round(most()));
    memory.set(`pane.${name}`, value);
    for (const part of [parts.graph, parts.timeline]) part.paint();
  };
  const size = () => {
    const pane = $({ panel: 'panel', code: 'view-code', time: 'view-timeline' }[name]).getBoundingClientRect();
    return upright ? pane.width : pane.height;
  };
  const made = el('div', {
    class: `splitter split-${name}`,
    role: 'separator',
    tabindex: 0,
    'aria-label': label,
    'aria-orientation': upright ? 'vertical' : 'horizontal',
    'aria-valuemin': least,
    'aria-valuenow': start || least,
    onkeydown: (event) => {
      const step = { ArrowLeft: 24, ArrowUp: 24, ArrowRight: -24, ArrowDown: -24 }[event.key];
      if (!step) return;
      event.preventDefault();
      event.stopPropagation();
      set(size() + step);
    },
  });
  let from = null;
  made.addEventListener('pointerdown', (event) => {
    from = { at: upright ? event.clientX : event.clientY, size: size() };
    made.setPointerCapture(event.pointerId);
  });
  made.addEventListener('pointermove', (event) => {
    if (from) set(from.size + from.at - (upright ? event.clientX : event.clientY));
  });
  made.addEventListener('pointerup', () => {
    from = null;
  });
  if (start) requestAnimationFrame(() => set(start));
  return made;
}

function openFromHash() {
  const given = readHash();
  if (given.recording !== chosen.recording) openRecording(given.recording);
  show(given.view || (given.type || given.graph >= 0 ? 'graph' : 'overview'), { keepHash: true });
  choose(given.type, given.key, { recording: given.recording, keepHash: true, from: 'link' });
  const asOpened = given.view === 'graph' && !given.type && given.graph < 0;
  if (asOpened) {
    prepare('graph');
    given.graph = parts.graph.first ?? -1;
  }
  if (given.graph >= 0 || given.fold || given.at.length === 3) {
    prepare('graph');
    parts.graph.restore(given);
  }
  if (PAGE.view === 'timeline') parts.timeline.restore(given);
  if (PAGE.view === 'graph' && parts.graph.graph && (given.as || null) !== parts.graph.as) parts.graph.showAs(given.as);
  if (!given.type && given.asked) say('The link names something that is not in this recording');
}

let leavePaper = null;

/** Lay the views out for printing: light, texts at their size over as many pages as they need, each picture on one. */
function toPaper() {
  if (leavePaper) return;
  const app = $('app'),
    r = current(),
    { graph, timeline } = parts,
    time = { from: timeline.from, perNs: timeline.perNs, scroll: timeline.scroll, fitted: timeline.fitted };
  const { dataset } = document.documentElement;
  const { theme } = dataset;
  dataset.theme = 'light';
  forPaper = true;
  app.dataset.paper = 'yes';
  for (const [name, label] of VIEWS) {
    prepare(name);
    const has = { graph: graph.placed, timeline: !timeline.empty, code: r.codes.length, tables: r.tables.length };
    const section = $(`view-${name}`);
    section.dataset.title = `${label} · ${r.title}`;
    section.dataset.print = String(Boolean(name in has ? has[name] : !parts.tabs[name].hidden));
  }
  const paper = el('div', { class: 'sheets' });
  if (graph.placed && !graph.listing) {
    const views = [graph, graph.pair].filter((view) => view?.placed);
    for (const view of graph.graph.direction === 'backward' ? views.reverse() : views) {
      const [drawn, number] = view.sheets();
      paper.append(...drawn);
      if (drawn.length < number)
        $('view-graph').dataset.title += ` · ${drawn.length} of ${number} sheets; Save SVG has all`;
    }
    graph.host.append(paper);
  }
  if (timeline.tracks.length) {
    timeline.fitAll();
    timeline.draw();
  }
  parts.code.shown();
  parts.tables.table?.list.refresh();
  leavePaper = () => {
    forPaper = false;
    if (theme) dataset.theme = theme;
    else delete dataset.theme;
    delete app.dataset.paper;
    paper.remove();
    Object.assign(timeline, time);
    for (const view of [graph, graph.pair, timeline]) view?.paint();
  };
}
function fromPaper() {
  leavePaper?.();
  leavePaper = null;
}

async function start() {
  const theme = memory.get('theme');
  if (theme === 'dark' || theme === 'light') document.documentElement.dataset.theme = theme;
  PAGE = await decode();
  PAGE.all = PAGE.recordings.map((data, i) => new Recording(data, i));
  build();
  openRecording(0);
  if (PAGE.stage) show('graph', { keepHash: true });
  if (location.hash.length > 1) openFromHash();
  else show(PAGE.stage ? 'graph' : PAGE.all.length > 1 ? 'compare' : 'overview', { keepHash: true });
  document.addEventListener('keydown', keys);
  writeHash(false);
  window.addEventListener('hashchange', openFromHash);
  darkQuery.addEventListener('change', () => emit('theme'));
  document.addEventListener('click', (event) => {
    for (const menu of document.querySelectorAll('details.menu[open]'))
      if (!menu.contains(event.target)) menu.open = false;
  });
  window.addEventListener('beforeprint', toPaper);
  window.addEventListener('afterprint', fromPaper);
  document.documentElement.dataset.ready = 'yes';
  const idle = window.requestIdleCallback || ((action) => setTimeout(action, 300));
  idle(() => prepare('graph'), { timeout: 3000 }); // what is clicked next is there already
}
start().catch((error) => {
  $('app').replaceChildren(
    el(
      'p',
      { class: 'loading', role: 'alert' },
      `This report could not be opened: ${error.message}. It needs a browser of 2023 or later.`,
    ),
  );
  throw error;
});
