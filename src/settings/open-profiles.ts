import type { OpenModel } from '../agent/model.ts'
import type { Vault } from '../policy/secrets.ts'
import type { Store } from '../store/store.ts'
import { AgentProfiles } from './agent-profiles.ts'
import { LlmProfiles } from './profiles.ts'
import { ProviderConnections } from './provider-connections.ts'
import type { SettingsService } from './settings.ts'

export interface ProfilesParts {
  store: Store
  vault: Vault
  settings: SettingsService
  openModel: OpenModel
  skillNames(): Promise<string[]>
}

/** What names what, wired: agent profiles name LLM profiles, and these name provider connections. None goes while it is named. */
export function openProfiles(parts: ProfilesParts) {
  const connections: ProviderConnections = new ProviderConnections({
    ...parts,
    usersOf: id => profiles.connectedTo(id),
  })
  const profiles: LlmProfiles = new LlmProfiles({
    ...parts,
    connections,
    referrers: { of: name => agentProfiles.using(name), rename: (from, to) => agentProfiles.follow(from, to) },
  })
  const agentProfiles = new AgentProfiles({ ...parts, profiles })
  return { connections, profiles, agentProfiles }
}
