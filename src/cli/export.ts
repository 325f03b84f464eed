import { createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { connect, type Where } from './connect.ts'
import { short } from './ending.ts'
import { findConversation } from './find.ts'
import { exit, type Io, say } from './io.ts'

/** `gantry export`: a conversation as a file. */
export async function exportConversation(io: Io, where: Where, [id, file]: string[]): Promise<number> {
  await using server = await connect(io, where)
  const conversation = await findConversation(server.client, id!)
  const response = (await server.client.downloadTrajectory({ params: { conversation_id: conversation } })) as Response
  const body = Readable.fromWeb(response.body as import('node:stream/web').ReadableStream)
  if (file === '-') await pipeline(body, io.stdout, { end: false })
  else {
    const path = file ?? `gantry-${short(conversation)}.zip`
    await pipeline(body, createWriteStream(path, { flags: file === undefined ? 'wx' : 'w', mode: 0o600 }))
    say(io.stdout, path)
  }
  return exit.finished
}
