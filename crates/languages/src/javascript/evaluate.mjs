// Evaluates calls, each again and again, and says each answer once.
import { closeSync, readFileSync, writeSync } from 'node:fs';
import { basename, extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';

const LONGEST = 2000;

// What an answer starts with. Nothing that the code can read has it.
const prefix = readFileSync(3, 'utf8').trim();
closeSync(3);
const asked = JSON.parse(readFileSync(process.argv[2], 'utf8'));
process.argv.length = 1;

const known = Object.create(null);
for (const path of asked.modules) {
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

const setup = asked.setup
  .split('\n')
  .filter((line) => !/^\s*import\b|\brequire\(/.test(line))
  .join('\n');
// What is no text and looks like one has its own way to be shown, which is not believed.
const options = { depth: 6, breakLength: Infinity, sorted: true };
function shown(value) {
  const text = inspect(value, options);
  const isLike = typeof value === 'object' && /^['"`]/.test(text);
  return isLike ? inspect(value, { ...options, customInspect: false }) : text;
}

const until = Date.now() + LONGEST;
for (const [code, number] of asked.calls) {
  const [, root, member] = /^([\w$]+)(?:\.([\w$]+))?/.exec(code);
  // The package, by the name that the issue has for it.
  if (!(root in known) && !(root in globalThis) && member in known) known[root] = known;
  if (!(root in known) && !(root in globalThis)) continue;
  let evaluate;
  try {
    evaluate = new Function('known', `with (known) { ${setup}\n return (${code}); }`);
  } catch {
    continue;
  }
  const said = [];
  for (let turn = 0; turn === 0 || (turn < asked.turns && Date.now() <= until); turn += 1) {
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
    writeSync(1, `\n${prefix} ${number} ${kind} ${Buffer.from(text).toString('hex')}\n`);
  }
}
process.exit(0);
