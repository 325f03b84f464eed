import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CALLS } from '../../src/agent/calls.ts'
import { ls, understoodText } from '../support/calls.ts'

const JSON_CALL = '<tool_call>\n{"name": "terminal", "arguments": {"command": "ls"}}\n</tool_call>'
const TAG_CALL = '<function=terminal>\n<parameter=command>ls</parameter>\n</function>'
const INVOKE = '<invoke name="terminal"><parameter name="command">ls</parameter></invoke>'

describe('a call that was written as text is understood', () => {
  const written: [what: string, text: string][] = [
    ['as JSON', JSON_CALL],
    ['as tags', TAG_CALL],
    ['as tags with names as attributes', INVOKE],
    ['as tags inside the tag for JSON', `<tool_call>\n${TAG_CALL}\n</tool_call>`],
    ['inside the tag for several', `<function_calls>\n${INVOKE}\n</function_calls>`],
    ['inside the tag for several, on one line', `<function_calls>${INVOKE}</function_calls>`],
    ['with parameters instead of arguments', JSON_CALL.replace('arguments', 'parameters')],
    ['with JSON in a string', JSON_CALL.replace('{"command": "ls"}', JSON.stringify('{"command":"ls"}'))],
    ['with single quotes', JSON_CALL.replaceAll('"', "'")],
    ['under another name', TAG_CALL.replace('terminal', 'execute_bash')],
    ['with line breaks around the value', TAG_CALL.replace('>ls<', '>\nls\n<')],
    ['indented a little', `  ${TAG_CALL}`],
    ['behind a thought', `<think>\nI could ${JSON_CALL}\n${JSON_CALL}\n</think>\n${JSON_CALL}`],
    ['behind code', `\`\`\`xml\n${TAG_CALL}\n\`\`\`\n${TAG_CALL}`],
  ]
  for (const [what, text] of written)
    test(what, () => {
      const { calls } = understoodText(text)
      assert.deepEqual(
        calls.map(({ action, error }) => action ?? error),
        [ls()],
      )
      assert.notEqual(calls[0]!.call.id, '')
      assert.equal(calls[0]!.toolName, 'terminal')
    })

  test('and is taken out of the text', () => {
    assert.equal(understoodText(`I look.\n${JSON_CALL}`).text, 'I look.')
    assert.equal(understoodText(`<function_calls>\n${INVOKE}\n</function_calls>`).text, '')
  })
  test('with its values as the tool takes them', () => {
    const text =
      '<function=file_editor><parameter=path>/a</parameter><parameter=view_range>[1, 2]</parameter></function>'
    const [call] = understoodText(text).calls
    assert.deepEqual(call!.action, { kind: 'FileEditorAction', command: 'view', path: '/a', view_range: [1, 2] })
  })
  test('with whatever is in a value, code and the other notation included', () => {
    const content = `# How\n\`\`\`\n${JSON_CALL}\n\`\`\`\n<b>&amp;</b>`
    const text = `<function=file_editor><parameter=path>/a</parameter><parameter=file_text>${content}</parameter></function>`
    assert.deepEqual(
      understoodText(text).calls.map(({ action }) => action),
      [{ kind: 'FileEditorAction', command: 'create', path: '/a', file_text: content }],
    )
  })
  test('several of them, directly behind each other', () => {
    const { calls, text } = understoodText(`${JSON_CALL}${JSON_CALL} ${TAG_CALL}\n\n${INVOKE}`)
    assert.deepEqual(
      calls.map(({ action }) => action),
      [ls(), ls(), ls(), ls()],
    )
    assert.equal(new Set(calls.map(({ call }) => call.id)).size, 4)
    assert.equal(text, '')
  })
})

test('of very many, one too many is answered with an error and the rest stays text', () => {
  const { calls, text } = understoodText(JSON_CALL.repeat(CALLS + 50))
  assert.equal(calls.length, CALLS + 1)
  assert.equal(
    calls.findIndex(({ action }) => action === null),
    CALLS,
  )
  assert.match(calls.at(-1)!.error!, /Make fewer/)
  assert.equal(text, JSON_CALL.repeat(49))
})

describe('talk about calls is only talk', () => {
  const talk: [what: string, text: string][] = [
    ['in a code block', `Write\n\`\`\`\n${JSON_CALL}\n\`\`\`\nand wait.`],
    ['in a code block of tildes', `~~~xml\n${TAG_CALL}\n~~~`],
    ['in a longer code block', `\`\`\`\`\n\`\`\`\n${TAG_CALL}\n\`\`\`\n\`\`\`\``],
    ['in a code block that never ends', `\`\`\`\n${INVOKE}`],
    ['in indented code', `    ${INVOKE}`],
    ['in a sentence', `You write ${INVOKE} for that.`],
    ['in inline code', `\`${INVOKE}\``],
    ['in a quotation', `> ${INVOKE}`],
    ['in a thought', `<think>\n${JSON_CALL}\n</think>\nNo.`],
    ['in a thought that never ends', `<thinking>\n${TAG_CALL}`],
    ['of a tool that is not there', JSON_CALL.replace('terminal', 'launch')],
    ['of a tool that is not there, as tags', TAG_CALL.replace('terminal', 'launch')],
    ['without a name', '<tool_call>{"arguments":{}}</tool_call>'],
    ['without anything', '<tool_call>\n<function=>\n<invoke name="">'],
    ['with the tag alone', 'The tag\n<tool_call>\nbegins a call.'],
  ]
  for (const [what, text] of talk) test(what, () => assert.deepEqual(understoodText(text), { text, calls: [] }))

  test('a call behind a call of nobody is understood', () => {
    const { calls } = understoodText(`${JSON_CALL.replace('terminal', 'launch')}\n${JSON_CALL}`)
    assert.deepEqual(
      calls.map(({ action }) => action),
      [ls()],
    )
  })
})

describe('a call that was written as text and is not certain is not run', () => {
  const edit = (content: string) =>
    `<function=file_editor>\n<parameter=path>/a</parameter>\n<parameter=file_text>${content}</parameter>\n</function>`

  for (const whole of [JSON_CALL, TAG_CALL, INVOKE])
    test(`wherever it is cut off: ${whole.slice(0, 12)}`, () => {
      for (let end = 1; end < whole.length; end++)
        assert.deepEqual(
          understoodText(whole.slice(0, end)).calls.filter(({ action }) => action),
          [],
          whole.slice(0, end),
        )
    })
  test('cut off, it is given back to the model', () => {
    assert.match(understoodText(TAG_CALL.slice(0, -15)).calls[0]!.error!, /ends too soon/)
    assert.match(understoodText(TAG_CALL.slice(0, -3)).calls[0]!.error!, /not run/)
    assert.match(understoodText(JSON_CALL.slice(0, -20)).calls[0]!.error!, /ends too soon/)
  })
  const doubtful: [what: string, text: string, error: RegExp][] = [
    ['a value that holds a call', edit(`Example:\n${TAG_CALL}\n`), /told apart/],
    [
      'a value that holds a call, cut off behind it',
      `${edit(TAG_CALL).split('</function>')[0]}</function>`,
      /told apart/,
    ],
    ['a value that holds the end of a call', edit('a</parameter>\n</function>\nb'), /told apart/],
    ['a value that holds the end of a value', edit('a</parameter> b'), /told apart/],
    [
      'a parameter twice',
      TAG_CALL.replace('</function>', '<parameter=command>pwd</parameter></function>'),
      /told apart/,
    ],
    ['JSON that is none', JSON_CALL.replace('"ls"', '"a "b""'), /comma or the end/],
  ]
  for (const [what, text, error] of doubtful)
    test(what, () => {
      const { calls } = understoodText(text)
      assert.deepEqual(
        calls.map(({ action }) => action),
        [null],
      )
      assert.match(calls[0]!.error!, error)
    })
  test('a value that holds the end of a call, with another call behind it', () => {
    const { calls } = understoodText(`${edit('a</parameter>\n</function>\nb')}\n${JSON_CALL}`)
    assert.deepEqual(
      calls.map(({ action }) => action),
      [null, null],
    )
  })
  test('a call behind a result that the model made up', () => {
    const { calls } = understoodText(`${JSON_CALL}\nThe folder is empty, so:\n${JSON_CALL.replace('ls', 'rm -r .')}`)
    assert.deepEqual(
      calls.map(({ action }) => action),
      [ls(), null],
    )
    assert.match(calls[1]!.error!, /before the result/)
  })
})
