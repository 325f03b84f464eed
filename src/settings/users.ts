import { LLM } from '../api/llm.ts'
import type { MCPConfig } from '../api/mcp-config.ts'
import type { UserInfo } from '../api/users.ts'
import { openAll, type Vault } from '../policy/secrets.ts'
import type { AppProfiles } from './app-profiles.ts'
import { type Servers, toLists } from './mcp-lists.ts'
import type { LlmProfiles } from './profiles.ts'
import type { SettingsService } from './settings.ts'

export interface UsersParts {
  settings: SettingsService
  profiles: LlmProfiles
  appProfiles: AppProfiles
  vault: Vault
}

/** The one user there is. */
export class Users {
  readonly #parts: UsersParts

  constructor(parts: UsersParts) {
    this.#parts = parts
  }

  /** Secrets are masked. */
  async me(): Promise<UserInfo> {
    const { settings, appProfiles } = this.#parts
    const [app, { agent_settings, llm_model, llm_base_url, mcp_config }, llm_profiles] = await Promise.all([
      settings.getApp(),
      settings.get(),
      appProfiles.shown(),
    ])
    return {
      ...app,
      id: null,
      agent_settings,
      llm_profiles,
      llm_model: llm_model ?? null,
      llm_api_key: agent_settings.llm.api_key,
      llm_base_url: llm_base_url ?? null,
      mcp_config: mcp_config ?? {},
    }
  }

  /** The same with secrets as they are. */
  async exposed(): Promise<UserInfo> {
    const { settings, profiles, vault } = this.#parts
    const [me, { agent_settings }, { flat }, stored] = await Promise.all([
      this.me(),
      settings.get('plaintext'),
      settings.full(),
      profiles.stored(),
    ])
    const opened = [...stored].map(([name, llm]) => [name, openAll(vault, LLM, llm)] as const)
    return {
      ...me,
      agent_settings,
      llm_profiles: { ...me.llm_profiles, profiles: Object.fromEntries(opened) },
      llm_api_key: agent_settings.llm.api_key,
      mcp_config: openLists(agent_settings.mcp_config),
      search_api_key: flat.search_api_key ? vault.open(flat.search_api_key) : null,
      sandbox_api_key: flat.sandbox_api_key ? vault.open(flat.sandbox_api_key) : null,
    }
  }
}

/** The lists with their secrets. A command is in them by its name; of those with one URL the first that is switched on. */
function openLists(servers: Servers): MCPConfig {
  const lists = toLists(servers)
  const keyOf = (url: string) => {
    const on = Object.values(servers).filter(server => server.url === url && server.enabled !== false)
    const auth = on.map(server => server.auth).find(auth => auth?.strategy === 'bearer')
    return auth?.strategy === 'bearer' ? auth.value : null
  }
  const withKey = <T extends { url: string; api_key?: string | null | undefined }>(server: T) => ({
    ...server,
    api_key: server.api_key ? keyOf(server.url) : null,
  })
  return {
    sse_servers: lists.sse_servers.map(withKey),
    shttp_servers: lists.shttp_servers.map(withKey),
    stdio_servers: lists.stdio_servers.map(server => ({ ...server, env: servers[server.name]?.env ?? {} })),
  }
}
