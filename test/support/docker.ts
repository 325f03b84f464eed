import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, openSync, readFileSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { Engine } from '../../src/sandbox/docker/engine.ts'
import { findProgram } from './command.ts'
import { tempFolder } from './server.ts'
import { until } from './wait.ts'

export const IMAGE = 'gantry-test:busybox'

/** A reason to skip what needs an engine, or false. */
export const NO_DOCKER: string | false = (() => {
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    return 'an engine of our own can only be started as root on Linux'
  const missing = ['dockerd', 'containerd', 'runc', 'busybox'].find(
    program => findProgram(program) === undefined && !existsSync(join('/usr/sbin', program)),
  )
  if (missing !== undefined) return `the program \`${missing}\` is not installed`
  // Alone in an image there is no loader.
  return readFileSync(findProgram('busybox')!).includes('/ld-') && 'the busybox that is installed is not static'
})()

/** A Docker engine of a test's own, with one image. */
export class DockerEngine {
  readonly folder: string
  readonly socketPath: string
  readonly engine: Engine
  #daemon: ChildProcess | undefined

  private constructor(folder: string) {
    this.folder = folder
    this.socketPath = join(folder, 'docker.sock')
    this.engine = new Engine(this.socketPath)
  }

  static async start(): Promise<DockerEngine> {
    const docker = new DockerEngine(await tempFolder())
    try {
      await docker.boot()
      await docker.#import()
      return docker
    } catch (error) {
      const log = await readFile(join(docker.folder, 'log'), 'utf8').catch(() => '')
      await docker[Symbol.asyncDispose]()
      throw new Error(`${(error as Error).message}\n${log.split('\n').slice(-15).join('\n')}`)
    }
  }

  /** Nothing of the machine's own is touched: no firewall, no bridge, no folder but this one. */
  async boot(): Promise<void> {
    const { folder, socketPath } = this
    const log = openSync(join(folder, 'log'), 'a')
    const places = ['--data-root', 'data', '--exec-root', 'exec', '--pidfile', 'pid'].map(word =>
      word.startsWith('--') ? word : join(folder, word),
    )
    const bare = ['--iptables=false', '--ip6tables=false', '--ip-forward=false', '--ip-masq=false', '--bridge=none']
    this.#daemon = spawn('dockerd', ['--host', `unix://${socketPath}`, ...places, ...bare], {
      env: { PATH: `${process.env.PATH}:/usr/sbin:/sbin` },
      stdio: ['ignore', log, log],
    })
    const daemon = this.#daemon
    await until(
      'the engine answers',
      () => {
        if (daemon.exitCode !== null) throw new Error(`dockerd ended with exit code ${daemon.exitCode}`)
        return this.engine.version().catch(() => undefined)
      },
      30_000,
    )
  }

  async halt(): Promise<void> {
    if (!this.#daemon || this.#daemon.exitCode !== null) return
    const ended = once(this.#daemon, 'exit')
    this.#daemon.kill()
    await ended
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const query = { all: true }
    const left = await this.engine.get<{ Id: string }[]>('/containers/json', { query }).catch(() => [])
    for (const { Id } of left)
      await this.engine.send('DELETE', `/containers/${Id}`, { query: { force: true, v: true } })
    await this.halt()
    await rm(this.folder, { recursive: true, force: true })
  }

  /** A shell and the small programs, as every image has them: one binary under many names. */
  async #import(): Promise<void> {
    const root = join(this.folder, 'image')
    const busybox = findProgram('busybox')!
    const script = `mkdir -p "$1/bin" "$1/etc" "$1/root" "$1/tmp" && chmod 1777 "$1/tmp" && cd "$1" && cp "$2" bin/busybox &&
for name in $("$2" --list); do [ -e bin/$name ] || ln -s busybox bin/$name; done
echo 'root:x:0:0:root:/root:/bin/sh' >etc/passwd; exec tar -c .`
    const packing = spawn('sh', ['-c', script, 'sh', root, busybox], { stdio: ['ignore', 'pipe', 'inherit'] })
    const body = await buffer(packing.stdout)
    const [repo, tag] = IMAGE.split(':') as [string, string]
    await this.engine.send('POST', '/images/create', { query: { fromSrc: '-', repo, tag }, body })
  }
}
