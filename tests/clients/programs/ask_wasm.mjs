// Asks releases with @duckdb/duckdb-wasm, in a page of a browser that a small server gave out.
// Jobs and replies are those of ask_python.py. A browser knows files by their names alone.
import * as duckdb from '/node_modules/@duckdb/duckdb-wasm/dist/duckdb-browser.mjs';

const dist = `${location.origin}/node_modules/@duckdb/duckdb-wasm/dist`;
const texts = (result) => result.toArray().map((row) => Object.values(row.toJSON()));

async function reply(database, job) {
  await database.reset();
  for (const file of job.files) {
    const name = file.split(/[\\/]/).pop();
    const sent = await fetch(`/files/${encodeURIComponent(file)}`);
    if (!sent.ok) throw new Error(`${name}: ${sent.statusText}`);
    await database.registerFileBuffer(name, new Uint8Array(await sent.arrayBuffer()));
  }
  const accessMode = duckdb.DuckDBAccessMode.READ_ONLY;
  await database.open(
    job.path ? { path: job.path.split(/[\\/]/).pop(), accessMode } : { path: ':memory:' },
  );
  const connection = await database.connect();
  try {
    for (const statement of job.setup) await connection.query(statement);
    const answers = [];
    for (const question of job.questions) {
      const start = performance.now();
      try {
        const result = await connection.query(question);
        answers.push({ rows: texts(result), seconds: (performance.now() - start) / 1000 });
        show(question, result);
      } catch (error) {
        if (!job.wrong) throw error;
        answers.push({ error: error.message });
      }
    }
    return { answers };
  } finally {
    await connection.close();
  }
}

function show(question, result) {
  document.querySelector('pre').textContent = question;
  const cells = (kind, values) =>
    values.map((value) => Object.assign(document.createElement(kind), { textContent: value }));
  const line = (kind, values) => {
    const row = document.createElement('tr');
    row.append(...cells(kind, values));
    return row;
  };
  document
    .querySelector('table')
    .replaceChildren(
      line('th', result.schema.fields.map((field) => field.name)),
      ...texts(result).map((row) => line('td', row)),
    );
}

const worker = new Worker(`${dist}/duckdb-browser-eh.worker.js`);
const database = new duckdb.AsyncDuckDB(new duckdb.VoidLogger(), worker);
await database.instantiate(`${dist}/duckdb-eh.wasm`);
document.querySelector('h1 small').textContent = `DuckDB ${await database.getVersion()} in WebAssembly`;
const replies = [];
for (const job of await (await fetch('/jobs')).json())
  replies.push(await reply(database, job).catch((error) => ({ error: error.message })));
await fetch('/replies', { method: 'POST', body: JSON.stringify(replies) });
