import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
import { type Duplex, Readable, type Writable } from 'node:stream'
import type { Command, Exit, Process, Size } from '../sandbox.ts'

export interface Chain {
  /** From the host's side to a shell inside: it ends with the words that make that shell read descriptor 3. */
  argv: readonly [string, ...string[]]
  /** What that shell reads. */
  script: string
  /** Tells whose way in this is, where there is no group to tell. The shell forgets it. */
  mark?: string
  /** The descriptor of a file that takes its output and errors: it then runs on when the server is gone. */
  log?: number
  /** To everything the command started. `pid` is the chain's first process, as the host counts, while there is one. */
  signal(name: NodeJS.Signals, pid: number | undefined): Promise<void>
  /** Sets the size of a terminal that has this name inside. */
  resize(terminal: string, size: Size): Promise<void>
}

/**
 * A shell that becomes what it is told on its standard input, where `LISTENING` has put descriptor 3 and saved its own as 5. Not a
 * script in a file or an argument: secrets are in it.
 */
export const LISTENING_SHELL = ['/bin/sh', '-s'] as const
export const LISTENING = '5<&0 <&3 3<&-'

/** The environment on the way in: nothing of ours, nothing of theirs. */
export const WAY_ENV = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' }

/** After the polite signal, until the one that cannot be refused. */
export const KILL_AFTER_MS = 1_000

export interface Launched extends Process {
  /** The shell inside is about to become the command, or has failed to. */
  readonly begun: Promise<unknown>
}

type Send = (name: NodeJS.Signals) => Promise<void>

/** Starts a command through a chain of programs, and follows it to its end. */
export async function launch(chain: Chain, command: Command): Promise<Launched> {
  const { stdin, pty, signal } = command
  signal?.throwIfAborted()
  const out = chain.log ?? 'pipe'
  const child = spawn(chain.argv[0], chain.argv.slice(1), {
    cwd: '/',
    env: { ...WAY_ENV, ...(chain.mark && { GANTRY_WAY: chain.mark }) },
    stdio: [stdin || pty ? 'pipe' : 'ignore', out, out, 'pipe', 'pipe'],
    detached: true,
  })
  // The id of one that has ended may be another's.
  const send: Send = name =>
    chain.signal(name, child.exitCode === null && child.signalCode === null ? child.pid : undefined)
  const exit = ending(child, send, command)
  for (const stream of child.stdio) stream?.on('error', () => undefined)
  const [, , , orders, side] = child.stdio as [unknown, unknown, unknown, Duplex, Duplex]
  orders.end(chain.script)
  const word = firstLine(side)
  return {
    begun: word,
    stdin: (child.stdin as Writable | null) ?? undefined,
    stdout: (child.stdout as Readable | null) ?? Readable.from([]),
    stderr: (child.stderr as Readable | null) ?? Readable.from([]),
    exit,
    signal: send,
    resize: async size => {
      const name = await word
      if (name) await chain.resize(name, size)
    },
  }
}

/** The first line; undefined when it never came. */
function firstLine(side: Readable): Promise<string | undefined> {
  let text = ''
  return new Promise(resolve => {
    side.on('data', chunk => {
      text += chunk
      if (text.includes('\n')) resolve(text.split('\n')[0])
    })
    side.once('close', () => resolve(undefined))
  })
}

async function ending(child: ChildProcess, signalled: Send, { timeoutMs, signal }: Command): Promise<Exit> {
  let reason: Exit['reason'] = 'exited'
  let hard: NodeJS.Timeout | undefined
  const send: Send = name => signalled(name).catch(() => undefined)
  const end = (why: Exit['reason']) => {
    if (reason !== 'exited') return
    reason = why
    void send('SIGTERM')
    hard = setTimeout(() => send('SIGKILL'), KILL_AFTER_MS)
  }
  const timer = timeoutMs === undefined ? undefined : setTimeout(() => end('timeout'), timeoutMs)
  const onAbort = () => end('aborted')
  signal?.addEventListener('abort', onAbort, { once: true })
  if (signal?.aborted) onAbort()
  const [code, by] = await once(child, 'exit').catch((): [number, null] => [126, null])
  clearTimeout(timer)
  clearTimeout(hard)
  signal?.removeEventListener('abort', onAbort)
  // What ignored the polite signal, or was started since, must not outlive the command that was ended.
  if (reason !== 'exited') await send('SIGKILL')
  return { code: code ?? 128 + constants.signals[by as NodeJS.Signals], reason }
}
