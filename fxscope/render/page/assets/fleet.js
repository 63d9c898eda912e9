const PAGE = JSON.parse(document.getElementById('fleet').textContent);
const byId = (id) => document.getElementById(id);

/** Make an element: attributes, then children; text is always text. */
function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes))
    if (key === 'onclick') node.addEventListener('click', value);
    else if (key === 'style') node.style.cssText = value;
    else node.setAttribute(key, value);
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}
const us = (value) => microseconds(value);
const rankButton = (rank) => make('button', { onclick: () => choose(rank) }, `rank ${rank}`);

// ------------------------------------------------------------------ findings and plans
function changes(list, count) {
  if (!list.length) return null;
  return make(
    'details',
    {},
    make('summary', {}, count === 1 ? '1 difference' : `${count} differences`),
    make('ul', {}, ...list.map((line) => make('li', { class: 'mono' }, line))),
    count > list.length ? `and ${count - list.length} more` : null,
  );
}
byId('findings').append(
  ...PAGE.findings.map((item) =>
    make(
      'div',
      { class: 'card' },
      make('h3', {}, item.headline),
      make('ul', {}, ...item.evidence.map((line) => make('li', {}, line))),
      changes(item.changes, item.num_changes),
      make('div', {}, ...item.ranks.slice(0, 12).flatMap((rank) => [rankButton(rank), ' '])),
    ),
  ),
);
byId('plans').append(
  ...PAGE.plans.map((item) =>
    make(
      'div',
      { class: item.cause ? 'card' : 'card plain' },
      make('h3', {}, item.headline),
      make('div', { class: 'muted' }, item.line),
      changes(item.changes, item.num_changes),
    ),
  ),
);

// ------------------------------------------------------------------ ranks × steps
const order = PAGE.ranks.map((_, i) => i);
let chosen = null;
const LEFT = 56,
  TOP = 18;
function geometry() {
  const rows = order.length,
    columns = Math.max(1, PAGE.steps.length);
  const room = Math.max(240, byId('heatbox').clientWidth - LEFT - 4);
  return {
    width: Math.max(3, Math.min(46, Math.floor(room / columns))),
    height: rows <= 40 ? 18 : rows <= 150 ? 8 : rows <= 400 ? 4 : 2,
    rows,
    columns,
  };
}
function mixed(share) {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const calm = `color-mix(in srgb, ${colour('--muted')} 10%, ${colour('--paper')})`;
  return `color-mix(in srgb, ${colour('--cost')} ${Math.round(100 * share)}%, ${calm})`;
}
function draw() {
  const canvas = byId('heat'),
    { width, height, rows, columns } = geometry(),
    ratio = window.devicePixelRatio || 1;
  const w = LEFT + width * columns,
    h = TOP + height * rows;
  canvas.style.width = `${w}px`;
  canvas.style.height = `${h}px`;
  canvas.width = w * ratio;
  canvas.height = h * ratio;
  const context = canvas.getContext('2d');
  context.scale(ratio, ratio);
  const style = getComputedStyle(document.documentElement);
  const text = style.getPropertyValue('--muted').trim();
  const shades = Array.from({ length: 21 }, (_, i) => mixed(i / 20));
  order.forEach((index, row) => {
    PAGE.ranks[index].lateness.forEach((value, column) => {
      context.fillStyle = value === null ? 'transparent' : shades[Math.round(20 * Math.min(1, value / PAGE.scale))];
      context.fillRect(
        LEFT + column * width,
        TOP + row * height,
        width - (width > 6 ? 1 : 0),
        height - (height > 6 ? 1 : 0),
      );
    });
    if (PAGE.ranks[index].rank === chosen) {
      context.strokeStyle = style.getPropertyValue('--text').trim();
      context.strokeRect(LEFT - 1, TOP + row * height - 0.5, width * columns + 1, height);
    }
  });
  context.fillStyle = text;
  context.font = '11px sans-serif';
  context.textBaseline = 'middle';
  const every = Math.ceil(14 / height);
  context.textAlign = 'right';
  order.forEach((index, row) => {
    if (row % every === 0) context.fillText(String(PAGE.ranks[index].rank), LEFT - 6, TOP + row * height + height / 2);
  });
  context.textAlign = 'center';
  const skip = Math.ceil(34 / width);
  PAGE.steps.forEach((step, column) => {
    if (column % skip === 0) context.fillText(String(step), LEFT + column * width + width / 2, 8);
  });
}
function at(event) {
  const box = byId('heat').getBoundingClientRect(),
    { width, height, rows, columns } = geometry();
  const row = Math.floor((event.clientY - box.top - TOP) / height),
    column = Math.floor((event.clientX - box.left - LEFT) / width);
  return row >= 0 && row < rows && column < columns ? { line: PAGE.ranks[order[row]], column } : null;
}
byId('heat').addEventListener('mousemove', (event) => {
  const hit = at(event);
  const late = (value) => (value === null ? 'not known' : `${us(value)} late by its own work`);
  const step = hit && hit.column >= 0 ? `, step ${PAGE.steps[hit.column]}: ${late(hit.line.lateness[hit.column])}` : '';
  byId('tip').textContent = hit ? `rank ${hit.line.rank}${step}` : '';
});
byId('heat').addEventListener('click', (event) => {
  const hit = at(event);
  if (hit) choose(hit.line.rank);
});

// ------------------------------------------------------------------ ranks × causes
const COLUMNS = [
  ['rank', (line) => line.rank],
  ['late', (line) => line.late],
  ['device', (line) => line.device],
  ['data', (line) => line.data],
  ['host idle', (line) => line.host],
  ['exposed', (line) => line.exposed],
  ['plan', (line) => line.plan],
  ['cause', (line) => line.said],
];
let sorted = 'rank',
  shown = 60;
function table() {
  const cell = (line, key) =>
    make(
      'td',
      {
        class: key === 'late' ? 'bar over' : 'bar',
        style: `--share:${Math.min(100, (100 * (line[key] || 0)) / PAGE.step)}%`,
      },
      us(line[key]),
    );
  const head = make(
    'tr',
    {},
    ...COLUMNS.map(([name]) =>
      make(
        'th',
        { scope: 'col' },
        name ? make('button', { 'aria-label': `sort by ${name}`, onclick: () => sortBy(name) }, name) : '',
      ),
    ),
  );
  const rows = order.slice(0, shown).map((index) => {
    const line = PAGE.ranks[index];
    return make(
      'tr',
      { class: line.rank === chosen ? 'chosen' : '' },
      make('td', {}, rankButton(line.rank)),
      cell(line, 'late'),
      cell(line, 'device'),
      cell(line, 'data'),
      cell(line, 'host'),
      cell(line, 'exposed'),
      make('td', {}, line.plan === null ? '–' : `${line.plan}`),
      make('td', {}, line.said),
    );
  });
  byId('table').replaceChildren(make('thead', {}, head), make('tbody', {}, ...rows));
  byId('more').replaceChildren(
    ...(order.length > shown
      ? [make('button', { onclick: () => ((shown = order.length), table()) }, `show all ${order.length} ranks`)]
      : []),
  );
}
function sortBy(name) {
  const value = COLUMNS.find(([title]) => title === name)[1];
  const up = name === 'rank' || name === 'plan' ? 1 : -1;
  sorted = name;
  const compare = (a, b) => (typeof a === 'string' ? a.localeCompare(b) : (a ?? -1) - (b ?? -1));
  order.sort((a, b) => up * compare(value(PAGE.ranks[a]), value(PAGE.ranks[b])) || a - b);
  for (const button of document.querySelectorAll('[data-sort]'))
    button.setAttribute('aria-pressed', String(button.dataset.sort === sorted));
  draw();
  table();
}
for (const button of document.querySelectorAll('[data-sort]'))
  button.addEventListener('click', () => sortBy(button.dataset.sort));

// ------------------------------------------------------------------ one rank
function choose(rank) {
  chosen = rank;
  const line = PAGE.ranks.find((item) => item.rank === rank);
  draw();
  table();
  if (!line) return;
  const titles = ['step', 'wall', 'device', 'exposed', 'host idle', 'data', 'host work', 'launches'];
  byId('rank').replaceChildren(
    make('h2', {}, `Rank ${rank}`),
    make('div', { class: 'muted' }, [line.file, line.hostname].filter(Boolean).join(' · ')),
    make('p', {}, 'its own report: ', make('code', {}, `fxscope view ${line.file} -o rank${rank}.html`)),
    make(
      'div',
      { class: 'scroll', tabindex: '0' },
      make(
        'table',
        {},
        make('thead', {}, make('tr', {}, ...titles.map((title) => make('th', { scope: 'col' }, title)))),
        make(
          'tbody',
          {},
          ...line.steps.map((step) =>
            make(
              'tr',
              {},
              ...step.map((value, i) => make('td', {}, i === 0 || i === titles.length - 1 ? String(value) : us(value))),
            ),
          ),
        ),
      ),
    ),
    make('h2', {}, 'Its most expensive kernels, a step'),
    make(
      'ul',
      {},
      ...line.kernels.map(([name, count, time]) =>
        make('li', {}, make('span', { class: 'mono' }, name), ` ×${count}, ${us(time)}`),
      ),
    ),
  );
  byId('rank').scrollIntoView({ block: 'nearest', behavior: 'smooth' });
  history.replaceState(null, '', `#rank-${rank}`);
}
for (const row of document.querySelectorAll('.strip [data-rank]'))
  row.addEventListener('click', () => choose(Number(row.dataset.rank)));
window.addEventListener('resize', draw);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
sortBy('rank');
const linked = /^#rank-(\d+)$/.exec(location.hash);
if (linked) choose(Number(linked[1]));
