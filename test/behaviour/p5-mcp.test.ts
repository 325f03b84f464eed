import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { AgentRig, resultsOf, type Talk } from '../support/agent.ts'
import { Listener, streamable } from '../support/mcp-http.ts'
import { stdio } from '../support/mcp-stdio.ts'
import { call, finish, type Seen, type Turn } from '../support/model-server.ts'
import { until } from '../support/wait.ts'

/** P5: an MCP server that misbehaves harms only itself, and is named. */

let rig: AgentRig
before(async () => {
  rig = await AgentRig.start()
  // The first conversation of all starts the sandbox.
  await (await rig.begin({ say: 'warm up', script: [call('terminal', { command: 'true' }), finish()] })).comesTo(
    'finished',
  )
})
after(() => rig[Symbol.asyncDispose]())

const toolsIn = ({ body }: Seen): string[] =>
  body.tools.map((tool: { function: { name: string } }) => tool.function.name)

/** The result of each call, by what was called. */
async function resultsIn(talk: Talk): Promise<[tool: string, result: string][]> {
  const events = await talk.checkedEvents()
  return events
    .filter(event => event.kind === 'ActionEvent')
    .map(action => [action.tool_name, JSON.stringify(resultsOf(events, action))])
}

const problemsOf = async (talk: Talk): Promise<Record<string, string>> =>
  Object.fromEntries(
    ((await talk.info()).agent_state.mcp_problems ?? []).map((one: { server: string; why: string }) => [
      one.server,
      one.why,
    ]),
  )

test('servers that refuse, hang, crash, talk rubbish or flood: the conversation starts, works, and names the bad ones', async () => {
  await using gone = await Listener.start(streamable())
  await gone.down()
  const mcp_config = {
    refuse: { url: gone.url },
    hang: stdio('hang'),
    crash: stdio('crash'),
    rubbish: stdio('garbage'),
    endless: stdio('endless'),
    complain: stdio('complain'),
    missing: { command: '/no/such/program' },
    good: stdio('good'),
  }
  const began = performance.now()
  const talk = await rig.begin({
    say: 'go',
    agent: { mcp_config, tools: [{ name: 'terminal' }] },
    script: (asked, n): Turn => {
      if (n === 0) return call('terminal', { command: 'echo the terminal works' })
      // The good one may come later than the others fail.
      if (!toolsIn(asked).includes('echo')) return call('terminal', { command: `sleep 0.2; echo ${n}` })
      return JSON.stringify(asked.messages).includes('good heard') ? finish() : call('echo', { text: 'me' })
    },
  })
  const took = performance.now() - began
  assert.ok(took < 2000, `the order was answered after ${took} ms`)
  await talk.comesTo('finished')
  const results = await resultsIn(talk)
  assert.match(results[0]![1], /the terminal works/)
  assert.match(results.find(([tool]) => tool === 'echo')![1], /good heard me/)
  const problems = await problemsOf(talk)
  assert.deepEqual(
    new Set(Object.keys(problems)),
    new Set(['refuse', 'hang', 'crash', 'rubbish', 'endless', 'complain', 'missing']),
  )
  assert.match(problems.crash!, /no database here/)
  assert.match(problems.hang!, /has not answered yet/)
  for (const why of Object.values(problems)) assert.ok(why.length < 3000)
})

test('a server that comes up later is picked up at the next step, and is no longer named', async () => {
  const flag = `/workspace/${randomUUID()}`
  const talk = await rig.begin({
    say: 'go',
    agent: { mcp_config: { late: stdio('refuse-until', {}, flag) } },
    script: (asked, n): Turn => {
      if (n === 0) return call('terminal', { command: `touch ${flag}` })
      if (!toolsIn(asked).includes('echo')) return call('terminal', { command: `sleep 0.2; echo ${n}` })
      return JSON.stringify(asked.messages).includes('heard') ? finish() : call('echo', { text: 'me' })
    },
  })
  await until('it is named', async () => /not yet/.test((await problemsOf(talk)).late ?? ''))
  await talk.comesTo('finished')
  assert.match((await resultsIn(talk)).find(([tool]) => tool === 'echo')![1], /refuse-until heard me/)
  assert.deepEqual(await problemsOf(talk), {})
})

test('a server that crashes in a call is an error of that call, and the next one has it back', async () => {
  const talk = await rig.begin({
    say: 'go',
    agent: { mcp_config: { good: stdio('good') } },
    script: once('crash', [call('crash', {}), call('echo', { text: 'back' }), finish()]),
  })
  await talk.comesTo('finished')
  const results = new Map(await resultsIn(talk))
  assert.match(results.get('crash')!, /something broke|exit|ended/)
  assert.match(results.get('echo')!, /good heard back/)
})

test('what a server says is cut, and its tools may change', async () => {
  const talk = await rig.begin({
    say: 'go',
    agent: { mcp_config: { good: stdio('good') } },
    script: once('big', [call('big', { bytes: 10_000_000 }), call('change', {}), call('fresh', {}), finish()], 'fresh'),
  })
  await talk.comesTo('finished')
  const results = new Map(await resultsIn(talk))
  assert.ok(results.get('big')!.length < 256 * 1024)
  assert.match(results.get('big')!, /begin.*left out.*end/)
  assert.match(results.get('fresh')!, /listed \d+ times/)
})

/** Waits, step by step, until there is a tool; then plays the turns. The one that calls `later` waits until there is that. */
function once(tool: string, turns: readonly Turn[], later = tool): (asked: Seen, n: number) => Turn {
  let next = 0
  return (asked, n) => {
    const wanted = turns[next]!.calls?.[0]?.name === later ? later : tool
    const there = toolsIn(asked).includes(wanted) || (next > 0 && wanted === tool)
    return there ? turns[next++]! : call('terminal', { command: `sleep 0.2; echo ${n}` })
  }
}

test('nothing of a server is left when its conversation is deleted', async () => {
  const mark = randomUUID()
  const talk = await rig.begin({
    say: 'go',
    agent: { mcp_config: { good: stdio('good', {}, mark), hang: stdio('hang', {}, mark) } },
    script: once('echo', [call('echo', { text: 'x' }), finish()]),
  })
  await talk.comesTo('finished')
  assert.ok((await processesWith(mark)).length > 0)
  assert.equal((await rig.call('DELETE', `/api/conversations/${talk.id}`)).status, 200)
  await until('they are gone', async () => (await processesWith(mark)).length === 0)
})

async function processesWith(mark: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter(entry => /^\d+$/.test(entry))
  const lines = await Promise.all(pids.map(pid => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')))
  return lines.filter(line => line.includes(mark))
}
