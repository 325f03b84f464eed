import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { newId } from '../../src/lib/id.ts'
import { EgressProxy } from '../../src/sandbox/egress/proxy.ts'
import type { Refusal } from '../../src/sandbox/egress/refusals.ts'
import { Cgroups } from '../../src/sandbox/local/cgroup.ts'
import { utilLinux } from '../../src/sandbox/local/util-linux.ts'
import type { Walls } from '../../src/sandbox/local/walls.ts'
import { LocalBackend } from '../../src/sandbox/local.ts'
import { findProgram } from '../support/command.ts'
import { NOBODY, passesForNobody } from '../support/inside.ts'
import { DEEP, tempFolder } from '../support/server.ts'
import { type Arena, sandboxContract } from './sandbox.ts'

const privileged = process.getuid?.() === 0

async function open(walls?: Walls): Promise<Arena> {
  const data = await tempFolder()
  const owner = newId().slice(0, 8)
  const cgroups = Cgroups.find(`gantry-test-${owner}`)
  const refusals: Refusal[] = []
  const gate = new EgressProxy({ forbidden: [], onRefused: refusal => refusals.push(refusal) })
  const options = {
    folder: join(data, 'sandboxes'),
    shared: join(data, 'hands'),
    owner,
    user: privileged ? { uid: NOBODY, gid: NOBODY } : { uid: process.getuid!(), gid: process.getgid!() },
    privileged,
    cgroups,
    gate,
    ...(walls && { walls: [walls] }),
  }
  const backend = await LocalBackend.open(options)
  return {
    backend,
    capabilities: { command: true, limits: cgroups !== undefined, isolated: true },
    refusals,
    reopen: () => LocalBackend.open(options),
    [Symbol.asyncDispose]: async () => {
      gate.close()
      await backend.close()
      await rm(data, { recursive: true, force: true })
    },
  }
}

const missing = ['bwrap', 'nsenter', 'setsid', 'script'].find(program => findProgram(program) === undefined)

sandboxContract('LocalBackend', () => open(), missing !== undefined && `the program \`${missing}\` is not installed`, {
  oneIn: privileged ? 2 : 5,
})
// A start takes it a hundred processes: half a minute for the suite, and half of what it shows is shown above.
sandboxContract('LocalBackend by util-linux', () => open(utilLinux), !DEEP && 'takes long: npm run test:deep')

test(
  'an ordinary user has the same walls',
  {
    skip: !privileged && 'not root: this whole file is that test',
  },
  () => passesForNobody(import.meta.filename),
)
