import assert from 'node:assert/strict'
import * as z from 'zod'
import { type Understood, understand } from '../../src/agent/calls.ts'
import type { Tool } from '../../src/agent/tool.ts'
import { builtIn, spoken } from '../../src/agent/tools/built-in.ts'
import { makeFileEditor } from '../../src/agent/tools/file-editor.ts'
import { makeFinish } from '../../src/agent/tools/finish.ts'
import { makeTerminal } from '../../src/agent/tools/terminal.ts'
import type { Action } from '../../src/api/actions.ts'
import type { MessageToolCall } from '../../src/api/common.ts'
import type { Observation } from '../../src/api/observations.ts'

const unrun = (): never => assert.fail('nothing is run here')

/** A tool that is understood and never run. */
export const aTool = (name: string, action: Action['kind'], input: z.ZodObject): Tool =>
  builtIn<never, Observation['kind'], z.ZodObject>({
    name,
    action: action as never,
    observation: 'ThinkObservation',
    description: name,
    input: spoken(() => input),
    run: unrun,
  })

const lister = aTool('browser_list_tabs', 'BrowserListTabsAction', z.object({}))

export const toolsOf = (...tools: Tool[]): ReadonlyMap<string, Tool> => new Map(tools.map(tool => [tool.name, tool]))
export const TOOLS = toolsOf(makeTerminal(), makeFileEditor(), makeFinish(), lister)

let ids = 0
export const aCall = (name: string, args: string, id = `call_${ids++}`): MessageToolCall => ({
  id,
  name,
  arguments: args,
  origin: 'completion',
})

export const understoodCall = (name: string, args: string, tools = TOOLS): Understood => {
  const { calls } = understand({ text: '', calls: [aCall(name, args)] }, tools)
  assert.equal(calls.length, 1)
  return calls[0]!
}

export const understoodText = (written: string, tools = TOOLS) => understand({ text: written, calls: [] }, tools)

export const ls = (command = 'ls') => ({ kind: 'TerminalAction', command, is_input: false, reset: false })
