// The page: opens a release, reads a question from the form, and shows the answer.
import { draw, possible, rounded, tabulate } from './drawing.js';
import { charts, Problem, called, columns, filtersBy, first, groups, identifier, read, settled, sql, words, written } from './question.js';
import { open } from './release.js';

const at = (id) => document.getElementById(id);
const form = at('question');
/** The most values of a column that are shown as check boxes; more values are a list. */
const CHECKED = 12;
/** Milliseconds after which the reader can stop a question. */
const LONG = 2000;
const LOCAL = ['127.0.0.1', 'localhost', '[::1]'];

let release = null;
let question = null;
let answer = null;
let asked = 0;
let patience = 0;

/** Show a status text; busy tells screen readers that an answer will follow. */
function say(text, busy = false) {
  clearTimeout(patience);
  at('stopping').hidden = true;
  at('status').textContent = text;
  document.querySelector('main').setAttribute('aria-busy', busy);
}

/** Cancel the current question and stop DuckDB. */
function stop() {
  asked++;
  release.stop();
  at('answer').hidden = true;
  form.elements.of.focus();
  say('Stopped. A question with fewer groups is faster.');
}

function complain(error) {
  const known = error instanceof Problem;
  at('problem').textContent = known ? error.message : `This did not work: ${String(error.message).split('\n')[0]}`;
  at('problem').hidden = false;
  say('');
}

function calm() {
  at('problem').hidden = true;
  at('problem').textContent = '';
}

/** Open a file, and show the question after the # of the address if there is one. */
async function show(file) {
  calm();
  release = null;
  for (const id of ['question', 'answer', 'promises', 'absent']) at(id).hidden = true;
  at('title').textContent = 'Release explorer';
  for (const id of ['description', 'facts']) at(id).textContent = '';
  say(`Opening ${file.name}. The first time, the page loads DuckDB (36 MB).`, true);
  try {
    release = await open(file);
  } catch (error) {
    complain(error instanceof Problem ? error : new Problem(`“${file.name}” cannot be opened: ${String(error.message).split('\n')[0]}`));
    return;
  }
  introduce();
  await follow();
}

/** Read the question from the address and answer it. */
async function follow() {
  if (!release) return;
  calm();
  try {
    question = location.hash.length > 1 ? read(location.hash.slice(1), release) : first(release);
  } catch (error) {
    complain(error);
    question = first(release);
  }
  fill();
  await count();
}

function introduce() {
  const { about } = release;
  at('title').textContent = about.title ?? release.name;
  at('description').textContent = about.description ?? '';
  const published = new Date(Number(about.created_at)).toISOString().slice(0, 10);
  const facts = [
    `${release.file}: ${Number(about.rows_published).toLocaleString('en')} rows`,
    `published ${published} by the method ${about.mechanism.replaceAll('_', ' ')}`,
    ...(about.version > 1 ? [`version ${about.version}`] : []),
    ...(about.licence ? [`licence ${about.licence}`] : []),
    ...(about.contact ? [`questions to ${about.contact}`] : []),
  ];
  at('facts').textContent = `${facts.join(', ')}.`;
  at('promises').querySelector('ul').replaceChildren(
    ...release.promises.map((text) => Object.assign(document.createElement('li'), { textContent: text })),
  );
  at('promises').hidden = false;
  at('absent').textContent = release.absent ?? '';
  at('absent').hidden = !release.absent;
  filters();
  form.hidden = false;
}

/** Fill a list with options: pairs of a value and its text. */
function options(select, pairs, chosen) {
  select.replaceChildren(
    ...pairs.map(([value, text]) => Object.assign(document.createElement('option'), { value, textContent: text, selected: value === chosen })),
  );
  select.disabled = pairs.length < 2;
}

/** Return the position of a value as a text; options have positions as values, since a missing value is not a text. */
const number = (values, value) => (value === undefined ? '' : String(values.indexOf(value)));

/** Show the current question in the form. */
function fill() {
  const { attributes, columns } = release;
  const attribute = attributes.find((each) => each.name === question.of);
  const { of, value, show, confidence, by, step, and, chart } = form.elements;
  const others = columns.filter((each) => each.name !== attribute.column).map((each) => [each.name, each.name]);
  options(of, attributes.map((each) => [each.name, each.name]), question.of);
  options(value, [['', 'each value'], ...attribute.values.map((each, place) => [String(place), called(each, attribute.labels)])], number(attribute.values, question.value));
  options(show, (attribute.sampled && question.value === undefined) || question.chart === 'cumulative' ? [['records', 'records']] : [['records', 'records'], ['percent', 'percent']], question.show);
  confidence.value = question.confidence;
  options(by, [['', 'no group'], ...others], question.by);
  options(and, [['', 'no second group'], ...others.filter(([name]) => name !== question.by)], question.and);
  at('and-label').hidden = !question.by;
  const grouped = columns.find((each) => each.name === question.by);
  options(step, [['', grouped?.kind === 'date' ? 'day' : '1 value'], ...(grouped?.steps ?? []).map((each) => [each, each])], question.step);
  at('step-label').hidden = !grouped?.steps.length;
  options(chart, charts(question, release), question.chart);
  for (const box of form.querySelectorAll('[data-column]')) {
    const { from, to, values } = question.where[box.dataset.column] ?? {};
    box.hidden = box.dataset.column === attribute.column;
    for (const [name, end] of [['from', from], ['to', to]]) {
      const field = box.querySelector(`[data-end=${name}]`);
      if (field) field.value = end ?? '';
    }
    const known = columns.find((each) => each.name === box.dataset.column).values;
    for (const choice of box.querySelectorAll('[data-place]')) {
      const chosen = values?.includes(known[choice.dataset.place]) ?? false;
      if (choice.localName === 'option') choice.selected = chosen;
      else choice.checked = chosen;
    }
    if (from || to || values?.length) box.open = true;
  }
}

/** Make a filter for each public column: two ends, check boxes, or a list. */
function filters() {
  const folds = release.columns.filter((each) => each.kind !== 'category' || each.values).map((column) => {
    const fold = document.createElement('details');
    fold.dataset.column = column.name;
    fold.append(Object.assign(document.createElement('summary'), { textContent: column.name }));
    if (column.kind !== 'category') {
      const ends = Object.assign(document.createElement('div'), { className: 'ends' });
      for (const [end, text, hint] of [['from', 'from', column.low], ['to', 'to', column.high]]) {
        const label = Object.assign(document.createElement('label'), { textContent: text });
        const field = document.createElement('input');
        field.type = column.kind;
        field.dataset.end = end;
        field.setAttribute('aria-label', `${column.name} ${text}`);
        if (column.kind === 'number') [field.step, field.placeholder] = ['any', hint ?? ''];
        label.append(field);
        ends.append(label);
      }
      fold.append(ends);
    } else if (column.values.length <= CHECKED) {
      const choices = Object.assign(document.createElement('div'), { className: 'choices' });
      choices.append(...column.values.map((value, place) => {
        const label = document.createElement('label');
        const box = Object.assign(document.createElement('input'), { type: 'checkbox' });
        box.dataset.place = place;
        label.append(box, called(value, column.labels));
        return label;
      }));
      fold.append(choices);
    } else {
      const list = Object.assign(document.createElement('select'), { multiple: true });
      list.setAttribute('aria-label', `${column.name}: any of`);
      list.append(...column.values.map((value, place) => {
        const option = Object.assign(document.createElement('option'), { textContent: called(value, column.labels) });
        option.dataset.place = place;
        return option;
      }));
      fold.append(list);
    }
    return fold;
  });
  at('filters').hidden = !folds.length;
  at('filters').replaceChildren(at('filters').querySelector('legend'), ...folds);
}

/** Read the question from the form. */
function chosen() {
  const { of, value, show, confidence, by, step, and, chart } = form.elements;
  const attribute = release.attributes.find((each) => each.name === of.value);
  const same = of.value === question.of;
  const where = filtersBy([]);
  for (const box of form.querySelectorAll('[data-column]')) {
    const column = release.columns.find((each) => each.name === box.dataset.column);
    const end = (name) => {
      const text = box.querySelector(`[data-end=${name}]`)?.value ?? '';
      return column.end(text) ? text : undefined;
    };
    const places = [...box.querySelectorAll('[data-place]')].filter((each) => each.checked || each.selected);
    const filter = { from: end('from'), to: end('to'), values: places.map((each) => column.values[each.dataset.place]) };
    if (filter.from || filter.to || filter.values.length) where[column.name] = filter;
  }
  return settled(
    {
      of: of.value,
      value: same && value.value !== '' ? attribute.values[value.value] : undefined,
      show: show.value, confidence: confidence.value, by: by.value, step: step.value, and: and.value, chart: chart.value, where,
    },
    release,
  );
}

/** Run the question, and show the answer unless another question was asked meanwhile. */
async function count() {
  const mine = ++asked;
  if (!at('stopping').hidden) release.stop();
  const statement = sql(question, release);
  const asks = columns(question, release);
  const names = asks.map((each) => each.as);
  history.replaceState(null, '', `#${written(question)}`);
  at('sql').textContent = `${statement};`;
  at('copied').textContent = '';
  say('Counting …', true);
  patience = setTimeout(() => { at('stopping').hidden = false; }, LONG);
  let rows;
  try {
    const ends = ['estimate', 'stderr', 'low', 'high'].map((end) => `${end}::DOUBLE AS ${end}`);
    const texts = names.map(identifier).map((name) => `${name}::VARCHAR AS ${name}`);
    rows = await release.ask(`SELECT ${[...texts, ...ends].join(', ')} FROM (\n${statement}\n)`);
  } catch (error) {
    if (mine === asked) {
      at('answer').hidden = true;
      complain(new Problem(String(error.message).replace(/^Invalid Input Error: /, '').split('\n')[0]));
    }
    return;
  }
  if (mine !== asked) return;
  for (const { as, labels } of asks) if (labels.size) for (const row of rows) row[as] = called(row[as], labels);
  answer = {
    rows: rows.map(possible), names,
    labels: asks.map((each) => each.name),
    words: words(question, release),
    confidence: question.confidence,
    unit: question.show === 'percent' ? 'percent' : 'records',
    steps: question.chart === 'trend' && !question.by,
    dates: (groups(question, release)[0] ?? release.attributes.find((each) => each.name === question.of)).kind === 'date',
  };
  at('answer').hidden = false;
  at('asked').textContent = answer.words;
  const left = tabulate(at('table'), answer);
  at('undrawn').textContent = [picture(), left ? `The table shows the first rows; the SQL returns ${left} more.` : ''].filter(Boolean).join(' ');
  at('undrawn').hidden = !at('undrawn').textContent;
  say(summary());
}

function picture() {
  return draw(at('chart'), { ...answer, width: Math.max(260, at('chart').clientWidth) }, question.chart !== 'bars');
}

function summary() {
  const { rows, names, unit } = answer;
  if (!rows.length) return 'No records satisfy these conditions.';
  if (names.length) return `${rows.length} ${rows.length === 1 ? 'row' : 'rows'}.`;
  const [row] = rows;
  if (row.estimate === null) return 'No records satisfy these conditions, or their number cannot be estimated.';
  const [count, least, most] = ['estimate', 'low', 'high'].map((name) => rounded(row[name], row.stderr, unit, name));
  const between = row.low > 0 ? `${least} to ${most}` : `not above ${most}`;
  return `About ${count} ${unit}: with ${100 * question.confidence}% confidence ${between}.`;
}

async function copy(text, said) {
  try {
    await navigator.clipboard.writeText(text);
    at('copied').textContent = said;
  } catch {
    at('copied').textContent = text;
  }
}

/** Return a link to the question. Nobody else can use the address of a page on this machine, so there it is a command. */
function link() {
  const text = written(question);
  return LOCAL.includes(location.hostname)
    ? [`duckdb-priv explore ${release.file} --question "${text}"`, 'Copied: a command that asks this question of this file.']
    : [location.href, 'Copied: a link that asks this question of this file.'];
}

form.addEventListener('submit', (event) => event.preventDefault());
form.addEventListener('change', () => {
  calm();
  question = chosen();
  fill();
  count();
});
at('file').addEventListener('change', (event) => event.target.files[0] && show(event.target.files[0]));
at('stop').addEventListener('click', stop);
at('copy-sql').addEventListener('click', () => copy(at('sql').textContent, 'Copied.'));
at('copy-link').addEventListener('click', () => copy(...link()));
addEventListener('hashchange', follow);
addEventListener('resize', () => answer && !at('answer').hidden && picture());
for (const kind of ['dragenter', 'dragover'])
  addEventListener(kind, (event) => {
    event.preventDefault();
    document.body.classList.add('dropping');
  });
for (const kind of ['dragleave', 'drop']) addEventListener(kind, () => document.body.classList.remove('dropping'));
addEventListener('drop', (event) => {
  event.preventDefault();
  const [file] = event.dataTransfer.files;
  if (file) show(file);
});

/** Open the release that ?open=NAME names, or the release that was written together with the page. */
const beside = new URLSearchParams(location.search).get('open') ?? document.querySelector('meta[name=release]')?.content;
say('');
if (beside) {
  at('opening').hidden = true;
  const name = beside.split(/[\\/]/).pop();
  say(`Fetching ${name}.`, true);
  try {
    const sent = await fetch(encodeURIComponent(name));
    if (!sent.ok) throw new Problem(`There is no file “${name}” in the folder of this page.`);
    await show(new File([await sent.blob()], name));
  } catch (error) {
    at('opening').hidden = false;
    complain(error);
  }
}
