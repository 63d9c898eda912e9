// Numbers and names for people, by the rule of fxscope/text.py; tests/text_cases.json holds both to it.

const PREFIXES = ['', 'k', 'M', 'G', 'T', 'P', 'E'];
const TIMES = ['µs', 'ms', 's'];
const TIE = 1 + 1e-12; // halves round away from zero, here and in Python

const known = (value) => value !== null && value !== undefined;

function scaled(value, units) {
  if (!known(value)) return '–';
  let size = Math.abs(value) * TIE;
  const sign = value < 0 ? '-' : '';
  if (size > 0 && size < 0.005) return sign ? `-0.00 ${units[0]}` : `< 0.01 ${units[0]}`;
  let place = 0;
  for (; size >= 999.95 && place < units.length - 1; place += 1) size /= 1000;
  const exact = size === 0 || (place === 0 && Number.isInteger(value) && units !== TIMES);
  return `${sign}${size.toFixed(exact ? 0 : size < 9.995 ? 2 : 1)} ${units[place]}`;
}

const microseconds = (value) => scaled(value, TIMES);

function percent(share) {
  if (!known(share)) return '–';
  const size = Math.abs(100 * share) * TIE,
    sign = share < 0 ? '-' : '';
  if (size > 0 && size < 0.05) return sign ? '-0.0 %' : '< 0.1 %';
  return `${sign}${size.toFixed(size >= 9.95 || size === 0 ? 0 : 1)} %`;
}

const FASTER = 'faster than the limit';
const fasterThanLimit = (share) => 100 * share * TIE >= 100.5;

/** A share of a roof in prose: "63 % of the roof". */
const ofRoof = (share, of = 'the roof') => `${percent(share)} of ${of}${fasterThanLimit(share) ? ` (${FASTER})` : ''}`;

/** "12,345.6": by hand, because the first call of `toLocaleString` costs a browser some 100 ms. */
function grouped(value) {
  const [whole, part] = String(value).split('.');
  return whole.replace(/\B(?=(\d{3})+$)/g, ',') + (part ? `.${part}` : '');
}

/** A value in the unit of its column; what has none as it is. */
function words(value, unit) {
  if (!known(value)) return '–';
  if (unit === 'us') return microseconds(value);
  if (unit === 'bytes')
    return scaled(
      value,
      PREFIXES.map((prefix) => `${prefix}B`),
    );
  if (unit === 'rate')
    return scaled(
      value,
      PREFIXES.map((prefix) => `${prefix}B/s`),
    );
  if (unit === 'flop')
    return scaled(
      value,
      PREFIXES.map((prefix) => `${prefix}FLOP`),
    );
  if (unit === 'flops')
    return scaled(
      value,
      PREFIXES.map((prefix) => `${prefix}FLOP/s`),
    );
  if (unit === 'share') return percent(value);
  if (unit === 'roof') return percent(value) + (fasterThanLimit(value) ? `, ${FASTER}` : '');
  if (unit === 'int') return grouped(value);
  return String(value);
}

function plural(count, noun) {
  const several = /[^aeou]y$/.test(noun) ? `${noun.slice(0, -1)}ies` : noun + (/(s|x|ch|sh)$/.test(noun) ? 'es' : 's');
  return `${words(count, 'int')} ${count === 1 ? noun : several}`;
}

/** Cut in the middle: the head of a kernel's name says its family, the tail tells two of a family apart; whole ops go first. */
function shorten(text, width) {
  if (text.length <= width) return text;
  const ops = text.includes(' · ') ? [] : text.split('·');
  for (let kept = Math.min(ops.length - 2, width); kept > 0; kept--) {
    const short = [...ops.slice(0, kept), '…', ops.at(-1)].join('·');
    if (ops[kept - 1] !== '…' && short.length <= width) return short;
  }
  const head = Math.floor(((width - 1) * 2) / 3);
  return `${text.slice(0, head)}…${text.slice(text.length - (width - 1 - head))}`.replace(/…(?:·?…)+/, '…');
}
