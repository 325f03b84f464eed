import type { Event } from '../api/events.ts'
import { connect, type Server, type Where } from './connect.ts'
import { tellEnding } from './ending.ts'
import { findConversation } from './find.ts'
import { exit, type Io, say } from './io.ts'
import { Progress } from './progress.ts'
import { Screen } from './screen.ts'

const PAGE = 100

/** `gantry show`: what happened in a conversation. */
export async function show(io: Io, options: Where & { json?: boolean }, [id]: string[]): Promise<number> {
  await using server = await connect(io, options)
  const conversation = await findConversation(server.client, id!)
  // All of it is what was asked for: nothing of it is beside the point.
  const screen = new Screen({ stdout: io.stdout, stderr: io.stdout, env: io.env })
  const progress = new Progress(screen, true)
  for await (const event of log(server, conversation))
    if (options.json) say(io.stdout, JSON.stringify(event))
    else progress.show({ event, passing: false })
  screen.settle()
  const { execution_status: status } = await server.client.getConversation({
    params: { conversation_id: conversation },
  })
  if (!options.json && status === 'waiting_for_confirmation')
    await tellEnding(server.client, screen, conversation, { status, isInterrupted: false })
  return exit.finished
}

async function* log({ client }: Server, conversation_id: string): AsyncGenerator<Event> {
  for (let page_id: string | undefined; ; ) {
    const query = { limit: PAGE, ...(page_id && { page_id }) }
    const page = await client.searchEvents({ params: { conversation_id }, query })
    yield* page.items
    if (!page.next_page_id) return
    page_id = page.next_page_id
  }
}
