import { rm } from 'node:fs/promises'
import { type App, startApp } from '../../src/app.ts'
import { type Config, readConfig } from '../../src/config.ts'
import { makeLog } from '../../src/lib/log.ts'
import { tempFolder } from './server.ts'

export interface OwnApp extends App, AsyncDisposable {
  config: Config
  /** What it logged. */
  lines: string[]
}

/** The whole server in this process, where a test can look at it from inside. */
export async function appInProcess(args: string[] = [], env: Record<string, string> = {}): Promise<OwnApp> {
  const data = await tempFolder()
  const command = readConfig(['--port', '0', '--data', data, ...args], env)
  if (!('config' in command)) throw new Error('These arguments start no server')
  const lines: string[] = []
  const app = await startApp(
    command.config,
    makeLog(command.config.log_level ?? 'info', line => lines.push(line)),
    process.pid,
  )
  return {
    ...app,
    config: command.config,
    lines,
    async [Symbol.asyncDispose]() {
      await app.close()
      await rm(data, { recursive: true, force: true })
    },
  }
}
