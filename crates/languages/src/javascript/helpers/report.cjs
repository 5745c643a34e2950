// What a run of a runner found: one JSON object a line, after one with the runner's name.
'use strict'

const fs = require('fs')
const path = require('path')

const REPORT = __dirname.slice(0, -'-helper'.length)

/** What the tests start is not asked. */
exports.leaveEnvironment = () => {
  const own = '--require=' + JSON.stringify(path.join(__dirname, 'preload.cjs'))
  const rest = (process.env.NODE_OPTIONS || '').replace(own, '').trim()
  if (rest) process.env.NODE_OPTIONS = rest
  else delete process.env.NODE_OPTIONS
}

/** The outermost folder of a repository or package: tests of several packages have names of their own. */
function root() {
  let found = process.cwd()
  for (let folder = found; ; folder = path.dirname(folder)) {
    if (['.git', 'package.json'].some(name => fs.existsSync(path.join(folder, name)))) found = folder
    if (folder === path.dirname(folder)) return found
  }
}

exports.Run = class {
  constructor(runner) {
    this.root = root()
    this.lines = [{ runner }]
  }

  file(file) {
    return file && path.isAbsolute(file) ? path.relative(this.root, file) : file
  }

  name(parts) {
    const plain = part => String(part).replace(/\p{Surrogate}/gu, '\ufffd').replace(/\s+/g, ' ').trim()
    return parts.filter(Boolean).map(plain).join(' > ')
  }

  test(parts, status) {
    this.lines.push({ test: { name: this.name(parts), status } })
  }

  /** What failed beside the tests, such as a hook. */
  failed(parts) {
    this.lines.push({ failed: this.name(parts) })
  }

  unloaded(file) {
    this.lines.push({ unloaded: this.file(file) })
  }

  /** A command may have several runs, so each appends. */
  write() {
    if (this.lines.length === 1) return
    fs.appendFileSync(REPORT, this.lines.map(line => JSON.stringify(line) + '\n').join(''))
  }
}
