import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { understand } from '../../src/agent/calls.ts'
import type { Reply } from '../../src/agent/model.ts'
import { SecurityRisk } from '../../src/api/security.ts'
import { aCall, TOOLS } from '../support/calls.ts'
import { Random } from '../support/random.ts'
import { count } from '../support/server.ts'

type Said = Pick<Reply, 'text' | 'calls'>

const ARGUMENTS = [
  '{"command":"ls -la","timeout":10,"summary":"look","security_risk":"LOW"}',
  '{"command":"create","path":"/a/b.txt","file_text":"line\\nline \\"two\\" \\u00e9 😀"}',
  '{"command":"str_replace","path":"/a","old_str":"a\\tb","new_str":""}',
  '{"message":"All done.\\n- one\\n- two"}',
  "{'command': 'echo \\'hi\\'', 'is_input': True}",
  '{"a":[1,2,{"b":[null,true,-1.5e3]}],"c":{}}',
  '{}',
]
const TEXTS = [
  '<tool_call>{"name":"terminal","arguments":{"command":"ls"}}</tool_call>',
  '<function=terminal>\n<parameter=command>\nls\n</parameter>\n</function>',
  '<function_calls><invoke name="file_editor"><parameter name="path">/a</parameter></invoke></function_calls>',
  'I look.\n```xml\n<tool_call>{"name":"terminal"}</tool_call>\n```\n<think>hm</think>',
]
const NAMES = [
  'terminal',
  'file_editor',
  'finish',
  'bash',
  'ls',
  'grep',
  'nope',
  '',
  'terminal<|x|>',
  '__proto__',
  '\ud800',
  '工具',
]
const RUBBISH = [
  '\0',
  '\u001b[0m',
  '\ud800',
  '\udc00x',
  '\uFEFF',
  '"',
  "'",
  '\\',
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '\n',
  '```',
  'NaN',
  '1e999',
]
const MORE = [
  ...RUBBISH,
  '<tool_call>',
  '</parameter>',
  '<parameter=x>',
  '</function>',
  '<think>',
  '“',
  '\\u12',
  '\\x',
  '//',
  '/*',
  '{}',
  'null',
]

/** One thing wrong with a text that was right. */
const damages: ((random: Random, text: string) => string)[] = [
  (random, text) => text.slice(0, random.int(text.length + 1)),
  (random, text) => text.slice(random.int(text.length + 1)),
  (random, text) => at(random, text, (before, after) => before + random.pick(MORE) + after),
  (random, text) => at(random, text, (before, after) => before + after.slice(1)),
  (random, text) =>
    at(random, text, (before, after) => before + String.fromCharCode(random.int(65_536)) + after.slice(1)),
  (random, text) => at(random, text, (before, after) => after + before),
  (_, text) => text + text,
  (_, text) => JSON.stringify(text),
  (_, text) => `\`\`\`json\n${text}\n\`\`\``,
  (_, text) => text.replaceAll('"', "'"),
  (_, text) => text.replaceAll('\\', ''),
  (_, text) => text.replaceAll('\\n', '\n'),
  (_, text) => `[${text}]`,
  (random, text) => random.pick(['[', '{"a":', '"', '<function=terminal>']).repeat(random.int(2000)) + text,
]

function at(random: Random, text: string, change: (before: string, after: string) => string): string {
  const place = random.int(text.length + 1)
  return change(text.slice(0, place), text.slice(place))
}

function damaged(random: Random, text: string): string {
  let result = text
  for (let i = random.int(4); i >= 0; i--) result = random.pick(damages)(random, result).slice(0, 20_000)
  return result
}

function aReply(random: Random): Said {
  if (random.next() < 0.3) return { text: damaged(random, random.pick(TEXTS)), calls: [] }
  const ids = ['', 'a', 'a', 'b', '\ud800', ' ', `call_${random.int(1000)}`]
  const calls = Array.from({ length: random.next() < 0.02 ? 1000 : 1 + random.int(4) }, () =>
    aCall(random.pick(NAMES), damaged(random, random.pick(ARGUMENTS)), random.pick(ids)),
  )
  return { text: random.next() < 0.5 ? '' : random.pick(RUBBISH), calls }
}

function check(said: Said): ReturnType<typeof understand> {
  const found = understand(said, TOOLS)
  if (said.calls.length > 0) assert.equal(found.calls.length, said.calls.length)
  assert.equal(new Set(found.calls.map(({ call }) => call.id)).size, found.calls.length)
  assert.ok(found.text.isWellFormed())
  for (const { call, toolName, tool, action, error, claimed, summary } of found.calls) {
    assert.match(call.id, /^[\x21-\x7e]{1,256}$/)
    assert.match(call.name, /^[\w-]{1,64}$/)
    const args = JSON.parse(call.arguments)
    assert.ok(typeof args === 'object' && args !== null && !Array.isArray(args))
    assert.equal(tool, TOOLS.get(toolName))
    assert.equal(action === null, error !== null)
    assert.equal(action === null, summary === null)
    assert.ok(action === null || tool)
    assert.ok(JSON.stringify({ call, toolName, action, error, summary }).isWellFormed())
    // Escaped halves of pairs would pass the check above.
    assert.ok(!/\\ud[89a-f]/i.test(JSON.stringify({ args, action, error, summary })))
    SecurityRisk.parse(claimed)
    assert.equal(args._openhands_malformed_tool_call === true && action !== null, false)
  }
  return found
}

test('T-19: whatever a model writes, every call is understood or explained, and nothing is thrown', () => {
  const random = new Random()
  let ran = 0
  let refused = 0
  for (let i = 0; i < count({ sample: 500, deep: 50_000 }); i++) {
    const said = aReply(random)
    try {
      for (const { action } of check(said).calls) action ? ran++ : refused++
    } catch (error) {
      throw new Error(`seed ${random.seed}, reply ${i}: ${JSON.stringify(said).slice(0, 2000)}`, { cause: error })
    }
  }
  assert.ok(ran > 20 && refused > 20, `${ran} were run and ${refused} were refused`)
})

test('what was right is understood as it was, however it is spaced', () => {
  const random = new Random()
  for (let i = 0; i < count({ sample: 500, deep: 20_000 }); i++) {
    const command = Array.from({ length: random.int(30) }, () => String.fromCharCode(random.int(65_536))).join('')
    const args = JSON.stringify({ command, timeout: random.int(100) }, null, random.int(5))
    const [found] = check({ text: '', calls: [aCall('terminal', args)] }).calls
    assert.equal((found!.action as { command?: string }).command, command.toWellFormed())
  }
})

test('a repair never makes up or loses a character of a string', () => {
  const random = new Random()
  const single = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  const raw = (text: string) => `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
  for (let i = 0; i < count({ sample: 500, deep: 20_000 }); i++) {
    const command = Array.from({ length: random.int(30) }, () =>
      random.pick([...RUBBISH.filter(one => one.isWellFormed()), 'a', ' ']),
    ).join('')
    for (const text of [single(command), raw(command)]) {
      const [found] = check({ text: '', calls: [aCall('terminal', `{command: ${text},}`)] }).calls
      assert.equal((found!.action as { command?: string } | null)?.command, command, found!.error ?? '')
    }
  }
})

describe('5 MB of rubbish take no longer than their length', () => {
  const SIZE = 5_000_000
  const fill = (text: string) => text.repeat(Math.ceil(SIZE / text.length))
  const units = [
    ...[
      '[',
      '{',
      '"',
      '\\',
      "'",
      ' ',
      '\n',
      'a',
      '1',
      '{"a":',
      '{"a":1}',
      '}',
      '```',
      '```\n',
      '~~~\n',
      '\\u',
      '<|x|>',
    ],
    ...['<tool_call>', '<tool_call>\n', '<function=terminal>', '<function=terminal>\n', '<parameter=a>', '<think>\n'],
    ...[
      '<function=terminal><parameter=a>\n',
      '<function=terminal></function>\n',
      '<function_calls>\n',
      '<invoke name="x">\n',
    ],
    ...['<tool_call>"name":"x"\n', '<function=terminal>\n</parameter>\n', '    <', '</parameter>', '\u2028', '\ud800'],
  ]
  const PATIENCE_MS = 4000
  const timed = (said: Said) => {
    const start = performance.now()
    check(said)
    return performance.now() - start
  }
  for (const unit of units)
    test(JSON.stringify(unit), () => {
      const text = fill(unit)
      const under = (ms: number, where: string) => assert.ok(ms < PATIENCE_MS, `${where}: ${Math.round(ms)} ms`)
      under(timed({ text, calls: [] }), 'as text')
      under(timed({ text: `${text}\n</tool_call></function>`, calls: [] }), 'as text with an end')
      under(timed({ text: '', calls: [aCall('terminal', text.slice(0, 1_000_000))] }), 'as arguments')
      under(timed({ text: '', calls: [aCall('terminal', `{"command":"${text.slice(0, 900_000)}`)] }), 'in arguments')
      under(timed({ text: '', calls: [aCall('terminal', text)] }), 'as arguments that are too long')
    })
})
