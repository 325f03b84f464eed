import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

/** `npm test` runs everything; `npm test -- FILE… [--test-name-pattern=…]` runs what is named. */
const root = join(import.meta.dirname, '..')
const given = process.argv.slice(2)
const options = given.filter(argument => argument.startsWith('-'))
const files = given.filter(argument => !argument.startsWith('-'))

/** Per file as well as per test: a test that hangs fails instead of holding the run up for ever. */
const timeout = process.env.GANTRY_TEST_DEEP ? 3_600_000 : 300_000

const child = spawn(
  process.execPath,
  [
    '--test',
    '--test-isolation=process',
    // One more than the cores there should be: much of a test is waiting for other processes.
    '--test-concurrency=3',
    '--test-reporter=spec',
    // What servers answer to the tests is compared with what they publish.
    '--import=./test/support/validate.ts',
    `--test-timeout=${timeout}`,
    ...options,
    ...(files.length > 0 ? files : ['test/**/*.test.ts']),
  ],
  { cwd: root, stdio: 'inherit', env: { ...process.env, NODE_COMPILE_CACHE: join(root, '.cache', 'compile') } },
)
// A terminal's Ctrl-C reaches the child too: wait for its summary.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => child.kill())
const [code] = await once(child, 'exit')
process.exitCode = code ?? 1
