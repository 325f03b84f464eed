import { Fault } from '../api/errors.ts'
import type { Turn } from '../gateway/completions.ts'
import { openaiError } from './openai-errors.ts'
import { Streamed } from './reply.ts'
import { HEARTBEAT_MS } from './sse.ts'

/**
 * An answer as a stream. What an agent answers is known when it has finished, and comes in one piece then; until that the stream only
 * shows that it is alive. What goes wrong after its beginning is told in it.
 */
export const completionStream = (
  { id, created, model, answer }: Turn,
  includeUsage: boolean,
  headers: Record<string, string>,
): Streamed =>
  new Streamed(
    'text/event-stream',
    out => {
      const data = (text: string) => out.write(`data: ${text}\n\n`)
      const chunk = (fields: object) =>
        data(JSON.stringify({ id, object: 'chat.completion.chunk', created, model, ...fields }))
      const choice = (delta: object, finish_reason: 'stop' | null = null) =>
        chunk({ choices: [{ index: 0, delta, finish_reason }] })
      const heartbeat = setInterval(() => out.write(': still here\n\n'), HEARTBEAT_MS)
      choice({ role: 'assistant', content: '' })
      answer
        .then(
          ({ choices, usage }) => {
            choice({ content: choices[0]?.message.content ?? '' })
            choice({}, 'stop')
            if (includeUsage) chunk({ choices: [], usage })
            data('[DONE]')
          },
          error => {
            const told = error instanceof Fault ? openaiError(error).error : { message: 'Internal Server Error' }
            data(JSON.stringify({ error: told }))
          },
        )
        .finally(() => {
          clearInterval(heartbeat)
          out.end()
        })
    },
    { headers },
  )
