import { askFor } from './ask.ts'
import { connect, type Server, type Where } from './connect.ts'
import { costOf, short, tellEnding } from './ending.ts'
import { explain } from './explain.ts'
import { findConversation } from './find.ts'
import { exit, type Io } from './io.ts'
import { useModel } from './model.ts'
import { pendingActions } from './pending.ts'
import { Progress } from './progress.ts'
import { Prompt } from './prompt.ts'
import { tell } from './run.ts'
import { Screen } from './screen.ts'
import { adjustConversation, type Start, startConversation } from './start.ts'
import { safe } from './text.ts'
import { work } from './work.ts'

const HELP = `/pause         let the agent finish what it does, and stop
/model [NAME]  say which model thinks, or change it
/cost          say what it has cost so far
/quit          leave; the conversation stays
Everything else is told to the agent, also while it works. Ctrl-C interrupts it.`

/** `gantry chat`: a conversation, line by line. */
export async function chat(io: Io, options: Start & Where, [id]: string[]): Promise<number> {
  await using server = await connect(io, options)
  const screen = new Screen(io)
  using prompt = new Prompt(io)
  const conversation = await open(server, options, id)
  const talk = new Talk(io, server, screen, prompt, conversation)
  screen.line(screen.style.dim(`Conversation ${short(conversation)}; /help says what can be typed`))
  return await talk.hold()
}

async function open(server: Server, options: Start, id: string | undefined): Promise<string> {
  if (id === undefined) return (await startConversation(server, options)).id
  const conversation = await findConversation(server.client, id)
  await adjustConversation(server, conversation, options)
  return conversation
}

class Talk {
  readonly #io: Io
  readonly #server: Server
  readonly #screen: Screen
  readonly #prompt: Prompt
  readonly #conversation: string
  #isWorking = false
  #isOver = false

  constructor(io: Io, server: Server, screen: Screen, prompt: Prompt, conversation: string) {
    this.#io = io
    this.#server = server
    this.#screen = screen
    this.#prompt = prompt
    this.#conversation = conversation
  }

  async hold(): Promise<number> {
    let isLeaving = false
    using _ = this.#io.on('SIGINT', () => {
      if (this.#isWorking) return
      if (isLeaving) this.#io.quit(exit.interrupted)
      isLeaving = true
      this.#prompt.remark('(once more quits; so do /quit and Ctrl-D)')
    })
    // What it was asked before it was left still waits for an answer.
    await this.#attempt(() => this.#work())
    while (!this.#isOver) {
      const line = await this.#prompt.ask(this.#screen.style.cyan('> '))
      isLeaving = false
      if (line === undefined) break
      if (line.startsWith('/')) await this.#attempt(() => this.#command(line))
      else if (line.trim() !== '') await this.#attempt(() => this.#work(line))
    }
    return exit.finished
  }

  /** What is refused is said; the talk goes on. */
  async #attempt(act: () => Promise<void>): Promise<void> {
    try {
      await act()
    } catch (error) {
      this.#screen.line(this.#screen.style.red(explain(error).message))
    }
  }

  /** Has the agent work on a message; without one, on what it is at or asks for. */
  async #work(message?: string): Promise<void> {
    const params = { conversation_id: this.#conversation }
    const { execution_status } = await this.#server.client.getConversation({ params })
    if (message === undefined && execution_status !== 'running' && execution_status !== 'waiting_for_confirmation')
      return
    const progress = new Progress(this.#screen)
    progress.recall(await pendingActions(this.#server.client, this.#conversation))
    this.#isWorking = true
    this.#prompt.unasked = line => void this.#attempt(() => this.#interject(line))
    try {
      const ending = await work(
        {
          io: this.#io,
          server: this.#server,
          conversation: this.#conversation,
          isNew: false,
          show: told => progress.show(told),
          ask: (action, signal) => askFor(this.#screen, this.#prompt, action, signal),
          remark: text => this.#screen.line(this.#screen.style.yellow(text)),
        },
        message === undefined ? undefined : () => tell(this.#server, this.#conversation, message),
      )
      this.#screen.settle()
      if (this.#isOver) return
      if (ending.status === 'paused')
        this.#screen.line(this.#screen.style.yellow('It has stopped; say something to go on.'))
      else await tellEnding(this.#server.client, this.#screen, this.#conversation, ending)
    } finally {
      this.#isWorking = false
      this.#prompt.unasked = undefined
    }
  }

  /** Typed while it works. */
  async #interject(line: string): Promise<void> {
    if (line.startsWith('/')) await this.#command(line)
    else if (line.trim() !== '') await tell(this.#server, this.#conversation, line)
  }

  async #command(line: string): Promise<void> {
    const [name = '', argument] = line.trim().split(/\s+/)
    const { client } = this.#server
    const params = { conversation_id: this.#conversation }
    if (name === '/pause') await client.pauseConversation({ params })
    else if (name === '/cost') this.#screen.line(await costOf(client, this.#conversation))
    else if (name === '/quit') {
      this.#isOver = true
      if (this.#isWorking) this.#io.raise('SIGTERM')
    } else if (name === '/model') {
      if (argument !== undefined) await useModel(client, this.#conversation, argument)
      const { agent } = await client.getConversation({ params })
      this.#screen.line(`The model is ${safe(agent.llm.model)}`)
    } else this.#screen.line(name === '/help' ? HELP : `There is no ${safe(name)}.\n${HELP}`)
  }
}
