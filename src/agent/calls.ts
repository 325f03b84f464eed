import type { Action } from '../api/actions.ts'
import type { MessageToolCall } from '../api/common.ts'
import type { SecurityRisk } from '../api/security.ts'
import { hexUuid, newId } from '../lib/id.ts'
import { fitting, propertiesOf, separated } from './call-arguments.ts'
import { type Named, named, shaped } from './call-names.ts'
import { readObject, Unreadable } from './json-repair.ts'
import type { Reply } from './model.ts'
import { textCalls } from './text-calls.ts'
import { Misunderstood, type Tool } from './tool.ts'

/** More in one answer are a model gone astray. */
export const CALLS = 100
/** Longer ones would make events that slow readers cannot take. */
const ARGUMENT_CHARACTERS = 100_000
const SUMMARY_CHARACTERS = 2000
const ERROR_CHARACTERS = 4000

/** A call of the model's, and what it means. */
export interface Understood {
  /** With a unique, non-empty id and arguments that are JSON: what goes into the log and back to the model. */
  call: MessageToolCall
  /** As the tool is called, whatever the model called it. */
  toolName: string
  tool: Tool | undefined
  /** Null when it could not be understood: `error` says why, for the model. */
  action: Action | null
  error: string | null
  /** What the model says of its risk. */
  claimed: SecurityRisk
  /** What the model says it is for, else the call itself; null without an action. */
  summary: string | null
}

/**
 * What a model wants done. Never throws, and every call is there: what was written wrong is repaired where its meaning is certain, and
 * is an error for the model where it is not. `taken` knows the ids of earlier calls: some providers count from zero in every answer, and
 * results are found by them.
 */
export function understand(
  { text, calls }: Pick<Reply, 'text' | 'calls'>,
  tools: ReadonlyMap<string, Tool>,
  taken: (id: string) => boolean = () => false,
): { text: string; calls: Understood[] } {
  const asked = calls.length > 0 ? { text, calls: calls.map(unproblematic) } : written(text.toWellFormed(), tools)
  const seen = new Map<string, MessageToolCall>()
  return {
    text: asked.text.toWellFormed(),
    calls: asked.calls.map(({ call, problem }, i) => {
      const first = seen.get(call.id)
      const isRepeated = first?.name === call.name && first.arguments === call.arguments
      const isNew = isUsable(call.id) && !first
      if (isNew) seen.set(call.id, call)
      const id = isNew && !taken(call.id) ? call.id : `call_${hexUuid(newId())}`
      return one({ ...call, id }, problem ?? (i >= CALLS ? TOO_MANY : isRepeated ? REPEATED : null), tools)
    }),
  }
}

interface Asked {
  call: MessageToolCall
  problem: string | null
}

const unproblematic = (call: MessageToolCall): Asked => ({ call, problem: null })

/** One too many is looked for, so that the model hears of it. */
function written(text: string, tools: ReadonlyMap<string, Tool>): { text: string; calls: Asked[] } {
  const found = textCalls(text, name => tools.has(named(name, tools).name), CALLS + 1)
  const calls = found.calls.map(
    ({ problem, ...call }): Asked => ({ call: { ...call, id: '', origin: 'completion' }, problem }),
  )
  return { text: found.text, calls }
}

const TOO_MANY = `This call was not run: an answer may hold ${CALLS} calls. Make fewer at once.`
const REPEATED = 'This call was not run: it is the same as an earlier one of this answer, with the same id.'

const isUsable = (id: string): boolean => /^[\x21-\x7e]{1,256}$/.test(id)

function one(call: MessageToolCall, problem: string | null, tools: ReadonlyMap<string, Tool>): Understood {
  const who = named(call.name, tools)
  try {
    const given = argumentsOf(call.arguments)
    const sent = { ...call, name: who.said, arguments: JSON.stringify(given) }
    return { call: sent, ...meant(who, given, problem, tools) }
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    const reason = problem ?? `The arguments of '${who.name}' cannot be read: ${error.message}.`
    const marked = JSON.stringify({ _openhands_malformed_tool_call: true, error: reason })
    return { call: { ...call, name: who.said, arguments: marked }, ...unmeant(who.name, reason, tools) }
  }
}

function argumentsOf(text: string): Record<string, unknown> {
  if (text.length > ARGUMENT_CHARACTERS)
    throw new Unreadable(`they are longer than ${ARGUMENT_CHARACTERS} characters. Send them in several smaller pieces`)
  const given = readObject(text)
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null))
}

const unmeant = (
  toolName: string,
  error: string,
  tools: ReadonlyMap<string, Tool>,
  claimed: SecurityRisk = 'UNKNOWN',
) => ({
  toolName,
  tool: tools.get(toolName),
  action: null,
  error: error.slice(0, ERROR_CHARACTERS).toWellFormed(),
  claimed,
  summary: null,
})

function meant(
  who: Named,
  given: Record<string, unknown>,
  problem: string | null,
  tools: ReadonlyMap<string, Tool>,
): Omit<Understood, 'call'> {
  const { summary, claimed, rest } = separated(given, propertiesOf(tools.get(who.name)))
  const { name, args } = shaped(who, rest, tools)
  const tool = tools.get(name)
  if (problem !== null) return unmeant(name, problem, tools, claimed)
  if (!tool)
    return unmeant(name, `There is no tool '${name}'. There are: ${[...tools.keys()].join(', ')}.`, tools, claimed)
  const fitted = fitting(args, propertiesOf(tool))
  try {
    const action = tool.understand(fitted)
    const words = summary ?? `${name}: ${JSON.stringify(fitted).slice(0, SUMMARY_CHARACTERS)}`
    return { toolName: name, tool, action, error: null, claimed, summary: short(words) }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    const hint = error instanceof Misunderstood ? '' : ' (this tool could not cope with them)'
    return unmeant(name, `These are no arguments for '${name}'${hint}: ${why}`, tools, claimed)
  }
}

const short = (text: string): string => text.slice(0, SUMMARY_CHARACTERS).toWellFormed()
