// Draws an answer as bars or as a trend, and writes it as a table.
/* global Plot */

import { named } from './question.js';

const PANELS = 12;
const BARS = 40;
const ROWS = 200;
const CHARACTER = 7;

/** Replace impossible estimates by the nearest possible number, between 0 and the end of the interval. */
export function possible(row) {
  const within = (number) => (number === null ? null : Math.max(0, row.high === null ? number : Math.min(number, row.high)));
  return { ...row, estimate: within(row.estimate), low: row.low === null ? null : Math.max(0, row.low) };
}

/** Round to two digits of the standard error, or to whole records; ends of intervals are rounded outwards. */
export function rounded(number, stderr, unit, name) {
  if (number === null || !Number.isFinite(number)) return number === Infinity ? 'no limit' : '–';
  const digits = unit === 'records' ? 0 : stderr > 0 ? Math.min(6, Math.max(0, 1 - Math.floor(Math.log10(stderr)))) : number % 1 ? 2 : 0;
  const outwards = { low: Math.floor, high: Math.ceil }[name];
  const end = outwards ? outwards(number * 10 ** digits) / 10 ** digits : number;
  const shown = end.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return shown.replace(/^-(0(\.0+)?)$/, '$1');
}

/** Split rows into panels, each with a heading and the rows along its axis. */
function panels({ rows, names, labels }, along) {
  const found = new Map();
  for (const row of rows) {
    const heads = names.map((name, place) => (name === along ? '' : `${labels[place]}: ${named(row[name])}`));
    const heading = heads.filter(Boolean).join(', ');
    if (!found.has(heading)) found.set(heading, []);
    found.get(heading).push({ ...row, label: named(row[along]) });
  }
  return [...found].map(([heading, members]) => ({ heading, members }));
}

function bounds(rows) {
  // An answer may have more rows than a function may have arguments.
  const ends = rows.flatMap((row) => [row.estimate, row.low, row.high]).filter(Number.isFinite);
  return [ends.reduce((one, other) => Math.min(one, other), 0), ends.reduce((one, other) => Math.max(one, other), 0) || 1];
}

/** Draw the charts into an element; return a sentence about groups and bars that were not drawn, or ''. */
export function draw(place, answer, trend) {
  const { rows, names, unit, width } = answer;
  const along = trend ? names[0] : names[names.length - 1] ?? '';
  const parts = panels(answer, along);
  const [low, high] = bounds(rows);
  const shown = parts.slice(0, PANELS);
  let left = parts.length - shown.length;
  const said = left ? [`${left} more groups`] : [];
  const drawn = shown.map(({ heading, members }) => {
    const few = trend ? members : members.slice(0, BARS);
    left = members.length - few.length;
    if (left) said.push(`${left} more bars${heading ? ` of ${heading}` : ''}`);
    const picture = trend ? line(few, answer, along, [low, high]) : bars(few, along, unit, width, [low, high]);
    // Screen readers get one name for the chart, and its numbers from the table, so marks need no names.
    for (const mark of picture.querySelectorAll('[aria-label]')) mark.removeAttribute('aria-label');
    picture.setAttribute('role', 'img');
    picture.setAttribute('aria-label', `${answer.words}${heading ? `, ${heading}` : ''}: ${trend ? 'a line with a band' : 'bars with intervals'}; the numbers are in the table.`);
    const figure = document.createElement('figure');
    if (heading) figure.append(Object.assign(document.createElement('h3'), { textContent: heading }));
    figure.append(picture);
    return figure;
  });
  place.replaceChildren(...drawn);
  return said.length ? `Not drawn, but in the table: ${said.join(', ')}.` : '';
}

function bars(rows, along, unit, width, [low, high]) {
  const margin = Math.min(width * 0.38, 14 + CHARACTER * Math.max(1, ...rows.map((row) => row.label.length)));
  const inner = (row) => ({ ...row, low: row.low ?? row.high, high: Number.isFinite(row.high) ? row.high : high });
  const ends = rows.map(inner).filter((row) => row.high !== null);
  return Plot.plot({
    width, marginLeft: along ? margin : 14, marginRight: 18, marginBottom: 36,
    height: 52 + 26 * rows.length,
    x: { domain: [low, high], nice: true, grid: true, label: unit, ticks: Math.max(3, Math.floor(width / 110)) },
    y: { domain: rows.map((row) => row.label), label: null, tickSize: 0, axis: null },
    marks: [
      ...(along ? [Plot.axisY({ tickSize: 0, lineWidth: margin / 12 - 1, textOverflow: 'ellipsis' })] : []),
      Plot.barX(rows.filter((row) => row.estimate !== null), { y: 'label', x: 'estimate', fill: 'var(--bar)' }),
      Plot.ruleY(ends, { y: 'label', x1: 'low', x2: 'high', stroke: 'var(--accent)', strokeWidth: 2 }),
      Plot.tickX(ends, { y: 'label', x: 'low', stroke: 'var(--accent)', strokeWidth: 2, inset: 5 }),
      Plot.tickX(ends, { y: 'label', x: 'high', stroke: 'var(--accent)', strokeWidth: 2, inset: 5 }),
      Plot.ruleX([0]),
    ],
  });
}

function line(rows, { unit, width, dates, names, labels, steps }, along, [low, high]) {
  const curve = steps ? 'step' : 'linear';
  const points = rows
    .filter((row) => row[along] !== null)
    .map((row) => ({ ...row, at: dates ? new Date(row[along]) : Number(row[along]), high: Number.isFinite(row.high) ? row.high : high }))
    .sort((one, other) => one.at - other.at);
  return Plot.plot({
    width, height: Math.min(320, Math.max(220, width * 0.5)), marginLeft: 58, marginRight: 18, marginBottom: 38,
    x: { label: labels[names.indexOf(along)], type: dates ? 'utc' : 'linear', ticks: Math.max(3, Math.floor(width / 90)), ...(dates ? {} : { tickFormat: (at) => String(at) }) },
    y: { domain: [low, high], nice: true, grid: true, label: unit },
    marks: [
      Plot.areaY(points, { x: 'at', y1: 'low', y2: 'high', fill: 'var(--bar)', fillOpacity: 0.6, curve }),
      Plot.lineY(points, { x: 'at', y: 'estimate', stroke: 'var(--accent)', strokeWidth: 2, curve }),
      ...(steps ? [] : [Plot.dot(points, { x: 'at', y: 'estimate', r: 2.5, fill: 'var(--accent)' })]),
      Plot.ruleY([0]),
    ],
  });
}

/** Write an answer as a table; return the number of rows that were left out. */
export function tabulate(place, { rows, names, labels, words, confidence, unit }) {
  const head = ['estimate', 'low', 'high'];
  const table = document.createElement('table');
  table.createCaption().textContent = `${words}, with ${100 * confidence}% intervals`;
  const line = table.createTHead().insertRow();
  for (const name of [...labels, ...head])
    line.append(Object.assign(document.createElement('th'), { scope: 'col', textContent: name, className: head.includes(name) ? 'number' : '' }));
  const body = table.createTBody();
  for (const row of rows.slice(0, ROWS)) {
    const line = body.insertRow();
    for (const name of names)
      line.append(Object.assign(document.createElement('th'), { scope: 'row', textContent: named(row[name]), className: row[name] === null ? 'missing' : '' }));
    for (const name of head)
      line.append(Object.assign(document.createElement('td'), { className: 'number', textContent: rounded(row[name], row.stderr, unit, name) }));
  }
  place.replaceChildren(table);
  return Math.max(0, rows.length - ROWS);
}
