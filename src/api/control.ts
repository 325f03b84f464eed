import * as z from 'zod'
import { orNull, textOrNull, uuid } from './common.ts'
import { Tags } from './conversations.ts'
import { LLM } from './llm.ts'

// What can be asked of a conversation beside talking to it.

export const AskAgentRequest = z.object({ question: z.string() }).meta({ id: 'AskAgentRequest' })
export const AskAgentResponse = z.object({ response: z.string() }).meta({ id: 'AskAgentResponse' })

export const AgentResponseResult = z.object({ response: z.string() }).meta({ id: 'AgentResponseResult' })

/** The LLM may hold tokens of this server's making in place of its secrets. */
export const SwitchLLMRequest = z.object({ llm: LLM })

/** A copy, or the way to one event of it. What is left out is new, or as the contract has it: no tags, metrics from zero. */
export const ForkConversationRequest = z
  .object({
    id: orNull(uuid()),
    title: orNull(z.string().max(200)),
    tags: orNull(Tags),
    reset_metrics: z.boolean().default(true),
    from_event_id: textOrNull,
  })
  .meta({ id: 'ForkConversationRequest' })
export type ForkConversationRequest = z.output<typeof ForkConversationRequest>

/** Null goes back before the first event. */
export const NavigateConversationRequest = z
  .object({ event_id: textOrNull })
  .meta({ id: 'NavigateConversationRequest' })

export const StartGoalRequest = z
  .object({ objective: z.string(), max_iterations: z.int().min(1).default(10) })
  .meta({ id: 'StartGoalRequest' })

/** A model server on this machine, and what it serves, as orders name it. */
export const LocalModelServer = z
  .object({ name: z.string(), base_url: z.string(), models: z.array(z.string()) })
  .meta({ id: 'LocalModelServer' })
