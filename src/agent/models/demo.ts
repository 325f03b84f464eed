import { hexUuid, newId } from '../../lib/id.ts'
import type { Model, ModelRequest, Reply } from '../model.ts'
import { answerTo } from './demo/script.ts'

const CHARACTERS_PER_TOKEN = 4
/** A few words: enough to be seen coming. */
const DELTA = /.{1,12}/gsu

/**
 * A guide for those who have no model yet: a script that works like one, with the tools and policies there are, and says that it is one.
 * It needs no key and no network, costs nothing, and looks only at what it is asked.
 */
export const demoModel: Model = {
  name: 'demo/guide',
  contextWindow: undefined,
  sees: false,
  async ask(request, listen, signal) {
    const { text, call } = answerTo(request)
    for (const [content] of text.matchAll(DELTA)) {
      signal.throwIfAborted()
      listen({ content })
    }
    signal.throwIfAborted()
    const args = JSON.stringify(call?.args ?? {})
    const prompt = charactersOf(request)
    return {
      id: `demo-${newId()}`,
      text,
      reasoning: '',
      thinking: [],
      reasoningItem: null,
      calls: call
        ? [
            {
              id: `demo_${call.step}_${hexUuid(newId()).slice(0, 16)}`,
              name: call.tool,
              arguments: args,
              origin: 'completion',
            },
          ]
        : [],
      cut: false,
      refused: false,
      usage: {
        prompt: Math.ceil(prompt / CHARACTERS_PER_TOKEN),
        completion: Math.ceil((text.length + (call ? args.length : 0)) / CHARACTERS_PER_TOKEN),
        cacheRead: 0,
        cacheWrite: 0,
        reasoning: 0,
      },
      latencyMs: 0,
    } satisfies Reply
  },
  cost: () => 0,
}

const charactersOf = ({ messages, tools }: ModelRequest): number =>
  JSON.stringify(messages).length + JSON.stringify(tools).length
