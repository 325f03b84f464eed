import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Event } from '../../src/api/events.ts'

/** How Python is called: several words where it lives elsewhere, as in `chroot /somewhere /venv/bin/python`. */
const [PYTHON = '', ...BEFORE] = (process.env.GANTRY_TEST_PYTHON ?? 'python3').split(' ')

const PROBE = `
import sys, importlib.util
assert sys.version_info >= (3, 12), "is older than 3.12"
for package in ("openhands.sdk", "openhands.tools", "openhands.workspace"):
    assert importlib.util.find_spec(package), f"lacks {package}"
`

/** A reason to skip what needs the published Python client, or false. */
export const NO_PYTHON_SDK = whyNot()

function whyNot(): string | false {
  const { status, stderr, error } = spawnSync(PYTHON, [...BEFORE, '-c', PROBE], { encoding: 'utf8' })
  if (status === 0) return false
  const reason = error?.message ?? stderr.trim().split('\n').at(-1)
  return `${[PYTHON, ...BEFORE].join(' ')}: ${reason}; GANTRY_TEST_PYTHON names another`
}

/** As an argument: where Python lives elsewhere, our files need not be there. */
const PROGRAM = readFileSync(join(import.meta.dirname, 'python/sdk.py'), 'utf8')

interface Order {
  resolve: (result: unknown) => void
  reject: (error: Error) => void
}

/** A Python process with the published client in it. */
export class PythonSdk implements AsyncDisposable {
  readonly #process: ChildProcessWithoutNullStreams
  readonly #orders = new Map<number, Order>()
  #count = 0
  #complaints = ''

  constructor() {
    this.#process = spawn(PYTHON, [...BEFORE, '-c', PROGRAM], {
      env: {
        PATH: process.env.PATH,
        HOME: process.env.HOME,
        // Neither advertises nor asks the network what models cost.
        OPENHANDS_SUPPRESS_BANNER: '1',
        LITELLM_LOCAL_MODEL_COST_MAP: 'True',
      },
    })
    this.#process.stderr.setEncoding('utf8').on('data', chunk => {
      this.#complaints += chunk
    })
    createInterface(this.#process.stdout).on('line', line => this.#hear(JSON.parse(line)))
    this.#process.once('exit', code => {
      for (const { reject } of this.#orders.values())
        reject(new Error(`Python ended with ${code}: ${this.#complaints}`))
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return
    const ended = once(this.#process, 'exit')
    this.#process.kill('SIGKILL')
    await ended
  }

  /** Whatever it logged. */
  get complaints(): string {
    return this.#complaints
  }

  #hear({ number, result, error }: { number: number; result?: unknown; error?: string }): void {
    const order = this.#orders.get(number)
    this.#orders.delete(number)
    if (error === undefined) order?.resolve(result)
    else order?.reject(new Error(error))
  }

  /** One of the functions of the program. */
  order<T>(order: string, ...args: unknown[]): Promise<T> {
    const number = this.#count++
    this.#process.stdin.write(`${JSON.stringify({ number, order, args })}\n`)
    return new Promise<T>((resolve, reject) => {
      this.#orders.set(number, { resolve: resolve as Order['resolve'], reject })
    })
  }

  async converse(workspace: string, llm: object, secrets?: Record<string, string>): Promise<PythonConversation> {
    return new PythonConversation(this, await this.order<string>('converse', workspace, llm, secrets ?? null))
  }
}

/** A conversation as the published client has it. */
export class PythonConversation {
  readonly id: string
  readonly #sdk: PythonSdk

  constructor(sdk: PythonSdk, id: string) {
    this.#sdk = sdk
    this.id = id
  }

  say(text: string): Promise<void> {
    return this.call('send_message', text)
  }

  /** Goes on until the run is over, as the client sees it, and tells what came of it. */
  async run(): Promise<string> {
    await this.call('run')
    return (await this.see()).status
  }

  policy(name: string): Promise<void> {
    return this.#sdk.order('policy', this.id, name)
  }

  call<T = void>(method: string, ...args: unknown[]): Promise<T> {
    return this.#sdk.order('call', this.id, method, ...args)
  }

  /** Its state as the client remembers it. `heard` are the ids of all that its callback was called with. */
  see(): Promise<{ status: string; events: Event[]; heard: string[]; tokens: number }> {
    return this.#sdk.order('see', this.id)
  }
}
