// Where boxes go: in rows by the flow of data; a frame is a rectangle in which nothing else stands.

const GAP = 16; // px between boxes of a row
const LANE = 8; // px of an edge that passes rows
const MARGIN = 12; // px inside a frame
const BETWEEN = 26; // px between rows, for what edges say
const ROUNDS = 20; // of moving boxes towards their neighbours

/** Keys of the lines below the title of an open frame: a kernel's name and its cost. */
const frameLines = (groups, g) => (groups.kind[g] === 'call' ? ['sub', 'meta'] : ['meta']);

/** Room for the title of an open frame, in px. */
function frameHead(graph, g) {
  const { groups } = graph;
  const gauge = known(at(groups, 'share', g)) ? 70 : 0;
  const title = Math.min(groups.title[g].length, 60) * 7.4 + 44 + gauge;
  const more = frameLines(groups, g)
    .map((key) => (at(groups, key, g) || '').length)
    .filter(Boolean);
  return { width: Math.max(title, ...more.map((length) => length * 7.1 + 40)), height: 29 + 15 * more.length };
}

/** Centres of boxes, corners of frames and points of edges (cubic splines) of what is shown; px, y downwards. */
function layOut(graph, shown) {
  const out = { w: 1, h: 1, boxes: new Map(), frames: new Map(), edges: [] };
  if (!shown.boxes.size) return out;
  const root = itemsOf(graph, shown, rowsOf(graph, shown));
  const rounds = root.all.size > 4000 ? 4 : ROUNDS;
  for (let round = 0; round < rounds; round += 1) {
    pack(root, round, round > 0 && round < rounds / 2);
    settle(root, 0);
  }
  const y = heights(graph, root);
  for (const item of root.all.values()) {
    if (item.box) out.boxes.set(item.box.id, [middleOf(item), (y.top[item.first] + y.foot[item.first]) / 2]);
    if (item.frame !== undefined)
      out.frames.set(item.frame, [
        item.left,
        y.top[item.first] - item.head,
        item.left + item.w,
        y.foot[item.last] + item.foot,
      ]);
  }
  for (const places of [out.boxes, out.frames]) for (const [id, at_] of places) places.set(id, at_.map(Math.round));
  out.edges = shown.edges.map(([from, to]) => [from, to, route(from, to, root, y)]);
  out.w = Math.round(root.w);
  out.h = Math.round(y.foot[root.last] + root.foot);
  return out;
}

/** Box → its row: below all whose data it needs; what begins is just above its first user. */
function rowsOf(graph, shown) {
  const order = inOrder(shown);
  const position = new Map(order.map((box, i) => [box.id, i]));
  const rows = new Map();
  if (graph.stage === 'eager') {
    order.forEach((box, i) => rows.set(box.id, i));
    return rows;
  }
  const [inputs, users] = [new Map(), new Map()];
  for (const [from, to] of shown.edges)
    if (position.get(from) < position.get(to)) {
      push(inputs, to, from);
      push(users, from, to);
    }
  for (const { id } of order) rows.set(id, Math.max(0, ...(inputs.get(id) || []).map((from) => rows.get(from) + 1)));
  for (const { id, group } of order.reverse()) {
    const to = users.get(id) || [];
    const first = Math.min(...to.map((user) => rows.get(user) - 1));
    const given = (inputs.get(id) || []).length;
    const stays = to.some((user) => framesAround(shown, shown.boxes.get(user).group).includes(group));
    if (first > rows.get(id) && first < Infinity && (!given || (given <= to.length && stays))) rows.set(id, first);
  }
  return rows;
}
/** The frames around a frame, itself first, and -1 for the picture. */
function framesAround(shown, group) {
  const found = [];
  for (let g = group; g >= 0; g = shown.frames.get(g).parent) found.push(g);
  return [...found, -1];
}

/** The picture as a tree: frames hold boxes, frames and lanes, which are edges that pass rows. */
function itemsOf(graph, shown, rows) {
  const root = { items: [], first: 0, last: 0, all: new Map(), lanes: new Map() };
  const frames = new Map([[-1, root]]);
  const inside = (g) => {
    if (!frames.has(g)) {
      const least = frameHead(graph, g).width;
      const frame = { frame: g, items: [], first: Infinity, last: -1, least, left: 0 };
      frames.set(g, frame);
      inside(shown.frames.get(g).parent).items.push(frame);
      root.all.set(`f${g}`, frame);
    }
    return frames.get(g);
  };
  for (const box of [...shown.boxes.values()].sort((a, b) => a.first - b.first)) {
    const row = rows.get(box.id);
    const item = { box, w: box.w, first: row, last: row, near: [], left: 0 };
    root.all.set(box.id, item);
    inside(box.group).items.push(item);
    for (const g of framesAround(shown, box.group)) {
      frames.get(g).first = Math.min(frames.get(g).first, row);
      frames.get(g).last = Math.max(frames.get(g).last, row);
    }
  }
  const near = (a, b) => {
    a.near.push(b);
    b.near.push(a);
  };
  for (const [from, to] of shown.edges) {
    const [a, b] = [root.all.get(from), root.all.get(to)];
    if (b.first - a.first < 2) {
      near(a, b);
      continue;
    }
    const around = framesAround(shown, b.box.group);
    const g = framesAround(shown, a.box.group).find((group) => around.includes(group));
    const key = `${from}>>${g}`; // one for all that go the same way
    if (!root.all.has(key)) {
      const made = { w: LANE, first: a.first + 1, last: a.first + 1, near: [], left: 0 };
      root.all.set(key, made);
      frames.get(g).items.push(made);
      near(a, made);
    }
    const lane = root.all.get(key);
    lane.last = Math.max(lane.last, b.first - 1);
    root.lanes.set(`${from}>${to}`, lane);
    near(lane, b);
  }
  if (graph.stage === 'eager') {
    const column = [...root.all.values()].filter((item) => item.box).sort((a, b) => a.first - b.first);
    for (let i = 1; i < column.length; i += 1) for (let k = 0; k < 8; k += 1) near(column[i - 1], column[i]);
  }
  return root;
}

const middleOf = (item) => item.left + item.w / 2;
/** By how much an item would move to stand between its neighbours, or only those above or below it. */
function pull(item, side = null) {
  const inside = item.items ? leaves(item) : null;
  let [sum, count] = [0, 0];
  for (const leaf of inside || [item])
    for (const other of leaf.near) {
      if (inside?.has(other) || (side && side !== (other.last < leaf.first ? 'above' : 'below'))) continue;
      sum += middleOf(other) - middleOf(leaf);
      count += 1;
    }
  return count ? sum / count : 0;
}
function leaves(frame) {
  frame.leaves ||= new Set(frame.items.flatMap((item) => (item.items ? [...leaves(item)] : [item])));
  return frame.leaves;
}

/** Put the items of a frame, and of those in it, side by side where they share a row; in the order of their pulls. */
function pack(frame, round, sorts) {
  for (const item of frame.items) if (item.items) pack(item, round, sorts);
  if (sorts) {
    for (const item of frame.items) item.want = middleOf(item) + pull(item, round % 2 ? 'above' : 'below');
    frame.items.sort((a, b) => a.want - b.want);
  }
  const last = new Map(); // row → what stands there so far
  for (const item of frame.items) {
    const before = new Set();
    for (let row = item.first; row <= item.last; row += 1) {
      if (last.has(row)) before.add(last.get(row));
      last.set(row, item);
    }
    item.before = [...before];
    item.after = [];
    for (const other of before) other.after.push(item);
    item.x = Math.max(0, ...item.before.map((other) => other.x + other.w + GAP));
  }
  const w = frame.items.reduce((most, item) => Math.max(most, item.x + item.w), 0);
  frame.w = frame.least === undefined ? w : Math.max(w + 2 * MARGIN, frame.least);
}

/** Move the items of a frame to where their neighbours are, as far as the frame and those beside them let. */
function settle(frame, left) {
  const margin = frame.least === undefined ? 0 : MARGIN;
  const origin = left + margin;
  const { items } = frame;
  const backwards = [...items].reverse();
  const room = frame.w - 2 * margin;
  frame.left = left;
  for (const item of items) {
    item.want = item.left + pull(item) - origin;
    item.low = Math.max(0, ...item.before.map((other) => other.low + other.w + GAP));
  }
  for (const item of backwards) item.high = Math.min(room, ...item.after.map((other) => other.high - GAP)) - item.w;
  // From the left, from the right: both have no overlaps, and so has their mean.
  for (const item of items)
    item.a = Math.min(item.high, Math.max(item.want, 0, ...item.before.map((other) => other.a + other.w + GAP)));
  for (const item of backwards)
    item.b = Math.max(
      item.low,
      Math.min(item.want, room - item.w, ...item.after.map((other) => other.b - GAP - item.w)),
    );
  for (const item of items) {
    item.left = origin + (item.a + item.b) / 2;
    if (item.items) settle(item, item.left);
  }
}

/** Where rows begin and end, with room for the titles and feet of frames between them. */
function heights(graph, root) {
  const count = root.last + 1;
  const [tall, before, after] = [0, 0, 0].map((zero) => Array(count).fill(zero));
  const measure = (item) => {
    if (!item.items) {
      if (item.box) tall[item.first] = Math.max(tall[item.first], item.box.h);
      return;
    }
    item.items.forEach(measure);
    const most = (key, row) => Math.max(0, ...item.items.map((part) => (part[row] === item[row] && part[key]) || 0));
    item.head = most('head', 'first') + (item === root ? 6 : frameHead(graph, item.frame).height);
    item.foot = most('foot', 'last') + (item === root ? 6 : MARGIN);
    before[item.first] = Math.max(before[item.first], item.head);
    after[item.last] = Math.max(after[item.last], item.foot);
  };
  measure(root);
  const top = [];
  for (let row = 0; row < count; row += 1)
    top.push(before[row] + (row ? top[row - 1] + tall[row - 1] + after[row - 1] + BETWEEN : 0));
  return { top, foot: top.map((y, row) => y + tall[row]) };
}

/** The curve of an edge: from the foot of a box, down its lane, to the top of the other. */
function route(from, to, root, y) {
  const [a, b] = [root.all.get(from), root.all.get(to)];
  const lane = root.lanes.get(`${from}>${to}`);
  const middle = (item) => (y.top[item.first] + y.foot[item.first]) / 2;
  const points = [middleOf(a), middle(a) + a.box.h / 2];
  const curve = (x1, y1) => {
    const [x0, y0] = points.slice(-2);
    const bend = y1 > y0 ? (y1 - y0) / 2 : 30;
    points.push(x0, y0 + bend, x1, y1 - bend, x1, y1);
  };
  if (lane) {
    curve(middleOf(lane), y.top[lane.first]);
    curve(middleOf(lane), y.foot[b.first - 1]);
  }
  curve(middleOf(b), middle(b) - b.box.h / 2);
  return points.map(Math.round);
}
