import type { Client } from '../api/client.ts'
import { BadUsage, didYouMean } from '../lib/usage.ts'
import { exit, Failure } from './io.ts'

/** The built-in profile that is active as long as nobody has configured a model. */
const NOBODYS = { name: 'demo', model: 'demo/guide' }

const HOW_TO_CONFIGURE =
  'no model is configured: start "gantry", open its page and choose one in the settings; or try it with --model demo/guide'

/** Refuses to go on when the settings name no model. */
export async function requireModel(client: Client): Promise<undefined> {
  const { profiles, active_agent_profile_id } = await client.listAgentProfiles()
  const active = profiles.find(({ id }) => id === active_agent_profile_id)
  const { profiles: llms } = await client.listProfiles()
  const llm = llms.find(({ name }) => name === active?.llm_profile_ref)
  if (llm?.name === NOBODYS.name && llm.model === NOBODYS.model) throw new Failure(HOW_TO_CONFIGURE, exit.usage)
}

/** Has a conversation think with an LLM profile, or with a model by its own name. The keys stay on the server. */
export async function useModel(client: Client, conversation_id: string, name: string): Promise<void> {
  const use = await findModel(client, name)
  await use(conversation_id)
}

/** What has a conversation think with the model of this name; complains about one that there is not. */
export async function findModel(client: Client, name: string): Promise<(conversation_id: string) => Promise<unknown>> {
  const { profiles } = await client.listProfiles()
  const profile = profiles.find(one => one.name === name) ?? profiles.find(one => one.model === name)
  if (profile)
    return conversation_id =>
      client.switchProfile({ params: { conversation_id }, body: { profile_name: profile.name } })
  if (name.includes('/'))
    return conversation_id =>
      client.switchLlm({ params: { conversation_id }, body: { llm: { model: name, stream: true } } })
  const names = profiles.map(one => one.name)
  throw new BadUsage(
    `there is no LLM profile "${name}"${didYouMean(name, names)}; there are ${names.join(', ')}, and models by a name with a slash`,
  )
}
