// vitest: one more reporter.
'use strict'

const { Run, leaveEnvironment } = require('./report.cjs')

function begin() {
  leaveEnvironment()
  const has = start => process.argv.some(word => word.startsWith(start))
  const own = `--reporter=${__filename}`
  const runsOther = ['bench', 'init', 'list', 'typecheck'].includes(process.argv[2])
  if (runsOther || has('--reporters') || has(own)) return
  process.argv.splice(2, 0, ...(has('--reporter') ? [] : ['--reporter=default']), own)
}

class Reporter {
  /** The end of a run since vitest 3, where the older one may follow. */
  onTestRunEnd(modules) {
    this.onFinished(modules.map(module => module.task))
  }

  onFinished(files = []) {
    if (this.isWritten) return
    this.isWritten = true
    const run = new Run('vitest')
    for (const file of files) add(run, file, [run.file(file.filepath), file.projectName])
    run.write()
  }
}

function add(run, group, names) {
  const hasFailed = group.result && group.result.state === 'fail' && (group.result.errors || []).length > 0
  if (hasFailed && group.filepath && group.tasks.length === 0) run.unloaded(group.filepath)
  // A hook failed.
  else if (hasFailed) run.failed(names)
  for (const task of group.tasks) {
    if (task.tasks) add(run, task, [...names, task.name])
    else run.test([...names, task.name], status(task))
  }
}

function status({ fails, result }) {
  const state = result && result.state
  if (state === 'fail') return 'failed'
  // A test that fails as expected shows nothing.
  return state === 'pass' && !fails ? 'passed' : 'skipped'
}

module.exports = Object.assign(Reporter, { begin })
