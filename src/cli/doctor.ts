import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Ownership } from '../store/ownership.ts'
import { dataFolder, engine, type Finding, limits, memory, port, program } from './checks.ts'
import { configFor, connect, start, type Where } from './connect.ts'
import { explain } from './explain.ts'
import { exit, type Io, say } from './io.ts'
import { oneLine, safe, styleOf } from './text.ts'

type Options = Pick<Where, 'data' | 'config'> & { json?: boolean }

const INSTALL_WALLS = 'apt-get install bubblewrap (or what your system calls it)'

/** `gantry doctor`: what works here, and what to do about the rest. */
export async function doctor(io: Io, options: Options): Promise<number> {
  const config = await configFor(io, options)
  const fromServer = await askServer(io, options, config.data)
  const findings: Finding[] = [
    { name: 'node', state: 'good', text: io.nodeVersion },
    ...fromServer,
    await program('bwrap', ['--version'], INSTALL_WALLS),
    await program('git', ['--version'], 'apt-get install git'),
    await limits(),
    memory(),
    await engine(config),
    await dataFolder(config.data),
    await port(config),
  ]
  if (options.json) say(io.stdout, JSON.stringify(findings))
  else for (const line of report(io, findings)) say(io.stdout, line)
  return fromServer[0].state === 'good' ? exit.finished : exit.error
}

/** Asks the server that runs; otherwise one that is started on a folder of its own, so that nothing of the person's is touched. */
async function askServer(io: Io, options: Options, data: string): Promise<[isolation: Finding, ...others: Finding[]]> {
  const folder = Ownership.announced(data) ? undefined : await mkdtemp(join(tmpdir(), 'gantry-doctor-'))
  try {
    await using server = await (folder ? start(io, { ...options, data: folder }) : connect(io, options))
    const { isolated, isolation, usable_tools } = await server.client.serverInfo()
    return [
      isolated
        ? { name: 'isolation', state: 'good', text: `${isolation}; a trial sandbox proved it` }
        : { name: 'isolation', state: 'bad', text: isolation, fix: INSTALL_WALLS },
      models(await server.client.localModels()),
      { name: 'tools', state: 'good', text: usable_tools.join(', ') },
    ]
  } catch (error) {
    return [{ name: 'isolation', state: 'bad', text: `could not be tried: ${explain(error).message}` }]
  } finally {
    if (folder) await rm(folder, { recursive: true, force: true })
  }
}

function models(servers: readonly { name: string; base_url: string; models: string[] }[]): Finding {
  const text = servers.map(
    ({ name, base_url, models }) => `${name} at ${base_url}: ${models.join(', ') || 'no models'}`,
  )
  if (text.length > 0) return { name: 'models', state: 'good', text: safe(text.join('; ')) }
  const fix = 'start one, such as Ollama, or store a key of a provider in the settings'
  return { name: 'models', state: 'missing', text: 'no model server on this machine', fix }
}

function report(io: Io, findings: readonly Finding[]): string[] {
  const style = styleOf(io.stdout, io.env)
  const marks = { good: style.green('✓'), missing: style.yellow('-'), bad: style.red('✗') }
  const width = Math.max(...findings.map(({ name }) => name.length))
  return findings.flatMap(({ name, state, text, fix }) => [
    `${marks[state]} ${name.padEnd(width)}  ${oneLine(text, Number.POSITIVE_INFINITY)}`,
    ...(fix ? [`${' '.repeat(width + 4)}${style.dim(fix)}`] : []),
  ])
}
