import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Event } from '../../src/api/events.ts'
import { AgentRig } from '../support/agent.ts'
import { call, finish, type Seen, say, type Turn } from '../support/model-server.ts'

/** What people put in the way of an agent, beyond the order of the log, which the golden sequences have. */

let rig: AgentRig
before(async () => {
  rig = await AgentRig.start()
})
after(() => rig[Symbol.asyncDispose]())

const hook = (command: string, matcher = '*') => [{ matcher, hooks: [{ command }] }]

const of = <K extends Event['kind']>(events: readonly Event[], kind: K): Extract<Event, { kind: K }>[] =>
  events.filter(event => event.kind === kind) as Extract<Event, { kind: K }>[]

test('a message that a hook blocks is kept, shown as blocked, and never reaches the model', async () => {
  const deny = `grep -q forbidden && { echo we do not speak of it >&2; exit 2; }; exit 0`
  const asked: Seen[] = []
  const talk = await rig.begin({
    say: 'something forbidden',
    hook_config: { user_prompt_submit: hook(deny) },
    script: seen => {
      asked.push(seen)
      return say('ok')
    },
  })
  await talk.comesTo('finished')
  assert.equal(asked.length, 0)
  const [message] = of(await talk.checkedEvents(), 'MessageEvent')
  assert.deepEqual((await talk.info()).blocked_messages, { [message!.id]: 'we do not speak of it' })
  await talk.say('something else')
  await talk.comesTo('finished')
  assert.equal(asked.length, 1)
  assert.match(JSON.stringify(asked[0]!.messages), /something else/)
  assert.doesNotMatch(JSON.stringify(asked[0]!.messages), /something forbidden/)
})

test('what hooks add is told to the model with the message or the result that they are about', async () => {
  const add = (words: string) => `echo '{"additionalContext": "${words}"}'`
  const asked: Seen[] = []
  const talk = await rig.begin({
    say: 'go',
    hook_config: {
      session_start: hook(add('CONTEXT of the start')),
      user_prompt_submit: hook(add('CONTEXT of the message')),
      post_tool_use: hook(add('CONTEXT of the result'), 'think'),
    },
    script: (seen, n): Turn => {
      asked.push(seen)
      return n === 0 ? call('think', { thought: 'hm' }) : finish()
    },
  })
  await talk.comesTo('finished')
  const told = asked[1]!.messages.map(message => JSON.stringify(message))
  assert.match(told[1]!, /CONTEXT of the start.*CONTEXT of the message/)
  assert.match(told.at(-1)!, /CONTEXT of the result/)
})

test('a hook of type prompt asks the model, and its no counts', async () => {
  const judged: Seen[] = []
  const talk = await rig.begin({
    say: 'go',
    hook_config: {
      pre_tool_use: [{ matcher: 'think', hooks: [{ type: 'prompt', name: 'gate', prompt: 'Only good thoughts.' }] }],
    },
    script: (seen): Turn => {
      if (seen.body.tools === undefined) {
        judged.push(seen)
        return say('{"decision": "deny", "reason": "not a good thought"}')
      }
      return seen.messages.some(({ role }) => role === 'tool') ? finish() : call('think', { thought: 'bad' })
    },
  })
  await talk.comesTo('finished')
  assert.equal(judged.length, 1)
  assert.match(JSON.stringify(judged[0]!.messages), /Only good thoughts\..*bad/)
  const [rejection] = of(await talk.checkedEvents(), 'UserRejectObservation')
  assert.deepEqual([rejection!.rejection_source, rejection!.rejection_reason], ['hook', 'not a good thought'])
  const { usage_to_metrics } = (await talk.info()).stats
  assert.equal(usage_to_metrics['prompt-hook:gate'].token_usages.length, 1)
})

test('a hook that crashes, hangs or floods stops nothing', async () => {
  const hooks = ['exit 1', 'sleep 100', 'yes | head -c 5000000', 'kill -9 $$'].map(command => ({ command, timeout: 1 }))
  const talk = await rig.begin({
    say: 'go',
    hook_config: { pre_tool_use: [{ matcher: 'think', hooks }] },
    script: [call('think', { thought: 'hm' }), finish()],
  })
  await talk.comesTo('finished')
  const ran = of(await talk.checkedEvents(), 'HookExecutionEvent')
  assert.deepEqual(
    ran.map(({ blocked }) => blocked),
    [false, false, false, false],
  )
  assert.match(ran[1]!.error!, /timed out after 1 seconds/)
  for (const event of ran) assert.ok(JSON.stringify(event).length < 256 * 1024)
})
