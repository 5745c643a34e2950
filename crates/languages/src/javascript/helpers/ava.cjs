// AVA: listens to the run beside its reporter.
'use strict'

const path = require('path')
const { pathToFileURL } = require('url')
const { Run, leaveEnvironment } = require('./report.cjs')

exports.begin = program => {
  leaveEnvironment()
  const main = program.replace(/\/(entrypoints\/cli\.mjs|cli\.js)$/, '')
  listen(path.join(main, 'lib/run-status.js')).catch(() => {})
}

async function listen(file) {
  const { default: RunStatus } = await import(pathToFileURL(file))
  const emit = RunStatus.prototype.emitStateChange
  const note = begin()
  RunStatus.prototype.emitStateChange = function (event) {
    note(event)
    return emit.call(this, event)
  }
}

function begin() {
  const run = new Run('ava')
  const [tests, hooks, files] = [new Map(), [], new Set()]
  const end = (file, title, status) => tests.set(`${file}\0${title}`, { file, title, status })
  process.on('exit', () => {
    for (const { file, title, status } of tests.values()) run.test([run.file(file), title], status)
    for (const { file, title } of hooks) run.failed([run.file(file), title])
    const hasTests = file => [...tests.values()].some(test => test.file === file)
    for (const file of files) hasTests(file) ? run.failed([run.file(file)]) : run.unloaded(file)
    run.write()
  })
  return ({ type, testFile: file, title, skip, todo, knownFailing }) => {
    // What does not end has failed. A test that fails as expected shows nothing.
    if (type === 'selected-test') end(file, title, skip || todo ? 'skipped' : 'failed')
    if (type === 'test-passed') end(file, title, knownFailing ? 'skipped' : 'passed')
    if (type === 'test-failed') end(file, title, 'failed')
    if (type === 'hook-failed') hooks.push({ file, title })
    if (type === 'uncaught-exception' || type === 'missing-ava-import') files.add(file)
  }
}
