import { basename, posix } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fault } from '../api/errors.ts'
import type { VSCodeStatus } from '../api/vscode.ts'
import { run } from './run.ts'
import type { Process, Reach, Sandbox } from './sandbox.ts'

export interface VsCodeParts {
  reach: Reach
  /** A secret of this server's for one purpose. */
  derive(purpose: string): string
}

/** An editor that runs, and how it is opened. */
export interface Editor {
  sandbox: string
  port: number
  /** The query of its address. */
  search: string
}

/** Looked at in this order: whatever else listens in a sandbox stays where it is. */
const PORTS = [8001, 8002, 8003, 8004]

/** Between two looks whether it listens, and until it must: a first start unpacks extensions. */
const LOOK_MS = 100
const START_MS = 30_000
const FIND_MS = 10_000
/** Of what it printed, kept to tell why it ended. */
const COMPLAINT_CHARACTERS = 2_000

/** Where the images of this family of servers keep theirs, if it is not in the path. */
const FIND = `for one in "$(command -v openvscode-server)" "\${OPENVSCODE_SERVER_ROOT:-/openhands/.openvscode-server}/bin/openvscode-server" "$(command -v code-server)"; do
  if [ -x "$one" ]; then printf %s "$one"; exit; fi
done`

const NONE = 'The sandbox has neither openvscode-server nor code-server'
/** It takes no token in its address. */
const OPEN = 'Without walls around the sandbox, code-server would open to everybody on this machine'

/** VS Code in sandboxes that have it: one each, started when somebody asks for its address. */
export class VsCode {
  readonly #parts: VsCodeParts
  /** By sandbox, those that run or are about to; and which of them listen. */
  readonly #editors = new Map<string, Promise<number>>()
  readonly #listening = new Set<string>()
  readonly #stop = new AbortController()

  constructor(parts: VsCodeParts) {
    this.#parts = parts
  }

  async status(scope: string | undefined): Promise<VSCodeStatus> {
    const sandbox = await this.#parts.reach(scope)
    if (this.#listening.has(sandbox.id)) return { running: true, enabled: true }
    const { program, why } = await find(sandbox)
    return { running: false, enabled: program !== undefined, ...(why !== undefined && { message: why }) }
  }

  /** `folder` is the working directory unless named, and may be relative to it. */
  async open(scope: string | undefined, folder: string | undefined): Promise<Editor> {
    const sandbox = await this.#parts.reach(scope)
    const starting = this.#editors.get(sandbox.id) ?? this.#start(sandbox)
    this.#editors.set(sandbox.id, starting)
    starting.catch(() => this.#editors.delete(sandbox.id))
    const search = new URLSearchParams({
      tkn: this.#token(sandbox),
      folder: posix.resolve(sandbox.workingDir, folder ?? '.'),
    })
    return { sandbox: sandbox.id, port: await starting, search: search.toString() }
  }

  close(): void {
    this.#stop.abort(new Error('The server stops'))
  }

  #token({ id }: Sandbox): string {
    return this.#parts.derive(`editor of sandbox ${id}`)
  }

  /** Resolves with its port when it listens there. */
  async #start(sandbox: Sandbox): Promise<number> {
    const { program, why } = await find(sandbox)
    if (program === undefined) throw fault('vscode_unavailable', why)
    const port = await freePort(sandbox)
    const argv = [program, ...options(program, port, this.#token(sandbox))] as const
    const editor = await sandbox.exec({ argv, signal: this.#stop.signal, label: 'VS Code' })
    const printed = tail(editor)
    let ended = false
    void editor.exit.then(() => {
      ended = true
      this.#editors.delete(sandbox.id)
      this.#listening.delete(sandbox.id)
    })
    const end = performance.now() + START_MS
    while (!(await listens(sandbox, port))) {
      if (ended) throw fault('vscode_unavailable', `VS Code ended at once: ${printed().trim()}`)
      if (performance.now() > end) {
        await editor.signal('SIGKILL')
        throw fault('vscode_unavailable', `VS Code did not start within ${START_MS / 1_000} s`)
      }
      await delay(LOOK_MS)
    }
    if (!ended) this.#listening.add(sandbox.id)
    return port
  }
}

type Found = { program: string; why?: undefined } | { program?: undefined; why: string }

async function find(sandbox: Sandbox): Promise<Found> {
  const { stdout } = await run(sandbox, { argv: ['/bin/sh', '-c', FIND], timeoutMs: FIND_MS }, { limit: 4_096 })
  const program = stdout.toString()
  if (program === '') return { why: NONE }
  return isCodeServer(program) && sandbox.roots ? { why: OPEN } : { program }
}

const isCodeServer = (program: string): boolean => basename(program) === 'code-server'

const options = (program: string, port: number, token: string): string[] =>
  isCodeServer(program)
    ? ['--bind-addr', `127.0.0.1:${port}`, '--auth', 'none', '--disable-telemetry']
    : ['--host', '127.0.0.1', '--port', String(port), '--connection-token', token, '--telemetry-level', 'off']

async function freePort(sandbox: Sandbox): Promise<number> {
  for (const port of PORTS) if (!(await listens(sandbox, port))) return port
  throw fault('vscode_unavailable', `The ports ${PORTS.join(', ')} of the sandbox are taken`)
}

const listens = (sandbox: Sandbox, port: number): Promise<boolean> =>
  sandbox.connect(port).then(
    connection => {
      connection.on('error', () => undefined).destroy()
      return true
    },
    () => false,
  )

/** Reads all it prints, and keeps the end. */
function tail({ stdout, stderr }: Process): () => string {
  let text = ''
  for (const stream of [stdout, stderr])
    stream
      .on('error', () => undefined)
      .on('data', (chunk: Buffer) => {
        text = (text + chunk).slice(-COMPLAINT_CHARACTERS)
      })
  return () => text
}
