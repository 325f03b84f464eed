import { closeSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { cli } from './cli/cli.ts'
import type { Io } from './cli/io.ts'
import { Lines } from './lib/lines.ts'
import { makeLog } from './lib/log.ts'

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
const lines = new Lines(2)

const io: Io = {
  // Asked for, it is opened; a server never does.
  get stdin() {
    return process.stdin
  },
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  nodeVersion: process.versions.node,
  log: line => lines.write(line),
  on(signal, act) {
    process.on(signal, act)
    return { [Symbol.dispose]: () => void process.off(signal, act) }
  },
  raise: signal => void process.kill(process.pid, signal),
  quit: code => process.exit(code),
  async startApp(config, log) {
    // What is kept here is nobody else's: keys, conversations, settings.
    process.umask(0o077)
    const { startApp } = await import('./app.ts')
    const app = await startApp(config, log, process.pid)
    // Node writes its compile cache only at a clean exit, and a server rarely has one.
    setTimeout(() => flushCompileCache(), 500).unref()
    return app
  },
}

process.on('uncaughtException', async error => {
  makeLog('error', io.log).error('crash', { error: error.stack })
  await lines.flush()
  process.exit(1)
})
// Whoever read our output may go away; that is no reason to stop.
process.stdout.on('error', () => undefined)

const code = await cli(process.argv.slice(2), io)
await lines.flush()
process.exit(code)
