// Opens a release with DuckDB in WebAssembly, and reads its attributes, columns and guarantees.
import * as duckdb from './engine/@duckdb/duckdb-wasm/dist/duckdb-browser.mjs';
import { Problem } from './question.js';

const ENGINE = new URL('./engine/@duckdb/duckdb-wasm/dist/', import.meta.url);
const PUBLIC = ['attribute', 'coefficient', 'guarantee', 'release'];
const ASKED_BY = ['release', 'attribute', 'column_name', 'role', 'type', 'blocks'];
const BLOCK = 4096;
const LISTED = 500;
const NUMBERS = /^(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL)/;
const WHOLE = /INT/;
const DATES = /^(DATE|TIMESTAMP)/;
const ENDS = { number: /^-?\d{1,15}(\.\d{1,15})?$/, date: /^\d{4}-\d\d-\d\d$/ };

let worker = null;
let database = null;

/**
 * Throw Problem unless the file is a complete DuckDB file. DuckDB in WebAssembly waits forever for missing blocks, so the
 * blocks are counted here: three pages of headers, then as many blocks as the newer of two headers states.
 */
export async function checkWhole(file) {
  const head = new DataView(await file.slice(0, 3 * BLOCK).arrayBuffer());
  const magic = head.byteLength >= 12 ? String.fromCharCode(...new Uint8Array(head.buffer, 8, 4)) : '';
  if (magic !== 'DUCK')
    throw new Problem(`“${file.name}” is not a DuckDB file: choose the .duckdb file that you received.`);
  const cutOff = new Problem(`“${file.name}” is incomplete: get it again from its publisher.`);
  if (head.byteLength < 3 * BLOCK) throw cutOff;
  const number = (place) => Number(head.getBigUint64(place, true));
  const newer = number(BLOCK + 8) > number(2 * BLOCK + 8) ? BLOCK : 2 * BLOCK;
  if (file.size < 3 * BLOCK + number(newer + 32) * number(newer + 40)) throw cutOff;
}

/** Start DuckDB, or close its open file. */
async function engine() {
  if (database) {
    await database.reset();
    await database.dropFiles();
    return;
  }
  // A worker made from a blob inherits the page's Content-Security-Policy, so it cannot reach other hosts.
  const start = `importScripts(${JSON.stringify(new URL('duckdb-browser-eh.worker.js', ENGINE).href)});`;
  const place = URL.createObjectURL(new Blob([start], { type: 'text/javascript' }));
  worker = new Worker(place);
  const started = new duckdb.AsyncDuckDB(new duckdb.VoidLogger(), worker);
  await started.instantiate(new URL('duckdb-eh.wasm', ENGINE).href);
  URL.revokeObjectURL(place);
  database = started;
}

/** Terminate DuckDB; running questions get no answer. */
function stop() {
  worker?.terminate();
  [worker, database] = [null, null];
}

/**
 * Open a file. Throws Problem unless it is a release that this page can query.
 *
 * DuckDB cannot interrupt a query here. So a question is stopped by terminating DuckDB, which opens the file again for the
 * next question.
 */
export async function open(file) {
  await checkWhole(file);
  let connection = connect(file);
  await connection;
  const rows = async (statement) => {
    connection ??= connect(file);
    return (await (await connection).query(statement)).toArray().map((row) => row.toJSON());
  };
  const halt = () => {
    stop();
    connection = null;
  };
  return { ...(await described(file, rows)), ask: rows, stop: halt };
}

/** Open a file with a DuckDB that cannot read anything else. */
async function connect(file) {
  await engine();
  const version = await database.getVersion();
  const name = 'release.duckdb';
  try {
    await database.registerFileHandle(name, file, duckdb.DuckDBDataProtocol.BROWSER_FILEREADER, true);
    await database.open({ path: name, accessMode: duckdb.DuckDBAccessMode.READ_ONLY });
    const connection = await database.connect();
    // A release contains macros, which must not read or load anything else.
    for (const setting of ['autoinstall_known_extensions', 'autoload_known_extensions', 'enable_external_access'])
      await connection.query(`SET ${setting} = false`);
    await connection.query('SET lock_configuration = true');
    return connection;
  } catch (error) {
    stop();
    const newer = /newer|version number/i.test(error.message);
    throw new Problem(
      newer
        ? `“${file.name}” was written for a newer DuckDB than this page has (${version}): ask its publisher for a file that every DuckDB can open.`
        : `“${file.name}” cannot be opened by DuckDB ${version}: get it again from its publisher.`,
    );
  }
}

async function described(file, rows) {
  const tables = (await rows(
    `SELECT table_name AS name FROM duckdb_tables() WHERE schema_name = 'priv' AND database_name = current_database() ORDER BY 1`,
  )).map((each) => each.name);
  if (tables.includes('secret'))
    throw new Problem(`“${file.name}” is a publisher's own database, with source and secret: open the file that priv.export_release wrote, and do not share this one.`);
  if (tables.join() !== PUBLIC.join())
    throw new Problem(`“${file.name}” is a DuckDB file, but not a release: choose the file that was published.`);
  const about = await rows('FROM priv.release');
  if (about.length !== 1)
    throw new Problem(`“${file.name}” contains ${about.length} releases, and this page needs a file with one: ask its publisher for a separate file.`);
  const has = (await rows(
    `SELECT column_name AS name FROM duckdb_columns() WHERE schema_name = 'priv' AND table_name = 'attribute' AND database_name = current_database()`,
  )).map((each) => each.name);
  if (!ASKED_BY.every((each) => has.includes(each)))
    throw new Problem(`“${file.name}” was written by an older duckdb_priv (${about[0].library_version}), and this page cannot query it: ask its publisher to export it again, or use SQL.`);
  const { release: name } = about[0];
  const described = await rows(`SELECT ${ASKED_BY.join(', ')} FROM priv.attribute ORDER BY attribute`);
  const values = await rows('SELECT attribute, value FROM priv.coefficient ORDER BY attribute, position');
  const labels = has.includes('labels')
    ? await rows('SELECT attribute, entry.value AS value, entry.label AS label FROM (SELECT attribute, unnest(labels) AS entry FROM priv.attribute)')
    : [];
  const labelsOf = (name) => new Map(labels.filter((each) => each.attribute === name).map(({ value, label }) => [value, label]));
  const attributes = described
    .filter(({ role }) => role === 'sensitive' || role === 'generalized')
    .map(({ attribute, column_name: column, role, type, blocks }) => ({
      name: attribute,
      kind: kindOf(type, labelsOf(attribute)),
      column,
      sampled: role === 'generalized',
      blocks: blocks !== null,
      values: values.filter((each) => each.attribute === attribute).map((each) => each.value),
      labels: labelsOf(attribute),
    }));
  const types = await rows(
    `SELECT column_name AS name, data_type AS type FROM duckdb_columns() WHERE schema_name = 'main'
     AND database_name = current_database() AND table_name = ${quoted(name, "'")}`,
  );
  const columns = [];
  for (const { attribute, column_name: column, role } of described)
    if (role === 'public' || role === 'generalized')
      columns.push(await summary(name, column, types.find((each) => each.name === column).type, labelsOf(attribute), rows));
  const guarantees = await rows('SELECT guarantee, statement FROM priv.guarantee ORDER BY ALL');
  return {
    name,
    file: file.name,
    about: about[0],
    promises: [...new Set(guarantees.map((each) => each.statement))],
    absent: guarantees
      .filter((each) => ['records_left_out', 'values_left_out'].includes(each.guarantee))
      .map((each) => each.statement)
      .join(' '),
    attributes,
    columns,
    weight: described.find(({ role }) => role === 'scale')?.column_name,
  };
}

const quoted = (name, sign = '"') => `${sign}${name.replaceAll(sign, sign + sign)}${sign}`;

/** Return whether a column holds numbers, dates, or neither. Numbers with labels are codes, so ranges of them have no meaning. */
const kindOf = (type, labels) => (labels.size ? 'category' : NUMBERS.test(type) ? 'number' : DATES.test(type) ? 'date' : 'category');

/** Return the kind of a public column, its lowest and highest value, and its values if they are few. */
async function summary(release, name, type, labels, rows) {
  const kind = kindOf(type, labels);
  const [column, table] = [quoted(name), quoted(release)];
  const text = kind === 'date' ? `${column}::DATE` : column;
  const [{ low, high, distinct }] = await rows(
    `SELECT min(${text})::VARCHAR AS low, max(${text})::VARCHAR AS high, count(DISTINCT ${text})::INTEGER AS distinct FROM ${table}`,
  );
  const listed =
    kind === 'category' && distinct <= LISTED
      ? (await rows(`SELECT shown::VARCHAR AS value FROM (SELECT DISTINCT ${column} AS shown FROM ${table}) ORDER BY shown NULLS LAST`)).map((each) => each.value)
      : null;
  return {
    name,
    kind,
    low,
    high,
    values: listed,
    labels,
    natural: WHOLE.test(type) && Number(low) >= 0,
    timed: type.startsWith('TIMESTAMP'),
    steps: kind === 'date' ? ['month', 'year'] : kind === 'number' && distinct > 8 ? steps(Number(high) - Number(low), WHOLE.test(type)) : [],
    end: (value) => ENDS[kind]?.test(value) ?? false,
  };
}

/** Return the widths 1, 2 and 5 times powers of ten that divide a range into 3 to 60 pieces. */
function steps(range, whole) {
  const found = [];
  for (let power = -3; power < 15; power++)
    for (const times of [1, 2, 5]) {
      const width = times * 10 ** power;
      if (range / width >= 3 && range / width <= 60 && (!whole || width > 1)) found.push(String(Number(width.toPrecision(1))));
    }
  return found;
}
