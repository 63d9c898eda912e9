// A simple layered layout for states that none was made ahead for: layers by the longest way, order by barycentre,
// each open frame laid out inside and then placed as one box. Sizes and rules are the ones of scene.py.

/** Boxes, open frames and edges of a graph in a state (scene.py, `visible`). */
function visible(graph, state) {
  const groups = graph.groups,
    count = graph.inputs.length,
    own = graph.ownMap || (graph.ownMap = new Map(graph.own));
  const framed = (g) => groups.kind[g] !== 'module' || state.modules;
  const shownAs = new Array(count).fill(null),
    inner = new Array(count).fill(-1);
  for (let i = 0; i < count; i += 1) {
    let box = i,
      innermost = -1;
    const opens = own.has(i) ? own.get(i) : -1;
    for (let g = opens >= 0 ? opens : graph.home[i]; g >= 0; g = index(groups, 'parent', g)) {
      if (!framed(g)) continue;
      if (state.closed.has(g)) {
        box = -1 - g;
        innermost = -1;
      } else {
        if (g === opens) box = null;
        if (innermost < 0) innermost = g;
      }
    }
    if (!state.views && box === i && graph.dim[i]) box = null;
    shownAs[i] = box;
    inner[i] = innermost;
  }
  const boxes = new Map();
  for (let i = 0; i < count; i += 1) {
    const box = shownAs[i];
    if (box === null || boxes.has(box)) continue;
    const g = -1 - box;
    boxes.set(box, {
      id: box,
      order: boxes.size,
      first: i,
      group: inner[i],
      w: box >= 0 ? graph.width[box] : groups.width[g],
      h: box >= 0 ? graph.height[box] : groups.height[g],
    });
  }
  const frames = new Map();
  for (const box of boxes.values())
    for (let g = box.group; g >= 0; g = index(groups, 'parent', g)) if (framed(g)) frames.set(g, { id: g, parent: -1 });
  for (const frame of frames.values()) {
    let p = index(groups, 'parent', frame.id);
    while (p >= 0 && !frames.has(p)) p = index(groups, 'parent', p);
    frame.parent = p;
  }
  const lastChild = new Map();
  graph.home.forEach((g, i) => lastChild.set(g, i));
  const cache = new Map();
  const sources = (i) => {
    if (shownAs[i] !== null) return [shownAs[i]];
    if (cache.has(i)) return cache.get(i);
    cache.set(i, []);
    let found;
    if (own.has(i)) {
      const last = lastChild.get(own.get(i));
      found = last === undefined ? [] : sources(last);
    } else found = [...new Set(graph.inputs[i].flatMap(sources))];
    cache.set(i, found);
    return found;
  };
  const edges = new Map();
  for (let i = 0; i < count; i += 1)
    if (shownAs[i] !== null)
      for (const given of graph.inputs[i])
        for (const s of sources(given)) if (s !== shownAs[i]) edges.set(`${s}>${shownAs[i]}`, [s, shownAs[i]]);
  return { boxes, frames, edges: [...edges.values()], shownAs };
}

const GAP_X = 18,
  GAP_Y = 34,
  FRAME_PAD = 12;
const frameHead = (graph, g) => (at(graph.groups, 'meta', g) ? 40 : 26);

function layered(graph, shown) {
  const children = new Map();
  for (const box of shown.boxes.values())
    push(children, box.group, { key: `b${box.id}`, box, w: box.w, h: box.h, order: box.first });
  const depth = (f) => {
    let d = 0;
    for (let g = f.parent; g >= 0; g = shown.frames.get(g).parent) d += 1;
    return d;
  };
  const frames = [...shown.frames.values()].sort((a, b) => depth(b) - depth(a));
  const chainOf = (id) => {
    const box = shown.boxes.get(id),
      chain = [`b${id}`];
    for (let g = box.group; g >= 0; g = shown.frames.get(g).parent) chain.push(`f${g}`);
    return chain.reverse();
  };
  const chains = new Map([...shown.boxes.keys()].map((id) => [id, chainOf(id)]));
  const edgesAt = new Map(); // level (the frame both ends are in) → edges between its items
  for (const [a, b] of shown.edges) {
    const ca = chains.get(a),
      cb = chains.get(b);
    let i = 0;
    while (i < ca.length - 1 && i < cb.length - 1 && ca[i] === cb[i]) i += 1;
    if (ca[i] !== cb[i]) push(edgesAt, i ? Number(ca[i - 1].slice(1)) : -1, [ca[i], cb[i]]);
  }
  const sizes = new Map();
  for (const frame of frames) {
    const size = level(children.get(frame.id) || [], edgesAt.get(frame.id) || []);
    const g = frame.id,
      title = Math.min(graph.groups.title[g].length, 46) * 7.4 + 44;
    size.w = Math.max(size.w + 2 * FRAME_PAD, title, (at(graph.groups, 'meta', g) || '').length * 6.7 + 24);
    size.h += frameHead(graph, g) + FRAME_PAD;
    sizes.set(g, size);
    push(children, frame.parent, { key: `f${g}`, frame: g, w: size.w, h: size.h, order: size.order });
  }
  const root = level(children.get(-1) || [], edgesAt.get(-1) || []);
  const out = { w: root.w, h: root.h, boxes: new Map(), frames: new Map(), edges: [] };
  const put = (size, x0, y0) => {
    for (const item of size.items) {
      const x = x0 + item.x,
        y = y0 + item.y;
      if (item.box) out.boxes.set(item.box.id, [x, y]);
      else {
        const inner = sizes.get(item.frame),
          left = x - item.w / 2,
          top = y - item.h / 2;
        out.frames.set(item.frame, [left, top, left + item.w, top + item.h]);
        put(inner, left + (item.w - inner.inner) / 2, top + frameHead(graph, item.frame));
      }
    }
  };
  put(root, 0, 0);
  for (const [a, b] of shown.edges) {
    const [ax, ay] = out.boxes.get(a),
      [bx, by] = out.boxes.get(b),
      A = shown.boxes.get(a),
      B = shown.boxes.get(b);
    const y0 = ay + A.h / 2,
      y1 = by - B.h / 2,
      bend = Math.max(14, Math.min(70, Math.abs(y1 - y0) * 0.45));
    out.edges.push([a, b, [ax, y0, ax, y0 + bend, bx, y1 - bend, bx, y1]]);
  }
  return out;
}

/** Lay out the items of one frame; sets x and y (centres) of each. */
function level(items, edges) {
  items.sort((a, b) => a.order - b.order);
  const position = new Map(items.map((item, i) => [item.key, i]));
  const ins = items.map(() => []),
    outs = items.map(() => []);
  const seen = new Set();
  for (const [a, b] of edges) {
    let i = position.get(a),
      j = position.get(b);
    if (i === undefined || j === undefined || i === j) continue;
    if (i > j) [i, j] = [j, i]; // folded groups may depend on each other: the earlier one goes above
    if (seen.has(i * items.length + j)) continue;
    seen.add(i * items.length + j);
    ins[j].push(i);
    outs[i].push(j);
  }
  const layer = items.map(() => 0);
  for (let j = 0; j < items.length; j += 1) for (const i of ins[j]) layer[j] = Math.max(layer[j], layer[i] + 1);
  for (let i = items.length - 1; i >= 0; i -= 1)
    if (!ins[i].length && outs[i].length) layer[i] = Math.max(0, Math.min(...outs[i].map((j) => layer[j])) - 1);
  // Without edges a row would be endless: break it.
  if (!edges.length) {
    const wide = Math.ceil(Math.sqrt(items.length * 2));
    items.forEach((_, i) => {
      layer[i] = Math.floor(i / Math.max(4, wide));
    });
  }
  const layers = [];
  items.forEach((_, i) => {
    (layers[layer[i]] ||= []).push(i);
  });
  const rank = items.map(() => 0);
  const number = () =>
    layers.forEach(
      (row) =>
        row &&
        row.forEach((i, r) => {
          rank[i] = r;
        }),
    );
  number();
  for (let sweep = 0; sweep < 6; sweep += 1) {
    const near = sweep % 2 ? outs : ins;
    for (const row of sweep % 2 ? [...layers].reverse() : layers) {
      if (!row || row.length < 2) continue;
      const weight = new Map(
        row.map((i) => [
          i,
          near[i].length
            ? near[i].reduce((s, k) => s + rank[k] / Math.max(1, layers[layer[k]].length), 0) / near[i].length
            : rank[i] / row.length,
        ]),
      );
      row.sort((a, b) => weight.get(a) - weight.get(b));
      row.forEach((i, r) => {
        rank[i] = r;
      });
    }
  }
  const x = items.map(() => 0);
  for (const row of layers) {
    let left = 0;
    if (row)
      for (const i of row) {
        x[i] = left + items[i].w / 2;
        left += items[i].w + GAP_X;
      }
  }
  for (let sweep = 0; sweep < 10; sweep += 1) {
    const near = sweep % 2 ? outs : ins;
    for (const row of sweep % 2 ? [...layers].reverse() : layers) if (row) settle(row, items, x, near);
  }
  let y = 0,
    right = 0,
    left = Infinity;
  for (const row of layers) {
    if (!row) continue;
    const tall = Math.max(...row.map((i) => items[i].h));
    for (const i of row) {
      items[i].y = y + tall / 2;
      left = Math.min(left, x[i] - items[i].w / 2);
      right = Math.max(right, x[i] + items[i].w / 2);
    }
    y += tall + GAP_Y;
  }
  if (left === Infinity) left = 0;
  items.forEach((item, i) => {
    item.x = x[i] - left;
  });
  return {
    items,
    w: right - left,
    inner: right - left,
    h: Math.max(0, y - GAP_Y),
    order: items.length ? items[0].order : 0,
  };
}

/** Move each item of a row to the mean of its neighbours, keeping order and gaps (pooled where they collide). */
function settle(row, items, x, near) {
  const pools = [];
  let offset = 0;
  for (const i of row) {
    const wish = near[i].length ? near[i].reduce((s, k) => s + x[k], 0) / near[i].length : x[i];
    const weight = near[i].length ? near[i].length : 0.2;
    const start = offset + items[i].w / 2;
    offset += items[i].w + GAP_X;
    pools.push({ sum: (wish - start) * weight, weight, members: [[i, start]] });
    while (pools.length > 1 && pools.at(-2).sum / pools.at(-2).weight > pools.at(-1).sum / pools.at(-1).weight) {
      const last = pools.pop(),
        into = pools.at(-1);
      into.sum += last.sum;
      into.weight += last.weight;
      into.members.push(...last.members);
    }
  }
  for (const pool of pools) for (const [i, start] of pool.members) x[i] = pool.sum / pool.weight + start;
}
