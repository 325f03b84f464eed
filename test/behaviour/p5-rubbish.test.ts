import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { AgentRig, resultsOf } from '../support/agent.ts'
import { finish, type Seen, type Turn } from '../support/model-server.ts'
import { Random } from '../support/random.ts'
import { count } from '../support/server.ts'

/** P5: whatever a model answers, the conversation lives and every call has its result. */

let rig: AgentRig
before(async () => {
  rig = await AgentRig.start()
})
after(() => rig[Symbol.asyncDispose]())

const ARGUMENTS = [
  '{"thought":"hi","summary":"says hi","security_risk":"LOW"}',
  '{"command":"view","path":"/nowhere"}',
  "{'thought': 'hi', 'more': False,}",
  '{"message":"done"}',
  '[]',
  '"text"',
  'null',
  '{"command":{"a":[1,null,"\\ud800"]}}',
]
const NAMES = [
  'think',
  'file_editor',
  'bash',
  'nope',
  '',
  '__proto__',
  'task_tracker',
  'think<|end|>',
  '工具',
  'a'.repeat(5000),
]
const NOISE = [
  '\0',
  '\u001b[2J',
  '\ud800',
  '"',
  '\\',
  '{',
  '}',
  ']',
  ',',
  '\n',
  '```',
  'NaN',
  '<tool_call>',
  '</function>',
]
const TEXTS = [
  '',
  '   ',
  '<tool_call>{"name":"think","arguments":{"thought":"hi"}}',
  '<function=think><parameter=thought>hi</parameter>',
  '<function_calls><invoke name="nope"></invoke></function_calls>',
  'x'.repeat(200_000),
]

function damaged(random: Random, text: string): string {
  const at = random.int(text.length + 1)
  switch (random.int(5)) {
    case 0:
      return text.slice(0, at)
    case 1:
      return text.slice(0, at) + random.pick(NOISE) + text.slice(at)
    case 2:
      return text + text
    case 3:
      return text.slice(at)
    default:
      return text
  }
}

function rubbish(random: Random): Turn {
  const someCall = () => ({
    name: random.pick(NAMES),
    arguments: damaged(random, random.pick(ARGUMENTS)),
    ...(random.int(3) === 0 && { id: random.pick(['', 'same', '\u0007', 'i'.repeat(300)]) }),
  })
  switch (random.int(8)) {
    case 0:
      return { text: damaged(random, random.pick(TEXTS)) }
    case 1:
      return { raw: random.pick(['', '{}', '{"choices":[]}', '[1', 'null', '{"choices":[{"message":null}]}', '\0\0']) }
    case 2:
      return { calls: [someCall()], finish: random.pick(['length', 'content_filter', 'nonsense']) }
    case 3:
      return { reasoning: 'hm', usage: { prompt: 0, completion: -1 } }
    case 4:
      return { calls: [someCall()], cut: 'end' }
    default:
      return { calls: Array.from({ length: 1 + random.int(4) }, someCall), text: random.pick(['', 'I try.']) }
  }
}

function assertPaired({ messages }: Seen): void {
  for (const [i, { tool_calls = [] }] of messages.entries()) {
    const answered = messages.slice(i + 1, i + 1 + tool_calls.length).map(message => message.tool_call_id)
    assert.deepEqual(
      answered,
      tool_calls.map(({ id }: { id: string }) => id),
      'a call without its result',
    )
    for (const { function: called } of tool_calls) assert.equal(typeof JSON.parse(called.arguments), 'object')
  }
}

test('malformed answers are repaired or given back to the model: none is the end of the conversation', async t => {
  const total = count({ sample: 30, deep: 300 })
  const random = new Random()
  t.diagnostic(`seed ${random.seed}`)
  const seen: Seen[] = []
  let told = 0
  const talk = await rig.begin({
    say: 'go',
    // No terminal: half a command may wait for its other half, rightly.
    agent: { tools: [{ name: 'file_editor' }, { name: 'task_tracker' }] },
    stuck_detection: false,
    llm: { num_retries: 3, retry_min_wait: 0, retry_multiplier: 0 },
    script: asked => {
      seen.push(asked)
      return told++ < total ? rubbish(random) : finish('I am well')
    },
  })
  for (;;) {
    await talk.comesTo('finished', 'error', 'stuck')
    if (told > total) break
    assert.equal(await talk.say('go on'), 200)
  }
  assert.equal(await talk.status(), 'finished')
  for (const asked of seen) assertPaired(asked)
  const events = await talk.checkedEvents()
  const actions = events.filter(event => event.kind === 'ActionEvent')
  assert.ok(actions.length > total / 4, `only ${actions.length} calls were made`)
  for (const action of actions) assert.equal(resultsOf(events, action).length, 1, JSON.stringify(action))
  const codes = new Set(events.flatMap(event => (event.kind === 'ConversationErrorEvent' ? [event.code] : [])))
  for (const code of codes) assert.match(code, /^LLM/, `a failure of our own: ${code}`)
  assert.doesNotMatch(rig.server.output, /"level":"error"|TypeError|Unhandled/)
})
