import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Misunderstood } from '../../src/agent/tool.ts'
import { ToolDefinition } from '../../src/api/actions.ts'
import { Inside, KINDS, NO_PYTHON } from '../support/inside.ts'
import { Conversation, textOf } from '../support/mcp-servers.ts'
import { MARK, stdio } from '../support/mcp-stdio.ts'
import { DEEP } from '../support/server.ts'
import { until } from '../support/wait.ts'

const { walls, skip } = KINDS[0]!
/** For all servers to stand, however busy the machine is: which has a name first depends on it. */
const LONG_MS = 20_000

describe('MCP servers where the hands are', { skip: skip || NO_PYTHON }, () => {
  let inside: Inside
  before(async () => {
    inside = await Inside.open({ walls })
    await inside.start('box')
  })
  after(() => inside[Symbol.asyncDispose]())
  const sandbox = async () => inside.backend.sandbox('box')
  const open = (servers: Parameters<typeof Conversation.open>[0], patienceMs?: number) =>
    Conversation.open(servers, { sandbox, patienceMs })
  /** How many processes of servers, and of what they started, there are inside. */
  const running = async (what = `${MARK}|987654`) => {
    const pattern = what.replaceAll(/(^|\|)(.)/g, '$1[$2]')
    return Number(
      await inside.sh(`cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -aoE '${pattern}' | wc -l`),
    )
  }

  test('a good server: its tools are there, and answer', async () => {
    await using conversation = await open({ good: stdio('good') })
    assert.equal(await conversation.said('echo', { text: 'hello' }), 'good heard hello')
    assert.deepEqual(conversation.mcp.problems(), [])
    assert.deepEqual(conversation.news, [])
    const [echo, env] = conversation.mcp.tools()
    assert.equal(echo!.readOnly, true)
    assert.equal(env!.readOnly, false)
    assert.deepEqual(ToolDefinition.parse(echo!.definition), echo!.definition)
    assert.throws(() => echo!.understand({ words: 1 }), Misunderstood)
    assert.deepEqual(echo!.understand({ text: 'a', more: 1 }), { kind: 'MCPToolAction', data: { text: 'a', more: 1 } })
  })

  test('it runs in the working folder with its variables and none of ours', async () => {
    await using conversation = await open({ good: stdio('good', { env: { API_TOKEN: 'for-it' } }) })
    const said = await conversation.said('env')
    assert.match(said, /"API_TOKEN": "for-it"/)
    assert.match(said, /\/workspace$/)
    assert.doesNotMatch(said, /SESSION|npm_/)
  })

  test('bad servers beside a good one: it starts within a second, each is named with its reason', async () => {
    const begun = performance.now()
    await using conversation = await open({
      crash: stdio('crash'),
      hang: stdio('hang'),
      missing: { command: 'no-such-program', enabled: true },
      version: stdio('version'),
      endless: stdio('endless'),
      complain: stdio('complain'),
      garbage: stdio('garbage'),
      off: stdio('good', { enabled: false }),
      good: stdio('good'),
    })
    assert.ok(performance.now() - begun < 1_000, `took ${performance.now() - begun} ms`)
    assert.equal(await conversation.said('echo', { text: 'all the same' }), 'good heard all the same')
    const why = (server: string, reason: RegExp) =>
      until(`${server} says ${reason}`, () => reason.test(conversation.why(server) ?? ''))
    await why('crash', /exit code 1: no database here/)
    await why('missing', /exit code 127.*no-such-program/)
    await why('version', /version is not supported: 1999-01-01/)
    await why('endless', /more than 20 MB/)
    for (const silent of ['hang', 'complain', 'garbage'])
      assert.equal(conversation.why(silent), 'it has not answered yet')
    assert.equal(conversation.why('off'), undefined)
    assert.match(conversation.news.find(text => text.includes("'crash'"))!, /no database here/)
  })

  test('what it prints beside messages is no harm', async () => {
    await using conversation = await open({ noisy: stdio('noisy') })
    assert.equal(await conversation.said('echo', { text: 'a' }), 'noisy heard a')
  })

  test('what a tool calls an error is one', async () => {
    await using conversation = await open({ good: stdio('good') })
    assert.match(await conversation.failed('fail'), /it did not work/)
  })

  test('a long result is shortened in the middle, a large picture left out, a small one shown', async () => {
    await using conversation = await open({ good: stdio('good') })
    const said = await conversation.said('big', { bytes: 1_000_000 })
    assert.ok(said.length < 51_000)
    assert.match(said, /^beginx+\n\[950008 characters were left out\]\nx+end$/)
    const { content } = await conversation.run('picture', { bytes: 400 })
    assert.deepEqual(content[1], {
      type: 'image',
      cache_prompt: false,
      image_urls: [`data:image/png;base64,${'A'.repeat(400)}`],
    })
    assert.equal(await conversation.said('picture', { bytes: 6_000_000 }), '[image/png of 4500000 bytes was left out]')
  })

  test('a result of 50 MB ends the server with a reason, and the next call has a new one', async () => {
    await using conversation = await open({ good: stdio('good'), other: stdio('other') }, LONG_MS)
    await conversation.with('echo')
    const first = await conversation.said('pid')
    const memory = process.memoryUsage().rss
    assert.match(await conversation.failed('big', { bytes: 50_000_000 }), /more than 20 MB/)
    assert.ok(process.memoryUsage().rss - memory < 200e6)
    assert.match(conversation.why('good')!, /more than 20 MB/)
    assert.equal(await conversation.said('other_echo', { text: 'a' }), 'other heard a')
    assert.notEqual(await conversation.said('pid'), first)
    assert.equal(conversation.why('good'), undefined)
    assert.deepEqual(
      conversation.news.map(text => /'good' is (not )?available/.exec(text)?.[0]),
      ["'good' is not available", "'good' is available"],
    )
  })

  test('a server that crashes in a call fails the call with what it said last, and is brought back by the next', async () => {
    await using conversation = await open({ good: stdio('good') })
    assert.match(await conversation.failed('crash'), /exit code 7: something broke/)
    assert.equal(await conversation.said('echo', { text: 'back' }), 'good heard back')
  })

  test('a crash loop does not spin, however often the tools are asked for', async () => {
    await using conversation = await open({ good: stdio('good'), loop: stdio('crash-loop') }, LONG_MS)
    await conversation.with('loop_echo')
    const began = performance.now()
    await until('a second and a half has gone by', () => {
      conversation.mcp.tools()
      return performance.now() - began > 1_500
    })
    const starts = Number(await inside.sh('wc -l < /workspace/crash-loop'))
    assert.ok(starts >= 2 && starts <= 3, `started ${starts} times`)
    assert.match(conversation.why('loop')!, /exit code 9/)
    assert.equal(await conversation.said('echo', { text: 'a' }), 'good heard a')
  })

  test('a crash loop that is called answers with how long it rests', async () => {
    await using conversation = await open({ good: stdio('good') })
    await conversation.with('crash')
    for (let time = 0; time < 2; time += 1) assert.match(await conversation.failed('crash'), /exit code 7/)
    const began = performance.now()
    assert.match(await conversation.failed('echo', { text: 'a' }), /exit code 7.*tried again after 1 s/)
    assert.ok(performance.now() - began < 200)
  })

  test('tools that change are picked up, however often it says so; a vanished one says what there is', async () => {
    await using conversation = await open({ good: stdio('good') })
    await conversation.with('change')
    const echo = conversation.tool('echo')
    assert.equal(await conversation.said('change'), 'changed')
    await conversation.with('fresh')
    assert.deepEqual(conversation.names, ['fresh'])
    const [, times] = /listed (\d+) times/.exec(await conversation.said('fresh')) ?? []
    assert.ok(Number(times) <= 4, `listed ${times} times`)
    const gone = await conversation.runTool(echo, { text: 'a' })
    assert.equal(gone.is_error, true)
    assert.match(textOf(gone), /no tool 'echo'. It has: fresh/)
  })

  test('the same name twice: the first server has it, the other is called by its own; strange names can be called', async () => {
    await using conversation = await open({ good: stdio('good'), other: stdio('other') }, LONG_MS)
    await conversation.with('echo')
    assert.equal(await conversation.said('echo', { text: 'a' }), 'good heard a')
    assert.equal(await conversation.said('other_echo', { text: 'a' }), 'other heard a')
    assert.ok(conversation.names.includes('read_file_v2'))
  })

  test('a list of thousands of tools is cut', async () => {
    await using conversation = await open({ many: stdio('many') })
    await conversation.with('tool0')
    assert.equal(conversation.names.length, 256)
    assert.match(conversation.news[0]!, /^4744 tools of the MCP server 'many' are left out/)
  })

  test('a result is not held against a pattern of the server, which could take for ever', async () => {
    await using conversation = await open({ good: stdio('good') })
    assert.match(await conversation.said('regex'), /^\{"a":"a+!"\}$/)
  })

  test('a flood of notifications takes neither our time nor that of the other servers', async () => {
    await using conversation = await open({ good: stdio('good'), flood: stdio('flood') }, LONG_MS)
    await conversation.with('flood_echo')
    const before = process.cpuUsage()
    const began = performance.now()
    for (let time = 0; time < 20; time += 1) await conversation.said('echo', { text: 'a' })
    await until('a second has gone by', () => performance.now() - began > 1_000)
    const { user, system } = process.cpuUsage(before)
    assert.ok((user + system) / 1_000 < 400, `${(user + system) / 1_000} ms of CPU in a second`)
  })

  test('a server that does not read what it is sent is given up before much waits for it', async () => {
    await using conversation = await open({ deaf: stdio('deaf') })
    await conversation.with('echo')
    const text = 'x'.repeat(5_000_000)
    const calls = await Promise.all([conversation.failed('echo', { text }), conversation.failed('echo', { text })])
    for (const said of calls) assert.match(said, /does not read what it is sent/)
  })

  test('what it asks of us is declined, and it goes on', async () => {
    await using conversation = await open({ good: stdio('good') })
    assert.match(await conversation.said('ask'), /-32601/)
  })

  test('an interrupted call ends at once with the reason, and the server stays', async () => {
    await using conversation = await open({ good: stdio('good') })
    const pid = await conversation.said('pid')
    const abort = new AbortController()
    const call = conversation.run('hang', {}, abort.signal)
    const reason = new Error('interrupted')
    assert.equal(await conversation.said('pid'), pid)
    const began = performance.now()
    abort.abort(reason)
    await assert.rejects(call, reason)
    assert.ok(performance.now() - began < 200)
    assert.equal(await conversation.said('pid'), pid)
  })

  test('a call that takes too long ends; a server that does not even answer then is started anew', async () => {
    await using conversation = await open({ slow: stdio('good-but-frozen', { timeout: 0.3 }) })
    const pid = await conversation.said('pid')
    assert.match(await conversation.failed('hang'), /not answer within 0.3 s/)
    await until('it is given up', () => conversation.why('slow'))
    await until('it is another', async () => {
      conversation.mcp.tools()
      return conversation.why('slow') === undefined && (await conversation.said('pid')) !== pid
    })
  })

  test('a server that fails at first is picked up once it does not', async () => {
    await using conversation = await open({ late: stdio('refuse-until', {}, '/workspace/ready') })
    await until('it is known to fail', () => /not yet/.test(conversation.why('late') ?? ''))
    assert.deepEqual(conversation.names, [])
    await inside.sh('touch /workspace/ready')
    await conversation.with('echo', 15_000)
    assert.match(conversation.news.at(-1)!, /'late' is available again/)
  })

  test('a sandbox that went away takes its servers along, and the next call starts them in the new one', async () => {
    await using conversation = await open({ good: stdio('good') })
    await conversation.with('echo')
    await inside.restart('box')
    await until('it is known to be gone', () => conversation.why('good'))
    assert.equal(await conversation.said('echo', { text: 'again' }), 'good heard again')
  })

  test('a call wakes the sandbox that its server sleeps in', async () => {
    const awake = async () => {
      await inside.backend.resume('box')
      return inside.backend.sandbox('box')
    }
    await using conversation = await Conversation.open({ good: stdio('good') }, { sandbox: awake })
    const pid = await conversation.said('pid')
    await inside.backend.pause('box')
    assert.equal(await conversation.said('pid'), pid)
  })

  test('an end while the sandbox sleeps does not wait for it', {
    skip: !DEEP && 'takes long: npm run test:deep',
  }, async () => {
    const conversation = await open({ good: stdio('good') })
    await conversation.with('echo')
    await inside.backend.pause('box')
    const began = performance.now()
    await conversation.mcp.close()
    assert.ok(performance.now() - began < 5_000)
    await inside.backend.resume('box')
    await until('it has ended', async () => (await running()) === 0)
  })

  test('nothing is left after the end: no server, nothing it started, none that was on its way', async () => {
    assert.equal(await running(), 0)
    {
      await using conversation = await open({
        good: stdio('good'),
        other: stdio('other'),
        hang: stdio('hang'),
        deaf: stdio('deaf'),
        orphan: stdio('orphan'),
      })
      await conversation.with('start')
      await conversation.said('start')
      assert.ok((await running()) >= 4)
    }
    assert.equal(await running(), 0)
  })

  test('an end in the middle of the beginning leaves nothing either', async () => {
    const conversation = new Conversation({ good: stdio('good') }, { sandbox })
    const opening = conversation.mcp.open(5_000, new AbortController().signal)
    await conversation.mcp.close()
    await opening
    assert.equal(await running(), 0)
    assert.deepEqual(conversation.news, [])
  })
})
