// What is chosen, and what follows from it: the nodes, calls, launches, lines and decisions that belong together.

const chosen = { recording: 0, type: null, key: null, links: null };
const current = () => PAGE.all[chosen.recording];

function emptyLinks() {
  return {
    nodes: new Map(),
    calls: new Set(),
    launches: new Set(),
    ops: new Set(),
    lines: new Set(),
    code: new Map(),
    decisions: new Set(),
    focus: null,
  };
}
const mark = (links, g, i) => {
  if (!links.nodes.has(g)) links.nodes.set(g, new Set());
  links.nodes.get(g).add(i);
};

/** Follow the recorded links from one item; never invents one. */
function follow(recording, type, key) {
  const links = emptyLinks(),
    r = recording;
  const addLine = (place) => {
    const p = r.place(place);
    if (p && p[0] && p[1]) links.lines.add(`${p[0]}:${p[1]}`);
  };
  const addCode = (call) => {
    const code = r.codeOfCall(call);
    if (code < 0) return;
    for (const [kind, column] of [
      ['call', 'call_lines'],
      ['kernel', 'kernel_lines'],
    ]) {
      const range = at(r.calls, column, call);
      if (range) push(links.code, code, [range[0], range[1], kind]);
    }
  };
  const addNode = (g, i) => {
    mark(links, g, i);
    addLine(index(r.graphs[g].nodes, 'place', i));
    for (const op of r.opsOfNode.get(`${g}/${i}`) || []) links.ops.add(op);
  };
  const walk = (g, i, seen = new Set()) => {
    // along lowered_to links, both ways but never zig-zag
    for (const [table, gKey, nKey, way] of [
      [r.linksFrom, 'b', 'bn', 1],
      [r.linksTo, 'a', 'an', -1],
    ]) {
      const todo = [[g, i]];
      while (todo.length) {
        const [cg, ci] = todo.pop();
        for (const link of table.get(`${cg}/${ci}`) || []) {
          if (at(r.links, 'relation', link) !== 'lowered_to') continue;
          const id = `${way}:${r.links[gKey][link]}/${r.links[nKey][link]}`;
          if (seen.has(id)) continue;
          seen.add(id);
          addNode(r.links[gKey][link], r.links[nKey][link]);
          todo.push([r.links[gKey][link], r.links[nKey][link]]);
        }
      }
    }
  };
  const addLaunch = (x) => {
    links.launches.add(x);
    if (index(r.launches, 'op', x) >= 0) links.ops.add(r.launches.op[x]);
  };
  const addCall = (call, withNodes = true) => {
    if (links.calls.has(call)) return;
    links.calls.add(call);
    addCode(call);
    for (const x of r.launchesOfCall.get(call) || []) addLaunch(x);
    if (withNodes) {
      const g = index(r.calls, 'graph', call);
      if (g >= 0)
        for (const i of [...(at(r.calls, 'nodes', call) || []), ...(at(r.calls, 'folded', call) || [])]) {
          addNode(g, i);
          walk(g, i);
        }
      for (const place of at(r.calls, 'places', call) || []) addLine(place);
    }
    for (const d of r.decisionsOfCall.get(call) || []) links.decisions.add(d);
  };
  const callsAt = (g, i) => r.callsOfNode.get(`${g}/${i}`) || [];
  const addWhole = (g, i) => {
    addNode(g, i);
    walk(g, i);
    for (const [graph, nodes] of [...links.nodes])
      for (const node of nodes) {
        for (const call of callsAt(graph, node)) addCall(call, false);
        for (const x of r.launchesOfNode.get(`${graph}/${node}`) || []) addLaunch(x);
        for (const d of r.decisionsOfNode.get(`${graph}/${node}`) || []) links.decisions.add(d);
      }
  };
  if (type === 'node') {
    addWhole(...key);
    links.focus = key;
  } else if (type === 'call') {
    addCall(key);
    const g = index(r.calls, 'graph', key);
    for (const i of at(r.calls, 'nodes', key) || [])
      for (const d of r.decisionsOfNode.get(`${g}/${i}`) || []) links.decisions.add(d);
  } else if (type === 'launch') {
    const call = index(r.launches, 'call', key),
      g = index(r.launches, 'graph', key);
    if (call >= 0) addCall(call);
    if (g >= 0) for (const i of at(r.launches, 'nodes', key) || []) addWhole(g, i);
    links.launches = new Set([key, ...links.launches]);
    if (index(r.launches, 'op', key) >= 0) links.ops.add(r.launches.op[key]);
  } else if (type === 'op') {
    links.ops.add(key);
    const inside = (op) => {
      for (let o = op; o >= 0; o = index(r.ops, 'parent', o)) if (o === key) return true;
      return false;
    };
    for (const [op, list] of r.launchesOfOp)
      if (inside(op))
        for (const x of list) {
          addLaunch(x);
          const call = index(r.launches, 'call', x);
          if (call >= 0) addCall(call);
        }
    if (index(r.ops, 'graph', key) >= 0 && index(r.ops, 'node', key) >= 0) addWhole(r.ops.graph[key], r.ops.node[key]);
    else
      for (const x of links.launches) {
        const g = index(r.launches, 'graph', x);
        if (g >= 0) for (const i of r.launches.nodes[x]) addNode(g, i);
      }
    addLine(index(r.ops, 'place', key));
    links.ops = new Set([key, ...links.ops]);
  } else if (type === 'opname') {
    for (const op of r.opsOfName.get(key) || []) {
      links.ops.add(op);
      for (const x of r.launchesOfOp.get(op) || []) {
        addLaunch(x);
        if (index(r.launches, 'call', x) >= 0) addCall(r.launches.call[x]);
      }
    }
    r.graphs.forEach((graph, g) => {
      if (graph.stage === 'eager')
        for (let i = 0; i < graph.nodes.n; i += 1) if (graph.nodes.target[i] === key) addWhole(g, i);
    });
  } else if (type === 'kernel') {
    for (const call of r.callsOfKernel.get(key) || []) addCall(call);
    for (const x of r.launchesOfName.get(key) || []) {
      addLaunch(x);
      if (index(r.launches, 'call', x) >= 0) addCall(r.launches.call[x]);
      const g = index(r.launches, 'graph', x);
      if (g >= 0) for (const i of r.launches.nodes[x]) addNode(g, i);
    }
  } else if (type === 'line') {
    links.lines.add(key);
    for (const [g, i] of r.nodesOfLine.get(key) || []) addWhole(g, i);
    for (const call of r.callsOfLine.get(key) || []) addCall(call, false);
    links.lines = new Set([key, ...links.lines]);
  } else if (type === 'code') {
    const [code, line] = key;
    for (let call = 0; call < r.calls.n; call += 1) {
      if (r.codeOfCall(call) !== code) continue;
      for (const column of ['call_lines', 'kernel_lines']) {
        const range = at(r.calls, column, call);
        if (range && line >= range[0] && line <= range[1]) addCall(call);
      }
    }
    push(links.code, code, [line, line, 'here']);
  } else if (type === 'decision') {
    links.decisions.add(key);
    const g = index(r.decisions, 'graph', key),
      other = index(r.decisions, 'other', key);
    for (const i of at(r.decisions, 'a', key) || []) if (g >= 0) addNode(g, i);
    for (const i of at(r.decisions, 'b', key) || []) if (g >= 0) addNode(other >= 0 ? other : g, i);
    for (const column of ['a_call', 'b_call'])
      if (index(r.decisions, column, key) >= 0) addCall(r.decisions[column][key], false);
    links.decisions = new Set([key]);
  } else if (type === 'group') {
    const [g, group] = key,
      graph = r.graphs[g];
    for (let i = 0; i < graph.home.length; i += 1)
      for (let h = graph.home[i]; h >= 0; h = index(graph.groups, 'parent', h))
        if (h === group) {
          addNode(g, i);
          for (const call of callsAt(g, i)) addCall(call, false);
          break;
        }
  }
  return links;
}

function choose(type, key, { recording = chosen.recording, keepHash = false, from = null } = {}) {
  chosen.recording = recording;
  chosen.type = type;
  chosen.key = key;
  chosen.from = from;
  chosen.links = type ? follow(current(), type, key) : null;
  $('app').dataset.chosen = type ? 'yes' : 'no';
  if (!keepHash) writeHash();
  emit('chosen', from);
  if (type) {
    const live = $('announce');
    if (live) live.textContent = `Chosen: ${title(current(), type, key)}`;
  }
}

function title(r, type, key) {
  if (type === 'node') return `${r.graphs[key[0]].nodes.name[key[1]]}`;
  if (type === 'call') return r.calls.handle[key];
  if (type === 'launch') return r.launchName(key);
  if (type === 'op') return r.opName(key);
  if (type === 'code') return `${r.codes[key[0]].id}:${key[1]}`;
  if (type === 'decision') return at(r.decisions, 'title', key);
  if (type === 'group') return r.graphs[key[0]].groups.title[key[1]];
  return String(key);
}

/** The address of an item: ids of the recording, so that a link outlives this page's order. */
function address(r, type, key) {
  const out = new URLSearchParams();
  if (type === 'node') out.set('node', `${r.graphs[key[0]].id}/${r.graphs[key[0]].nodes.name[key[1]]}`);
  else if (type === 'call') out.set('call', r.calls.id[key]);
  else if (type === 'launch') out.set('launch', r.launches.id[key]);
  else if (type === 'code') out.set('code', `${r.codes[key[0]].id}:${key[1]}`);
  else if (type === 'group') out.set('group', `${r.graphs[key[0]].id}/${at(r.graphs[key[0]].groups, 'path', key[1])}`);
  else if (type) out.set(type, key);
  if (PAGE.all.length > 1) out.set('recording', r.position);
  return out;
}
/** How the graph is looked at: which one, what is folded, where the view is; nothing that is as it opened. */
function graphAddress(out) {
  const { graph, g, state } = parts.graph;
  if (PAGE.view !== 'graph' || !graph) return;
  if (g !== parts.graph.first || chosen.links?.focus) out.set('graph', graph.id);
  const first = openingState(graph);
  const differs = (name) => first[name] !== state[name];
  const ids = (from, without) => [...from].filter((id) => !without.has(id)).sort((x, y) => x - y);
  const [shut, open] = [ids(state.closed, first.closed), ids(first.closed, state.closed)];
  const folds = [
    ...['modules', 'views'].filter(differs).map((name) => `${state[name] ? '+' : '-'}${name}`),
    ...shut.map((id) => `-${id}`),
    ...open.map((id) => `+${id}`),
  ];
  if (folds.length && folds.length <= 200) out.set('fold', folds.join('.'));
  if (parts.graph.as) out.set('as', parts.graph.as);
  if (state.moved) out.set('at', [state.x, state.y, state.scale * 1000].map(Math.round).join('.'));
}
/** Apply what `graphAddress` wrote. */
function foldsOf(graph, text) {
  const state = openingState(graph);
  for (const part of (text || '').split('.').filter(Boolean)) {
    const name = part.slice(1);
    const on_ = part[0] === '+';
    if (name === 'modules' || name === 'views') state[name] = on_;
    else if (Number(name) < (graph.groups.n || 0)) state.closed[on_ ? 'delete' : 'add'](Number(name));
  }
  return state;
}
let pushed = false; // one click is one step back, whatever it changes
/** Write what is seen into the address: a new step back for what was chosen, none for a moved view. */
function writeHash(push = true) {
  const out = chosen.type ? address(current(), chosen.type, chosen.key) : new URLSearchParams();
  if (!chosen.type && PAGE.all.length > 1) out.set('recording', chosen.recording);
  if (PAGE.view && (PAGE.view !== 'overview' || PAGE.all.length > 1)) out.set('view', PAGE.view);
  graphAddress(out);
  parts.timeline.address(out);
  const hash = `#${out.toString()}`;
  if (hash === (location.hash || '#')) return;
  try {
    history[push && !pushed ? 'pushState' : 'replaceState'](null, '', hash);
  } catch {
    return; // a frame without an address of its own
  }
  if (push) {
    pushed = true;
    setTimeout(() => {
      pushed = false;
    }, 0);
  }
}
let moveTimer = 0;
function writeMoved() {
  clearTimeout(moveTimer);
  moveTimer = setTimeout(() => writeHash(false), 250);
}
// Keys of an address that say how things are looked at, not what is chosen.
const HOW_SEEN = new Set(['view', 'recording', 'graph', 'fold', 'at', 'as', 'step', 'below', 'range', 'span']);
/** "120_4500": two times in ns, in order; nothing where they are not. */
function numbersOf(text) {
  const found = (text || '').split('_').map(Number);
  return found.length === 2 && found.every(Number.isFinite) && found[0] < found[1] ? found : [];
}
/** Find what `#node=…` and its kin name; a bare node name is looked for in every graph, the drawn one first. */
function readHash() {
  const given = new URLSearchParams(location.hash.slice(1));
  const recording = Math.min(PAGE.all.length - 1, Math.max(0, Number(given.get('recording')) || 0));
  const r = PAGE.all[recording];
  let type = null,
    key = null;
  const inGraph = (text) => {
    for (let g = 0; g < r.graphs.length; g += 1)
      if (text.startsWith(`${r.graphs[g].id}/`)) return [g, text.slice(r.graphs[g].id.length + 1)];
    return null;
  };
  if (given.has('node')) {
    const text = given.get('node'),
      found = inGraph(text);
    const graphs = found ? [found[0]] : [r.default, ...r.graphs.keys()].filter((g) => g >= 0);
    const name = found ? found[1] : text;
    for (const g of graphs)
      if (key === null && r.graphs[g].index.has(name)) {
        type = 'node';
        key = [g, r.graphs[g].index.get(name)];
      }
  } else if (given.has('call')) {
    const i = (r.calls.id || []).indexOf(given.get('call'));
    if (i >= 0) {
      type = 'call';
      key = i;
    }
  } else if (given.has('launch')) {
    const i = (r.launches.id || []).indexOf(Number(given.get('launch')));
    if (i >= 0) {
      type = 'launch';
      key = i;
    }
  } else if (given.has('code')) {
    const text = given.get('code'),
      cut = text.lastIndexOf(':'),
      code = r.codes.findIndex((c) => c.id === text.slice(0, cut));
    if (code >= 0) {
      type = 'code';
      key = [code, Number(text.slice(cut + 1))];
    }
  } else if (given.has('group')) {
    const found = inGraph(given.get('group'));
    if (found) {
      const i = (r.graphs[found[0]].groups.path || []).indexOf(found[1]);
      if (i >= 0) {
        type = 'group';
        key = [found[0], i];
      }
    }
  } else if (given.has('line')) {
    type = 'line';
    key = given.get('line');
  } else if (given.has('kernel')) {
    type = 'kernel';
    key = given.get('kernel');
  } else if (given.has('opname')) {
    type = 'opname';
    key = given.get('opname');
  } else {
    for (const [name, count] of [
      ['decision', r.decisions.n],
      ['op', r.ops.n],
    ])
      if (given.has(name) && Number(given.get(name)) < count) {
        type = name;
        key = Number(given.get(name));
      }
  }
  return {
    recording,
    type,
    key,
    view: given.get('view'),
    graph: r.graphs.findIndex((graph) => graph.id === given.get('graph')),
    fold: given.get('fold'),
    at: (given.get('at') || '').split('.').map(Number),
    as: given.get('as'),
    step: given.has('step') ? Number(given.get('step')) : null,
    below: given.get('below'),
    range: numbersOf(given.get('range')),
    span: numbersOf(given.get('span')),
    asked: [...given.keys()].some((k) => !HOW_SEEN.has(k)),
  };
}
