// Evaluates one example of an issue, again and again, and says each answer once.
import { readFileSync, writeSync } from 'node:fs';
import { basename, extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';

const MOST = 25;
const LONGEST = 2000;

const mark = process.env.JOURNEYMAN_MARK;
delete process.env.JOURNEYMAN_MARK;
const [, , told, place] = process.argv;
const example = JSON.parse(readFileSync(told, 'utf8'));
if (place === 'elsewhere') {
  for (const stream of [process.stdout, process.stderr, process.stdin]) {
    Object.defineProperty(stream, 'isTTY', { value: true, configurable: true });
  }
}
process.argv.length = 1;

const known = Object.create(null);
for (const path of example.modules) {
  try {
    const module = await import(pathToFileURL(resolve(path)));
    for (const names of [module.default, module]) {
      if (names !== null && (typeof names === 'object' || typeof names === 'function')) {
        for (const name of Object.getOwnPropertyNames(names)) known[name] ??= names[name];
      }
    }
    if (typeof module.default === 'function') {
      // One without a name is called by its file.
      known[module.default.name || basename(path, extname(path))] ??= module.default;
    }
  } catch {
    // Another one may have it.
  }
}

const setup = example.setup
  .split('\n')
  .filter((line) => !/^\s*import\b|\brequire\(/.test(line))
  .join('\n');
const evaluate = new Function('known', `with (known) { ${setup}\n return (${example.code}); }`);
const [, root, member] = /^([\w$]+)(?:\.([\w$]+))?/.exec(example.code);
// The package, by the name that the issue has for it.
if (!(root in known) && !(root in globalThis) && member in known) known[root] = known;
const isKnown = root in known || root in globalThis;

// What is no text and looks like one has its own way to be shown, which is not believed.
const options = { depth: 6, breakLength: Infinity, sorted: true };
function shown(value) {
  const text = inspect(value, options);
  const isLike = typeof value === 'object' && /^['"`]/.test(text);
  return isLike ? inspect(value, { ...options, customInspect: false }) : text;
}

const said = [];
const until = Date.now() + LONGEST;
for (let turn = 0; isKnown && turn < MOST && Date.now() <= until; turn += 1) {
  let one;
  try {
    const value = await evaluate(known);
    one = ['=', shown(value)];
  } catch (error) {
    one = ['!', `${error?.name}: ${error?.message}`];
  }
  if (!said.some(([kind, text]) => kind === one[0] && text === one[1])) said.push(one);
}
for (const [kind, text] of said) {
  writeSync(1, `\n${mark} ${example.number} ${kind} ${Buffer.from(text).toString('hex')}\n`);
}
process.exit(0);
