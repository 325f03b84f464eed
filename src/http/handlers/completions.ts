import { CONVERSATION_HEADER } from '../../api/completions.ts'
import { Fault } from '../../api/errors.ts'
import type { completionRoutes } from '../../api/routes/completions.ts'
import type { Completions } from '../../gateway/completions.ts'
import { completionStream } from '../completion-stream.ts'
import { openaiError } from '../openai-errors.ts'
import { presence } from '../presence.ts'
import { Reply } from '../reply.ts'
import type { Handlers } from '../server.ts'

export const completionHandlers = (completions: Completions): Handlers<typeof completionRoutes> => ({
  listChatModels: () => completions.models(),
  createChatCompletion: async ({ body, headers }, { standing, incoming }) => {
    const { signal, end } = presence(incoming)
    const told: Record<string, string> = {}
    try {
      const conversation = headers['x-openhands-serverconversation-id']
      const turn = await completions.begin(body, { conversation, trusted: standing === 'key', signal })
      told[CONVERSATION_HEADER] = turn.conversation
      turn.answer.finally(end).catch(() => undefined)
      if (body.stream) return completionStream(turn, body.stream_options?.include_usage ?? false, told)
      return new Reply(200, await turn.answer, told)
    } catch (error) {
      end()
      // For the log alone: nobody reads it any more.
      if (signal.aborted) return new Reply(499, undefined as never)
      if (!(error instanceof Fault)) throw error
      return new Reply(error.status, openaiError(error) as never, told)
    }
  },
})
