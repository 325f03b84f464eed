import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join, normalize } from 'node:path'
import { describe, test } from 'node:test'
import { ClientError, createClient, type Followed, follow } from 'gantry/client'
import { AgentRig } from '../support/agent.ts'
import { NO_BROWSER, startBrowser, watchedPage } from '../support/browser.ts'
import { finish, say } from '../support/model-server.ts'
import { Random } from '../support/random.ts'
import { aMessage, anOrder, count, DEEP, TestServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

const root = join(import.meta.dirname, '../..')

describe('our own client, as it is built', () => {
  test('a call is typed by its route, and a refusal says what and why', async () => {
    await using server = await TestServer.start()
    const client = createClient({ baseUrl: server.url, key: server.key })
    const { id } = await client.startConversation({ body: anOrder() })
    assert.equal((await client.getConversation({ params: { conversation_id: id } })).id, id)
    const zip = (await client.downloadTrajectory({ params: { conversation_id: id } })) as Response
    assert.ok((await zip.arrayBuffer()).byteLength > 0)
    await assert.rejects(client.getConversation({ params: { conversation_id: 'x' } }), (error: unknown) => {
      return error instanceof ClientError && error.status === 422
    })
    const aborted = client.getConversation({ params: { conversation_id: id }, signal: AbortSignal.abort() })
    await assert.rejects(aborted, { name: 'AbortError' })
  })

  test(`a stream gives every event once, in order, across ${count({ sample: 2, deep: 20 })} deaths of the server`, async t => {
    const random = new Random()
    t.diagnostic(`seed ${random.seed}`)
    const port = 20_000 + random.int(20_000)
    await using rig = await AgentRig.start(() => say('Heard.'), { args: ['--port', String(port)] })
    const talk = await rig.begin({})
    const heard: Followed[] = []
    const ended = new AbortController()
    const where = { baseUrl: rig.server.url, key: rig.server.key, conversation: talk.id }
    const following = (async () => {
      for await (const one of follow({ ...where, signal: ended.signal })) heard.push(one)
    })()
    const deaths = count({ sample: 2, deep: 20 })
    for (let death = 0; death < deaths; death++) {
      for (let i = random.int(4); i >= 0; i--)
        await rig.call('POST', `/api/conversations/${talk.id}/events`, aMessage(`${death}.${i}`))
      await rig.restart(random.pick(['SIGKILL', 'SIGTERM']))
    }
    await rig.call('POST', `/api/conversations/${talk.id}/events`, aMessage('the last'))
    const { items } = await rig.server.client.searchEvents({ params: { conversation_id: talk.id } })
    const kept = () => heard.filter(({ passing }) => !passing).map(({ event }) => event.id)
    await until('all are heard', () => kept().length >= items.length)
    assert.deepEqual(
      kept(),
      items.map(({ id }) => id),
    )
    ended.abort()
    await following
  })

  test('a stream resumes after an event, ends with its conversation, and throws where it is refused', async () => {
    await using rig = await AgentRig.start([finish('Done.')])
    const talk = await rig.begin({ say: 'go' })
    await talk.comesTo('finished')
    const where = { baseUrl: rig.server.url, key: rig.server.key, conversation: talk.id }
    const { items } = await rig.server.client.searchEvents({ params: { conversation_id: talk.id } })
    const heard: string[] = []
    for await (const { event, passing } of follow({ ...where, after: items[1]!.id })) {
      if (!passing) heard.push(event.id)
      if (heard.length === items.length - 2) await rig.call('DELETE', `/api/conversations/${talk.id}`)
    }
    assert.deepEqual(
      heard,
      items.slice(2).map(({ id }) => id),
    )
    const refused = async (options: object) => {
      for await (const _ of follow({ ...where, ...options })) assert.fail('nothing can come')
    }
    await assert.rejects(refused({}), (error: unknown) => error instanceof ClientError && error.status === 404)
    await assert.rejects(
      refused({ key: 'wrong' }),
      (error: unknown) => error instanceof ClientError && error.status === 401,
    )
  })

  test('the example for Node orders, follows, says yes and ends', async () => {
    await using server = await TestServer.start()
    const { status, stdout, stderr } = spawnSync(process.execPath, ['examples/node.mjs', server.url, server.key], {
      cwd: root,
      encoding: 'utf8',
      timeout: 60_000,
    })
    assert.equal(status, 0, stderr)
    assert.match(stdout, /^action terminal/m)
    assert.match(stdout, /done\n$/)
  })

  test('the example for browsers works from a page of another origin', { skip: NO_BROWSER }, async t => {
    await using server = await TestServer.start()
    const pages = createServer(async (request, response) => {
      const path = join(root, normalize(new URL(request.url!, 'http://x').pathname))
      const type = extname(path) === '.js' ? 'text/javascript' : 'text/html'
      const content = await readFile(path).catch(() => undefined)
      response.writeHead(content ? 200 : 204, { 'Content-Type': type }).end(content)
    }).listen(0, '127.0.0.1')
    await once(pages, 'listening')
    t.after(() => pages.close())
    await using browser = await startBrowser()
    const { page, complaints } = await watchedPage(await browser.newContext())
    const { port } = pages.address() as AddressInfo
    await page.goto(`http://127.0.0.1:${port}/examples/browser.html?url=${server.url}#${server.key}`)
    await page.getByText('execution_status finished').waitFor()
    assert.deepEqual(complaints, [])
  })
})

/** As somebody would compile who has nothing of ours but the package. */
const PLAIN = ['--ignoreConfig', '--noEmit', '--strict', '--target', 'esnext', '--module', 'nodenext', '--skipLibCheck']

// The compiler takes its time; the types themselves are checked with everything else.
test('the types that are published are those of the routes', { skip: !DEEP && 'in the deep tier' }, () => {
  const tsc = (...args: string[]) => spawnSync('npx', ['tsc', ...args], { cwd: root, encoding: 'utf8' })
  const made = tsc('-p', 'client')
  assert.equal(made.status, 0, made.stdout)
  const wrong = tsc(...PLAIN, 'test/live/own-client-types.ts')
  assert.equal(wrong.status, 0, wrong.stdout)
})
