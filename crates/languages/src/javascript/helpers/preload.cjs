// Node loads this before every program, of any version. In a test runner's own process it sees to it that each test is
// reported; what the runner prints and runs stays as it is.
'use strict'

const RUNNERS = [
  [/\/(jest|jest-cli)\/bin\/jest\.js$|\/react-scripts\/scripts\/test\.js$/, './jest.cjs'],
  [/\/vitest\/(vitest|dist\/cli)\.m?js$/, './vitest.cjs'],
  [/\/mocha\/(bin\/_?mocha(\.js)?|lib\/cli\/cli\.js)$/, './mocha.cjs'],
  [/\/ava\/(entrypoints\/cli\.mjs|cli\.js)$/, './ava.cjs'],
]

function begin() {
  if (!require('worker_threads').isMainThread) return
  if (process.execArgv.includes('--test')) return require('./node.cjs').begin()
  const program = require('fs').realpathSync(process.argv[1])
  const runner = RUNNERS.find(([pattern]) => pattern.test(program))
  if (runner) require(runner[1]).begin(program)
}

try {
  begin()
} catch (error) {
  // It runs without a report.
}
