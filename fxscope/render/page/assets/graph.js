// The graph: boxes, frames and edges on a canvas, of which only what is in view is drawn.

const MOVE_MS = 260;
const LEGIBLE = 0.6; // scale below which a pair's kernels are folded to be read
const PRICE = 290; // px: the widest price of a pair
const SHEET = { w: 1040, h: 680, over: 60, most: 12 }; // px of paper, px on two sheets; sheets of a graph
const stillQuery = window.matchMedia('(prefers-reduced-motion: reduce)');

class GraphView {
  /** A view with its toolbar in `host`; or, beside that one, the other direction of the graph that it shows. */
  constructor(host, main = null) {
    this.host = host;
    this.main = main;
    this.states = new Map(); // per recording and graph: what is folded, where the view is
    this.canvas = el('canvas', {
      class: 'graph-canvas',
      tabindex: 0,
      role: 'application',
      'aria-describedby': 'graph-help',
      'aria-label':
        'Graph. Arrow keys go along the data, Enter opens or closes a frame, plus and minus zoom. ' +
        'The list beside it has the same content.',
    });
    this.stages = el('div', { class: 'segmented', role: 'tablist', 'aria-label': 'Stage' });
    this.graphPick = el('select', {
      'aria-label': 'Graph of this stage',
      onchange: () => this.choose(Number(this.graphPick.value)),
    });
    const check = (name, label, hint) => {
      const input = el('input', { type: 'checkbox', onchange: () => this.toggle(name) });
      this[`${name}Box`] = input;
      return el('label', { class: 'check', title: hint }, input, label);
    };
    const button = (label, name, action) =>
      el('button', { type: 'button', class: 'icon', title: name, 'aria-label': name, onclick: action }, label);
    this.legend = el('div', { class: 'legend', 'aria-label': 'Legend' });
    this.size = el('span', { class: 'muted count' });
    this.listButton = el(
      'button',
      { type: 'button', class: 'plain', 'aria-pressed': 'false', onclick: () => this.showAs('list') },
      'List',
    );
    this.changesButton = el(
      'button',
      {
        type: 'button',
        class: 'plain',
        title: 'What changed since an earlier stage (d)',
        'aria-pressed': 'false',
        onclick: () => this.showAs('changes'),
      },
      'Changes',
    );
    this.since = el('select', { 'aria-label': 'Changes since', hidden: true, onchange: () => this.fillList() });
    const checks = [
      check('views', 'Views', 'Show ops that launch nothing (v)'),
      check('modules', 'Modules', 'Frame ops by nn.Module (m)'),
      check('costs', 'Unfused', 'Mark costly pairs that were not fused (u)'),
      check('pair', 'Both directions', 'Forward and backward beside each other (b)'),
    ];
    this.bar = el(
      'div',
      { class: 'toolbar', role: 'toolbar', 'aria-label': 'Graph' },
      this.stages,
      this.graphPick,
      el('span', { class: 'spring' }),
      this.changesButton,
      this.listButton,
      button('⊟', 'Fold everything', () => this.both((view) => view.foldAll(true))),
      button('⊞', 'Unfold everything', () => this.both((view) => view.foldAll(false))),
      button('−', 'Zoom out (-)', () => this.both((view) => view.zoom(1 / 1.3))),
      button('+', 'Zoom in (+)', () => this.both((view) => view.zoom(1.3))),
      button('⤢', 'Show all (f)', () => this.both((view) => view.fitAll())),
    );
    this.listHost = el('div', { class: 'graph-list', hidden: true });
    this.label = el('b', { class: 'graph-label', hidden: true });
    this.stage = el('div', { class: 'graph-stage' }, this.canvas, this.label);
    this.tip = el('div', { class: 'tip', hidden: true });
    this.paired = innerWidth >= 1200;
    if (main) main.stagesHost.append(this.stage);
    else {
      this.stagesHost = el('div', { class: 'graph-stages' }, this.stage);
      this.nothing = el('p', { class: 'nothing' });
      this.noGraph = [
        'A trace alone holds none of compiled code: record the compile too, ',
        el('code', {}, 'TORCH_TRACE=FOLDER'),
        ', then ',
        el('code', {}, 'fxscope view TRACE --compile-log FOLDER'),
      ];
      host.append(
        this.bar,
        el('div', { class: 'legend-bar' }, this.legend, checks, el('span', { class: 'spring' }), this.since, this.size),
        this.nothing,
        this.stagesHost,
        this.listHost,
        el('p', { id: 'graph-help', class: 'offscreen' }, 'Press question mark for all keys.'),
      );
    }
    document.body.append(this.tip);
    this.paint = painter(() => this.draw());
    this.minimap = new Minimap(this);
    this.stage.append(this.minimap.canvas);
    this.costs = true;
    this.as = null; // "list" or "changes" instead of the picture
    this.pointer();
    this.canvas.addEventListener('keydown', (event) => this.key(event));
    new ResizeObserver(() => {
      if (this.canvas.clientWidth) {
        if (!this.state?.placed) this.readable();
        else if (chosen.from === 'graph' && this.of === this.graph) this.showChosen(); // the panel has come
        this.paint();
      }
    }).observe(this.stage);
    on('chosen', (from) => this.follow(from));
    on('theme', () => {
      this.minimap.stale = true;
      this.paint();
    });
  }

  get recording() {
    return current();
  }

  openRecording() {
    const r = this.recording;
    this.stages.replaceChildren();
    const byStage = new Map();
    r.graphs.forEach((graph, g) => push(byStage, graph.stage, g));
    for (const name of Object.keys(PAGE.stages)) {
      if (!byStage.has(name)) continue;
      const list = byStage.get(name);
      const biggest = list.reduce((best, g) => (r.graphs[g].nodes.n > r.graphs[best].nodes.n ? g : best), list[0]);
      this.stages.append(
        el(
          'button',
          {
            type: 'button',
            role: 'tab',
            'data-stage': name,
            onclick: () => this.choose(biggest),
            title: plural(list.length, 'graph'),
          },
          PAGE.stages[name],
        ),
      );
    }
    let first = r.default;
    if (PAGE.stage) {
      const wanted = r.graphs.findIndex((g) => g.stage === PAGE.stage || g.id === PAGE.stage);
      if (wanted >= 0) first = wanted;
    }
    this.first = first; // what opens where nothing else is asked for
    this.host.dataset.empty = String(first < 0);
    if (first >= 0) this.open(first);
    else {
      this.graph = null;
      const more = r.launches.n || r.ops.n ? this.noGraph : [];
      clear(this.nothing, el('b', {}, 'No graph was recorded.'), ...more);
      this.paint();
    }
  }

  /** Open another graph by hand. */
  choose(g) {
    this.open(g, true);
    writeHash();
  }
  open(g, jump = false) {
    const r = this.recording;
    this.g = g;
    this.graph = r.graphs[g];
    const id = `${r.position}:${g}`;
    if (!this.states.has(id)) {
      this.states.set(id, { ...openingState(this.graph), placed: false, x: 0, y: 0, scale: 1 });
    }
    this.state = this.states.get(id);
    if (!this.main) this.pairUp();
    for (const tab of this.stages.children)
      tab.setAttribute('aria-selected', String(tab.dataset.stage === this.graph.stage));
    const same = r.graphs.map((graph, i) => [graph, i]).filter(([graph]) => graph.stage === this.graph.stage);
    clear(
      this.graphPick,
      same.map(([graph, i]) => el('option', { value: i, selected: i === g }, this.nameOf(graph, same))),
    );
    this.graphPick.value = String(g);
    this.several = same.length;
    this.showPick();
    this.costsBox.checked = this.costs;
    this.modulesBox.parentElement.hidden = !(this.graph.groups.kind || []).includes('module');
    this.drawLegend();
    this.arrange(() => {
      if (jump && chosen.links?.nodes.has(g)) this.revealChosen();
      else if (!this.state.placed) this.readable();
    });
    const earlier = earlierGraphs(r, g, Object.keys(PAGE.stages));
    this.changesButton.hidden = !earlier.length;
    clear(
      this.since,
      earlier.map((a) => el('option', { value: a }, `since ${PAGE.stages[r.graphs[a].stage]}`)),
    );
    if (this.as === 'changes' && !earlier.length) this.showAs(null);
    else if (this.listing) this.fillList();
  }

  /** Show what an address says: a graph, its folds, where the view was. */
  restore({ graph, fold, at: place }) {
    const g = graph >= 0 ? graph : this.g;
    if (g < 0 || !this.recording.graphs[g]) return;
    const focus = chosen.links?.focus;
    const state = { ...foldsOf(this.recording.graphs[g], fold), placed: false, x: 0, y: 0, scale: 1 };
    if (place.length === 3 && place.every(Number.isFinite) && place[2] > 0)
      Object.assign(state, { x: place[0], y: place[1], scale: place[2] / 1000, placed: true, moved: true });
    this.states.set(`${this.recording.position}:${g}`, state);
    this.open(g, Boolean(focus && focus[0] === g && !state.moved));
  }

  /** "backward", "1/0" or both: what tells a graph from the others of its stage. */
  nameOf(graph, same) {
    const name = (g) => [g.direction, g.compile].filter(Boolean).join(' · ');
    const own = name(graph);
    return own && same.filter(([other]) => name(other) === own).length === 1 ? own : graph.id;
  }
  /** Show the other direction of this graph beside it, where there is one and that is wanted. */
  pairUp() {
    const { graph } = this;
    const other = { forward: 'backward', backward: 'forward' }[graph.direction];
    const stage = graph.stage === graph.direction ? other : graph.stage;
    const found = other
      ? this.recording.graphs.findIndex(
          (g) => g.direction === other && g.stage === stage && g.compile === graph.compile,
        )
      : -1;
    this.pairBox.parentElement.hidden = found < 0;
    this.pairBox.checked = this.paired;
    const yes = found >= 0 && this.paired;
    if (yes) {
      this.second ||= new GraphView(this.host, this);
      this.second.opened = this.opened;
      this.second.open(found);
    }
    if (this.second) this.second.stage.hidden = !yes;
    this.pair = yes ? this.second : null;
    for (const view of [this, this.second].filter(Boolean)) {
      view.label.hidden = !yes;
      view.label.textContent = view.graph.direction;
      view.stage.classList.toggle('right', yes && view.graph.direction === 'backward');
    }
  }
  both(action) {
    action(this);
    if (this.pair) action(this.pair);
  }

  drawLegend() {
    const kinds = new Set([...(this.graph.nodes.kind || []), ...(this.pair?.graph.nodes.kind || [])]);
    clear(
      this.legend,
      Object.entries(PAGE.theme.kinds)
        .filter(([kind]) => kinds.has(kind))
        .map(([kind, style]) =>
          el(
            'span',
            { class: `chip kind-${kind}`, title: style.meaning },
            el('b', { 'aria-hidden': 'true' }, style.glyph),
            style.label,
          ),
        ),
      this.redPairs().length
        ? el(
            'span',
            { class: 'chip cost', title: 'Neighbours that share data and were not fused' },
            el('b', { 'aria-hidden': 'true' }, '━'),
            'not fused',
          )
        : null,
    );
  }

  /** Lay out what is shown; `then` runs when the boxes have their new places, before they move there. */
  arrange(then) {
    const { graph, state } = this;
    this.viewsBox.checked = state.views;
    this.modulesBox.checked = state.modules;
    const key = `${state.modules}|${state.views}|${[...state.closed].sort((a, b) => a - b).join()}`;
    graph.placed ||= new Map(); // layouts made so far, by state
    const shown = visible(graph, state);
    if (!graph.placed.has(key)) graph.placed.set(key, layOut(graph, shown));
    if (graph.placed.size > 24) graph.placed.delete(graph.placed.keys().next().value);
    this.put(shown, graph.placed.get(key));
    then?.();
    this.paint();
  }

  /** Take over a layout; boxes that were there before move to their new places. */
  put(shown, placed) {
    const { graph } = this;
    const before = this.of === graph ? { byId: this.byId, shown: this.shown, frames: this.frameById } : null;
    this.of = graph;
    this.shown = shown;
    this.placed = placed;
    this.items = [...shown.boxes.values()].map((box) => {
      const [x, y] = placed.boxes.get(box.id);
      return { ...box, x: x - box.w / 2, y: y - box.h / 2 };
    });
    this.byId = new Map(this.items.map((item) => [item.id, item]));
    const depth = (f) => {
      let d = 0;
      for (let g = f; g >= 0 && shown.frames.has(g); g = shown.frames.get(g).parent) d += 1;
      return d;
    };
    this.frames = [...placed.frames]
      .map(([id, corner]) => ({ id, corner, depth: depth(id), kind: graph.groups.kind[id] }))
      .sort((a, b) => a.depth - b.depth);
    this.frameById = new Map(this.frames.map((frame) => [frame.id, frame]));
    this.edges = placed.edges.map(([from, to, points]) => ({ from, to, points, ...boundsOf(points), red: null }));
    this.markRed();
    this.across = placed.w + (this.extra.length ? PRICE : 0); // with the prices beside the boxes
    this.count();
    this.minimap.stale = true;
    this.move = before && this.items.length <= 1500 && !stillQuery.matches ? this.moves(before) : null;
  }
  count() {
    if (this.as === 'changes' || !this.items || this.of !== this.graph) return;
    const { n } = this.graph.nodes;
    const boxes = this.items.length < n ? `, ${plural(this.items.length, 'box')}` : '';
    this.say(`${plural(n, 'node')}${boxes}`);
  }
  say(text) {
    this.size.textContent = text;
  }

  /** Where each box and frame comes from: its old place, or the box or frame that it came out of or went into. */
  moves(before) {
    const from = new Map();
    const frames = new Map();
    const corner = (old) => [old.x, old.y, old.x + old.w, old.y + old.h];
    const parentOf = (id) => {
      for (let g = id >= 0 ? this.graph.home[id] : -1 - id; g >= 0; g = index(this.graph.groups, 'parent', g)) {
        if (before.byId.has(-1 - g)) return corner(before.byId.get(-1 - g));
        if (id < 0 && before.frames.has(g)) return before.frames.get(g).corner;
      }
      return null;
    };
    for (const item of this.items) {
      const old = before.byId.get(item.id);
      const out = old ? null : parentOf(item.id);
      if (old) from.set(item.id, [old.x, old.y]);
      else if (out) from.set(item.id, [(out[0] + out[2] - item.w) / 2, (out[1] + out[3] - item.h) / 2]);
    }
    for (const frame of this.frames) {
      const old = before.frames.get(frame.id)?.corner || parentOf(-1 - frame.id);
      if (old) frames.set(frame.id, old);
    }
    return { from, frames, start: performance.now() };
  }
  /** How far the boxes have moved, 0 to 1; null when they stand. */
  moved() {
    if (!this.move) return null;
    const share = (performance.now() - this.move.start) / MOVE_MS;
    if (share >= 1) {
      this.move = null;
      return null;
    }
    return 1 - (1 - share) ** 3;
  }

  /** The nodes at the two ends of a decision in the drawn graph; of a kernel those that are drawn in its own frame. */
  endsOf(decision) {
    const d = this.recording.decisions;
    if (index(d, 'graph', decision) !== this.g || index(d, 'other', decision) >= 0) return null;
    return ['a', 'b'].map((side) => {
      const nodes = at(d, side, decision) || [];
      const call = index(d, `${side}_call`, decision);
      const own = nodes.filter((i) => this.graph.call[i] === call); // the others are computed again here
      return own.length ? own : nodes;
    });
  }
  redPairs() {
    const d = this.recording.decisions;
    const costly = (i) => at(d, 'verdict', i) !== 'fused' && at(d, 'bytes', i) && this.endsOf(i);
    const first = (i) => chosen.type === 'decision' && chosen.key === i; // an edge shows one pair
    const found = [...Array(d.n).keys()].filter(costly);
    return found.sort((a, b) => first(b) - first(a) || d.bytes[b] - d.bytes[a]).slice(0, 12);
  }

  /** Find the edges between the two ends of each costly pair; through hidden views and views outside of any kernel. */
  markRed() {
    this.extra = [];
    for (const edge of this.edges) edge.red = null;
    if (!this.costs) return;
    const as = this.shown.shownAs;
    const incoming = new Map();
    this.edges.forEach((edge) => push(incoming, edge.to, edge));
    for (const pair of this.redPairs()) {
      const alone = this.aloneOf(pair);
      if (alone) {
        this.extra.push(alone);
        continue;
      }
      const [a, b] = this.endsOf(pair).map((nodes) => new Set(nodes.map((i) => as[i]).filter((x) => x !== null)));
      let hit = false;
      const back = (box, way, steps) => {
        for (const edge of incoming.get(box) || []) {
          if (a.has(edge.from) && !b.has(edge.from)) {
            hit = true;
            for (const e of [...way, edge])
              if (e.red === null) {
                e.red = pair;
                e.label = e === edge;
              }
          } else if (steps < 4 && edge.from >= 0 && this.graph.dim[edge.from] && !b.has(edge.from))
            back(edge.from, [...way, edge], steps + 1);
        }
      };
      for (const box of b) back(box, [], 0);
      if (!hit) {
        const from = [...a].at(-1),
          to = [...b][0];
        if (from !== undefined && to !== undefined && from !== to) this.extra.push({ from, to, red: pair });
      }
    }
  }

  /** The kernel of the chosen pair without a box (a layout copy, the rest of a split reduction), beside the other. */
  aloneOf(pair) {
    if (chosen.type !== 'decision' || chosen.key !== pair) return null;
    const { calls, decisions } = this.recording;
    const sides = ['a', 'b'].map((side) => index(decisions, `${side}_call`, pair));
    const call = sides.find((c) => c >= 0 && !this.graph.call.includes(c));
    const box = this.endsOf(pair)
      .flat()
      .map((i) => this.shown.shownAs[i])
      .findLast((id) => this.byId.has(id));
    if (call === undefined || box === undefined) return null;
    const lines = [at(calls, 'title', call), calls.handle[call], at(calls, 'step', call)].filter(Boolean);
    const w = 24 + 7.6 * Math.max(...lines.map((line) => Math.min(60, line.length)));
    const kernel = { call, lines, w, h: 12 + 15 * lines.length };
    return { from: box, red: pair, kernel: { ...kernel, ...this.freePlace(this.byId.get(box), kernel) } };
  }
  /** The nearest place beside, below or above a box where something of a size covers no other box. */
  freePlace(box, { w, h }) {
    const gap = 40;
    const covers = (x, y) =>
      Math.min(x, y) < 0 ||
      y + h > this.placed.h ||
      this.items.some((b) => b.x < x + w + 10 && x - 10 < b.x + b.w && b.y < y + h + 10 && y - 10 < b.y + b.h);
    const places = [];
    for (let dy = 0; dy <= 600; dy += 20)
      for (const x of [box.x + box.w + gap, box.x - w - gap, box.x])
        for (const y of [box.y + dy, box.y - dy]) places.push({ x, y });
    return places.find(({ x, y }) => !covers(x, y)) || { x: box.x + box.w + gap, y: box.y };
  }

  /** Start where text can be read: the top of the graph at 100 %, smaller only while all of it stays readable. */
  readable() {
    const width = this.canvas.clientWidth,
      height = this.canvas.clientHeight;
    if (!width || !this.placed || this.of !== this.graph) return;
    const whole = Math.min((width - 48) / this.across, (height - 72) / this.placed.h);
    const s = this.state;
    s.scale = Math.max(Math.min(1.25, whole), this.main || this.pair ? 0.75 : 0.92);
    const across = this.across * s.scale;
    const top = this.items.length
      ? this.items.reduce((best, item) => (item.y < best.y ? item : best), this.items[0])
      : null;
    s.x =
      across <= width - 24
        ? (width - across) / 2
        : Math.min(20, Math.max(width - across - 20, width / 2 - (top.x + top.w / 2) * s.scale));
    s.y = this.placed.h * s.scale < height - 40 ? (height - this.placed.h * s.scale) / 2 : this.label.hidden ? 20 : 44;
    s.placed = true;
    this.paint();
  }
  fitAll() {
    const s = this.state,
      width = this.canvas.clientWidth,
      height = this.canvas.clientHeight;
    if (!s || !this.placed) return;
    s.scale = Math.min(1.5, (width - 40) / this.across, (height - 40) / this.placed.h);
    s.x = (width - this.across * s.scale) / 2;
    s.y = (height - this.placed.h * s.scale) / 2;
    this.paint();
  }
  zoom(by, cx = this.canvas.clientWidth / 2, cy = this.canvas.clientHeight / 2) {
    const s = this.state;
    if (!s) return;
    const scale = Math.max(0.01, Math.min(4, s.scale * by));
    s.x = cx - ((cx - s.x) * scale) / s.scale;
    s.y = cy - ((cy - s.y) * scale) / s.scale;
    s.scale = scale;
    this.touched();
  }
  /** The view was moved by hand: it is in the address, and stays where it is. */
  touched() {
    this.state.moved = true;
    writeMoved();
    this.paint();
  }
  centre(x, y) {
    const s = this.state;
    s.x = this.canvas.clientWidth / 2 - x * s.scale;
    s.y = this.canvas.clientHeight / 2 - y * s.scale;
    s.placed = true;
    this.paint();
  }
  toggle(name) {
    if (!this.graph) return;
    if (name === 'pair') {
      this.paired = !this.paired;
      this.pairUp();
      this.drawLegend();
      this.state.placed = false;
      return;
    }
    this.pair?.toggle(name);
    if (name === 'costs') {
      this.costs = !this.costs;
      this.costsBox.checked = this.costs;
    } else this.state[name] = !this.state[name];
    this.keepInPlace();
    writeHash();
  }
  foldAll(shut) {
    if (!this.graph) return;
    const kinds = this.graph.groups.kind || [];
    this.state.closed = new Set(shut ? kinds.keys() : []);
    if (shut && kinds.includes('module') && this.graph.nodes.n > MAX_OPEN) this.state.modules = true;
    if (!shut && this.graph.nodes.n > MAX_OPEN) Object.assign(this.state, { modules: false, views: true });
    this.arrange(() => this.readable());
    this.state.moved = false;
    writeHash();
  }
  fold(group, shut = !this.state.closed.has(group)) {
    const { groups } = this.graph;
    if (shut) this.state.closed.add(group);
    else {
      this.state.closed.delete(group);
      if (isModule(groups.kind[group])) this.state.modules = true;
    }
    this.keepInPlace(group);
    writeHash();
    say(`${groups.title[group]} ${shut ? 'folded' : 'opened'}`);
  }
  /** Lay out anew without the thing under the eye jumping away. */
  keepInPlace(group = null) {
    const s = this.state;
    const find = () => {
      if (group !== null) {
        const box = this.byId.get(-1 - group);
        if (box) return [box.x + box.w / 2, box.y];
        const frame = this.frameById.get(group);
        if (frame) return [(frame.corner[0] + frame.corner[2]) / 2, frame.corner[1]];
      }
      const focus = chosen.links?.focus;
      if (focus && focus[0] === this.g) {
        const box = this.byId.get(this.shown.shownAs[focus[1]]);
        if (box) return [box.x + box.w / 2, box.y];
      }
      return null;
    };
    const before = this.placed && this.of === this.graph ? find() : null;
    this.arrange(() => {
      const after = find();
      if (before && after) {
        const [dx, dy] = [before[0] - after[0], before[1] - after[1]];
        s.x += dx * s.scale;
        s.y += dy * s.scale;
        this.shiftMoves(dx, dy);
      } else this.readable();
    });
  }
  /** The view went along with what stays in place: old places go along as well. */
  shiftMoves(dx, dy) {
    if (!this.move) return;
    for (const place of this.move.from.values()) {
      place[0] -= dx;
      place[1] -= dy;
    }
    for (const [id, c] of this.move.frames) this.move.frames.set(id, [c[0] - dx, c[1] - dy, c[2] - dx, c[3] - dy]);
  }

  /** Open what hides a node; of a node at one end of a missed fusion the modules alone. */
  uncover(i, end = false) {
    let changed = false;
    const { groups } = this.graph;
    for (let g = this.graph.home[i]; g >= 0; g = index(groups, 'parent', g))
      if ((!end || isModule(groups.kind[g])) && this.state.closed.delete(g)) {
        changed = true;
        if (isModule(groups.kind[g])) this.state.modules = true;
      }
    if (this.graph.dim[i] && !this.state.views && !end) {
      this.state.views = true;
      changed = true;
    }
    return changed;
  }
  follow(from) {
    if (!this.graph || this.opened !== chosen.recording) return;
    if (chosen.links && from !== 'graph') {
      const { links } = chosen;
      let wanted = links.focus ? links.focus[0] : chosen.type === 'group' ? chosen.key[0] : null;
      if (chosen.type === 'decision' && !this.endsOf(chosen.key)) {
        const home = index(this.recording.decisions, 'graph', chosen.key);
        wanted = home >= 0 ? home : null;
      }
      const shown = [this.g, this.pair?.g];
      if (this.main) {
        // the view beside it decides which graphs are shown
      } else if (wanted !== null && !shown.includes(wanted)) this.open(wanted);
      else if (wanted === null && !shown.some((g) => links.nodes.has(g)) && links.nodes.size)
        this.open(
          [...links.nodes.keys()].sort((a, b) => (b === this.recording.default) - (a === this.recording.default))[0],
        );
      if (!this.main) this.both((view) => view.revealChosen());
    }
    if (this.listing) this.markList();
    this.paint();
  }
  revealChosen() {
    const { links } = chosen;
    if (!links || !this.canvas.clientWidth) {
      this.pending = true;
      return;
    }
    this.pending = false;
    const ends = this.chosenEnds();
    const focus = links.focus && links.focus[0] === this.g ? [links.focus[1]] : [];
    const opened = (ends || focus).map((i) => this.uncover(i, Boolean(ends)));
    const reveal = () => {
      if (ends && this.scaleOf(this.boundsOf(ends)) < LEGIBLE && this.foldCalls(ends))
        this.arrange(() => this.showChosen());
      else this.showChosen();
    };
    if (opened.includes(true) || this.of !== this.graph) this.arrange(reveal);
    else reveal();
  }
  /** Fold the kernels that nodes ran in, each into one box; whether one was open. */
  foldCalls(nodes) {
    const { groups, home } = this.graph;
    const calls = nodes.map((i) => home[i]).filter((g) => g >= 0 && groups.kind[g] === 'call');
    const open = calls.filter((g) => !this.state.closed.has(g));
    for (const g of open) this.state.closed.add(g);
    return open.length > 0;
  }
  /** Where the boxes of nodes are, [left, top, right, bottom]; null where none is drawn. */
  boundsOf(nodes) {
    const boxes = nodes.map((i) => this.byId.get(this.shown.shownAs[i])).filter(Boolean);
    return boxes.length
      ? [
          Math.min(...boxes.map((b) => b.x)),
          Math.min(...boxes.map((b) => b.y)),
          Math.max(...boxes.map((b) => b.x + b.w)),
          Math.max(...boxes.map((b) => b.y + b.h)),
        ]
      : null;
  }
  /** The scale at which all of a place is in view. */
  scaleOf(bounds) {
    if (!bounds) return 1;
    const [x0, y0, x1, y1] = bounds;
    return Math.min(1.2, (this.canvas.clientWidth - 80) / (x1 - x0), (this.canvas.clientHeight - 80) / (y1 - y0));
  }
  /** The nodes at both ends of the chosen decision, null where none is chosen or it is not drawn here. */
  chosenEnds() {
    return chosen.type === 'decision' ? this.endsOf(chosen.key)?.flat() : null;
  }
  showChosen() {
    const { links } = chosen;
    if (!links) return;
    const ends = this.chosenEnds();
    const beside = this.main || this.pair;
    if (!ends && beside?.chosenEnds()) {
      if (!this.state.placed) this.readable(); // the pair is in the view beside this one
      return;
    }
    const focus = links.focus && links.focus[0] === this.g ? [links.focus[1]] : null;
    const nodes = focus && this.boundsOf(focus) ? focus : (ends ?? [...(links.nodes.get(this.g) || [])]);
    const bounds = this.boundsOf(nodes);
    if (!bounds) return;
    const [x0, y0, x1, y1] = bounds;
    const s = this.state,
      width = this.canvas.clientWidth,
      height = this.canvas.clientHeight;
    s.placed = true;
    if (ends) {
      this.markRed();
      const extra = this.extra.find(({ red }) => red === chosen.key); // beside the boxes: a kernel, or the price
      const place = [x0, y0, extra && !extra.kernel ? x1 + PRICE : x1, y1];
      if (extra?.kernel) {
        const { x, y, w, h } = extra.kernel;
        Object.assign(place, [Math.min(x0, x), Math.min(y0, y), Math.max(x1, x + w), Math.max(y1, y + h)]);
      }
      s.scale = this.scaleOf(place);
      this.centre((place[0] + place[2]) / 2, (place[1] + place[3]) / 2);
      return;
    }
    if (s.scale < 0.6) s.scale = 1;
    const inside =
      x0 * s.scale + s.x > 10 &&
      x1 * s.scale + s.x < width - 10 &&
      y0 * s.scale + s.y > 10 &&
      y1 * s.scale + s.y < height - 10;
    if (!inside)
      this.centre(
        (x0 + x1) / 2,
        (x1 - x0) * s.scale < width && (y1 - y0) * s.scale < height ? (y0 + y1) / 2 : y0 + height / s.scale / 3,
      );
  }

  draw() {
    const { context, width, height } = fit(this.canvas);
    context.fillStyle = colours().paper;
    context.clearRect(0, 0, width, height);
    if (!this.graph || !this.placed || this.of !== this.graph || this.opened !== chosen.recording) return;
    if (this.dragging && this.items.length > 800 && this.state.scale < 0.3) this.shift(context, width, height);
    else {
      this.snapshot = null;
      this.view(context, width, height, 0, 0);
    }
    this.minimap.draw();
    PAGE.frames = (PAGE.frames || 0) + 1;
  }

  view(context, width, height, dx, dy) {
    const s = this.state,
      x = s.x + dx,
      y = s.y + dy;
    context.save();
    context.translate(x, y);
    context.scale(s.scale, s.scale);
    this.scene(context, {
      x0: -x / s.scale,
      y0: -y / s.scale,
      x1: (width - x) / s.scale,
      y1: (height - y) / s.scale,
      scale: s.scale,
    });
    context.restore();
  }
  /** While thousands of boxes are dragged, move a picture of them; draw it anew where it ends. */
  shift(context, width, height) {
    const s = this.state,
      margin = 400,
      ratio = window.devicePixelRatio || 1,
      shot = this.snapshot;
    if (!shot || shot.scale !== s.scale || Math.abs(s.x - shot.x) > margin || Math.abs(s.y - shot.y) > margin) {
      const canvas = document.createElement('canvas');
      canvas.width = (width + 2 * margin) * ratio;
      canvas.height = (height + 2 * margin) * ratio;
      const inner = canvas.getContext('2d');
      inner.setTransform(ratio, 0, 0, ratio, 0, 0);
      this.view(inner, width + 2 * margin, height + 2 * margin, margin, margin);
      this.snapshot = { canvas, x: s.x, y: s.y, scale: s.scale };
    }
    const { canvas, x, y } = this.snapshot;
    context.drawImage(canvas, s.x - x - margin, s.y - y - margin, canvas.width / ratio, canvas.height / ratio);
  }

  /** Draw what is in view; also to SVG. */
  scene(context, view) {
    const c = colours(),
      { graph } = this;
    const along = view.still ? null : this.moved();
    const between = (a, b) => a + (b - a) * along;
    const cornerOf = (frame) => {
      const old = along === null ? null : this.move.frames.get(frame.id);
      return old ? frame.corner.map((value, i) => between(old[i], value)) : frame.corner;
    };
    const placeOf = (item) => {
      const old = along === null ? null : this.move.from.get(item.id);
      return old ? { ...item, x: between(old[0], item.x), y: between(old[1], item.y) } : item;
    };
    const near = (x0, y0, x1, y1) => x1 >= view.x0 && x0 <= view.x1 && y1 >= view.y0 && y0 <= view.y1;
    const marked = chosen.links && chosen.recording === this.recording.position ? chosen.links.nodes.get(this.g) : null;
    const markedBoxes = new Set(marked ? [...marked].map((i) => this.shown.shownAs[i]) : []);
    const focus =
      chosen.links?.focus && chosen.links.focus[0] === this.g ? this.shown.shownAs[chosen.links.focus[1]] : null;
    const markedCalls = chosen.links && chosen.recording === this.recording.position ? chosen.links.calls : new Set();
    const text = view.scale > 0.38;
    for (const frame of this.frames) {
      const [x0, y0, x1, y1] = cornerOf(frame);
      if (!near(x0, y0, x1, y1)) continue;
      const look = this.frameLook(frame);
      const strong = frame.kind === 'call' && markedCalls.has(index(graph.groups, 'ref', frame.id));
      rounded(context, x0, y0, x1 - x0, y1 - y0, 10);
      context.fillStyle = look.fill;
      context.fill();
      context.strokeStyle = look.stroke;
      context.lineWidth = strong ? 2.6 : frame.kind === 'call' ? 1.5 : 1;
      context.setLineDash(frame.kind === 'op' ? [5, 3] : []);
      context.stroke();
      context.setLineDash([]);
    }
    context.globalAlpha = along === null ? 1 : along ** 3;
    this.drawEdges(context, view, near, markedBoxes, c);
    context.globalAlpha = 1;
    if (text)
      for (const frame of this.frames)
        if (near(...frame.corner)) this.frameTitle(context, frame, cornerOf(frame), this.frameLook(frame));
    for (const standing of this.items) {
      const item = placeOf(standing);
      if (!near(item.x - 4, item.y - 4, item.x + item.w + 4, item.y + item.h + 4)) continue;
      this.box(context, item, text, view.scale, markedBoxes.has(item.id), item.id === focus, c);
    }
    for (const { kernel } of this.extra) if (kernel && text) this.drawAlone(context, kernel, c);
    if (along === null) this.redLabels(context, view, near, c);
    else this.paint();
  }

  frameLook(frame) {
    const c = colours(),
      { groups } = this.graph,
      r = this.recording;
    if (frame.kind === 'call') {
      const extern = PAGE.theme.extern.includes(r.calls.type[groups.ref[frame.id]]);
      const [fill, stroke] = kindColours(extern ? 'kernel' : 'fused');
      return { fill: mix(c.paper, fill, 0.42), stroke, text: stroke };
    }
    if (frame.kind === 'op' && at(groups, 'meta', frame.id)) {
      const [fill, stroke] = kindColours(this.groupKind(frame.id));
      return { fill: mix(c.paper, fill, 0.42), stroke, text: stroke };
    }
    return {
      fill: mix(c.paper, c.muted, frame.kind === 'op' ? 0.03 : 0.05 + 0.02 * Math.min(4, frame.depth)),
      stroke: mix(c.paper, c.muted, 0.5),
      text: c.muted,
    };
  }
  frameTitle(context, frame, corner, look) {
    const [x0, y0, x1] = corner,
      { groups } = this.graph,
      id = frame.id;
    const share = at(groups, 'share', id);
    const wide = x1 - x0 - 34;
    const title_ = shorten(groups.title[id], Math.max(6, Math.floor((wide - (known(share) ? 60 : 0)) / 7.3)));
    const lines = frameLines(groups, id)
      .map((key) => at(groups, key, id))
      .filter(Boolean);
    context.fillStyle = look.fill;
    context.fillRect(x0 + 7, y0 + 6, 19 + title_.length * 7.3, 16);
    context.textAlign = 'left';
    context.textBaseline = 'middle';
    context.font = sans(12);
    context.fillStyle = look.text;
    context.fillText('▾', x0 + 9, y0 + 14);
    context.font = mono(12, 600);
    context.fillText(title_, x0 + 24, y0 + 14);
    lines.forEach((line, k) => {
      const cut = shorten(line, Math.max(6, Math.floor(wide / 7.23)));
      context.fillStyle = look.fill;
      context.fillRect(x0 + 22, y0 + 22 + 15 * k, cut.length * 7.23 + 4, 15);
      context.fillStyle = k === 0 && lines.length > 1 ? colours().muted : look.text;
      context.font = mono(12);
      context.fillText(cut, x0 + 24, y0 + 30 + 15 * k);
    });
    if (known(share)) this.gauge(context, x1 - 62, y0 + 11, 50, share, look.stroke);
  }
  /** A small bar: share of the roof. */
  gauge(context, x, y, w, share, colour) {
    context.fillStyle = mix(colours().paper, colours().muted, 0.25);
    context.fillRect(x, y, w, 5);
    context.fillStyle = colour;
    context.fillRect(x, y, w * Math.min(1, share), 5);
  }

  drawEdges(context, view, near, markedBoxes, c) {
    const trace = (edge) => {
      const p = edge.points;
      context.moveTo(p[0], p[1]);
      if (view.scale < 0.12) {
        context.lineTo(p[p.length - 2], p[p.length - 1]);
        return;
      }
      for (let i = 2; i + 5 < p.length; i += 6)
        context.bezierCurveTo(p[i], p[i + 1], p[i + 2], p[i + 3], p[i + 4], p[i + 5]);
      if ((p.length - 2) % 6) context.lineTo(p[p.length - 2], p[p.length - 1]);
    };
    const plain = [],
      strong = [],
      red = [];
    for (const edge of this.edges) {
      if (!near(edge.x0, edge.y0, edge.x1, edge.y1)) continue;
      if (view.scale < 0.12 && edge.y1 - edge.y0 + edge.x1 - edge.x0 < 2 / view.scale) continue;
      (edge.red !== null ? red : markedBoxes.has(edge.from) && markedBoxes.has(edge.to) ? strong : plain).push(edge);
    }
    const stroke = (list, colour, width, heads) => {
      if (!list.length) return;
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.beginPath();
      for (const edge of list) trace(edge);
      context.stroke();
      if (!heads) return;
      context.fillStyle = colour;
      context.beginPath();
      for (const edge of list) {
        const p = edge.points,
          n = p.length,
          x = p[n - 2],
          y = p[n - 1];
        let dx = x - p[n - 4],
          dy = y - p[n - 3];
        const length = Math.hypot(dx, dy) || 1;
        dx /= length;
        dy /= length;
        const size = 4 + width;
        context.moveTo(x, y);
        context.lineTo(x - dx * size - dy * size * 0.55, y - dy * size + dx * size * 0.55);
        context.lineTo(x - dx * size + dy * size * 0.55, y - dy * size - dx * size * 0.55);
        context.closePath();
      }
      context.fill();
    };
    const heads = view.scale > 0.3;
    const thin = Math.max(1.1, 0.7 / view.scale);
    stroke(plain, c.edge, Math.min(thin, 4), heads);
    stroke(strong, c.text, 1.8, heads);
    stroke(red, c.cost, Math.min(Math.max(2.6, 1.2 / view.scale), 8), heads);
    for (const pair of this.extra) {
      const a = this.byId.get(pair.from),
        b = this.byId.get(pair.to);
      if (!a || !(b || pair.kernel)) continue;
      context.strokeStyle = c.cost;
      context.lineWidth = 2;
      context.setLineDash([6, 4]);
      context.beginPath();
      if (pair.kernel) {
        const { x, y, w, h } = pair.kernel;
        const [ax, ay, bx, by] = [a.x + a.w / 2, a.y + a.h / 2, x + w / 2, y + h / 2];
        context.moveTo(ax, ay);
        context.lineTo(bx, by);
        context.stroke();
        context.setLineDash([]);
        pair.at = [(ax + bx) / 2, (ay + by) / 2];
        continue;
      }
      const ax = a.x + a.w,
        ay = a.y + a.h / 2,
        bx = b.x + b.w,
        by = b.y + b.h / 2,
        out = Math.max(ax, bx) + 40;
      context.moveTo(ax, ay);
      context.bezierCurveTo(out, ay, out, by, bx, by);
      context.stroke();
      context.setLineDash([]);
      pair.at = [out - 10, (ay + by) / 2];
    }
  }
  /** Draw the kernel of the chosen pair that has no box of its own. */
  drawAlone(context, { call, lines, x, y, w, h }, c) {
    const extern = PAGE.theme.extern.includes(this.recording.calls.type[call]);
    const [fill, stroke] = kindColours(extern ? 'kernel' : 'fused');
    rounded(context, x, y, w, h, 7);
    context.fillStyle = fill;
    context.fill();
    context.strokeStyle = stroke;
    context.lineWidth = 2.4;
    context.stroke();
    context.textAlign = 'left';
    context.textBaseline = 'middle';
    context.fillStyle = c.text;
    lines.forEach((line, k) => {
      context.font = mono(12, k ? 400 : 600);
      context.fillText(shorten(line, 60), x + 12, y + 14 + 15 * k);
    });
  }
  redLabels(context, view, near, c) {
    if (view.scale < 0.45 || !this.costs) {
      this.labels = [];
      return;
    }
    const d = this.recording.decisions,
      boxes = [...this.items, ...this.extra.flatMap(({ kernel }) => kernel || [])],
      done = new Set();
    this.labels = [];
    const label = (pair, x, y) => {
      if (done.has(pair) || !near(x - 60, y - 10, x + 60, y + 10)) return;
      done.add(pair);
      const words_ = `${at(d, 'price', pair)} not fused`;
      context.font = sans(12, 600);
      context.textAlign = 'left';
      context.textBaseline = 'middle';
      const w = context.measureText(words_).width + 12;
      const meets = (other) => x + 6 < other.x + other.w && other.x < x + 6 + w;
      const covers = (other) => Math.abs(other.y + 9 - y) < 19 && meets(other);
      const hides = (dy) =>
        boxes.some((b) => b.x < x + 6 + w && x + 6 < b.x + b.w && b.y + 4 < y + dy + 9 && y + dy - 5 < b.y + b.h);
      const free = (dy) =>
        !hides(dy) && !this.labels.some((other) => Math.abs(other.y + 9 - y - dy) < 19 && meets(other));
      const place = [0, 20, -20, 40, -40].find(free);
      if (place !== undefined) y += place;
      else for (let tries = 0; tries < 6 && this.labels.some(covers); tries += 1) y += 20;
      const on_ = chosen.links && chosen.type === 'decision' && chosen.key === pair;
      rounded(context, x + 6, y - 9, w, 18, 9);
      context.fillStyle = on_ ? c.cost : c.paper;
      context.fill();
      context.strokeStyle = c.cost;
      context.lineWidth = 1;
      context.stroke();
      context.fillStyle = on_ ? c.paper : c.cost;
      context.fillText(words_, x + 12, y + 0.5);
      this.labels.push({ pair, x: x + 6, y: y - 9, w, h: 18 });
    };
    for (const edge of this.edges)
      if (edge.red !== null && edge.label) {
        const p = edge.points,
          m = (p.length >> 2) << 1;
        const mid = p.length >= 8 ? bezierPoint(p, 0.24) : [p[m], p[m + 1]];
        label(edge.red, mid[0], mid[1]);
      }
    for (const pair of this.extra) if (pair.at) label(pair.red, pair.at[0], pair.at[1]);
  }

  box(context, item, text, scale, marked, focus, c) {
    const { graph } = this,
      { x, y, w, h } = item,
      isGroup = item.id < 0,
      g = -1 - item.id;
    const kind = isGroup ? this.groupKind(g) : graph.nodes.kind[item.id];
    const [fill, stroke] = kind ? kindColours(kind) : [mix(c.paper, c.muted, 0.1), c.muted];
    const dim = !isGroup && graph.dim[item.id];
    if (scale < 0.16) {
      context.fillStyle = marked ? stroke : mix(fill, stroke, 0.35);
      context.fillRect(x, y, w, h);
      return;
    }
    const border = kind ? PAGE.theme.kinds[kind].border : 'solid';
    if (isGroup) {
      rounded(context, x + 3, y + 3, w, h, 7);
      context.fillStyle = mix(c.paper, stroke, 0.35);
      context.fill();
    }
    rounded(context, x, y, w, h, dim ? 12 : 7);
    context.fillStyle = fill;
    context.fill();
    context.strokeStyle = stroke;
    context.lineWidth = 1.1;
    context.setLineDash(
      border === 'dashed' || (dim && kind === 'fused') ? [4, 3] : border === 'dotted' ? [1.5, 2.5] : [],
    );
    context.stroke();
    context.setLineDash([]);
    if (marked) {
      rounded(context, x - 3, y - 3, w + 6, h + 6, dim ? 14 : 9);
      context.strokeStyle = focus ? c.text : stroke;
      context.lineWidth = focus ? 2.6 : 2;
      context.stroke();
    }
    if (!text) return;
    const title = isGroup ? shorten(graph.groups.title[g], 60) : graph.title[item.id],
      sub = isGroup ? shorten(at(graph.groups, 'sub', g) || '', 60) : graph.sub[item.id],
      meta = isGroup ? at(graph.groups, 'meta', g) || '' : graph.meta[item.id];
    const glyph = isGroup ? '▸' : PAGE.theme.kinds[kind].glyph;
    context.textBaseline = 'middle';
    context.textAlign = 'left';
    context.font = sans(12);
    context.fillStyle = stroke;
    context.fillText(glyph, x + 8, y + (dim || h < 26 ? h / 2 : 14));
    if (h < 26) {
      context.font = mono(12);
      context.fillStyle = dim ? c.muted : c.text;
      context.fillText(title, x + 22, y + h / 2 + 0.5);
      context.font = mono(12);
      context.fillStyle = c.muted;
      const left = 30 + title.length * 7.3;
      if (w - left > 24) context.fillText(shorten(sub, Math.floor((w - left - 4) / 7.23)), x + left, y + h / 2 + 0.5);
      return;
    }
    const room = (text_, px, left) => shorten(text_, Math.max(3, Math.floor((w - left - 6) / px)));
    context.font = mono(12.5, 600);
    context.fillStyle = c.text;
    context.fillText(room(title, 7.53, 23), x + 23, y + 14);
    let line = y + 30;
    if (sub) {
      context.font = mono(12);
      context.fillStyle = c.muted;
      context.fillText(room(sub, 7.23, 10), x + 10, line);
      line += 15;
    }
    if (meta) {
      context.font = sans(12, 600);
      context.fillStyle = stroke;
      context.fillText(meta, x + 10, line);
    }
  }
  groupKind(g) {
    const { groups } = this.graph;
    if (groups.kind[g] === 'call')
      return PAGE.theme.extern.includes(this.recording.calls.type[groups.ref[g]]) ? 'kernel' : 'fused';
    if (groups.kind[g] === 'op') return this.graph.nodes.kind[groups.ref[g]];
    return null;
  }

  /** What is under a point of the canvas: a box, a red label, a frame's title, or nothing. */
  hit(px, py) {
    if (!this.placed || this.of !== this.graph) return null;
    const s = this.state,
      x = (px - s.x) / s.scale,
      y = (py - s.y) / s.scale;
    for (const label of this.labels || [])
      if (x >= label.x && x <= label.x + label.w && y >= label.y && y <= label.y + label.h)
        return { type: 'decision', key: label.pair };
    for (const item of this.items)
      if (x >= item.x && x <= item.x + item.w && y >= item.y && y <= item.y + item.h)
        return item.id >= 0
          ? { type: 'node', key: item.id }
          : { type: 'closed', key: -1 - item.id, mark: x < item.x + 22 };
    for (let i = this.frames.length - 1; i >= 0; i -= 1) {
      const [x0, y0, x1, y1] = this.frames[i].corner;
      if (x >= x0 && x <= x1 && y >= y0 && y <= y1)
        return { type: 'frame', key: this.frames[i].id, mark: y < y0 + 26 && x < x0 + 24, head: y < y0 + 40 };
    }
    return null;
  }
  act(hit, twice) {
    if (!hit) {
      choose(null, null, { from: 'graph' });
      return;
    }
    const { groups } = this.graph;
    if (hit.type === 'node') choose('node', [this.g, hit.key], { from: 'graph' });
    else if (hit.type === 'decision') choose('decision', hit.key, { from: 'graph' });
    else if (hit.mark || twice || (hit.type === 'closed' && isModule(groups.kind[hit.key]))) {
      this.fold(hit.key);
      if (groups.kind[hit.key] === 'call') choose('call', groups.ref[hit.key], { from: 'graph' });
      else choose('group', [this.g, hit.key], { from: 'graph' });
    } else if (hit.type === 'frame' && !hit.head) choose(null, null, { from: 'graph' });
    else if (groups.kind[hit.key] === 'call') choose('call', groups.ref[hit.key], { from: 'graph' });
    else if (groups.kind[hit.key] === 'op') choose('node', [this.g, groups.ref[hit.key]], { from: 'graph' });
    else choose('group', [this.g, hit.key], { from: 'graph' });
  }
  pointer() {
    const canvas = this.canvas;
    let down = null;
    canvas.addEventListener('pointerdown', (event) => {
      down = { x: event.offsetX, y: event.offsetY, sx: this.state?.x, sy: this.state?.y, moved: false };
      canvas.setPointerCapture(event.pointerId);
      this.tip.hidden = true;
    });
    canvas.addEventListener('pointermove', (event) => {
      if (down && this.state) {
        const dx = event.offsetX - down.x,
          dy = event.offsetY - down.y;
        if (Math.hypot(dx, dy) > 4) down.moved = true;
        if (down.moved) {
          this.state.x = down.sx + dx;
          this.state.y = down.sy + dy;
          canvas.classList.add('dragging');
          this.dragging = true;
          this.paint();
        }
      } else this.hover(event);
    });
    canvas.addEventListener('pointerup', (event) => {
      canvas.classList.remove('dragging');
      if (this.dragging) {
        this.dragging = false;
        this.touched();
      }
      if (down && !down.moved) this.act(this.hit(event.offsetX, event.offsetY), event.detail > 1);
      down = null;
    });
    canvas.addEventListener('dblclick', (event) => {
      const hit = this.hit(event.offsetX, event.offsetY);
      if (
        hit &&
        (hit.type === 'frame' ? hit.head : hit.type === 'closed' && this.graph.groups.kind[hit.key] === 'call') &&
        !hit.mark
      )
        this.fold(hit.key);
    });
    canvas.addEventListener('pointerleave', () => {
      this.tip.hidden = true;
    });
    canvas.addEventListener(
      'wheel',
      (event) => {
        event.preventDefault();
        if (!this.state) return;
        if (event.ctrlKey || event.metaKey || (Math.abs(event.deltaY) >= 100 && !event.shiftKey && event.deltaX === 0))
          this.zoom(Math.exp(-Math.max(-120, Math.min(120, event.deltaY)) * 0.0018), event.offsetX, event.offsetY);
        else {
          this.state.x -= event.shiftKey ? event.deltaY : event.deltaX;
          this.state.y -= event.shiftKey ? 0 : event.deltaY;
          this.paint();
        }
      },
      { passive: false },
    );
  }
  hover(event) {
    const hit = this.hit(event.offsetX, event.offsetY);
    this.canvas.style.cursor = hit && (hit.type !== 'frame' || hit.head) ? 'pointer' : 'grab';
    const r = this.recording;
    let lines = null;
    if (hit?.type === 'node') {
      const n = this.graph.nodes,
        i = hit.key,
        place = r.place(index(n, 'place', i));
      lines = [
        [`${n.name[i]}  ${n.target[i]}`, 'strong'],
        [at(n, 'shape', i)],
        [`${PAGE.theme.kinds[n.kind[i]].label}: ${at(n, 'reason', i) || PAGE.theme.kinds[n.kind[i]].meaning}`],
        place && place[0] ? [`${place[0]}:${place[1]}  ${place[2] || ''}`, 'code'] : null,
        place && place[4] ? [place[4]] : null,
      ];
    } else if (hit?.type === 'decision') {
      const d = r.decisions;
      lines = [
        [`${at(d, 'title', hit.key)}: not fused`, 'strong'],
        [d.reason[hit.key]],
        at(d, 'hint', hit.key) ? [`hint: ${d.hint[hit.key]}`] : null,
      ];
    } else if (hit && (hit.type === 'closed' || hit.head)) {
      const { groups } = this.graph,
        ref = index(groups, 'ref', hit.key);
      lines = [
        [
          groups.kind[hit.key] === 'call' ? r.calls.handle[ref] : at(groups, 'path', hit.key) || groups.title[hit.key],
          'strong',
        ],
        [at(groups, 'sub', hit.key)],
        [at(groups, 'meta', hit.key)],
      ];
    }
    if (!lines) {
      this.tip.hidden = true;
      return;
    }
    clear(
      this.tip,
      lines.filter((line) => line && line[0]).map(([words_, style]) => el('div', { class: style || null }, words_)),
    );
    this.tip.hidden = false;
    this.tip.style.left = `${Math.min(event.clientX + 14, innerWidth - this.tip.offsetWidth - 8)}px`;
    this.tip.style.top = `${Math.min(event.clientY + 16, innerHeight - this.tip.offsetHeight - 8)}px`;
  }

  key(event) {
    if (!this.graph || event.ctrlKey || event.metaKey || event.altKey) return;
    const focus = chosen.links?.focus && chosen.links.focus[0] === this.g ? chosen.links.focus[1] : null;
    const to = (i) => {
      if (known(i) && i >= 0 && i < this.graph.nodes.n) {
        choose('node', [this.g, i], { from: 'keys' });
      }
    };
    const pan = (x, y) => {
      this.state.x += x;
      this.state.y += y;
      this.paint();
    };
    const actions = {
      ArrowUp: () => (focus === null || event.shiftKey ? pan(0, 80) : to(this.graph.inputs[focus][0])),
      ArrowDown: () => (focus === null || event.shiftKey ? pan(0, -80) : to(this.graph.users[focus][0])),
      ArrowLeft: () => (focus === null || event.shiftKey ? pan(80, 0) : to(focus - 1)),
      ArrowRight: () => (focus === null || event.shiftKey ? pan(-80, 0) : to(focus + 1)),
      Home: () => to(0),
      End: () => to(this.graph.nodes.n - 1),
      '+': () => this.zoom(1.25),
      '=': () => this.zoom(1.25),
      '-': () => this.zoom(0.8),
      0: () => this.readable(),
      f: () => this.fitAll(),
      v: () => this.toggle('views'),
      m: () => this.toggle('modules'),
      u: () => this.toggle('costs'),
      b: () => this.pairBox.parentElement.hidden || this.toggle('pair'),
      n: () => to(focus === null ? 0 : focus + 1),
      p: () => to(focus === null ? 0 : focus - 1),
      Enter: () => {
        if (chosen.type === 'group' && chosen.key[0] === this.g) this.fold(chosen.key[1]);
        else if (focus !== null && this.graph.home[focus] >= 0) this.fold(this.graph.home[focus]);
        else if (chosen.type === 'call') {
          const g = (this.graph.groups.ref || []).findIndex(
            (ref, i) => ref === chosen.key && this.graph.groups.kind[i] === 'call',
          );
          if (g >= 0) this.fold(g);
        } else to(0);
      },
    };
    if (actions[event.key]) {
      event.preventDefault();
      actions[event.key]();
    }
  }

  /** Let one of several graphs be picked; two that stand beside each other are both seen. */
  showPick() {
    this.graphPick.hidden = this.several < 2 || (this.several === 2 && Boolean(this.pair) && !this.listing);
  }
  get listing() {
    return Boolean(this.as);
  }
  /** Show "list" (the same graph in rows, to be read in order) or "changes"; the graph again where that is shown. */
  showAs(what) {
    this.as = this.as === what || (what === 'changes' && this.changesButton.hidden) ? null : what;
    this.listButton.setAttribute('aria-pressed', String(this.as === 'list'));
    this.changesButton.setAttribute('aria-pressed', String(this.as === 'changes'));
    this.since.hidden = this.as !== 'changes';
    this.stagesHost.hidden = this.listing;
    this.showPick();
    this.listHost.hidden = !this.listing;
    if (this.listing) this.fillList();
    else {
      this.count();
      this.paint();
    }
    writeHash();
  }
  fillList() {
    clear(this.listHost);
    let table = null;
    if (this.as === 'changes') {
      const a = Number(this.since.value);
      const rows = changesBetween(this.recording, a, this.g);
      table = changesTable(this.recording, a, this.g, rows);
      this.say(`${table.title}: ${changesWords(rows)}`);
    } else table = this.nodesTable();
    this.list = new Table(this.listHost, table);
    this.markList();
  }
  nodesTable() {
    const { graph } = this,
      n = graph.nodes,
      r = this.recording;
    const rows = [...graph.inputs.keys()];
    return {
      key: 'nodes',
      title: `Nodes of ${graph.id}`,
      columns: [
        ['n', '#', 'int'],
        ['name', 'Node', 'text'],
        ['op', 'Op', 'text'],
        ['kind', 'Kind', 'text'],
        ['shape', 'Output', 'text'],
        ['inputs', 'Inputs', 'text'],
        ['call', 'Kernel call', 'text'],
        ['median', 'Device time', 'us'],
        ['where', 'Source', 'text'],
        ['module', 'Module', 'text'],
        ['why', 'How it is known', 'text'],
      ],
      values: [
        rows,
        rows.map((i) => n.name[i]),
        rows.map((i) => n.target[i]),
        rows.map((i) => `${PAGE.theme.kinds[n.kind[i]].glyph} ${PAGE.theme.kinds[n.kind[i]].label}`),
        rows.map((i) => at(n, 'shape', i)),
        rows.map((i) => graph.inputs[i].map((s) => n.name[s]).join(', ')),
        rows.map((i) => (graph.call[i] >= 0 ? r.calls.handle[graph.call[i]] : null)),
        rows.map((i) => at(n, 'median', i)),
        rows.map((i) => {
          const p = r.place(index(n, 'place', i));
          return p && p[0] ? `${p[0].split('/').pop()}:${p[1]}` : null;
        }),
        rows.map((i) => r.place(index(n, 'place', i))?.[4] ?? null),
        rows.map((i) => at(n, 'reason', i)),
      ],
      refs: rows.map((i) => ['node', [this.g, i]]),
    };
  }
  markList() {
    this.list?.follow();
  }

  /** The whole graph to keep or print: with title, where it ran and legend, nothing cut. */
  picture() {
    const pad = 24,
      head = 96,
      e = this.recording.environment,
      versions = [
        e.target ? `plan for ${e.target}` : e.device,
        e.torch && `torch ${e.torch}`,
        e.triton && `triton ${e.triton}`,
      ].filter(Boolean),
      stage = [PAGE.stages[this.graph.stage], this.graph.direction, this.graph.compile].filter(Boolean).join(' · '),
      ends = this.extra.map(({ kernel }) => (kernel ? kernel.x + kernel.w - this.placed.w : 0)),
      marked = this.costs && (this.extra.length || this.edges.some((edge) => edge.red !== null)),
      red = marked ? Math.max(PRICE, ...ends) : 0,
      kinds = new Set(this.graph.nodes.kind || []),
      legend = Object.entries(PAGE.theme.kinds).filter(([kind]) => kinds.has(kind)),
      title_ = this.recording.title;
    const least = Math.max(title_.length * 11, versions.join(' · ').length * 7 + 200, (legend.length + 1) * 104);
    const width = Math.max(this.placed.w + red, least) + 2 * pad;
    const left = pad + Math.max(0, (width - 2 * pad - red - this.placed.w) / 2);
    return {
      width,
      height: this.placed.h + head + 2 * pad,
      name: `${title_}-${this.graph.id}`,
      holds: (x0, y0, x1, y1) =>
        [...this.items, ...this.extra.map(({ kernel }) => kernel)].some(
          (box) =>
            box && box.x + left < x1 && box.x + box.w + left > x0 && box.y + head < y1 && box.y + box.h + head > y0,
        ),
      draw: (context, part = { x0: -1e9, y0: -1e9, x1: 1e9, y1: 1e9 }) => {
        const c = colours();
        context.textAlign = 'left';
        context.textBaseline = 'alphabetic';
        context.fillStyle = c.text;
        context.font = sans(18, 700);
        context.fillText(title_, pad, pad + 16);
        context.fillStyle = c.muted;
        context.font = sans(12);
        context.fillText([stage, ...versions].join(' · '), pad, pad + 38);
        let x = pad;
        for (const [kind, look] of legend) {
          const [fill, stroke] = kindColours(kind);
          rounded(context, x, pad + 50, 16, 14, 3);
          context.fillStyle = fill;
          context.fill();
          context.strokeStyle = stroke;
          context.lineWidth = 1.1;
          context.stroke();
          context.fillStyle = c.text;
          context.fillText(look.label, x + 22, pad + 61);
          x += 42 + look.label.length * 7;
        }
        if (red) {
          context.fillStyle = c.cost;
          context.fillRect(x, pad + 56, 16, 3);
          context.fillText('not fused', x + 22, pad + 61);
        }
        context.save();
        context.translate(left, head);
        const { x0, y0, x1, y1 } = part;
        this.scene(context, { x0: x0 - left, y0: y0 - head, x1: x1 - left, y1: y1 - head, scale: 1, still: true });
        context.restore();
      },
    };
  }
  /** The picture cut into sheets of paper at full size, of too many as the graph opens; and how many there are. */
  sheets() {
    const found = this.drawnSheets();
    if (found[0].length === found[1]) return found;
    const { state } = this;
    this.state = { ...state, ...openingState(this.graph) };
    this.arrange();
    const folded = this.drawnSheets();
    this.state = state;
    this.arrange();
    this.move = null; // nothing moved
    return folded;
  }
  /** The corners of the sheets, down and then across. */
  sheetsOf({ width, height }) {
    const along = (whole, step) => {
      const number = Math.max(1, Math.ceil((whole - SHEET.over) / (step - SHEET.over)));
      return [...Array(number).keys()].map((i) => i * (step - SHEET.over));
    };
    return along(width, SHEET.w).flatMap((x) => along(height, SHEET.h).map((y) => [x, y]));
  }
  drawnSheets() {
    const picture = this.picture();
    const places = this.sheetsOf(picture).filter(
      ([x, y]) => !(x || y) || picture.holds(x, y, x + SHEET.w, y + SHEET.h),
    );
    const drawn = places.slice(0, SHEET.most).map(([x, y]) => {
      const [w, h] = [Math.min(SHEET.w, picture.width - x), Math.min(SHEET.h, picture.height - y)];
      const context = new SvgContext(w, h);
      context.root.setAttribute('viewBox', `${x} ${y} ${w} ${h}`);
      picture.draw(context, { x0: x, y0: y, x1: x + w, y1: y + h });
      return context.root;
    });
    return [drawn, places.length];
  }
}
function boundsOf(points) {
  let [x0, y0, x1, y1] = [Infinity, Infinity, -Infinity, -Infinity];
  for (let i = 0; i < points.length; i += 2) {
    x0 = Math.min(x0, points[i]);
    x1 = Math.max(x1, points[i]);
    y0 = Math.min(y0, points[i + 1]);
    y1 = Math.max(y1, points[i + 1]);
  }
  return { x0, y0, x1, y1 };
}
/** A point of a chain of cubic splines. */
function bezierPoint(p, along) {
  const pieces = Math.floor((p.length - 2) / 6),
    k = Math.min(pieces - 1, Math.floor(pieces * along)),
    t = pieces * along - k,
    o = k * 6,
    u = 1 - t;
  const value = (i) =>
    u ** 3 * p[o + i] +
    3 * u * u * t * p[o + i + 2] +
    3 * u * t * t * p[o + i + 4] +
    t ** 3 * (p[o + i + 6] ?? p[o + i + 4]);
  return pieces ? [value(0), value(1)] : [p[0], p[1]];
}
