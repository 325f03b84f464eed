import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { newId } from '../../src/lib/id.ts'
import { EgressProxy } from '../../src/sandbox/egress/proxy.ts'
import type { Refusal } from '../../src/sandbox/egress/refusals.ts'
import { Cgroups } from '../../src/sandbox/local/cgroup.ts'
import { utilLinux } from '../../src/sandbox/local/util-linux.ts'
import type { Walls } from '../../src/sandbox/local/walls.ts'
import { LocalBackend } from '../../src/sandbox/local.ts'
import { findProgram } from '../support/command.ts'
import { Inside, KINDS, NOBODY, passesForNobody } from '../support/inside.ts'
import { DEEP, tempFolder } from '../support/server.ts'
import { type Arena, sandboxContract } from './sandbox.ts'

/** Long enough to be sure that nothing happens: nothing can be waited for there. */
const NOTHING_MS = 300

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

for (const { walls, skip } of KINDS) {
  test(`a command on its way in when its sandbox is paused arrives after that (${walls.name})`, { skip }, async () => {
    await using inside = await Inside.open({ walls })
    await inside.start('box')
    const filter = join(inside.data, 'hands/filter')
    const program = await readFile(filter)
    await rm(filter)
    // Whoever is on the way in opens it, and waits there until somebody writes to it.
    execFileSync('mkfifo', [filter])
    const process = await inside.backend.sandbox('box').exec({ argv: ['echo', 'arrived'] })
    const said = text(process.stdout)
    await inside.backend.pause('box')
    const written = writeFile(filter, program)
    const quiet = new Promise(resolve => setTimeout(resolve, NOTHING_MS, 'still on its way'))
    assert.equal(await Promise.race([said, quiet]), 'still on its way')
    await inside.backend.resume('box')
    assert.deepEqual([await process.exit, await said], [{ code: 0, reason: 'exited' }, 'arrived\n'])
    // Without a filter it is opened all the same, and closed unread.
    await written.catch(({ code }) => assert.equal(code, 'EPIPE'))
  })

  test(`a command that is killed is seen to end (${walls.name})`, { skip }, async () => {
    await using inside = await Inside.open({ walls })
    await inside.start('box')
    for (const when of ['on its way in', 'while it runs', 'in a pause']) {
      const process = await inside.backend.sandbox('box').exec({ argv: ['sh', '-c', 'echo runs; sleep 5'] })
      if (when !== 'on its way in') await once(process.stdout, 'data')
      if (when === 'in a pause') await inside.backend.pause('box')
      await process.signal('SIGKILL')
      assert.deepEqual(await process.exit, { code: 137, reason: 'exited' }, when)
    }
  })
}

test(
  'an ordinary user has the same walls',
  {
    skip: !privileged && 'not root: this whole file is that test',
  },
  () => passesForNobody(import.meta.filename),
)
