// mocha: listens to the run beside its reporter.
'use strict'

const fs = require('fs')
const path = require('path')
const { Run, leaveEnvironment } = require('./report.cjs')

exports.begin = program => {
  const main = path.join(path.dirname(program), program.endsWith('/lib/cli/cli.js') ? '..' : '../lib', 'mocha')
  const Mocha = require(['.js', '.cjs'].map(end => main + end).find(fs.existsSync))
  const start = Mocha.prototype.run
  // Its first process may only start another one. A test may run mocha too, which is no run of the command.
  Mocha.prototype.run = function (...words) {
    Mocha.prototype.run = start
    leaveEnvironment()
    const runner = start.apply(this, words)
    listen(runner)
    return runner
  }
}

function listen(runner) {
  const run = new Run('mocha')
  const results = new Map()
  const names = test => [run.file(test.file || (test.parent && test.parent.file)), ...test.titlePath()]
  runner.on('pass', test => results.set(test, 'passed'))
  runner.on('pending', test => results.set(test, 'skipped'))
  runner.on('fail', test => results.set(test, 'failed'))
  process.on('exit', () => {
    for (const [test, status] of results) {
      if (test.type === 'hook') run.failed(names(test))
      else run.test(names(test), status)
    }
    run.write()
  })
}
