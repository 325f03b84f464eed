import type { AgentSettings } from '../api/agent.ts'
import { Settings } from '../api/settings.ts'
import { openAll, type Vault } from '../policy/secrets.ts'
import type { FullSettings } from '../settings/document.ts'
import type { SettingsService } from '../settings/settings.ts'

/** What the user keeps, as far as an order may use it. Secrets are plain. */
export interface Means {
  settings: FullSettings
  /** The names of secrets that can be granted. */
  stored: string[]
}

/**
 * Whoever is on this machine may order, but not with what somebody else entered as a secret: without the key there are no stored
 * secrets, tokens or MCP servers. `agent` has its secrets opened.
 */
export async function meansFor(
  { settings, vault }: { settings: SettingsService; vault: Vault },
  agent: AgentSettings,
  trusted: boolean,
): Promise<Means> {
  const full = await settings.full()
  const flat = openAll(vault, Settings, full.flat)
  if (!trusted)
    return {
      settings: { ...full, agent_settings: { ...agent, mcp_config: {} }, flat: { ...flat, search_api_key: null } },
      stored: [],
    }
  const { secrets } = await settings.secrets.list()
  return { settings: { ...full, agent_settings: agent, flat }, stored: secrets.map(({ name }) => name) }
}
