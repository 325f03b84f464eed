import type { TerminalAction } from '../../../api/actions.ts'
import type { TerminalObservation } from '../../../api/observations.ts'
import type { Exit, Sandbox } from '../../../sandbox/sandbox.ts'
import type { Hands } from '../../tool.ts'
import type { Captured } from './capture.ts'
import { INTERRUPT, keysFor } from './keys.ts'
import { INPUT_LINE_BYTES, TIMEOUT_SECONDS, type Waits } from './limits.ts'
import { observe, paragraph, RUNNING, refuse } from './observation.ts'
import { NO_END } from './script.ts'
import { type Outcome, Shell } from './shell.ts'
import { type Patience, unlessAborted, waitFor, within } from './waiting.ts'

const WHAT_TO_DO =
  'Call again with is_input and an empty command to read on, with is_input and text or a key such as C-c for the program, or with reset for a new shell.'

/** What to say of a command that has not ended. */
const STILL = {
  done: '',
  quiet: 'The command has printed nothing new for a while and still runs. ',
  most: 'The command has been running for long and still prints. ',
}

type Asked = Pick<TerminalAction, 'command' | 'is_input' | 'timeout' | 'reset'>

/** A command whose end the model has not been told of. */
interface Running {
  shell: Shell
  outcome: Promise<Outcome>
  /** Once it has ended. */
  settled?: Outcome
}

/** The terminal of a conversation: its shell, from one call to the next. */
export class Session {
  readonly #waits: Waits
  #shell: Shell | undefined
  #running: Running | undefined
  /** A shell that was begun before it was asked for. */
  #early: Promise<Shell | undefined> | undefined
  /** Why the next shell is a new one. */
  #why: string | undefined
  /** The end of what was interrupted. */
  #settling: Promise<void> = Promise.resolve()

  constructor(waits: Waits) {
    this.#waits = waits
  }

  /** Begins a shell that will most likely be needed. It ends with the signal, unless it was needed by then. */
  warm(hands: Hands): void {
    if (this.#shell || this.#early) return
    const early = hands.sandbox().then(sandbox => this.#start(sandbox, hands))
    const over = () => {
      if (this.#early === early) this.#dropEarly()
    }
    this.#early = early
    early.catch(over)
    hands.signal.addEventListener('abort', over, { once: true })
  }

  async call(asked: Asked, hands: Hands): Promise<TerminalObservation> {
    await unlessAborted(hands.signal, this.#settling)
    try {
      return await this.#act(asked, hands)
    } catch (error) {
      if (hands.signal.aborted) this.#settling = this.#calm()
      throw error
    }
  }

  async close(): Promise<void> {
    this.#dropEarly()
    await this.#drop()
    await this.#settling
    await this.#drop()
  }

  async #act(asked: Asked, hands: Hands): Promise<TerminalObservation> {
    const { command, is_input, reset } = asked
    const sandbox = await unlessAborted(hands.signal, hands.sandbox())
    if (reset) await unlessAborted(hands.signal, this.#drop('You asked for it.'))
    const running = this.#running
    if (running && (is_input || command.trim() === '')) return this.#input(running, asked, hands)
    if (is_input && command !== '') return this.#refuse(command, 'No program is running that could take input.')
    if (running && !running.settled)
      return this.#refuse(command, `Another command still runs, so this one was not started. ${WHAT_TO_DO}`)
    if (command.includes('\0')) return this.#refuse(command, 'A command cannot hold a NUL character.')
    return this.#command(asked, sandbox, hands)
  }

  async #command({ command, timeout }: Asked, sandbox: Sandbox, hands: Hands): Promise<TerminalObservation> {
    const { signal } = hands
    const before = await unlessAborted(signal, this.#leftOver())
    const variables = await unlessAborted(signal, hands.secretsFor(command))
    if (this.#shell && (this.#shell.ended || this.#shell.sandbox.id !== sandbox.id))
      await unlessAborted(signal, this.#drop('The one before has ended.'))
    this.#shell ??= (await this.#takeEarly(signal)) ?? (await this.#start(sandbox, hands))
    const shell = this.#shell
    if (!shell) return this.#refuse(command, `No shell could be started in ${hands.workingDir}.`)
    if (this.#why !== undefined) before.push(`[This is a new shell. ${this.#why} It knows nothing of the one before.]`)
    this.#why = undefined
    if (command.trim() === '') return observe({ command, code: 0, before, after: 'No command is running.', shell })
    const running: Running = { shell, outcome: shell.run(command, variables) }
    this.#running = running
    void running.outcome.then(outcome => {
      running.settled = outcome
    })
    const { quiet, longest } = this.#waits
    const seconds = timeout ? Math.min(timeout, TIMEOUT_SECONDS) : undefined
    const patience = seconds ? { most: seconds * 1000 } : { most: longest, quiet }
    const reason = await this.#wait(running, patience, signal)
    if (!seconds || reason === 'done') return this.#tell(running, command, before, STILL[reason], signal)
    await unlessAborted(signal, this.#stop(running))
    return {
      ...(await this.#tell(running, command, before, `Interrupted after ${seconds} s. `, signal)),
      timeout: true,
    }
  }

  async #input(running: Running, { command, timeout }: Asked, { signal }: Hands): Promise<TerminalObservation> {
    if (command.split('\n').some(line => Buffer.byteLength(line) > INPUT_LINE_BYTES))
      return this.#refuse(command, `A terminal takes lines of at most ${INPUT_LINE_BYTES} bytes. Use a file instead.`)
    if (command !== '' && !running.settled) running.shell.type(keysFor(command))
    const { quiet, answered, longest } = this.#waits
    const patience = timeout
      ? { most: Math.min(timeout, TIMEOUT_SECONDS) * 1000 }
      : { most: longest, quiet, after: answered }
    await this.#wait(running, patience, signal)
    return this.#tell(running, command, [], running.settled ? '' : 'The program still runs. ', signal)
  }

  #wait(running: Running, patience: Patience, signal: AbortSignal) {
    const listen = (heard: () => void) => {
      running.shell.onHeard = heard
    }
    return waitFor(running.outcome, patience, listen, signal)
  }

  /** What there is to tell of a command now. The remark comes before what became of it. */
  async #tell(
    { shell, settled }: Running,
    command: string,
    before: readonly string[],
    remark: string,
    signal: AbortSignal,
  ): Promise<TerminalObservation> {
    if (!settled) {
      const output = await unlessAborted(signal, shell.take().finish())
      return observe({ command, code: RUNNING, output, before, after: remark + WHAT_TO_DO, shell })
    }
    const output = await unlessAborted(signal, this.#finish(shell, settled))
    this.#running = undefined
    const after = remark + (settled.ended ? endOf(settled.ended) : `Exit code ${settled.code}.`)
    return observe({ command, code: settled.code, output, before, after, shell })
  }

  /** What a command printed. The shell goes with it if that has ended. */
  async #finish(shell: Shell, { capture, ended }: Outcome): Promise<Captured> {
    const output = await capture.finish()
    if (!ended) return output
    await this.#drop('The one before has ended.')
    // An interactive bash says so when it is told to exit.
    return shell.bash ? { ...output, text: output.text.replace(/(^|\n)exit\n$/, '$1') } : output
  }

  /** What was printed since the last call, as paragraphs. */
  async #leftOver(): Promise<string[]> {
    const settled = this.#running?.settled
    if (this.#running && settled) {
      const output = await this.#finish(this.#running.shell, settled)
      this.#running = undefined
      return [
        `[The earlier command ended meanwhile with exit code ${settled.code}.]`,
        ...paragraph('It printed', output.text),
      ]
    }
    if (!this.#shell) return []
    const output = await this.#shell.take().finish()
    const text = this.#shell.bash ? output.text : output.text.replaceAll(NO_END, '')
    return paragraph('Printed in the background meanwhile', text)
  }

  /** Undefined when there is none, or it has ended. One that is still starting when the signal is aborted is left as it is. */
  async #takeEarly(signal: AbortSignal): Promise<Shell | undefined> {
    const early = this.#early?.catch(() => undefined)
    if (!early) return undefined
    const shell = await unlessAborted(signal, early)
    this.#early = undefined
    return shell?.ended ? undefined : shell
  }

  #dropEarly(): void {
    const ending = this.#early?.then(shell => shell?.end()).catch(() => undefined)
    this.#early = undefined
    this.#settling = Promise.all([this.#settling, ending]).then(() => undefined)
  }

  /** Undefined when that fails. Without the person's own settings, should they be what makes it fail. */
  async #start(sandbox: Sandbox, { conversation, workingDir: cwd, egress, signal }: Hands): Promise<Shell | undefined> {
    for (const profile of [true, false]) {
      const life = new AbortController()
      const opening = Shell.open(sandbox, { conversation, cwd, egress, profile }, life.signal)
      try {
        const shell = await unlessAborted(signal, opening)
        const begun = await unlessAborted(signal, within(this.#waits.start, shell.begun))
        if (begun && !begun.ended) return shell
        await shell.end()
      } catch (error) {
        life.abort()
        void opening.then(shell => shell.end()).catch(() => undefined)
        throw error
      }
    }
    return undefined
  }

  /** Ends a command, if need be with its shell. */
  async #stop({ shell, outcome }: Running): Promise<void> {
    shell.type(INTERRUPT)
    if (await within(this.#waits.grace, outcome)) return
    await shell.killForeground().catch(() => undefined)
    if (await within(this.#waits.grace, outcome)) return
    await shell.end()
  }

  /** After an interrupt: nobody wants to know any more. */
  async #calm(): Promise<void> {
    const running = this.#running
    if (!running) return
    await this.#stop(running)
    this.#running = undefined
    running.settled?.capture.discard()
    if (running.shell.ended) await this.#drop('The one before had to be ended.')
  }

  /** Ends the shell with all it started. */
  async #drop(why?: string): Promise<void> {
    const shell = this.#shell
    const running = this.#running
    this.#shell = undefined
    this.#running = undefined
    if (!shell) return
    this.#why = why
    await shell.end()
    running?.settled?.capture.discard()
  }

  #refuse(command: string, after: string): TerminalObservation {
    return refuse({ command, code: RUNNING, after, shell: this.#shell })
  }
}

function endOf({ code, reason }: Exit): string {
  const how =
    reason === 'lost' ? 'The sandbox went away, and the shell with it.' : `The shell ended, with exit code ${code}.`
  return `${how} What it had left in the background ended too. The next command gets a new shell.`
}
