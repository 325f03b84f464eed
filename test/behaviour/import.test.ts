import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { type ClientRequest, request } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { deflateRawSync } from 'node:zlib'
import { ClientError } from '../../src/api/client.ts'
import type { Event } from '../../src/api/events.ts'
import { hexUuid, newId } from '../../src/lib/id.ts'
import { unzip } from '../../src/lib/unzip.ts'
import { zip } from '../../src/lib/zip.ts'
import { AgentRig, held, sh, Talk } from '../support/agent.ts'
import { peakMemory } from '../support/bash.ts'
import { Box, NO_WALLS } from '../support/hands.ts'
import { say } from '../support/model-server.ts'
import { Random } from '../support/random.ts'
import { count, TestServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

/** Where conversations come from, and where they are taken in. */
let rig: AgentRig
let other: TestServer
before(async () => {
  ;[rig, other] = await Promise.all([AgentRig.start(), TestServer.start()])
})
after(() => Promise.all([rig[Symbol.asyncDispose](), other[Symbol.asyncDispose]()]))

const MIB = 1024 * 1024

type Files = Record<string, unknown>
type Bytes = Buffer<ArrayBuffer>

async function packed(files: Files): Promise<Bytes> {
  const entries = async function* () {
    for (const [name, content] of Object.entries(files))
      yield {
        name,
        content: typeof content === 'string' || Buffer.isBuffer(content) ? content : JSON.stringify(content),
        modified: new Date(),
      }
  }
  return Buffer.concat(await Array.fromAsync(zip(entries())))
}

/** The same files, packed by somebody else's program. */
function rewritten(archive: Bytes): Bytes {
  const script = `import io,sys,zipfile
z=zipfile.ZipFile(io.BytesIO(sys.stdin.buffer.read()))
out=zipfile.ZipFile(sys.stdout.buffer,'w',zipfile.ZIP_DEFLATED)
for name in reversed(z.namelist()): out.writestr(name,z.read(name))
out.close()`
  const { stdout, stderr } = spawnSync('python3', ['-c', script], { input: archive })
  assert.equal(String(stderr), '')
  return Buffer.from(stdout)
}

async function unpacked(archive: Buffer): Promise<Record<string, string>> {
  const files = unzip(archive, { files: 1000, bytes: 1e8 })
  return Object.fromEntries(await Promise.all(files.map(async file => [file.name, String(await file.read())])))
}

const exported = async ({ client }: Pick<TestServer, 'client'>, conversation_id: string): Promise<Bytes> =>
  Buffer.from(await (await client.downloadTrajectory({ params: { conversation_id } })).arrayBuffer())

const eventsIn = (files: Record<string, string>): [name: string, event: Event][] =>
  Object.entries(files).flatMap(([name, text]) => (/event[-_]\d/.test(name) ? [[name, JSON.parse(text)]] : []))

const take = (archive: Bytes, server: Pick<TestServer, 'client'> = other) =>
  server.client.importConversation({ body: archive })

/** What an import that must be refused is refused with. */
async function refusal(archive: Bytes): Promise<string> {
  const before = await other.client.countConversations()
  const error = await take(archive).then(
    info => assert.fail(`taken as ${info.id}`),
    error => error as ClientError,
  )
  assert.ok(error instanceof ClientError && error.status === 422, String(error))
  assert.equal(await other.client.countConversations(), before)
  return (error.body as { detail: string }).detail
}

/** A conversation as another server keeps it. */
const at = (second: number) => `2026-03-01T10:00:${String(second).padStart(2, '0')}.000000`
const message = (id: string, second: number, text: string, more: object = {}) => ({
  kind: 'MessageEvent',
  id,
  timestamp: at(second),
  source: 'user',
  llm_message: { role: 'user', content: [{ type: 'text', text, cache_prompt: false }], thinking_blocks: [] },
  activated_skills: [],
  extended_content: [],
  ...more,
})
const update = (id: string, second: number, key: string, value: unknown) => ({
  kind: 'ConversationStateUpdateEvent',
  id,
  timestamp: at(second),
  source: 'environment',
  key,
  value,
})
const about = (more: object = {}) => ({
  id: newId(),
  agent: { kind: 'Agent', llm: { model: 'demo/guide' } },
  workspace: { kind: 'LocalWorkspace', working_dir: 'project' },
  ...more,
})
const log = (...events: object[]): Files =>
  Object.fromEntries(
    events.map((event, i) => [
      `c/events/event-${String(i).padStart(5, '0')}-${(event as { id: string }).id}.json`,
      event,
    ]),
  )

describe('taking in a conversation', () => {
  test('what was exported, imported and exported again has the same events, under the same id', async () => {
    const talk = await rig.begin({
      say: 'look around',
      script: [sh('echo one', 'echo two'), say('that is all')],
      tags: { kind: 'first' },
    })
    await talk.comesTo('finished')
    await talk.say('again', false)
    await rig.server.client.updateConversation({ params: { conversation_id: talk.id }, body: { title: 'A title' } })
    const archive = await exported(rig.server, talk.id)
    const info = await take(archive)
    const was = await talk.info()
    assert.deepEqual(
      [info.id, info.title, info.tags, info.execution_status, info.workspace, info.last_user_message_id],
      [talk.id, 'A title', { kind: 'first' }, 'idle', was.workspace, was.last_user_message_id],
    )
    assert.deepEqual([info.agent.llm.model, info.agent.llm.api_key], [was.agent.llm.model, null])
    assert.equal(info.leaf_event_id, was.leaf_event_id)
    const [first, second] = [await unpacked(archive), await unpacked(await exported(other, talk.id))]
    assert.ok(eventsIn(first).length > 10)
    assert.deepEqual(eventsIn(second), eventsIn(first))
    assert.deepEqual(
      info.stats.usage_to_metrics.agent?.accumulated_cost,
      was.stats.usage_to_metrics.agent.accumulated_cost,
    )
  })

  test('an archive in either layout, and one that another program wrote, come to the same', async () => {
    const talk = await rig.begin({ say: 'hello', script: [say('hello')] })
    await talk.comesTo('finished')
    const params = { conversation_id: talk.id }
    const flat = await rig.server.client.downloadAppConversation({ params })
    const archives = [await exported(rig.server, talk.id), Buffer.from(await flat.arrayBuffer())]
    const events = await talk.events()
    for (const archive of [...archives, rewritten(archives[0]!)]) {
      const { id } = await take(archive)
      const { items } = await other.client.searchEvents({ params: { conversation_id: id } })
      assert.deepEqual(items, events)
    }
  })

  test('an id that is taken is left to whom it belongs, and the answer says which one it became', async () => {
    const files = { 'meta.json': about({ title: 'first' }), ...log() }
    const first = await take(await packed(files))
    const second = await take(await packed({ ...files, 'meta.json': { ...files['meta.json'], title: 'second' } }))
    assert.notEqual(second.id, first.id)
    const titles = await other.client.batchConversations({ query: { ids: [first.id, second.id] } })
    assert.deepEqual(
      titles.map(info => info?.title),
      ['first', 'second'],
    )
  })

  test('the files of an app server, side by side, are taken as well, and need not say more than the model', async () => {
    const files = {
      'meta.json': { id: hexUuid(newId()), title: 'flat', llm_model: 'demo/guide', execution_status: null },
      'event_000001_b2.json': message('b2', 2, 'second'),
      'event_000000_a1.json': message('a1', 1, 'first'),
    }
    const info = await take(await packed(files))
    assert.deepEqual([info.title, info.agent.llm.model], ['flat', 'demo/guide'])
    const { items } = await other.client.searchEvents({ params: { conversation_id: info.id } })
    assert.deepEqual(
      items.map(({ id }) => id),
      ['a1', 'b2'],
    )
  })

  test('what the reference server keeps is taken, without its secrets and without what would run by itself', async () => {
    const id = newId()
    const name = rig.nextModel
    const token = `gAAAAA${'x'.repeat(100)}`
    const state = about({
      id,
      agent: {
        kind: 'Agent',
        llm: { model: name, api_key: token, base_url: 'http://127.0.0.1:9', extra_headers: { 'X-Key': '**********' } },
        tools: [
          { name: 'terminal', params: {} },
          { name: 'browser_tool_set', params: {} },
        ],
        include_default_tools: ['FinishTool', 'NoSuchTool'],
        mcp_config: { evil: { command: 'touch', args: ['/tmp/mcp-ran'] } },
        critic: { kind: 'PassCritic' },
      },
      hook_config: { session_start: [{ matcher: '*', hooks: [{ type: 'command', command: 'touch /tmp/hook-ran' }] }] },
      secret_registry: { secret_sources: { TOKEN: { kind: 'StaticSecret', value: token } } },
      execution_status: 'running',
      confirmation_policy: { kind: 'AlwaysConfirm' },
      leaf_event_id: null,
    })
    const files = {
      'c/base_state.json': state,
      'c/meta.json': {
        id,
        title: 'From elsewhere',
        workspace: { working_dir: 'elsewhere' },
        secrets: { TOKEN: token },
      },
      'c/events/.eventlog.lock': '',
      'c/owner_lease.json': '{not json',
      'c/observations/1.txt': 'long output',
      'c/subagents/abc/base_state.json': about(),
      'c/subagents/abc/events/event-00000-s.json': message('s', 1, 'of a sub-agent'),
      ...log(
        message('m1', 1, 'remember the word heron'),
        {
          ...message('m2', 2, 'I will remember it'),
          source: 'agent',
          llm_message: { role: 'assistant', content: [], thinking_blocks: [] },
        },
        update('u1', 2, 'execution_status', 'running'),
        // Stamped before it was put in order.
        { ...message('m3', 3, 'and the word ibis'), timestamp: '2026-03-01T10:00:01.900000' },
        update('u2', 3, 'stats', {
          usage_to_metrics: { agent: { model_name: 'm', accumulated_cost: 0.5 } },
        }),
      ),
    }
    const info = await take(await packed(files), rig.server)
    assert.equal(info.id, id)
    assert.deepEqual(
      [info.title, info.workspace.working_dir, info.execution_status, info.confirmation_policy.kind],
      ['From elsewhere', 'project', 'idle', 'AlwaysConfirm'],
    )
    const { agent } = info
    assert.deepEqual(
      [
        agent.tools.map(({ name }) => name),
        agent.include_default_tools,
        agent.mcp_config,
        agent.critic,
        info.hook_config,
      ],
      [['terminal'], ['FinishTool'], {}, null, null],
    )
    assert.deepEqual([agent.llm.api_key, agent.llm.extra_headers, info.secret_registry.secret_sources], [null, {}, {}])
    assert.equal(info.stats.usage_to_metrics.agent?.accumulated_cost, 0.5)
    const talk = new Talk(rig, id)
    const events = await talk.checkedEvents()
    const times = events.map(({ timestamp }) => timestamp)
    assert.deepEqual([...new Set(times)].sort(), times, 'times increase along the log')
    assert.ok(!JSON.stringify(await talk.info()).includes(token))

    // It goes on once it has a model to think with.
    const asked: string[] = []
    const helper = await rig.begin({
      script: ({ messages }) => {
        asked.push(JSON.stringify(messages))
        return say('heron and ibis')
      },
    })
    assert.equal((await helper.info()).agent.llm.model, name)
    await talk.post('switch_llm', { llm: rig.model.llm({ model: name }) })
    assert.equal(await talk.say('which words?'), 200)
    await talk.comesTo('finished')
    assert.match(asked[0]!, /heron.*ibis.*which words/)
    assert.ok(!asked[0]!.includes('of a sub-agent'))
    assert.equal(await talk.shell('ls /tmp/mcp-ran /tmp/hook-ran 2>/dev/null; true'), '')
  })

  test('a conversation of a sandbox is one of that sandbox', { skip: NO_WALLS }, async () => {
    const [a, b] = await Promise.all([Box.start(other), Box.start(other)])
    const info = await take(await packed({ 'meta.json': about() }), a)
    assert.deepEqual(await b.client.batchConversations({ query: { ids: [info.id] } }), [null])
    assert.equal((await a.client.getConversation({ params: { conversation_id: info.id } })).id, info.id)
  })
})

describe('P3: nothing that was imported is approved, or run', () => {
  test('an action that waited for a yes gets a result, and no later yes runs it', async () => {
    const name = rig.nextModel
    const talk = await rig.begin({
      say: 'make a mark',
      script: [sh('touch /tmp/mark-of-a-copy'), say('I leave it')],
      confirmation_policy: { kind: 'AlwaysConfirm' },
    })
    await talk.comesTo('waiting_for_confirmation')
    const info = await take(await exported(rig.server, talk.id), rig.server)
    assert.notEqual(info.id, talk.id)
    assert.equal(info.execution_status, 'idle')
    const copy = new Talk(rig, info.id)
    assert.deepEqual(await copy.pending(), [])
    assert.deepEqual((await copy.notation()).slice(-2), ['Error terminal', 'S idle'])
    assert.equal(await copy.answer(true), 200)
    await copy.post('switch_llm', { llm: rig.model.llm({ model: name }) })
    assert.equal(await copy.post('run'), 200)
    await copy.comesTo('finished')
    assert.match(JSON.stringify(talk.questions.at(-1)!.messages), /imported before the call had a result/)
    assert.equal(await copy.shell('ls /tmp/mark-of-a-copy 2>/dev/null; true'), '')
    assert.equal(await talk.status(), 'waiting_for_confirmation')
  })

  test('what ran when it was exported rests here, also after a restart', async () => {
    const talk = await rig.begin({ say: 'wait', script: [sh(held('copied')), say('done')] })
    await talk.begins('copied')
    const { id, execution_status } = await take(await exported(rig.server, talk.id), rig.server)
    assert.equal(execution_status, 'idle')
    await talk.letGo('copied')
    await talk.comesTo('finished')
    await rig.restart()
    const copy = new Talk(rig, id)
    assert.equal(await copy.status(), 'idle')
    assert.deepEqual((await copy.notation()).slice(-2), ['Error terminal', 'S idle'])
  })
})

/** Writes into the directory of an archive with one file, where its facts are. */
const forged = async (change: (directory: Bytes, archive: Bytes) => void, content: string | Buffer = '{}') => {
  const archive = await packed({ 'meta.json': content })
  change(archive.subarray(archive.indexOf('PK\x01\x02')), archive)
  return archive
}

/** A request whose body is yet to come. */
function begun(size: number): ClientRequest {
  const headers = { 'Content-Type': 'application/zip', 'Content-Length': `${size}` }
  const sent = request(`${other.url}/api/conversations/import`, { method: 'POST', headers })
  sent.on('error', () => undefined).write('PK')
  return sent
}

describe('what is refused, whole', () => {
  const files = () => ({
    'c/meta.json': about(),
    ...log(message('a', 1, 'x'), message('b', 2, 'y'), message('c', 3, 'z')),
  })
  const FIRST = 'c/events/event-00000-a.json'
  const SECOND = 'c/events/event-00001-b.json'

  const events: [what: string, event: unknown, why: RegExp][] = [
    ['no JSON', '{"kind":', /not JSON/],
    ['no event', [], /Invalid/],
    ['an unknown kind', { ...message('b', 2, ''), kind: 'EvilEvent' }, /kind/],
    ['an unknown field', { ...message('b', 2, ''), more: 1 }, /more/],
    ['a wrong field', { ...message('b', 2, ''), activated_skills: 'x' }, /activated_skills/],
    ['the id of another', message('a', 2, ''), /another event a/],
    ['a time that is none', { ...message('b', 2, ''), timestamp: 'noon' }, /noon is no time/],
    ['a time that is yet to come', { ...message('b', 2, ''), timestamp: '2199-01-01T00:00:00' }, /yet to come/],
    ['a time long before', { ...message('b', 2, ''), timestamp: '2026-03-01T09:00:00' }, /made before/],
    ['a parent that comes later', message('b', 2, '', { parent_id: 'c' }), /no event c precedes/],
    ['itself as parent', message('b', 2, '', { parent_id: 'b' }), /no event b precedes/],
    ['a status that is none', update('b', 2, 'execution_status', 'asleep'), /value/],
    ['a policy that is none', update('b', 2, 'confirmation_policy', { kind: 'Whatever' }), /value/],
    ['stats that are none', update('b', 2, 'stats', 7), /value/],
    ['a snapshot', update('b', 2, 'full_state', {}), /never part of a log/],
    ['too much nesting', `{"kind":"MessageEvent","id":${'['.repeat(5000)}${']'.repeat(5000)}}`, /nested/],
  ]
  for (const [what, event, why] of events)
    test(`an event with ${what}: by the name of its file`, async () => {
      const detail = await refusal(await packed({ ...files(), [SECOND]: event }))
      assert.match(detail, why)
      assert.match(detail, /event-00001-b\.json/)
    })

  const archives: [what: string, archive: () => Promise<Bytes>, why: RegExp][] = [
    ['nothing', async () => Buffer.alloc(0), /no zip file/],
    ['no zip file', async () => Buffer.from('hello'), /no zip file/],
    ['a torn one', async () => (await packed(files())).subarray(0, 300), /no zip file/],
    ['no conversation', () => packed({ 'readme.txt': 'x' }), /no meta\.json/],
    ['two conversations', () => packed({ 'a/meta.json': about(), 'b/meta.json': about() }), /more than one/],
    ['one without an agent', () => packed({ 'meta.json': { id: newId() } }), /agent/],
    ['one without an id', () => packed({ 'meta.json': { ...about(), id: 'x' } }), /id/],
    ['an agent that cannot be here', () => packed({ 'meta.json': about({ agent: { kind: 'Nobody' } }) }), /agent/],
    [
      'an analyzer that is not here',
      () => packed({ ...files(), [SECOND]: update('b', 2, 'security_analyzer', { kind: 'GraySwanAnalyzer' }) }),
      /GraySwanAnalyzer/,
    ],
    [
      'a gap',
      async () => packed(Object.fromEntries(Object.entries(files()).filter(([name]) => name !== FIRST))),
      /place 0 is missing/,
    ],
    [
      'two events in one place',
      () => packed({ ...files(), 'c/events/event-00001-bb.json': message('bb', 2, '') }),
      /not the only one/,
    ],
    ['a wrong checksum', () => forged(directory => directory.writeUInt32LE(1, 16)), /damaged/],
    ['an encrypted file', () => forged(directory => directory.writeUInt16LE(1, 8)), /encrypted/],
    ['an unknown packing', () => forged(directory => directory.writeUInt16LE(12, 10)), /unknown way/],
    ['a file that is elsewhere', () => forged(directory => directory.writeUInt32LE(1e9, 42)), /damaged/],
    [
      'more than may be unpacked',
      () => forged(directory => directory.writeUInt32LE(0xffff_fff0, 24)),
      /more than \d+ bytes/,
    ],
    ['a file larger than any event', () => forged(directory => directory.writeUInt32LE(50e6, 24)), /larger than/],
    [
      'fewer files than it says',
      () => forged((_, archive) => archive.writeUInt32LE(0xffff_ffff, archive.length - 22 + 8)),
      /damaged|more than/,
    ],
  ]
  for (const [what, archive, why] of archives)
    test(`${what}`, async () => assert.match(await refusal(await archive()), why))

  test('a bomb is not unpacked beyond what it says', async () => {
    const memory = async () => peakMemory(await readFile(`/proc/${other.pid}/status`, 'utf8'))
    const before = await memory()
    assert.match(await refusal(understated(deflateRawSync(Buffer.alloc(200 * MIB)))), /damaged/)
    assert.ok((await memory()) - before < 100 * MIB, 'it was unpacked')
  })

  test('a body of another type, or too large', async () => {
    const send = (type: string, body: Buffer<ArrayBuffer>) =>
      fetch(`${other.url}/api/conversations/import`, { method: 'POST', headers: { 'Content-Type': type }, body })
    const archive = await packed(files())
    assert.equal((await send('application/json', archive)).status, 415)
    assert.equal((await send('application/octet-stream', archive)).status, 201)
    const large = begun(33 * MIB)
    const [answer] = await once(large, 'response')
    assert.equal(answer.statusCode, 413)
    large.destroy()
  })

  test('P5: so many at once, for each is held whole', async () => {
    const slow = [begun(1000), begun(1000)]
    const archive = await packed(files())
    const status = () =>
      take(archive).then(
        () => 201,
        error => (error as ClientError).status,
      )
    await until('there is no room', async () => (await status()) === 503)
    for (const one of slow) one.destroy()
    await until('there is room', async () => (await status()) === 201)
  })

  test('P5: bytes that were changed, cut or added: taken or refused, never a failure', async () => {
    const random = new Random()
    const archive = await packed(files())
    for (let i = 0; i < count({ sample: 60, deep: 2000 }); i += 1) {
      const bytes = Buffer.from(archive)
      for (let flips = random.int(4); flips >= 0; flips -= 1) bytes[random.int(bytes.length)] = random.int(256)
      const cut = random.int(3) === 0 ? bytes.subarray(0, random.int(bytes.length)) : bytes
      const status = await take(cut).then(
        () => 201,
        error => (error as ClientError).status,
      )
      assert.ok(status === 201 || status === 422, `${status} for ${cut.toString('base64')}`)
    }
  })
})

/** An archive whose one file says that it is small. */
function understated(content: Buffer): Bytes {
  const name = Buffer.from('meta.json')
  const facts = Buffer.alloc(26)
  facts.writeUInt16LE(20, 0)
  facts.writeUInt16LE(8, 4)
  facts.writeUInt32LE(content.length, 14)
  facts.writeUInt32LE(1000, 18)
  facts.writeUInt16LE(name.length, 22)
  const local = Buffer.concat([Buffer.from('PK\x03\x04'), facts, name, content])
  const rest = Buffer.alloc(14)
  const directory = Buffer.concat([Buffer.from('PK\x01\x02\x14\x03'), facts, rest, name])
  const end = Buffer.alloc(18)
  end.writeUInt16LE(1, 4)
  end.writeUInt16LE(1, 6)
  end.writeUInt32LE(directory.length, 8)
  end.writeUInt32LE(local.length, 12)
  return Buffer.concat([local, directory, Buffer.from('PK\x05\x06'), end])
}
