import { text } from 'node:stream/consumers'
import { BadUsage } from '../lib/usage.ts'
import { askFor } from './ask.ts'
import { connect, type Server, type Where } from './connect.ts'
import { costOf, short, tellEnding } from './ending.ts'
import { findConversation } from './find.ts'
import { type Io, say } from './io.ts'
import { pendingActions } from './pending.ts'
import { Progress } from './progress.ts'
import { canAsk, Prompt } from './prompt.ts'
import { Screen } from './screen.ts'
import { adjustConversation, type Start, startConversation } from './start.ts'
import { safe } from './text.ts'
import { codeOf, goOn, work } from './work.ts'

type RunOptions = Start & Where & { resume?: string; json?: boolean }

/** `gantry run`: one task, from start to rest. */
export async function run(io: Io, options: RunOptions, [word]: string[]): Promise<number> {
  const task = await taskFrom(io, word, options.resume !== undefined)
  if (options.resume !== undefined && (options.workspace ?? options.sandbox ?? options['max-steps']) !== undefined)
    throw new BadUsage('--workspace, --sandbox and --max-steps are for new conversations, not with --resume')
  await using server = await connect(io, options)
  const screen = new Screen(io)
  const conversation = await conversationFor(server, screen, options)
  const begin = task === undefined ? () => wake(server, conversation) : () => tell(server, conversation, task)
  const isNew = options.resume === undefined
  return await carryOut({ io, server, screen, conversation, isNew, json: options.json === true }, begin)
}

interface CarryOut {
  io: Io
  server: Server
  screen: Screen
  conversation: string
  isNew: boolean
  json: boolean
}

/** Has an agent work on something, and tells how it went. */
export async function carryOut(parts: CarryOut, begin?: () => Promise<unknown>): Promise<number> {
  const { io, server, screen, conversation, isNew, json } = parts
  const progress = new Progress(screen)
  if (!isNew) progress.recall(await pendingActions(server.client, conversation))
  const ending = await work(
    {
      io,
      server,
      conversation,
      isNew,
      show: told => {
        if (!json) progress.show(told)
        else if (!told.passing) say(io.stdout, JSON.stringify(told.event))
      },
      ...(canAsk(io) && {
        ask: async (action, signal) => {
          using prompt = new Prompt(io)
          return await askFor(screen, prompt, action, signal)
        },
      }),
      remark: text => screen.line(screen.style.yellow(text)),
    },
    begin,
  )
  screen.settle()
  await tellEnding(server.client, screen, conversation, ending)
  screen.line(screen.style.dim(await costOf(server.client, conversation)))
  return codeOf(ending)
}

export const tell = ({ client }: Server, conversation_id: string, task: string): Promise<unknown> =>
  client.sendMessage({
    params: { conversation_id },
    body: { role: 'user', content: [{ type: 'text', text: task }], run: true },
  })

/** Going on would be a yes to what waits for one: that is asked for. */
async function wake(server: Server, conversation_id: string): Promise<void> {
  const { execution_status } = await server.client.getConversation({ params: { conversation_id } })
  if (execution_status !== 'waiting_for_confirmation') await goOn(server, conversation_id)
}

async function conversationFor(server: Server, screen: Screen, options: RunOptions): Promise<string> {
  if (options.resume !== undefined) {
    const id = await findConversation(server.client, options.resume)
    await adjustConversation(server, id, options)
    return id
  }
  const { id, workspace } = await startConversation(server, options)
  const where = options.workspace === undefined ? ` of ${options.sandbox ? 'its' : 'the default'} sandbox` : ''
  screen.line(screen.style.dim(`Conversation ${short(id)}, in ${safe(workspace.working_dir)}${where}`))
  return id
}

/** Undefined where there is none, and none is needed. */
async function taskFrom(io: Io, word: string | undefined, isOptional: boolean): Promise<string | undefined> {
  const isPiped = word === '-' || (word === undefined && !isOptional && !io.stdin.isTTY)
  const task = (isPiped ? await text(io.stdin) : word)?.trim()
  if (!task && !isOptional) throw new BadUsage('TASK is missing: what is to be done?')
  return task || undefined
}
