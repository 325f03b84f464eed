import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as z from 'zod'
import { CALLS, understand } from '../../src/agent/calls.ts'
import { aCall, aTool, ls, TOOLS, toolsOf, understoodCall } from '../support/calls.ts'

const understood = (name: string, args: string) => {
  const { action, error } = understoodCall(name, args)
  assert.equal(error, null)
  return action
}

const refused = (name: string, args: string): string => {
  const { action, error, summary } = understoodCall(name, args)
  assert.equal(action, null)
  assert.equal(summary, null)
  return error!
}

describe('arguments written wrong whose meaning is certain are repaired', () => {
  const repaired: [what: string, args: string, command: string][] = [
    ['as they should be', '{"command":"ls"}', 'ls'],
    ['a trailing comma', '{"command":"ls",}', 'ls'],
    ['a raw line break in a string', '{"command":"a\nb"}', 'a\nb'],
    ['a raw tab and control character in a string', '{"command":"a\tb\u0001"}', 'a\tb\u0001'],
    ['single quotes', "{'command': 'ls'}", 'ls'],
    ['a Python string with quotes in it', `{'command': 'echo "it\\'s"'}`, `echo "it's"`],
    ['a Python escape', "{'command': '\\x41\\u0042'}", 'AB'],
    ['Python literals', "{'command': 'ls', 'is_input': False, 'timeout': None}", 'ls'],
    ['names without quotes', '{command: "ls"}', 'ls'],
    ['a code fence', '```json\n{"command":"ls"}\n```', 'ls'],
    ['a code fence without a language', '```\n{"command":"ls"}```', 'ls'],
    ['a byte order mark', '\uFEFF{"command":"ls"}', 'ls'],
    ['NUL characters around it', '\0{"command":"ls"}\0\0', 'ls'],
    ['JSON in a string', JSON.stringify('{"command":"ls"}'), 'ls'],
    ['JSON in a string in a string', JSON.stringify(JSON.stringify('{"command":"ls"}')), 'ls'],
    ['loose JSON in a string', JSON.stringify("{'command':'ls',}"), 'ls'],
    ['an array of one object', '[{"command":"ls"}]', 'ls'],
    ['the same object twice', '{"command":"ls"}{"command": "ls"}', 'ls'],
    ['an empty object before it', '{}{"command":"ls"}', 'ls'],
    ['an empty object after it', '{"command":"ls"}\n{}', 'ls'],
    ['braces too many', '{"command":"ls"}}]', 'ls'],
    ['a closing tag behind it', '{"command":"ls"}</tool_call>', 'ls'],
    ['a control token behind it', '{"command":"ls"}<|im_end|>', 'ls'],
    ['nulls', '{"command":"ls","timeout":null,"is_input":null,"reset":null}', 'ls'],
    ['a lone surrogate, escaped', '{"command":"ls \\ud800"}', 'ls \ufffd'],
    ['a lone surrogate, raw', '{"command":"ls \ud800"}', 'ls \ufffd'],
    ['a pair of surrogates, escaped', '{"command":"ls \\ud83d\\ude00"}', 'ls 😀'],
    ['a flag as text', '{"command":"ls","is_input":"false"}', 'ls'],
  ]
  for (const [what, args, command] of repaired)
    test(what, () => {
      const { call, action, error } = understoodCall('terminal', args)
      assert.equal(error, null)
      assert.deepEqual(action, ls(command))
      assert.equal(JSON.parse(call.arguments).command, command)
    })

  test('a number, a list and a flag that were written as text', () => {
    assert.deepEqual(understood('terminal', '{"command":"ls","timeout":"1.5","reset":"True"}'), {
      ...ls(),
      timeout: 1.5,
      reset: true,
    })
    assert.deepEqual(understood('file_editor', '{"command":"view","path":"/a","view_range":"[1, 2]"}'), {
      kind: 'FileEditorAction',
      command: 'view',
      path: '/a',
      view_range: [1, 2],
    })
  })

  test('text that looks like a number stays text where text is wanted', () => {
    assert.deepEqual(understood('terminal', '{"command":"1"}'), ls('1'))
    assert.deepEqual(understood('terminal', '{"command":"{\\"a\\":1}"}'), ls('{"a":1}'))
  })

  for (const args of ['', '  \n', '{}', 'null', 'None', '\uFEFF'])
    test(`no arguments, written as ${JSON.stringify(args)}`, () => {
      const { action, call } = understoodCall('browser_list_tabs', args)
      assert.deepEqual(action, { kind: 'BrowserListTabsAction' })
      assert.equal(call.arguments, '{}')
    })
})

describe('arguments that cannot be understood with certainty are given back to the model', () => {
  const long = 'x'.repeat(100)
  const whole = `{"command":"create","path":"/a","file_text":"${long}\\n\\u00e9"}`
  test('wherever a call is cut off, it is not run', () => {
    for (let end = 1; end < whole.length; end++)
      assert.match(refused('file_editor', whole.slice(0, end)), /end too soon/)
  })
  test('a replacement that lost its second half is no deletion', () => {
    assert.match(refused('file_editor', '{"command":"str_replace","path":"/a","old_str":"b"'), /smaller pieces/)
  })
  const unreadable: [what: string, args: string, error: RegExp][] = [
    ['a cut string in Python’s quotes', "{'command': 'ls", /end too soon/],
    ['a cut string in a string', JSON.stringify('{"command":"ls'), /end too soon/],
    ['a number that may go on', '{"timeout":1', /end too soon/],
    ['quotes that are not escaped', '{"command":"echo "hi" there"}', /comma or the end is missing at character 18/],
    ['a backslash that may mean two things', '{"command":"grep \\d"}', /\\d is no escape/],
    ['an escaped apostrophe, which a shell may want so', '{"command":"it\\\'s"}', /is no escape/],
    ['a wrong unicode escape', '{"command":"\\uZZZZ"}', /escape is wrong/],
    ['two different objects', '{"command":"ls"}{"command":"pwd"}', /several objects/],
    ['words behind it', '{"command":"ls"} and then', /something else follows/],
    ['NaN', '{"command":"ls","timeout":NaN}', /'NaN' is no JSON value/],
    ['Infinity', '{"command":"ls","timeout":-Infinity}', /missing/],
    ['a number beyond all', '{"command":"ls","timeout":1e999}', /too large/],
    ['an array', '["ls"]', /they are a string/],
    ['a longer array', '[{"command":"ls"},{"command":"pwd"}]', /they are an array/],
    ['a string', '"ls"', /they are a string/],
    ['a number', '7', /they are the number 7/],
    ['a flag', 'true', /they are the boolean true/],
    ['a bare command', 'ls -la', /'ls' is no JSON value/],
    ['typographic quotes', '{“command”: “ls”}', /a name is missing/],
    ['a comma too many', '{"command":"ls",,"reset":true}', /a name is missing/],
    ['brackets that do not match', '{"command":["ls"}', /comma or the end/],
    ['a missing colon', '{"command" "ls"}', /colon is missing/],
    ['valid JSON that nests too deep', `{"command":${'['.repeat(5000)}${']'.repeat(5000)}}`, /nest deeper/],
    ['loose JSON that nests too deep', `{'command':${'['.repeat(5000)}${']'.repeat(5000)}}`, /nest deeper/],
    ['endless nesting', '['.repeat(100_000), /nest deeper|end too soon/],
  ]
  for (const [what, args, error] of unreadable)
    test(what, () => {
      const found = understoodCall('terminal', args)
      assert.equal(found.action, null)
      assert.match(found.error!, error)
      assert.deepEqual(JSON.parse(found.call.arguments), { _openhands_malformed_tool_call: true, error: found.error })
      assert.equal(found.toolName, 'terminal')
    })
  test('more than a hundred thousand characters', () => {
    const { error, call } = understoodCall('terminal', JSON.stringify({ command: 'x'.repeat(5_000_000) }))
    assert.match(error!, /longer than 100000 characters/)
    assert.ok(call.arguments.length < 1000)
  })
  test('arguments of another kind are explained, and kept as they were', () => {
    const { error, call, action } = understoodCall('terminal', '{"command":7}')
    assert.equal(action, null)
    assert.match(error!, /no arguments for 'terminal'.*command/s)
    assert.equal(call.arguments, '{"command":7}')
  })
  test('a tool that throws something else harms nobody', () => {
    const broken = { ...TOOLS.get('finish')!, understand: () => assert.fail('oh') }
    const { action, error } = understoodCall('finish', '{}', toolsOf(broken))
    assert.equal(action, null)
    assert.match(error!, /oh/)
  })
  test('keys of Object’s own do no harm', () => {
    assert.deepEqual(understood('terminal', '{"command":"ls","__proto__":{"reset":true},"constructor":1}'), ls())
  })
})

describe('names', () => {
  const file = (args: object) => ({ kind: 'FileEditorAction', path: '/a', ...args })
  const names: [name: string, args: string, tool: string, action: object][] = [
    ['bash', '{"command":"ls"}', 'terminal', ls()],
    ['command', '{"command":"ls"}', 'terminal', ls()],
    ['execute', '{"command":"ls"}', 'terminal', ls()],
    ['execute_bash', '{"command":"ls"}', 'terminal', ls()],
    ['reset', '{"command":"","reset":true}', 'terminal', { ...ls(''), reset: true }],
    ['Terminal', '{"command":"ls"}', 'terminal', ls()],
    [' terminal\n', '{"command":"ls"}', 'terminal', ls()],
    ['terminal<|channel|>commentary', '{"command":"ls"}', 'terminal', ls()],
    ['terminal(', '{"command":"ls"}', 'terminal', ls()],
    ['terminal.', '{"command":"ls"}', 'terminal', ls()],
    ['functions.terminal', '{"command":"ls"}', 'terminal', ls()],
    ['git', '{"command":"status"}', 'terminal', ls('git status')],
    ['git', '{"command":"cd a && git status"}', 'terminal', ls('cd a && git status')],
    ['git', '{}', 'terminal', ls('git')],
    ['ls', '', 'terminal', ls('ls')],
    ['pwd', '{"summary":"where am I"}', 'terminal', ls('pwd')],
    ['find', '{"path":null}', 'terminal', ls('find')],
    ['grep', '{"pattern":"it\'s"}', 'terminal', ls("grep -rnE -e 'it'\\''s' -- '.'")],
    [
      'grep',
      '{"pattern":"-x","path":"/a b","include":"*.ts"}',
      'terminal',
      ls("grep -rnE '--include=*.ts' -e '-x' -- '/a b'"),
    ],
    ['str_replace_editor', '{"command":"view","path":"/a"}', 'file_editor', file({ command: 'view' })],
    [
      'str_replace',
      '{"path":"/a","old_str":"b","new_str":"c"}',
      'file_editor',
      file({ command: 'str_replace', old_str: 'b', new_str: 'c' }),
    ],
    [
      'file_editor',
      '{"path":"/a","insert_line":"0","new_str":"c"}',
      'file_editor',
      file({ command: 'insert', insert_line: 0, new_str: 'c' }),
    ],
    ['file_editor', '{"path":"/a","file_text":""}', 'file_editor', file({ command: 'create', file_text: '' })],
    ['file_editor', '{"path":"/a","old_str":null}', 'file_editor', file({ command: 'view' })],
  ]
  for (const [name, args, tool, action] of names)
    test(`${JSON.stringify(name)} with ${args || 'nothing'} is ${tool}`, () => {
      const found = understoodCall(name, args)
      assert.equal(found.error, null)
      assert.equal(found.toolName, tool)
      assert.equal(found.tool, TOOLS.get(tool))
      assert.deepEqual(found.action, action)
      assert.match(found.call.name, /^[\w-]+$/)
    })

  for (const [name, args] of [
    ['nope', '{}'],
    ['', '{}'],
    ['💥', '{}'],
    ['ls', '{"path":"/"}'],
    ['grep', '{"pattern":"a","context":3}'],
    ['grep', '{"pattern":"a\\u0000"}'],
    ['grep', '{}'],
    ['constructor', '{}'],
    ['x'.repeat(5_000_000), '{}'],
  ] as const)
    test(`${JSON.stringify(name.slice(0, 20))} with ${args} is nobody, and the model is told who there is`, () => {
      const found = understoodCall(name, args)
      assert.match(found.error!, /There is no tool .*terminal, file_editor, finish/)
      assert.ok(found.error!.length < 1000)
      assert.equal(found.tool, undefined)
      assert.match(found.call.name, /^[\w-]{1,64}$/)
    })

  test('an alias counts only while no tool has that name itself', () => {
    const own = aTool('bash', 'ThinkAction', z.object({ command: z.string() }))
    const grep = aTool('grep', 'GrepAction', z.object({ pattern: z.string() }))
    const tools = toolsOf(...TOOLS.values(), own, grep)
    assert.equal(understoodCall('bash', '{"command":"ls"}', tools).action?.kind, 'ThinkAction')
    assert.equal(understoodCall('grep', '{"pattern":"a"}', tools).action?.kind, 'GrepAction')
  })
  test('without a terminal nothing becomes a command', () => {
    const tools = toolsOf(TOOLS.get('finish')!)
    for (const name of ['bash', 'ls', 'git']) assert.equal(understoodCall(name, '{}', tools).action, null)
    assert.equal(understoodCall('grep', '{"pattern":"a"}', tools).action, null)
  })
  test('a name that providers do not take is kept when a tool has it', () => {
    const odd = aTool('server.look', 'MCPToolAction', z.object({}))
    const found = understoodCall('server.look', '{}', toolsOf(odd))
    assert.equal(found.toolName, 'server.look')
    assert.equal(found.call.name, 'server.look')
    assert.equal(understoodCall('server.look<|call|>', '{}', toolsOf(odd)).toolName, 'server.look')
  })
})

describe('what stands beside the arguments', () => {
  test('summary and risk are told and not given to the tool', () => {
    const given: unknown[] = []
    const terminal = TOOLS.get('terminal')!
    const understand = (args: Record<string, unknown>) => {
      given.push(args)
      return terminal.understand(args)
    }
    const spy = { ...terminal, understand }
    const args = '{"command":"ls","summary":" looking ","security_risk":"low"}'
    const found = understoodCall('terminal', args, toolsOf(spy))
    assert.deepEqual(given, [{ command: 'ls' }])
    assert.equal(found.summary, 'looking')
    assert.equal(found.claimed, 'LOW')
    assert.equal(found.call.arguments, '{"command":"ls","summary":" looking ","security_risk":"low"}')
  })
  for (const key of [
    'security_risk',
    'securityRisk',
    'security-risk',
    'security_risks',
    'securty_risk',
    'Security Risk',
  ])
    test(`the risk may be written as ${key}`, () => {
      const found = understoodCall('terminal', JSON.stringify({ command: 'ls', [key]: 'HIGH' }))
      assert.equal(found.claimed, 'HIGH')
      assert.deepEqual(found.action, ls())
    })
  test('a risk that is none is unknown', () => {
    for (const risk of ['none', 3, ['LOW'], null, ''])
      assert.equal(
        understoodCall('terminal', JSON.stringify({ command: 'ls', security_risk: risk })).claimed,
        'UNKNOWN',
      )
  })
  test('the claim is known even of a call that is not understood', () => {
    assert.equal(understoodCall('terminal', '{"security_risk":"HIGH"}').claimed, 'HIGH')
  })
  test('a tool with such parameters of its own gets them', () => {
    const ticket = aTool('ticket', 'ThinkAction', z.object({ summary: z.string(), security_risk: z.string() }))
    const found = understoodCall('ticket', '{"summary":"broken","security_risk":"HIGH"}', toolsOf(ticket))
    assert.deepEqual(found.action, { kind: 'ThinkAction', summary: 'broken', security_risk: 'HIGH' })
    assert.equal(found.claimed, 'UNKNOWN')
    assert.equal(found.summary, 'ticket: {"summary":"broken","security_risk":"HIGH"}')
  })
  test('without a summary the call is its own, bounded', () => {
    assert.equal(understoodCall('bash', '{ "command": "ls" }').summary, 'terminal: {"command":"ls"}')
    assert.equal(understoodCall('terminal', '{"command":"ls","summary":7}').summary, 'terminal: {"command":"ls"}')
    assert.ok(understoodCall('terminal', JSON.stringify({ command: '😀'.repeat(5000) })).summary!.isWellFormed())
    assert.ok(understoodCall('terminal', JSON.stringify({ command: 'x'.repeat(5000) })).summary!.length <= 2000)
  })
})

describe('several calls in one answer', () => {
  const answered = (...calls: ReturnType<typeof aCall>[]) => understand({ text: 'Well', calls }, TOOLS).calls

  test('ids that are empty, doubled or rubbish are replaced, the rest is kept', () => {
    const ids = ['a', '', 'a', '', ' ', 'b\n', '\ud800', 'x'.repeat(300), 'b']
    const found = answered(...ids.map((id, i) => aCall('terminal', `{"command":"${i}"}`, id)))
    assert.equal(found[0]!.call.id, 'a')
    assert.equal(found[8]!.call.id, 'b')
    assert.equal(new Set(found.map(({ call }) => call.id)).size, ids.length)
    assert.ok(found.every(({ call, action }) => /^[\x21-\x7e]{1,40}$/.test(call.id) && action !== null))
  })
  test('the very same call twice is run once', () => {
    const [first, second] = answered(
      aCall('terminal', '{"command":"ls"}', 'a'),
      aCall('terminal', '{"command":"ls"}', 'a'),
    )
    assert.deepEqual(first!.action, ls())
    assert.equal(second!.action, null)
    assert.match(second!.error!, /same as an earlier one/)
    assert.equal(second!.call.arguments, '{"command":"ls"}')
  })
  test('a call that is made twice under two ids is meant twice', () => {
    const found = answered(aCall('terminal', '{"command":"ls"}', 'a'), aCall('terminal', '{"command":"ls"}', 'b'))
    assert.ok(found.every(({ action }) => action !== null))
  })
  test('an id of an earlier answer is not used again', () => {
    const calls = [aCall('terminal', '{"command":"ls"}', 'call_0'), aCall('terminal', '{"command":"ls"}', 'call_1')]
    const found = understand({ text: '', calls }, TOOLS, id => id === 'call_0').calls
    assert.notEqual(found[0]!.call.id, 'call_0')
    assert.equal(found[1]!.call.id, 'call_1')
    assert.ok(found.every(({ action }) => action !== null))
  })
  test('those beyond the limit are answered with an error', () => {
    const found = answered(...Array.from({ length: 1000 }, (_, i) => aCall('terminal', `{"command":"${i}"}`)))
    assert.equal(found.length, 1000)
    assert.equal(
      found.findIndex(({ action }) => action === null),
      CALLS,
    )
    assert.ok(found.slice(CALLS).every(({ action, error }) => action === null && /Make fewer/.test(error!)))
  })
  test('where there are calls, the text is only text', () => {
    const text = '<tool_call>{"name":"terminal","arguments":{"command":"ls"}}</tool_call>'
    const found = understand({ text, calls: [aCall('finish', '{"message":"done"}')] }, TOOLS)
    assert.equal(found.text, text)
    assert.deepEqual(
      found.calls.map(({ toolName }) => toolName),
      ['finish'],
    )
  })
})
