import { accessSync, constants } from 'node:fs'
import { type Config, helpText, readConfig } from '../config.ts'
import { makeLog } from '../lib/log.ts'
import { AlreadyOwned } from '../store/ownership.ts'
import { GANTRY_VERSION } from '../version.ts'
import { exit, Failure, type Io, say } from './io.ts'

/** The server, until somebody stops it. */
export async function serve(io: Io, argv: string[]): Promise<number> {
  const command = readConfig(argv, io.env)
  if ('show' in command) {
    say(io.stdout, command.show === 'help' ? helpText() : GANTRY_VERSION)
    return exit.finished
  }
  const { config } = command
  const log = makeLog(config.log_level ?? (io.stderr.isTTY ? 'warn' : 'info'), io.log)
  const app = await io.startApp(config, log).catch(error => {
    throw new Failure(explainStart(error, config))
  })
  say(io.stdout, `Gantry ${GANTRY_VERSION} listens on ${app.url}`)
  if (app.warning) say(io.stdout, `WARNING: ${app.warning}`)
  if (io.stdout.isTTY) say(io.stdout, `Open it signed in (works once): ${app.signInLink()}`)
  else if (app.keyFile) say(io.stdout, `The session key is in ${app.keyFile}`)

  const stopped = Promise.withResolvers<void>()
  let stopping = false
  const stop = () => {
    if (stopping) io.quit(exit.error)
    stopping = true
    stopped.resolve()
  }
  io.on('SIGTERM', stop)
  io.on('SIGINT', stop)
  await stopped.promise
  await app.close()
  return exit.finished
}

/** Why there is no server, in one line. */
export function explainStart(error: NodeJS.ErrnoException, { host, port, data }: Config): string {
  if (error instanceof AlreadyOwned) return error.message
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
      return canUse(data) ? `cannot open the data in ${data}: ${error.message}` : `not allowed to use ${data}`
    default:
      return error.message
  }
}

function canUse(folder: string): boolean {
  try {
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
    return true
  } catch {
    return false
  }
}
