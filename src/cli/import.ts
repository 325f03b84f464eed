import { openAsBlob } from 'node:fs'
import { connect, type Where } from './connect.ts'
import { exit, type Io, say } from './io.ts'

/** `gantry import`: a conversation from a file. */
export async function importConversation(io: Io, where: Where, [file]: string[]): Promise<number> {
  const body = await openAsBlob(file!)
  await using server = await connect(io, where)
  const { id } = await server.client.importConversation({ body })
  say(io.stdout, id)
  return exit.finished
}
