import type { Word } from '../shell/script.ts'
import { type Call, wrapped } from './call.ts'
import { readOptions } from './options.ts'

const SHELLS = /^(sh|bash|zsh|dash|ksh|ash|fish|csh|tcsh|mksh|rbash|pwsh)$/
const SOURCES = /^(source|\.)$/

/** By program, the options whose value is a program in its language. */
const CODE: [RegExp, string][] = [
  [/^(python|pypy)[\d.]*$/, 'c'],
  [/^(node|nodejs|bun|deno)$/, 'ep'],
  [/^(perl|ruby)[\d.]*$/, 'eE'],
  [/^(lua|luajit|rscript|osascript|groovy|julia|elixir|scala)[\d.]*$/, 'e'],
  [/^php[\d.]*$/, 'r'],
]
const codeLetters = (name: string): string | undefined => CODE.find(([pattern]) => pattern.test(name))?.[1]

/** It runs shell text, or a file of it. */
export const isShell = (name: string): boolean => SHELLS.test(name) || SOURCES.test(name)
/** It runs programs that are text. */
export const isInterpreter = (name: string): boolean => isShell(name) || codeLetters(name) !== undefined

/** By program, the short and long options whose value is given to a shell, and which other letters take a value. */
const TOLD: [program: RegExp, options: string[], otherLetters: string][] = [
  [/^(su|runuser|sg|script|flock|npx|expect)$/, ['c', 'command', 'call'], 'sgwE'],
  [/^env$/, ['S', 'split-string'], 'uC'],
  [/^nix-shell$/, ['run', 'command'], 'pA'],
  [/^tar$/, ['I', 'to-command', 'use-compress-program', 'checkpoint-action'], ''],
  [/^git$/, ['x', 'exec'], 'cC'],
  [/^rsync$/, ['e', 'rsh'], ''],
  [/^(ssh|scp|sftp)$/, ['o'], 'bcDEeFIiJLlmOpQRSWw'],
  [/^(vi|vim|nvim|ex|view)$/, ['c', 'cmd'], 'uSTiw'],
]

/** The shell texts that a call runs. */
export function scriptsOf({ name, args }: Call): Word[] {
  if (SHELLS.test(name)) return shellScript(args)
  if (name === 'eval') return joined(args)
  if (name === 'trap') return args.slice(0, 1)
  if (name === 'watch' || name === 'parallel') return joined(wrapped(args, { values: 'njaI' }))
  if (name === 'tmux')
    return joined(wrapped(args, { values: 'tncsFxyeLS', skip: 1 }).filter(({ text }) => !/^(Enter|C-m)$/.test(text)))
  const remote = name === 'ssh' ? joined(readOptions(args, 'bcDEeFIiJLlmOopQRSWw').operands.slice(1)) : []
  const eachOf = name === 'git' ? joined(gitCommand(args)) : []
  const [, options = [], letters = ''] = TOLD.find(([program]) => program.test(name)) ?? []
  const { values } = readOptions(args, letters + options.filter(option => option.length === 1).join(''), options)
  return [...remote, ...eachOf, ...options.flatMap(option => values.get(option) ?? []).map(bare)]
}

/** Without what says what kind of text it is. */
const bare = (word: Word): Word => ({ ...word, text: word.text.replace(/^(exec=|(Proxy|Local)Command[= ]|:?!)/i, '') })

function joined(words: Word[]): Word[] {
  const [first] = words
  if (!first) return []
  const text = words.map(word => word.text).join(' ')
  const unknown = words.some(word => word.unknown)
  return [
    { ...first, text, unknown, variables: words.flatMap(one => one.variables), inner: words.flatMap(one => one.inner) },
  ]
}

function shellScript(args: Word[]): Word[] {
  const at = args.findIndex(({ text }) => /^-[A-Za-z]*c[A-Za-z]*$/.test(text))
  const script = at < 0 ? undefined : args.slice(at + 1).find(({ text }) => !/^[-+]./.test(text))
  return script ? [script] : []
}

function gitCommand(args: Word[]): Word[] {
  const at = args.findIndex(({ text }, index) =>
    /^(submodule foreach|bisect run)$/.test(`${args[index - 1]?.text} ${text}`),
  )
  return at < 0 ? [] : args.slice(at + 1).filter(({ text }) => text !== '--recursive')
}

/** The programs in other languages that stand in the arguments of a call. */
export function codeOf({ name, args }: Call): Word[] {
  if (/^[gmn]?awk$/.test(name)) {
    const { flags, operands } = readOptions(args, 'fFv')
    return flags.has('f') ? [] : operands.slice(0, 1)
  }
  const letters = codeLetters(name)
  if (letters === undefined) return []
  const { values, operands } = readOptions(args, letters, ['eval', 'print'])
  const evaluated = name === 'deno' && operands[0]?.text === 'eval' ? operands.slice(1, 2) : []
  return [...[...letters, 'eval', 'print'].flatMap(option => values.get(option) ?? []), ...evaluated]
}

const STANDARD_INPUT = /^(-|\/dev\/stdin|\/dev\/fd\/0|\/proc\/self\/fd\/0)$/

/** Whether an interpreter takes its program from its standard input. */
export function readsProgram(call: Call): boolean {
  const { name, args } = call
  if (SOURCES.test(name)) return STANDARD_INPUT.test(args[0]?.text ?? '')
  if (!isInterpreter(name) || scriptsOf(call).length > 0 || codeOf(call).length > 0) return false
  const { flags, operands } = readOptions(args, SHELLS.test(name) ? 'oO' : `${codeLetters(name)}mWXrI`)
  if (['m', 'V', 'version', 'help'].some(flag => flags.has(flag))) return false
  const [first] = operands
  return !first || flags.has('s') || STANDARD_INPUT.test(first.text)
}
