// jest and react-scripts: a processor of the results, beside the reporters.
'use strict'

const { Run, leaveEnvironment } = require('./report.cjs')

const OPTION = '--testResultsProcessor'

function begin() {
  leaveEnvironment()
  if (!process.argv.some(word => word.startsWith(OPTION))) process.argv.splice(2, 0, `${OPTION}=${__filename}`)
}

function report(results) {
  const run = new Run('jest')
  for (const { testFilePath, displayName, testExecError, testResults } of results.testResults) {
    const file = run.file(testFilePath)
    // A hook may fail after the tests of a file.
    if (testExecError && testResults.length > 0) run.failed([file])
    else if (testExecError) run.unloaded(file)
    const project = displayName && (displayName.name || displayName)
    for (const { ancestorTitles, title, status } of testResults) {
      const known = ['passed', 'failed'].includes(status) ? status : 'skipped'
      run.test([file, project, ...ancestorTitles, title], known)
    }
  }
  run.write()
  return results
}

module.exports = Object.assign(report, { begin })
