import type { AnyAgent } from '../api/agent.ts'
import type { ToolSpec } from './model.ts'
import type { Tool } from './tool.ts'
import { makeApplyPatch } from './tools/apply-patch.ts'
import { makeEdit } from './tools/edit.ts'
import { makeFileEditor } from './tools/file-editor.ts'
import { makeFinish } from './tools/finish.ts'
import { makeGlob } from './tools/glob.ts'
import { makeGrep } from './tools/grep.ts'
import { makeListDirectory } from './tools/list-directory.ts'
import { makePlanningFileEditor } from './tools/planning-file-editor.ts'
import { makeReadFile } from './tools/read-file.ts'
import { makeTaskTracker } from './tools/task-tracker.ts'
import { makeTerminal } from './tools/terminal.ts'
import { makeThink } from './tools/think.ts'
import { makeWriteFile } from './tools/write-file.ts'

/** Those that need nothing but hands, by the name an order calls them. */
const MAKERS: Readonly<Record<string, () => Tool>> = {
  terminal: makeTerminal,
  file_editor: makeFileEditor,
  planning_file_editor: makePlanningFileEditor,
  task_tracker: makeTaskTracker,
  glob: makeGlob,
  grep: makeGrep,
  read_file: makeReadFile,
  write_file: makeWriteFile,
  edit: makeEdit,
  list_directory: makeListDirectory,
  apply_patch: makeApplyPatch,
}

/** Those that every agent gets unless its order says otherwise, by the name of their class. */
const DEFAULTS: Readonly<Record<string, (() => Tool) | undefined>> = {
  FinishTool: makeFinish,
  ThinkTool: makeThink,
  // Made by whoever knows the profiles, and the skills.
  SwitchLLMTool: undefined,
  InvokeSkillTool: undefined,
}

/** An order may call the tool for sub-agents by the name of its set. */
const SUBAGENTS = ['task_tool_set', 'task']

/** What an order may name, and what works. */
export const USABLE_TOOLS: readonly string[] = [...Object.keys(MAKERS), ...SUBAGENTS]

/** What an order names and nobody can give it; in words for whoever ordered. */
export function objections({ kind, tools, include_default_tools, critic }: AnyAgent): string[] {
  if (kind === 'ACPAgent') return ["agents of kind 'ACPAgent' cannot be run by this server"]
  const unknown = tools.map(({ name }) => name).filter(name => !USABLE_TOOLS.includes(name))
  const unknownDefaults = include_default_tools.filter(name => !Object.hasOwn(DEFAULTS, name))
  return [
    ...unknown.map(name => `there is no tool '${name}' here; there are ${USABLE_TOOLS.join(', ')}`),
    ...unknownDefaults.map(
      name => `there is no default tool '${name}' here; there are ${Object.keys(DEFAULTS).join(', ')}`,
    ),
    ...(critic ? [`critics such as '${critic.kind}' are not available here`] : []),
  ]
}

export const wantsSubagents = ({ tools }: AnyAgent): boolean => tools.some(({ name }) => SUBAGENTS.includes(name))

/** The tools of an order that need nothing but hands. */
export function makeTools({ tools, include_default_tools, filter_tools_regex }: AnyAgent): Tool[] {
  const wanted = filter_tools_regex ? new RegExp(filter_tools_regex) : undefined
  const named = [...new Set(tools.map(({ name }) => name))].filter(name => wanted?.test(name) ?? true)
  const makers = [...named.map(name => MAKERS[name]), ...include_default_tools.map(name => DEFAULTS[name])]
  return makers.flatMap(make => (make ? [make()] : []))
}

const SUMMARY = {
  type: 'string',
  description: 'In about ten words, for the people who follow: what this call does and why.',
}
const RISK = {
  type: 'string',
  enum: ['LOW', 'MEDIUM', 'HIGH', 'UNKNOWN'],
  description:
    'How much harm this call could do at worst: LOW looks or changes the workspace, HIGH destroys, leaks or leaves it.',
}

/** A tool as the model is told of it: every call says what it is for, and those that change things how risky they are. */
export function specOf({ name, description, parameters, readOnly }: Tool): ToolSpec {
  const own = parameters.properties as Record<string, unknown> | undefined
  const properties = { ...(!readOnly && { security_risk: RISK }), summary: SUMMARY, ...own }
  return { name, description, parameters: { ...parameters, type: 'object', properties } }
}
