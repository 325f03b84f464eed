import { readObject, Unreadable } from './json-repair.ts'

/** A call that was written into the text of an answer. */
export interface TextCall {
  name: string
  /** JSON, as text. */
  arguments: string
  /** Why it must not be run. */
  problem: string | null
}

/**
 * The calls that a model wrote as text instead of making them, and the text without them. One is meant only where it begins a line, outside
 * code and thoughts, and names a tool that `knows` knows: everything else is talk about calls. Linear in the length of the text: whatever
 * was looked through is not looked through again. What comes behind the `limit` of calls stays text.
 */
export function textCalls(
  text: string,
  knows: (name: string) => boolean,
  limit: number,
): { text: string; calls: TextCall[] } {
  const calls: TextCall[] = []
  const kept: string[] = []
  let from = 0
  let spoken = false
  for (let mark = markAfter(text, 0, false); mark && calls.length < limit; ) {
    const { end, call } = passage(text, mark)
    const isCall = call !== undefined && knows(call.name)
    if (isCall) {
      const between = text.slice(from, mark.start)
      kept.push(between)
      doubt(calls.at(-1), between)
      spoken ||= calls.length > 0 && between.replace(WRAPPERS, '').trim() !== ''
      calls.push({ ...call, problem: call.problem ?? (spoken ? TOO_EARLY : null) })
      from = end
    }
    mark = markAfter(text, end, isCall)
  }
  if (calls.length === 0) return { text, calls }
  kept.push(text.slice(from))
  doubt(calls.at(-1), kept.at(-1)!)
  return { text: kept.join('').replace(WRAPPERS, '').trim(), calls }
}

/** An end too many behind a call: what seemed to be its end was part of a value. */
function doubt(call: TextCall | undefined, behind: string): void {
  if (call && /<\/(?:parameter|function|invoke)>/.test(behind)) call.problem ??= GARBLED
}

const TOO_EARLY =
  'This call was not run, for it was written before the result of an earlier one was there. Make it again if it is still right.'
const CUT_OFF =
  'This call was not run, for it ends too soon. Send it again, with long content in several smaller pieces.'
const GARBLED = 'This call was not run, for its parameters cannot be told apart. Make it as a tool call, not as text.'

const WRAPPERS = /<\/?(?:function_calls|tool_calls)>/g
const MARK =
  /^ {0,3}(?:<(?:function_calls|tool_calls)>\s*)?(`{3,}|~{3,}|<think(?:ing)?>|<tool_call>|<function=|<invoke name=)/gm
const BEHIND = /\s*(?:<\/?(?:function_calls|tool_calls)>\s*)*(<tool_call>|<function=|<invoke name=)/y

interface Mark {
  what: string
  start: number
  end: number
}

/** The next place where something begins; directly behind a call it need not begin a line. */
function markAfter(text: string, at: number, isBehindCall: boolean): Mark | undefined {
  const search = (pattern: RegExp) => {
    pattern.lastIndex = at
    return pattern.exec(text)
  }
  const found = (isBehindCall ? search(BEHIND) : null) ?? search(MARK)
  if (!found) return undefined
  const end = found.index + found[0].length
  return { what: found[1]!, start: end - found[1]!.length, end }
}

interface Passage {
  end: number
  call?: TextCall
}

function passage(text: string, mark: Mark): Passage {
  if (mark.what.startsWith('<think')) return { end: after(text, '</think', mark.end) ?? text.length }
  if (mark.what === '<tool_call>') return inJson(text, mark.end)
  if (mark.what.startsWith('<')) return inTags(text, mark.start)
  return { end: fenceEnd(text, mark) }
}

function fenceEnd(text: string, { what, end }: Mark): number {
  const fence = what.startsWith('`') ? /^ {0,3}(`{3,})/gm : /^ {0,3}(~{3,})/gm
  fence.lastIndex = end
  for (let found = fence.exec(text); found; found = fence.exec(text))
    if (found[1]!.length >= what.length) return fence.lastIndex
  return text.length
}

function after(text: string, what: string, from: number): number | undefined {
  const at = text.indexOf(what, from)
  return at < 0 ? undefined : at + what.length
}

const TAGS_INSIDE = /\s*(?=<function=)/y
const JSON_END = '</tool_call>'

/** `<tool_call>{"name": …, "arguments": …}</tool_call>` */
function inJson(text: string, start: number): Passage {
  TAGS_INSIDE.lastIndex = start
  if (TAGS_INSIDE.test(text)) {
    const { end, call } = inTags(text, TAGS_INSIDE.lastIndex)
    const closing = /\s*<\/tool_call>/y
    closing.lastIndex = end
    return { end: closing.test(text) ? closing.lastIndex : end, ...(call && { call }) }
  }
  const end = after(text, JSON_END, start)
  const body = text.slice(start, end === undefined ? undefined : end - JSON_END.length)
  const read = end === undefined ? unread(body, CUT_OFF) : jsonCall(body)
  return { end: end ?? text.length, ...(read && { call: read }) }
}

function jsonCall(body: string): TextCall | undefined {
  try {
    const { name, arguments: args, parameters } = readObject(body)
    if (typeof name !== 'string') return undefined
    const given = args ?? parameters ?? {}
    return { name, arguments: typeof given === 'string' ? given : JSON.stringify(given), problem: null }
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    return unread(body, `This call was not run, for it cannot be read: ${error.message}.`)
  }
}

function unread(body: string, problem: string): TextCall | undefined {
  const name = /["']name["']\s*:\s*["']([\w.:-]{1,128})["']/.exec(body)?.[1]
  return name === undefined ? undefined : { name, arguments: '{}', problem }
}

const NAME = /<(?:function=|invoke name=)["']?([\w.:-]{1,128})["']?\s*>/y
const PARAMETER = /\s*<parameter(?:=| name=)["']?([\w.-]{1,128})["']?\s*>/y
const PARAMETER_END = '</parameter>'
const TAGS_END = /\s*<\/(?:function|invoke)>/y
const NOTHING_MORE = /\s*$/y
/** A value that holds one of these may have ended at the wrong place. */
const NESTED = /<(?:parameter|function|invoke)[= ]/

/** `<function=name><parameter=key>value</parameter></function>`, or the same with `invoke`. */
function inTags(text: string, start: number): Passage {
  NAME.lastIndex = start
  const name = NAME.exec(text)?.[1]
  if (name === undefined) return { end: start + 1 }
  const given = new Map<string, string>()
  const call = (end: number, problem: string | null): Passage => ({
    end,
    call: { name, arguments: JSON.stringify(Object.fromEntries(given)), problem },
  })
  let at = NAME.lastIndex
  for (;;) {
    PARAMETER.lastIndex = at
    const key = PARAMETER.exec(text)?.[1]
    if (key === undefined) break
    const from = PARAMETER.lastIndex
    const end = after(text, PARAMETER_END, from)
    if (end === undefined) return call(text.length, CUT_OFF)
    at = end
    const value = text.slice(from, end - PARAMETER_END.length)
    if (given.has(key) || NESTED.test(value)) return call(text.length, GARBLED)
    given.set(key, value.replace(/^\n/, '').replace(/\n$/, ''))
  }
  TAGS_END.lastIndex = at
  if (TAGS_END.test(text)) return call(TAGS_END.lastIndex, null)
  NOTHING_MORE.lastIndex = at
  return call(text.length, NOTHING_MORE.test(text) ? CUT_OFF : GARBLED)
}
