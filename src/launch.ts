// The first file to run. It keeps V8's compiled code from start to start, and speaks plainly to a Node that is too old,
// so it must not import anything that such a Node lacks.
import module from 'node:module'
import { join } from 'node:path'

const [major = 0] = process.versions.node.split('.').map(Number)
if (major < 26) {
  process.stderr.write(`gantry: needs Node 26, this is ${process.versions.node}; "npm start" brings its own\n`)
  process.exit(1)
}
module.enableCompileCache?.(join(import.meta.dirname, '.cache'))
const [first = ''] = process.argv.slice(2)
const serves = first === 'serve' || !/^(\w.*|--help|-h|--version)$/.test(first)
// For the server all of it at once: piece by piece, as commands want it, would take longer.
await (serves ? import('./server.ts') : import('./main.ts'))
