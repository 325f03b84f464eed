import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { DockerBackend } from '../src/sandbox/docker.ts'
import { Cgroups } from '../src/sandbox/local/cgroup.ts'
import { LocalBackend } from '../src/sandbox/local.ts'
import type { Backend, Order } from '../src/sandbox/sandbox.ts'
import { DockerEngine, IMAGE, NO_DOCKER } from '../test/support/docker.ts'
import { tempFolder } from '../test/support/server.ts'
import { quantile } from './load.ts'

type Report = (what: string, figure: string, goal?: string, met?: boolean) => void

const ROUNDS = 30
const MANY = 100
const ms = (n: number) => `${n.toFixed(2)} ms`

const order = (id: string): Order => ({
  id,
  workingDir: '/workspace',
  env: {},
  limits: { memoryBytes: 2 ** 30, processes: 200, cpus: 2, diskBytes: 2 ** 30 },
  egress: { mode: 'none' },
  grants: [],
})

/** The median of a few rounds, after one that does not count. */
async function median(work: (round: number) => Promise<number>, rounds = ROUNDS): Promise<number> {
  const times: number[] = []
  for (let round = 0; round <= rounds; round++) times.push(await work(round))
  return quantile(
    times.slice(1).sort((a, b) => a - b),
    0.5,
  )
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

const bareProcess = () => timed(() => once(spawn('/bin/true', { stdio: 'ignore' }), 'exit'))

/** Namespaces and the system read-only, nothing else: until something inside has spoken. */
async function bareBubblewrap(): Promise<number> {
  const view = ['--unshare-all', '--ro-bind', '/', '/', '--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp']
  const began = performance.now()
  const child = spawn('bwrap', [...view, 'sh', '-c', 'echo up; exec sleep 60'], { stdio: ['ignore', 'pipe', 'ignore'] })
  await once(child.stdout, 'data')
  const time = performance.now() - began
  child.kill('SIGKILL')
  await once(child, 'exit')
  return time
}

async function memoryOf(mark: string): Promise<number> {
  let kilobytes = 0
  for (const pid of (await readdir('/proc')).filter(entry => /^\d+$/.test(entry))) {
    const environ = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '')
    if (!environ.includes(mark)) continue
    const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'latin1').catch(() => '')
    kilobytes += Number(/^Pss:\s+(\d+)/m.exec(rollup)?.[1] ?? 0)
  }
  return kilobytes / 1024
}

/** Each step of a life, on any backend. */
async function life(backend: Backend, make: (id: string) => Order, rounds = ROUNDS) {
  const start = await median(round => timed(() => backend.start(make(`bench${round}`))), rounds)
  const id = 'bench1'
  const exec = await median(() =>
    timed(async () => {
      const started = await backend.sandbox(id).exec({ argv: ['/bin/true'] })
      await started.exit
    }),
  )
  const pause: number[] = []
  const resume = await median(async () => {
    pause.push(await timed(() => backend.pause(id)))
    return timed(() => backend.resume(id))
  })
  const remove = await median(round => timed(() => backend.remove(`bench${round}`)), rounds)
  const paused = quantile(
    pause.slice(1).sort((a, b) => a - b),
    0.5,
  )
  return { start, exec, pause: paused, resume, delete: remove }
}

export async function sandboxes(report: Report): Promise<void> {
  await localSandboxes(report)
  await dockerSandboxes(report)
}

/** Containers, beside the command line that people would use: a fifth of the rounds, each takes a hundred times as long. */
async function dockerSandboxes(report: Report): Promise<void> {
  if (NO_DOCKER) {
    report('docker sandboxes', `skipped: ${NO_DOCKER}`)
    return
  }
  await using engine = await DockerEngine.start()
  const backend = new DockerBackend({ socketPath: engine.socketPath, owner: 'bench' })
  const words = ['-H', `unix://${engine.socketPath}`, 'run', '--rm', '--network', 'none', IMAGE, 'true']
  const bare = await median(() => timed(() => once(spawn('docker', words, { stdio: 'ignore' }), 'exit')), 6)
  const docker = await life(backend, id => ({ ...order(id), image: IMAGE }), 6)
  report('bare `docker run`, p50', ms(bare))
  for (const [step, time] of Object.entries(docker)) report(`docker ${step}, p50`, ms(time))
  await backend.close()
}

async function localSandboxes(report: Report): Promise<void> {
  const data = await tempFolder()
  const privileged = process.getuid?.() === 0
  const owner = `bench-${process.pid}`
  const backend = await LocalBackend.open({
    folder: join(data, 'sandboxes'),
    shared: join(data, 'hands'),
    owner,
    user: privileged ? { uid: 10_001, gid: 10_001 } : { uid: process.getuid!(), gid: process.getgid!() },
    privileged,
    cgroups: Cgroups.find(`gantry-${owner}`),
  })
  try {
    const proof = await backend.prove()
    if (!proof.isolated) {
      report('local sandboxes', `skipped: ${proof.summary}`)
      return
    }
    const plain = await median(bareProcess)
    const bare = await median(bareBubblewrap).catch(() => Number.NaN)
    const local = await life(backend, order)
    report('a bare process, p50', ms(plain))
    report('bare bubblewrap, p50', ms(bare))
    report('local start, p50', ms(local.start), '≤ bare bubblewrap + 15 ms', local.start <= bare + 15)
    report('local exec, p50', ms(local.exec), '≤ bare process + 5 ms', local.exec <= plain + 5)
    report('local pause, p50', ms(local.pause))
    report('local resume, p50', ms(local.resume))
    report('local delete, p50', ms(local.delete))
    const ids = Array.from({ length: MANY }, (_, index) => `many${index}`)
    const all = await timed(() => Promise.all(ids.map(id => backend.start(order(id)))))
    report(`${MANY} local sandboxes at once`, `${ms(all)}, all running`, 'all running', true)
    report('idle memory of a local sandbox', `${((await memoryOf(`GANTRY_HOLD=${owner}/`)) / MANY).toFixed(2)} MB`)
    await Promise.all(ids.map(id => backend.remove(id)))
  } finally {
    for (const id of await backend.list()) await backend.remove(id)
    await backend.close()
    await rm(data, { recursive: true, force: true })
  }
}
