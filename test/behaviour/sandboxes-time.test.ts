import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Box, infoOf, inState, NO_WALLS, withSpecs } from '../support/hands.ts'
import { TestServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

const SPECS = [
  { id: 'lasting' },
  { id: 'idle', idle_seconds: 1 },
  { id: 'passing', delete_after_seconds: 1 },
  { id: 'small', disk_mb: 16 },
]
/** Sandboxes are looked at every ten seconds. */
const A_LOOK_MS = 25_000

let server: TestServer
let config: Awaited<ReturnType<typeof withSpecs>>
let boxes: Record<'lasting' | 'busy' | 'idle' | 'passing' | 'small', Box>
before(async () => {
  if (NO_WALLS) return
  config = await withSpecs(SPECS)
  server = await TestServer.start(config)
  const start = (spec: string) => Box.start(server, spec)
  // The busy one is looked at before the idle one.
  boxes = {
    lasting: await start('lasting'),
    busy: await start('idle'),
    idle: await start('idle'),
    passing: await start('passing'),
    small: await start('small'),
  }
  await boxes.busy.client.startBashCommand({ body: { command: 'sleep 100', timeout: 100 } })
  await boxes.idle.sh('setsid sleep 1000 >/dev/null 2>&1 & echo $! > /tmp/pid; echo work > work')
  await boxes.small.sh('setsid sleep 1234 >/dev/null 2>&1 & head -c 24000000 /dev/zero > big')
  await inState(server, boxes.idle.id, 'PAUSED', A_LOOK_MS)
})
after(async () => {
  await server?.[Symbol.asyncDispose]()
  await config?.remove()
})

describe('as time goes by', { skip: NO_WALLS }, () => {
  test('an idle sandbox is paused; one in which a command runs is not, nor one whose spec does not say so', async () => {
    assert.equal(await boxes.busy.status(), 'RUNNING')
    assert.equal(await boxes.lasting.status(), 'RUNNING')
  })

  test('whoever uses an idle one wakes it, and finds its processes and files', async () => {
    assert.equal(await boxes.idle.sh('kill -0 "$(cat /tmp/pid)" && cat work'), 'work')
    assert.equal(await boxes.idle.status(), 'RUNNING')
  })

  test('a person’s own pause is not ended by use', async () => {
    await boxes.idle.ok('pause')
    await assert.rejects(boxes.idle.sh('true'), { status: 409 })
    assert.equal(await boxes.idle.status(), 'PAUSED')
    await boxes.idle.ok('resume')
  })

  test('one that is to be deleted after some time is gone', async () => {
    await until('it is gone', async () => (await infoOf(server, boxes.passing.id)) === null, A_LOOK_MS)
    assert.equal((await boxes.passing.call('resume')).status, 404)
  })

  test('one that outgrew its disk is emptied of processes, keeps its files, and says why', async () => {
    const info = await until(
      'it says why',
      async () => {
        const info = await infoOf(server, boxes.small.id)
        return info?.status_detail ? info : undefined
      },
      A_LOOK_MS,
    )
    assert.match(info.status_detail!, /more disk than its spec allows/)
    assert.equal(info.status, 'RUNNING')
    assert.equal(await boxes.small.sh('pgrep -cfx "sleep 1234" || true; wc -c < big'), '0\n24000000')
    const { usage } = await server.client.reportSandbox({ params: { sandbox_id: boxes.small.id } })
    assert.ok(usage!.disk_bytes > 24_000_000)
  })
})
