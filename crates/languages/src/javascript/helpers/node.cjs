// node --test: one more reporter.
'use strict'

const { spawnSync } = require('child_process')
const { fileURLToPath } = require('url')
const path = require('path')
const { Run, leaveEnvironment } = require('./report.cjs')

const [MAJOR, MINOR] = process.versions.node.split('.').map(Number)

/** Starts node again, since it takes reporters at its start alone. */
function begin() {
  const options = process.execArgv
  const has = name => options.some(word => word === name || word.startsWith(name + '='))
  const isOld = MAJOR < 18 || MAJOR === 19 || MAJOR === 18 && MINOR < 17
  if (isOld || has('--watch') || /--test-reporter/.test(process.env.NODE_OPTIONS)) return
  leaveEnvironment()
  const more = []
  if (!has('--test-reporter')) more.push(`--test-reporter=${process.stdout.isTTY || MAJOR > 22 ? 'spec' : 'tap'}`)
  if (!has('--test-reporter-destination')) more.push('--test-reporter-destination=stdout')
  // Nothing is written there.
  more.push(`--test-reporter=${__filename}`, '--test-reporter-destination=stderr')
  const words = [...options, ...more, ...process.argv.slice(1)]
  const { status, signal, error } = spawnSync(process.execPath, words, { stdio: 'inherit' })
  if (signal) process.kill(process.pid, signal)
  if (!error) process.exit(status)
}

/** A file that fails as a whole may be a test without a runner; these words show that it did not load. */
const NOT_LOADED = /^(Error: Cannot find module |Error \[ERR_[A-Z_]*(NOT_FOUND|NOT_EXPORTED|UNSUPPORTED_DIR_IMPORT)\]|SyntaxError: )/m

async function* report(source) {
  const run = new Run('node')
  const [broken, failed] = [new Set(), new Set()]
  let open = []
  process.on('exit', () => {
    for (const file of failed) if (broken.has(file)) run.unloaded(file)
    run.write()
  })
  for await (const { type, data } of source) {
    if (type === 'test:stderr' && NOT_LOADED.test(data.message)) broken.add(fileOf(data))
    if (type === 'test:start') open = [...open.slice(0, data.nesting), { name: data.name, hasParts: false }]
    if (type !== 'test:pass' && type !== 'test:fail') continue
    const around = open.slice(0, data.nesting)
    for (const group of around.slice(-1)) group.hasParts = true
    const file = fileOf(data)
    const isFile = data.nesting === 0 && path.resolve(data.name) === file
    const names = [run.file(file), ...around.map(group => group.name), isFile ? '' : data.name]
    const failure = type === 'test:fail' && data.details.error?.failureType
    const isOfParts = failure === 'subtestsFailed' || !failure && open[data.nesting]?.hasParts
    const isSkipped = [data.skip, data.todo].some(reason => reason !== undefined && reason !== false)
    const isSuite = data.details.type === 'suite'
    if (!isSuite && !isOfParts) run.test(names, isSkipped ? 'skipped' : failure ? 'failed' : 'passed')
    // Node counts a test that failed because of its parts, and no suite. The hook of a suite may fail.
    else if (failure && !isSkipped && isSuite !== isOfParts) run.failed(names)
    if (isFile && failure) failed.add(file)
  }
}

function fileOf({ entryFile, file, name }) {
  const known = entryFile || file || name
  return known.startsWith('file:') ? fileURLToPath(known) : path.resolve(known)
}

module.exports = Object.assign(report, { begin })
