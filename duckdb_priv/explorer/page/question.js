// A question about a release: its SQL, its text, and its form after the # of an address. Needs no browser.

/** An error whose message is shown to the reader. */
export class Problem extends Error {}

/** Kinds of columns that a trend can follow. */
export const ORDERED = new Set(['number', 'date']);

export const identifier = (name) => `"${name.replaceAll('"', '""')}"`;
const literal = (text) => (text === null ? 'NULL' : `'${text.replaceAll("'", "''")}'`);
const columnOf = (release, name) => release.columns.find((each) => each.name === name);
const attributeOf = (release, name) => release.attributes.find((each) => each.name === name);
/** Names of the answer's own columns, which groups must not have. */
const TAKEN = new Set(['value', 'estimate', 'low', 'high', 'stderr', 'noisy_count']);

/** Return a value as readers see it: a text without letters in quotes, since blanks look like nothing. */
export const named = (value) => (value?.trim() === '' ? `'${value}'` : value ?? '(missing)');

/** Return the label of a value with the value in parentheses, or the value if it has no label. */
export function called(value, labels) {
  const label = labels.get(value);
  if (label === undefined) return named(value);
  return `${label} (${value ?? 'missing'})`;
}

/** Return the groups of a question: the column, its name in the answer, and the SQL of the group. */
export function groups(question, release) {
  const found = [];
  for (const name of [question.by, question.and].filter(Boolean)) {
    const { kind, natural, labels } = columnOf(release, name);
    let as = name;
    while (TAKEN.has(as.toLowerCase()) || (as !== name && columnOf(release, as))) as += ' group';
    const step = name === question.by ? question.step : '';
    let made = identifier(name);
    // Integer division would put -5 and 5 into one step.
    if (step && kind === 'number') made = natural ? `${made} // ${step} * ${step}` : `floor(${made} / ${step}) * ${step}`;
    if (step && kind === 'date') made = `date_trunc('${step}', ${made})::DATE`;
    found.push({ name, as, kind, labels, sql: step || as !== name ? `${made} AS ${identifier(as)}` : made });
  }
  return found;
}

/** Return the SQL condition on public columns, or ''. */
export function condition(question, release) {
  const parts = [];
  for (const [name, { from, to, values }] of Object.entries(question.where)) {
    const { kind, timed } = columnOf(release, name);
    const subject = timed ? `${identifier(name)}::DATE` : identifier(name);
    const end = kind === 'date' ? (text) => `DATE ${literal(text)}` : (text) => text;
    if (from && to) parts.push(`${subject} BETWEEN ${end(from)} AND ${end(to)}`);
    else if (from) parts.push(`${subject} >= ${end(from)}`);
    else if (to) parts.push(`${subject} <= ${end(to)}`);
    if (values?.length) {
      const present = values.filter((value) => value !== null).map(literal);
      const either = present.length ? [`${subject} IN (${present.join(', ')})`] : [];
      if (values.includes(null)) either.push(`${subject} IS NULL`);
      parts.push(either.length > 1 ? `(${either.join(' OR ')})` : either[0]);
    }
  }
  return parts.join(' AND ');
}

/** Return the answer's columns before the estimate: the groups, and `value` if the question is about all values. */
export function columns(question, release) {
  const all = { as: 'value', name: question.of, labels: attributeOf(release, question.of).labels };
  return [...groups(question, release), ...(question.value === undefined ? [all] : [])];
}

/** The most values of an attribute that are drawn as bars at first. */
const FEW = 12;
/** The most points of a cumulative curve. Each is a count of its own. */
const POINTS = 16;

/** Return the charts that an answer can have, each with its words: along a group, or along values that are numbers or dates. */
export function charts(question, release) {
  const found = [['bars', 'bars']];
  if (question.by) {
    if (ORDERED.has(columnOf(release, question.by).kind)) found.push(['trend', 'a trend']);
  } else if (question.value === undefined && ORDERED.has(attributeOf(release, question.of).kind))
    found.push(['trend', 'a histogram with a band'], ['cumulative', 'a cumulative curve']);
  return found;
}

/** Return the statement that counts the records up to some values of an attribute, each with an interval. */
function cumulative(question, release, attribute) {
  const values = attribute.values.filter((value) => value !== null);
  const points = Math.min(POINTS, values.length);
  const ends = Array.from({ length: points }, (_, point) => Math.round(((point + 1) * values.length) / points) - 1);
  const weight = release.weight ? `, weight := ${identifier(release.weight)}` : '';
  const counted = ends.map((end) => {
    const list = `[${values.slice(0, end + 1).map(literal).join(', ')}]`;
    const key = literal(`${release.name}.${question.of}`);
    const count = `priv.reconstructed_list_interval(${key}, ${identifier(attribute.column)}, ${list}${weight}, confidence := ${question.confidence})`;
    return `    {value: ${literal(values[end])}, count: ${count}}`;
  });
  const where = condition(question, release);
  return [
    'SELECT answer.value AS value, unnest(answer.count)', 'FROM (', 'SELECT unnest([', counted.join(',\n'), `]) AS answer FROM ${identifier(release.name)}`,
    ...(where ? [`WHERE ${where}`] : []), ')',
  ].join('\n');
}

/** Return the estimates of all values with their total by group, which is the number of records. */
function summed(all, names) {
  const window = names.length ? `PARTITION BY ${names.join(', ')}` : '';
  return `    SELECT *, sum(estimate) OVER (${window}) AS of_all\n    FROM ${all}`;
}

/** Return the estimates of all values with the number of records by group. With blocks, estimates add up to it on average only. */
function counted(all, by, where, release) {
  const names = by.map((each) => identifier(each.as));
  const rows = `SELECT ${[...by.map((each) => each.sql), 'count(*) AS of_all'].join(', ')} FROM ${identifier(release.name)}`;
  const total = [rows, ...(where ? [`WHERE ${where}`] : []), ...(names.length ? ['GROUP BY ALL'] : [])].join(' ');
  const equal = names.map((name) => `e.${name} IS NOT DISTINCT FROM r.${name}`).join(' AND ') || 'true';
  return `    SELECT e.*, r.of_all\n    FROM ${all} AS e\n    JOIN (${total}) AS r ON ${equal}`;
}

/** Return the SQL statement that answers a question. */
export function sql(question, release) {
  const attribute = attributeOf(release, question.of);
  if (question.chart === 'cumulative') return cumulative(question, release, attribute);
  const key = literal(`${release.name}.${question.of}`);
  const by = groups(question, release);
  const where = condition(question, release);
  const names = by.map((each) => identifier(each.as));
  const percent = question.show === 'percent';
  const ends = ['estimate', 'stderr', 'low', 'high'];
  if (question.value === undefined) {
    const options = [
      ...(by.length ? [`group_columns := ${literal(by.map((each) => each.sql).join(', '))}`] : []),
      ...(where ? [`condition := ${literal(where)}`] : []),
      ...(release.weight ? [`weight := ${literal(release.weight)}`] : []),
      `confidence := ${question.confidence}`,
    ];
    const all = `priv.reconstructed_distribution(${[key, ...options].join(', ')})`;
    const chosen = [...names, 'value'].join(', ');
    const along = question.chart === 'trend' && !names.length;
    const order = `ORDER BY ${[...names, along ? 'value' : 'estimate DESC'].join(', ')}`;
    if (!percent) return `SELECT ${[chosen, ...ends].join(', ')}\nFROM ${all}\n${order}`;
    const shares = ends.map((end) => `100 * ${end} / nullif(of_all, 0) AS ${end}`).join(', ');
    return `SELECT ${chosen}, ${shares}\nFROM (\n${attribute.blocks ? counted(all, by, where, release) : summed(all, names)}\n)\n${order}`;
  }
  const weight = release.weight ? `, weight := ${identifier(release.weight)}` : '';
  const answer = (name) =>
    `priv.${name}(${key}, ${identifier(attribute.column)}, ${literal(question.value)}${weight}, confidence := ${question.confidence})`;
  const places = names.map((_, place) => place + 1).join(', ');
  const tail = [
    `FROM ${identifier(release.name)}`,
    ...(where ? [`WHERE ${where}`] : []),
    ...(names.length ? [`GROUP BY ${places}`] : []),
  ];
  const order = names.length ? `ORDER BY ${places}` : '';
  const grouped = by.map((each) => each.sql);
  if (!percent)
    return [`SELECT ${[...grouped, `unnest(${answer('reconstructed_interval')})`].join(', ')}`, ...tail, order]
      .filter(Boolean)
      .join('\n');
  const shares = ends.map((end) => `100 * _share.${end} AS ${end}`);
  const inner = [`SELECT ${[...grouped, `${answer('reconstructed_share')} AS _share`].join(', ')}`, ...tail];
  return [`SELECT ${[...names, ...shares].join(', ')}\nFROM (`, ...inner.map((line) => `    ${line}`), ')', order]
    .filter(Boolean)
    .join('\n');
}

/** Return the question as a sentence, for headings and screen readers. */
export function words(question, release) {
  const what = question.show === 'percent' ? 'What percent of records have' : 'How many records have';
  const read = (value, { labels }) => labels.get(value) ?? (value === null ? 'missing' : named(value));
  const of = question.value === undefined ? `each ${question.of}` : `${question.of} = ${read(question.value, attributeOf(release, question.of))}`;
  const by = [question.by, question.and].filter(Boolean);
  const where = Object.entries(question.where).map(([name, { from, to, values }]) => {
    if (from && to) return `${name} from ${from} to ${to}`;
    if (from) return `${name} from ${from}`;
    if (to) return `${name} up to ${to}`;
    return `${name} = ${values.map((value) => read(value, columnOf(release, name))).join(' or ')}`;
  });
  const upto = question.chart === 'cumulative' ? `${question.of} up to each value` : of;
  return [
    `${what} ${upto}`,
    ...(by.length ? [`by ${by.join(' and ')}`] : []),
    ...(where.length ? [`where ${where.join(', ')}`] : []),
  ].join(', ');
}

/** Make an object of filters by column without a prototype, since a column may be called `constructor`. */
export const filtersBy = (entries) => Object.assign(Object.create(null), Object.fromEntries(entries));

/** Return the question that is shown first. */
export function first(release) {
  const [{ name, kind, values }] = release.attributes;
  const chart = ORDERED.has(kind) && values.length > FEW ? 'trend' : 'bars';
  return { of: name, value: undefined, show: 'records', confidence: '0.95', by: '', step: '', and: '', chart, where: filtersBy([]) };
}

/** Write a question as the part of an address after the #: the names and choices, never an answer. */
export function written(question) {
  const text = new URLSearchParams({ of: question.of });
  if (question.value === null) text.set('missing', '1');
  else if (question.value !== undefined) text.set('value', question.value);
  for (const name of ['show', 'confidence', 'by', 'step', 'and', 'chart']) if (question[name]) text.set(name, question[name]);
  for (const [name, { from, to, values }] of Object.entries(question.where)) {
    if (from) text.set(`from.${name}`, from);
    if (to) text.set(`to.${name}`, to);
    for (const value of values ?? []) text.append(value === null ? `missing.${name}` : `in.${name}`, value ?? '1');
  }
  return text.toString();
}

/**
 * Read a question that `written` wrote. Each part must be a name or value of the release, a number or a date, so that
 * texts of an address enter SQL only as literals.
 */
export function read(text, release) {
  const given = new URLSearchParams(text);
  const question = first(release);
  const among = (name, known, fallback) => {
    const value = given.get(name) ?? fallback;
    if (!known.includes(value)) throw new Problem(`The link asks for ${name} = ${value}, which this release does not have.`);
    return value;
  };
  question.of = among('of', release.attributes.map((each) => each.name), question.of);
  const attribute = attributeOf(release, question.of);
  if (given.has('missing')) question.value = null;
  else if (given.has('value')) question.value = given.get('value');
  if (question.value !== undefined && !attribute.values.includes(question.value))
    throw new Problem(`The link asks for a value that ${question.of} does not have in this release.`);
  const names = release.columns.map((each) => each.name);
  question.show = among('show', ['records', 'percent'], 'records');
  question.confidence = among('confidence', ['0.9', '0.95', '0.99'], '0.95');
  question.by = among('by', ['', ...names], '');
  question.and = among('and', ['', ...names], '');
  question.chart = among('chart', ['bars', 'trend', 'cumulative'], 'bars');
  if (question.by) question.step = among('step', ['', ...columnOf(release, question.by).steps], '');
  for (const [place, value] of given) {
    const [what, name] = [place.slice(0, place.indexOf('.')), place.slice(place.indexOf('.') + 1)];
    if (!['from', 'to', 'in', 'missing'].includes(what)) continue;
    const filtered = columnOf(release, name);
    if (!filtered) throw new Problem(`The link selects records by ${name}, which is not a public column of this release.`);
    const chosen = (question.where[name] ??= {});
    if (what === 'from' || what === 'to') {
      if (!filtered.end(value)) throw new Problem(`The link selects ${name} ${what} ${value}, which is not a ${filtered.kind}.`);
      chosen[what] = value;
    } else if (!filtered.values) throw new Problem(`The link selects single values of ${name}, but this page can only select a range of them.`);
    else (chosen.values ??= []).push(what === 'missing' ? null : value);
  }
  return settled(question, release);
}

/** Remove choices that do not fit the other choices. */
export function settled(question, release) {
  const chosen = { ...question };
  const attribute = attributeOf(release, chosen.of);
  const usable = (name) => name && name !== attribute.column && columnOf(release, name);
  if (!usable(chosen.by)) [chosen.by, chosen.and] = [usable(chosen.and) ? chosen.and : '', ''];
  if (!usable(chosen.and) || chosen.and === chosen.by) chosen.and = '';
  if (!chosen.by || !columnOf(release, chosen.by).steps.includes(chosen.step)) chosen.step = '';
  if (!charts(chosen, release).some(([chart]) => chart === chosen.chart)) chosen.chart = 'bars';
  if (chosen.chart === 'cumulative') chosen.show = 'records';
  // The total of a sample is itself an estimate, so shares and their intervals are available for single values only.
  if (attribute.sampled && chosen.value === undefined) chosen.show = 'records';
  chosen.where = filtersBy(Object.entries(chosen.where).filter(([name]) => usable(name)));
  return chosen;
}
