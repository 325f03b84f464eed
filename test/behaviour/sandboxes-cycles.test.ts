import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Box, NO_WALLS, withSpecs } from '../support/hands.ts'
import { Random } from '../support/random.ts'
import { count, TestServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

const CYCLES = count({ sample: 3, deep: 50 })
/** Sums of all files, and of what they are: kind, mode, owner, length, link. */
const TREE = `cd /workspace/project && { find . -type f -print0 | sort -z | xargs -0r sha256sum; find . -printf '%y %m %U %s %l %p\\n' | sort; } | sha256sum`
/** Counts in memory alone, and says on its terminal-less output how far it came when it is asked to. */
const COUNTER = `n=0; trap 'echo $n > /tmp/count' USR1; while :; do n=$((n+1)); sleep 0.01; done`

describe('pausing and resuming, again and again', { skip: NO_WALLS }, () => {
  test('files are the same every time, and processes go on from where they were', async t => {
    const random = new Random()
    t.diagnostic(`GANTRY_TEST_SEED=${random.seed}`)
    const config = await withSpecs([{ id: 'any' }])
    await using server = await TestServer.start(config)
    await config.remove()
    const box = await Box.start(server)
    await box.sh(`setsid sh -c "${COUNTER.replaceAll('$', '\\$')}" >/dev/null 2>&1 & echo $! > /tmp/counter`)
    const pid = await box.sh('pgrep -f "while :; do n=" | head -1')
    const counted = async () => {
      await box.sh(`rm -f /tmp/count; kill -USR1 ${pid}`)
      return Number(await until('the counter has answered', () => box.sh('cat /tmp/count 2>/dev/null || true')))
    }
    let last = 0
    for (let cycle = 0; cycle < CYCLES; cycle++) {
      const size = 1 + random.int(200_000)
      await box.sh(
        `mkdir -p d${cycle % 7} && head -c ${size} /dev/urandom > d${cycle % 7}/f${cycle} && chmod ${random.pick(['600', '755', '444'])} d${cycle % 7}/f${cycle} && ln -sfn f${cycle} d${cycle % 7}/link`,
      )
      const before = await box.sh(TREE)
      await box.ok('pause')
      assert.equal(await box.status(), 'PAUSED')
      await box.ok('resume')
      assert.equal(await box.status(), 'RUNNING')
      assert.equal(await box.sh(TREE), before, `after pause ${cycle + 1}`)
      const now = await counted()
      assert.ok(now >= last, `it counted on: ${last}, then ${now}`)
      last = now
    }
    assert.ok(last > 0)
  })

  test('a pause in the middle of a write tears nothing: the write ends after it, whole', async t => {
    const random = new Random()
    t.diagnostic(`GANTRY_TEST_SEED=${random.seed}`)
    await using server = await TestServer.start()
    const box = await Box.start(server)
    const LINES = 3000
    for (let cycle = 0; cycle < CYCLES; cycle++) {
      const writing = box.client.executeBashCommand({
        body: {
          command: `i=0; while [ $i -lt ${LINES} ]; do i=$((i+1)); echo "line $i"; done > lines${cycle} && sha256sum < lines${cycle}`,
        },
      })
      await until('the write has begun', async () => (await box.sh(`cat lines${cycle} 2>/dev/null | wc -l`)) !== '0')
      for (let pauses = 0; pauses <= random.int(3); pauses++) {
        await box.ok('pause')
        await box.ok('resume')
      }
      const { exit_code, stdout } = await writing
      assert.equal(exit_code, 0)
      assert.equal(await box.sh(`seq -f 'line %.0f' ${LINES} | sha256sum`), stdout!.trim())
      assert.equal(await box.sh(`wc -l < lines${cycle}`), `${LINES}`)
    }
  })

  test('paused, nothing in it runs; calls into it are refused, and do not wake it', async () => {
    await using server = await TestServer.start()
    const box = await Box.start(server)
    await box.sh('setsid sh -c "while :; do date +%s%3N >> /tmp/ticks; sleep 0.005; done" >/dev/null 2>&1 &')
    const ticks = async () => (await box.sh('cat /tmp/ticks 2>/dev/null || true')).split('\n').map(Number)
    await until('it ticks', async () => (await ticks()).length > 1)
    await box.ok('pause')
    const from = Date.now()
    await assert.rejects(box.sh('true'), { status: 409 })
    assert.equal(await box.status(), 'PAUSED')
    const to = await until('a tenth of a second has passed', () => (Date.now() > from + 100 ? Date.now() : 0))
    await box.ok('resume')
    const all = await until('it ticks again', async () => {
      const all = await ticks()
      return all.at(-1)! > to ? all : undefined
    })
    assert.deepEqual(
      all.filter(tick => tick > from && tick < to),
      [],
      'it ticked while it was paused',
    )
  })
})
