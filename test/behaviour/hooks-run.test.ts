import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { matches } from '../../src/agent/hooks/matcher.ts'
import { type HookInput, type HookQuestion, Hooks, unsupportedHooks } from '../../src/agent/hooks.ts'
import { HookExecutionEvent } from '../../src/api/events.ts'
import { HookConfig, type HookEventType } from '../../src/api/hooks.ts'
import type { Command, Sandbox } from '../../src/sandbox/sandbox.ts'
import { Inside, KINDS } from '../support/inside.ts'
import { until } from '../support/wait.ts'

const kind = KINDS.find(({ skip }) => !skip)
const signal = new AbortController().signal
const stages: HookEventType[] = ['PreToolUse', 'PostToolUse', 'UserPromptSubmit', 'SessionStart', 'SessionEnd', 'Stop']
const blocking: HookEventType[] = ['PreToolUse', 'UserPromptSubmit', 'Stop']

describe('hooks', { skip: !kind && 'nothing isolates here' }, () => {
  let inside: Inside
  let sandbox: Sandbox
  before(async () => {
    inside = await Inside.open({ walls: kind!.walls })
    await inside.start('box')
    sandbox = inside.backend.sandbox('box')
    await inside.sh('mkdir -p /workspace/project')
  })
  after(() => inside[Symbol.asyncDispose]())

  type Written = string | { command?: string; [key: string]: unknown }
  const hooksFor = (
    stage: HookEventType,
    written: Written[],
    more: Partial<ConstructorParameters<typeof Hooks>[1]> = {},
  ) =>
    new Hooks(
      HookConfig.parse({
        [stage]: [{ hooks: written.map(one => (typeof one === 'string' ? { command: one } : one)) }],
      }),
      { sandbox: async () => sandbox, workingDir: '/workspace/project', sessionId: 'session-1', ...more },
    )
  const run = (stage: HookEventType, written: Written[], input: HookInput = { toolName: 'terminal' }) =>
    hooksFor(stage, written).run(stage, input, signal)
  const one = async (written: Written, stage: HookEventType = 'PreToolUse') => (await run(stage, [written]))[0]!

  test('are told everything on standard input and in four variables, in the working directory', async () => {
    const input = {
      toolName: 'terminal',
      toolInput: { command: `it's "$HOME" \n ü` },
      toolResponse: { exit_code: 0 },
      message: 'hello',
      metadata: { a: 1 },
    }
    const script = `cat; echo; pwd; echo "$OPENHANDS_PROJECT_DIR $OPENHANDS_SESSION_ID $OPENHANDS_EVENT_TYPE $OPENHANDS_TOOL_NAME"`
    const [result] = await run('PreToolUse', [script], input)
    const [json, ...lines] = result!.event.stdout.split('\n')
    assert.deepEqual(JSON.parse(json!), {
      event_type: 'PreToolUse',
      tool_name: 'terminal',
      tool_input: input.toolInput,
      tool_response: input.toolResponse,
      message: 'hello',
      session_id: 'session-1',
      working_dir: '/workspace/project',
      metadata: { a: 1 },
    })
    assert.deepEqual(lines.slice(0, 2), ['/workspace/project', '/workspace/project session-1 PreToolUse terminal'])
    assert.deepEqual(result!.event.hook_input, {
      tool_name: 'terminal',
      tool_input: input.toolInput,
      tool_response: input.toolResponse,
      message: 'hello',
    })
  })

  test('make events that readers take', async () => {
    for (const stage of stages)
      for (const written of [
        'exit 0',
        'echo no >&2; exit 2',
        'exit 7',
        { type: 'agent', name: 'x' },
        { type: 'prompt', prompt: 'x' },
      ]) {
        const { event } = await one(written, stage)
        HookExecutionEvent.parse({ ...event, id: 'x', timestamp: '2026-01-01T00:00:00.000000' })
        assert.deepEqual([event.source, event.hook_event_type], ['hook', stage])
      }
  })

  test('pass with 0, block with 2, and fail without blocking with anything else', async () => {
    const of = async (script: string) => {
      const { event, blocked, reason } = await one(script)
      assert.equal(event.blocked, blocked)
      assert.equal(event.reason, reason)
      return [event.success, blocked, event.exit_code, reason]
    }
    assert.deepEqual(await of('exit 0'), [true, false, 0, null])
    assert.deepEqual(await of('echo not this >&2; exit 2'), [false, true, 2, 'not this'])
    assert.deepEqual(await of('exit 2'), [false, true, 2, 'Blocked by the hook exit 2'])
    assert.deepEqual(await of('echo no >&2; exit 1'), [false, false, 1, null])
    assert.deepEqual(await of('no-such-program'), [false, false, 127, null])
    assert.deepEqual(await of('kill -9 $$'), [false, false, 137, null])
  })

  test('decide by JSON on standard output', async () => {
    const of = async (json: string, code = 0) => {
      const { blocked, reason, additionalContext, continue: goesOn } = await one(`printf '%s' '${json}'; exit ${code}`)
      return { blocked, reason, additionalContext, goesOn }
    }
    const passed = { blocked: false, reason: null, additionalContext: null, goesOn: true }
    assert.deepEqual(await of('{"decision":"allow","reason":"fine"}'), { ...passed, reason: 'fine' })
    assert.deepEqual(await of('{"decision":"deny","reason":"no"}'), { ...passed, blocked: true, reason: 'no' })
    assert.deepEqual(await of('{"decision":"DENY","reason":"no"}', 1), { ...passed, blocked: true, reason: 'no' })
    assert.deepEqual(await of('{"decision":"allow","reason":"no"}', 2), { ...passed, blocked: true, reason: 'no' })
    assert.deepEqual(await of('{"additionalContext":"know this"}'), { ...passed, additionalContext: 'know this' })
    assert.deepEqual(await of('{"continue":false,"reason":"stop"}'), {
      ...passed,
      blocked: true,
      reason: 'stop',
      goesOn: false,
    })
    for (const rubbish of [
      'deny',
      '"deny"',
      '["deny"]',
      'null',
      '{"decision":7,"reason":[],"additionalContext":{}}',
      '{"decision":"deny"',
    ])
      assert.deepEqual(await of(rubbish), passed, rubbish)
  })

  test('run one after the other, and where one can block, up to the first that does', async () => {
    await inside.sh('rm -f /workspace/project/order')
    const written = ['sleep 0.2; echo 1 >>order', 'echo 2 >>order; exit 2', 'echo 3 >>order']
    for (const stage of stages) {
      const results = await run(stage, written)
      const expected = blocking.includes(stage) ? '1\n2\n' : '1\n2\n3\n'
      assert.equal(await inside.sh('cd /workspace/project; cat order; rm order'), expected, stage)
      assert.deepEqual(
        results.map(({ blocked }) => blocked),
        blocking.includes(stage) ? [false, true] : [false, false, false],
      )
    }
  })

  test('that take too long are ended with all they started, and block nothing', async () => {
    const began = Date.now()
    const tree = 'sh -c "sleep 987 & sleep 987" & setsid sleep 987 & echo \'{"decision":"deny"}\'; sleep 987'
    const { event, blocked } = await one({ command: tree, timeout: 1 })
    assert.ok(Date.now() - began < 5_000)
    assert.deepEqual([event.success, event.exit_code, blocked], [false, -1, false])
    assert.match(event.error!, /timed out after 1 second/)
    await until('nothing of it is left', async () => (await processes('987')) === '')
  })

  /** Those that sleep for so many seconds; the brackets keep the search from finding itself. */
  const processes = (seconds: string) => {
    const pattern = `sleep [${seconds[0]}]${seconds.slice(1)}`
    return inside.sh(`cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -o '${pattern}' || true`)
  }

  test('are ended when the signal is aborted, which is the only thing that rejects', async () => {
    const abort = new AbortController()
    const why = new Error('interrupted')
    const running = hooksFor('Stop', ['sleep 986', 'touch second']).run('Stop', {}, abort.signal)
    await until('it runs', async () => (await processes('986')) !== '')
    abort.abort(why)
    await assert.rejects(running, why)
    await until('it is gone', async () => (await processes('986')) === '')
    assert.equal(await inside.sh('ls /workspace/project'), '', 'the next one did not start')
    const never = hooksFor('Stop', ['true'], { sandbox: () => new Promise(() => undefined) })
    const waiting = new AbortController()
    const stuck = never.run('Stop', {}, waiting.signal)
    waiting.abort(why)
    await assert.rejects(stuck, why)
  })

  test('may say much and read little: events have 50,000 characters, and the exit code still counts', async () => {
    const { event, blocked, reason } = await one('yes | head -c 3000000; yes no | head -c 3000000 >&2; exit 2')
    assert.ok(blocked)
    assert.deepEqual([event.stdout.length, event.stderr.length, reason!.length], [50_000, 50_000, 50_000])
    const large = { toolName: 'file_editor', toolInput: { file_text: 'x'.repeat(3_000_000) } }
    const [deaf] = await run('PreToolUse', ['exit 0'], large)
    assert.ok(deaf!.event.success)
    assert.ok(JSON.stringify(deaf!.event).length < 10_000)
    const [reader] = await run('PreToolUse', ['wc -c'], large)
    assert.ok(Number(reader!.event.stdout) > 3_000_000, 'it is told all')
    const flood = await one({ command: 'exec yes', timeout: 30 })
    assert.deepEqual([flood.event.success, flood.blocked, flood.event.stdout.length], [false, false, 50_000])
  })

  test('in the background hold nobody up, decide nothing, and end when the conversation is closed', async () => {
    const hooks = hooksFor('PreToolUse', [{ command: 'echo x >started; sleep 985; exit 2', async: true }, 'exit 0'])
    const began = Date.now()
    const results = await hooks.run('PreToolUse', { toolName: 'terminal' }, signal)
    assert.ok(Date.now() - began < 5_000)
    assert.deepEqual(
      results.map(({ blocked, event }) => [blocked, event.success, event.exit_code]),
      [
        [false, true, 0],
        [false, true, 0],
      ],
    )
    await until('it runs', async () => (await processes('985')) !== '')
    await hooks.close()
    assert.equal(await processes('985'), '')
    const [late] = await hooks.run('PreToolUse', {}, signal)
    assert.equal(late!.event.success, false)
    await inside.sh('rm /workspace/project/started')
  })

  test('in the background are limited in number', async () => {
    const hooks = hooksFor(
      'Stop',
      Array.from({ length: 20 }, () => ({ command: 'exec sleep 984', async: true })),
    )
    const results = await hooks.run('Stop', {}, signal)
    assert.equal(results.filter(({ event }) => event.success).length, 16)
    assert.match(results.at(-1)!.event.error!, /still in the background/)
    await until('all run', async () => (await processes('984')).match(/sleep/g)?.length === 16)
    await hooks.close()
    await until('none is left', async () => (await processes('984')) === '')
  })

  test('that cannot start block nothing and say why', async () => {
    const broken = hooksFor('PreToolUse', ['exit 2'], { sandbox: () => Promise.reject(new Error('no sandbox')) })
    const [result] = await broken.run('PreToolUse', {}, signal)
    assert.deepEqual([result!.blocked, result!.event.exit_code, result!.event.error], [false, -1, 'no sandbox'])
  })

  test('keep to what their conversation may reach', async () => {
    const seen: Command[] = []
    const exec = (command: Command) => {
      seen.push(command)
      return sandbox.exec({ argv: ['true'], stdin: true })
    }
    const watched = { ...sandbox, exec }
    const hooks = hooksFor('Stop', ['true'], { sandbox: async () => watched, egress: { mode: 'none' } })
    await hooks.run('Stop', {}, signal)
    assert.deepEqual(seen[0]?.egress, { mode: 'none' })
  })

  describe('of type prompt', () => {
    const asked = async (reply: (question: HookQuestion) => Promise<string>, more: object = {}) => {
      const hooks = hooksFor('PreToolUse', [{ type: 'prompt', name: 'guard', prompt: 'No deletions.', ...more }], {
        ask: reply,
      })
      return (await hooks.run('PreToolUse', { toolName: 'terminal', toolInput: { command: 'rm -rf x' } }, signal))[0]!
    }

    test('ask the model about the event, and its answer decides', async () => {
      let question: HookQuestion | undefined
      const denied = await asked(async given => {
        question = given
        return 'Sure:\n```json\n{"decision":"deny","reason":"it deletes"}\n```'
      })
      assert.deepEqual([denied.blocked, denied.reason, denied.event.hook_command], [true, 'it deletes', 'guard'])
      assert.match(question!.prompt, /No deletions\.[\s\S]*rm -rf x/)
      assert.equal((await asked(async () => '{"decision":"allow"}')).blocked, false)
    })

    test('block nothing when the model says something else, fails, or is silent', async () => {
      for (const rubbish of ['deny', '}{', '{'.repeat(100_000), ''])
        assert.equal((await asked(async () => rubbish)).blocked, false)
      const failed = await asked(() => Promise.reject(new Error('no credit')))
      assert.deepEqual([failed.blocked, failed.event.success, failed.event.error], [false, false, 'no credit'])
      const silent = await asked(() => new Promise(() => undefined), { timeout: 1 })
      assert.deepEqual([silent.blocked, silent.event.error], [false, 'The hook timed out after 1 seconds'])
      const alone = await one({ type: 'prompt', prompt: 'x' })
      assert.deepEqual([alone.blocked, alone.event.success], [false, false])
    })
  })
})

describe('a matcher', () => {
  test('means all, a name, or a pattern for the whole name', () => {
    const yes = [
      ['*', 'terminal'],
      ['', 'terminal'],
      ['*', undefined],
      ['terminal', 'terminal'],
      ['term.*', 'terminal'],
      ['a|terminal', 'terminal'],
      ['/term\\w+/', 'terminal'],
      ['/terminal/', 'terminal'],
      ['a.b', 'a.b'],
      ['[', '['],
    ] as const
    const no = [
      ['terminal', 'terminal2'],
      ['term', 'terminal'],
      ['term.*', 'xterminal'],
      ['a|term', 'terminal'],
      ['/term/', 'terminal'],
      ['terminal', undefined],
      ['.*', undefined],
      ['(', 'terminal'],
      ['/(/', '('],
      ['Terminal', 'terminal'],
    ] as const
    for (const [matcher, tool] of yes) assert.ok(matches(matcher, tool), `${matcher} means ${tool}`)
    for (const [matcher, tool] of no) assert.ok(!matches(matcher, tool), `${matcher} does not mean ${tool}`)
  })

  test('that would take for ever holds nobody up, and guards', () => {
    const began = performance.now()
    assert.ok(matches('(a+)+b', `${'a'.repeat(60)}`))
    assert.ok(performance.now() - began < 1_000)
  })
})

test('hooks of type agent are refused by stage and name', () => {
  const agent = { type: 'agent', prompt: 'p' }
  const config = HookConfig.parse({
    stop: [{ hooks: [{ ...agent, name: 'judge' }, { command: 'x' }] }],
    pre_tool_use: [{ hooks: [agent] }],
  })
  assert.deepEqual(unsupportedHooks(config), [
    'pre_tool_use: p is of type agent, which is not supported',
    'stop: judge is of type agent, which is not supported',
  ])
  assert.deepEqual(unsupportedHooks(HookConfig.parse({ stop: [{ hooks: [{ type: 'prompt', prompt: 'x' }] }] })), [])
})
