// What is seen of a graph: which boxes, open frames and edges are left when groups are closed and views are hidden.

const MAX_OPEN = 150; // boxes up to which a graph opens unfolded
const MIN_FOLDED = 8; // below it one more level opens, if it fits unfolded
const MAX_FOLDED = 70; // boxes that a folded graph opens with, at most

/** Whether a group is an nn.Module. */
const isModule = (kind) => kind === 'module';

/** Width and height of a box in px: beside its title are a glyph and the margins. */
function sizeOf(graph, box) {
  const [from, i] = box >= 0 ? [graph, box] : [graph.groups, -1 - box];
  const [title, sub, meta] = ['title', 'sub', 'meta'].map((key) => Math.min(60, (at(from, key, i) || '').length));
  if (box >= 0) {
    const small = ['view', 'folded', 'eliminated', 'input'].includes(graph.nodes.kind[i]);
    if (small || (at(graph.nodes, 'nature', i) === 'view' && graph.stage !== 'eager'))
      return [Math.round(7.3 * (title + sub) + 42), 24];
  }
  const [beside, least, head] = box >= 0 ? [30, 72, 26] : [46, 110, 28];
  const width = Math.round(Math.max(7.6 * title + beside, 7.3 * sub + 24, 7.3 * meta + 24));
  return [Math.max(least, width), head + (sub ? 15 : 0) + (meta ? 15 : 0)];
}

/** Whether a group is drawn in a state ({modules, views, closed}). */
const isFramed = (graph, state, g) => !isModule(graph.groups.kind[g]) || state.modules;

/** The box that shows each node (null: hidden), and the innermost open frame around it (-1: none). */
function boxOfNodes(graph, state) {
  const count = graph.inputs.length;
  const { own } = graph; // node → the group that it opens into (an eager op and the ops it calls)
  const shownAs = new Array(count).fill(null);
  const inner = new Array(count).fill(-1);
  for (let i = 0; i < count; i += 1) {
    let box = i;
    let innermost = -1;
    const opens = own.has(i) ? own.get(i) : -1;
    for (let g = opens >= 0 ? opens : graph.home[i]; g >= 0; g = index(graph.groups, 'parent', g)) {
      if (!isFramed(graph, state, g)) continue;
      if (state.closed.has(g)) {
        box = -1 - g;
        innermost = -1;
      } else {
        if (g === opens) box = null; // an op that is open is the frame around the ops it calls
        if (innermost < 0) innermost = g;
      }
    }
    if (!state.views && box === i && graph.dim[i]) box = null;
    shownAs[i] = box;
    inner[i] = innermost;
  }
  return { shownAs, inner };
}

/** How many boxes a state shows; cheaper than `visible`. */
const numBoxes = (graph, state) => new Set(boxOfNodes(graph, state).shownAs.filter((box) => box !== null)).size;

/** Boxes, open frames and edges of a graph in a state. */
function visible(graph, state) {
  const groups = graph.groups;
  const { shownAs, inner } = boxOfNodes(graph, state);
  const boxes = new Map();
  for (let i = 0; i < shownAs.length; i += 1) {
    const box = shownAs[i];
    if (box === null) continue;
    const first = graph.nodes.kind[i] === 'input' ? Infinity : i; // weights are listed before all that runs
    if (boxes.has(box)) boxes.get(box).first = Math.min(boxes.get(box).first, first);
    else {
      const [w, h] = sizeOf(graph, box);
      boxes.set(box, { id: box, first, group: inner[i], w, h });
    }
  }
  const frames = new Map();
  for (const box of boxes.values())
    for (let g = box.group; g >= 0; g = index(groups, 'parent', g))
      if (isFramed(graph, state, g)) frames.set(g, { id: g, parent: -1 });
  for (const frame of frames.values()) {
    let p = index(groups, 'parent', frame.id);
    while (p >= 0 && !frames.has(p)) p = index(groups, 'parent', p);
    frame.parent = p;
  }
  const edges = edgesBetween(graph, shownAs);
  for (const [from, to] of edges) {
    const given = boxes.get(from);
    const { first } = boxes.get(to);
    if (given.first > first && !Number.isInteger(given.first)) given.first = first - 0.5; // just above its first user
  }
  const within = new Map(); // frame → where what it holds begins
  const framesOf = function* framesOf(box) {
    for (let g = box.group; g >= 0; g = frames.get(g).parent) yield g;
  };
  for (const box of boxes.values())
    for (const g of framesOf(box)) within.set(g, Math.min(within.get(g) ?? Infinity, box.first));
  for (const box of boxes.values())
    if (box.first === Infinity) {
      const g = [...framesOf(box)].find((frame) => within.get(frame) < Infinity);
      box.first = g === undefined ? -1 : within.get(g) - 0.5; // used by what is hidden: with what its module runs
    }
  return { boxes, frames, shownAs, edges };
}

/** Boxes in launch order, but none above one whose data it needs: a module may begin before it is fed. */
function inOrder({ boxes, edges }) {
  const waits = new Map();
  const users = new Map();
  for (const [from, to] of edges) {
    waits.set(to, (waits.get(to) || 0) + 1);
    push(users, from, to);
  }
  const left = [...boxes.values()].sort((a, b) => a.first - b.first);
  const out = [];
  while (left.length) {
    const next = left.findIndex((box) => !waits.get(box.id));
    const [box] = left.splice(Math.max(0, next), 1); // two that feed each other: the earlier one
    out.push(box);
    for (const to of users.get(box.id) || []) waits.set(to, waits.get(to) - 1);
  }
  return out;
}

/** Edges between what is shown; data goes on through what is hidden. */
function edgesBetween(graph, shownAs) {
  const { own } = graph; // node → the group that it opens into (an eager op and the ops it calls)
  const lastChild = new Map();
  graph.home.forEach((g, i) => lastChild.set(g, i));
  const cache = new Map();
  const sources = (i) => {
    if (shownAs[i] !== null) return [shownAs[i]];
    if (cache.has(i)) return cache.get(i);
    cache.set(i, []); // a graph has no cycle, but a recording may claim one
    const last = own.has(i) ? lastChild.get(own.get(i)) : undefined;
    let found = [];
    if (!own.has(i)) found = [...new Set(graph.inputs[i].flatMap(sources))];
    else if (last !== undefined) found = sources(last);
    cache.set(i, found);
    return found;
  };
  const edges = new Map();
  for (let i = 0; i < shownAs.length; i += 1) {
    if (shownAs[i] === null) continue;
    for (const given of graph.inputs[i])
      for (const s of sources(given)) if (s !== shownAs[i]) edges.set(`${s}>${shownAs[i]}`, [s, shownAs[i]]);
  }
  return [...edges.values()];
}

/** What stays closed when all is opened: what an op that does the work asks for. */
function closedAtFirst(graph) {
  const closed = new Set();
  for (const [node, g] of graph.own)
    if (graph.nodes.kind[node] === 'kernel' && graph.nodes.nature[node] !== 'composite') closed.add(g);
  return closed;
}

/** The state a graph opens in: all of a small one, the upper modules of a large one. */
function openingState(graph) {
  const all = { modules: false, views: graph.stage !== 'eager', closed: closedAtFirst(graph) };
  const groups = graph.groups;
  if (numBoxes(graph, all) <= MAX_OPEN || !groups.n) return all;
  const modules = groups.kind.includes('module');
  const depths = [];
  for (let g = 0; g < groups.n; g += 1) {
    const parent = index(groups, 'parent', g);
    const counts = parent >= 0 && (modules || !isModule(groups.kind[parent]));
    depths.push(counts ? depths[parent] + 1 : 0);
  }
  let best = null;
  let shown = 0;
  for (let depth = 0; depth <= Math.max(...depths); depth += 1) {
    const closed = new Set(all.closed); // a kernel opens into its ops on a click; a module shows what it holds
    depths.forEach((d, g) => (d >= depth || groups.kind[g] === 'call') && closed.add(g));
    const state = { modules, views: false, closed };
    const boxes = numBoxes(graph, state);
    if (best && boxes > (shown < MIN_FOLDED ? MAX_OPEN : MAX_FOLDED)) break; // a few boxes say nothing yet
    best = state;
    shown = boxes;
  }
  return best;
}
