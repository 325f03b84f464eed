import assert from 'node:assert/strict'
import { readdir, readFile, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import type { SandboxInfo } from '../../src/api/sandboxes.ts'
import { ownerOf } from '../../src/sandbox/local.ts'
import { ask, Box, infoOf, NO_WALLS } from '../support/hands.ts'
import { Random } from '../support/random.ts'
import { endSandboxes, groups, holders } from '../support/sandboxes.ts'
import { count, TestServer, tempFolder } from '../support/server.ts'
import { until } from '../support/wait.ts'

const CRASHES = count({ sample: 4, deep: 120 })
/** More would only make each round longer. */
const KEPT = 4
/** From before the first request is read until after the last is answered. */
const LOAD_MS = 160

type Wish = 'running' | 'paused' | 'deleted'

/** What was acknowledged of a sandbox, and what may have come of requests that never were. */
interface Known {
  id: string
  /** Of the file in it, and of the process: `pid start-time`. Undefined until that was acknowledged. */
  sum?: string
  process?: string
  possible: Set<Wish>
}

const MARK = `f=/workspace/project/work
head -c 20000 /dev/urandom > $f; sync $f; setsid sleep 100000 >/dev/null 2>&1 & echo $! > /tmp/pid`
const SUM = 'sha256sum < /workspace/project/work'
const PROCESS = 'p=$(cat /tmp/pid); echo "$p $(cut -d" " -f22 /proc/$p/stat 2>/dev/null)"'

/** Ids of which processes, control groups and folders are there. */
async function traces(data: string): Promise<{ processes: string[]; groups: string[]; folders: string[] }> {
  const mark = `GANTRY_HOLD=${ownerOf(data)}/`
  const environs = await Promise.all(
    (await holders(data)).map(pid => readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '')),
  )
  const ids = environs.flatMap(text => text.split('\0').flatMap(line => (line.startsWith(mark) ? [line] : [])))
  const own = (await groups(data)).filter(folder => basename(dirname(folder)) === `gantry-${ownerOf(data)}`)
  const unique = (names: string[]) => [...new Set(names)].sort()
  return {
    processes: unique(ids.map(line => line.slice(mark.length))),
    groups: unique(own.map(folder => basename(folder))),
    folders: unique(await readdir(join(data, 'sandboxes'))),
  }
}

class Story {
  readonly data: string
  readonly random: Random
  readonly known = new Map<string, Known>()
  survived = 0

  constructor(data: string, random: Random) {
    this.data = data
    this.random = random
  }

  /** Calls of all sorts at once, until nobody answers any more. */
  async load(server: TestServer): Promise<void> {
    const there = [...this.known.values()].filter(({ possible }) => !possible.has('deleted'))
    const changes = there.flatMap(known => {
      const draw = this.random.int(6)
      return draw < 2 ? [] : [this.#change(server, known, draw)]
    })
    const created = Array.from({ length: 1 + this.random.int(3) }, () => this.#create(server))
    await Promise.all([...changes, ...created].map(call => call.catch(() => undefined)))
  }

  async #create(server: TestServer): Promise<void> {
    const { body } = await ask(server, 'POST', '/api/v1/sandboxes', { key: server.key })
    const known: Known = { id: body.id, possible: new Set(['running']) }
    this.known.set(known.id, known)
    if (body.status === 'RUNNING') await this.#mark(known, new Box(server, body))
  }

  async #mark(known: Known, box: Box): Promise<void> {
    const [sum, started] = (await box.sh(`${MARK}\n${SUM}\n${PROCESS}`)).split('\n')
    Object.assign(known, { sum, process: started })
  }

  async #change(server: TestServer, known: Known, draw: number): Promise<void> {
    const path = `/api/v1/sandboxes/${known.id}`
    const [wish, method, action] = (
      [
        ['paused', 'POST', `${path}/pause`],
        ['running', 'POST', `${path}/resume`],
        ['paused', 'POST', `${path}/pause`],
        ['deleted', 'DELETE', path],
      ] as const
    )[draw - 2]!
    known.possible.add(wish)
    const { status, text } = await ask(server, method, action, { key: server.key })
    assert.equal(status, 200, text)
    known.possible = new Set([wish])
  }

  /** What a new server makes of it all. */
  async check(server: TestServer): Promise<void> {
    const listed = async () => (await server.client.searchSandboxes()).items
    const settled = await until('all have come to rest', async () => {
      const items = await listed()
      return items.every(({ status }) => status === 'RUNNING' || status === 'PAUSED') ? items : undefined
    }).catch(async () => {
      throw new Error(`never at rest: ${JSON.stringify(await listed())}\n${server.output.slice(-3000)}`)
    })
    for (const known of this.known.values())
      this.#compare(
        known,
        settled.find(({ id }) => id === known.id),
      )
    await this.#noOrphans(settled)
    await Promise.all(settled.map(info => this.#use(server, info)))
    for (const { id } of (await listed()).slice(KEPT)) await this.#delete(server, id)
  }

  #compare(known: Known, info: SandboxInfo | undefined): void {
    const { id, possible } = known
    if (!info) {
      assert.ok(possible.has('deleted'), `${id} is lost`)
      this.known.delete(id)
      return
    }
    const wishes = [...possible].join(' or ')
    assert.ok(possible.has(info.status === 'RUNNING' ? 'running' : 'paused'), `${id}: ${info.status}, not ${wishes}`)
    known.possible = new Set([info.status === 'RUNNING' ? 'running' : 'paused'])
  }

  async #noOrphans(items: SandboxInfo[]): Promise<void> {
    const all = items.map(({ id }) => id).sort()
    const running = items.filter(({ status }) => status === 'RUNNING').map(({ id }) => id)
    const found = await until('nothing is left of what nobody remembers', async () => {
      const found = await traces(this.data)
      const isKnown = (id: string) => all.includes(id)
      return Object.values(found).every(ids => ids.every(isKnown)) ? found : undefined
    }).catch(async () => assert.fail(`orphans: ${JSON.stringify(await traces(this.data))}, known: ${all}`))
    for (const id of running) assert.ok(found.processes.includes(id), `${id} runs without a process`)
    for (const { id } of items) if (this.known.get(id)?.sum) assert.ok(found.folders.includes(id), `${id} has no files`)
  }

  /** Everything that is listed can be used, and has what was put into it. */
  async #use(server: TestServer, { id, status }: SandboxInfo): Promise<void> {
    // Whoever asked for it never heard of it: it is there all the same.
    const known = this.known.get(id) ?? { id, possible: new Set<Wish>() }
    this.known.set(id, known)
    const resumed = await ask(server, 'POST', `/api/v1/sandboxes/${id}/resume`, { key: server.key })
    assert.equal(resumed.status, 200, `${id}, ${status}: ${resumed.text}`)
    known.possible = new Set(['running'])
    const box = new Box(server, (await infoOf(server, id))!)
    if (known.sum) {
      const [sum, started] = (await box.sh(`${SUM}; ${PROCESS}`)).split('\n')
      assert.equal(sum, known.sum, `the work in ${id}`)
      assert.equal(started, known.process, `the process in ${id}, which was ${status}`)
      this.survived += 1
    } else await this.#mark(known, box)
    if (this.random.int(3) > 0) return
    await box.ok('pause')
    known.possible = new Set(['paused'])
  }

  async #delete(server: TestServer, id: string): Promise<void> {
    const { status, text } = await ask(server, 'DELETE', `/api/v1/sandboxes/${id}`, { key: server.key })
    assert.equal(status, 200, `${id}: ${text}`)
    assert.equal(await infoOf(server, id), null)
    this.known.delete(id)
  }
}

describe('sandboxes outlive the server', { skip: NO_WALLS }, () => {
  test(`kill -9 at ${CRASHES} moments of starting, pausing, resuming and deleting: nothing lost, nothing left over`, async t => {
    const random = new Random()
    t.diagnostic(`GANTRY_TEST_SEED=${random.seed}`)
    const data = await tempFolder()
    const story = new Story(data, random)
    try {
      for (let crash = 0; crash < CRASHES; crash++) {
        await using server = await TestServer.start({ data })
        await story.check(server)
        const moment = Date.now() + random.int(LOAD_MS)
        const load = story.load(server)
        await until('the moment has come', () => Date.now() >= moment)
        await server.stop('SIGKILL')
        await load
      }
      await using server = await TestServer.start({ data })
      await story.check(server)
      t.diagnostic(`${story.survived} times a file and a process were still there`)
      assert.ok(story.survived > 0)
    } finally {
      await endSandboxes(data)
      await rm(data, { recursive: true, force: true })
    }
  })

  test('told to stop, the server leaves no process behind, of paused sandboxes neither; files stay', async () => {
    const data = await tempFolder()
    try {
      const work = new Map<string, string>()
      {
        await using server = await TestServer.start({ data })
        for (let i = 0; i < 3; i++) {
          const box = await Box.start(server)
          await box.sh(MARK)
          work.set(box.id, await box.sh(SUM))
          if (i > 0) await box.ok('pause')
        }
        await server.stop('SIGKILL')
      }
      const status = async (server: TestServer) =>
        Promise.all([...work.keys()].map(async id => (await infoOf(server, id))?.status))
      for (let round = 0; round < 2; round++) {
        await using server = await TestServer.start({ data })
        await until('they are as they were', async () => (await status(server)).join() === 'RUNNING,PAUSED,PAUSED')
        assert.equal(await server.stop('SIGTERM'), 0)
        assert.deepEqual(await holders(data), [])
        assert.deepEqual(await groups(data), [])
      }
      await using server = await TestServer.start({ data })
      for (const [id, sum] of work) {
        const resumed = await ask(server, 'POST', `/api/v1/sandboxes/${id}/resume`, { key: server.key })
        assert.equal(resumed.status, 200, resumed.text)
        assert.equal(await new Box(server, (await infoOf(server, id))!).sh(SUM), sum)
      }
      await server.stop('SIGTERM')
    } finally {
      await endSandboxes(data)
      await rm(data, { recursive: true, force: true })
    }
  })
})
