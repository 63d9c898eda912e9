// Where boxes go: Graphviz's `dot` as WebAssembly, in a worker that is started when it is first needed.

const MAX_BOXES = 3500; // beyond it the engine runs out of stack
const MONO_WIDTH = 7.2; // of one character of Courier at 12 points, by which a frame's title gets its room
const INCH = 72;

/** DOT of what is shown: `n<id>` is a node, `m<id>` a closed group, `cluster_<id>` an open one; only numbers. */
function dotSource(graph, shown, attributes) {
  const list = (values) =>
    Object.entries(values)
      .map(([key, value]) => `${key}=${value}`)
      .join(', ');
  const lines = ['digraph g {', `graph [${list(attributes.graph)}, pad=0.1, fontname=Courier, fontsize=12]`];
  for (const [from, more] of attributes.large) if (shown.boxes.size > from) lines.push(`graph [${list(more)}]`);
  if (graph.stage === 'kernel_calls') lines.push('graph [ranksep=0.55]'); // room for the prices on the edges
  lines.push('node [shape=box, fixedsize=true, label=""]', 'edge [arrowhead=none]');
  const inside = new Map();
  const children = new Map();
  for (const box of shown.boxes.values()) push(inside, box.group, box);
  for (const frame of shown.frames.values()) push(children, frame.parent, frame.id);
  const emit = (group) => {
    for (const box of inside.get(group) || [])
      lines.push(`${dotName(box.id)} [width=${(box.w / INCH).toFixed(3)}, height=${(box.h / INCH).toFixed(3)}]`);
    for (const g of children.get(group) || []) {
      const { width, lines: rows } = frameHead(graph, g);
      const title = ['x'.repeat(Math.max(1, Math.round(width / MONO_WIDTH))), ...Array(rows - 1).fill('x')];
      lines.push(`subgraph cluster_${g} { label="${title.join('\\n')}"; margin=12;`);
      emit(g);
      lines.push('}');
    }
  };
  emit(-1);
  for (const [a, b] of shown.edges) lines.push(`${dotName(a)} -> ${dotName(b)}`);
  if (graph.stage === 'eager') {
    const order = inOrder(shown);
    for (let i = 1; i < order.length; i += 1)
      lines.push(`${dotName(order[i - 1].id)} -> ${dotName(order[i].id)} [style=invis, weight=100]`);
  }
  return `${lines.join('\n')}\n}`;
}
const dotName = (id) => (id >= 0 ? `n${id}` : `m${-1 - id}`); // a dash would need quotes
const idOf = (name) => (name[0] === 'n' ? Number(name.slice(1)) : -1 - Number(name.slice(1)));

/** Room for the title of an open frame: its width in px and its lines. */
function frameHead(graph, g) {
  const { groups } = graph;
  const gauge = known(at(groups, 'share', g)) ? 70 : 0;
  const title = Math.min(groups.title[g].length, 60) * 7.4 + 44 + gauge;
  const more = ['note', 'meta'].map((key) => (at(groups, key, g) || '').length).filter(Boolean);
  return { width: Math.max(title, ...more.map((length) => length * 6.5 + 40)), lines: 1 + more.length };
}

/** Read Graphviz's JSON: px, y downwards; centres of boxes, corners of frames, points of edges (cubic splines). */
function readLayout(answer, shown) {
  const [left, bottom, right, top] = answer.bb.split(',').map(Number);
  const point = (text) => {
    const [x, y] = text.split(',').map(Number);
    return [Math.round(x - left), Math.round(top - y)];
  };
  const out = {
    w: Math.round(right - left),
    h: Math.round(top - bottom),
    boxes: new Map(),
    frames: new Map(),
    edges: [],
  };
  const ids = new Map();
  for (const item of answer.objects || []) {
    if (item.name.startsWith('cluster_')) {
      if (!item.bb) continue;
      const [x0, y0, x1, y1] = item.bb.split(',').map(Number);
      out.frames.set(Number(item.name.slice(8)), [x0 - left, top - y1, x1 - left, top - y0].map(Math.round));
    } else if (item.pos) {
      ids.set(item._gvid, idOf(item.name));
      out.boxes.set(idOf(item.name), point(item.pos));
    }
  }
  for (const item of answer.edges || []) {
    if (item.style === 'invis') continue;
    const from = ids.get(item.tail);
    const to = ids.get(item.head);
    const points = (item.pos || '').split(' ').filter((part) => part && !/^[es],/.test(part));
    out.edges.push([from, to, points.length ? points.flatMap(point) : straight(out, shown, from, to)]);
  }
  return out;
}
/** A curve from the foot of one box to the top of another. */
function straight(placed, shown, from, to) {
  const [ax, ay] = placed.boxes.get(from);
  const [bx, by] = placed.boxes.get(to);
  const y0 = ay + shown.boxes.get(from).h / 2;
  const y1 = by - shown.boxes.get(to).h / 2;
  const bend = Math.max(14, Math.min(70, Math.abs(y1 - y0) / 2));
  return [ax, y0, ax, y0 + bend, bx, y1 - bend, bx, y1];
}

/** One box below the other in program order, frames around theirs: where the engine cannot run. */
function column(graph, shown) {
  const out = { w: 0, h: 0, boxes: new Map(), frames: new Map(), edges: [] };
  const first = new Map();
  const children = new Map();
  for (const box of shown.boxes.values()) {
    push(children, box.group, { first: box.first, box });
    for (let g = box.group; g >= 0; g = shown.frames.get(g).parent)
      first.set(g, Math.min(first.get(g) ?? Infinity, box.first));
  }
  for (const frame of shown.frames.values())
    push(children, frame.parent, { first: first.get(frame.id), frame: frame.id });
  let y = 0;
  const put = (group, x) => {
    let right = x;
    for (const item of (children.get(group) || []).sort((a, b) => a.first - b.first)) {
      if (item.box) {
        out.boxes.set(item.box.id, [x + item.box.w / 2, y + item.box.h / 2]);
        right = Math.max(right, x + item.box.w);
        y += item.box.h + 12;
      } else {
        const head = frameHead(graph, item.frame);
        const y0 = y;
        y += 14 + 15 * head.lines;
        const edge = Math.max(put(item.frame, x + 12), x + head.width);
        out.frames.set(item.frame, [x, y0, edge + 12, y]);
        right = Math.max(right, edge + 12);
        y += 12;
      }
    }
    return right;
  };
  out.w = put(-1, 0) + 90;
  out.h = y;
  for (const [from, to] of shown.edges) {
    const [ax, ay] = out.boxes.get(from);
    const [bx, by] = out.boxes.get(to);
    const x0 = ax + shown.boxes.get(from).w / 2;
    const x1 = bx + shown.boxes.get(to).w / 2;
    const bend = Math.max(x0, x1) + Math.min(80, 14 + Math.abs(by - ay) / 12);
    out.edges.push([from, to, [x0, ay, bend, ay, bend, by, x1, by]]);
  }
  return out;
}

/** Unpack base64 of deflated text. */
function inflate(element) {
  const raw = atob(element.textContent);
  const packed = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i += 1) packed[i] = raw.charCodeAt(i);
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate')));
}

const WORKER = `
const engine = Viz.instance();
onmessage = async ({ data }) => {
  try {
    postMessage({ answer: (await engine).renderString(data, { format: 'json0' }) });
  } catch (error) {
    postMessage({ error: String(error && error.message ? error.message : error) });
  }
};`;

let ENGINE_URL = null; // of the worker's program, unpacked once for all engines

/** Lays out one graph at a time; a newer wish ends the older one. */
class LayoutEngine {
  /** Resolve to a layout; null where a newer wish came first. `why` says why it is a column instead. */
  async place(graph, shown, attributes) {
    const turn = (this.turn = (this.turn || 0) + 1);
    if (!shown.boxes.size) return { w: 1, h: 1, boxes: new Map(), frames: new Map(), edges: [] };
    const instead = (why) => (turn === this.turn ? { ...column(graph, shown), why } : null);
    if (shown.boxes.size > MAX_BOXES) return instead('in program order: too many boxes to place by their edges');
    if (this.worker && this.busy) this.stop();
    try {
      this.busy = true;
      const worker = await this.start();
      if (turn !== this.turn) return null;
      const text = await new Promise((resolve, reject) => {
        worker.onmessage = ({ data }) => (data.error ? reject(new Error(data.error)) : resolve(data.answer));
        worker.onerror = (event) => reject(new Error(event.message || 'the worker could not start'));
        worker.postMessage(dotSource(graph, shown, attributes));
      });
      if (turn !== this.turn) return null;
      this.busy = false;
      return readLayout(JSON.parse(text), shown);
    } catch (error) {
      if (turn !== this.turn) return null;
      this.stop();
      return instead(`in program order: the layout engine failed (${error.message})`);
    }
  }
  /** Start the worker; it compiles the engine while the page does something else. */
  async start() {
    ENGINE_URL ||= inflate($('graphviz'))
      .blob()
      .then((code) => URL.createObjectURL(new Blob([code, WORKER], { type: 'text/javascript' })));
    const url = await ENGINE_URL;
    this.worker ||= new Worker(url);
    return this.worker;
  }
  /** A wish under way is not wanted any more. */
  forget() {
    this.turn = (this.turn || 0) + 1;
    if (this.busy) this.stop();
  }
  stop() {
    this.worker?.terminate();
    this.worker = null;
    this.busy = false;
  }
}
