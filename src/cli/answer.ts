import type { ActionEvent } from '../api/events.ts'
import { connect, type Where } from './connect.ts'
import { short } from './ending.ts'
import { gist } from './events.ts'
import { findConversation } from './find.ts'
import { exit, Failure, type Io, say } from './io.ts'
import { pendingActions } from './pending.ts'
import { carryOut } from './run.ts'
import { Screen } from './screen.ts'
import { oneLine } from './text.ts'
import type { Answer } from './work.ts'

/** `gantry approve` */
export const approve = (io: Io, where: Where, words: string[]): Promise<number> =>
  answer(io, where, words, { accept: true })

/** `gantry reject` */
export const reject = (io: Io, { reason, ...where }: Where & { reason?: string }, words: string[]): Promise<number> =>
  answer(io, where, words, { accept: false, ...(reason !== undefined && { reason }) })

async function answer(io: Io, where: Where, [id, ...names]: string[], said: Answer): Promise<number> {
  await using server = await connect(io, where)
  const conversation = await findConversation(server.client, id!)
  const params = { conversation_id: conversation }
  const { execution_status } = await server.client.getConversation({ params })
  if (execution_status !== 'waiting_for_confirmation') throw new Failure(`${short(conversation)} asks for nothing`)
  const pending = await pendingActions(server.client, conversation)
  const actions = names.length === 0 ? pending : names.map(name => named(pending, name))
  const respond = () =>
    server.client.respondToConfirmation({ params, body: { ...said, action_ids: actions.map(action => action.id) } })
  const screen = new Screen(io)
  for (const action of actions)
    say(
      io.stderr,
      `${said.accept ? 'Approved' : 'Rejected'} ${short(action.id)}: ${oneLine(gist(action), screen.width)}`,
    )
  // Here the agent lives as long as this process does.
  if (server.isOurs && said.accept && actions.length === pending.length)
    return await carryOut({ io, server, screen, conversation, isNew: false, json: false }, respond)
  await respond()
  return exit.finished
}

function named(pending: ActionEvent[], name: string): ActionEvent {
  const found = pending.filter(({ id }) => id.startsWith(name.toLowerCase()))
  if (found.length === 1) return found[0]!
  const ids = pending.map(({ id }) => short(id)).join(', ')
  throw new Failure(`"${name}" is ${found.length === 0 ? 'none' : 'more than one'} of the actions that wait: ${ids}`)
}
