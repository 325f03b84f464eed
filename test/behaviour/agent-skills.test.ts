import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { MessageEvent } from '../../src/api/events.ts'
import { AgentRig, type Talk } from '../support/agent.ts'
import { call, finish, type Seen, say } from '../support/model-server.ts'

/** What agents are taught: by words in messages, by asking for it, by the project itself. */

let rig: AgentRig
before(async () => {
  rig = await AgentRig.start()
})
after(() => rig[Symbol.asyncDispose]())

const skill = (name: string, more: object = {}) => ({ name, content: `The text of ${name}.`, ...more })
const KEYWORD = skill('deploying', { trigger: { type: 'keyword', keywords: ['deploy'] } })

const toolsIn = ({ body }: Seen): string[] =>
  body.tools.map((tool: { function: { name: string } }) => tool.function.name)

async function messagesOf(talk: Talk): Promise<MessageEvent[]> {
  const events = await talk.checkedEvents()
  return events.filter(event => event.kind === 'MessageEvent' && event.source === 'user') as MessageEvent[]
}

test('a keyword in a message brings its skill, once, and to the model too', async () => {
  const asked: Seen[] = []
  const talk = await rig.begin({
    say: 'please Deploy it',
    agent: { agent_context: { skills: [KEYWORD, skill('unused', { trigger: { keywords: ['never'] } })] } },
    script: seen => {
      asked.push(seen)
      return say('yes')
    },
  })
  await talk.comesTo('finished')
  await talk.say('deploy it again, and no deployment')
  await talk.comesTo('finished')
  const [first, second] = await messagesOf(talk)
  assert.deepEqual(first!.activated_skills, ['deploying'])
  assert.match(JSON.stringify(first!.extended_content), /The text of deploying\./)
  assert.deepEqual([second!.activated_skills, second!.extended_content], [[], []])
  assert.deepEqual((await talk.info()).activated_knowledge_skills, ['deploying'])
  assert.match(JSON.stringify(asked[0]!.messages[1]), /please Deploy it.*The text of deploying\./)
  assert.doesNotMatch(JSON.stringify(asked), /The text of unused/)
  await rig.restart('SIGKILL')
  await talk.say('deploy once more')
  await talk.comesTo('finished')
  assert.deepEqual((await messagesOf(talk))[2]!.activated_skills, [])
})

test('invoke_skill gives the text of a skill, and names those there are when there is none', async () => {
  const hidden = skill('hidden', { is_agentskills_format: true, disable_model_invocation: true })
  let prompt = ''
  const talk = await rig.begin({
    say: 'go',
    agent: {
      agent_context: {
        skills: [skill('testing', { is_agentskills_format: true, description: 'How to test.' }), hidden],
      },
    },
    script: (seen, n) => {
      prompt = JSON.stringify(seen.messages[0])
      assert.ok(toolsIn(seen).includes('invoke_skill'))
      if (n === 2) return finish()
      return call('invoke_skill', { name: n === 0 ? 'testing' : 'hidden' })
    },
  })
  await talk.comesTo('finished')
  assert.match(prompt, /testing: How to test\./)
  assert.doesNotMatch(prompt, /The text of testing|hidden:/)
  const told = (await talk.checkedEvents()).flatMap(event =>
    event.kind === 'ObservationEvent' && event.tool_name === 'invoke_skill' ? [event.observation] : [],
  )
  assert.deepEqual(
    told.map(({ is_error }) => is_error),
    [false, true],
  )
  assert.match(JSON.stringify(told[0]), /The text of testing\./)
  assert.match(JSON.stringify(told[1]), /no skill named hidden\. Those there are: testing/)
  assert.deepEqual((await talk.info()).invoked_skills, ['testing'])
})

test('AGENTS.md and the skills of a project are told where the order wants them, and not where it does not', async () => {
  const folder = `/workspace/${randomUUID()}`
  const write = `mkdir -p ${folder}/.agents/skills/lint && cd ${folder} && echo 'Use tabs.' > AGENTS.md && printf -- '---\\nname: lint\\ndescription: How to lint.\\n---\\nRun the linter.' > .agents/skills/lint/SKILL.md`
  const { body } = await rig.call('POST', '/api/bash/execute_bash_command', { command: write })
  assert.equal(body.exit_code, 0, JSON.stringify(body))
  const promptOf = async (load_project_skills: boolean): Promise<string> => {
    const talk = await rig.begin({
      say: 'go',
      workspace: { working_dir: folder },
      agent: { agent_context: { load_project_skills } },
      script: [say('ok')],
    })
    await talk.comesTo('finished')
    return JSON.stringify((await talk.events())[0])
  }
  const told = await promptOf(true)
  assert.match(told, /Use tabs\./)
  assert.match(told, /lint: How to lint\./)
  assert.doesNotMatch(await promptOf(false), /Use tabs|How to lint/)
})

test('rules for files come with the first result that touches one', async () => {
  const rules = skill('python', { trigger: { type: 'path', paths: ['**/*.py'] } })
  const folder = `/workspace/${randomUUID()}`
  const create = (name: string) => call('file_editor', { command: 'create', path: `${folder}/${name}`, file_text: 'x' })
  const talk = await rig.begin({
    say: 'go',
    workspace: { working_dir: folder },
    agent: { agent_context: { skills: [rules] } },
    script: [create('a.txt'), create('a.py'), create('b.py'), finish()],
  })
  await talk.comesTo('finished')
  const told = (await talk.checkedEvents()).flatMap(event =>
    event.kind === 'ObservationEvent' && event.tool_name === 'file_editor'
      ? [JSON.stringify(event.extended_content).includes('The text of python.')]
      : [],
  )
  assert.deepEqual(told, [false, true, false])
})

test('what an order adds to every message and to the prompt is told', async () => {
  let asked: Seen | undefined
  const talk = await rig.begin({
    say: 'go',
    agent: {
      agent_context: { user_message_suffix: 'SUFFIX of messages', system_message_suffix: 'SUFFIX of the prompt' },
    },
    agent_launch_additions: { system_message_suffix_append: 'APPENDED at launch' },
    script: seen => {
      asked = seen
      return say('ok')
    },
  })
  await talk.comesTo('finished')
  assert.match(JSON.stringify(asked!.messages[0]), /SUFFIX of the prompt.*APPENDED at launch/)
  assert.match(JSON.stringify(asked!.messages[1]), /go.*SUFFIX of messages/)
})
