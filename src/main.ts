import { closeSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { startApp } from './app.ts'
import { BadUsage, type Config, helpText, readConfig } from './config.ts'
import { Lines } from './lib/lines.ts'
import { makeLog } from './lib/log.ts'
import { AlreadyOwned } from './store/ownership.ts'
import { GANTRY_VERSION } from './version.ts'

const say = (text: string): void => void process.stdout.write(`${text}\n`)

/** One line, and an exit code that says whose fault it was: 2 the caller's, 1 the world's. */
function fail(message: string, code: 1 | 2): never {
  process.stderr.write(`gantry: ${message}\n`)
  process.exit(code)
}

function config(): Config {
  try {
    const command = readConfig(process.argv.slice(2), process.env)
    if ('config' in command) return command.config
    say(command.show === 'help' ? helpText() : GANTRY_VERSION)
    process.exit(0)
  } catch (error) {
    if (error instanceof BadUsage) fail(`${error.message} (see --help)`, 2)
    throw error
  }
}

function explain(error: NodeJS.ErrnoException, { host, port, data }: Config): string {
  switch (error.code) {
    case 'EADDRINUSE':
      return `port ${port} on ${host} is in use; choose another with --port`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${host} is not an address of this machine; choose another with --host`
    case 'EACCES':
      return error.syscall === 'listen'
        ? `not allowed to listen on port ${port}`
        : `not allowed to use ${error.path ?? data}`
    case 'ERR_SQLITE_ERROR':
      return `cannot open the data in ${data}: ${error.message}`
    default:
      return error.message
  }
}

const CLOSED_ON_EXEC = 0o2000000

/** Read by libraries, on other threads too, while we start. */
const LIBRARIES = /^(\/etc|\/usr|\/lib|\/proc|\/sys)\b|^anon_inode:/

/**
 * What whoever started us left open would be open in every command too. What we open ourselves is marked to be closed there; what
 * libraries read is not, and is left alone. A channel to a parent that is Node stays: it was meant for us.
 */
function closeInherited(): void {
  if (process.platform !== 'linux' || process.channel) return
  for (const fd of readdirSync('/proc/self/fd').map(Number)) {
    if (fd <= 2) continue
    try {
      const what = readlinkSync(`/proc/self/fd/${fd}`)
      const flags = /^flags:\s+(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1'))?.[1] ?? ''
      const inherited = !(Number.parseInt(flags, 8) & CLOSED_ON_EXEC) && !LIBRARIES.test(what)
      if (inherited && what !== process.env.NODE_EXTRA_CA_CERTS) closeSync(fd)
    } catch {
      // The folder that was just read is in the list too.
    }
  }
}

closeInherited()
const settings = config()
// What is kept here is nobody else's: keys, conversations, settings.
process.umask(0o077)
const lines = new Lines(2)
const log = makeLog(settings.log_level ?? (process.stderr.isTTY ? 'warn' : 'info'), line => lines.write(line))
const app = await startApp(settings, log, process.pid).catch((error: NodeJS.ErrnoException) =>
  fail(error instanceof AlreadyOwned ? error.message : explain(error, settings), 1),
)

say(`Gantry ${GANTRY_VERSION} listens on ${app.url}`)
if (app.warning) say(`WARNING: ${app.warning}`)
if (process.stdout.isTTY) say(`Open it signed in (works once): ${app.signInLink()}`)
else if (app.keyFile) say(`The session key is in ${app.keyFile}`)

// Node writes its compile cache only at a clean exit, and a server rarely has one.
setTimeout(() => flushCompileCache(), 500).unref()

// Whoever read our output may go away; that is no reason to stop.
process.stdout.on('error', () => undefined)

process.on('uncaughtException', async error => {
  log.error('crash', { error: error.stack })
  await lines.flush()
  process.exit(1)
})

let stopping = false
const stop = async () => {
  if (stopping) process.exit(1)
  stopping = true
  await app.close()
  await lines.flush()
  process.exit(0)
}
process.on('SIGTERM', stop)
process.on('SIGINT', stop)
