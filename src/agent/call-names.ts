import { quote } from '../sandbox/shell.ts'
import type { Tool } from './tool.ts'

type Tools = ReadonlyMap<string, Tool>
type Args = Record<string, unknown>

/** What models call our tools when they were trained on others. Counts only while no tool has that name itself. */
const ALIASES: Readonly<Record<string, string>> = {
  bash: 'terminal',
  command: 'terminal',
  execute: 'terminal',
  execute_bash: 'terminal',
  git: 'terminal',
  reset: 'terminal',
  str_replace: 'file_editor',
  str_replace_editor: 'file_editor',
}
/** Commands that are sometimes called as if they were tools. */
const BARE: ReadonlySet<string> = new Set(['find', 'git', 'ls', 'pwd'])
/** What providers take as the name of a tool. */
const LEGAL = /^[a-zA-Z0-9_-]{1,64}$/

export interface Named {
  /** What the model said, without what is no part of a name, and as providers take it. */
  said: string
  /** The tool's name where there is one, else what was said. */
  name: string
}

/** Whom a model means. */
export function named(said: string, tools: Tools): Named {
  const whole = said.trim().slice(0, 256)
  const parts = [
    whole,
    /^[\w./:-]+/.exec(whole)?.[0],
    /^(?:(?:functions|tools|default_api)[.:])?([A-Za-z_][\w-]*)/.exec(whole)?.[1],
  ]
  const candidates = parts.filter(part => part !== undefined && part !== '') as string[]
  const word = candidates.at(-1) ?? ''
  const known =
    candidates.find(one => tools.has(one)) ??
    [...tools.keys()].find(name => name.toLowerCase() === word.toLowerCase()) ??
    aliasOf(word, tools)
  const legal = [whole, word, known].find(one => one !== undefined && (LEGAL.test(one) || tools.has(one)))
  return { said: legal ?? 'unknown', name: known ?? legal ?? 'unknown' }
}

function aliasOf(word: string, tools: Tools): string | undefined {
  const target = Object.hasOwn(ALIASES, word) ? ALIASES[word]! : undefined
  return target !== undefined && tools.has(target) ? target : undefined
}

/** The call as our tools take it: a command called by its name becomes one of the terminal, and what is left out and clear is filled in. */
export function shaped({ said, name }: Named, args: Args, tools: Tools): { name: string; args: Args } {
  if (name === 'file_editor') return { name, args: withEditorCommand(args) }
  if (!tools.has('terminal') || tools.has(said)) return { name, args }
  const command = commandOf(said, args)
  return command === undefined ? { name, args } : { name: 'terminal', args: command }
}

function commandOf(said: string, args: Args): Args | undefined {
  if (BARE.has(said) && Object.keys(args).length === 0) return { command: said }
  if (said === 'git' && typeof args.command === 'string' && !/\bgit\b/.test(args.command))
    return { ...args, command: `git ${args.command}` }
  return said === 'grep' ? grepOf(args) : undefined
}

function grepOf({ pattern, path, include, ...others }: Args): Args | undefined {
  const isText = (value: unknown) => value === undefined || (typeof value === 'string' && !value.includes('\0'))
  if (pattern === undefined || ![pattern, path, include].every(isText) || Object.keys(others).length > 0)
    return undefined
  const filter = include === undefined ? '' : ` ${quote(`--include=${include}`)}`
  return { command: `grep -rnE${filter} -e ${quote(String(pattern))} -- ${quote(String(path ?? '.'))}` }
}

function withEditorCommand(args: Args): Args {
  if (args.command !== undefined) return args
  const has = (key: string) => args[key] !== undefined
  if (has('old_str')) return { ...args, command: 'str_replace' }
  if (has('insert_line')) return { ...args, command: 'insert' }
  if (has('file_text')) return { ...args, command: 'create' }
  return has('path') || has('view_range') ? { ...args, command: 'view' } : args
}
