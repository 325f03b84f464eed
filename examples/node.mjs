// Orders a conversation, follows it to its end, and says yes to whatever it asks for.
// node examples/node.mjs http://127.0.0.1:8000 "$(cat ~/.gantry/session-key)" "show me around"
import { createClient, follow } from 'gantry/client'

const [baseUrl = 'http://127.0.0.1:8000', key, task = 'show me around'] = process.argv.slice(2)
const gantry = createClient({ baseUrl, key })

const start = await gantry.streamAppConversationStart({ body: { initial_message: { content: [{ text: task }] } } })
const { status, detail, app_conversation_id: id } = (await start.json()).at(-1)
if (status !== 'READY') throw new Error(detail)
const params = { conversation_id: id }
await gantry.setConfirmationPolicy({ params, body: { policy: { kind: 'ConfirmRisky' } } })

for await (const { event } of follow({ baseUrl, key, conversation: id })) {
  if (event.kind === 'MessageEvent') for (const part of event.llm_message.content) console.log(event.source, part.text)
  if (event.kind === 'ActionEvent') console.log('action', event.tool_name, event.summary ?? '')
  if (event.kind !== 'ConversationStateUpdateEvent' || event.key !== 'execution_status') continue
  if (event.value === 'waiting_for_confirmation')
    await gantry.respondToConfirmation({ params, body: { accept: true } })
  if (['finished', 'error', 'stuck'].includes(event.value)) break
}
console.log('done')
