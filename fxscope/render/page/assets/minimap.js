// The whole graph, small, with the part in view; hidden where all is in view.

class Minimap {
  constructor(view) {
    this.view = view;
    this.stale = true;
    this.canvas = el('canvas', { class: 'minimap', 'aria-hidden': 'true', width: 1, height: 1 });
    this.back = document.createElement('canvas');
    const move = (event) => {
      const v = this.view;
      v.centre(event.offsetX / this.scale, event.offsetY / this.scale);
    };
    this.canvas.addEventListener('pointerdown', (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      this.held = true;
      move(event);
    });
    this.canvas.addEventListener('pointermove', (event) => {
      if (this.held) move(event);
    });
    this.canvas.addEventListener('pointerup', () => {
      this.held = false;
    });
  }
  draw() {
    const { placed, state, items } = this.view;
    const width = this.view.canvas.clientWidth,
      height = this.view.canvas.clientHeight;
    const all =
      state.x >= -2 &&
      state.y >= -2 &&
      state.x + placed.w * state.scale <= width + 2 &&
      state.y + placed.h * state.scale <= height + 2;
    const few = (this.view.main || this.view.pair) && items.length < 60; // it would hide more than it shows
    this.scale = Math.min(Math.min(170, width / 5) / placed.w, Math.min(200, height / 3) / placed.h);
    const w = Math.max(24, Math.round(placed.w * this.scale)),
      h = Math.max(24, Math.round(placed.h * this.scale)),
      ratio = window.devicePixelRatio || 1;
    const [, , right, bottom] = this.view.boundsOf(this.view.chosenEnds() || []) || [0, 0, -Infinity, -Infinity];
    const covers = right * state.scale + state.x > width - w - 12 && bottom * state.scale + state.y > height - h - 12;
    this.canvas.hidden = all || few || covers; // never over the pair that was chosen
    if (this.canvas.hidden) return;
    if (this.stale || this.canvas.style.width !== `${w}px` || this.canvas.style.height !== `${h}px`) {
      this.stale = false;
      this.canvas.style.width = `${w}px`;
      this.canvas.style.height = `${h}px`;
      this.canvas.width = this.back.width = w * ratio;
      this.canvas.height = this.back.height = h * ratio;
      const context = this.back.getContext('2d');
      context.setTransform(ratio * this.scale, 0, 0, ratio * this.scale, 0, 0);
      for (const frame of this.view.frames) {
        const [x0, y0, x1, y1] = frame.corner;
        context.fillStyle = this.view.frameLook(frame).fill;
        context.fillRect(x0, y0, x1 - x0, y1 - y0);
      }
      const thin = 1 / this.scale;
      for (const item of items) {
        const kind = item.id >= 0 ? this.view.graph.nodes.kind[item.id] : this.view.groupKind(-1 - item.id);
        context.fillStyle = kind ? kindColours(kind)[1] : colours().muted;
        context.fillRect(item.x, item.y, Math.max(thin, item.w), Math.max(thin, item.h));
      }
      context.strokeStyle = colours().cost;
      context.lineWidth = 2 * thin;
      context.beginPath();
      for (const edge of this.view.edges)
        if (edge.red !== null) {
          context.moveTo(edge.points[0], edge.points[1]);
          context.lineTo(edge.points.at(-2), edge.points.at(-1));
        }
      context.stroke();
    }
    const context = this.canvas.getContext('2d');
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.globalAlpha = 0.75;
    context.drawImage(this.back, 0, 0);
    context.globalAlpha = 1;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.strokeStyle = colours().text;
    context.lineWidth = 1.5;
    context.strokeRect(
      (-state.x / state.scale) * this.scale,
      (-state.y / state.scale) * this.scale,
      (width / state.scale) * this.scale,
      (height / state.scale) * this.scale,
    );
  }
}
