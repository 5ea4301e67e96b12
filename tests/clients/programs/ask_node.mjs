// Asks releases with @duckdb/node-api: node ask_node.mjs FOLDER, where FOLDER holds node_modules.
// Jobs and replies are those of ask_python.py.
import fs from 'node:fs';
import { createRequire } from 'node:module';

const { DuckDBInstance } = createRequire(`${process.argv[2]}/`)('@duckdb/node-api');

async function reply(job) {
  const instance = job.path
    ? await DuckDBInstance.create(job.path, { access_mode: 'READ_ONLY' })
    : await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    for (const statement of job.setup) await connection.run(statement);
    const answers = [];
    for (const question of job.questions) {
      const start = performance.now();
      try {
        const rows = (await connection.runAndReadAll(question)).getRowsJson();
        answers.push({ rows, seconds: (performance.now() - start) / 1000 });
      } catch (error) {
        if (!job.wrong) throw error;
        answers.push({ error: error.message });
      }
    }
    return { answers };
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

const replies = [];
for (const job of JSON.parse(fs.readFileSync(0, 'utf8')))
  replies.push(await reply(job).catch((error) => ({ error: error.message })));
console.log(JSON.stringify(replies));
