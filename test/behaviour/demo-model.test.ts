import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { understand } from '../../src/agent/calls.ts'
import type { ToolSpec } from '../../src/agent/model.ts'
import { demoModel } from '../../src/agent/models/demo.ts'
import type { Tool } from '../../src/agent/tool.ts'
import { makeFileEditor } from '../../src/agent/tools/file-editor.ts'
import { makeTerminal } from '../../src/agent/tools/terminal.ts'
import type { Message } from '../../src/api/common.ts'
import type { SecurityRisk } from '../../src/api/security.ts'
import { toolsOf } from '../support/calls.ts'
import { NO_WALLS } from '../support/hands.ts'
import { type Desk, ToolBench, textOf } from '../support/tool-bench.ts'

const HONEST = /I am a script, not a language model/

const message = (role: Message['role'], text: string, more: Partial<Message> = {}): Message => ({
  role,
  content: [{ type: 'text', text, cache_prompt: false }],
  thinking_blocks: [],
  ...more,
})
const specs = (tools: Iterable<Tool>): ToolSpec[] =>
  Array.from(tools, ({ name, description, parameters }) => ({ name, description, parameters }))

interface Deed {
  tool: string
  command: string
  risk: SecurityRisk
  result: string
}

/** A conversation with the guide, carried out the way an agent does it. */
class Visit {
  readonly messages: Message[] = [message('system', 'You help.')]
  readonly deeds: Deed[] = []
  readonly #tools: ReadonlyMap<string, Tool>
  readonly #desk: Desk | undefined
  /** What is said to a step instead of taking it. */
  readonly #instead: (risk: SecurityRisk) => string | undefined

  constructor(tools: Tool[], desk?: Desk, instead: (risk: SecurityRisk) => string | undefined = () => undefined) {
    this.#tools = toolsOf(...tools)
    this.#desk = desk
    this.#instead = instead
  }

  say(text: string): Promise<string> {
    this.messages.push(message('user', text))
    return this.run()
  }

  /** What the guide says in the end. */
  async run(): Promise<string> {
    for (;;) {
      const heard: string[] = []
      const request = { messages: this.messages, tools: specs(this.#tools.values()) }
      const reply = await demoModel.ask(
        request,
        ({ content }) => heard.push(content ?? ''),
        new AbortController().signal,
      )
      assert.equal(heard.join(''), reply.text)
      assert.ok(heard.every(part => part.length > 0 && part.length < 30 && part.isWellFormed()))
      const { text, calls } = understand(reply, this.#tools)
      if (calls.length === 0) {
        this.messages.push(message('assistant', text))
        return text
      }
      this.messages.push(message('assistant', text, { tool_calls: calls.map(({ call }) => call) }))
      for (const { call, action, tool, error, claimed } of calls) {
        assert.equal(error, null)
        const result = this.#instead(claimed) ?? textOf(await tool!.run(action!, this.#desk!.hands))
        const { command } = action as { command: string }
        this.deeds.push({ tool: tool!.name, command, risk: claimed, result })
        this.messages.push(message('tool', result, { tool_call_id: call.id }))
      }
    }
  }
}

const never = (): string => assert.fail('nothing is to be done')

describe('the tour, in a real sandbox', { skip: NO_WALLS }, () => {
  let bench: ToolBench
  before(async () => {
    bench = await ToolBench.open()
  })
  after(() => bench?.[Symbol.asyncDispose]())

  const visit = async (tools: Tool[], prepare = 'true', instead?: (risk: SecurityRisk) => string | undefined) => {
    const desk = await bench.desk()
    await desk.sh(prepare)
    return { desk, visit: new Visit(tools, desk, instead) }
  }

  test('looks, writes, runs, asks before it deletes, and says that it is a script', async () => {
    const { desk, visit: guest } = await visit([makeTerminal(), makeFileEditor()], 'echo mine > mine.txt')
    const last = await guest.say('Build me a web shop')
    assert.deepEqual(
      guest.deeds.map(({ tool, risk }) => [tool, risk]),
      [
        ['terminal', 'LOW'],
        ['file_editor', 'LOW'],
        ['terminal', 'LOW'],
        ['terminal', 'HIGH'],
      ],
    )
    assert.match(guest.deeds[0]!.result, /mine\.txt/)
    assert.match(guest.deeds[2]!.result, /Hello from the Gantry demo! This is Linux/)
    assert.match(last, /folder is gone/)
    assert.match(last, HONEST)
    assert.match(last, /configure a model in the settings/)
    assert.equal(String(await desk.sh('ls -A')), 'mine.txt\n')
  })

  test('with a terminal alone it does the same', async () => {
    const { desk, visit: guest } = await visit([makeTerminal()])
    assert.match(await guest.say('hi'), /folder is gone/)
    assert.match(guest.deeds[2]!.result, /Hello from the Gantry demo! This is Linux/)
    assert.equal(String(await desk.sh('ls -A')), '')
  })

  test('what is rejected is not done, and the guide says so', async () => {
    const reject = (risk: SecurityRisk) => (risk === 'HIGH' ? 'This was rejected and not run. No.' : undefined)
    const { desk, visit: guest } = await visit([makeTerminal(), makeFileEditor()], 'true', reject)
    const last = await guest.say('hi')
    assert.match(last, /said no, so the folder is still there/)
    assert.match(last, HONEST)
    assert.equal(String(await desk.sh('ls -A')), 'gantry-demo\n')
  })

  test('a rejection of the first step ends the tour, with nothing done', async () => {
    const { visit: guest } = await visit([makeTerminal()], 'true', () => 'This was rejected and not run.')
    assert.match(await guest.say('hi'), /You said no to that step/)
    assert.equal(guest.deeds.length, 1)
  })

  test('a folder of the user’s with that name is left alone, and the tour can be taken again', async () => {
    const prepare =
      'mkdir gantry-demo gantry-demo-2; echo precious > gantry-demo/mine; for i in $(seq 200); do touch a$i; done'
    const { desk, visit: guest } = await visit([makeTerminal(), makeFileEditor()], prepare)
    for (const wish of ['hi', 'the tour again, please']) {
      const from = guest.deeds.length
      assert.match(await guest.say(wish), /folder is gone/)
      assert.equal(guest.deeds.length - from, 4)
      assert.match(guest.deeds.at(-1)!.command, /^rm -r gantry-demo-3 /)
    }
    assert.equal(String(await desk.get('gantry-demo/mine')), 'precious\n')
    assert.equal(String(await desk.sh('ls -d gantry-demo*')), 'gantry-demo\ngantry-demo-2\n')
  })

  test('a step that fails is not told as a success', async () => {
    const { visit: guest } = await visit([makeTerminal()], 'true', risk => (risk === 'HIGH' ? 'It failed.' : undefined))
    assert.match(await guest.say('hi'), /I cannot tell whether the folder is gone/)
  })

  test('nothing is deleted when the program could not be written or run', async () => {
    const { visit: blind } = await visit([makeTerminal()], 'mkdir gantry-demo', () => 'The tool failed.')
    assert.match(await blind.say('hi'), /That did not work/)
    assert.equal(blind.deeds.length, 1)
    const broken = { ...makeFileEditor(), run: async () => ({ content: [], is_error: true }) as never }
    const { visit: guest } = await visit([makeTerminal(), broken])
    assert.match(await guest.say('hi'), /That did not work/)
    assert.deepEqual(
      guest.deeds.map(({ risk }) => risk),
      ['LOW', 'LOW', 'LOW'],
    )
  })

  test('with an editor alone it looks, and leaves out the rest', async () => {
    const { visit: guest } = await visit([makeFileEditor()])
    const last = await guest.say('hi')
    assert.deepEqual(
      guest.deeds.map(({ command }) => command),
      ['view'],
    )
    assert.match(last, /has no terminal/)
    assert.match(last, HONEST)
  })
})

describe('the guide', () => {
  test('says what it is when it has no tools', async () => {
    const last = await new Visit([]).say('hi')
    assert.match(last, HONEST)
    assert.match(last, /no terminal/)
  })

  test('answers later questions, and honestly says when it cannot', async () => {
    const guest = new Visit([makeTerminal()], undefined, () => 'This was rejected and not run.')
    await guest.say('hi')
    for (const [question, answer] of [
      ['help', /I am the guide, a script/],
      ['Which models are there?', /choose a provider/],
      ['How do I confirm things?', /confirmation policy/],
      ['what is a sandbox', /file system and processes of its own/],
      ['What is the capital of France?', HONEST],
    ] as const)
      assert.match(await guest.say(question), answer, question)
    assert.equal(guest.deeds.length, 1)
  })

  test('goes on with the tour when the user only says something in between', async () => {
    const guest = new Visit([makeTerminal()], undefined, never)
    guest.messages.push(message('user', 'hi'))
    const call = { id: 'demo_remove_1', name: 'terminal', arguments: '{}', origin: 'completion' as const }
    guest.messages.push(message('assistant', '', { tool_calls: [call] }))
    guest.messages.push(message('tool', 'This was rejected and not run.', { tool_call_id: call.id }))
    assert.match(await guest.say('all right'), /said no, so the folder is still there/)
  })

  test('ends the tour when it can no longer see the beginning', async () => {
    const guest = new Visit([makeTerminal()], undefined, never)
    const call = { id: 'demo_write_1', name: 'terminal', arguments: '{}', origin: 'completion' as const }
    guest.messages.push(message('user', 'notes'), message('assistant', '', { tool_calls: [call] }))
    guest.messages.push(message('tool', 'done', { tool_call_id: call.id }))
    assert.match(await guest.run(), /can no longer see/)
  })

  test('says the same to the same, under ids of its own', async () => {
    const request = { messages: [message('user', 'hi')], tools: specs([makeTerminal()]) }
    const ask = () => demoModel.ask(request, () => {}, new AbortController().signal)
    const [one, other] = [await ask(), await ask()]
    assert.notEqual(one.id, other.id)
    assert.notEqual(one.calls[0]!.id, other.calls[0]!.id)
    const bare = ({ calls, ...reply }: typeof one) => ({
      ...reply,
      id: '',
      calls: calls.map(call => ({ ...call, id: '' })),
    })
    assert.deepEqual(bare(one), bare(other))
  })

  test('costs nothing, and counts by the length', async () => {
    assert.equal(demoModel.name, 'demo/guide')
    const reply = await demoModel.ask(
      { messages: [message('user', 'x'.repeat(4000))], tools: [] },
      () => {},
      new AbortController().signal,
    )
    assert.ok(reply.usage.prompt > 1000 && reply.usage.prompt < 1100)
    assert.equal(reply.usage.completion, Math.ceil(reply.text.length / 4))
    assert.equal(demoModel.cost(reply.usage), 0)
  })

  test('stops in the middle of a sentence when it is told to', async () => {
    const ending = new AbortController()
    const heard: unknown[] = []
    const asked = demoModel.ask(
      { messages: [message('user', 'hi')], tools: [] },
      delta => {
        heard.push(delta)
        if (heard.length === 3) ending.abort(new Error('enough'))
      },
      ending.signal,
    )
    await assert.rejects(asked, /enough/)
    assert.equal(heard.length, 3)
  })
})
