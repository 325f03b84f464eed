import { stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Config } from './config.ts'
import type { Log } from './lib/log.ts'
import { DockerBackend } from './sandbox/docker.ts'
import { EgressProxy } from './sandbox/egress/proxy.ts'
import { Refusals } from './sandbox/egress/refusals.ts'
import { Grants } from './sandbox/grants.ts'
import { Cgroups } from './sandbox/local/cgroup.ts'
import { Outlet } from './sandbox/local/outlet.ts'
import { LocalBackend, ownerOf } from './sandbox/local.ts'
import { ProcessBackend } from './sandbox/process.ts'
import type { Backend, Proof } from './sandbox/sandbox.ts'
import { backendOf, type SandboxSpec } from './sandbox/specs.ts'

/** Picks everything that sandboxes are made with, and begins to try it out. */
export async function openHands(config: Config, log: Log) {
  const privileged = process.getuid?.() === 0
  const owner = ownerOf(config.data)
  const grants = new Grants(config.data, [
    ...config.read_folders.map(path => ({ path: resolve(path), readOnly: true })),
    ...config.workspaces.map(path => ({ path: resolve(path), readOnly: false })),
  ])
  for (const path of [...config.workspaces, ...config.read_folders]) {
    const objection = await grants.objection(resolve(path))
    if (objection) throw new Error(`cannot grant ${path}: ${objection}`)
  }
  const refusals = new Refusals()
  const forbidden: { port: number }[] = []
  const gate = new EgressProxy({
    forbidden,
    onRefused: refusal => {
      refusals.record(refusal)
      // What a person typed may hold what no log should.
      const { command, ...told } = refusal
      log.warn('egress refused', told)
    },
  })
  const user = privileged ? await sandboxUser(config) : { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }
  const onTrouble = (id: string, what: string) => log.warn('sandbox', { sandbox: id, error: what })
  let tellEnd = (_id: string): void => undefined
  const local = await LocalBackend.open({
    folder: join(config.data, 'sandboxes'),
    shared: join(config.data, 'hands'),
    owner,
    user,
    privileged,
    cgroups: Cgroups.find(`gantry-${owner}`),
    gate,
    onEnd: id => tellEnd(id),
    onTrouble,
  })
  const plain = new ProcessBackend(join(config.data, 'processes'))
  const docker = new DockerBackend({
    socketPath: config.docker_socket,
    owner,
    user,
    // Into its network leads only root, or the user whose engine it is.
    outlet: (pid, order) => {
      const enter = ['nsenter', `--target=${pid}`, '--net', '--'] as const
      return new Outlet({ enter, order, gate, mark: `${owner}/${order.id}` })
    },
    onTrouble,
  })

  let isLocal: boolean | undefined
  const backend = (spec: SandboxSpec): Backend => {
    if (isLocal === undefined) throw new Error('Sandboxes were used before they were tried out')
    return { local: isLocal ? local : plain, process: plain, docker }[backendOf(spec)]
  }
  const prove = async (): Promise<Proof> => {
    const { isolated, summary } = await local.prove()
    if (!isolated) log.warn('hands', { summary })
    isLocal = isolated
    return { isolated: config.sandbox_specs.every(spec => backend(spec) !== plain), summary }
  }
  const proved = prove()
  // Whoever waits for it hears of it; nobody does yet.
  proved.catch(() => undefined)
  return {
    specs: config.sandbox_specs as [SandboxSpec, ...SandboxSpec[]],
    grants,
    refusals,
    /** Whether no sandbox of this configuration is without walls. There are no backends before that is known. */
    proved,
    backendOf: backend,
    backends: (): Backend[] => [...new Set(config.sandbox_specs.map(backend))],
    /** Has somebody told of every sandbox that ended by itself. */
    onEnd: (listener: (id: string) => void) => {
      tellEnd = listener
    },
    /** Nothing inside reaches this port of the machine's own addresses. */
    forbid: (port: number) => forbidden.push({ port }),
    close: async () => {
      gate.close()
      await Promise.all([local.close(), plain.close(), docker.close()])
    },
  }
}

/** Commands of a root server run as somebody else: whose folder they work in, or nobody known. */
async function sandboxUser({ sandbox_user, workspaces }: Config): Promise<{ uid: number; gid: number }> {
  const [uid, gid = uid] = (sandbox_user ?? '').split(':').map(Number)
  if (uid) return { uid, gid: gid ?? uid }
  const [first] = workspaces
  return first === undefined ? { uid: 10_001, gid: 10_001 } : stat(first)
}
