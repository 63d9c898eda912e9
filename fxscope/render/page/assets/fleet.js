// The page of a job: findings, ranks × steps, ranks × causes, plans, and the rank that was clicked.

const us = (value) => microseconds(value);
const rankButton = (rank) => el('button', { onclick: () => choose(rank) }, `rank ${rank}`);
const MAX_PROBLEMS = 40;

function changes(list, count) {
  if (!list.length) return null;
  return el(
    'details',
    {},
    el('summary', {}, count === 1 ? '1 difference' : `${count} differences`),
    el(
      'ul',
      {},
      list.map((line) => el('li', { class: 'mono' }, line)),
    ),
    count > list.length ? `and ${count - list.length} more` : null,
  );
}
const findingCard = (item) =>
  el(
    'div',
    { class: 'card' },
    el('h3', {}, item.headline),
    el(
      'ul',
      {},
      item.evidence.map((line) => el('li', {}, line)),
    ),
    changes(item.changes, item.num_changes),
    el(
      'div',
      {},
      item.ranks.slice(0, 12).flatMap((rank) => [rankButton(rank), ' ']),
    ),
  );
const planCard = (item) =>
  el(
    'div',
    { class: item.cause ? 'card' : 'card plain' },
    el('h3', {}, item.headline),
    changes(item.changes, item.num_changes),
  );
const numbered = (count, noun) => `${count} ${noun}${count === 1 ? '' : 's'}`;
const section = (title, ...parts) => el('section', {}, el('h2', {}, title), parts);

// ------------------------------------------------------------------ reports of ranks, inside this file
let reportAddress = null;
function openReport(place) {
  reportAddress ??= URL.createObjectURL(new Blob([PAGE.report], { type: 'text/html' }));
  return `${reportAddress}#recording=${place}&view=overview`;
}
const reportLink = (rank) =>
  el('a', { href: openReport(PAGE.reported.indexOf(rank)), target: '_blank' }, `report of rank ${rank}`);
/** The rank whose report shows the kernels of a rank: itself, else one of its plan. */
function reportedFor(line) {
  const known = PAGE.reported || [];
  const peer = known.find((rank) => PAGE.ranks.find((item) => item.rank === rank).plan === line.plan);
  return known.includes(line.rank) ? line.rank : peer;
}

/** Everything but what a click changes. */
function build() {
  const strip = el('div', {
    class: 'scroll strip',
    tabindex: '0',
    role: 'region',
    'aria-label': 'The step of each rank',
  });
  strip.append(document.importNode(new DOMParser().parseFromString(PAGE.strip, 'image/svg+xml').documentElement, true));
  const more = PAGE.problems.length - MAX_PROBLEMS;
  const problems = PAGE.problems
    .slice(0, MAX_PROBLEMS)
    .map((item) => el('li', {}, `${item.where}: ${item.message} ${item.remedy || ''}`));
  const sorting = (name) => el('button', { 'data-sort': name, onclick: () => sortBy(name) }, name);
  const page = el(
    'main',
    {},
    el('div', { class: 'muted' }, PAGE.title),
    el('h1', {}, PAGE.verdict),
    el('div', { class: 'muted' }, PAGE.facts),
    PAGE.reported
      ? el(
          'p',
          {},
          'Ops, kernels, views, lines: ',
          PAGE.reported.flatMap((rank, i) => [i ? ' · ' : '', reportLink(rank)]),
        )
      : null,
    strip,
    section(
      PAGE.findings.length ? numbered(PAGE.findings.length, 'finding') : 'No finding',
      el('div', { class: 'cards' }, PAGE.findings.map(findingCard)),
    ),
    section(
      'Ranks × steps: how late each rank came by its own work',
      el(
        'div',
        {},
        'order by ',
        sorting('rank'),
        ' ',
        sorting('late'),
        el('span', { class: 'muted' }, ' not late ', el('span', { class: 'legend' }), ` ${us(PAGE.scale)} late`),
      ),
      el('div', { id: 'tip', class: 'muted', role: 'status' }),
      el(
        'div',
        { id: 'heatbox', class: 'scroll', tabindex: '0' },
        el('canvas', { id: 'heat', role: 'img', 'aria-label': 'lateness by rank and step' }),
      ),
      el('div', { id: 'rank', 'aria-live': 'polite' }),
    ),
    section(
      'Ranks × causes, a step (medians; a full bar is a whole step)',
      el('div', { class: 'scroll', tabindex: '0' }, el('table', { id: 'table' })),
      el('p', { id: 'more' }),
    ),
    section(numbered(PAGE.plans.length, 'plan'), el('div', { class: 'cards' }, PAGE.plans.map(planCard))),
    section('When a rank is named', el('p', { class: 'muted' }, PAGE.rule)),
    problems.length
      ? section('Problems', el('ul', {}, problems, more > 0 ? el('li', {}, `and ${more} more`) : null))
      : null,
  );
  $('app').replaceChildren(page);
}

// ------------------------------------------------------------------ ranks × steps
let order = [];
let chosen = null;
const LEFT = 56,
  TOP = 18;
function geometry() {
  const rows = order.length,
    columns = Math.max(1, PAGE.steps.length);
  const room = Math.max(240, $('heatbox').clientWidth - LEFT - 4);
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
  const canvas = $('heat'),
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
    PAGE.ranks[index].lateness_us.forEach((value, column) => {
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
  context.font = '12px sans-serif';
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
  const box = $('heat').getBoundingClientRect(),
    { width, height, rows, columns } = geometry();
  const row = Math.floor((event.clientY - box.top - TOP) / height),
    column = Math.floor((event.clientX - box.left - LEFT) / width);
  return row >= 0 && row < rows && column < columns ? { line: PAGE.ranks[order[row]], column } : null;
}
// ------------------------------------------------------------------ ranks × causes
const COLUMNS = [
  ['rank', 'rank'],
  ['late', 'late_us'],
  ['device', 'compute_us'],
  ['data', 'idle_input_us'],
  ['host idle', 'idle_host_us'],
  ['exposed', 'exposed_us'],
  ['plan', 'plan'],
  ['cause', 'said'],
];
let sorted = 'rank',
  shown = 60;
function cell(line, key) {
  if (key === 'rank') return el('td', {}, rankButton(line.rank));
  if (!key.endsWith('_us')) return el('td', {}, line[key] === null ? '–' : `${line[key]}`);
  const made = el('td', { class: key === 'late_us' ? 'bar over' : 'bar' }, us(line[key]));
  made.style.setProperty('--share', `${Math.min(100, (100 * (line[key] || 0)) / (PAGE.step_us || 1))}%`);
  return made;
}
function table() {
  const heads = COLUMNS.map(([name]) =>
    el('th', { scope: 'col' }, el('button', { 'aria-label': `sort by ${name}`, onclick: () => sortBy(name) }, name)),
  );
  const rows = order.slice(0, shown).map((index) => {
    const line = PAGE.ranks[index];
    return el(
      'tr',
      { class: line.rank === chosen ? 'chosen' : '' },
      COLUMNS.map(([, key]) => cell(line, key)),
    );
  });
  clear($('table'), el('thead', {}, el('tr', {}, heads)), el('tbody', {}, rows));
  clear(
    $('more'),
    order.length > shown
      ? el('button', { onclick: () => ((shown = order.length), table()) }, `show all ${order.length} ranks`)
      : null,
  );
}
function sortBy(name) {
  const key = COLUMNS.find(([title]) => title === name)[1];
  const up = name === 'rank' || name === 'plan' ? 1 : -1;
  sorted = name;
  const compare = (a, b) => (typeof a === 'string' ? a.localeCompare(b) : (a ?? -1) - (b ?? -1));
  order.sort((a, b) => up * compare(PAGE.ranks[a][key], PAGE.ranks[b][key]) || a - b);
  for (const button of document.querySelectorAll('[data-sort]'))
    button.setAttribute('aria-pressed', String(button.dataset.sort === sorted));
  draw();
  table();
}

// ------------------------------------------------------------------ one rank
const STEP = [
  ['step', 'number'],
  ['wall', 'wall_us'],
  ['device', 'compute_us'],
  ['exposed', 'exposed_us'],
  ['host idle', 'idle_host_us'],
  ['work waits', 'idle_queued_us'],
  ['data', 'idle_input_us'],
  ['host work', 'host_work_us'],
  ['launches', 'num_launches'],
];
function choose(rank) {
  chosen = rank;
  const line = PAGE.ranks.find((item) => item.rank === rank);
  draw();
  table();
  if (!line) return;
  const other = reportedFor(line);
  const heads = STEP.map(([title]) => el('th', { scope: 'col' }, title));
  const rows = line.steps.map((step) =>
    el(
      'tr',
      {},
      STEP.map(([, key]) => el('td', {}, key.endsWith('_us') ? us(step[key]) : String(step[key]))),
    ),
  );
  clear(
    $('rank'),
    el('h2', {}, `Rank ${rank}`),
    el('div', { class: 'muted' }, [line.file, line.host].filter(Boolean).join(' · ')),
    other === undefined ? null : el('p', {}, reportLink(other), other === rank ? '' : ', which runs the same kernels'),
    other === rank
      ? null
      : el('p', {}, 'its own report: ', el('code', {}, `fxscope view ${line.file} -o rank${rank}.html`)),
    el(
      'div',
      { class: 'scroll', tabindex: '0' },
      el('table', {}, el('thead', {}, el('tr', {}, heads)), el('tbody', {}, rows)),
    ),
    el('h2', {}, 'Its most expensive kernels, a step'),
    el(
      'ul',
      {},
      line.kernels.map(([name, count, time]) =>
        el('li', {}, el('span', { class: 'mono' }, name), ` ×${count}, ${us(time)}`),
      ),
    ),
  );
  $('rank').scrollIntoView({ block: 'nearest', behavior: 'smooth' });
  history.replaceState(null, '', `#rank-${rank}`);
}

async function start() {
  PAGE = await decode();
  order = PAGE.ranks.map((_, i) => i);
  build();
  $('heat').addEventListener('mousemove', (event) => {
    const hit = at(event);
    const late = (value) => (value === null ? 'not known' : `${us(value)} late by its own work`);
    const step =
      hit && hit.column >= 0 ? `, step ${PAGE.steps[hit.column]}: ${late(hit.line.lateness_us[hit.column])}` : '';
    $('tip').textContent = hit ? `rank ${hit.line.rank}${step}` : '';
  });
  $('heat').addEventListener('click', (event) => {
    const hit = at(event);
    if (hit) choose(hit.line.rank);
  });
  for (const row of document.querySelectorAll('.strip [data-rank]'))
    row.addEventListener('click', () => choose(Number(row.dataset.rank)));
  window.addEventListener('resize', draw);
  darkQuery.addEventListener('change', draw);
  sortBy('rank');
  const linked = /^#rank-(\d+)$/.exec(location.hash);
  if (linked) choose(Number(linked[1]));
}
start();
