// Steps on one time axis, one or two: CPU ops above, the calls that launch below them, then what ran on each stream.
// Times are ns from the begin of their own step, so that two steps, or two recordings, begin at the same place.

const RULER = 26,
  LANE_GAP = 10,
  HEAD = 20, // above each of two steps
  LOW = 260; // px below which only one step is drawn

class Timeline {
  constructor(host) {
    this.canvas = el('canvas', {
      class: 'timeline-canvas',
      tabindex: 0,
      role: 'application',
      'aria-label':
        'Timeline. Left and right arrows go from launch to launch, plus and minus zoom, zero shows the whole step. ' +
        'The kernel table has the same numbers.',
    });
    this.pick = el('select', { 'aria-label': 'Step', onchange: () => this.pickStep(Number(this.pick.value)) });
    this.below = el('select', { 'aria-label': 'Second step, below', onchange: () => this.openBelow(this.below.value) });
    this.sums = el('div', { class: 'sums', role: 'status', hidden: true });
    this.flows = el('input', { type: 'checkbox', checked: true, onchange: () => this.paint() });
    const button = (label, name, action) =>
      el('button', { type: 'button', class: 'icon', title: name, 'aria-label': name, onclick: action }, label);
    this.note = el('span', { class: 'muted count' });
    this.tools = el(
      'div',
      { class: 'toolbar', role: 'toolbar', 'aria-label': 'Timeline' },
      this.pick,
      this.below,
      el('label', { class: 'check' }, this.flows, 'Flows'),
      this.note,
      el('span', { class: 'spring' }),
      button('−', 'Zoom out', () => this.zoom(1 / 1.6)),
      button('+', 'Zoom in', () => this.zoom(1.6)),
      button('⇥', 'Zoom to what the device ran', () => this.fitDevice()),
      button('⤢', 'Whole step', () => this.showAll()),
    );
    host.append(this.tools, this.sums, this.canvas);
    this.tip = el('div', { class: 'tip', hidden: true });
    document.body.append(this.tip);
    this.paint = painter(() => this.draw());
    this.scroll = 0;
    this.tracks = []; // one step, or two; the active one is of the recording that is looked at
    this.cache = new Map();
    this.from = 0;
    this.perNs = 1;
    new ResizeObserver(() => {
      const { clientWidth } = this.canvas;
      if (!clientWidth) return;
      if (this.tracks.length && this.fitted !== this.shown.length) this.fitAll();
      else if (this.wide) this.perNs *= this.span / (this.wide - 16); // the same times, beside the panel too
      this.wide = clientWidth;
      this.paint();
    }).observe(this.canvas);
    on('chosen', (from) => this.follow(from));
    on('theme', () => this.paint());
    this.pointer();
    this.canvas.addEventListener('keydown', (event) => this.key(event));
  }
  get recording() {
    return current();
  }
  get empty() {
    return !this.recording.launches.n && !this.recording.ops.n;
  }

  openRecording() {
    const r = this.recording;
    this.note.textContent = r.left_out ? `Shown: ${r.left_out}` : '';
    const drawn = this.tracks.find((track) => track.r === r);
    if (drawn) this.active = drawn;
    else {
      const [first] = stepsOf(r);
      this.tracks = first ? [this.track(r, first[0])] : [];
      this.active = this.tracks[0];
      this.addTrack(this.opensWith());
    }
    this.relist();
    this.range = null;
    if (this.tracks.length) this.fitAll();
    else this.paint();
  }
  /** The step that is drawn below the first one when the timeline opens, as its list names it: another recording's. */
  opensWith() {
    const r = this.recording;
    const other = PAGE.all[r.position ? 0 : 1];
    const second = other && stepsOf(other)[0];
    return second && stepsOf(r).length ? `${other.position}:${second[0]}` : '';
  }
  addTrack(value) {
    const [position, step] = value.split(':').map(Number);
    const r = value ? PAGE.all[position] : null;
    if (r && stepsOf(r).some(([number]) => number === step)) this.tracks.push(this.track(r, step));
    this.tracks = [...new Set(this.tracks)];
  }
  /** What the address says: steps other than those that open, the range that is summed, and the time in view. */
  address(out) {
    if (PAGE.view !== 'timeline' || !this.active) return;
    const second = this.tracks.find((track) => track !== this.active);
    const below = second ? `${second.r.position}:${second.step}` : '';
    const rounded_ = (a, b) => `${Math.round(a)}_${Math.round(b)}`;
    if (this.active.step !== stepsOf(this.recording)[0][0]) out.set('step', this.active.step);
    if (below !== this.opensWith()) out.set('below', below || 'none');
    if (this.range) out.set('range', rounded_(...this.range));
    if (this.moved) out.set('span', rounded_(this.from, this.from + this.span / this.perNs));
  }
  /** Show what an address says. */
  restore({ type, step, below, range, span }) {
    const r = this.recording;
    const own = stepsOf(r).map(([number]) => number);
    if (!own.length) return;
    const plain = type ? this.active.step : own[0]; // what is chosen has opened its step
    this.active = this.track(r, own.includes(step) ? step : plain);
    this.tracks = [this.active];
    this.addTrack(below === 'none' ? '' : below || this.opensWith());
    this.relist();
    if (span.length === 2 || !type) this.fitAll();
    if (span.length === 2) this.window(...span);
    this.moved = span.length === 2;
    this.select(...(range.length === 2 ? range : [null]));
  }
  /** The view was moved by hand: it is in the address. */
  touched(yes = true) {
    this.moved = yes;
    writeMoved();
    this.paint();
  }
  /** Fill the two lists of steps. */
  relist() {
    const r = this.recording;
    const own = stepsOf(r);
    clear(
      this.pick,
      own.map(([step, name]) => el('option', { value: step }, name)),
    );
    this.pick.hidden = own.length < 2;
    if (this.active) this.pick.value = String(this.active.step);
    const many = PAGE.all.length > 1;
    const all = PAGE.all.flatMap((other) => stepsOf(other).map(([step, name]) => [other, step, name]));
    clear(
      this.below,
      el('option', { value: '' }, 'one step alone'),
      all
        .filter(([other, step]) => !(this.active && other === r && step === this.active.step))
        .map(([other, step, name]) =>
          el('option', { value: `${other.position}:${step}` }, many ? `with ${other.title}: ${name}` : `with ${name}`),
        ),
    );
    this.below.hidden = all.length < 2;
    const second = this.tracks.find((track) => track !== this.active);
    this.below.value = second ? `${second.r.position}:${second.step}` : '';
  }
  track(r, step) {
    const key = `${r.position}:${step}`;
    if (!this.cache.has(key)) this.cache.set(key, this.build(r, step));
    return this.cache.get(key);
  }
  pickStep(step) {
    this.openStep(step);
    writeHash();
  }
  openStep(step, keep = false) {
    const track = this.track(this.recording, step);
    this.tracks = [...new Set(this.tracks.map((other) => (other === this.active ? track : other)))];
    this.active = track;
    this.select(null);
    this.relist();
    if (!keep) this.fitAll();
    this.paint();
  }
  /** Draw a second step below, at the same scale; none for "". */
  openBelow(value) {
    this.tracks = [this.active];
    this.addTrack(value);
    this.select(null);
    this.fitAll();
    writeHash();
  }
  /** The steps that are drawn: where there is little room, the active one alone. */
  get shown() {
    return this.canvas.clientHeight < LOW && this.active ? [this.active] : this.tracks;
  }
  get lanes() {
    return this.shown.flatMap((track) => track.lanes);
  }
  get t1() {
    return Math.max(1, ...this.shown.map((track) => track.length));
  }

  /** Sort events into rows, each in order of time and without overlap. */
  build(r, step) {
    const { ops, launches } = r;
    const threads = new Map(),
      runtimes = new Map(),
      streams = new Map();
    const depths = new Int16Array(ops.n).fill(-1);
    let t0 = Infinity,
      t1 = -Infinity;
    const see = (start, end) => {
      if (start < t0) t0 = start;
      if (end > t1) t1 = end;
    };
    const order = [...Array(ops.n).keys()]
      .filter((i) => at(ops, 'step', i) === step)
      .sort((a, b) => ops.start[a] - ops.start[b] || ops.duration[b] - ops.duration[a]);
    const open = new Map();
    for (const i of order) {
      const thread = at(ops, 'thread', i) ?? 0,
        category = r.names[ops.category[i]];
      see(ops.start[i], ops.start[i] + ops.duration[i]);
      if (category === 'runtime') {
        push(runtimes, thread, i);
        continue;
      }
      if (!open.has(thread)) open.set(thread, []);
      const stack = open.get(thread);
      while (stack.length && ops.start[stack.at(-1)] + ops.duration[stack.at(-1)] <= ops.start[i]) stack.pop();
      depths[i] = stack.length;
      stack.push(i);
      if (!threads.has(thread)) threads.set(thread, []);
      const rows = threads.get(thread);
      (rows[depths[i]] ||= []).push(i);
    }
    const list = [...Array(launches.n).keys()]
      .filter((i) => at(launches, 'step', i) === step)
      .sort((a, b) => launches.start[a] - launches.start[b]);
    for (const i of list) {
      see(launches.start[i], launches.start[i] + launches.duration[i]);
      push(streams, `${at(launches, 'device', i) ?? '–'}/${at(launches, 'stream', i) ?? '–'}`, i);
    }
    if (t0 === Infinity) {
      t0 = 0;
      t1 = 1;
    }
    const lanes = [];
    const opRow = (items) => this.row('op', items, r, t0);
    for (const [thread, rows] of threads) {
      const label = threads.size > 1 ? `CPU thread ${thread}` : 'CPU';
      lanes.push({ label, thread, rows: rows.slice(0, 14).map(opRow) });
      if (runtimes.has(thread)) {
        lanes.push({ label: 'runtime', thread, rows: [opRow(runtimes.get(thread))], tight: true });
        runtimes.delete(thread);
      }
    }
    for (const [thread, items] of runtimes) lanes.push({ label: `runtime ${thread}`, thread, rows: [opRow(items)] });
    const cpuOnly = list.length && list.every((i) => r.names[launches.category[i]] === 'cpu_kernel');
    for (const [name, items] of streams) {
      const [device, stream] = name.split('/');
      // Streams of a device are in order, but a trace may overlap by rounding: such events go to a second row.
      const rows = [];
      for (const i of items) {
        const row = rows.findIndex(
          (ids) => launches.start[ids.at(-1)] + launches.duration[ids.at(-1)] <= launches.start[i] + 1,
        );
        if (row >= 0) rows[row].push(i);
        else if (rows.length < 4) rows.push([i]);
        else rows[3].push(i);
      }
      lanes.push({
        label: cpuOnly ? 'kernels on the CPU' : `GPU ${device} · stream ${stream}`,
        rows: rows.map((ids) => this.row('launch', ids, r, t0)),
        device: true,
      });
    }
    const place = new Map(); // event → its lane and row
    for (const lane of lanes)
      lane.rows.forEach((row, k) => row.items.forEach((i) => place.set(`${row.type}${i}`, [lane, k])));
    const [, name] = stepsOf(r).find(([s]) => s === step);
    const track = { r, step, t0, length: t1 - t0, lanes, list, rows: place };
    track.title = PAGE.all.length > 1 ? `${r.title} · ${name}` : name;
    track.starts = Float64Array.from(list, (i) => launches.start[i] - t0);
    for (const lane of lanes) lane.track = track;
    return track;
  }
  /** Rows as tall as there is room for. */
  stack(room) {
    const { lanes, shown } = this,
      count = lanes.reduce((sum, lane) => sum + lane.rows.length, 0),
      loose = lanes.filter((lane) => !lane.tight).length,
      heads = shown.length > 1 ? shown.length * HEAD : 0;
    this.rowHeight = Math.max(
      20,
      Math.min(30, Math.floor((room - RULER - 30 - heads - loose * (LANE_GAP + 12)) / Math.max(1, count))),
    );
    let y = RULER;
    for (const track of shown) {
      track.y = y;
      if (heads) y += HEAD;
      for (const lane of track.lanes) {
        if (!lane.tight) y += LANE_GAP + 12;
        else y += 3;
        lane.y = y;
        y += lane.rows.length * this.rowHeight;
      }
    }
    this.height = y + 16;
  }
  place(track, event) {
    const found = track.rows.get(event);
    return found ? found[0].y + found[1] * this.rowHeight : undefined;
  }
  row(type, items, r, t0) {
    const table = type === 'launch' ? r.launches : r.ops;
    const start = new Float64Array(items.length),
      end = new Float64Array(items.length);
    items.forEach((i, k) => {
      start[k] = table.start[i] - t0;
      end[k] = start[k] + table.duration[i];
    });
    return { type, items, start, end, looks: items.map((i) => this.look(type, i, r)) };
  }

  get left() {
    return 8;
  }
  get span() {
    return this.canvas.clientWidth - 16;
  }
  X(t) {
    return this.left + (t - this.from) * this.perNs;
  }
  T(x) {
    return this.from + (x - this.left) / this.perNs;
  }
  window(from, to) {
    if (!this.canvas.clientWidth) return; // it is fitted when it is first seen
    this.from = from;
    this.perNs = this.span / Math.max(1, to - from);
    this.paint();
  }
  fitAll() {
    this.moved = false;
    const pad = this.t1 * 0.01;
    this.fitted = this.canvas.clientWidth ? this.shown.length : 0; // to how many steps
    this.scroll = this.canvas.clientHeight < LOW ? 1e9 : 0;
    this.window(-pad, this.t1 + pad);
  }
  showAll() {
    this.fitAll();
    this.touched(false);
  }
  fitDevice() {
    const some = this.shown.filter((track) => track.list.length);
    if (!some.length) return;
    const ends = ({ list, r, t0 }) => list.slice(-50).map((i) => r.launches.start[i] + r.launches.duration[i] - t0);
    const a = Math.min(...some.map((track) => track.starts[0])),
      b = Math.max(...some.flatMap(ends)),
      pad = (b - a) * 0.03 + 1;
    this.window(a - pad, b + pad);
    this.touched();
  }
  /** Look at what is chosen. */
  fitChosen() {
    const found = this.extent();
    if (!found) return;
    this.window(found[0] - (found[1] - found[0]) * 2, found[1] + (found[1] - found[0]) * 2);
    this.touched();
  }
  /** From when to when the chosen launches ran in the active step, or the chosen CPU events. */
  extent() {
    const { links } = chosen,
      track = this.active;
    if (!links || !track) return null;
    for (const [set, table] of [
      [links.launches, track.r.launches],
      [links.ops, track.r.ops],
    ]) {
      const own = chosen.type === (table === track.r.launches ? 'launch' : 'op') ? [chosen.key] : [...set];
      const all = own.filter((i) => at(table, 'step', i) === track.step);
      if (!all.length) continue;
      const from = all.reduce((least, i) => Math.min(least, table.start[i]), Infinity);
      const to = all.reduce((most, i) => Math.max(most, table.start[i] + table.duration[i]), -Infinity);
      return [from - track.t0, to - track.t0];
    }
    return null;
  }
  zoom(by, x = this.pointerAt ?? this.canvas.clientWidth / 2) {
    const t = this.T(x),
      least = this.span / (this.t1 * 1.5 + 1);
    this.perNs = Math.max(least, Math.min(4, this.perNs * by));
    this.from = t - (x - this.left) / this.perNs;
    this.touched();
  }

  draw() {
    const { context, width, height } = fit(this.canvas);
    context.clearRect(0, 0, width, height);
    if (this.opened !== chosen.recording) return;
    if (!this.lanes.length) {
      context.font = sans(13);
      context.fillStyle = colours().muted;
      context.fillText('Nothing was run: the recording has no timeline.', 20, 40);
      return;
    }
    this.stack(height);
    this.scroll = Math.max(0, Math.min(this.scroll, this.height - height));
    this.scene(context, width, height, this.scroll);
    PAGE.frames = (PAGE.frames || 0) + 1;
  }
  scene(context, width, height, scroll) {
    const c = colours(),
      { shown } = this;
    this.scale(context, width, height, c);
    context.save();
    context.beginPath();
    context.rect(0, RULER, width, height - RULER);
    context.clip();
    context.translate(0, -scroll);
    for (const track of shown) {
      const links = chosen.links && chosen.recording === track.r.position ? chosen.links : null;
      context.textAlign = 'left';
      context.textBaseline = 'middle';
      if (shown.length > 1) {
        context.fillStyle = mix(c.paper, c.muted, 0.1);
        context.fillRect(0, track.y + 2, width, HEAD - 2);
        context.font = sans(12, 600);
        context.fillStyle = c.text;
        context.fillText(`${track.title} · ${microseconds(track.length / 1e3)}`, this.left, track.y + 12);
      }
      for (const lane of track.lanes) {
        if (!lane.tight) {
          context.font = sans(12, 600);
          context.fillStyle = c.muted;
          context.textAlign = 'left';
          context.textBaseline = 'middle';
          context.fillText(lane.label, this.left, lane.y - 8);
        }
        lane.rows.forEach((row, k) =>
          this.drawRow(context, row, lane.y + k * this.rowHeight, width, c, links, track.r),
        );
      }
      if (this.flows.checked) this.drawFlows(context, width, c, links, track);
    }
    if (this.range) {
      const [x0, x1] = this.range.map((t) => this.X(t));
      context.globalAlpha = 0.16;
      context.fillStyle = c.text;
      context.fillRect(x0, 0, x1 - x0, this.height + height);
      context.globalAlpha = 1;
    }
    context.restore();
  }
  scale(context, width, height, c) {
    const nice = 10 ** Math.floor(Math.log10(120 / this.perNs));
    const step = [1, 2, 5, 10].map((k) => k * nice).find((v) => v * this.perNs >= 90) || nice * 10;
    const [tools, canvas] = [this.tools, this.canvas].map((part) => part.getBoundingClientRect());
    const end = tools.bottom > canvas.top ? tools.left - canvas.left : width; // below a graph the tools lie on the axis
    context.font = sans(12);
    context.textBaseline = 'middle';
    context.textAlign = 'left';
    for (let t = Math.ceil(this.from / step) * step; t < this.T(width); t += step) {
      const x = this.X(t);
      context.fillStyle = mix(c.paper, c.muted, 0.16);
      context.fillRect(x, 18, 1, height);
      context.fillStyle = c.muted;
      const time = microseconds(t / 1e3).replace(/\.0+ /, ' ');
      const label = t === 0 ? '0' : time;
      if (x + 3 + context.measureText(label).width <= end) context.fillText(label, x + 3, 11); // whole, or not at all
    }
  }
  /** What an event is coloured as. */
  look(type, i, r) {
    if (type === 'launch') {
      const category = r.names[r.launches.category[i]],
        call = index(r.launches, 'call', i);
      if (category === 'gpu_memset' || category === 'gpu_memcpy') return 'input';
      const name = r.launchName(i);
      const generated =
        call >= 0 ? !PAGE.theme.extern.includes(r.calls.type[call]) : /^(triton_|(graph_\d+_)?cpp_fused)/.test(name);
      return generated ? 'fused' : 'kernel';
    }
    const category = r.names[r.ops.category[i]];
    return category === 'cpu_op' ? 'op' : category === 'runtime' ? 'host' : 'span';
  }
  /** The colours of each look: fill, stroke, and the one colour of a bar too thin for both. */
  looks(c) {
    const out = {
      op: [mix(c.paper, c.muted, 0.2), mix(c.paper, c.muted, 0.7)],
      span: [mix(c.paper, c.muted, 0.08), mix(c.paper, c.muted, 0.4)],
    };
    for (const kind of ['input', 'fused', 'kernel', 'host']) out[kind] = [...kindColours(kind)];
    for (const look of Object.values(out)) look.push(mix(look[0], look[1], 0.5));
    return out;
  }
  drawRow(context, row, y, width, c, links, r) {
    const from = this.T(0),
      to = this.T(width),
      { start, end, items } = row;
    let k = lowerBound(end, from);
    const chosenSet = links ? (row.type === 'launch' ? links.launches : links.ops) : null;
    const h = this.rowHeight - 3,
      { left, perNs } = this,
      looks = this.looks(c),
      marks = [];
    context.textAlign = 'left';
    context.textBaseline = 'middle';
    context.font = row.type === 'launch' ? mono(12, 600) : mono(12);
    const covered = new Map(); // colour → share of each pixel that bars cover which are too thin to be drawn
    const cover = (colour, x0, x1) => {
      if (!covered.has(colour)) covered.set(colour, new Float32Array(Math.ceil(width) + 10));
      const shares = covered.get(colour);
      for (let px = Math.floor(x0); px < x1; px += 1) shares[px + 4] += Math.min(x1, px + 1) - Math.max(x0, px);
    };
    while (k < items.length && start[k] < to) {
      const i = items[k],
        x0 = Math.max(-4, left + (start[k] - this.from) * perNs),
        x1 = Math.min(width + 4, left + (end[k] - this.from) * perNs);
      const w = x1 - x0;
      if (chosenSet && chosenSet.has(i)) marks.push([x0, w]);
      const [fill, stroke, thin] = looks[row.looks[k]];
      if (w < 3) cover(row.type === 'launch' ? stroke : thin, x0, x1);
      else {
        context.fillStyle = fill;
        context.fillRect(x0, y, w, h);
        if (row.type === 'launch') {
          context.fillStyle = stroke;
          context.fillRect(x0, y, w, 3);
          context.fillRect(x0, y, 0.6, h);
        } else {
          context.strokeStyle = stroke;
          context.lineWidth = 0.8;
          context.beginPath();
          context.rect(x0 + 0.4, y + 0.4, w - 1.3, h - 0.8);
          context.stroke();
        }
        if (w > 22) {
          const room = Math.floor((w - 8) / 7.3);
          let name = row.type === 'launch' ? r.launchWords(i) : r.opName(i);
          if (name.length > room) name = name.replace(/^\w+::/, ''); // "linear" of aten::linear, not "ate…ar"
          context.fillStyle = c.text;
          const said = name.length <= room || room > 6 ? shorten(name, room) : ''; // seven letters or none
          context.fillText(said, x0 + 4, y + h / 2 + (row.type === 'launch' ? 1.5 : 0.5));
        }
      }
      k += 1;
    }
    for (const [colour, shares] of covered) {
      context.fillStyle = colour;
      for (let px = 0, next = 0; px < shares.length; px = next) {
        const share = Math.ceil(shares[px] * 250) / 250; // neighbours that are as busy in one rectangle
        for (next = px + 1; next < shares.length && Math.ceil(shares[next] * 250) / 250 === share;) next += 1;
        context.globalAlpha = Math.min(1, share);
        if (share) context.fillRect(px - 4, y, next - px, h);
      }
      context.globalAlpha = 1;
    }
    context.strokeStyle = c.text;
    context.lineWidth = 2;
    for (const [x, w] of marks.slice(0, 400)) {
      context.beginPath();
      context.rect(x - 1, y - 1, Math.max(w, 3) + 1, h + 2);
      context.stroke();
    }
  }
  drawFlows(context, width, c, links, track) {
    const { launches } = track.r,
      { t0 } = track,
      from = this.T(-width),
      to = this.T(2 * width);
    if (!launches.launched) return;
    // Of a hundred thousand launches only those near the view are looked at.
    const low = lowerBound(track.starts, from),
      high = lowerBound(track.starts, to);
    const visible_ = (i) => known(launches.launched[i]) && at(launches, 'step', i) === track.step;
    const some = high - low <= 150 ? track.list.slice(low, high).filter(visible_) : [];
    const picked = links
      ? [...links.launches]
          .slice(0, 5000)
          .filter((i) => visible_(i) && launches.start[i] - t0 > from && launches.launched[i] - t0 < to)
      : [];
    const cpu = track.lanes.filter((lane) => !lane.device);
    const foot = (lane) => (lane ? lane.y + lane.rows.length * this.rowHeight - 3 : track.y);
    const feet = new Map(cpu.map((lane) => [lane.thread, foot(lane)])); // of a thread's last lane
    const { ops } = track.r;
    const footOf = (i) => {
      const op = index(launches, 'op', i);
      return feet.get(op >= 0 ? (at(ops, 'thread', op) ?? 0) : null) ?? foot(cpu.at(-1));
    };
    const line = (list, colour, w) => {
      context.strokeStyle = colour;
      context.lineWidth = w;
      context.beginPath();
      for (const i of list.slice(0, 400)) {
        const x0 = this.X(launches.launched[i] - t0),
          x1 = this.X(launches.start[i] - t0),
          y1 = this.place(track, `launch${i}`);
        if ((x0 < 0 && x1 < 0) || (x0 > width && x1 > width)) continue;
        const bottom = footOf(i);
        const mid = (bottom + y1) / 2;
        context.moveTo(x0, bottom);
        context.bezierCurveTo(x0, mid + 8, x1, mid - 8, x1, y1);
      }
      context.stroke();
    };
    line(some, mix(c.paper, c.muted, 0.55), 1);
    line(picked, c.text, 1.8);
  }

  hit(px, py) {
    const y = py + this.scroll,
      t = this.T(px),
      slack = 2 / this.perNs;
    for (const lane of this.lanes) {
      const k = Math.floor((y - lane.y) / this.rowHeight);
      if (k < 0 || k >= lane.rows.length || py < RULER) continue;
      const row = lane.rows[k];
      for (let j = lowerBound(row.end, t - slack); j < row.items.length && row.start[j] <= t + slack; j += 1)
        return { type: row.type, key: row.items[j], track: lane.track };
    }
    return null;
  }
  pointer() {
    const canvas = this.canvas;
    let down = null;
    canvas.addEventListener('pointerdown', (event) => {
      down = { x: event.offsetX, y: event.offsetY, from: this.from, scroll: this.scroll, moved: false };
      down.range = event.shiftKey ? this.T(event.offsetX) : null;
      canvas.setPointerCapture(event.pointerId);
      this.tip.hidden = true;
    });
    canvas.addEventListener('pointermove', (event) => {
      this.pointerAt = event.offsetX; // keys zoom there
      if (down) {
        if (Math.hypot(event.offsetX - down.x, event.offsetY - down.y) > 4) down.moved = true;
        if (down.moved && down.range !== null) this.select(down.range, this.T(event.offsetX));
        else if (down.moved) {
          this.from = down.from - (event.offsetX - down.x) / this.perNs;
          this.scroll = down.scroll - (event.offsetY - down.y);
          this.touched();
        }
        return;
      }
      this.hover(event);
    });
    canvas.addEventListener('pointerup', (event) => {
      if (down && !down.moved) {
        const hit = this.hit(event.offsetX, event.offsetY);
        if (hit) {
          this.active = hit.track;
          choose(hit.type, hit.key, { recording: hit.track.r.position, from: 'timeline' });
          this.relist();
        } else {
          this.select(null);
          choose(null, null, { from: 'timeline' });
        }
      } else if (down?.moved && down.range !== null) writeHash();
      down = null;
    });
    canvas.addEventListener('pointerleave', () => {
      this.pointerAt = null;
      this.tip.hidden = true;
    });
    canvas.addEventListener(
      'wheel',
      (event) => {
        event.preventDefault();
        if (!this.tracks.length) return;
        if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
          this.from += (event.deltaX || event.deltaY) / this.perNs;
          this.touched();
        } else this.zoom(Math.exp(-Math.max(-200, Math.min(200, event.deltaY)) * 0.003), event.offsetX);
      },
      { passive: false },
    );
  }
  /** Mark a range of time and say what ran in it; events that reach out of it count with the part inside. */
  select(from, to = from) {
    this.range = from === null ? null : [Math.min(from, to), Math.max(from, to)].map(Math.round);
    const { shown } = this;
    const line = ({ r, list, t0, title: name }) => {
      const said = rangeWords(sumsOf(r.launches, list, this.range[0] + t0, this.range[1] + t0));
      return el('p', {}, shown.length > 1 ? el('b', {}, `${name}: `) : null, said);
    };
    clear(this.sums, this.range ? shown.map(line) : []);
    this.sums.hidden = !this.range;
    this.paint();
  }
  hover(event) {
    const hit = this.hit(event.offsetX, event.offsetY),
      r = hit?.track.r;
    this.canvas.style.cursor = hit ? 'pointer' : 'grab';
    if (!hit) {
      this.tip.hidden = true;
      return;
    }
    const table = hit.type === 'launch' ? r.launches : r.ops,
      i = hit.key;
    const name = hit.type === 'launch' ? r.launchName(i) : r.opName(i);
    const lines = [
      hit.type === 'launch' ? [r.launchWords(i), 'strong'] : null,
      [name, hit.type === 'launch' ? 'code' : 'strong'],
      [`${microseconds(table.duration[i] / 1e3)} · starts at ${microseconds((table.start[i] - hit.track.t0) / 1e3)}`],
    ];
    if (hit.type === 'launch') {
      const op = r.name(index(r.launches, 'opname', i)),
        call = index(r.launches, 'call', i),
        config = r.name(index(r.launches, 'config', i));
      if (op) lines.push([`launched by ${op}`]);
      if (call >= 0) lines.push([`kernel call ${r.calls.id[call]}`]);
      if (known(at(r.launches, 'launched', i)))
        lines.push([`${microseconds((r.launches.start[i] - r.launches.launched[i]) / 1e3)} after it was launched`]);
      if (config) lines.push([config]);
    } else {
      const shapes = r.name(index(r.ops, 'shapes', i));
      if (shapes) lines.push([shapes, 'code']);
    }
    clear(
      this.tip,
      lines.filter(Boolean).map(([words_, style]) => el('div', { class: style || null }, words_)),
    );
    this.tip.hidden = false;
    this.tip.style.left = `${Math.min(event.clientX + 14, innerWidth - this.tip.offsetWidth - 8)}px`;
    this.tip.style.top = `${Math.min(event.clientY + 16, innerHeight - this.tip.offsetHeight - 8)}px`;
  }
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.active?.lanes.length) return;
    const move = (by) => {
      const { list } = this.active;
      const here = chosen.type === 'launch' ? list.indexOf(chosen.key) : -1;
      const next = list[Math.max(0, Math.min(list.length - 1, here + by))];
      if (known(next)) choose('launch', next, { from: 'keys' });
    };
    const actions = {
      ArrowRight: () => move(1),
      ArrowLeft: () => move(-1),
      '.': () => move(1),
      ',': () => move(-1),
      ArrowUp: () => {
        this.scroll -= 40;
        this.paint();
      },
      ArrowDown: () => {
        this.scroll += 40;
        this.paint();
      },
      '+': () => this.zoom(1.5),
      '=': () => this.zoom(1.5),
      '-': () => this.zoom(1 / 1.5),
      0: () => this.showAll(),
      a: () => {
        this.from -= 80 / this.perNs;
        this.touched();
      },
      d: () => {
        this.from += 80 / this.perNs;
        this.touched();
      },
      w: () => this.zoom(1.5),
      s: () => this.zoom(1 / 1.5),
      f: () => this.fitChosen(),
      m: () => {
        const found = this.extent();
        if (!found) return;
        this.select(...found);
        writeHash();
      },
    };
    if (actions[event.key]) {
      event.preventDefault();
      actions[event.key]();
    }
  }
  follow(from) {
    if (this.opened !== chosen.recording) return;
    const { links } = chosen,
      r = this.recording;
    if (links && from !== 'timeline' && this.active) {
      const near = (set, table) => [...set].find((i) => at(table, 'step', i) === this.active.step) ?? [...set][0];
      const own = { launch: r.launches, op: r.ops }[chosen.type]; // else the nearest of what belongs to it
      const table = own || (links.launches.size ? r.launches : r.ops);
      const i = own ? chosen.key : near(table === r.launches ? links.launches : links.ops, table);
      if (known(i)) {
        if (at(table, 'step', i) !== this.active.step) this.openStep(at(table, 'step', i), true);
        const [a, b] = this.extent();
        const width = this.canvas.clientWidth;
        if (width && (this.X(a) < 0 || this.X(b) > width || (b - a) * this.perNs < 3)) {
          const half = Math.max((b - a) * 3, Math.min(this.t1 / 2, width / this.perNs / 2));
          this.window((a + b) / 2 - half, (a + b) / 2 + half);
        }
        const y = this.place(this.active, `${table === r.launches ? 'launch' : 'op'}${i}`);
        if (known(y) && (y - this.scroll < RULER || y - this.scroll > this.canvas.clientHeight - this.rowHeight))
          this.scroll = Math.max(0, y - this.canvas.clientHeight / 2);
      }
    }
    this.paint();
  }
  picture() {
    const width = this.canvas.clientWidth || 1200;
    return {
      width,
      height: this.height,
      name: `${this.recording.title}-timeline`,
      draw: (context) => this.scene(context, width, this.height, 0),
    };
  }
}
const stepWords = (step) => (step < 0 ? 'outside the steps' : `step ${step ?? 0}`);
/** The steps in which something happened, then what is outside of them (a warm-up, a capture): [number, name]. */
function stepsOf(r) {
  if (!r.stepList) {
    const names = new Map(r.steps.map(([i, name]) => [i, name]));
    const seen = [...new Set([...(r.launches.step || []), ...(r.ops.step || [])])];
    seen.sort((a, b) => (a < 0) - (b < 0) || a - b);
    r.stepList = seen.map((step) => [step, names.get(step) || stepWords(step)]);
  }
  return r.stepList;
}
/** What the device did between two times: span, busy (overlaps counted once), launches, their time, known bytes. */
function sumsOf(launches, list, from, to) {
  const out = { span: to - from, busy: 0, count: 0, time: 0, bytes: 0, unknown: 0 };
  let end = from;
  for (const i of list) {
    const a = Math.max(from, launches.start[i]);
    const b = Math.min(to, launches.start[i] + launches.duration[i]);
    if (b <= a) continue;
    out.count += 1;
    out.time += b - a;
    out.busy += Math.max(0, b - Math.max(a, end));
    end = Math.max(end, b);
    const bytes = at(launches, 'bytes', i);
    if (known(bytes)) out.bytes += bytes;
    else out.unknown += 1;
  }
  return out;
}
function rangeWords(sums) {
  const idle = `${microseconds((sums.span - sums.busy) / 1e3)} idle`;
  const bytes = sums.count && !sums.unknown ? `, ${words(sums.bytes, 'bytes')}` : '';
  const time = `${plural(sums.count, 'launch')} of ${microseconds(sums.time / 1e3)}`;
  return `${microseconds(sums.span / 1e3)}: device ${microseconds(sums.busy / 1e3)} busy, ${idle}; ${time}${bytes}`;
}
function lowerBound(sorted, value) {
  let low = 0,
    high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
