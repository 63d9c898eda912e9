// Folding, and the layout. Run with: node --test tests/js
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

const ASSETS = new URL('../../fxscope/render/page/assets/', import.meta.url);
const NAMES = 'changesBetween changesWords inOrder layOut openingState sumsOf visible';
const sources = ['text.js', 'data.js', 'fold.js', 'layout.js', 'changes.js', 'timeline.js'].map((name) =>
  readFileSync(new URL(name, ASSETS), 'utf8'),
);
const page = new Function(`${sources.join('\n')}\nreturn {${NAMES.split(' ').join(', ')}};`)();

/** `layers` modules of four nodes in a chain: mm, and a view and two nodes in a kernel. */
function model(layers) {
  const graph = { stage: 'post_grad', inputs: [], home: [], own: new Map(), dim: [], nodes: { n: 0 } };
  const groups = { n: 0, parent: [], kind: [], title: [], sub: [], meta: [], share: [] };
  const group = (parent, kind, title) => {
    for (const [key, value] of Object.entries({ parent, kind, title, sub: '', meta: '' })) groups[key].push(value);
    groups.share.push(null);
    groups.n += 1;
    return groups.n - 1;
  };
  const all = group(-1, 'module', 'layers');
  for (let layer = 0; layer < layers; layer += 1) {
    const module = group(all, 'module', String(layer));
    const call = group(module, 'call', 'gelu → 1 kernel');
    for (const [step, home] of [module, call, call, call].entries()) {
      const i = graph.inputs.length;
      graph.inputs.push(i ? [i - 1] : []);
      graph.home.push(home);
      graph.dim.push(step === 1 ? 1 : 0);
    }
  }
  graph.nodes = {
    n: graph.inputs.length,
    kind: graph.inputs.map(() => 'fused'),
    nature: graph.inputs.map(() => 'kernel'),
  };
  return { ...graph, groups };
}

test('a small graph opens unfolded', () => {
  const graph = model(3);
  const state = page.openingState(graph);
  const shown = page.visible(graph, state);
  assert.equal(shown.boxes.size, 12);
  assert.deepEqual(
    [...shown.frames.keys()].map((g) => graph.groups.kind[g]),
    ['call', 'call', 'call'],
  );
  assert.equal(shown.edges.length, 11);
});

test('a large graph opens folded by module, and data goes on through what is hidden', () => {
  const graph = model(60);
  const shown = page.visible(graph, page.openingState(graph));
  assert.equal(shown.boxes.size, 60);
  assert.equal(shown.edges.length, 59);
});

test('closing a group hides all of its nodes; hiding views joins their ends', () => {
  const graph = model(2);
  const closed = new Set([1]); // the first layer
  const shown = page.visible(graph, { modules: true, views: false, closed });
  assert.deepEqual([...shown.boxes.keys()], [-2, 4, 6, 7]);
  assert.deepEqual(shown.edges, [
    [-2, 4],
    [4, 6],
    [6, 7],
  ]);
});

test('a layer that begins before it is fed stands below what feeds it', () => {
  const box = (id, first) => [id, { id, first }];
  const boxes = new Map([box(0, 0), box(-1, 5), box(7, 7), box(8, 8)]);
  const order = (edges) => page.inOrder({ boxes, edges }).map(({ id }) => id);
  assert.deepEqual(order([[0, -1], [7, -1], [-1, 8]]), [0, 7, -1, 8]); // prettier-ignore
  assert.deepEqual(order([[0, -1], [7, -1], [-1, 7]]), [0, 8, -1, 7]); // prettier-ignore
});

test('boxes stand in program order, frames around theirs', () => {
  const graph = model(5);
  const shown = page.visible(graph, { modules: true, views: true, closed: new Set() });
  const placed = page.layOut(graph, shown);
  const ys = [...shown.boxes.keys()].map((id) => placed.boxes.get(id)[1]);
  assert.deepEqual(
    ys,
    [...ys].sort((a, b) => a - b),
  );
  for (const box of shown.boxes.values()) {
    const [x0, y0, x1, y1] = placed.frames.get(box.group);
    const [x, y] = placed.boxes.get(box.id);
    assert.ok(x0 <= x - box.w / 2 && x + box.w / 2 <= x1 && y0 <= y - box.h / 2 && y + box.h / 2 <= y1);
  }
});

test('a range of the timeline sums what is inside it, overlaps once', () => {
  const launches = { start: [0, 50, 60, 200], duration: [40, 30, 40, 10], bytes: [1, 2, 4, null] };
  const sums = page.sumsOf(launches, [0, 1, 2, 3], 20, 150);
  assert.deepEqual(sums, { span: 130, busy: 20 + 50, count: 3, time: 20 + 30 + 40, bytes: 7, unknown: 0 });
  assert.equal(page.sumsOf(launches, [0, 1, 2, 3], 150, 300).unknown, 1);
});

test('what changed between two stages follows the recorded links, and says where there is none', () => {
  const nodes = (target, op = target.map(() => 'call_function')) => ({ n: target.length, target, op });
  const before = nodes(['x', 'relu', 'gelu', 'dropout', 'mm'], ['placeholder', ...Array(4).fill('call_function')]);
  const after = nodes(['relu', 'mul', 'tanh', 'mm', 'copy']);
  const links = { n: 5, a: [0, 0, 0, 0, 0], an: [1, 2, 2, 4, 0], b: [1, 1, 1, 1, 2], bn: [0, 1, 2, 3, 0] };
  links.relation = Array(5).fill('lowered_to');
  links.evidence = ['name', 'from_node', 'from_node', 'name', 'name'];
  const rows = page.changesBetween({ graphs: [{ nodes: before }, { nodes: after }], links }, 0, 1);
  assert.deepEqual(
    rows.map(({ change, from, to }) => [change, from, to]),
    [
      ['rewritten', [2], [1, 2]],
      ['added', [], [4]],
      ['gone', [3], []],
      ['kept', [1], [0]],
      ['kept', [4], [3]],
    ],
  );
  assert.equal(page.changesWords(rows), '1 rewritten, 1 added, 1 gone, 2 kept');
});
