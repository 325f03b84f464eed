import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { ActionEvent, Event } from '../../src/api/events.ts'
import { type AgentRig, resultsOf, type Talk } from './agent.ts'
import { NO_PYTHON } from './inside.ts'
import { stdio } from './mcp-stdio.ts'
import { fail, finish, type Seen, say, type Turn } from './model-server.ts'
import { until } from './wait.ts'

export const run = (command: string) => ({ name: 'terminal', arguments: { command } })
export const terminal = (command: string): Turn => ({ calls: [run(command)] })
/** What the user says then. It is in no prompt. */
export const ON = 'Carry on, my friend'
/** What the model does then. */
export const AFTERWARDS = [terminal('echo a$((40 + 2))ve'), finish()]

const actionsOf = (events: readonly Event[]): ActionEvent[] =>
  events.filter(event => event.kind === 'ActionEvent') as ActionEvent[]

/** All actions have exactly one result, or those that have none are as many as expected. */
export async function assertAnswered(talk: Talk, open = 0): Promise<void> {
  const events = await talk.checkedEvents()
  const counts = actionsOf(events).map(action => resultsOf(events, action).length)
  assert.deepEqual(
    counts.filter(one => one > 1),
    [],
    'more than one result',
  )
  const unanswered = counts.filter(one => one === 0).length
  assert.equal(unanswered, open, `actions without a result in ${(await talk.notation()).join(', ')}`)
}

/** What the results of the calls say, in call order. */
export async function results(talk: Talk): Promise<string[]> {
  const events = await talk.events()
  return actionsOf(events).map(action => JSON.stringify(resultsOf(events, action)))
}

/** What a command prints in the default sandbox. */
export const sh = async (rig: AgentRig, command: string): Promise<string> =>
  (await rig.call('POST', '/api/bash/execute_bash_command', { command, timeout: 10 })).body.stdout ?? ''

export const has = async (rig: AgentRig, path: string): Promise<boolean> =>
  (await sh(rig, `ls -d ${path} 2>/dev/null`)) !== ''

/** Something that a run is in the middle of, and would be for long. */
export interface Moment {
  script: (folder: string) => readonly Turn[] | ((seen: Seen, n: number) => Turn)
  /** Beside the script. */
  order?: (folder: string, rig: AgentRig) => Record<string, unknown>
  /** Resolves when the moment has come. */
  comes: (talk: Talk, folder: string, rig: AgentRig) => Promise<unknown>
  /** What an interrupt makes of it, if not paused. */
  becomes?: string
  skip?: string | false
}

/** A hook that hangs when it is first run. */
const hanging = (folder: string) => [
  {
    matcher: '*',
    hooks: [{ command: `[ -e ${folder}/hooked ] || { touch ${folder}/hooked; sleep 100; }`, timeout: 100 }],
  },
]
const isThere = (file: string) => (_: Talk, folder: string, rig: AgentRig) =>
  until(`${file} is there`, () => has(rig, `${folder}/${file}`))

/** Condenses as soon as it can; the first summary never comes. */
const condensing = (_: string, rig: AgentRig) => ({
  agent: {
    tools: [{ name: 'terminal' }],
    condenser: {
      kind: 'LLMSummarizingCondenser',
      llm: rig.model.llm({ usage_id: 'condenser', model: rig.nextModel }),
      keep_first: 1,
      max_size: 8,
    },
  },
})

function silentSummary() {
  let summaries = 0
  let step = 0
  let after = 0
  return ({ body, messages }: Seen): Turn => {
    if (!body.tools) return summaries++ === 0 ? say('', { stall: 'before' }) : say('So it was.')
    if (!JSON.stringify(messages).includes(ON)) return terminal(`echo step ${step++}`)
    return AFTERWARDS[after++]!
  }
}

/** A server that is slow to start is not there at once. */
function hangingTools({ body, messages }: Seen): Turn {
  const text = JSON.stringify(messages)
  if (text.includes(ON)) return text.includes('a42ve') ? finish() : AFTERWARDS[0]!
  const canHang = JSON.stringify(body.tools).includes('"hang"')
  return canHang ? { calls: [1, 2].map(() => ({ name: 'hang', arguments: {} })) } : terminal('date +%N')
}

export const MOMENTS: Record<string, Moment> = {
  'the model says nothing at all': {
    script: () => [say('never', { stall: 'before' }), ...AFTERWARDS],
    comes: talk => talk.asks(1),
  },
  'the model falls silent in mid-sentence': {
    script: () => [say('a long story that never ends', { stall: 'middle', chunks: 8 }), ...AFTERWARDS],
    order: () => ({ llm: { stream: true } }),
    comes: talk => talk.asks(1),
  },
  'the next try of a model call is waited for': {
    script: () => [fail('overloaded'), ...AFTERWARDS],
    order: () => ({ llm: { num_retries: 5, retry_min_wait: 60, retry_max_wait: 60 } }),
    comes: talk => talk.shows('S agent_state'),
  },
  'a command runs that heeds no interrupt': {
    script: folder => [terminal(`trap '' INT; touch ${folder}/begun; sleep 100; echo late`), ...AFTERWARDS],
    comes: isThere('begun'),
  },
  'a command runs, and others wait for their turn': {
    script: folder => [
      { calls: [run(`touch ${folder}/begun; sleep 100`), run(`touch ${folder}/second`), run('echo third')] },
      ...AFTERWARDS,
    ],
    comes: isThere('begun'),
  },
  'tools of an MCP server run side by side': {
    script: () => hangingTools,
    order: () => ({ agent: { tools: [{ name: 'terminal' }], mcp_config: { hangs: stdio('good') } } }),
    comes: talk => talk.shows('Action hang', 2),
    skip: NO_PYTHON,
  },
  'a hook looks at what is about to run': {
    script: () => [terminal('echo never'), ...AFTERWARDS],
    order: folder => ({ hook_config: { pre_tool_use: hanging(folder) } }),
    comes: isThere('hooked'),
  },
  'a hook looks at a result': {
    script: () => [terminal('echo quickly'), ...AFTERWARDS],
    order: folder => ({ hook_config: { post_tool_use: hanging(folder) } }),
    comes: isThere('hooked'),
  },
  'a hook looks at the end': {
    script: () => [say('Done.'), ...AFTERWARDS],
    order: folder => ({ hook_config: { stop: hanging(folder) } }),
    comes: isThere('hooked'),
    becomes: 'finished',
  },
  'the context is being condensed': {
    script: silentSummary,
    order: condensing,
    comes: (_talk, _folder, rig) =>
      until('a summary was asked for', () => {
        const last = rig.model.requests.at(-1)
        return last && last.body.tools === undefined
      }),
  },
}

/** A conversation in the middle of it. */
export async function comeTo(rig: AgentRig, { script, order, comes }: Moment): Promise<{ talk: Talk; folder: string }> {
  const folder = `/workspace/${randomUUID()}`
  const about = { workspace: { working_dir: folder }, ...order?.(folder, rig) }
  const talk = await rig.begin({ say: 'go', ...about, script: script(folder) })
  await comes(talk, folder, rig)
  return { talk, folder }
}
