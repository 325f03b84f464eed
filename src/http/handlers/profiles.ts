import type { LLM } from '../../api/llm.ts'
import type { profileRoutes } from '../../api/routes/profiles.ts'
import type { LlmProfiles } from '../../settings/profiles.ts'
import type { Handlers } from '../server.ts'

export interface ProfileHandlersParts {
  profiles: LlmProfiles
  /** Takes an LLM whose secrets are sealed. */
  switchLlm(conversation: string, llm: LLM): Promise<void>
}

export const profileHandlers = ({ profiles, switchLlm }: ProfileHandlersParts): Handlers<typeof profileRoutes> => ({
  listProfiles: () => profiles.list(),
  getProfile: ({ params, headers }) => profiles.get(params.name, headers['x-expose-secrets']),
  saveProfile: ({ params, body }) => profiles.put(params.name, body),
  deleteProfile: ({ params }) => profiles.delete(params.name),
  renameProfile: ({ params, body }) => profiles.rename(params.name, body.new_name),
  activateProfile: ({ params }) => profiles.activate(params.name),
  validateProfile: ({ params, body }) => profiles.check(params.name, body.llm),
  switchProfile: async ({ params, body }) => {
    await switchLlm(params.conversation_id, await profiles.forConversation(body.profile_name))
    return { success: true }
  },
})
