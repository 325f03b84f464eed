import type * as z from 'zod'
import { USABLE_TOOLS } from '../../agent/toolbox.ts'
import type { LocalModelServer } from '../../api/control.ts'
import type { controlRoutes } from '../../api/routes/control.ts'
import type { Control } from '../../conversation/control.ts'
import type { Conversations } from '../../conversation/conversations.ts'
import type { Forks } from '../../conversation/fork.ts'
import type { Goals } from '../../conversation/goals.ts'
import type { Thinking } from '../../conversation/thinking.ts'
import type { Auth } from '../auth.ts'
import { whileThere } from '../presence.ts'
import { Reply } from '../reply.ts'
import type { Handlers } from '../server.ts'

export interface ControlHandlersParts {
  conversations: Conversations
  control: Control
  goals: Goals
  forks: Forks
  thinking: Thinking
  localModels(): Promise<z.output<typeof LocalModelServer>[]>
  auth: Auth
}

export const controlHandlers = (parts: ControlHandlersParts): Handlers<typeof controlRoutes> => {
  const { conversations, control, goals, forks, thinking, localModels, auth } = parts
  /** Refuses what the caller may not see, and says that it was done. */
  const done = async (id: string, scope: string | undefined, work: (id: string) => Promise<unknown>) => {
    await conversations.record(id, scope)
    await work(id)
    return { success: true }
  }
  return {
    pauseConversation: ({ params }, { scope }) =>
      done(params.conversation_id, scope, async id => {
        await control.pause(id)
        await goals.stop(id)
      }),
    interruptConversation: ({ params }, { scope }) =>
      done(params.conversation_id, scope, async id => {
        await control.interrupt(id)
        await goals.stop(id)
      }),
    setConfirmationPolicy: ({ params, body }, { scope }) =>
      done(params.conversation_id, scope, id => control.setPolicy(id, body.policy)),
    setSecurityAnalyzer: ({ params, body }, { scope }) =>
      done(params.conversation_id, scope, id => control.setAnalyzer(id, body.security_analyzer)),
    updateConversationSecrets: ({ params, body }, { scope, standing }) => {
      const isKey = (key: string | undefined) => standing === 'key' || (key !== undefined && auth.isKey(key))
      return done(params.conversation_id, scope, id => control.addSecrets(id, body.secrets, isKey))
    },
    switchLlm: ({ params, body }, { scope }) =>
      done(params.conversation_id, scope, id => control.switchLlm(id, body.llm)),
    askAgent: async ({ params, body }, { scope, incoming }) => {
      await conversations.record(params.conversation_id, scope)
      const ask = (signal: AbortSignal) => thinking.ask(params.conversation_id, body.question, signal)
      return { response: await whileThere(incoming, ask) }
    },
    condenseConversation: ({ params }, { scope, incoming }) =>
      done(params.conversation_id, scope, id => whileThere(incoming, signal => thinking.condense(id, signal))),
    forkConversation: async ({ params, query, body }, { scope }) => {
      await conversations.record(params.conversation_id, scope)
      const id = await forks.fork(params.conversation_id, body)
      return new Reply(201, await conversations.get(id, query.include_skills, scope))
    },
    navigateConversation: async ({ params, query, body }, { scope }) => {
      await conversations.record(params.conversation_id, scope)
      await forks.navigate(params.conversation_id, body.event_id)
      return conversations.get(params.conversation_id, query.include_skills, scope)
    },
    startGoal: ({ params, body }, { scope }) =>
      done(params.conversation_id, scope, id => goals.start(id, body.objective, body.max_iterations)),
    stopGoal: ({ params }, { scope }) => done(params.conversation_id, scope, id => goals.stop(id)),
    resumeGoal: ({ params }, { scope }) => done(params.conversation_id, scope, id => goals.resume(id)),
    agentFinalResponse: async ({ params }, { scope }) => {
      await conversations.record(params.conversation_id, scope)
      return { response: await control.finalResponse(params.conversation_id) }
    },
    localModels: () => localModels(),
    listTools: async () => [...USABLE_TOOLS],
  }
}
