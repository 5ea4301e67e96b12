// Drives the explorer in headless Chromium. Reads one command a line, does it, and writes what the page then shows.
// A command is {"do": …, …}; a reply is {"status", "problem", "sql", "rows", "panels", "address", …} or {"error"}.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import readline from 'node:readline';

const [modules, executablePath] = process.argv.slice(2);
const require = createRequire(`${modules}/`);
const { chromium } = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const PATIENCE = 240_000;

// What the engine's code would gain by being compiled twice is less than the second time takes.
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--js-flags=--liftoff-only'] });
let context;
let page;
let asked = [];
let said = [];

const settled = async () => {
  await page.evaluate(() => new Promise((done) => setTimeout(done, 50)));
  await page.waitForSelector('main[aria-busy=false]', { timeout: PATIENCE });
};

const shown = () =>
  page.evaluate(() => {
    const seen = (id) => document.getElementById(id).checkVisibility();
    const text = (id) => (seen(id) ? document.getElementById(id).textContent : '');
    return {
      title: text('title'), facts: text('facts'), status: text('status'), problem: text('problem'), sql: text('sql'),
      copied: text('copied'), undrawn: text('undrawn'), address: location.href,
      focus: document.activeElement.name || document.activeElement.id,
      rows: [...document.querySelectorAll(seen('table') ? '#table tr' : 'none')].map((row) => [...row.cells].map((cell) => cell.textContent)),
      panels: [...document.querySelectorAll('#chart figure')].map((each) => each.querySelector('h3')?.textContent ?? ''),
      wider: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    };
  });

const DOES = {
  /** Open an address in a window of some width; what it asks for and complains of is remembered. */
  async visit({ address, width = 1280, height = 900 }) {
    await context?.close();
    context = await browser.newContext({ viewport: { width, height }, permissions: ['clipboard-read', 'clipboard-write'] });
    page = await context.newPage();
    page.setDefaultTimeout(PATIENCE);
    [asked, said] = [[], []];
    page.on('request', (request) => asked.push(request.url()));
    page.on('console', (message) => said.push(message.text()));
    page.on('pageerror', (error) => said.push(String(error)));
    await page.goto(address);
  },
  size: ({ width, height = 900 }) => page.setViewportSize({ width, height }),
  give: ({ file }) => page.setInputFiles('#file', file),
  async drop({ name, bytes }) {
    const data = await page.evaluateHandle(([name, bytes]) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([Uint8Array.from(atob(bytes), (sign) => sign.charCodeAt(0))], name));
      return transfer;
    }, [name, bytes]);
    await page.dispatchEvent('body', 'drop', { dataTransfer: data });
  },
  choose: ({ name, option }) => page.selectOption(`[name=${name}]`, { label: option }),
  async press({ keys }) {
    for (const key of keys) await page.keyboard.press(key);
  },
  click: ({ what }) => page.click(what),
  write: async ({ what, text }) => {
    await page.fill(what, text);
    await page.keyboard.press('Tab');
  },
  hash: ({ text }) => page.evaluate((text) => { location.hash = text; }, text),
  picture: ({ path }) => page.screenshot({ path, fullPage: true }),
  look: () => {},
};

for await (const line of readline.createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  let reply;
  try {
    if (command.do === 'axe') {
      await page.evaluate(axe);
      reply = await page.evaluate(() => axe.run()).then(({ violations }) => ({
        violations: violations.map((each) => `${each.id}: ${each.nodes[0].html}`),
      }));
    } else if (command.do === 'evaluate') {
      reply = { value: await page.evaluate(command.text) };
    } else if (command.do === 'requests') {
      reply = { asked, said };
    } else {
      await DOES[command.do](command);
      await settled();
      reply = await shown();
    }
  } catch (error) {
    reply = { error: String(error) };
  }
  process.stdout.write(`${JSON.stringify(reply)}\n`);
}
await browser.close();
