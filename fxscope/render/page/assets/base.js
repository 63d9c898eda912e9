// Helpers: elements from text only, colours of the theme, a list that draws what is in view.

const $ = (id) => document.getElementById(id);

/** Make an element. Strings become text nodes, never markup. */
function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'class') made.className = value;
    else if (name.startsWith('on')) made.addEventListener(name.slice(2), value);
    else if (name === 'style') Object.assign(made.style, value);
    else made.setAttribute(name, value === true ? '' : value);
  }
  for (const child of children.flat(Infinity))
    if (child !== null && child !== undefined && child !== false) made.append(child);
  return made;
}
const clear = (node, ...children) => {
  node.replaceChildren(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  return node;
};

/** What the page remembers between views; storage may be forbidden (a sandboxed frame). */
const memory = {
  get(key) {
    try {
      return window.localStorage.getItem(`fxscope.${key}`);
    } catch {
      return null;
    }
  },
  set(key, value) {
    try {
      window.localStorage.setItem(`fxscope.${key}`, value);
    } catch {
      /* not kept */
    }
  },
};

let PAGE = null; // the decoded payload

/** Unpack base64 of deflated JSON. */
function decode() {
  const packed = Uint8Array.from(atob($('recording').textContent), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate'))).json();
}

const listeners = new Map();
const on = (event, action) => {
  if (!listeners.has(event)) listeners.set(event, []);
  listeners.get(event).push(action);
};
const emit = (event, ...values) => {
  for (const action of listeners.get(event) || []) action(...values);
};

const darkQuery = window.matchMedia('(prefers-color-scheme: dark)');
const isDark = () => {
  const set = document.documentElement.dataset.theme;
  return set ? set === 'dark' : darkQuery.matches;
};
let forPaper = false; // pictures to download and print are light when asked for
const colours = () => PAGE.theme[isDark() && !forPaper ? 'dark' : 'light'];
const kindColours = (kind) =>
  (PAGE.theme.kinds[kind] || PAGE.theme.kinds.unknown)[isDark() && !forPaper ? 'dark' : 'light'];
const mono = (px, weight = 400) => `${weight} ${px}px ${PAGE.theme.mono}`;
const sans = (px, weight = 400) => `${weight} ${px}px ${PAGE.theme.font}`;

/** Mix two #rrggbb colours; few are asked for, and often. */
function mix(a, b, share) {
  const key = `${a}${b}${share}`;
  let mixed = mix.known.get(key);
  if (!mixed) {
    const part = (c, i) => parseInt(c.slice(1 + 2 * i, 3 + 2 * i), 16);
    const one = (i) => Math.round(part(a, i) * (1 - share) + part(b, i) * share);
    mixed = `#${[0, 1, 2].map((i) => one(i).toString(16).padStart(2, '0')).join('')}`;
    if (mix.known.size > 4000) mix.known.clear();
    mix.known.set(key, mixed);
  }
  return mixed;
}
mix.known = new Map();

/** Fit a canvas to its box at the screen's density; returns the context in CSS pixels. */
function fit(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const width = Math.max(1, canvas.clientWidth),
    height = Math.max(1, canvas.clientHeight);
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return { context, width, height };
}
function rounded(context, x, y, w, h, r) {
  context.beginPath();
  context.roundRect(x, y, w, h, Math.min(r, w / 2, h / 2));
}

/** Ask for one drawing per frame. */
function painter(draw) {
  let asked = false;
  return () => {
    if (!asked) {
      asked = true;
      requestAnimationFrame(() => {
        asked = false;
        draw();
      });
    }
  };
}

/** The part of a canvas context that the views use, writing SVG: one drawing code for screen and file. */
class SvgContext {
  constructor(width, height) {
    this.root = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    for (const [k, v] of Object.entries({ viewBox: `0 0 ${width} ${height}`, width, height, role: 'img' }))
      this.root.setAttribute(k, v);
    this.stack = [];
    this.matrix = [1, 0, 0, 1, 0, 0];
    this.path = '';
    this.dash = [];
    this.fillStyle = '#000000';
    this.strokeStyle = '#000000';
    this.lineWidth = 1;
    this.globalAlpha = 1;
    this.textAlign = 'left';
    this.textBaseline = 'alphabetic';
    this.font = '12px sans-serif';
  }
  save() {
    this.stack.push([
      this.matrix.slice(),
      this.dash,
      this.fillStyle,
      this.strokeStyle,
      this.lineWidth,
      this.globalAlpha,
      this.font,
      this.textAlign,
      this.textBaseline,
    ]);
  }
  restore() {
    [
      this.matrix,
      this.dash,
      this.fillStyle,
      this.strokeStyle,
      this.lineWidth,
      this.globalAlpha,
      this.font,
      this.textAlign,
      this.textBaseline,
    ] = this.stack.pop();
  }
  translate(x, y) {
    const m = this.matrix;
    m[4] += m[0] * x;
    m[5] += m[3] * y;
  }
  scale(x, y) {
    this.matrix[0] *= x;
    this.matrix[3] *= y;
  }
  clip() {
    /* a file may show more than the screen */
  }
  setLineDash(dash) {
    this.dash = dash;
  }
  X(x) {
    return +(this.matrix[0] * x + this.matrix[4]).toFixed(1);
  }
  Y(y) {
    return +(this.matrix[3] * y + this.matrix[5]).toFixed(1);
  }
  beginPath() {
    this.path = '';
  }
  moveTo(x, y) {
    this.path += `M${this.X(x)} ${this.Y(y)}`;
  }
  lineTo(x, y) {
    this.path += `L${this.X(x)} ${this.Y(y)}`;
  }
  bezierCurveTo(a, b, c, d, e, f) {
    this.path += `C${this.X(a)} ${this.Y(b)} ${this.X(c)} ${this.Y(d)} ${this.X(e)} ${this.Y(f)}`;
  }
  closePath() {
    this.path += 'Z';
  }
  rect(x, y, w, h) {
    this.moveTo(x, y);
    this.lineTo(x + w, y);
    this.lineTo(x + w, y + h);
    this.lineTo(x, y + h);
    this.closePath();
  }
  roundRect(x, y, w, h, r) {
    const k = Math.max(0, r);
    this.moveTo(x + k, y);
    this.lineTo(x + w - k, y);
    this.bezierCurveTo(x + w, y, x + w, y, x + w, y + k);
    this.lineTo(x + w, y + h - k);
    this.bezierCurveTo(x + w, y + h, x + w, y + h, x + w - k, y + h);
    this.lineTo(x + k, y + h);
    this.bezierCurveTo(x, y + h, x, y + h, x, y + h - k);
    this.lineTo(x, y + k);
    this.bezierCurveTo(x, y, x, y, x + k, y);
    this.closePath();
  }
  add(tag, attributes, text) {
    const made = document.createElementNS('http://www.w3.org/2000/svg', tag);
    for (const [k, v] of Object.entries(attributes)) made.setAttribute(k, v);
    if (this.globalAlpha < 1) made.setAttribute('opacity', this.globalAlpha);
    if (text !== undefined) made.textContent = text;
    this.root.append(made);
  }
  fill() {
    if (this.path) this.add('path', { d: this.path, fill: this.fillStyle });
  }
  stroke() {
    if (!this.path) return;
    const attributes = {
      d: this.path,
      fill: 'none',
      stroke: this.strokeStyle,
      'stroke-width': +(this.lineWidth * this.matrix[0]).toFixed(2),
    };
    if (this.dash.length) attributes['stroke-dasharray'] = this.dash.map((d) => d * this.matrix[0]).join(' ');
    this.add('path', attributes);
  }
  fillRect(x, y, w, h) {
    this.add('rect', {
      x: this.X(x),
      y: this.Y(y),
      width: Math.max(0, w * this.matrix[0]).toFixed(2),
      height: Math.max(0, h * this.matrix[3]).toFixed(2),
      fill: this.fillStyle,
    });
  }
  clearRect() {
    /* paper is clear */
  }
  measureText(text) {
    return { width: text.length * parseFloat(this.font.match(/([\d.]+)px/)[1]) * 0.6 };
  }
  fillText(text, x, y) {
    const [, weight, size, family] = this.font.match(/^(\d+)\s+([\d.]+)px\s+(.*)$/) || [0, 400, 12, 'sans-serif'];
    const shift = this.textBaseline === 'middle' ? 0.35 * size * this.matrix[3] : 0;
    this.add(
      'text',
      {
        x: this.X(x),
        y: +(this.Y(y) + shift).toFixed(1),
        fill: this.fillStyle,
        'font-family': family,
        'font-size': +(size * this.matrix[3]).toFixed(2),
        'font-weight': weight,
        'text-anchor': { left: 'start', center: 'middle', right: 'end' }[this.textAlign] || 'start',
        'xml:space': 'preserve',
      },
      text,
    );
  }
}
function download(name, blob) {
  const link = el('a', { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  setTimeout(() => {
    URL.revokeObjectURL(link.href);
    link.remove();
  }, 1000);
}

/** A list of lines of one height, of which only those in view exist. */
class LineList {
  constructor(host, height, draw) {
    this.host = host;
    this.height = height;
    this.draw = draw;
    this.count = 0;
    this.first = -1;
    this.last = -1;
    this.pad = el('div', { class: 'lines-pad' });
    this.rows = el('div', { class: 'lines-rows' });
    this.pad.append(this.rows);
    host.append(this.pad);
    host.addEventListener('scroll', () => this.show());
    new ResizeObserver(() => this.show()).observe(host);
  }
  set(count) {
    this.count = count;
    this.pad.style.height = `${count * this.height + 8}px`;
    this.refresh();
  }
  refresh() {
    this.first = -1;
    this.show();
  }
  show() {
    const first = Math.max(0, Math.floor(this.host.scrollTop / this.height) - 10);
    const last = Math.min(this.count, Math.ceil((this.host.scrollTop + this.host.clientHeight) / this.height) + 10);
    if (first === this.first && last === this.last) return;
    this.first = first;
    this.last = last;
    const made = [];
    for (let i = first; i < last; i += 1) made.push(this.draw(i));
    this.rows.style.transform = `translateY(${first * this.height}px)`;
    this.rows.replaceChildren(...made);
  }
  reveal(index, always = false) {
    const top = index * this.height,
      host = this.host;
    if (always || top < host.scrollTop + this.height || top > host.scrollTop + host.clientHeight - 2 * this.height) {
      host.scrollTop = Math.max(0, top - host.clientHeight * 0.35);
    }
    this.show();
  }
}

let toastTimer = 0;
function say(text) {
  const live = $('say');
  live.textContent = text;
  live.classList.add('shown');
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => live.classList.remove('shown'), 1800);
}
async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = el('textarea', { class: 'offscreen' });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
  say(`${what} copied`);
}
