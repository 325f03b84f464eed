import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Command, Sandbox } from '../../src/sandbox/sandbox.ts'
import { Random } from '../support/random.ts'
import { Bench, NO_REPOSITORIES } from '../support/repositories.ts'
import { count } from '../support/server.ts'

/** The server ends with its n-th command: when that has ended, with it, or it goes on without anybody who listens. */
const WAYS = ['after', 'with', 'before'] as const

describe('a preparation that is cut short', { skip: NO_REPOSITORIES }, () => {
  let bench: Bench
  before(async () => {
    bench = await Bench.open()
    await bench.host.add('ann/app', 'seq 20000 >file; mkdir a; seq 9 >a/b; git add -A; git commit -qm one')
  })
  after(() => bench[Symbol.asyncDispose]())

  function dying(last: number, way: (typeof WAYS)[number], abort: (why: Error) => void) {
    const { sandbox } = bench
    const killed = new Error('killed')
    const told = { commands: 0 }
    const exec = async ({ signal, ...command }: Command) => {
      const number = ++told.commands
      if (number > last) throw killed
      const started = await sandbox.exec({ ...command, ...(number < last && signal && { signal }) })
      if (number < last) return started
      if (way === 'after' && !command.stdin) await started.exit
      if (way === 'with') await started.signal('SIGKILL')
      for (const stream of [started.stdin, started.stdout, started.stderr]) stream?.destroy()
      abort(killed)
      throw killed
    }
    return { sandbox: { ...sandbox, exec } as Sandbox, told }
  }

  const random = new Random()
  for (const shared of [false, true])
    test(`is repeated to the same end, whichever command it died with${shared ? ', of a shared clone too' : ''}`, async () => {
      const order = (name: string) =>
        bench.order('ann/app', {
          folder: `/workspace/${shared}/${name}/app`,
          shared: shared ? `/workspace/${shared}/${name}/base` : null,
          branch: 'main',
        })
      const whole = dying(1000, 'after', () => undefined)
      await bench.prepare(order('whole'), whole)
      const points = WAYS.flatMap(way => Array.from({ length: whole.told.commands }, (_, i) => ({ way, last: i + 1 })))
      for (const { way, last } of points
        .toSorted(() => random.next() - 0.5)
        .slice(0, count({ sample: 1, deep: points.length }))) {
        const name = `${way}-${last}`
        const one = order(name)
        const server = new AbortController()
        const { sandbox } = dying(last, way, why => server.abort(why))
        await assert.rejects(bench.prepare(one, { sandbox, signal: server.signal }), /killed/, name)
        await bench.prepare(one)
        const seen = await bench.sh(
          `cd ${one.folder}; git status --porcelain; tail -n 1 file; cat a/b | wc -l; git fsck --no-progress 2>/dev/null || echo broken; git symbolic-ref HEAD; git worktree list | wc -l; ls -A ..`,
        )
        const branch = /refs\/heads\/(\S+)/.exec(seen)?.[1]
        // A branch that was made for nobody is one that somebody may need.
        assert.ok(branch === 'main' || (shared && branch === one.workBranch), seen)
        const lines = [
          '20000',
          '9',
          `refs/heads/${branch}`,
          shared ? '2' : '1',
          ...(shared ? ['.gantry-base-lock'] : []),
          'app',
        ]
        assert.deepEqual(seen.split('\n'), [...lines, ...(shared ? ['base'] : [])], name)
      }
    })
})
