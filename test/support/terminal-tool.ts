import assert from 'node:assert/strict'
import type { Hands, Tool } from '../../src/agent/tool.ts'
import type { Waits } from '../../src/agent/tools/terminal/limits.ts'
import { makeTerminal } from '../../src/agent/tools/terminal.ts'
import type { TerminalObservation } from '../../src/api/observations.ts'
import { TerminalObservation as Schema } from '../../src/api/observations.ts'
import { newId } from '../../src/lib/id.ts'
import type { Egress, Sandbox } from '../../src/sandbox/sandbox.ts'

export interface Asked {
  command?: string
  is_input?: boolean
  timeout?: number
  reset?: boolean
}

/** What a test looks at: the observation, its text, and what was printed without the remarks around it. */
export interface Seen extends TerminalObservation {
  text: string
  output: string
}

/** A terminal tool in a sandbox, as a conversation would call it. */
export class TerminalTool implements AsyncDisposable {
  readonly tool: Tool
  conversation = newId()
  sandbox: () => Promise<Sandbox>
  secrets: Record<string, string> = {}
  egress: Egress | undefined

  /** It is impatient unless told otherwise. */
  constructor(sandbox: () => Promise<Sandbox>, waits: Partial<Waits> = {}) {
    this.sandbox = sandbox
    this.tool = makeTerminal({ quiet: 400, answered: 100, grace: 300, ...waits })
  }

  /** A text is a command, with a time limit that nothing here should need. */
  async call(asked: string | Asked, signal = new AbortController().signal): Promise<Seen> {
    const args = typeof asked === 'string' ? { command: asked, timeout: 20 } : { command: '', ...asked }
    const { workingDir } = await this.sandbox()
    const hands = this.#hands(workingDir, signal)
    const observed = Schema.parse(await this.tool.run(this.tool.understand(args), hands))
    const [part] = observed.content
    assert.equal(part?.type, 'text')
    const { prefix, suffix, exit_code } = observed.metadata
    assert.equal(exit_code, observed.exit_code)
    return { ...observed, text: prefix + part.text + suffix, output: part.text }
  }

  /** What a command that must end well printed. */
  async says(command: string): Promise<string> {
    const { output, exit_code, text, timeout } = await this.call(command)
    assert.deepEqual({ exit_code, timeout }, { exit_code: 0, timeout: false }, `${command}: ${text}`)
    return output
  }

  input(command: string): Promise<Seen> {
    return this.call({ command, is_input: true })
  }

  /** As at the beginning of a run, which ends with the signal. */
  warm(signal: AbortSignal): void {
    this.tool.warm?.(this.#hands('/workspace', signal))
  }

  #hands(workingDir: string, signal: AbortSignal): Hands {
    return {
      conversation: this.conversation,
      sandbox: () => this.sandbox(),
      workingDir,
      secretsFor: async () => this.secrets,
      egress: this.egress,
      signal,
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.tool.close?.()
  }
}
