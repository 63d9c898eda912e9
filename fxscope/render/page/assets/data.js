// The payload, decoded once, and the look-ups between its items.

/** Read a column's value, null where the column was left out. */
const at = (columns, name, i) => {
  const column = columns[name];
  return column === undefined ? null : column[i];
};
const index = (columns, name, i) => {
  const column = columns[name];
  return column === undefined || column[i] === null ? -1 : column[i];
};
const push = (map, key, value) => {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
};

/** Make values of the columns that the payload holds as differences from row to row. */
function addUp(table) {
  for (const name of table.differences) {
    let sum = 0;
    table[name] = table[name].map((step) => (sum += step));
  }
}

class Recording {
  constructor(data, position) {
    addUp(data.launches);
    addUp(data.ops);
    const { short, ...rest } = data;
    Object.assign(this, rest, { short_names: short });
    this.position = position;
    this.launchesOfCall = new Map();
    this.launchesOfOp = new Map();
    this.launchesOfName = new Map();
    this.launchesOfNode = new Map();
    this.opsOfName = new Map();
    this.opsOfNode = new Map();
    this.decisionsOfNode = new Map();
    this.decisionsOfCall = new Map();
    this.linksFrom = new Map();
    this.linksTo = new Map();
    this.nodesOfLine = new Map();
    this.callsOfKernel = new Map();
    this.callsOfNode = new Map();
    this.callsOfLine = new Map();
    const { launches, calls, ops, decisions, links } = this;
    for (let i = 0; i < launches.n; i += 1) {
      if (index(launches, 'call', i) >= 0) push(this.launchesOfCall, launches.call[i], i);
      if (index(launches, 'op', i) >= 0) push(this.launchesOfOp, launches.op[i], i);
      push(this.launchesOfName, this.names[launches.name[i]], i);
      const graph = index(launches, 'graph', i);
      if (graph >= 0 && launches.nodes)
        for (const node of launches.nodes[i]) push(this.launchesOfNode, `${graph}/${node}`, i);
    }
    for (let i = 0; i < calls.n; i += 1) {
      push(this.callsOfKernel, calls.kernel[i], i);
      const graph = index(calls, 'graph', i);
      for (const node of [...(at(calls, 'nodes', i) || []), ...(at(calls, 'folded', i) || [])])
        push(this.callsOfNode, `${graph}/${node}`, i);
      for (const place of at(calls, 'places', i) || []) push(this.callsOfLine, this.lineKey(place), i);
    }
    this.graphs.forEach((graph, g) => {
      for (const table of [graph, graph.nodes, graph.groups]) addUp(table);
      graph.own = new Map(graph.own.map((node, i) => [node, graph.opens[i]]));
      graph.groups.path ||= [];
      for (const [node, group] of graph.own) graph.groups.path[group] = graph.nodes.name[node];
      graph.position = g;
      graph.index = new Map(graph.nodes.name ? graph.nodes.name.map((name, i) => [name, i]) : []);
      graph.users = graph.inputs.map(() => []);
      graph.inputs.forEach((sources, i) => {
        for (const s of sources) graph.users[s].push(i);
      });
      for (let i = 0; i < graph.nodes.n; i += 1) {
        const place = index(graph.nodes, 'place', i);
        if (place >= 0) push(this.nodesOfLine, this.lineKey(place), [g, i]);
        if (graph.call[i] >= 0 && !this.callsOfNode.has(`${g}/${i}`))
          push(this.callsOfNode, `${g}/${i}`, graph.call[i]);
      }
    });
    for (let i = 0; i < ops.n; i += 1) {
      push(this.opsOfName, this.names[ops.name[i]], i);
      if (index(ops, 'graph', i) >= 0 && index(ops, 'node', i) >= 0)
        push(this.opsOfNode, `${ops.graph[i]}/${ops.node[i]}`, i);
    }
    for (let i = 0; i < decisions.n; i += 1) {
      const graph = index(decisions, 'graph', i),
        other = index(decisions, 'other', i);
      for (const node of at(decisions, 'a', i) || []) push(this.decisionsOfNode, `${graph}/${node}`, i);
      for (const node of at(decisions, 'b', i) || [])
        push(this.decisionsOfNode, `${other >= 0 ? other : graph}/${node}`, i);
      for (const key of ['a_call', 'b_call'])
        if (index(decisions, key, i) >= 0) push(this.decisionsOfCall, decisions[key][i], i);
    }
    for (let i = 0; i < links.n; i += 1) {
      push(this.linksFrom, `${links.a[i]}/${links.an[i]}`, i);
      push(this.linksTo, `${links.b[i]}/${links.bn[i]}`, i);
    }
  }
  lineKey(place) {
    const p = this.places[place];
    return `${p[0]}:${p[1]}`;
  }
  place(i) {
    return i >= 0 ? this.places[i] : null;
  }
  name(i) {
    return i >= 0 && known(i) ? this.names[i] : null;
  }
  /** A kernel's name without what its templates carry along. */
  short(name) {
    return this.short_names[name] || name;
  }
  /** A launch in the reader's words: the ops that ran in it, else the op that launched it, else its kernel. */
  launchWords(i) {
    const category = this.names[this.launches.category[i]];
    if (category === 'gpu_memset') return 'memset';
    if (category === 'gpu_memcpy') return 'copy';
    const call = index(this.launches, 'call', i);
    if (call >= 0) return at(this.calls, 'title', call);
    const op = this.name(index(this.launches, 'opname', i));
    return op ? this.short(op).replace(/^aten::/, '') : this.short(this.launchName(i));
  }
  launchName(i) {
    return this.names[this.launches.name[i]];
  }
  opName(i) {
    return this.names[this.ops.name[i]];
  }
  codeOf(graph) {
    return this.codes.findIndex((c) => c.graph === graph && c.kind === 'output_code');
  }
  codeOfCall(call) {
    const found = this.codeOf(index(this.calls, 'graph', call));
    return found < 0 && this.codes.length === 1 ? 0 : found;
  }
}
