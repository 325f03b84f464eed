// Compiled against the published types, never run: each line that is wrong on purpose must be found wrong.
import { createClient, follow } from 'gantry/client'

const client = createClient({ baseUrl: 'http://127.0.0.1:8000' })
const info = await client.getConversation({ params: { conversation_id: 'x' } })
const status: 'idle' | 'running' | 'paused' | 'waiting_for_confirmation' | 'finished' | 'error' | 'stuck' | 'deleting' =
  info.execution_status
// @ts-expect-error: a conversation must be named
await client.getConversation()
// @ts-expect-error: an answer is a boolean
await client.respondToConfirmation({ params: { conversation_id: 'x' }, body: { accept: 'yes' } })
for await (const { event } of follow({ baseUrl: '', conversation: 'x' }))
  if (event.kind === 'ActionEvent') {
    const name: string = event.tool_name
    // @ts-expect-error: it has no such field
    event.nonsense
    void name
  }
void status
