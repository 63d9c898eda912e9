// What changed between two stages of a compile, by the recorded links alone: kept, rewritten, added, without successor.

const CHANGE_WORDS = {
  rewritten: 'rewritten',
  added: 'added',
  gone: 'gone',
  kept: 'kept',
};
const UNLINKED = { added: 'no link leads to it', gone: 'no link leads on from it' };
const NO_OP = new Set(['placeholder', 'output', 'get_attr']);

/** The graphs that recorded links lead from to a graph, the nearest stage first. */
function earlierGraphs(r, g, stages) {
  const found = new Set();
  for (let link = 0; link < r.links.n; link += 1)
    if (r.links.b[link] === g && r.links.a[link] !== g && r.links.relation[link] === 'lowered_to')
      found.add(r.links.a[link]);
  const rank = (graph) => stages.indexOf(r.graphs[graph].stage);
  return [...found].sort((a, b) => rank(b) - rank(a) || a - b);
}

/** Rows of what became of each node of graph `a` in graph `b`: {change, from, to, evidence}; `to` in program order. */
function changesBetween(r, a, b) {
  const before = r.graphs[a].nodes;
  const after = r.graphs[b].nodes;
  const counts = (nodes, i) => !NO_OP.has(nodes.op[i]);
  const sources = new Map();
  const used = new Set();
  const known_ = new Map();
  for (let link = 0; link < r.links.n; link += 1) {
    const { links } = r;
    if (links.a[link] !== a || links.b[link] !== b || links.relation[link] !== 'lowered_to') continue;
    push(sources, links.bn[link], links.an[link]);
    used.add(links.an[link]);
    push(known_, links.bn[link], links.evidence[link]);
  }
  const rows = new Map();
  for (let i = 0; i < after.n; i += 1) {
    if (!counts(after, i)) continue;
    const from = [...new Set(sources.get(i) || [])].sort((x, y) => x - y);
    const key = from.length ? from.join() : `new ${i}`;
    if (!rows.has(key)) rows.set(key, { from, to: [], evidence: new Set() });
    const row = rows.get(key);
    row.to.push(i);
    for (const evidence of known_.get(i) || []) row.evidence.add(evidence);
  }
  const out = [...rows.values()].map((row) => {
    const same = row.from.length === 1 && row.to.length === 1 && before.target[row.from[0]] === after.target[row.to[0]];
    return { ...row, change: !row.from.length ? 'added' : same ? 'kept' : 'rewritten' };
  });
  for (let i = 0; i < before.n; i += 1)
    if (counts(before, i) && !used.has(i)) out.push({ change: 'gone', from: [i], to: [], evidence: new Set() });
  const order = Object.keys(CHANGE_WORDS);
  return out.sort((x, y) => order.indexOf(x.change) - order.indexOf(y.change));
}

/** The rows as a table; choosing one shows its first node of the later stage, or what is gone. */
function changesTable(r, a, b, rows) {
  const [before, after] = [r.graphs[a], r.graphs[b]];
  const some = (list) => (list.length > 4 ? [...list.slice(0, 3), `… ${list.length - 3} more`] : list).join(', ');
  const names = (graph, list) => some(list.map((i) => graph.nodes.name[i])) || null;
  const ops = (graph, list) =>
    some([...new Set(list.map((i) => graph.nodes.target[i].replace(/^aten\./, '')))]) || null;
  const place = (row) => {
    const [graph, i] = row.from.length ? [before, row.from[0]] : [after, row.to[0]];
    const found = r.place(index(graph.nodes, 'place', i));
    return found && found[0] ? `${found[0].split('/').pop()}:${found[1]}` : null;
  };
  // A pass that replaced something between the two stages: one that the earlier nodes do not name already.
  const passes = rows.map((row) => {
    const earlier = new Set(row.from.flatMap((i) => at(before.nodes, 'passes', i) || []));
    const later = row.to.flatMap((i) => at(after.nodes, 'passes', i) || []);
    return row.change === 'kept' ? '' : [...new Set(later)].filter((name) => !earlier.has(name)).join(', ');
  });
  const some_ = passes.some(Boolean); // torch names few; the column is there where it named one
  return {
    key: 'changes',
    title: `${PAGE.stages[before.stage]} → ${PAGE.stages[after.stage]}`,
    columns: [
      ['change', 'Change', 'text'],
      ['from', PAGE.stages[before.stage], 'text'],
      ['from_op', 'Op', 'text'],
      ['to', PAGE.stages[after.stage], 'text'],
      ['to_op', 'Became', 'text'],
      ...(some_ ? [['pass', 'By the pass', 'text']] : []),
      ['where', 'Source', 'text'],
      ['how', 'How it is known', 'text'],
    ],
    values: [
      rows.map((row) => CHANGE_WORDS[row.change]),
      rows.map((row) => names(before, row.from)),
      rows.map((row) => ops(before, row.from)),
      rows.map((row) => names(after, row.to)),
      rows.map((row) => ops(after, row.to)),
      ...(some_ ? [passes] : []),
      rows.map(place),
      rows.map((row) => [...row.evidence].map((how) => how.replace('_', ' ')).join(', ') || UNLINKED[row.change]),
    ],
    refs: rows.map((row) => ['node', row.to.length ? [b, row.to[0]] : [a, row.from[0]]]),
  };
}
/** "12 kept, 3 rewritten …" */
function changesWords(rows) {
  const counts = Object.keys(CHANGE_WORDS).map((change) => [
    change,
    rows.filter((row) => row.change === change).length,
  ]);
  return counts
    .filter(([, count]) => count)
    .map(([change, count]) => `${words(count, 'int')} ${CHANGE_WORDS[change]}`)
    .join(', ');
}
